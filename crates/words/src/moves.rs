//! What came of a node that came or went (job `nodes`), in sentences.

use crate::units;
use serde_json::Value;
use std::collections::BTreeMap;
use study::Cell;

type Facts = BTreeMap<String, Value>;

/// A sentence for each trial that counts and in which keys moved.
pub fn sentences<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = String> + 'a {
    cells.iter().flat_map(|cell| {
        cell.counted().filter_map(move |trial| {
            let said = of(&trial.answer.facts)?;
            Some(format!("{}, trial {}: {said}", cell.store, trial.order))
        })
    })
}

fn of(facts: &Facts) -> Option<String> {
    let number = |name: &str| facts.get(name).and_then(Value::as_f64);
    let percent = |name: &str| Some(100.0 * number(name)?);
    let (before, after) = (number("nodes_before")?, number("nodes_after")?);
    let mut said = format!(
        "{before} nodes became {after}, and {} of {} keys moved ({:.1} %",
        number("keys_to_move")?,
        number("keys")?,
        percent("share_to_move")?
    );
    if let Some((theory, deviation)) = percent("share_to_move_in_theory").zip(percent("share_to_move_deviation")) {
        said += &format!(", in theory {theory:.1} ± {deviation:.1} %");
    }
    said += ")";
    let operations = number("operations_on_moving_keys").filter(|operations| *operations > 0.0)?;
    let requests = number("requests_for_moving_keys")? / operations;
    if number("keys_to_move")? > 0.0 {
        if let Some(moving_s) = number("moving_s") {
            said += &format!(" in {}", units::duration(moving_s));
        }
        said += &format!("; an operation on one of them took {requests:.1} requests.");
    } else {
        said += &format!("; an operation took {requests:.1} requests.");
    }
    let (was, is) = (percent("variation_before")?, percent("variation_after")?);
    said += &format!(" Keys per node differ by {was:.1} % before and {is:.1} % after (standard deviation");
    if let Some(theory) = percent("variation_in_theory") {
        said += &format!(", in theory {theory:.1} %");
    }
    Some(said + ").")
}

#[cfg(test)]
mod tests {
    use super::{Facts, of};
    use serde_json::json;

    #[test]
    fn a_change_of_nodes_is_said_with_what_theory_says_of_it() {
        let facts: Facts = [
            ("keys", json!(20000)),
            ("nodes_before", json!(8)),
            ("nodes_after", json!(9)),
            ("keys_to_move", json!(2243)),
            ("share_to_move", json!(0.11215)),
            ("share_to_move_in_theory", json!(0.11111)),
            ("share_to_move_deviation", json!(0.00222)),
            ("moving_s", json!(0.2381)),
            ("operations_on_moving_keys", json!(4500)),
            ("requests_for_moving_keys", json!(11318)),
            ("variation_before", json!(0.0141)),
            ("variation_after", json!(0.021)),
            ("variation_in_theory", json!(0.0187)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let said = "8 nodes became 9, and 2243 of 20000 keys moved (11.2 %, in theory 11.1 ± 0.2 %) in 238 ms; \
                    an operation on one of them took 2.5 requests. \
                    Keys per node differ by 1.4 % before and 2.1 % after (standard deviation, in theory 1.9 %).";
        assert_eq!(of(&facts).as_deref(), Some(said));
        assert_eq!(of(&Facts::new()), None);
    }

    #[test]
    fn where_no_key_moves_the_requests_are_those_of_any_operation() {
        let facts: Facts = [
            ("keys", json!(5000)),
            ("nodes_before", json!(8)),
            ("nodes_after", json!(9)),
            ("keys_to_move", json!(0)),
            ("share_to_move", json!(0.0)),
            ("moving_s", json!(0.001)),
            ("operations_on_moving_keys", json!(20000)),
            ("requests_for_moving_keys", json!(22000)),
            ("variation_before", json!(0.05)),
            ("variation_after", json!(0.36)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let said = "8 nodes became 9, and 0 of 5000 keys moved (0.0 %); an operation took 1.1 requests. \
                    Keys per node differ by 5.0 % before and 36.0 % after (standard deviation).";
        assert_eq!(of(&facts).as_deref(), Some(said));
    }
}
