//! What replies wait behind where clients share connections, in sentences.

use study::{Cell, HeadOfLine};
use words::units;

/// Returns a sentence for each cell whose clients shared connections: how many requests were ahead of one, over the trials that count.
pub fn sentences<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = String> + 'a {
    cells.iter().filter_map(|cell| {
        let of_all = cell.counted().filter_map(|trial| trial.head_of_line).reduce(HeadOfLine::and)?;
        Some(format!(
            "On {} clients share connections, so a slow reply delays those behind it: {} requests were ahead of one on average, at most {}.",
            cell.store,
            units::count(of_all.mean_ahead()),
            units::whole(of_all.most_ahead)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::sentences;
    use study::{Cell, HeadOfLine, TrialRecord};

    #[test]
    fn a_store_whose_clients_share_connections_says_what_a_reply_waits_behind_and_no_other_does() {
        let trial = |ahead: u64, most_ahead: u64| TrialRecord {
            head_of_line: Some(HeadOfLine { requests: 100, ahead, most_ahead }),
            ..TrialRecord::default()
        };
        let trials = vec![trial(1_000, 15), trial(3_000, 49)];
        let shared = Cell { store: "redis,connections=1".into(), trials, ..Cell::default() };
        let own = Cell { store: "redis".into(), trials: vec![TrialRecord::default()], ..Cell::default() };
        let said: Vec<String> = sentences(&[&own, &shared]).collect();
        assert_eq!(
            said,
            [
                "On redis,connections=1 clients share connections, so a slow reply delays those behind it: 20.0 requests were ahead of one on \
             average, at most 49."
            ]
        );
    }
}
