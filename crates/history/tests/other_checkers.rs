//! What other checkers say of the same histories: todc-utils (Wing, Gong and Lowe) and adya (Elle's method, which reads our JSON lines).
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use adya::{Opts, Valid, Workload};
use common::{Dice, Talk, random};
use history::{Act, ActEnd, ActKind, Bounds, KeyOutcome, judge, write_lines};
use todc_utils::linearizability::WGLChecker;
use todc_utils::linearizability::history::{Action, History};
use todc_utils::specifications::register::{RegisterOperation, RegisterSpecification};

/// Says what todc-utils says. Its register has no word for nothing, and every operation is answered.
fn wing_gong_lowe(operations: &[Act]) -> bool {
    let mut events: Vec<(u64, bool, usize)> = Vec::new();
    for (at, it) in operations.iter().enumerate() {
        events.push((it.sent_ns, false, at));
        events.push((it.answered_ns(), true, at));
    }
    events.sort_unstable();
    let actions = events.into_iter().map(|(_, answered, at)| {
        let asked = match operations[at].kind {
            ActKind::Put(version) => RegisterOperation::Write(version),
            ActKind::Get(version) => RegisterOperation::Read(Some(version.unwrap_or(0))),
            _ => unreachable!("registers only"),
        };
        (at, if answered { Action::Response(asked) } else { Action::Call(asked) })
    });
    WGLChecker::<RegisterSpecification<u64>>::is_linearizable(History::from_actions(actions.collect()))
}

#[test]
fn registers_are_judged_as_by_wing_gong_and_lowe() {
    let (mut ordered, mut none) = (0, 0);
    for seed in 1..=4_000 {
        let mut operations = random(Talk::Register, &mut Dice::new(seed), 12);
        operations.retain(|it| it.end != ActEnd::Unknown);
        if operations.is_empty() {
            continue;
        }
        let truth = wing_gong_lowe(&operations);
        let ours = judge(&operations, &Bounds::default());
        assert_eq!(ours == KeyOutcome::Linearizable, truth, "{seed}: {operations:#?}");
        *(if truth { &mut ordered } else { &mut none }) += 1;
    }
    assert!(ordered > 500 && none > 500, "{ordered} {none}");
}

#[test]
fn what_elles_method_finds_in_our_json_lines_we_find_too() {
    let (mut theirs, mut ours) = (0, 0);
    for (talk, workload) in [(Talk::List, Workload::ListAppend), (Talk::Register, Workload::RwRegister)] {
        for seed in 1..=2_000 {
            let mut operations = random(talk, &mut Dice::new(seed), 14);
            // Elements and versions that come twice are an error of the history there.
            let mut met = std::collections::HashSet::new();
            operations.retain(|it| !matches!(it.kind, ActKind::Append(element) if !met.insert(element)));
            let mut lines = Vec::new();
            write_lines(&operations, &mut lines).unwrap();
            let history = adya::History::from_json(std::str::from_utf8(&lines).unwrap()).unwrap();
            let said = adya::check(&history, workload, &Opts { linearizable_keys: true, ..Opts::default() });
            let contradicts = matches!(judge(&operations, &Bounds::default()), KeyOutcome::Contradicts(_));
            if said.valid == Valid::False {
                theirs += 1;
                assert!(contradicts, "{talk:?} {seed}: {:?} in {operations:#?}", said.anomaly_types);
            }
            ours += u64::from(contradicts);
        }
    }
    assert!(theirs > 300 && ours >= theirs, "they found {theirs}, we {ours}");
}
