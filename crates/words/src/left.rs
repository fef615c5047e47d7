//! What a run left behind in user-owned stores, in words.

use crate::units;
use study::{Left, LeftCount, Study};

/// Returns a sentence for each user-owned store that keeps something of the run.
pub fn left_sentences(study: &Study) -> Vec<String> {
    study.left.iter().map(sentence).collect()
}

fn sentence(left: &Left) -> String {
    let noun = if left.keys == 1 { "key" } else { "keys" };
    let keys = match left.count {
        LeftCount::Exact => format!("{} {noun} of this run", units::whole(left.keys)),
        LeftCount::AtMost => format!("up to {} {noun} of this run", units::whole(left.keys)),
        LeftCount::Unknown => "an unknown number of keys of this run, which inserted until its time was up".to_owned(),
    };
    let made = left.made.join(", ");
    match (left.keys, left.made.is_empty()) {
        (0, _) => format!("{} keeps no keys of this run, but still has what was created for it: {made}.", left.store),
        (_, true) => format!("{} keeps {keys}.", left.store),
        (_, false) => format!("{} keeps {keys} ({made}).", left.store),
    }
}

#[cfg(test)]
mod tests {
    use super::left_sentences;
    use study::{Left, LeftCount, Study};

    #[test]
    fn what_is_left_is_said_with_its_number_and_its_places() {
        let left = |keys, count, made: &[&str]| Left {
            store: "redis://h:1".into(),
            keys,
            count,
            made: made.iter().map(|name| (*name).to_owned()).collect(),
        };
        let study = Study {
            left: vec![
                left(20_000, LeftCount::Exact, &[]),
                left(1, LeftCount::AtMost, &["table a.b", "table a.c"]),
                left(0, LeftCount::Exact, &["database d"]),
            ],
            ..Study::default()
        };
        assert_eq!(
            left_sentences(&study),
            [
                "redis://h:1 keeps 20,000 keys of this run.",
                "redis://h:1 keeps up to 1 key of this run (table a.b, table a.c).",
                "redis://h:1 keeps no keys of this run, but still has what was created for it: database d."
            ]
        );
    }
}
