//! The settings for starting nodes, and what is done where their ports were taken.

use crate::attempts::{Attempted, Attempts};
use crate::clock::ClockLibrary;
use crate::ground::Ground;
use crate::lease::Lease;
use crate::memory_group::MemoryGroup;
use crate::user::{User, is_root};
use std::path::Path;
use std::sync::Arc;
use store::{Endpoint, ServerPlan, StoreError, StoreInfo};
use study::Spec;

/// The number of times that other ports are tried when somebody has taken ours.
const PORT_TRIES: u32 = 5;

/// The settings for starting nodes.
pub struct Builder {
    /// The store.
    pub info: &'static StoreInfo,
    /// The spec as the user named it.
    pub spec: Spec,
    /// The processors that the nodes may use; all when empty.
    pub cpus: Vec<usize>,
    /// The control group that bounds their memory.
    pub memory: Option<Arc<MemoryGroup>>,
    /// What their files lie on; `None`: the file system of the base.
    pub ground: Option<Ground>,
    /// What moves their clocks, where that may be asked for.
    pub clocks: Option<ClockLibrary>,
}

/// Repeats the start, with other ports, when the ports were taken.
pub fn retrying<T>(mut start: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let mut tries = 1;
    loop {
        match start() {
            Err(StoreError::PortTaken { .. }) if tries < PORT_TRIES => tries += 1,
            other => return other,
        }
    }
}

impl Builder {
    /// Returns the user to switch to, who then owns the private directory.
    pub(crate) fn user(&self, plan: &ServerPlan, lease: &Lease) -> Result<Option<User>, StoreError> {
        let Some(name) = plan.user.filter(|_| is_root()) else { return Ok(None) };
        let user = User::named(name).ok_or_else(|| self.not_found(format!("user '{name}'")))?;
        lease.give_to(user).map_err(|source| StoreError::Io { path: lease.store().to_owned(), source })?;
        let barred = |path: &Path, remedy: &str| match user.barred_by(path) {
            None => Ok(()),
            Some(directory) => Err(StoreError::open(
                directory.display(),
                format!("user '{name}', who runs the server, may not pass through this directory; {remedy}"),
            )),
        };
        barred(lease.store(), "name one that everybody may, such as /tmp, by --base or TMPDIR")?;
        barred(&plan.run.program, "a program that is fetched again without XDG_CACHE_HOME lies where everybody may")?;
        Ok(Some(user))
    }

    pub(crate) fn attempts(&self, endpoints: Vec<Endpoint>) -> Attempts {
        let (info, spec) = (self.info, self.spec.clone());
        Attempts::start(move || -> Attempted { layers::connect(info, &spec, &endpoints).map(Some) })
    }

    pub(crate) fn not_found(&self, what: String) -> StoreError {
        StoreError::NotFound { store: self.info.name.into(), what, install: self.info.install.into() }
    }

    pub(crate) fn not_started(&self, problem: String) -> StoreError {
        StoreError::not_started(self.info.name, problem)
    }

    pub(crate) fn port_taken(&self, problem: String) -> StoreError {
        StoreError::PortTaken { store: self.info.name.into(), problem }
    }
}
