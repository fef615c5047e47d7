//! What of a study is made again within a budget.

use crate::recipe::Recipe;
use crate::repository::sha256;
use std::collections::BTreeMap;
use std::time::Duration;
use study::{Cell, Study};

/// Counted trials when a study is made again: fewer show no interval ...
const FEWEST_REPEATS: u32 = 3;
/// ... and more are seldom needed to see what is asked.
const MOST_REPEATS: u32 = 5;
const DAY_S: u32 = 86_400;

/// How a study, or a part of it, is made again.
#[derive(Clone, Debug, PartialEq)]
pub struct Rerun {
    /// The words behind `kvtrial`.
    pub arguments: Vec<String>,
    /// The stores that are measured.
    pub stores: Vec<String>,
    /// The stores that the budget leaves out.
    pub left_out: Vec<String>,
    /// The time that it took its author.
    pub expected: Duration,
}

impl Rerun {
    /// Returns how to make a study again within a budget, by the times that its own trials took: all of it; else with fewer trials; else a part of
    /// its stores, drawn by the digest of the study, so that nobody chooses which.
    ///
    /// # Errors
    /// Why it cannot be.
    pub fn within(budget: Duration, study: &Study) -> Result<Rerun, String> {
        let recipe = Recipe::of(study)?;
        if recipe.command != "run" || recipe.rest.iter().any(|word| word == "--find-rate") {
            return Err("only studies of kvtrial run are made again, without --find-rate: what a search tries depends on the machine".into());
        }
        let stores = if recipe.stores.is_empty() { measured(study) } else { recipe.stores.clone() };
        let times = trial_times_s(study);
        let cost_s = |store: &String, repeats: u32| round_s(study, store, &times) * f64::from(repeats);
        let all_s = |repeats: u32| -> f64 { stores.iter().map(|store| cost_s(store, repeats)).sum() };
        let most = study.repeats.clamp(FEWEST_REPEATS, MOST_REPEATS);
        let rerun = |chosen: Vec<String>, repeats: u32| {
            let left_out = stores.iter().filter(|store| !chosen.contains(store)).cloned().collect();
            let expected_s: f64 = chosen.iter().map(|store| cost_s(store, repeats)).sum();
            let arguments = recipe.arguments(&chosen, repeats);
            Rerun { arguments, stores: chosen, left_out, expected: Duration::from_secs_f64(expected_s) }
        };
        let budget_s = budget.as_secs_f64();
        if let Some(repeats) = (FEWEST_REPEATS..=most).rev().find(|repeats| all_s(*repeats) <= budget_s) {
            return Ok(rerun(stores.clone(), repeats));
        }
        let digest = format!("{}{}", study.started_at, study.seed);
        let mut drawn = stores.clone();
        drawn.sort_by_key(|store| sha256(format!("{digest}{store}").as_bytes()));
        let mut left_s = budget_s;
        drawn.retain(|store| {
            let cost_s = cost_s(store, FEWEST_REPEATS);
            let fits = cost_s <= left_s;
            left_s -= if fits { cost_s } else { 0.0 };
            fits
        });
        // One store by itself has no ratio to another.
        if drawn.len() < stores.len().min(2) {
            return Err(format!(
                "three trials of all its stores took about {}, and no two of them fit into {}: give it more with --budget",
                words::units::clock(all_s(FEWEST_REPEATS)),
                words::units::clock(budget_s)
            ));
        }
        Ok(rerun(drawn, FEWEST_REPEATS))
    }
}

/// The stores of a study whose command names none.
fn measured(study: &Study) -> Vec<String> {
    let mut stores: Vec<String> = Vec::new();
    for cell in study.cells.iter().filter(|cell| !cell.baseline) {
        if !stores.contains(&cell.store) {
            stores.push(cell.store.clone());
        }
    }
    stores
}

/// The time of one trial of every cell of a store.
fn round_s(study: &Study, store: &str, times_s: &BTreeMap<u32, f64>) -> f64 {
    let name = |spec: &str| spec.split([',', '@']).next().unwrap_or_default().to_owned();
    let measured = || study.cells.iter().filter(|cell| !cell.baseline);
    let exact: Vec<&Cell> = measured().filter(|cell| cell.store == store).collect();
    // Where options of stores are varied, the spec of a cell is longer than that of the command.
    let cells =
        if exact.is_empty() { measured().filter(|cell| name(&cell.store) == name(store)).collect() } else { exact };
    let typical = |cell: &&Cell| {
        let mut times: Vec<f64> = cell.trials.iter().filter_map(|trial| times_s.get(&trial.order).copied()).collect();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or_default()
    };
    cells.iter().map(typical).sum()
}

/// The time of every trial by its order: until the next one began, or, of the last one, as long as its phases took.
fn trial_times_s(study: &Study) -> BTreeMap<u32, f64> {
    let mut trials: Vec<_> = study.cells.iter().flat_map(|cell| &cell.trials).collect();
    trials.sort_by_key(|trial| trial.order);
    let of = |at: usize| {
        let phases_s: f64 = trials[at].phases.iter().map(|phase| phase.elapsed_s).sum();
        let next = trials.get(at + 1).and_then(|next| second_of_day(&next.started_at));
        let until_next = next.zip(second_of_day(&trials[at].started_at));
        // A study may run over midnight.
        let until_next_s = until_next.map(|(next, own)| f64::from((next + DAY_S - own) % DAY_S));
        (trials[at].order, until_next_s.unwrap_or_default().max(phases_s))
    };
    (0..trials.len()).map(of).collect()
}

/// The second of the day of a moment in RFC 3339.
fn second_of_day(moment: &str) -> Option<u32> {
    let number = |at: usize| moment.get(at..at + 2)?.parse::<u32>().ok();
    Some(number(11)? * 3600 + number(14)? * 60 + number(17)?)
}
