//! A store is planned and opened: several where the spec asks for that, then the layers around it.

use crate::declared::check_layers;
use crate::shard::Sharding;
use crate::{Wrap, asked, beneath};
use std::path::{Path, PathBuf};
use store::tls::{CA, TLS};
use store::{Deployment, Endpoint, Opener, Place, Store, StoreError, StoreInfo};
use study::Spec;

/// Plans the private deployment of a spec.
///
/// # Errors
/// Options it cannot have, a missing program.
pub fn plan(info: &StoreInfo, spec: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    let Opener::Server { plan, .. } = info.opener else {
        return Err(unsupported(info, "it is a library, not a server"));
    };
    let beneath = beneath(info, spec);
    match Sharding::of(info, spec) {
        None => plan(&beneath, place),
        Some(sharding) => sharding.plan(place, |place| plan(&beneath, place)),
    }
}

/// Returns the plan of a private deployment that is not going to be started; `None` for a library.
pub fn on_paper(info: &StoreInfo, spec: &Spec, root: bool) -> Option<Result<Deployment, StoreError>> {
    info.built().ok()?;
    matches!(info.opener, Opener::Server { .. }).then(|| plan(info, spec, &mut Place::on_paper(root)))
}

/// Connects to the servers of a spec, without the layers around it that need no nodes.
///
/// # Errors
/// Those of the adapter.
pub fn connect(info: &StoreInfo, spec: &Spec, endpoints: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    let Opener::Server { connect, .. } = info.opener else {
        return Err(unsupported(info, "it is a library, not a server"));
    };
    let mut beneath = beneath(info, spec);
    // The endpoints say it already.
    beneath.options.retain(|option, _| ![TLS.name, CA.name].contains(&option.as_str()));
    let Some(sharding) = Sharding::of(info, spec) else { return connect(&beneath, endpoints) };
    let nodes = endpoints.iter().map(|endpoint| connect(&beneath, std::slice::from_ref(endpoint)));
    Ok(sharding.over(nodes.collect::<Result<_, _>>()?))
}

/// Opens the embedded store of a spec in this directory, without the layers around it that need no nodes.
///
/// # Errors
/// Those of the adapter.
pub fn open(info: &StoreInfo, spec: &Spec, directory: &Path) -> Result<Box<dyn Store>, StoreError> {
    let Opener::Embedded(open) = info.opener else {
        return Err(unsupported(info, "it is a server, not a library"));
    };
    let beneath = beneath(info, spec);
    let Some(sharding) = Sharding::of(info, spec) else { return open(&beneath, directory) };
    let open_node = |directory: PathBuf| {
        std::fs::create_dir_all(&directory).map_err(|source| StoreError::Io { path: directory.clone(), source })?;
        open(&beneath, &directory)
    };
    let nodes = sharding.directories(directory).into_iter().map(open_node);
    Ok(sharding.over(nodes.collect::<Result<_, _>>()?))
}

/// Puts the layers a spec asks for around its store, as it was opened.
///
/// # Errors
/// A value that cannot be read, or what the layer says.
pub fn apply(info: &StoreInfo, spec: &Spec, mut store: Box<dyn Store>) -> Result<Box<dyn Store>, StoreError> {
    check_layers(info, spec)?;
    for layer in asked(info, spec) {
        if let Wrap::Around(wrap) = layer.wrap {
            store = wrap(spec, store)?;
        }
    }
    Ok(store)
}

fn unsupported(info: &StoreInfo, problem: &str) -> StoreError {
    StoreError::Unsupported { store: info.name.into(), problem: problem.into() }
}
