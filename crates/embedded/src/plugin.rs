//! A store of the user's, in a shared library that kvtrial.h describes: `plugin:./mystore.so,key=value`.
//!
//! The library is loaded in workers only, which may die of it. kvtrial asks a plugin what it can do in a process made for that
//! ([`described`]), before anything is planned.

#[path = "../templates/kvtrial.rs"]
mod abi;
mod described;
mod library;
mod opened;
mod templates;

use described::Described;
use opened::Opened;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;
use store::{Availability, Capabilities, Keeps, Opener, OptionInfo, Store, StoreError, StoreInfo};
use study::{Class, Durability, Spec};
pub use templates::{PLUGIN_TEMPLATES, PluginTemplate};

const LIBRARY: OptionInfo = OptionInfo::text(study::LIBRARY, "path of your library; plugin:PATH says the same");

const FIRST_STEP: &str = "kvtrial new mystore --plugin c";

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: study::PLUGIN,
    family: study::PLUGIN,
    transport: None,
    driver: None,
    class: Class::Embedded,
    kind: "yours",
    summary: "a store of yours, in a shared library: plugin:./mystore.so",
    durabilities: &[Durability::Os, Durability::None, Durability::Second, Durability::Commit],
    options: &[LIBRARY],
    install: FIRST_STEP,
    licence: "yours",
    declares,
    probe: || Availability::NotFound("a library of yours, as in plugin:./mystore.so".into()),
    opener: Opener::Embedded(open),
}];

/// The capabilities where no library is named, or none that can be loaded.
const NO_LIBRARY: Capabilities = Capabilities { keeps: Keeps::Nothing, ..Capabilities::BASIC };

/// A library that has said what it is.
struct Known {
    path: PathBuf,
    written: Option<SystemTime>,
    described: Described,
    info: &'static StoreInfo,
}

/// Those of this process. Each is asked once, unless its file is written again.
static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// Returns what the library of a spec says of itself; `None`: the store is no plugin.
///
/// # Errors
/// No library is named, or it cannot be loaded.
pub fn plugin(spec: &Spec) -> Option<Result<&'static StoreInfo, StoreError>> {
    (spec.name == study::PLUGIN).then(|| known(spec, |known| known.info))
}

fn known<T>(spec: &Spec, of: impl FnOnce(&Known) -> T) -> Result<T, StoreError> {
    let (path, name) = library_of(spec)?;
    let written = std::fs::metadata(&path).and_then(|file| file.modified()).ok();
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.iter().find(|known| known.path == path && known.written == written) {
        return Ok(of(known));
    }
    if !path.is_file() {
        let problem = format!(
            "there is no such file; build it first, or correct the path. '{FIRST_STEP}' writes a store to begin with"
        );
        return Err(StoreError::open(name, problem));
    }
    let failed = |problem| StoreError::open(&name, problem);
    let described = described::ask(&path).map_err(failed)?;
    let info = info(&name, &described).map_err(failed)?;
    let known = Known { path, written, described, info };
    let told = of(&known);
    all.push(known);
    Ok(told)
}

/// The path of a spec's library, and the plugin as the user names it.
fn library_of(spec: &Spec) -> Result<(PathBuf, String), StoreError> {
    let Some(path) = LIBRARY.asked(spec) else {
        let problem = format!("name your library: plugin:./mystore.so. '{FIRST_STEP}' writes one to begin with");
        return Err(StoreError::Unsupported { store: study::PLUGIN.into(), problem });
    };
    let name = format!("{}:{path}", study::PLUGIN);
    // A path without a slash would be looked for among the system's libraries.
    let path = std::path::absolute(path).map_err(|error| StoreError::open(&name, error))?;
    Ok((path, name))
}

/// Makes the entry of a plugin, which is kept to the end of the process as every other is.
fn info(name: &str, described: &Described) -> Result<&'static StoreInfo, String> {
    let kept = |text: &str| -> &'static str { Box::leak(text.into()) };
    let mut options = vec![LIBRARY];
    for [name, help, usual] in &described.options {
        if ["durability", study::LIBRARY, study::VERSION, ""].contains(&name.as_str()) || name.contains([',', '=']) {
            return Err(format!("its option '{name}' has a name that kvtrial needs itself; give it another"));
        }
        let option = OptionInfo::text(kept(name), kept(help));
        options.push(if usual.is_empty() { option } else { option.usual(kept(usual)) });
    }
    Ok(Box::leak(Box::new(StoreInfo {
        name: kept(name),
        summary: kept(&format!("{} {}", described.name, described.version)),
        durabilities: described.levels()?.leak(),
        options: options.leak(),
        ..STORES[0]
    })))
}

fn declares(spec: &Spec) -> Capabilities {
    let declared =
        known(spec, |known| known.described.capabilities(spec.durability.unwrap_or(known.info.durabilities[0])));
    declared.unwrap_or(NO_LIBRARY)
}

fn open(spec: &Spec, directory: &Path) -> Result<Box<dyn Store>, StoreError> {
    let (path, name) = library_of(spec)?;
    open_library(name, &path, spec, directory, |capabilities| capabilities)
}

/// Opens the store of a library in a directory. `limited` may know more of its limits than the library can say.
///
/// # Errors
/// The library cannot be loaded, or its words.
pub fn open_library(
    name: String,
    path: &Path,
    spec: &Spec,
    directory: &Path,
    limited: impl FnOnce(Capabilities) -> Capabilities,
) -> Result<Box<dyn Store>, StoreError> {
    let functions = library::load(path).map_err(|problem| StoreError::open(&name, problem))?;
    let described = Described::of(&functions);
    let levels = described.levels().map_err(|problem| StoreError::open(&name, problem))?;
    let capabilities = limited(described.capabilities(spec.durability.unwrap_or(levels[0])));
    let mut options = spec.options.clone();
    options.remove(LIBRARY.name);
    std::fs::create_dir_all(directory).map_err(|source| StoreError::Io { path: directory.to_owned(), source })?;
    Opened::open(name, functions, capabilities, directory, options)
}
