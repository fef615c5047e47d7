//! What the growth of a store came to, in sentences.

use study::{Cell, GrowthFacts};
use words::units;

/// Returns a sentence or two for each store whose growth was watched, of its median trial.
pub fn sentences<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = String> + 'a {
    let stores = cells.iter().filter(|cell| !cell.baseline && cell.verdict.is_ranked());
    stores.filter_map(|cell| Some(format!("{} stored {}", cell.store, of(&cell.growth?))))
}

fn of(facts: &GrowthFacts) -> String {
    let GrowthFacts { records, first_tenth_per_s, last_tenth_per_s, longest_stall_s, below_half_share, .. } = *facts;
    let mut said = format!(
        "{} records: {} per second in the first tenth, {} in the last ({:+.0} %)",
        units::whole(records),
        units::count(first_tenth_per_s),
        units::count(last_tenth_per_s),
        100.0 * (last_tenth_per_s / first_tenth_per_s.max(f64::MIN_POSITIVE) - 1.0)
    );
    if below_half_share >= 0.005 {
        said += &format!("; below half its median rate for {:.0} % of the time", 100.0 * below_half_share);
    }
    said += &match longest_stall_s > 0.0 {
        true => format!("; longest stall {}", units::duration(longest_stall_s)),
        false => "; no stall".to_owned(),
    };
    said += &match facts.left_memory_at_records {
        Some(records) => format!("; it read from disk from {} records on.", units::whole(records)),
        None => "; it never had to read from disk.".to_owned(),
    };
    let per_byte = [(facts.disk_bytes_per_byte, "on disk"), (facts.written_bytes_per_byte, "sent to disk")];
    let per_byte = per_byte.iter().filter_map(|(bytes, what)| {
        bytes.filter(|bytes| *bytes >= 0.005).map(|bytes| format!("{bytes:.2} bytes {what}"))
    });
    let per_byte: Vec<String> = per_byte.collect();
    if !per_byte.is_empty() {
        said += &format!(" Per byte of keys and values: {}.", per_byte.join(", "));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::of;
    use study::GrowthFacts;

    #[test]
    fn four_facts_are_said_and_what_each_byte_became() {
        let sank = GrowthFacts {
            records: 20_000_000,
            first_tenth_per_s: 41_000.0,
            last_tenth_per_s: 8200.0,
            longest_stall_s: 1.25,
            below_half_share: 0.31,
            left_memory_at_records: Some(4_000_000),
            disk_bytes_per_byte: Some(1.5),
            written_bytes_per_byte: Some(7.25),
        };
        assert_eq!(
            of(&sank),
            "20,000,000 records: 41.0k per second in the first tenth, 8.20k in the last (-80 %); below half its median rate for 31 % of the \
             time; longest stall 1.25 s; it read from disk from 4,000,000 records on. Per byte of keys and values: 1.50 bytes on disk, 7.25 \
             bytes sent to disk."
        );
        let in_memory = Some(0.0);
        let steady = GrowthFacts {
            first_tenth_per_s: 10.0,
            last_tenth_per_s: 10.0,
            disk_bytes_per_byte: in_memory,
            ..GrowthFacts::default()
        };
        assert_eq!(
            of(&steady),
            "0 records: 10.0 per second in the first tenth, 10.0 in the last (+0 %); no stall; it never had to read from disk."
        );
    }
}
