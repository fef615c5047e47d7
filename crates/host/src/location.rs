//! The place of a store and the way to reach it: plain data, from which another process can open the store.

use crate::disk::allocated_bytes;
use crate::lease::disk_of;
use crate::settle::{Handles, settle};
use crate::silent::silent;
use crate::watch::Watched;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use store::asked::asked;
use store::{Endpoint, Facts, Opener, Store, StoreError, StoreInfo};
use study::Spec;

/// The way in which a store is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reached {
    /// The store's files are here.
    Directory(PathBuf),
    /// The store's servers listen here.
    Endpoints(Vec<Endpoint>),
}

/// Everything that another process has to know of an installation to open the store there, and to watch it: plain data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The way in which the store is reached.
    pub reached: Reached,
    /// The programs of the private servers.
    pub servers: Vec<Watched>,
    /// The private directory.
    pub(crate) directory: Option<PathBuf>,
    /// The files in the private directory that are not data.
    pub(crate) logs: Vec<PathBuf>,
    /// Whether a server is asked what it can do. For a private server that is known.
    pub(crate) asking: Asking,
}

impl Location {
    /// Opens the store in this place, with its layers.
    ///
    /// # Errors
    /// The store's error, or that the store cannot be reached in that way.
    pub fn open(&self, info: &'static StoreInfo, spec: &Spec) -> Result<Box<dyn Store>, StoreError> {
        let store = match (info.opener, &self.reached) {
            (Opener::Embedded(_), Reached::Directory(directory)) => {
                if self.directory.is_some() {
                    let disk = disk_of(directory);
                    power::enter(&disk).map_err(|source| StoreError::Io { path: disk, source })?;
                }
                let store = layers::open(info, spec, directory)?;
                if self.directory.is_some() {
                    settle(directory, Handles::Kept).map_err(|(path, source)| StoreError::Io { path, source })?;
                }
                store
            }
            (Opener::Server { .. }, Reached::Endpoints(endpoints)) => {
                let store = layers::connect(info, spec, endpoints)?;
                match (self.asking, endpoints.as_slice()) {
                    (Asking::Asked, [endpoint, ..]) => asked(store, &format!("{}://{endpoint}", info.name))?,
                    _ => store,
                }
            }
            (_, other) => return Err(StoreError::Session(format!("{} is not reached by {other:?}", info.name))),
        };
        layers::apply(info, spec, store)
    }

    /// Returns where the private servers listen, and how to log in; empty when there are none.
    pub fn endpoints(&self) -> &[Endpoint] {
        match &self.reached {
            Reached::Endpoints(endpoints) if !self.servers.is_empty() => endpoints,
            _ => &[],
        }
    }

    /// Returns the facts that the opened store reports; and the fact that other users can connect to a private server, if they can.
    ///
    /// # Errors
    /// The store cannot be reached or refuses.
    pub fn facts(&self, store: &dyn Store) -> Result<Facts, StoreError> {
        let said = store.facts()?;
        let seen = |text: &str| study::visible(text).into_owned();
        let config = said.config.iter().map(|(name, value)| (seen(name), seen(value))).collect();
        let mut facts = Facts { product: seen(&said.product), version: seen(&said.version), config, ..said };
        if self.endpoints().iter().any(Endpoint::is_open_to_all) {
            facts.config.insert("access".into(), "any user of this machine: a port without a password".into());
        }
        if let Reached::Endpoints(endpoints) = &self.reached
            && self.servers.is_empty()
            && let silent = silent(endpoints)
            && !silent.is_empty()
        {
            facts.config.insert("not_answering".into(), silent.join(", "));
        }
        if let Reached::Endpoints(endpoints) = &self.reached
            && let Some(trust) = endpoints.first().and_then(|endpoint| endpoint.tls.as_ref())
        {
            facts.config.insert("tls".into(), format!("on; its certificate is signed by an authority of {trust}"));
        }
        Ok(facts)
    }

    /// Returns the store's private directory; `None` when the directory is not ours.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Returns the number of bytes allocated on disk for the store's private directory, without logs; `None` when the directory is not ours.
    pub fn disk_bytes(&self) -> Option<u64> {
        self.directory.as_ref().map(|directory| allocated_bytes(directory, &self.logs))
    }
}

/// The treatment of a server of the user's: whether the server is asked what it can do before it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Asking {
    /// The server is asked, on keys of kvtrial's own.
    Asked,
    /// The server is not asked, because it is only going to be read.
    Unasked,
}
