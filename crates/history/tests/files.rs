//! Histories in files: as JSON lines for other checkers, and in parts when they are large.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{Dice, Talk, random};
use history::{Act, ActEnd, ActKind, Bounds, History, Spill, read_lines, write_lines};

fn text(operations: &[Act]) -> String {
    let mut out = Vec::new();
    write_lines(operations, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn read(text: &str) -> Result<Vec<Act>, String> {
    let mut operations = Vec::new();
    read_lines(text.as_bytes(), |it| operations.push(it)).map_err(|error| error.to_string())?;
    Ok(operations)
}

#[test]
fn a_history_written_as_lines_is_read_back_as_it_was() {
    for talk in [Talk::Register, Talk::Any, Talk::Counter, Talk::List] {
        for seed in 1..500 {
            let mut written = random(talk, &mut Dice::new(seed), 12);
            // Of a read without an answer nothing is kept.
            written.retain(|it| it.end != ActEnd::Unknown || it.kind.changes());
            for it in written.iter_mut().filter(|it| it.end == ActEnd::Unknown) {
                if let ActKind::Add { now, .. } = &mut it.kind {
                    *now = None;
                }
            }
            let mut read = read(&text(&written)).unwrap();
            let order = |it: &Act| (it.sent_ns, it.client, format!("{:?}{:?}", it.kind, it.end));
            read.sort_by_key(order);
            written.sort_by_key(order);
            assert_eq!(read, written, "{talk:?} {seed}");
        }
    }
}

#[test]
fn the_lines_are_those_that_checkers_of_transactions_read() {
    let put = Act { key: 7, client: 1, kind: ActKind::Put(5), sent_ns: 10, end: ActEnd::Answered(20) };
    let get = Act { key: 7, client: 2, kind: ActKind::Get(Some(5)), sent_ns: 15, end: ActEnd::Unknown };
    let expected = r#"{"f":"txn","process":1,"time":10,"type":"invoke","value":[["w",7,5]]}
{"f":"txn","process":2,"time":15,"type":"invoke","value":[["r",7,null]]}
{"f":"txn","process":1,"time":20,"type":"ok","value":[["w",7,5]]}
{"f":"txn","process":2,"time":15,"type":"info","value":[["r",7,null]]}
"#;
    assert_eq!(text(&[put, get]), expected);
}

#[test]
fn a_line_that_is_no_history_is_named_with_what_is_wrong() {
    for (line, wrong) in [
        ("not json", "line 2: this is no JSON"),
        (r#"{"process":1,"type":"ok","time":3,"value":[["w",1,1]]}"#, "line 2: process 1 has no operation open."),
        (r#"{"process":0,"type":"invoke","time":3,"value":[["w",1,1]]}"#, "has an operation open since line 1"),
        (r#"{"process":0,"type":"ok","time":3,"value":[["w",1,1],["w",1,2]]}"#, "more than one step"),
        (r#"{"process":0,"type":"ok","time":3,"value":[["w","x",1]]}"#, "is not understood"),
        (r#"{"process":0,"type":"done"}"#, "It must be invoke, ok, fail or info."),
        (r#"{"process":0,"type":"ok","value":[["w",1,1]]}"#, "\"time\" must be a number of nanoseconds."),
    ] {
        let text = format!("{}\n{line}\n", r#"{"process":0,"type":"invoke","time":1,"value":[["w",1,1]]}"#);
        let said = read(&text).unwrap_err();
        assert!(said.contains(wrong), "{said}");
    }
}

#[test]
fn a_history_in_parts_is_judged_as_one_in_memory() {
    let mut all = Vec::new();
    for key in 0..2_000 {
        for talk in [Talk::Register, Talk::Any, Talk::Counter, Talk::List] {
            let of_key = random(talk, &mut Dice::new(key + 1), 8);
            all.extend(of_key.into_iter().map(|it| Act { key: 4 * key + talk as u64, ..it }));
        }
    }
    let place = tempfile::tempdir().unwrap();
    let mut spill = Spill::below(place.path(), 16).unwrap();
    for it in &all {
        spill.push(it).unwrap();
    }
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "the files have no names");
    let parts = spill.judge(&Bounds::default()).unwrap();
    let whole = History::new(all).judge(&Bounds::default());
    assert_eq!(parts.operations, whole.operations);
    assert_eq!((parts.keys, parts.linearizable, parts.contradicting), (8_000, whole.linearizable, whole.contradicting));
    assert!(parts.contradicting > 500 && parts.linearizable > 500);
    assert_eq!(parts.smallest.unwrap().operations.len(), whole.smallest.unwrap().operations.len());
    assert_eq!(parts.weaker.stale_ns.len(), whole.weaker.stale_ns.len());
}
