//! Engines in shared libraries of the system, opened at run time: found or not found like a server, and `lib=PATH` opens another
//! build of the same engine beside it.

use libloading::Library;
use std::ffi::OsString;
use std::sync::{Mutex, PoisonError};
use store::{Availability, OptionInfo, StoreError, StoreInfo, Versions};
use study::Spec;

/// The option that names another library.
pub const LIB: OptionInfo = OptionInfo::text("lib", "path of the shared library").otherwise("the system's");

/// The loaded libraries of one engine. They stay loaded to the end of the process: an engine may have threads of its own.
pub struct Dylib<F: 'static> {
    names: &'static [&'static str],
    load: LoadFunctions<F>,
    /// The part of a build that can be in a process only once.
    alone: Option<&'static str>,
    /// The builds that `kvtrial fetch-store` gets.
    fetched: Versions,
    loaded: Mutex<Vec<Loaded<F>>>,
}

struct Loaded<F: 'static> {
    /// The path asked for; `None`: the system's library.
    path: Option<String>,
    beside: Beside,
    functions: &'static F,
}

/// The other builds of an engine that can be in the process of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    /// Any build.
    Any,
    /// Builds that do not need the library that can be in a process only once.
    WithoutNeeded,
    /// No build: a fetched one is the only one in its process, so that nothing of another version is taken for its own.
    Nothing,
}

impl Beside {
    fn bears(self, other: Beside) -> bool {
        !matches!(
            (self, other),
            (Beside::Nothing, _) | (_, Beside::Nothing) | (Beside::WithoutNeeded, Beside::WithoutNeeded)
        )
    }
}

/// A function that takes the functions of a library, or says in words why the library cannot be used.
///
/// # Safety
/// The library must be the engine the functions are of.
pub type LoadFunctions<F> = unsafe fn(&Library) -> Result<F, String>;

impl<F: Sync> Dylib<F> {
    /// Makes an engine from its file names: Debian's first, then those of builds from source.
    pub const fn new(names: &'static [&'static str], load: LoadFunctions<F>) -> Dylib<F> {
        Dylib { names, load, alone: None, fetched: Versions(&[]), loaded: Mutex::new(Vec::new()) }
    }

    /// Makes an engine whose builds, the system's among them, end the process when two of them need this library.
    pub const fn new_alone_with(
        needed: &'static str,
        names: &'static [&'static str],
        load: LoadFunctions<F>,
    ) -> Dylib<F> {
        Dylib { names, load, alone: Some(needed), fetched: Versions(&[]), loaded: Mutex::new(Vec::new()) }
    }

    /// Adds the builds that `kvtrial fetch-store` gets. The newest is opened where the system has none.
    pub const fn or_fetched(mut self, versions: Versions) -> Dylib<F> {
        self.fetched = versions;
        self
    }

    /// Returns the library that a spec asks for.
    pub fn of(&self, info: &StoreInfo, spec: &Spec) -> Result<&'static F, StoreError> {
        let not_found = |what: String| StoreError::NotFound {
            store: info.name.into(),
            what,
            install: self.fetched.install(spec, info.install),
        };
        if self.fetched.asked(spec).is_some() {
            let library = self.fetched.chosen(spec, || None);
            let library = library.ok_or_else(|| not_found(self.fetched.sought(spec, self.names[0])))?;
            let opened = self.get(library.to_str(), Beside::Nothing);
            return opened.map_err(|problem| StoreError::open(library.display().to_string(), problem.words()));
        }
        let Some(path) = LIB.asked(spec) else {
            return self.system().map_err(|problem| match problem {
                Problem::Alone(words) => StoreError::open(info.name, words),
                Problem::NotLoaded(_) => not_found(self.names[0].into()),
            });
        };
        let beside = self.beside(Some(path));
        if beside == Beside::Any {
            // The system's comes first: the loader would take another one of the same internal name for it.
            let _ = self.system();
        }
        self.get(Some(path), beside).map_err(|problem| {
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
        match self.system() {
            Ok(functions) => Availability::Found(found(functions)),
            Err(_) => Availability::NotFound(self.names[0].into()),
        }
    }

    /// Returns what can be beside a library that is no fetched one. In a file kvtrial looks that up. For the system's library, which only the loader
    /// can find, the needed library is presumed.
    fn beside(&self, path: Option<&str>) -> Beside {
        let needs = self.alone.is_some_and(|needed| match path {
            Some(path) => std::fs::read(path).is_ok_and(|file| contains(&file, needed.as_bytes())),
            None => true,
        });
        if needs { Beside::WithoutNeeded } else { Beside::Any }
    }

    /// Gets the system's library, or the newest fetched one where the system has none.
    fn system(&self) -> Result<&'static F, Problem> {
        self.get(None, self.beside(None))
    }

    fn get(&self, path: Option<&str>, beside: Beside) -> Result<&'static F, Problem> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = loaded.iter().find(|known| known.path.as_deref() == path) {
            return Ok(known.functions);
        }
        if loaded.iter().any(|known| !known.beside.bears(beside)) {
            let needed = self.alone.unwrap_or("the same libraries");
            return Err(Problem::Alone(format!(
                "another build of it is in this process, and two that need {needed} end the process; run each in a study of its \
                 own, then 'kvtrial compare' the two"
            )));
        }
        let mut trouble = String::new();
        let names = path.map_or(self.names.to_vec(), |path| vec![path]).into_iter().map(OsString::from);
        let fetched = path.is_none().then(|| self.fetched.program()).flatten();
        for name in names.chain(fetched.map(OsString::from)) {
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
                    loaded.push(Loaded { path: path.map(str::to_owned), beside, functions });
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

impl Problem {
    fn words(self) -> String {
        match self {
            Problem::NotLoaded(words) | Problem::Alone(words) => words,
        }
    }
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
