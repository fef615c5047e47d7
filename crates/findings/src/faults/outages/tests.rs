use super::{headlines, lines};
use study::{Cell, Class, FaultFigures, FaultRecord, Quantity, Reason, ReasonKind, TrialRecord, Verdict, WriteAccount};

fn quantity(value: f64) -> Option<Quantity> {
    Some(Quantity { value, low: value, high: value * 1.5, level: 0.75, n: 2 })
}

fn cell(store: &str, class: Class, dark_s: f64, lost: Option<u64>) -> Cell {
    let fault = FaultRecord { longest_dark_s: Some(dark_s), at_s: Some(3.0), ..FaultRecord::default() };
    let writes = lost.map(|lost| WriteAccount { lost, ..WriteAccount::default() });
    let trial = TrialRecord { operations: 100, faults: vec![fault], writes, ..TrialRecord::default() };
    let figures = FaultFigures {
        planned: "at 3s kill 1".into(),
        node: "node1".into(),
        trials: 2,
        longest_dark_s: quantity(dark_s),
        dark_key_s: quantity(dark_s / 3.0),
        failed_operations: quantity(2.0 * dark_s),
        back_s: quantity(dark_s),
        ..FaultFigures::default()
    };
    let trials = vec![trial.clone(), trial];
    let store = store.into();
    Cell { store, class, trials, faults: vec![figures], verdict: Verdict::of([]), ..Cell::default() }
}

#[test]
fn the_headline_says_who_answered_all_along_who_when_again_and_who_lost_what() {
    let mut cells =
        [cell("redis-cluster", Class::Distributed, 0.8, Some(0)), cell("nats", Class::Distributed, 0.0, Some(0))];
    let said = |cells: &[Cell]| headlines(&cells.iter().collect::<Vec<_>>());
    assert_eq!(
        said(&cells),
        [
            "After a node was killed, nats answered all along and redis-cluster again after 800 ms; no acknowledged write was lost."
        ]
    );
    let stall = study::Stall { at_s: 3.5, duration_s: 1.1, ..study::Stall::default() };
    cells[1].trials[0].stalls = vec![stall];
    let stalled = "nats answered everything but stalled for up to 1.10 s and redis-cluster answered again after 800 ms";
    assert!(said(&cells)[0].contains(stalled), "a stall is no answering all along: {:?}", said(&cells));
    cells[1].trials[0].stalls[0].at_s = 0.5;
    assert!(said(&cells)[0].contains("nats answered all along"), "before the fault: {:?}", said(&cells));
    cells[1].trials[0].faults[0].longest_dark_s = Some(6.0);
    cells[0].trials[0].faults[0].longest_dark_s = Some(1.0);
    let nats = "nats answered all along in 1 of 2 trials, otherwise again after up to 6.00 s";
    assert!(said(&cells)[0].contains(nats), "a median must not hide a trial: {:?}", said(&cells));
    assert!(
        said(&cells)[0].contains("redis-cluster answered again after 900 ms (at worst 1.00 s)"),
        "{:?}",
        said(&cells)
    );
    cells[1].trials[0].faults[0].longest_dark_s = Some(0.0);
    for trial in &mut cells[0].trials {
        trial.writes = Some(WriteAccount { lost: 2, ..WriteAccount::default() });
    }
    assert!(said(&cells)[0].ends_with("; redis-cluster lost 4 acknowledged writes in 2 trials."), "{:?}", said(&cells));
    cells[1].trials[0].writes = None;
    assert!(said(&cells)[0].ends_with(" acknowledged writes in 2 trials and whether nats lost any is not known."));
    cells[0].verdict = Verdict::of([Reason { kind: ReasonKind::NotSent, count: 1, example: String::new() }]);
    assert!(said(&cells)[0].contains("nats answered all along and redis-cluster did not recover;"));
    // Classes are not compared.
    let apart = [cell("redis", Class::Network, 0.5, Some(0)), cell("nats", Class::Distributed, 0.0, Some(0))];
    assert_eq!(said(&apart).len(), 2);
    assert!(said(&apart)[0].contains("redis answered again after 500 ms;"), "{:?}", said(&apart));
    assert!(said(&[Cell::default()]).is_empty());
}

#[test]
fn many_faults_are_one_line_for_the_store() {
    let mut cell = cell("etcd", Class::Distributed, 0.8, Some(0));
    cell.faults = vec![cell.faults[0].clone(); 6];
    cell.trials[0].faults[0].failed_operations = 7;
    cell.faults[0].before_per_s = quantity(500.0);
    cell.faults[3].after_per_s = quantity(14.0);
    cell.faults[4].after_per_s = quantity(480.0);
    assert_eq!(
        lines(&[&cell]).collect::<Vec<_>>(),
        [
            "etcd, 6 faults in each of 2 trials: some keys had no answers for up to 800 ms at a time, in all as much as all keys for \
          0 s; 0 to 7 operations failed per trial; 500 good answers per second before the first fault and 14.0 after the worst; the \
          figures of each fault are on the page."
        ]
    );
}

#[test]
fn a_line_has_every_figure_with_its_interval() {
    let cell = cell("redis-cluster", Class::Distributed, 0.8, Some(0));
    assert_eq!(
        lines(&[&cell]).collect::<Vec<_>>(),
        [
            "redis-cluster, node1 (at 3s kill 1, 2 trials): some keys had no answers for 800 ms (800 ms to 1.20 s), as much as all keys \
          for 267 ms; 2 operations failed; the rate was back after 800 ms (800 ms to 1.20 s)."
        ]
    );
}
