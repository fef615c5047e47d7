//! What each of several workers that shared a study did.

use crate::block::{Block, FigureTable};
use study::{Cell, TrialRecord, WorkerUse};
use words::units;

/// Share by which the rate while all ran has to differ from that by makespan to be told.
const DIFFERS: f64 = 0.01;

/// Share of a processor from which a client thread is at its limit.
const LIMIT: f64 = 0.95;

/// Workers of a cell that a table has: of more the busiest, which are the ones that may be at their limit.
const MOST: usize = 16;

/// Returns for each cell that several workers carried out a table of what each did, medians over the trials that count, and a sentence
/// where its rate needs one.
pub fn blocks<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = Block> + 'a {
    let shared = cells.iter().filter_map(|cell| {
        let first = cell.counted().find(|trial| !trial.workers.is_empty())?;
        Some((*cell, table(cell, first)?))
    });
    shared.enumerate().flat_map(|(at, (cell, mut table))| {
        if at > 0 {
            table.columns.iter_mut().for_each(|column| column.meaning = "".into()); // the first says it
        }
        [Block::Table(table)].into_iter().chain(together(cell).map(Block::plain))
    })
}

fn title(cell: &Cell, all: usize) -> String {
    let spread_s = median(cell, |trial| trial.start_spread_s);
    let began = spread_s.map(|s| format!(", which began within {}", units::duration(s))).unwrap_or_default();
    let medians = if cell.counted().count() > 1 { " (medians)" } else { "" };
    let part = if all > MOST { format!("; the busiest {MOST}") } else { String::new() };
    format!("{all} workers for {}{began}{medians}{part}", cell.store)
}

fn table(cell: &Cell, first: &TrialRecord) -> Option<FigureTable> {
    let of = |worker: &WorkerUse, figure: fn(&WorkerUse) -> f64| {
        median(cell, |trial| trial.workers.iter().find(|it| it.name == worker.name).map(figure)).unwrap_or_default()
    };
    let load = |worker: &WorkerUse| of(worker, |it| it.client_thread_load);
    let mut shown: Vec<&WorkerUse> = first.workers.iter().collect();
    if shown.len() > MOST {
        shown.sort_by(|one, other| load(other).total_cmp(&load(one)));
        shown.truncate(MOST);
    }
    let rows = shown.into_iter().map(|worker| {
        let limit = if load(worker) > LIMIT { ", at its limit" } else { "" };
        let error_s = of(worker, |it| it.clock_error_s);
        [
            worker.name.clone(),
            study::whole(u64::from(worker.clients)),
            study::whole(of(worker, |it| it.ops_per_s).round() as u64),
            format!("{:.0} %{limit}", load(worker) * 100.0),
            units::duration(of(worker, |it| it.start_offset_s)),
            if error_s > 0.0 { format!("± {}", units::duration(error_s)) } else { "same".into() },
        ]
    });
    let columns = ["WORKER", "CLIENTS", "OP/S", "THREAD", "BEGAN", "CLOCK"];
    let mut table = FigureTable::of_figures(title(cell, first.workers.len()), columns, rows)?;
    let headings = ["Worker", "Clients", "Op/s", "Thread", "Began", "Clock"];
    let meanings = [
        "",
        "",
        "",
        "what its busiest client thread used of a processor",
        "behind the first",
        "how far off that may be",
    ];
    for (column, (heading, meaning)) in table.columns.iter_mut().zip(headings.into_iter().zip(meanings)) {
        (column.heading, column.meaning) = (heading.into(), meaning.into());
    }
    let [began, clock] = [4, 5];
    (table.columns[clock].spare, table.columns[began].spare) = (1, 2);
    Some(table)
}

/// Returns both rates, where they are not the same: some workers were through before others.
fn together(cell: &Cell) -> Option<String> {
    let makespan = median(cell, |trial| Some(trial.ops_per_s)).unwrap_or_default();
    let together = median(cell, |trial| trial.ops_per_s_together)?;
    if makespan <= 0.0 || (together / makespan - 1.0).abs() <= DIFFERS {
        return None;
    }
    let [together, makespan] = [together, makespan].map(|rate| study::whole(rate.round() as u64));
    Some(format!(
        "While all workers for {} ran: {together} op/s; until the last was through: {makespan} op/s.",
        cell.store
    ))
}

fn median(cell: &Cell, figure: impl Fn(&TrialRecord) -> Option<f64>) -> Option<f64> {
    stats::median(&cell.counted().filter_map(figure).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::blocks;
    use crate::block::{Block, FigureTable};
    use study::{Cell, TrialRecord, WorkerUse};

    fn worker(name: &str, ops_per_s: f64, client_thread_load: f64) -> WorkerUse {
        let (start_offset_s, clock_error_s) = (0.0002, 0.00003);
        let of_it = WorkerUse { name: name.into(), clients: 4, ops_per_s, client_thread_load, ..WorkerUse::default() };
        WorkerUse { start_offset_s, clock_error_s, ..of_it }
    }

    fn said(ops_per_s: f64, workers: Vec<WorkerUse>) -> (FigureTable, Option<String>) {
        let trial = TrialRecord {
            ops_per_s,
            ops_per_s_together: Some(3000.0),
            start_spread_s: Some(0.0004),
            workers,
            ..TrialRecord::default()
        };
        let cell = Cell { store: "redis".into(), trials: vec![trial], ..Cell::default() };
        let mut all = blocks(&[&cell]).collect::<Vec<_>>().into_iter();
        let Some(Block::Table(table)) = all.next() else { panic!("no table") };
        let sentence = all.next().map(|block| match block {
            Block::Sentence(sentence) => sentence.text,
            other => panic!("{other:?}"),
        });
        (table, sentence)
    }

    fn row(table: &FigureTable, at: usize) -> Vec<&str> {
        table.rows[at].iter().map(|it| it.text.as_str()).collect()
    }

    #[test]
    fn each_worker_is_told_with_its_limit_and_both_rates_where_they_differ() {
        let workers = || vec![worker("one", 1000.0, 0.5), worker("two", 2000.0, 0.97)];
        let (table, sentence) = said(2990.0, workers());
        assert_eq!((table.title.as_str(), sentence), ("2 workers for redis, which began within 400 µs", None));
        assert_eq!(row(&table, 0), ["one", "4", "1,000", "50 %", "200 µs", "± 30.0 µs"]);
        assert_eq!(row(&table, 1), ["two", "4", "2,000", "97 %, at its limit", "200 µs", "± 30.0 µs"]);
        let differ = "While all workers for redis ran: 3,000 op/s; until the last was through: 2,500 op/s.";
        assert_eq!(said(2500.0, workers()).1.as_deref(), Some(differ));
        let alone = Cell { trials: vec![TrialRecord::default()], ..Cell::default() };
        assert_eq!(blocks(&[&alone]).count(), 0);
    }

    #[test]
    fn of_many_workers_the_busiest_are_told() {
        let workers = (0..64).map(|number| worker(&format!("w{number}"), 10.0, f64::from(number) / 100.0)).collect();
        let (table, _) = said(2990.0, workers);
        assert_eq!(table.title, "64 workers for redis, which began within 400 µs; the busiest 16");
        assert_eq!((table.rows.len(), &row(&table, 0)[..4]), (16, &["w63", "4", "10", "63 %"][..]));
    }
}
