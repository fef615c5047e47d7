//! What a node keeps when it is killed, by its settings.

use std::collections::BTreeMap;
use study::Durability;

/// Returns the level that these settings of a node amount to; a node that does not state them has its defaults.
pub(super) fn level_of(settings: &BTreeMap<String, String>) -> Durability {
    let setting = |name| settings.get(name).map(String::as_str);
    match (setting("commitlog_sync"), setting("commitlog_sync_period").and_then(milliseconds)) {
        (Some("batch" | "group"), _) => Durability::Commit,
        (Some("periodic"), Some(..=1000)) => Durability::Second,
        _ => Durability::None,
    }
}

/// Reads a duration as the server writes it, `1000ms` or `10s`.
fn milliseconds(text: &str) -> Option<u64> {
    match text.strip_suffix("ms") {
        Some(number) => number.parse().ok(),
        None => text.strip_suffix('s')?.parse::<u64>().ok()?.checked_mul(1000),
    }
}

#[cfg(test)]
mod tests {
    use super::level_of;
    use study::Durability;

    #[test]
    fn a_level_is_what_the_log_of_the_server_is_set_to() {
        let of = |settings: &[(&str, &str)]| {
            level_of(&settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
        };
        let (sync, period) = ("commitlog_sync", "commitlog_sync_period");
        assert_eq!(of(&[(sync, "batch"), (period, "")]), Durability::Commit);
        assert_eq!(of(&[(sync, "group"), (period, "10000ms")]), Durability::Commit);
        assert_eq!(of(&[(sync, "periodic"), (period, "10000ms")]), Durability::None);
        assert_eq!(of(&[(sync, "periodic"), (period, "10s")]), Durability::None);
        assert_eq!(of(&[(sync, "periodic"), (period, "1s")]), Durability::Second);
        assert_eq!(of(&[(sync, "periodic"), (period, "1000ms")]), Durability::Second);
        assert_eq!(of(&[(sync, "periodic")]), Durability::None);
        assert_eq!(of(&[]), Durability::None);
    }
}
