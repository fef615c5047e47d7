//! What a store with its layers is, before it is opened.

use crate::{ALL, Layer, asked, beneath, find, is_asked};
use store::{Capabilities, StoreError, StoreInfo};
use study::{Class, Spec, Target};

/// Returns what a store of this spec does natively, before it is opened, with the level of durability it will have.
pub fn declared(info: &StoreInfo, spec: &Spec) -> Capabilities {
    let durability = info.durability(spec).unwrap_or(info.durabilities[0]);
    let alone = Capabilities { durability, ..(info.declares)(&beneath(info, spec)) };
    asked(info, spec).fold(alone, |capabilities, layer| (layer.declares)(spec, capabilities))
}

/// Returns the class of a store of this spec: what is several servers is compared with others that are.
pub fn class_of(info: &StoreInfo, spec: &Spec) -> Class {
    let several = |value: &String| value.parse::<u32>().is_ok_and(|nodes| nodes > 1);
    let is_spread = spec.options.get("nodes").is_some_and(several)
        || matches!(&spec.target, Target::Server(authority) if authority.addresses.len() > 1);
    match info.class {
        Class::Network if is_spread => Class::Distributed,
        // Then it is measured for its own sake.
        Class::Baseline if declared(info, spec).sets.is_some() => Class::Library,
        class => class,
    }
}

/// Checks that every option of the spec is one of this store or of a layer, with a value it has.
///
/// # Errors
/// Names the option and what is possible.
pub fn check(info: &StoreInfo, spec: &Spec) -> Result<(), StoreError> {
    let names: Vec<&str> = ALL.iter().map(Layer::name).collect();
    info.check_options(&beneath(info, spec), &names)?;
    check_layers(info, spec)
}

/// Checks the values of the options of layers, and that their layers are asked for.
pub(crate) fn check_layers(info: &StoreInfo, spec: &Spec) -> Result<(), StoreError> {
    for (option, value) in &spec.options {
        if let Some(layer) = find(info, option) {
            check_layer(info, layer, spec, option, value)
                .map_err(|problem| StoreError::Unsupported { store: info.name.into(), problem })?;
        }
    }
    Ok(())
}

fn check_layer(info: &StoreInfo, layer: &Layer, spec: &Spec, option: &str, value: &str) -> Result<(), String> {
    if let Some(own) = layer.asked_by.iter().find(|asks| info.has_option(asks)) {
        return Err(format!("it has {own}= itself and needs no {}=; leave {option}= out", layer.name()));
    }
    let known = layer.options.iter().filter(|known| known.name == option).flat_map(|known| known.values);
    let possible: Vec<&str> = known.copied().collect();
    if !possible.is_empty() && !possible.contains(&value) {
        return Err(format!("{option}={value} is not possible; use {}", possible.join(", ")));
    }
    (layer.check)(spec, option, value)?;
    let asks = layer.name();
    if is_asked(info, layer, spec) {
        return Ok(());
    }
    Err(format!("{option}= belongs to the layer {asks}; add {asks}= or leave {option}= out"))
}
