//! What is said and drawn of histories.
#![allow(clippy::unwrap_used)]

use super::sentences::{sentence, steps};
use super::{Origin, chart, seen};
use study::{Cell, FaultRecord, History, HistoryAct, HistoryFlaw, HistoryOperation, TrialRecord};

fn operation(client: u32, act: HistoryAct, version: u64, sent_s: f64, answered_s: f64) -> HistoryOperation {
    HistoryOperation { client, key: 9, act, version, sent_s, answered_s: Some(answered_s) }
}

fn stale() -> History {
    History {
        operations: 120_000,
        keys: 1000,
        contradicted_keys: 3,
        reads: 60_000,
        stale_reads: 312,
        oldest_stale_s: Some(0.041),
        flaw: Some(HistoryFlaw::OutOfOrder),
        smallest: vec![
            operation(0, HistoryAct::Write, 6, 5.000, 5.001),
            operation(1, HistoryAct::Write, 7, 5.002, 5.003),
            operation(2, HistoryAct::Read, 6, 5.044, 5.045),
        ],
        ..History::default()
    }
}

fn cell(history: History) -> Cell {
    let freeze = FaultRecord {
        planned: "at 5s freeze 2 for 3s".into(),
        node: "node2".into(),
        at_s: Some(4.999),
        until_s: Some(8.0),
        ..FaultRecord::default()
    };
    let trial = TrialRecord { history: Some(history), faults: vec![freeze], ..TrialRecord::default() };
    Cell { store: "cassandra".into(), trials: vec![trial], ..Cell::default() }
}

fn said(cell: &Cell) -> String {
    let (trial, history) = seen(cell).unwrap();
    sentence(&cell.store, &trial.faults, history)
}

#[test]
fn a_stale_read_is_said_with_its_age_and_the_fault() {
    assert_eq!(
        said(&cell(stale())),
        "cassandra: 312 stale reads, at most 41.0 ms old, the smallest contradiction at the time of 'at 5s freeze 2 for 3s (node2)'. Not \
         linearizable: 3 of 1,000 keys contradict themselves, in 120,000 operations on 1,000 keys."
    );
    let told: Vec<String> = steps(&stale(), Origin::FirstPhase).collect();
    assert_eq!(told.len(), 5);
    assert_eq!(told[1], "client 0 wrote version 6: sent at +0 ns, answered at +1.00 ms.");
    assert!(told[4].starts_with("Version 7 was acknowledged 41.0 ms before the last read was sent"), "{}", told[4]);
}

#[test]
fn what_is_right_and_what_was_not_checked_is_said_too() {
    let right = History { operations: 10, keys: 2, unknown: 1, ..History::default() };
    assert_eq!(said(&cell(right)), "cassandra: linearizable, in 10 operations on 2 keys, 1 of them without an answer.");
    let why = History { problem: "the store keeps nothing".into(), ..History::default() };
    assert_eq!(said(&cell(why)), "cassandra: the history was not checked: the store keeps nothing.");
}

#[test]
fn the_timeline_has_a_row_per_client_a_bar_per_operation_and_the_fault() {
    let cell = cell(stale());
    let (trial, history) = seen(&cell).unwrap();
    let charts = chart::charts(&[(&cell, trial, history)], "");
    let option = &charts[0].option;
    assert_eq!(option["yAxis"]["data"], serde_json::json!(["client 2", "client 1", "client 0"]), "the first is above");
    let series = option["series"].as_array().unwrap();
    let bars: Vec<_> = series.iter().filter(|it| it["type"] == "line").collect();
    assert_eq!(bars.len(), 3);
    let area = &bars[0]["markArea"]["data"][0];
    assert_eq!(area[0]["name"], "node2 was frozen");
    let (from_ms, to_ms) = (area[0]["xAxis"].as_f64().unwrap(), area[1]["xAxis"].as_f64().unwrap());
    assert!(
        (from_ms + 1.0).abs() < 1e-6 && to_ms > 45.0,
        "from 1 ms before the first operation to the picture's end: {area}"
    );
    assert_eq!(bars[2]["name"], "stale read");
    let words = series.iter().filter_map(|it| it["label"]["formatter"].as_str()).collect::<Vec<_>>();
    assert_eq!(words, ["wrote version 6", "wrote version 7", "read version 6: 41.0 ms out of date"]);
    assert!(charts[0].title.ends_with("a stale read, key 9"), "{}", charts[0].title);
    assert_eq!(charts[0].table.rows[2][2], "read version 6");
    assert_eq!(chart::table(&[&cell]).rows[0][2].text, "0 of 1");
}

#[test]
fn the_words_of_two_operations_of_one_client_soon_after_each_other_do_not_meet() {
    let mut history = stale();
    history.smallest[1].client = 0;
    let cell = cell(history);
    let (trial, history) = seen(&cell).unwrap();
    let charts = chart::charts(&[(&cell, trial, history)], "");
    let series = charts[0].option["series"].as_array().unwrap();
    let words = series.iter().filter(|it| it["type"] == "scatter");
    let above: Vec<bool> = words.map(|it| it["label"]["position"][1].as_i64().unwrap() < 0).collect();
    assert_eq!(above, [true, false, true], "the second is 2 ms behind the first, of 52 ms that are drawn");
}

#[test]
fn a_contradiction_that_lasts_is_drawn_on_the_clock_that_faults_are_asked_for_by() {
    let mut history = stale();
    history.smallest[2] = operation(2, HistoryAct::Read, 6, 11.0, 11.002);
    let mut cell = cell(history);
    let option = |cell: &Cell| {
        let (trial, history) = seen(cell).unwrap();
        chart::charts(&[(cell, trial, history)], "")[0].option.clone()
    };
    assert_eq!(option(&cell)["xAxis"]["name"], "seconds since the first timed phase began");
    let area = |cell: &Cell| option(cell)["series"][0]["markArea"]["data"][0].clone();
    assert_eq!([&area(&cell)[0]["xAxis"], &area(&cell)[1]["xAxis"]], [4.999, 8.0]);
    cell.trials[0].faults[0].planned = "at 5s clock 2 by -30s for 3s".into();
    assert_eq!(area(&cell)[0]["name"], "node2 was 30s behind");
}
