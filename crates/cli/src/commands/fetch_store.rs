//! `kvtrial fetch-store`: gets the program of a store from Maven, npm or Go.

use crate::args::FetchStoreArguments;
use crate::failure::{self, CommandFailure};
use crate::output::{note, print};
use host::fetch::{self, Fetched};
use store::MadeOf;

/// Says what it is, how large and under which licence, then gets it.
pub fn fetch_store(arguments: &FetchStoreArguments) -> Result<u8, CommandFailure> {
    let bundle = ::stores::bundle_of(&arguments.store)
        .ok_or_else(|| CommandFailure::usage(format!("{} is not fetched", arguments.store)))?;
    let named = arguments.from.as_deref();
    let what = format!("{} {}", bundle.product, bundle.version);
    let parts = match bundle.made_of {
        MadeOf::Maven(_) => format!("{} files, {}", bundle.parts(), words::units::bytes(bundle.bytes())),
        MadeOf::Npm { .. } => format!("{} packages", bundle.parts()),
        MadeOf::Go { .. } => format!("{} modules, which go builds", bundle.parts()),
    };
    let fetched = fetch::fetch(bundle, named, |directory| {
        note(&format!(
            "{what}: {parts}, from {} to {}\nlicence {}; its libraries have theirs",
            fetch::origin(bundle, named),
            directory.display(),
            bundle.licence,
        ));
    });
    match fetched? {
        Fetched::Now(directory) => {
            print(&format!("{what} is in {}, every part as it was pinned\n", directory.display()))?
        }
        Fetched::Before(directory) => print(&format!("{what} is already in {}\n", directory.display()))?,
    }
    Ok(failure::GOOD)
}
