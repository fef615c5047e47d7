//! Engines in shared libraries of the system, opened at run time: found or not found like a server, and `lib=PATH` opens another
//! build of the same engine beside it.

use libloading::Library;
use std::sync::{Mutex, PoisonError};
use store::{OptionInfo, Probe, StoreError, StoreInfo};
use study::Spec;

/// The option that names another library.
pub const LIB: OptionInfo = OptionInfo { name: "lib", values: &[], help: "path of the shared library [the system's]" };

/// The libraries of one engine that are loaded. They stay loaded to the end of the process: an engine may have threads of its own.
pub struct Dylib<F: 'static> {
    names: &'static [&'static str],
    load: Load<F>,
    loaded: Mutex<Vec<(Option<String>, &'static F)>>,
}

/// Takes the functions of a library, or says in words why it cannot be used.
///
/// # Safety
/// The library must be the engine the functions are of.
pub type Load<F> = unsafe fn(&Library) -> Result<F, String>;

impl<F: Sync> Dylib<F> {
    /// An engine by its file names: Debian's first, then those of builds from source.
    pub const fn new(names: &'static [&'static str], load: Load<F>) -> Dylib<F> {
        Dylib { names, load, loaded: Mutex::new(Vec::new()) }
    }

    /// The library a spec asks for.
    pub fn of(&self, info: &StoreInfo, spec: &Spec) -> Result<&'static F, StoreError> {
        // The system's comes first: the loader would take another one of the same internal name for it.
        let system = self.get(None);
        match spec.options.get(LIB.name) {
            Some(path) => self.get(Some(path)).map_err(|problem| StoreError::open(format!("lib={path}"), problem)),
            None => system.map_err(|_| StoreError::NotFound {
                store: info.name.into(),
                what: self.names[0].into(),
                install: info.install.into(),
            }),
        }
    }

    /// Looks for the system's library.
    pub fn probe(&self, found: impl FnOnce(&F) -> String) -> Probe {
        match self.get(None) {
            Ok(functions) => Probe::Found(found(functions)),
            Err(_) => Probe::NotFound(self.names[0].into()),
        }
    }

    fn get(&self, path: Option<&str>) -> Result<&'static F, String> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, functions)) = loaded.iter().find(|(known, _)| known.as_deref() == path) {
            return Ok(functions);
        }
        let mut trouble = String::new();
        for name in path.map_or(self.names.to_vec(), |path| vec![path]) {
            // SAFETY: an engine's library does nothing when it is loaded but set up its own variables.
            let opened = unsafe { Library::new(name) }.map_err(|error| error.to_string()).and_then(|library| {
                // SAFETY: the name is the engine's, or the user says that the file is.
                let functions = unsafe { (self.load)(&library)? };
                std::mem::forget(library);
                Ok(functions)
            });
            match opened {
                Ok(functions) => {
                    let functions: &'static F = Box::leak(Box::new(functions));
                    loaded.push((path.map(str::to_owned), functions));
                    return Ok(functions);
                }
                Err(error) => trouble = error,
            }
        }
        Err(trouble)
    }
}

/// Declares a struct of functions of a library, each named as its field is behind a prefix.
macro_rules! functions {
    ($(#[$doc:meta])* pub struct $type:ident { $($name:ident: $signature:ty),* $(,)? }) => {
        $(#[$doc])*
        #[allow(missing_docs, non_snake_case)] // as the engine's own documentation has them
        pub struct $type { $(pub $name: $signature),* }

        impl $type {
            /// # Safety
            /// The functions of these names in the library must have these signatures, and the library must stay loaded.
            pub unsafe fn load(library: &libloading::Library, prefix: &str) -> Result<$type, libloading::Error> {
                // SAFETY: as promised by the caller.
                Ok($type { $($name: unsafe { *library.get(format!("{prefix}{}", stringify!($name)))? }),* })
            }
        }
    };
}

pub(crate) use functions;
