//! How a store was set up, ready to copy.

use study::Cell;

/// Facts that adapters report beside settings, which no configuration has.
const NO_SETTINGS: [&str; 8] = ["access", "clients", "connections", "driver", "layout", "login", "protocol", "values"];

/// Returns the lines of the store's own configuration, or else the settings that were in effect, a line each.
pub(super) fn set_up(cell: &Cell) -> Vec<String> {
    if !cell.set_up.is_empty() {
        return cell.set_up.clone();
    }
    let settings = cell.store_config.iter().filter(|(name, _)| !NO_SETTINGS.contains(&name.as_str()));
    settings.map(|(name, value)| format!("{name} = {value}")).collect()
}
