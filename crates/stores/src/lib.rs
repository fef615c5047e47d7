//! Every store kvtrial measures. Their adapters live in three crates, by the way a store is reached: `embedded` calls libraries,
//! `protocols` speaks the server's own protocol, `drivers` uses an asynchronous driver or HTTP.

mod settings;

use store::{Bundle, StoreInfo};

pub use protocols::echo_served_by;
pub use settings::setting_of;

/// Returns every store of every adapter, in the order `kvtrial stores` shows them within each class.
pub fn all() -> impl Iterator<Item = &'static StoreInfo> {
    embedded::all().chain(protocols::all()).chain(drivers::all())
}

/// Returns the programs that `kvtrial fetch-store` gets.
pub fn bundles() -> impl Iterator<Item = &'static Bundle> {
    protocols::bundles().chain(drivers::bundles())
}

/// Finds the store of this name.
pub fn find(name: &str) -> Option<&'static StoreInfo> {
    all().find(|info| info.name == name)
}

/// Finds the program that `kvtrial fetch-store` gets for the store of this name.
pub fn bundle_of(name: &str) -> Option<&'static Bundle> {
    bundles().find(|bundle| bundle.store == name)
}
