//! Whether a spec can be carried out, before anything is started or made.

use crate::user::is_root;
use store::{StoreError, StoreInfo};
use study::{Spec, Target};

/// Checks the options of a spec; of a private server also what only its plan looks at (numbers, sizes). Nothing is started.
///
/// # Errors
/// Names the option and what is possible.
pub fn check(info: &'static StoreInfo, spec: &Spec) -> Result<(), StoreError> {
    info.built()?;
    layers::check(info, spec)?;
    if spec.target != Target::Private {
        return Ok(());
    }
    layers::on_paper(info, spec, is_root()).map_or(Ok(()), |planned| planned.map(drop))
}
