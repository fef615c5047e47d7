//! What a row cannot hold: what was really measured, what was emulated, what time went into.

use crate::layout::FIXED_BLANK;
use study::{Cell, Judged, Study};
use words::units;

/// The spec without the durability its heading states.
fn spec(cell: &Cell) -> String {
    // A cache has less than what is asked of the store beneath it.
    let stated = |part: &str| {
        part.strip_prefix("durability=").is_some_and(|asked| cell.durability.is_none_or(|level| level.name() == asked))
    };
    let parts: Vec<&str> = cell.store.split(',').filter(|part| !stated(part)).collect();
    parts.join(",")
}

/// Returns the store as the table names it: its spec, a mark, and the product where the name does not say it, e.g. `mongodb [1] (FerretDB
/// 1.24)`.
pub(crate) fn store_label(cell: &Cell, mark: &str) -> String {
    let label = spec(cell) + mark;
    if cell.product.is_empty() || says_its_product(cell) {
        return label;
    }
    format!("{label} ({})", product(cell).replace(' ', &FIXED_BLANK.to_string()))
}

/// Whether the name of the store is (part of) the name of the product: `tyrant` and Tokyo Tyrant, not `mongodb` and FerretDB.
fn says_its_product(cell: &Cell) -> bool {
    let letters = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect()
    };
    letters(&cell.product).contains(&letters(cell.store.split([',', ':', '-']).next().unwrap_or_default()))
}

/// `MariaDB 10.11.6`.
fn product(cell: &Cell) -> String {
    format!("{} {}", cell.product, short_version(&cell.store_version)).trim_end().to_owned()
}

/// `10.11.6` of `10.11.6-MariaDB-0+deb12u1`.
fn short_version(version: &str) -> &str {
    version.split(['-', '+', ' ', '~']).find(|part| part.starts_with(|c: char| c.is_ascii_digit())).unwrap_or_default()
}

/// Names what was measured: `Redis 7.0.15, LMDB 0.9.24, FerretDB 1.24.0 (mongodb)`.
pub(crate) fn products(cells: &[&Cell]) -> Option<String> {
    let mut products: Vec<String> = Vec::new();
    for cell in cells.iter().filter(|cell| !cell.baseline && !cell.product.is_empty()) {
        let name = if says_its_product(cell) { String::new() } else { format!(" ({})", cell.store) };
        let product = product(cell) + &name;
        if !products.contains(&product) {
            products.push(product);
        }
    }
    (!products.is_empty()).then(|| format!("Measured: {}.", products.join(", ")))
}

/// Returns which stores were made slower on purpose.
pub(crate) fn burning(cells: &[&Cell]) -> Option<String> {
    let burns = |cell: &&&Cell| cell.store.split(',').any(|part| part.starts_with("burn="));
    let mut slowed: Vec<String> = cells.iter().filter(burns).map(|cell| cell.store.clone()).collect();
    slowed.dedup();
    (!slowed.is_empty()).then(|| {
        format!("Slowed down by kvtrial on purpose (burn=), not the store's own speed: {}.", slowed.join("; "))
    })
}

/// Returns whether the instrument was proved right on this machine: `Instrument checked here on 2026-11-21: 16 of 16 proofs hold.`
pub(crate) fn instrument(study: &Study) -> Option<String> {
    let checked = study.selftest.as_ref()?;
    let day = checked.checked_at.split('T').next().unwrap_or_default();
    let (holding, all) = (checked.holding(), checked.proofs.len());
    let failed: Vec<&str> =
        checked.proofs.iter().filter(|proof| !proof.passed).map(|proof| proof.name.as_str()).collect();
    Some(match failed.as_slice() {
        [] => format!("Instrument checked on this machine ({day}): {holding} of {all} proofs hold."),
        failed => format!(
            "Instrument checked on this machine ({day}): {holding} of {all} proofs hold, not {}. Make the machine quieter and \
             run kvtrial selftest.",
            failed.join(", ")
        ),
    })
}

/// Numbers of the footnotes on emulated operations, one per distinct set.
pub(crate) struct Emulations(Vec<Vec<String>>);

impl Emulations {
    pub(crate) fn of(cells: &[&Cell]) -> Emulations {
        let mut sets: Vec<Vec<String>> = Vec::new();
        for cell in cells.iter().filter(|cell| !cell.emulated.is_empty()) {
            if !sets.contains(&cell.emulated) {
                sets.push(cell.emulated.clone());
            }
        }
        Emulations(sets)
    }

    /// Returns ` [1]`, or nothing.
    pub(crate) fn mark(&self, cell: &Cell) -> String {
        let at = self.0.iter().position(|set| *set == cell.emulated);
        at.map(|at| format!(" [{}]", at + 1)).unwrap_or_default()
    }

    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        self.0.iter().enumerate().map(|(at, set)| {
            // `reduce by scan` says how, `append` alone does not.
            let lacks: Vec<&str> = set.iter().map(|name| name.split(" by ").next().unwrap_or(name)).collect();
            let ways: Vec<&str> = set.iter().filter_map(|name| Some(name.split_once(" by ")?.1)).collect();
            let instead = if ways.len() == set.len() {
                format!("by {}", ways.join(" and by "))
            } else {
                "with other operations".into()
            };
            format!("[{}] The store does not have {}: done {instead} instead.", at + 1, lacks.join(", "))
        })
    }
}

/// Says what a crash would lose behind a cache, one sentence per store.
pub(crate) fn crashes<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = String> + 'a {
    cells.iter().filter_map(|cell| {
        let lost = cell.store_config.get("cache_crash_loses")?;
        Some(format!("On {} a crash would lose {lost}.", cell.store))
    })
}

/// Servers that were named and did not answer, one sentence per store.
pub(crate) fn silent<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = String> + 'a {
    cells.iter().filter_map(|cell| {
        let silent = cell.store_config.get("not_answering")?;
        Some(format!("On {} some of the servers named did not answer when the store was opened: {silent}.", cell.store))
    })
}

/// Returns a sentence for each cause why other load of the processors could not be measured, with the stores concerned.
pub(crate) fn unjudged<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = String> + 'a {
    let causes = [
        (Judged::TooShort, "are too short (under 0.25 s) to judge whether other programs disturbed them"),
        (Judged::ServerNotFound, "are not judged for other load, because the process of the server was not found"),
    ];
    causes.into_iter().filter_map(|(judged, words)| {
        let unjudged = |cell: &&&Cell| {
            !cell.baseline
                && cell.counted().next().is_some()
                && cell.counted().all(|trial| trial.noise.judged == judged)
        };
        let mut names: Vec<&str> = cells.iter().filter(unjudged).map(|cell| cell.store.as_str()).collect();
        names.dedup();
        let longer = match judged {
            Judged::TooShort => longer(&cells.iter().copied().filter(|cell| unjudged(&cell)).collect::<Vec<_>>()),
            _ => String::new(),
        };
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        (!names.is_empty()).then(|| format!("The trials of {} {words}.{longer}", words::verdict::joined(&names)))
    })
}

/// Parameters that say how much work a job does, and with that how long its trials are.
const AMOUNTS: [&str; 5] = ["operations", "events", "rows", "items", "ids"];
/// A trial this long is judged whatever else varies.
const LONG_ENOUGH_S: f64 = 0.5;

/// By what to make these cells' trials longer.
fn longer(cells: &[&Cell]) -> String {
    let shortest_s = cells.iter().filter_map(|cell| cell.makespan_s).map(|it| it.value).fold(f64::INFINITY, f64::min);
    let Some(params) = cells.first().map(|cell| &cell.params).filter(|_| shortest_s > 0.0 && shortest_s.is_finite())
    else {
        return String::new();
    };
    let number = |name: &&str| params.get(*name)?.parse::<f64>().ok().filter(|number| *number > 0.0);
    if number(&"seconds").is_some() {
        return " Make them longer: --set seconds=1.".into();
    }
    match AMOUNTS.iter().find_map(|name| Some((name, number(name)?))) {
        Some((name, now)) => {
            let wanted = now * LONG_ENOUGH_S / shortest_s;
            let step = 10f64.powf(wanted.log10().floor());
            format!(" Make them longer: --set {name}={:.0}.", (wanted / step).ceil() * step)
        }
        None => {
            let times = (LONG_ENOUGH_S / shortest_s).ceil();
            format!(" Make them longer: give them {} times as much input.", units::whole(times as u64))
        }
    }
}

/// Returns a sentence per store on the requests that its adapter sent again.
pub(crate) fn resent<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = String> + 'a {
    cells.iter().filter(|cell| cell.resent > 0).map(|cell| {
        let requests = if cell.resent == 1 { "1 request".into() } else { format!("{} requests", units::whole(cell.resent)) };
        format!("On {} {requests} had to be sent again: the store had undone them (deadlocks), or had moved their keys to another node.", cell.store)
    })
}

/// Returns how fast stores read back what they were given, beside the timed rate; one sentence for all.
pub(crate) fn read_back(cells: &[&Cell], noun: &str) -> Option<String> {
    let known = |cell: &&&Cell| cell.verdict.is_ranked() && !cell.baseline;
    let rate = |cell: &&Cell| {
        let rate = units::count(cell.read_back_per_s?.value);
        Some(format!("{}\u{a0}{rate}", cell.store))
    };
    let rates: Vec<String> = cells.iter().filter(known).filter_map(rate).collect();
    (!rates.is_empty()).then(|| format!("Read back after the clock, {noun} per second: {}.", rates.join(", ")))
}

/// Shorter stalls are in `study.json` only.
const NOTABLE_STALL_S: f64 = 0.1;

/// Stalls of the median trial, one sentence per store: how many, and the longest with its cause where one was found.
pub(crate) fn stalls<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = String> + 'a {
    cells.iter().filter(|cell| cell.verdict.is_ranked()).filter_map(|cell| {
        let notable = || cell.stalls.iter().filter(|stall| stall.duration_s >= NOTABLE_STALL_S);
        let longest = notable().max_by(|a, b| a.duration_s.total_cmp(&b.duration_s))?;
        let times = match notable().count() {
            1 => "once, for".to_owned(),
            count => format!("{count} times, longest"),
        };
        let cause = longest.cause.as_ref().map(|cause| format!(" ({cause})")).unwrap_or_default();
        Some(format!(
            "{} stalled {times} {} after {}{cause}: {}.",
            cell.store,
            units::duration(longest.duration_s),
            units::duration(longest.at_s),
            longest.evidence
        ))
    })
}

/// Outliers nearer to the median than this share of it are not mentioned.
const NOTABLE: f64 = 0.05;

/// Returns the trial most unlike the others of its cell, where there is one: named, never dropped.
pub(crate) fn outliers(cells: &[&Cell]) -> Vec<String> {
    cells.iter().filter(|cell| cell.verdict.is_ranked()).filter_map(|cell| outlier(cell)).collect()
}

fn outlier(cell: &Cell) -> Option<String> {
    let trials: Vec<_> = cell.counted().filter(|trial| trial.makespan_s > 0.0).collect();
    let times: Vec<f64> = trials.iter().map(|trial| trial.makespan_s).collect();
    let median = stats::median(&times).filter(|_| times.len() >= 5)?;
    let scores = stats::modified_z_scores(&times);
    let unlike = |at: &usize| scores[*at].abs() > stats::OUTLIER_SCORE && (times[*at] / median - 1.0).abs() > NOTABLE;
    let worst = (0..times.len()).filter(unlike).max_by(|a, b| scores[*a].abs().total_cmp(&scores[*b].abs()))?;
    Some(format!(
        "Trial {} ({}) took {}, unlike the other trials of this store with a median of {}.",
        trials[worst].order,
        cell.store,
        units::duration(times[worst]),
        units::duration(median)
    ))
}

#[cfg(test)]
mod tests {
    use super::unjudged;
    use study::{Cell, Judged, Quantity, TrialRecord};

    #[test]
    fn trials_that_are_too_short_to_judge_come_with_what_makes_them_longer() {
        let said = |params: &[(&str, &str)]| {
            let mut trial = TrialRecord { makespan_s: 0.02, ..TrialRecord::default() };
            trial.noise.judged = Judged::TooShort;
            let params = params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let makespan_s = Some(Quantity::single(0.02));
            let cell = Cell { store: "lmdb".into(), trials: vec![trial], params, makespan_s, ..Cell::default() };
            unjudged(&[&cell]).collect::<Vec<_>>().join(" ")
        };
        assert!(said(&[("operations", "1500")]).ends_with("disturbed them. Make them longer: --set operations=40000."));
        let timed = said(&[("operations", "100000"), ("seconds", "0.02")]);
        assert!(timed.ends_with("Make them longer: --set seconds=1."), "{timed}");
        assert!(said(&[("policy", "cas")]).ends_with("Make them longer: give them 25 times as much input."));
    }
}
