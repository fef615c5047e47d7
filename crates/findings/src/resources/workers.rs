//! What each of several workers that shared a study did, in sentences.

use study::{Cell, TrialRecord, WorkerUse};
use words::units;

/// Share by which the rate while all ran has to differ from that by makespan to be told.
const DIFFERS: f64 = 0.01;

/// Share of a processor from which a client thread is at its limit.
const LIMIT: f64 = 0.95;

/// Returns a sentence for each cell that several workers carried out: what each did, medians over the trials that count.
pub fn sentences<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = String> + 'a {
    cells.iter().filter_map(|cell| {
        let first = cell.counted().find(|trial| !trial.workers.is_empty())?;
        let each: Vec<String> = first.workers.iter().map(|worker| of_worker(cell, worker)).collect();
        let spread_s = median(cell, |trial| trial.start_spread_s);
        let began = spread_s.map(|s| format!(", which began within {}", units::duration(s))).unwrap_or_default();
        let medians = if cell.counted().count() > 1 { " (medians)" } else { "" };
        let several = each.len();
        Some(format!("{several} workers for {}{began}{medians}: {}.{}", cell.store, each.join("; "), together(cell)))
    })
}

fn of_worker(cell: &Cell, worker: &WorkerUse) -> String {
    let figure = |figure: fn(&WorkerUse) -> f64| {
        median(cell, |trial| trial.workers.iter().find(|it| it.name == worker.name).map(figure)).unwrap_or_default()
    };
    let load = figure(|it| it.client_thread_load);
    let limit = if load > LIMIT { ", at its limit" } else { "" };
    let clients = if worker.clients == 1 { "1 client".into() } else { format!("{} clients", worker.clients) };
    format!(
        "{} {clients}, {} op/s, busiest thread {:.0} %{limit}",
        worker.name,
        study::whole(figure(|it| it.ops_per_s).round() as u64),
        load * 100.0
    )
}

/// Returns both rates, where they are not the same: some workers were through before others.
fn together(cell: &Cell) -> String {
    let makespan = median(cell, |trial| Some(trial.ops_per_s)).unwrap_or_default();
    let Some(together) = median(cell, |trial| trial.ops_per_s_together) else { return String::new() };
    if makespan <= 0.0 || (together / makespan - 1.0).abs() <= DIFFERS {
        return String::new();
    }
    let [together, makespan] = [together, makespan].map(|rate| study::whole(rate.round() as u64));
    format!(" While all of them ran: {together} op/s; until the last was through: {makespan} op/s.")
}

fn median(cell: &Cell, figure: impl Fn(&TrialRecord) -> Option<f64>) -> Option<f64> {
    stats::median(&cell.counted().filter_map(figure).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::sentences;
    use study::{Cell, TrialRecord, WorkerUse};

    #[test]
    fn each_worker_is_told_with_its_limit_and_both_rates_where_they_differ() {
        let worker = |name: &str, ops_per_s: f64, client_thread_load: f64| WorkerUse {
            name: name.into(),
            clients: 4,
            ops_per_s,
            client_thread_load,
            ..WorkerUse::default()
        };
        let trial = |ops_per_s: f64| TrialRecord {
            ops_per_s,
            ops_per_s_together: Some(3000.0),
            start_spread_s: Some(0.0004),
            workers: vec![worker("one", 1000.0, 0.5), worker("two", 2000.0, 0.97)],
            ..TrialRecord::default()
        };
        let said = |ops_per_s: f64| {
            let cell = Cell { store: "redis".into(), trials: vec![trial(ops_per_s)], ..Cell::default() };
            sentences(&[&cell]).collect::<Vec<_>>().concat()
        };
        let told = "2 workers for redis, which began within 400 µs: one 4 clients, 1,000 op/s, busiest thread 50 %; \
                    two 4 clients, 2,000 op/s, busiest thread 97 %, at its limit.";
        assert_eq!(said(2990.0), told);
        assert_eq!(
            said(2500.0),
            format!("{told} While all of them ran: 3,000 op/s; until the last was through: 2,500 op/s.")
        );
        let alone = Cell { trials: vec![TrialRecord::default()], ..Cell::default() };
        assert_eq!(sentences(&[&alone]).count(), 0);
    }
}
