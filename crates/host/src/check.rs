//! Whether a spec can be carried out, before anything is started or made.

use crate::user::is_root;
use std::path::PathBuf;
use store::{Opener, Place, StoreError, StoreInfo, layers};
use study::{Secret, Spec, Target};

/// Checks the options of a spec; of a private server also what only its plan looks at (numbers, sizes). Nothing is started.
///
/// # Errors
/// Names the option and what is possible.
pub fn check(info: &'static StoreInfo, spec: &Spec) -> Result<(), StoreError> {
    info.check_options(spec)?;
    let (Opener::Server { plan, .. }, Target::Private) = (info.opener, &spec.target) else { return Ok(()) };
    let (directory, secret) = (PathBuf::from("/nonexistent"), Secret::new(""));
    let place = Place { directory, ports: [1, 2, 3], root: is_root(), secret };
    plan(&layers::beneath(spec), &place).map(drop)
}
