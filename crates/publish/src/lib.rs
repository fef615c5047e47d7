//! Studies that others are to believe: whether one may be published, where it is put, and whether it can be made again.
//!
//! * [`cleaned`] leaves out of a study what is nobody's business and changes no figure: paths of homes, options that only say where files go.
//! * [`objections`] says why a study may not be published: figures that its trials do not make, a self-test that is missing, secrets, names of
//!   machines, a command that nobody else can repeat.
//! * [`Repository`] is the directory that studies are added to, packed, each in a directory of its own.
//! * [`Rerun`] is what of a study is made again within a budget, and [`Verification`] what came of it: the [`StudyMark`] that a site shows.
//!
//! What never lives here: running anything (crate `runner`), the code that makes figures from trials (crate `analysis`), pages (crate
//! `site`), git: files are written, and what becomes of them is the user's.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cleaning;
mod figures;
mod mark;
mod objection;
mod origin;
mod private;
mod recipe;
mod repository;
mod rerun;
mod trials;
mod verification;
mod workflow;

pub use cleaning::cleaned;
pub use mark::{StudyMark, VERIFICATION, Verification};
pub use objection::{Objection, objections};
pub use private::OwnNames;
pub use recipe::Recipe;
pub use repository::{Added, PublishError, Repository, digest_of, sha256, verification_of};
pub use rerun::Rerun;
pub use verification::verify;
pub use workflow::{WORKFLOW, WORKFLOW_PATH};
