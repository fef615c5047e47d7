//! What came of a node that came or went (job `nodes`), in sentences.

use serde_json::Value;
use std::collections::BTreeMap;
use study::Cell;
use words::units;

type Facts = BTreeMap<String, Value>;

/// Returns a sentence for each trial that counts and in which keys moved.
pub fn sentences<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = String> + 'a {
    cells.iter().flat_map(|cell| {
        cell.counted().filter_map(move |trial| {
            let said = of(&trial.answer.facts)?;
            Some(format!("{}, trial {}: {said}", cell.store, trial.order))
        })
    })
}

fn of(facts: &Facts) -> Option<String> {
    of_cluster(facts).or_else(|| of_layer(facts))
}

/// What a cluster that spreads its keys itself says about them: `as the cluster says, 5,012 of 20,000 keys (25.1 %) ...`
fn of_cluster(facts: &Facts) -> Option<String> {
    let says = facts.get("where_keys_are").and_then(Value::as_str)?;
    let number = |name: &str| facts.get(name).and_then(Value::as_f64);
    let Some((moved, share)) = number("keys_at_another_node").zip(number("share_at_another_node")) else {
        return Some(format!("where its keys are: {says}."));
    };
    let by_node = |name: &str| {
        let keys = facts.get(name).and_then(Value::as_array)?;
        let shown = |keys: &Value| keys.as_u64().map_or_else(|| keys.to_string(), units::whole);
        Some(words::joined(&keys.iter().map(shown).collect::<Vec<_>>()))
    };
    Some(format!(
        "as the cluster says, {} of {} keys ({:.1} %) are at another node than before; the nodes had {}; now they have {}.{}",
        whole(moved),
        whole(number("keys")?),
        100.0 * share,
        by_node("keys_by_node_before")?,
        by_node("keys_by_node_after")?,
        of_balance(facts)?
    ))
}

/// Returns a sentence on the keys that a layer of kvtrial moved.
fn of_layer(facts: &Facts) -> Option<String> {
    let number = |name: &str| facts.get(name).and_then(Value::as_f64);
    let percent = |name: &str| Some(100.0 * number(name)?);
    let (before, after) = (number("nodes_before")?, number("nodes_after")?);
    let theory = percent("share_to_move_in_theory").zip(percent("share_to_move_deviation"));
    let theory = theory.map(|(theory, deviation)| format!(", in theory {theory:.1} ± {deviation:.1} %"));
    let (keys, moved, share) = (number("keys")?, number("keys_to_move")?, percent("share_to_move")?);
    let mut said = match (number("node_lost"), number("keys_on_lost_node"), percent("share_on_lost_node")) {
        (Some(node), Some(lost), Some(lost_share)) => format!(
            "{before} nodes became {after}: node{node} was lost with {} of {} keys ({lost_share:.1} %), and {} others moved",
            whole(lost),
            whole(keys),
            whole(moved)
        ),
        _ => format!(
            "{before} nodes became {after}, and {} of {} keys moved ({share:.1} %{})",
            whole(moved),
            whole(keys),
            theory.unwrap_or_default()
        ),
    };
    let Some(operations) = number("operations_on_moving_keys").filter(|operations| *operations > 0.0) else {
        return Some(said + "." + &of_balance(facts)?);
    };
    let requests = number("requests_for_moving_keys")? / operations;
    if moved > 0.0 {
        if let Some(moving_s) = number("moving_s") {
            said += &format!(" in {}", units::duration(moving_s));
        }
        said += &format!("; an operation on one of them took {requests:.1} requests.");
    } else {
        said += &format!("; an operation took {requests:.1} requests.");
    }
    Some(said + &of_balance(facts)?)
}

fn whole(number: f64) -> String {
    units::whole(number.round() as u64)
}

/// ` Keys per node differ by 1.4 % before and 2.1 % after (standard deviation, in theory 1.9 %).`
fn of_balance(facts: &Facts) -> Option<String> {
    let percent = |name: &str| Some(100.0 * facts.get(name).and_then(Value::as_f64)?);
    let (was, is) = (percent("variation_before")?, percent("variation_after")?);
    let mut said = format!(" Keys per node differ by {was:.1} % before and {is:.1} % after (standard deviation");
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
        let said = "8 nodes became 9, and 2,243 of 20,000 keys moved (11.2 %, in theory 11.1 ± 0.2 %) in 238 ms; \
                    an operation on one of them took 2.5 requests. \
                    Keys per node differ by 1.4 % before and 2.1 % after (standard deviation, in theory 1.9 %).";
        assert_eq!(of(&facts).as_deref(), Some(said));
        assert_eq!(of(&Facts::new()), None);
    }

    #[test]
    fn of_a_cluster_it_is_said_what_the_cluster_says_or_that_it_says_nothing() {
        let mut facts: Facts = [
            ("keys", json!(20000)),
            ("where_keys_are", json!("as the store says")),
            ("keys_at_another_node", json!(5012)),
            ("share_at_another_node", json!(0.2506)),
            ("keys_by_node_before", json!([6700, 6650, 6650, 0])),
            ("keys_by_node_after", json!([5000, 5010, 4978, 5012])),
            ("variation_before", json!(0.003)),
            ("variation_after", json!(0.004)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let said = "as the cluster says, 5,012 of 20,000 keys (25.1 %) are at another node than before; the nodes had 6,700, 6,650, 6,650 and 0; now they have \
                    5,000, 5,010, 4,978 and 5,012. Keys per node differ by 0.3 % before and 0.4 % after (standard deviation).";
        assert_eq!(of(&facts).as_deref(), Some(said));
        facts.remove("keys_at_another_node");
        facts.insert("where_keys_are".into(), json!("every node has every key"));
        assert_eq!(of(&facts).as_deref(), Some("where its keys are: every node has every key."));
    }

    #[test]
    fn a_node_that_was_lost_is_named_with_the_keys_it_had() {
        let facts: Facts = [
            ("keys", json!(2000)),
            ("nodes_before", json!(4)),
            ("nodes_after", json!(3)),
            ("node_lost", json!(2)),
            ("keys_on_lost_node", json!(503)),
            ("share_on_lost_node", json!(0.2516)),
            ("keys_to_move", json!(0)),
            ("share_to_move", json!(0.0)),
            ("operations_on_moving_keys", json!(0)),
            ("requests_for_moving_keys", json!(0)),
            ("variation_before", json!(0.014)),
            ("variation_after", json!(0.021)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let said = "4 nodes became 3: node2 was lost with 503 of 2,000 keys (25.2 %), and 0 others moved. \
                    Keys per node differ by 1.4 % before and 2.1 % after (standard deviation).";
        assert_eq!(of(&facts).as_deref(), Some(said));
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
        let said = "8 nodes became 9, and 0 of 5,000 keys moved (0.0 %); an operation took 1.1 requests. \
                    Keys per node differ by 5.0 % before and 36.0 % after (standard deviation).";
        assert_eq!(of(&facts).as_deref(), Some(said));
    }
}
