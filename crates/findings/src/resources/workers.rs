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

/// Returns for each cell that several workers carried out a sentence and a table of what each did, medians over the trials that count.
pub fn blocks<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = Block> + 'a {
    cells.iter().flat_map(|cell| {
        let first = cell.counted().find(|trial| !trial.workers.is_empty());
        let both =
            first.and_then(|first| Some([Block::plain(sentence(cell, first)), Block::Table(table(cell, first)?)]));
        both.into_iter().flatten()
    })
}

fn sentence(cell: &Cell, first: &TrialRecord) -> String {
    let spread_s = median(cell, |trial| trial.start_spread_s);
    let began = spread_s.map(|s| format!(", and began within {}", units::duration(s))).unwrap_or_default();
    let medians = if cell.counted().count() > 1 { " (medians)" } else { "" };
    format!("{} workers shared the clients of {}{began}{medians}.{}", first.workers.len(), cell.store, together(cell))
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
    let whole = |figure: f64| study::whole(figure.round() as u64);
    let title = match first.workers.len() {
        all if all > MOST => format!("Workers of {}: the busiest {MOST} of {all}", cell.store),
        _ => format!("Workers of {}", cell.store),
    };
    let rows = shown.into_iter().map(|worker| {
        let limit = if load(worker) > LIMIT { ", at its limit" } else { "" };
        [
            worker.name.clone(),
            study::whole(u64::from(worker.clients)),
            whole(of(worker, |it| it.ops_per_s)),
            format!("{:.0} %{limit}", load(worker) * 100.0),
            units::duration(of(worker, |it| it.start_offset_s)),
            format!("± {}", units::duration(of(worker, |it| it.clock_error_s))),
        ]
    });
    let columns = ["WORKER", "CLIENTS", "OP/S", "BUSIEST THREAD", "BEGAN AFTER", "CLOCK"];
    let mut table = FigureTable::of_figures(title, columns, rows)?;
    let [clock, began] = [5, 4];
    (table.columns[clock].spare, table.columns[began].spare) = (1, 2);
    table.columns[began].meaning = "how long behind the first of them".into();
    table.columns[clock].meaning = "how far off that may be".into();
    Some(table)
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
    use super::blocks;
    use crate::block::{Block, FigureTable};
    use study::{Cell, TrialRecord, WorkerUse};

    fn worker(name: &str, ops_per_s: f64, client_thread_load: f64) -> WorkerUse {
        let (start_offset_s, clock_error_s) = (0.0002, 0.00003);
        let of_it = WorkerUse { name: name.into(), clients: 4, ops_per_s, client_thread_load, ..WorkerUse::default() };
        WorkerUse { start_offset_s, clock_error_s, ..of_it }
    }

    fn said(ops_per_s: f64, workers: Vec<WorkerUse>) -> (String, FigureTable) {
        let trial = TrialRecord {
            ops_per_s,
            ops_per_s_together: Some(3000.0),
            start_spread_s: Some(0.0004),
            workers,
            ..TrialRecord::default()
        };
        let cell = Cell { store: "redis".into(), trials: vec![trial], ..Cell::default() };
        match blocks(&[&cell]).collect::<Vec<_>>().try_into() {
            Ok([Block::Sentence(sentence), Block::Table(table)]) => (sentence.text, table),
            other => panic!("{other:?}"),
        }
    }

    fn row(table: &FigureTable, at: usize) -> Vec<&str> {
        table.rows[at].iter().map(|it| it.text.as_str()).collect()
    }

    #[test]
    fn each_worker_is_told_with_its_limit_and_both_rates_where_they_differ() {
        let workers = || vec![worker("one", 1000.0, 0.5), worker("two", 2000.0, 0.97)];
        let told = "2 workers shared the clients of redis, and began within 400 µs.";
        let (sentence, table) = said(2990.0, workers());
        assert_eq!((sentence.as_str(), table.title.as_str()), (told, "Workers of redis"));
        assert_eq!(row(&table, 0), ["one", "4", "1,000", "50 %", "200 µs", "± 30.0 µs"]);
        assert_eq!(row(&table, 1), ["two", "4", "2,000", "97 %, at its limit", "200 µs", "± 30.0 µs"]);
        assert_eq!(
            said(2500.0, workers()).0,
            format!("{told} While all of them ran: 3,000 op/s; until the last was through: 2,500 op/s.")
        );
        let alone = Cell { trials: vec![TrialRecord::default()], ..Cell::default() };
        assert_eq!(blocks(&[&alone]).count(), 0);
    }

    #[test]
    fn of_many_workers_the_busiest_are_told() {
        let workers = (0..64).map(|number| worker(&format!("w{number}"), 10.0, f64::from(number) / 100.0)).collect();
        let (_, table) = said(2990.0, workers);
        assert_eq!((table.title.as_str(), table.rows.len()), ("Workers of redis: the busiest 16 of 64", 16));
        assert_eq!(row(&table, 0)[..4], ["w63", "4", "10", "63 %"]);
    }
}
