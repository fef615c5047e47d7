//! How a store was set up, in the form its own configuration has.

use std::collections::BTreeMap;
use study::Cell;

/// Facts that adapters report beside settings, which no configuration has.
const NO_SETTINGS: [&str; 3] = ["connections", "mem_allocator", "protocol"];

/// Returns the settings that were in effect, as lines to be copied; without any for stores that were asked for none.
pub fn lines(cell: &Cell) -> Vec<String> {
    let settings: BTreeMap<&String, &String> =
        cell.store_config.iter().filter(|(name, _)| !NO_SETTINGS.contains(&name.as_str())).collect();
    let each = |form: fn(&str, &str) -> String| settings.iter().map(|(name, value)| form(name, value)).collect();
    match cell.product.as_str() {
        "SQLite" => each(|name, value| format!("PRAGMA {name} = {value};")),
        "Redis" | "Valkey" => each(|name, value| match value {
            "" => format!("{name} \"\""),
            value => format!("{name} {value}"),
        }),
        "PostgreSQL" => each(|name, value| format!("{name} = '{value}'")),
        _ => each(|name, value| format!("{name} = {value}")),
    }
}

#[cfg(test)]
mod tests {
    use super::lines;
    use study::Cell;

    fn set_up(product: &str, settings: &[(&str, &str)]) -> Vec<String> {
        let store_config = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        lines(&Cell { product: product.into(), store_config, ..Cell::default() })
    }

    #[test]
    fn settings_are_written_as_the_store_itself_reads_them() {
        assert_eq!(set_up("SQLite", &[("journal_mode", "wal")]), ["PRAGMA journal_mode = wal;"]);
        let redis = [("appendonly", "yes"), ("connections", "one per client"), ("save", "")];
        assert_eq!(set_up("Redis", &redis), ["appendonly yes", "save \"\""]);
        assert_eq!(set_up("PostgreSQL", &[("fsync", "on")]), ["fsync = 'on'"]);
        assert!(set_up("LMDB", &[]).is_empty());
    }
}
