//! `kvtrial check`.

use crate::args::CheckArguments;
use crate::failure::Failure;

/// Not yet merged.
pub fn check(_: &CheckArguments) -> Result<u8, Failure> {
    Err(Failure::usage("not yet"))
}
