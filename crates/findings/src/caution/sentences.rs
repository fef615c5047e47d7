//! The sentences.

use study::{Cell, Judged};
use words::units;

/// Returns the sentences on these cells.
pub(super) fn of(cells: &[&Cell]) -> Vec<String> {
    silent(cells)
        .chain(crashes(cells))
        .chain(stalls(cells))
        .chain(unjudged(cells))
        .chain(resent(cells))
        .chain(outliers(cells))
        .chain(judged_by_script(cells))
        .collect()
}

/// Says what a crash would lose behind a cache, one sentence per store.
fn crashes<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = String> + 'a {
    cells.iter().filter_map(|cell| {
        let lost = cell.store_config.get("cache_crash_loses")?;
        Some(format!("On {} a crash would lose {lost}.", cell.store))
    })
}

/// Says how much of a script's work nobody but the script has judged, one sentence per cell.
fn judged_by_script<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = String> + 'a {
    cells.iter().filter_map(|cell| {
        let fact = |name: &str| cell.answer.facts.get(name).and_then(serde_json::Value::as_u64);
        let (commands, operations) = (fact("commands").filter(|commands| *commands > 0)?, fact("operations")?);
        Some(format!(
            "{} on {}: {} of {} operations judged by the script.",
            cell.job,
            cell.store,
            study::whole(commands),
            study::whole(operations)
        ))
    })
}

/// Servers that were named and did not answer, one sentence per store.
fn silent<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = String> + 'a {
    cells.iter().filter_map(|cell| {
        let silent = cell.store_config.get("not_answering")?;
        Some(format!("On {} some of the servers named did not answer when the store was opened: {silent}.", cell.store))
    })
}

/// Returns a sentence for each cause why other load of the processors could not be measured, with the stores concerned.
fn unjudged<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = String> + 'a {
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
        (!names.is_empty()).then(|| format!("The trials of {} {words}.{longer}", words::joined(&names)))
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
fn resent<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = String> + 'a {
    cells.iter().filter(|cell| cell.resent > 0).map(|cell| {
        let requests = words::counted(cell.resent, "request");
        format!("On {} {requests} had to be sent again: the store had undone them (deadlocks), or had moved their keys to another node.", cell.store)
    })
}

/// Shorter stalls are in `study.json` only.
const NOTABLE_STALL_S: f64 = 0.1;

/// Stalls of the median trial, one sentence per store: how many, and the longest with its cause where one was found.
fn stalls<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = String> + 'a {
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
fn outliers(cells: &[&Cell]) -> Vec<String> {
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
