//! Layers: stores made of stores. A spec asks for one by an option every store takes, e.g. `redis-unix,cache=64MiB`; the spec is the
//! cell's name, so a layer is never hidden.
//!
//! [`shard`] makes one store of several, by a [`placement`] of keys; [`cache`] keeps writes back in memory; [`burn`] is slower by a known
//! amount. A store is opened, planned and asked what it has with its layers, here ([`open`], [`connect`], [`plan`], [`declared`]); what
//! the store alone does is the crate `store`.
//!
//! A layer is a [`Store`] around a [`Store`] whose sessions wrap the sessions beneath. Adding one is a module here and a line in
//! [`ALL`], in the order in which they are stacked. What never lives here: a particular store, a job, a process being started.

pub mod burn;
pub mod cache;
mod declared;
mod opened;
pub mod placement;
pub mod shard;

pub use declared::{check, class_of, declared};
pub use opened::{apply, connect, on_paper, open, plan};

use store::{Capabilities, OptionInfo, Store, StoreError, StoreInfo};
use study::Spec;

/// A layer around a store.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// The options of the layer; its name is that of the first.
    pub options: &'static [OptionInfo],
    /// The options that ask for the layer; the others only say how.
    pub asked_by: &'static [&'static str],
    /// Checks that the value of an option of this spec can be read, and goes with the others; else says what to write.
    pub check: fn(&Spec, &str, &str) -> Result<(), String>,
    /// Returns the capabilities of the layer around a store with these.
    pub declares: fn(&Spec, Capabilities) -> Capabilities,
    /// The way in which the layer comes around a store.
    pub wrap: Wrap,
}

/// The way in which a layer comes around a store.
#[derive(Clone, Copy, Debug)]
pub enum Wrap {
    /// The layer is put around a store that is open. The values were checked.
    Around(fn(&Spec, Box<dyn Store>) -> Result<Box<dyn Store>, StoreError>),
    /// The layer is made of several stores, where they are opened: [`connect`] and [`open`].
    Opened,
}

impl Layer {
    /// Returns the option that names the layer.
    pub fn name(&self) -> &'static str {
        self.options[0].name
    }
}

/// Every layer, innermost first: the stack is the same in whatever order the options are written.
pub static ALL: &[Layer] = &[shard::LAYER, cache::LAYER, burn::LAYER];

/// Returns the layer an option of this name is of, where the store has none of that name itself.
pub fn find(info: &StoreInfo, option: &str) -> Option<&'static Layer> {
    if info.has_option(option) {
        return None;
    }
    ALL.iter().find(|layer| layer.options.iter().any(|known| known.name == option))
}

/// Whether a spec asks for a layer. A store with an option of the layer's has no use for it.
fn is_asked(info: &StoreInfo, layer: &Layer, spec: &Spec) -> bool {
    layer.asked_by.iter().any(|asks| spec.options.contains_key(*asks) && find(info, asks).is_some())
}

/// The layers a spec asks for, innermost first.
fn asked(info: &StoreInfo, spec: &Spec) -> impl Iterator<Item = &'static Layer> {
    ALL.iter().filter(move |layer| is_asked(info, layer, spec))
}

/// The spec without its layers: what the store beneath them is opened from.
fn beneath(info: &StoreInfo, spec: &Spec) -> Spec {
    let mut spec = spec.clone();
    spec.options.retain(|option, _| find(info, option).is_none());
    spec
}
