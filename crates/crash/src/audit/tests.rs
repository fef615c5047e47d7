use super::{Remains, audit};
use crate::{Findings, SentWrite, WriteKind};
use study::CrashFindings;

/// `p` put, `a` append, `d` delete of key 0; capitals were acknowledged, each one second after the other; `+` goes on with the next key.
fn sent(script: &str) -> Vec<SentWrite> {
    let mut key = 0;
    let mut entries = Vec::new();
    for letter in script.chars() {
        let kind = match letter.to_ascii_lowercase() {
            'p' => WriteKind::Put,
            'a' => WriteKind::Append,
            'd' => WriteKind::Delete,
            _ => {
                key += 1;
                continue;
            }
        };
        let at_ns = (entries.len() as u64 + 1) * 1_000_000_000;
        entries.push(SentWrite {
            key,
            kind,
            sent_at_ns: 0,
            acknowledged_at_ns: letter.is_uppercase().then_some(at_ns),
        });
    }
    entries
}

/// The crash comes at 10 s.
fn found(script: &str, found: &[Remains]) -> CrashFindings {
    let mut findings = Findings::default();
    let mut of = |key: u32| found[key as usize].clone();
    audit(&sent(script), 10_000_000_000, &mut of, &|key| format!("key {key}"), &mut findings);
    findings.done()
}

/// Lost, torn, resurrected, invented, holes.
fn counts(it: &CrashFindings) -> [u64; 5] {
    [it.lost, it.torn, it.resurrected, it.invented, it.holes]
}

fn written(versions: &[u32]) -> Remains {
    Remains::Written(versions.to_vec())
}

#[test]
fn what_was_acknowledged_and_is_there_is_right() {
    for (script, is) in [
        ("P", written(&[1])),
        ("PP", written(&[2])),
        ("PA", written(&[1, 2])),
        ("PAA", written(&[1, 2, 3])),
        ("PD", Remains::Absent),
        ("PDP", written(&[3])),
        ("PDA", written(&[3])),
        ("D", Remains::Absent),
    ] {
        let it = found(script, &[is]);
        assert_eq!(counts(&it), [0; 5], "{script}: {it:?}");
        assert_eq!(it.acknowledged, script.len() as u64);
    }
}

#[test]
fn what_was_in_flight_may_be_there_or_not() {
    for (script, either, or) in [
        ("p", Remains::Absent, written(&[1])),
        ("Pp", written(&[1]), written(&[2])),
        ("Pa", written(&[1]), written(&[1, 2])),
        ("Pd", written(&[1]), Remains::Absent),
        ("PaA", written(&[1, 3]), written(&[1, 2, 3])),
        ("PdA", written(&[3]), written(&[1, 3])),
        ("PpA", written(&[1, 3]), written(&[2, 3])),
    ] {
        for is in [either, or] {
            let it = found(script, &[is]);
            assert_eq!(counts(&it), [0; 5], "{script}: {it:?}");
        }
    }
}

#[test]
fn each_fault_is_found_alone() {
    assert_eq!(counts(&found("P", &[Remains::Absent])), [1, 0, 0, 0, 0]);
    assert_eq!(counts(&found("PP", &[written(&[1])])), [1, 0, 0, 0, 0]);
    assert_eq!(counts(&found("PA", &[written(&[1])])), [1, 0, 0, 0, 0]);
    assert_eq!(counts(&found("PPP", &[Remains::Absent])), [3, 0, 0, 0, 0]);
    assert_eq!(counts(&found("PDP", &[Remains::Absent])), [1, 0, 0, 0, 0], "the delete is what is found");
    assert_eq!(counts(&found("P", &[Remains::Torn("half".into())])), [0, 1, 0, 0, 0]);
    assert_eq!(counts(&found("P", &[Remains::Foreign("another's".into())])), [0, 0, 0, 1, 0]);
    assert_eq!(counts(&found("P", &[written(&[2])])), [0, 0, 0, 1, 0], "never sent");
    assert_eq!(counts(&found("PA", &[written(&[2, 1])])), [0, 0, 0, 1, 0], "in another order");
    assert_eq!(counts(&found("PD", &[written(&[1])])), [1, 0, 1, 0, 0], "the delete is lost, the value back");
    assert_eq!(counts(&found("P+P", &[Remains::Absent, written(&[2])])), [1, 0, 0, 0, 1], "a hole");
    assert_eq!(counts(&found("PAA", &[written(&[1, 3])])), [1, 0, 0, 0, 1], "a hole within a value");
    assert_eq!(
        counts(&found("P+P", &[written(&[1]), Remains::Absent])),
        [1, 0, 0, 0, 0],
        "the last one lost is no hole"
    );
}

#[test]
fn ages_count_from_the_acknowledgement_to_the_crash() {
    let it = found("P+P", &[Remains::Absent, Remains::Absent]);
    assert_eq!((it.lost, it.oldest_lost_s), (2, Some(9.0)));
    assert_eq!(it.lost_ages.iter().sum::<u64>(), 2);
    assert_eq!(it.clients[0].lost, 2);
    assert!(it.examples[0].contains("key 0: the acknowledged write 1 is lost, 9.000 s old"), "{:?}", it.examples);
}
