//! The checker against those of others: Wing, Gong and Lowe's search in `todc-utils`, and Elle's rules in `adya`, which reads our lines.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Dice, honest, random, spoilt};
use history::{Deed, Encounter, check_key, write_lines};
use todc_utils::specifications::register::{RegisterOperation, RegisterSpecification};
use todc_utils::{Action as Event, History, WGLChecker};

fn some(dice: &mut Dice, round: u64, most: u64) -> Vec<Encounter> {
    let n = 3 + dice.below(most);
    match round % 3 {
        0 => random(dice, n, false),
        1 => honest(dice, n, false),
        _ => {
            let honest = honest(dice, n, false);
            spoilt(dice, honest)
        }
    }
}

#[test]
fn a_search_of_others_comes_to_the_same() {
    let mut dice = Dice(17);
    let mut seen = [0; 2];
    for round in 0..20_000 {
        let mut all = some(&mut dice, round, 20);
        all.retain(|it| it.answered_ns.is_some()); // it knows no operation that was not answered
        let mut events: Vec<(u64, bool, usize, Event<RegisterOperation<u64>>)> = Vec::new();
        for (at, it) in all.iter().enumerate() {
            let (call, response) = match it.action {
                Deed::Write(version) => (RegisterOperation::Write(version), RegisterOperation::Write(version)),
                _ => (RegisterOperation::Read(None), RegisterOperation::Read(Some(it.version()))),
            };
            events.push((it.sent_ns, false, at, Event::Call(call)));
            events.push((it.answered_ns.unwrap(), true, at, Event::Response(response)));
        }
        if events.is_empty() {
            continue;
        }
        events.sort_by_key(|it| (it.0, it.1, it.2));
        let history = History::from_actions(events.into_iter().map(|(_, _, at, event)| (at, event)).collect());
        let expected = WGLChecker::<RegisterSpecification<u64>>::is_linearizable(history);
        assert_eq!(check_key(&all).unwrap().smallest.is_none(), expected, "{all:#?}");
        seen[usize::from(expected)] += 1;
    }
    assert!(seen.iter().all(|&it| it > 3_000), "{seen:?}");
}

#[test]
fn what_elles_rules_find_in_our_lines_we_find_too() {
    let mut dice = Dice(23);
    let (mut wrong, mut both) = (0, 0);
    for round in 0..600 {
        let mut all = some(&mut dice, round, 12);
        (0..).zip(&mut all).for_each(|(client, it)| it.client = client);
        let mut lines = Vec::new();
        write_lines(&all, &mut lines).unwrap();
        let history = adya::History::from_json(std::str::from_utf8(&lines).unwrap()).unwrap();
        let options = adya::Opts { linearizable_keys: true, ..adya::Opts::default() };
        let report = adya::check(&history, adya::Workload::RwRegister, &options);
        let ours = check_key(&all).unwrap().smallest.is_some();
        wrong += u64::from(ours);
        if report.valid == adya::Valid::False {
            assert!(ours, "{:?} {all:#?}", report.anomaly_types);
            both += 1;
        }
    }
    // Its rules are sound, but see less than a check of the order itself does.
    assert!(both > 50 && both <= wrong, "{both} of {wrong}");
}
