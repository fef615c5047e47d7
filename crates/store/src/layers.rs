//! Layers: stores made of a store. A spec asks for one by an option every store takes, e.g. `redis-unix,burn=5%`; the spec is the
//! cell's name, so a layer is never hidden.
//!
//! A layer is a [`Store`] around a [`Store`] whose sessions wrap the sessions beneath. Adding one is a module here and a line in
//! [`ALL`], in the order in which they are stacked.

pub mod burn;

use crate::{OptionInfo, Store, StoreError};
use study::Spec;

/// One layer.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// The option that asks for it.
    pub option: OptionInfo,
    /// Whether a value of the option can be read; else what to write.
    pub check: fn(&str) -> Result<(), String>,
    /// Puts the layer around a store. The value was checked.
    pub wrap: fn(&str, Box<dyn Store>) -> Result<Box<dyn Store>, StoreError>,
}

/// Every layer, innermost first: the stack is the same in whatever order the options are written.
pub static ALL: &[Layer] = &[burn::LAYER];

/// The layer an option asks for.
pub fn find(option: &str) -> Option<&'static Layer> {
    ALL.iter().find(|layer| layer.option.name == option)
}

/// The spec without its layers: what the store beneath them is opened from.
pub fn beneath(spec: &Spec) -> Spec {
    let mut spec = spec.clone();
    spec.options.retain(|option, _| find(option).is_none());
    spec
}

/// Puts the layers a spec asks for around its store.
///
/// # Errors
/// A value that cannot be read, or what the layer says.
pub fn apply(spec: &Spec, mut store: Box<dyn Store>) -> Result<Box<dyn Store>, StoreError> {
    for layer in ALL {
        if let Some(value) = spec.options.get(layer.option.name) {
            let unsupported = |problem| StoreError::Unsupported { store: spec.name.clone(), problem };
            (layer.check)(value).map_err(unsupported)?;
            store = (layer.wrap)(value, store)?;
        }
    }
    Ok(store)
}
