//! What a reduction found (job `bulk`), in a sentence.

use serde_json::Value;
use std::collections::BTreeMap;
use study::Cell;
use words::units;

/// Groups that are named.
const MOST_NAMED: usize = 8;

/// Returns the largest groups, once for all stores: where one has others, it is void and its reason says so.
pub fn sentence(cells: &[&Cell]) -> Option<String> {
    cells.iter().filter(|cell| cell.verdict.is_ranked()).find_map(|cell| of(&cell.counted().next()?.answer.facts))
}

fn of(facts: &BTreeMap<String, Value>) -> Option<String> {
    let (group, sum) = facts.get("reduction")?.as_str()?.split_once(':')?;
    let all = facts.get("groups")?.as_u64()?;
    let listed = facts.get("largest_groups")?.as_array()?;
    let named: Vec<String> = listed.iter().take(MOST_NAMED).filter_map(one).collect();
    if named.is_empty() {
        return None;
    }
    let which = match all as usize {
        all if all > named.len() => format!("the {} largest of {} groups", named.len(), units::whole(all as u64)),
        all => words::counted(all as u64, "group"),
    };
    Some(format!("Documents by {group}, and the sum of their {sum}, {which}: {}.", named.join("; ")))
}

fn one(group: &Value) -> Option<String> {
    let sum = group.get("sum")?.as_i64()?;
    let sign = if sum < 0 { "-" } else { "" };
    let documents = units::whole(group.get("documents")?.as_u64()?);
    Some(format!(
        "{} {documents}, sum {sign}{}",
        named(group.get("group")?.as_str()?),
        units::whole(sum.unsigned_abs())
    ))
}

fn named(key: &str) -> String {
    if key.trim().is_empty() { format!("'{key}'") } else { key.to_owned() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::of;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;

    #[test]
    fn the_largest_groups_are_named_with_their_sums() {
        let facts = |groups: u64| -> BTreeMap<String, Value> {
            let listed = json!([{"group": "US", "documents": 1204, "sum": 9_876_543}, {"group": "", "documents": 1, "sum": -2000}]);
            [("reduction", json!("country:people")), ("groups", groups.into()), ("largest_groups", listed)]
                .map(|(name, value)| (name.to_owned(), value))
                .into()
        };
        assert_eq!(
            of(&facts(250)).unwrap(),
            "Documents by country, and the sum of their people, the 2 largest of 250 groups: US 1,204, sum 9,876,543; '' 1, sum -2,000."
        );
        assert!(of(&facts(2)).unwrap().contains("people, 2 groups: US"));
        assert_eq!(of(&BTreeMap::new()), None);
    }
}
