//! Every store kvtrial measures. Their adapters live in three crates, by the way a store is reached: `embedded` calls libraries,
//! `protocols` speaks the server's own protocol, `drivers` uses an asynchronous driver or HTTP.

mod settings;

use store::{Bundle, StoreError, StoreInfo};
use study::Spec;

pub use embedded::{PLUGIN_TEMPLATES, PluginTemplate};
pub use protocols::echo_served_by;
pub use settings::setting_of;

/// Returns every store of every adapter, in the order `kvtrial stores` shows them within each class.
pub fn all() -> impl Iterator<Item = &'static StoreInfo> {
    embedded::all().chain(protocols::all()).chain(drivers::all())
}

/// Returns the programs that `kvtrial fetch-store` gets.
pub fn bundles() -> impl Iterator<Item = &'static Bundle> {
    embedded::bundles().chain(protocols::bundles()).chain(drivers::bundles())
}

/// Finds the store of this name.
pub fn find(name: &str) -> Option<&'static StoreInfo> {
    all().find(|info| info.name == name)
}

/// Finds the store of a spec: of a plugin, what its library says of itself.
///
/// # Errors
/// The library of a plugin cannot be loaded.
pub fn of(spec: &Spec) -> Result<Option<&'static StoreInfo>, StoreError> {
    embedded::plugin(spec).transpose().map(|plugin| plugin.or_else(|| find(&spec.name)))
}

/// Finds the newest program that `kvtrial fetch-store` gets for the store of this name.
pub fn bundle_of(name: &str) -> Option<&'static Bundle> {
    bundles().find(|bundle| bundle.store == name)
}
