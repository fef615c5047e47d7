//! The parameters that all cells of a study share, as the line above a table has them. `study.json` has all of them, as they were given.

use crate::units::whole;
use analysis::common_parameters;
use study::Study;

/// Parameters of jobs that say nothing at this value: their job, name and value.
pub const SILENT: [(&str, &str, &str); 3] =
    [("ycsb", "load", "rising"), ("ycsb", "most_operations", "0"), ("ycsb", "scan_min", "1")];

/// What any job has that can run by time, and does not.
const BY_WORK: (&str, &str) = ("seconds", "0");

/// Jobs that are named.
const MOST_JOBS: usize = 4;

/// From here on a count has separators.
const LONG: u64 = 10_000;

/// Returns the jobs of a study, and what they ran on: `fans` and ` on debian_fans_10k`. A study that only crashed stores is a `crash`.
pub fn jobs_and_input(study: &Study) -> [String; 2] {
    let mut jobs: Vec<&str> = study.cells.iter().map(|cell| cell.job.as_str()).collect();
    jobs.dedup();
    jobs.truncate(MOST_JOBS);
    if jobs.is_empty() && study.crash.is_some() {
        jobs.push("crash");
    }
    let input = study.input.get("name").and_then(|name| name.as_str()).map(|name| format!(" on {name}"));
    [jobs.join(", "), input.unwrap_or_default()]
}

/// Returns `records=1,000,000`, without what says nothing: a value that another parameter of the line gives (`read=workload`), and one that
/// changes nothing where it is.
pub fn shared_parameters(study: &Study) -> Vec<String> {
    let has = |name: &str| study.cells.iter().any(|cell| cell.params.contains_key(name));
    let mut facts = common_parameters(study);
    facts.retain(|fact| match fact.split_once('=') {
        Some((name, value)) => !has(value) && !says_nothing(study, name, value),
        None => true,
    });
    facts.iter().map(|fact| spoken(fact)).collect()
}

/// Whether no cell would be another without this parameter.
fn says_nothing(study: &Study, name: &str, value: &str) -> bool {
    let of_all = |wanted: &dyn Fn(&study::Cell) -> bool| study.cells.iter().all(wanted);
    let is_silent = |job: &str| SILENT.contains(&(job, name, value));
    let is = |cell: &study::Cell, name: &str, silent: &[&str]| {
        cell.params.get(name).is_none_or(|value| silent.contains(&value.as_str()))
    };
    match name {
        _ if (name, value) == BY_WORK || of_all(&|cell| is_silent(&cell.job)) => true,
        // By the clock there is another end.
        "operations" => of_all(&|cell| cell.job == "ycsb" && !is(cell, "seconds", &["0"])),
        // Only workload E has scans of its own.
        "scan_max" => of_all(&|cell| {
            let has_none = match cell.params.get("scan").map_or("workload", String::as_str) {
                "workload" => !matches!(cell.params.get("workload").map_or("A", String::as_str), "E" | "e"),
                share => share == "0",
            };
            cell.job == "ycsb" && has_none
        }),
        _ => false,
    }
}

/// Returns `records=100,000 clients=16`: the same words, and counts with separators.
pub fn spoken(label: &str) -> String {
    let word = |word: &str| match word.split_once('=').map(|(name, value)| (name, value.parse::<u64>())) {
        Some((name, Ok(count))) if count >= LONG => format!("{name}={}", whole(count)),
        _ => word.to_owned(),
    };
    label.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{shared_parameters, spoken};
    use study::{Cell, Study};

    fn study(job: &str, params: &[(&str, &str)]) -> Study {
        let params = params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Study { cells: vec![Cell { job: job.into(), params, ..Cell::default() }], ..Study::default() }
    }

    const USUAL: [(&str, &str); 9] = [
        ("load", "rising"),
        ("most_operations", "0"),
        ("operations", "100000"),
        ("read", "workload"),
        ("records", "10000"),
        ("scan_max", "100"),
        ("scan_min", "1"),
        ("seconds", "0"),
        ("workload", "A"),
    ];

    #[test]
    fn a_parameter_that_changes_nothing_is_not_in_the_line() {
        assert_eq!(shared_parameters(&study("ycsb", &USUAL)), ["operations=100,000", "records=10,000", "workload=A"]);
        let other = |name: &str, value: &'static str| {
            let set = USUAL.map(|(known, usual)| (known, if known == name { value } else { usual }));
            shared_parameters(&study("ycsb", &set))
        };
        assert_eq!(other("seconds", "3"), ["records=10,000", "seconds=3", "workload=A"], "it ends by the clock");
        assert!(other("workload", "E").contains(&"scan_max=100".to_owned()), "it has scans");
        assert!(other("load", "scattered").contains(&"load=scattered".to_owned()));
        assert_eq!(shared_parameters(&study("mine.lua", &[("load", "rising"), ("seconds", "0")])), ["load=rising"]);
    }

    #[test]
    fn long_counts_in_a_label_have_separators_and_other_values_stay_as_they_are() {
        assert_eq!(spoken("records=1000000 clients=16 value=9999"), "records=1,000,000 clients=16 value=9999");
        assert_eq!(spoken("policy=cas rate=12500.5 timing=1/10000"), "policy=cas rate=12500.5 timing=1/10000");
    }
}
