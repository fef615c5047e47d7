//! Layers: stores made of a store. A spec asks for one by an option every store takes, e.g. `redis-unix,cache=64MiB`; the spec is the
//! cell's name, so a layer is never hidden.
//!
//! A layer is a [`Store`] around a [`Store`] whose sessions wrap the sessions beneath. Adding one is a module here and a line in
//! [`ALL`], in the order in which they are stacked.

pub mod burn;
pub mod cache;
pub mod shard;

use crate::{Capabilities, OptionInfo, Store, StoreError, StoreInfo};
use study::Spec;

/// One layer.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// Its options; its name is that of the first.
    pub options: &'static [OptionInfo],
    /// Those of them that ask for it; the others only say how.
    pub asked_by: &'static [&'static str],
    /// Whether the value of an option of this spec can be read, and goes with the others; else what to write.
    pub check: fn(&Spec, &str, &str) -> Result<(), String>,
    /// What a store around one of these capabilities has.
    pub declares: fn(&Spec, Capabilities) -> Capabilities,
    /// How it comes around a store.
    pub wrap: Wrap,
}

/// How a layer comes around a store.
#[derive(Clone, Copy, Debug)]
pub enum Wrap {
    /// It is put around a store that is open. The values were checked.
    Around(fn(&Spec, Box<dyn Store>) -> Result<Box<dyn Store>, StoreError>),
    /// It is made of several stores, where they are opened: [`StoreInfo::connect`] and [`StoreInfo::open`].
    Opened,
}

impl Layer {
    /// The option it is known by.
    pub fn name(&self) -> &'static str {
        self.options[0].name
    }
}

/// Every layer, innermost first: the stack is the same in whatever order the options are written.
pub static ALL: &[Layer] = &[shard::LAYER, cache::LAYER, burn::LAYER];

/// The layer an option of this name is of, where the store has none of that name itself.
pub fn find(info: &StoreInfo, option: &str) -> Option<&'static Layer> {
    if info.options.iter().any(|own| own.name == option) {
        return None;
    }
    ALL.iter().find(|layer| layer.options.iter().any(|known| known.name == option))
}

/// Whether a spec asks for a layer. A store with an option of the layer's has no use for it.
fn is_asked(info: &StoreInfo, layer: &Layer, spec: &Spec) -> bool {
    layer.asked_by.iter().any(|asks| spec.options.contains_key(*asks) && find(info, asks).is_some())
}

/// Checks the value of an option of a layer, and that the layer is asked for.
///
/// # Errors
/// Says what to write.
pub fn check(info: &StoreInfo, layer: &Layer, spec: &Spec, option: &str, value: &str) -> Result<(), String> {
    if let Some(own) = layer.asked_by.iter().find(|asks| info.options.iter().any(|own| own.name == **asks)) {
        return Err(format!("it has {own}= itself and needs no {}=; leave {option}= out", layer.name()));
    }
    (layer.check)(spec, option, value)?;
    let asks = layer.name();
    if is_asked(info, layer, spec) {
        return Ok(());
    }
    Err(format!("{option}= is of the layer {asks}; add {asks}= or leave {option}= out"))
}

/// What the store of a spec has, with its layers.
pub fn declared(info: &StoreInfo, spec: &Spec, beneath: Capabilities) -> Capabilities {
    let asked = ALL.iter().filter(|layer| is_asked(info, layer, spec));
    asked.fold(beneath, |capabilities, layer| (layer.declares)(spec, capabilities))
}

/// The spec without its layers: what the store beneath them is opened from.
pub fn beneath(info: &StoreInfo, spec: &Spec) -> Spec {
    let mut spec = spec.clone();
    spec.options.retain(|option, _| find(info, option).is_none());
    spec
}

/// Puts the layers a spec asks for around its store, as it was opened.
///
/// # Errors
/// A value that cannot be read, or what the layer says.
pub fn apply(info: &StoreInfo, spec: &Spec, mut store: Box<dyn Store>) -> Result<Box<dyn Store>, StoreError> {
    for (option, value) in &spec.options {
        if let Some(layer) = find(info, option) {
            let unsupported = |problem| StoreError::Unsupported { store: spec.name.clone(), problem };
            check(info, layer, spec, option, value).map_err(unsupported)?;
        }
    }
    for layer in ALL.iter().filter(|layer| is_asked(info, layer, spec)) {
        if let Wrap::Around(wrap) = layer.wrap {
            store = wrap(spec, store)?;
        }
    }
    Ok(store)
}

#[cfg(test)]
mod tests {
    /// The names of the functions in a trait or an implementation that begins with this line.
    fn functions<'a>(source: &'a str, head: &str) -> Vec<&'a str> {
        let body = source.split(head).nth(1).unwrap_or_else(|| panic!("{head} is not there"));
        let body = body.split("\n}\n").next().unwrap_or_default();
        let names = body.lines().filter_map(|line| line.strip_prefix("    fn ")?.split(['(', '<']).next());
        names.collect()
    }

    /// Layers call what is beneath them by the same names, so a function a layer lacks is one that ends at it: what is beneath has it,
    /// and nobody asks.
    #[test]
    fn every_layer_passes_on_every_function_of_a_store_and_of_a_session() {
        let traits = include_str!("session.rs");
        let (store, session) = (functions(traits, "pub trait Store:"), functions(traits, "pub trait Session {"));
        assert!(
            store.contains(&"facts") && store.contains(&"resent") && session.contains(&"rest"),
            "{store:?} {session:?}"
        );
        let burn = include_str!("layers/burn.rs");
        let layered = functions(include_str!("layered.rs"), "impl<L: Layered> Store for L {");
        assert_eq!(sorted(layered), sorted(store));
        assert_eq!(sorted(functions(burn, "impl Session for BurningSession {")), sorted(session.clone()));
        let told: Vec<&str> =
            session.into_iter().filter(|name| !["expect", "rest", "descriptor"].contains(name)).collect();
        let cached = functions(include_str!("layers/cache/session.rs"), "impl Session for CachedSession {");
        assert_eq!(sorted(cached), sorted(told));
    }

    fn sorted(mut names: Vec<&str>) -> Vec<&str> {
        names.sort_unstable();
        names
    }
}
