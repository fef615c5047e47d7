//! What is recorded comes back, from memory and from a file; what is written as lines can be read.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Dice, honest, random};
use history::{Collector, Deed, Encounter, Reel, Told, check, read_lines, write_lines};

#[test]
fn what_does_not_fit_into_memory_is_in_a_file_that_leaves_nothing_behind() {
    let directory = std::env::temp_dir().join(format!("kvtrial-history-{}", std::process::id()));
    std::fs::create_dir(&directory).unwrap();
    let collector = Collector::new(&directory).with_room(20_000).timed_by(Box::new(|ticks| ticks / 3));
    let total = 100_000;
    let mut lane = Reel::new(&collector);
    let mut expected = Vec::new();
    for number in 0..total {
        let action = if number % 2 == 0 { Deed::Write(number + 1) } else { Deed::Read(number) };
        let (client, key, sent) = (number as u32 % 9, number / 2, number * 30);
        let said = match action {
            Deed::Read(version) => Told::read(client, version),
            _ => Told::written(client, number + 1),
        };
        let answered_ns = (number % 7 > 0).then_some(number * 10 + 5);
        match answered_ns {
            Some(at_ns) => lane.answered(key, said, sent, at_ns * 3 + 2),
            None => lane.unanswered(key, said, sent),
        }
        expected.push(Encounter { client, key, action, sent_ns: sent / 3, answered_ns });
    }
    drop(lane);
    let collected = collector.collected().unwrap();
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
    std::fs::remove_dir(&directory).unwrap();
    assert_eq!(collected.operations(), total);
    let mut all = collected.all().unwrap();
    all.sort_by_key(|it| it.sent_ns);
    assert!(all == expected);
    let checked = collected.check().unwrap().unwrap();
    assert_eq!(checked, check(&mut expected).unwrap());
    assert_eq!((checked.keys, checked.contradicted_keys), (total / 2, 0));
}

#[test]
fn lines_are_read_as_they_were_written() {
    let mut dice = Dice(11);
    for round in 0..2_000 {
        let n = 2 + dice.below(20);
        let mut all = if round % 2 == 0 { honest(&mut dice, n, true) } else { random(&mut dice, n, true) };
        // One after the other, as a client sends them.
        (0..).zip(&mut all).for_each(|(client, it)| it.client = client);
        let mut text = Vec::new();
        write_lines(&all, &mut text).unwrap();
        let mut again = read_lines(&mut &text[..]).unwrap();
        let unseen = |it: &mut Encounter| {
            if let (None, Deed::Read(_) | Deed::Swap { .. }) = (it.answered_ns, it.action) {
                it.action = Deed::Read(0); // what it would have found is in no line
            }
        };
        all.sort_unstable_by_key(|it| (it.sent_ns, it.client));
        all.iter_mut().chain(&mut again).for_each(unseen);
        assert_eq!(all, again);
    }
}

#[test]
fn a_line_that_is_none_is_named_with_what_it_should_be() {
    let error = |text: &str| read_lines(&mut text.as_bytes()).unwrap_err().to_string();
    let invoke = r#"{"type":"invoke","process":0,"time":1,"value":[["w",1,2]]}"#;
    assert!(error(&format!("{invoke}\nnonsense")).starts_with("line 2: "));
    assert!(error(&invoke.replace("\"w\"", "\"append\"")).contains("line 1: the value is"));
    assert_eq!(error(&invoke.replace("invoke", "ok")), "line 1: ends what was not sent");
    assert!(error(&invoke.replace("invoke", "begin")).contains("not 'begin'"));
    let nemesis = r#"{"type":"info","process":"nemesis","f":"start","index":0}"#;
    assert_eq!(read_lines(&mut format!("{nemesis}\n{invoke}\n").as_bytes()).unwrap().len(), 1);
}
