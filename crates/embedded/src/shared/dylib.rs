//! Engines in shared libraries of the system, opened at run time: found or not found like a server, and `lib=PATH` opens another
//! build of the same engine beside it.

use libloading::Library;
use std::sync::{Mutex, PoisonError};
use store::{Availability, OptionInfo, StoreError, StoreInfo};
use study::Spec;

/// The option that names another library.
pub const LIB: OptionInfo = OptionInfo::text("lib", "path of the shared library").otherwise("the system's");

/// The loaded libraries of one engine. They stay loaded to the end of the process: an engine may have threads of its own.
pub struct Dylib<F: 'static> {
    names: &'static [&'static str],
    load: LoadFunctions<F>,
    /// The part of a build that can be in a process only once.
    alone: Option<&'static str>,
    loaded: Mutex<Vec<Loaded<F>>>,
}

struct Loaded<F: 'static> {
    /// The path asked for; `None`: the system's library.
    path: Option<String>,
    alone: bool,
    functions: &'static F,
}

/// A function that takes the functions of a library, or says in words why the library cannot be used.
///
/// # Safety
/// The library must be the engine the functions are of.
pub type LoadFunctions<F> = unsafe fn(&Library) -> Result<F, String>;

impl<F: Sync> Dylib<F> {
    /// Makes an engine from its file names: Debian's first, then those of builds from source.
    pub const fn new(names: &'static [&'static str], load: LoadFunctions<F>) -> Dylib<F> {
        Dylib { names, load, alone: None, loaded: Mutex::new(Vec::new()) }
    }

    /// Makes an engine whose builds, the system's among them, end the process when two of them need this library.
    pub const fn new_alone_with(
        needed: &'static str,
        names: &'static [&'static str],
        load: LoadFunctions<F>,
    ) -> Dylib<F> {
        Dylib { names, load, alone: Some(needed), loaded: Mutex::new(Vec::new()) }
    }

    /// Returns the library that a spec asks for.
    pub fn of(&self, info: &StoreInfo, spec: &Spec) -> Result<&'static F, StoreError> {
        let Some(path) = LIB.asked(spec) else {
            return self.get(None).map_err(|problem| match problem {
                Problem::Alone(words) => StoreError::open(info.name, words),
                Problem::NotLoaded(_) => StoreError::NotFound {
                    store: info.name.into(),
                    what: self.names[0].into(),
                    install: info.install.into(),
                },
            });
        };
        if !self.must_be_alone(Some(path)) {
            // The system's comes first: the loader would take another one of the same internal name for it.
            let _ = self.get(None);
        }
        self.get(Some(path)).map_err(|problem| {
            let words = match problem {
                Problem::Alone(words) => words,
                Problem::NotLoaded(words) => format!(
                    "{words}. Name the file of a build of {} that this system can load, or leave lib= out for the system's {}",
                    info.name, self.names[0]
                ),
            };
            StoreError::open(format!("lib={path}"), words)
        })
    }

    /// Looks for the system's library.
    pub fn probe(&self, found: impl FnOnce(&F) -> String) -> Availability {
        match self.get(None) {
            Ok(functions) => Availability::Found(found(functions)),
            Err(_) => Availability::NotFound(self.names[0].into()),
        }
    }

    /// Returns whether the library must be alone. In a file kvtrial looks that up. For the system's library, which only the loader can find, it is
    /// presumed.
    fn must_be_alone(&self, path: Option<&str>) -> bool {
        self.alone.is_some_and(|needed| match path {
            Some(path) => std::fs::read(path).is_ok_and(|file| contains(&file, needed.as_bytes())),
            None => true,
        })
    }

    fn get(&self, path: Option<&str>) -> Result<&'static F, Problem> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = loaded.iter().find(|known| known.path.as_deref() == path) {
            return Ok(known.functions);
        }
        let alone = self.must_be_alone(path);
        if alone && loaded.iter().any(|known| known.alone) {
            let needed = self.alone.unwrap_or_default();
            return Err(Problem::Alone(format!(
                "another build of it is in this process, and two that need {needed} end the process; run each in a study of its \
                 own, then 'kvtrial compare' the two"
            )));
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
                    loaded.push(Loaded { path: path.map(str::to_owned), alone, functions });
                    return Ok(functions);
                }
                Err(error) => trouble = error,
            }
        }
        Err(Problem::NotLoaded(trouble))
    }
}

enum Problem {
    /// The loader's words, or the adapter's.
    NotLoaded(String),
    /// Another one is there already.
    Alone(String),
}

fn contains(file: &[u8], needed: &[u8]) -> bool {
    file.windows(needed.len()).any(|window| window == needed)
}

/// Declares a struct of functions of a library, each named as its field is behind a prefix.
macro_rules! functions {
    ($(#[$doc:meta])* pub struct $type:ident { $($name:ident: $signature:ty),* $(,)? }) => {
        $(#[$doc])*
        #[allow(missing_docs, non_snake_case)] // as the engine's own documentation has them
        pub struct $type { $(pub $name: $signature),* }

        impl $type {
            /// Loads the functions from a library.
            ///
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
