//! `kvtrial stores`: every store, found or not.

use super::run::print;
use crate::args::ListArguments;
use crate::failure::{self, Failure};

/// Prints the list.
pub fn stores(_: &ListArguments) -> Result<u8, Failure> {
    for info in ::stores::all() {
        print(&format!("{} {:?}\n", info.name, (info.probe)()))?;
    }
    Ok(failure::GOOD)
}
