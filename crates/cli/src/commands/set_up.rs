//! How a store was set up, where its adapter has no lines of the store's own configuration.

use study::Cell;

/// Facts that adapters report beside settings, which no configuration has.
const NO_SETTINGS: [&str; 8] = ["access", "clients", "connections", "driver", "layout", "login", "protocol", "values"];

/// Returns the settings that were in effect, a line each.
pub fn lines(cell: &Cell) -> Vec<String> {
    let settings = cell.store_config.iter().filter(|(name, _)| !NO_SETTINGS.contains(&name.as_str()));
    settings.map(|(name, value)| format!("{name} = {value}")).collect()
}
