//! The grow job against known answers, at its phases and shares, and against stores that lie.
#![allow(clippy::unwrap_used)]

use crate::harness;

use harness::{Backend, Memory, Request, Response, Turns, everything, nothing, run};
use jobkit::{Job, Pace, TrialSetup};
use kvtrial_jobs as jobs;
use store::Capabilities;
use study::ReasonKind;

/// Answers of `tests/oracle/grow.py`.
const ITEMS_2000_42: &str = "sha256:4e59521ffcdd4223b4cf31932e09e1e9b90b641abf4e890921ab5279612a12b9";
const ITEMS_20000_42: &str = "sha256:5d18d6a662d22339f2fa6a03939db80fe117b7ff0494a52fec613fcb55f998cf";
const ITEMS_1000_7_OF_100: &str = "sha256:52e298749fa7b9c44db030c1563278268a1c39b8b5ff72e4e72533a163dd850d";
const ITEMS_1000_7_OF_16: &str = "sha256:8d072e89f85977878fb208f76b7bf625438190cef00f24985d5d0318b1243954";

fn job(seed: u64, set: &[(&str, &str)]) -> Box<dyn Job> {
    prepare(seed, set).unwrap()
}

fn prepare(seed: u64, set: &[(&str, &str)]) -> Result<Box<dyn Job>, jobkit::JobError> {
    let set: Vec<_> = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    jobs::prepare(jobs::find("grow").unwrap(), None, &set, seed)
}

#[test]
fn the_answer_is_that_of_an_unrelated_script_however_it_is_run() {
    assert_eq!(job(42, &[]).known_digest().as_deref(), Some(ITEMS_20000_42));
    let of = |bytes| job(7, &[("items", "1000"), ("value", bytes)]).known_digest();
    assert_eq!((of("100").as_deref(), of("16").as_deref()), (Some(ITEMS_1000_7_OF_100), Some(ITEMS_1000_7_OF_16)));
    for (mode, reads) in [("fill", "0"), ("fill", "0.5"), ("two-phase", "0.1"), ("two-phase", "0.9")] {
        let job = job(42, &[("items", "2000"), ("mode", mode), ("reads", reads)]);
        for (slots, turns) in
            [(1, Turns::OneByOne), (3, Turns::Random(1)), (16, Turns::Random(2)), (800, Turns::Random(3))]
        {
            let mut store = Memory::default();
            let outcome = run(&*job, &mut store, everything(), slots, turns);
            let seen = (outcome.answer.digest.as_str(), &outcome.reasons[..]);
            assert_eq!(seen, (ITEMS_2000_42, &[][..]), "{mode}, {reads}, {slots}");
            assert_eq!(outcome.planned.iter().map(|count| count.unwrap()).collect::<Vec<_>>(), outcome.operations);
            assert_eq!(outcome.fact("items_read_back"), 2000);
            assert_eq!(outcome.fact("value_bytes_read_back"), 3_051_047);
            let keys: usize = store.values.keys().map(Vec::len).sum();
            assert_eq!(outcome.logical_bytes, 3_051_047 + keys as u64);
        }
    }
}

#[test]
fn gets_of_all_that_was_put_before_are_mixed_in_as_often_as_asked() {
    let job = job(42, &[("items", "3000"), ("value", "16"), ("reads", "0.75")]);
    let (mut memory, mut puts, mut early, mut gets) = (Memory::default(), Vec::new(), 0, 0);
    let mut store = |request: &Request| {
        match request {
            Request::Put(key, _) => puts.push(key.clone()),
            Request::Get(key) if puts.len() < 3000 => {
                let place = puts.iter().position(|put| put == key).unwrap();
                gets += 1;
                early += u32::from(place < puts.len() / 2);
            }
            _ => {}
        }
        memory.answer(request)
    };
    let outcome = run(&*job, &mut store, everything(), 2, Turns::Random(6));
    assert_eq!((outcome.operations[0], outcome.reasons.len()), (12_000, 0));
    // Half of them go to the older half, wherever the growing stands.
    assert!((8_900..9_001).contains(&gets) && (gets * 46 / 100..gets * 54 / 100).contains(&early), "{early} of {gets}");
}

#[test]
fn two_phases_go_on_at_shares_of_the_rate_the_first_came_to() {
    let job = job(42, &[("items", "6000"), ("mode", "two-phase"), ("reads", "0")]);
    let trial = job.trial(&TrialSetup::alone(7, everything(), 42));
    let seen: Vec<_> = trial.phases().iter().map(|phase| (phase.stores, phase.pace)).collect();
    let share = |percent| (Some(1000), Pace::ShareOf { phase: 0, percent });
    assert_eq!(seen, [(Some(3000), Pace::Highest), share(50), share(80), share(95), (None, Pace::AsAsked)]);
}

#[test]
fn what_cannot_be_is_refused_with_the_remedy_and_too_small_stores_are_named() {
    for (name, value, remedy) in [
        ("items", "0", "1 to 1000000000000000"),
        ("value", "15", "16 to 1048576"),
        ("value", "big", "spread"),
        ("reads", "1", "0 to 0.99"),
        ("mode", "open", "fill or two-phase"),
        ("verify", "none", "all or sample"),
    ] {
        let refused = prepare(42, &[(name, value)]).err().unwrap().0;
        assert!(refused.contains(&format!("{name}={value}")) && refused.contains(remedy), "{refused}");
    }
    let file = jobs::prepare(jobs::find("grow").unwrap(), Some("no/items.txt".into()), &[], 42).err().unwrap().0;
    assert!(file.contains("no/items.txt") && file.contains("name a readable file"), "{file}");
    let none = prepare(42, &[("items", "file")]).err().unwrap().0;
    assert!(none.contains("items=file") && none.contains("--data"), "{none}");
    let small = Capabilities { max_value_bytes: 1000, ..everything() };
    assert!(job(42, &[]).suits(&small).unwrap_err().0.contains("1009661 bytes"));
    assert_eq!(job(42, &[("value", "1000")]).suits(&small), Ok(vec![]));
    let short = Capabilities { max_key_bytes: 16, ..everything() };
    assert!(job(42, &[]).suits(&short).unwrap_err().0.contains("a key has 23 bytes"));
}

#[test]
fn items_of_a_file_are_stored_once_or_as_often_as_asked_and_read_back() {
    let file = ten_items();
    let of = |set: &[(&str, &str)]| {
        let set: Vec<_> = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        jobs::prepare(jobs::find("grow").unwrap(), Some(file.path().display().to_string()), &set, 42)
    };
    let job = of(&[("items", "25"), ("reads", "0.5")]).unwrap();
    let mut store = Memory::default();
    let outcome = run(&*job, &mut store, everything(), 3, Turns::Random(1));
    assert!(outcome.reasons.is_empty(), "{:?}", outcome.reasons);
    assert_eq!(outcome.fact("items_read_back"), 25);
    assert_eq!(Some(outcome.answer.digest), job.known_digest());
    assert_eq!(store.values.len(), 25);
    assert_eq!(store.values["/etc/ä".as_bytes()].0, b"1 2\t3");
    assert_eq!(store.values[&b"3~plain"[..]].0, b"3~\xff\x00");
    let once = of(&[("items", "file"), ("mode", "two-phase")]).unwrap();
    let mut store = Memory::default();
    run(&*once, &mut store, everything(), 2, Turns::OneByOne);
    assert_eq!((store.values.len(), once.warnings()), (10, vec![]));
    let few = of(&[("items", "4")]).unwrap().warnings();
    assert!(few[0].starts_with("4 of the 10 items of ") && few[0].contains("items=file"), "{few:?}");
    // A store that gives the value of the first time for the second is caught.
    let mut memory = Memory::default();
    let mut store = |request: &Request| match request {
        Request::Get(key) => memory.answer(&Request::Get(key.strip_prefix(b"2~").unwrap_or(key).to_vec())),
        other => memory.answer(other),
    };
    let outcome = run(&*job, &mut store, everything(), 1, Turns::OneByOne);
    assert!(outcome.reasons.iter().any(|reason| reason.kind == ReasonKind::WrongKey), "{:?}", outcome.reasons);
    let value = of(&[("value", "100")]).err().unwrap().0;
    assert!(value.contains("value=100") && value.contains("leave it out"), "{value}");
}

/// Ten items, in both forms.
fn ten_items() -> tempfile::NamedTempFile {
    use std::io::Write;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all("{\"k\": \"/etc/ä\", \"v\": \"1 2\\t3\"}\n".as_bytes()).unwrap();
    file.write_all(b"plain\t\xff\x00\n").unwrap();
    for number in 0..8 {
        writeln!(file, "key {number}\t{}", "x".repeat(100 * number)).unwrap();
    }
    file
}

#[test]
fn a_null_store_is_never_checked_and_a_sample_says_that_it_is_one() {
    let mut void = |request: &Request| match request {
        Request::Get(_) => Response::Missing,
        _ => Response::Done,
    };
    let outcome = run(&*job(7, &[("items", "900")]), &mut void, nothing(), 2, Turns::OneByOne);
    assert_eq!((&outcome.operations[..], outcome.reasons, outcome.answer.digest.as_str()), (&[1000][..], vec![], ""));
    let sampled = job(7, &[("items", "2050"), ("verify", "sample")]);
    let outcome = run(&*sampled, &mut Memory::default(), everything(), 4, Turns::Random(5));
    assert_eq!(
        (outcome.operations[1], outcome.fact("verified"), outcome.reasons.len()),
        (21, &"1 item in 100".into(), 0)
    );
    assert!(outcome.answer.digest.is_empty() && sampled.known_digest().is_none() && sampled.warnings().len() == 1);
}

/// Changes what a store does, or answers, from some operation on.
type Lie = fn(&mut Memory, &Request) -> Response;

/// Runs with a store that lies about one operation of a kind: the 700th that `about` names.
fn run_with(lie: Lie, about: fn(&Request) -> bool, reads: &str) -> harness::Outcome {
    let (mut memory, mut left) = (Memory::default(), 700);
    let mut store = |request: &Request| {
        left -= i32::from(about(request));
        if left == 0 && about(request) { lie(&mut memory, request) } else { memory.answer(request) }
    };
    run(&*job(42, &[("items", "2000"), ("reads", reads)]), &mut store, everything(), 5, Turns::Random(9))
}

#[test]
fn a_put_that_was_dropped_truncated_or_given_another_items_value_is_found_with_its_key() {
    let put = |request: &Request| matches!(request, Request::Put(..));
    let cases: [(Lie, ReasonKind, &str); 4] = [
        (|_, _| Response::Done, ReasonKind::UnexpectedMiss, "missing"),
        (
            |memory, request| {
                let Request::Put(key, value) = request else { unreachable!() };
                memory.answer(&Request::Put(key.clone(), value[..value.len() - 1].to_vec()))
            },
            ReasonKind::WrongValue,
            "must be",
        ),
        (
            |memory, request| {
                let Request::Put(key, _) = request else { unreachable!() };
                let other = memory.values.values().next().unwrap().0.clone();
                memory.answer(&Request::Put(key.clone(), other))
            },
            ReasonKind::WrongKey,
            "the value of item:",
        ),
        (
            |memory, request| {
                let Request::Put(key, value) = request else { unreachable!() };
                let mut value = value.clone();
                *value.last_mut().unwrap() ^= 1;
                memory.answer(&Request::Put(key.clone(), value))
            },
            ReasonKind::WrongValue,
            "is wrong",
        ),
    ];
    for (lie, kind, words) in cases {
        let outcome = run_with(lie, put, "0");
        assert_eq!(outcome.kinds(), [kind], "{:?}", outcome.reasons);
        let reason = outcome.reason(kind);
        assert!(reason.example.contains("key item:") && reason.example.contains(words), "{reason:?}");
        assert!(outcome.answer.digest.starts_with("sha256:") && outcome.answer.digest != ITEMS_2000_42);
        assert_eq!(outcome.fact("items_wrong"), 1);
    }
}

#[test]
fn a_get_while_inserting_that_misses_or_is_answered_with_another_items_value_is_found() {
    let get = |request: &Request| matches!(request, Request::Get(..));
    let other: Lie = |memory, request| {
        let Request::Get(key) = request else { unreachable!() };
        Response::Value(memory.values.iter().find(|(other, _)| *other != key).unwrap().1.0.clone())
    };
    for (lie, kind) in [((|_, _| Response::Missing) as Lie, ReasonKind::UnexpectedMiss), (other, ReasonKind::WrongKey)]
    {
        let outcome = run_with(lie, get, "0.5");
        assert_eq!((outcome.kinds(), outcome.reason(kind).count), (vec![kind], 1), "{:?}", outcome.reasons);
        // The store itself holds what it must.
        assert_eq!(outcome.answer.digest, ITEMS_2000_42);
    }
}

#[test]
fn refused_puts_are_counted_once_and_what_is_missing_for_it_is_no_loss() {
    let (mut memory, mut puts) = (Memory::default(), 0);
    let mut full = |request: &Request| {
        puts += u32::from(matches!(request, Request::Put(..)));
        if matches!(request, Request::Put(..)) && puts > 1500 {
            return Response::Refused("no space left on device");
        }
        memory.answer(request)
    };
    let job = job(42, &[("items", "2000"), ("reads", "0.5")]);
    let outcome = run(&*job, &mut full, everything(), 8, Turns::Random(4));
    assert_eq!((outcome.kinds(), outcome.reason(ReasonKind::Refused).count), (vec![ReasonKind::Refused], 500));
    assert_eq!((outcome.fact("items_not_acknowledged"), outcome.fact("items_wrong")), (&500.into(), &500.into()));
    assert_eq!(outcome.fact("items_wrong"), 500);
}
