//! `kvtrial fetch-store`: gets the program of a store from a Maven repository.

use crate::args::FetchStoreArguments;
use crate::failure::{self, CommandFailure};
use crate::output::{note, print};
use host::fetch::{self, Fetched};

/// Says what it is, how large and under which licence, then gets it.
pub fn fetch_store(arguments: &FetchStoreArguments) -> Result<u8, CommandFailure> {
    let bundle = ::stores::bundle_of(&arguments.store)
        .ok_or_else(|| CommandFailure::usage(format!("{} is not fetched", arguments.store)))?;
    let from = fetch::repository(arguments.from.as_deref());
    let what = format!("{} {}", bundle.product, bundle.version);
    let fetched = fetch::fetch(bundle, &from, |directory| {
        note(&format!(
            "{what}: {} files, {}, from {from} to {}\nlicence {}; its libraries have theirs",
            bundle.files().count(),
            words::units::bytes(bundle.bytes()),
            directory.display(),
            bundle.licence,
        ));
    });
    match fetched? {
        Fetched::Now(directory) => {
            print(&format!("{what} is in {}, every file as it was pinned\n", directory.display()))?
        }
        Fetched::Before(directory) => print(&format!("{what} is already in {}\n", directory.display()))?,
    }
    Ok(failure::GOOD)
}
