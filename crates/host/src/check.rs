//! Checks whether a spec can be carried out, before anything is started or made.

use crate::user::is_root;
use store::{Availability, StoreError, StoreInfo};
use study::{Spec, Target};

/// Looks for the program or library of a spec.
///
/// # Errors
/// The program is not here, or not in this build; with what to install.
pub fn present(info: &'static StoreInfo, spec: &Spec) -> Result<(), StoreError> {
    // A version that was fetched is another program than the system's.
    let (versions, store) = (info.versions(), info.name.to_owned());
    if versions.asked(spec).is_some() && !matches!(spec.target, Target::Server(_)) {
        return versions.chosen(spec, || None).map(drop).ok_or_else(|| StoreError::NotFound {
            store,
            what: versions.sought(spec, info.name),
            install: versions.install(spec, info.install),
        });
    }
    // The system's library need not be there where one is named, nor a program, nor any for a server of the user's: opening says what is
    // wrong with those.
    let named = spec.options.contains_key("lib") || spec.options.contains_key("program");
    match info.probe() {
        _ if spec.options.contains_key("lib") => Ok(()),
        Availability::Found(_) => Ok(()),
        Availability::NotBuilt(feature) => Err(StoreError::NotBuilt { store: info.name.into(), feature }),
        Availability::NotFound(_) if named || matches!(spec.target, Target::Server(_)) => Ok(()),
        Availability::NotFound(what) => {
            Err(StoreError::NotFound { store: info.name.into(), what, install: info.install.into() })
        }
    }
}

/// Checks the options of a spec; for a private server also the options that only its plan looks at (numbers, sizes). Nothing is started.
///
/// # Errors
/// Names the option and the possible values.
pub fn check(info: &'static StoreInfo, spec: &Spec) -> Result<(), StoreError> {
    info.built()?;
    layers::check(info, spec)?;
    if spec.target != Target::Private {
        return Ok(());
    }
    layers::on_paper(info, spec, is_root()).map_or(Ok(()), |planned| planned.map(drop))
}
