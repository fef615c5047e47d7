//! `nodes=4,shard=jump`: one store of several, each holding the keys that belong to it.
//!
//! Any store can be spread: private servers and private directories are made as many as asked for, servers of the user's are as many as
//! its URL has addresses. Each client has one connection per node. An operation on one key goes to the key's node; batches and scans are
//! split by node, and their replies joined. Nothing is copied: a node that is gone takes its keys with it.
//!
//! Where keys belong is computed from the key and the number of nodes ([`placement`](crate::placement)); no server knows of the others. `shard=rings` is
//! LightCloud's scheme instead, with `lookups=` further nodes that know where each key is.

mod key_map;
mod rings;
mod sharded;
mod stepping;

#[cfg(test)]
mod tests;

use super::{Layer, Wrap};
use crate::placement::{Algorithm, Placement};
use key_map::{KeyMap, Scheme};
use rings::Rings;
use std::path::{Path, PathBuf};
use store::{Capabilities, Deployment, Node, OperationSet, OptionInfo, Place, Store, StoreError, StoreInfo};
use study::{Spec, Target};

/// The layer.
pub const LAYER: Layer = Layer {
    options: &[
        OptionInfo::one_of(SHARD, &NAMES, "how keys are spread over several stores of this kind"),
        OptionInfo::text(NODES, "how many stores the keys are spread over, 1 to 256"),
        OptionInfo::text(LOOKUPS, "shard=rings: how many stores beside them know where keys are, 1 to 16").usual("2"),
    ],
    asked_by: &[SHARD, NODES],
    check,
    declares,
    wrap: Wrap::Opened,
};

const SHARD: &str = "shard";
const NODES: &str = "nodes";
const LOOKUPS: &str = "lookups";

/// LightCloud's two rings, as `shard=` names them.
const RINGS: &str = "rings";

const NAMES: [&str; Algorithm::ALL.len() + 1] = {
    let mut names = [RINGS; Algorithm::ALL.len() + 1];
    let mut at = 0;
    while at < Algorithm::ALL.len() {
        names[at] = Algorithm::ALL[at].name();
        at += 1;
    }
    names
};

/// Most nodes of a spread store.
const MOST: usize = 256;

/// Most nodes of two rings that only know where keys are.
const MOST_LOOKUPS: usize = 16;

/// The way in which a store is spread over nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharding {
    kind: Kind,
    /// All, also those that only know where keys are.
    nodes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Placed(Algorithm),
    Rings { lookups: usize },
}

/// Two rings have no operation that takes its key as it finds it: another client may write the key down elsewhere meanwhile.
fn declares(spec: &Spec, beneath: Capabilities) -> Capabilities {
    match spec.options.get(SHARD).is_some_and(|shard| shard == RINGS) {
        true => Capabilities { native: OperationSet::BASIC, counter: None, sets: None, ..beneath },
        // A set lies on one node, its union with another's on none.
        false => Capabilities { sets: None, ..beneath },
    }
}

fn check(spec: &Spec, option: &str, value: &str) -> Result<(), String> {
    match (option, &spec.target) {
        (SHARD, _) => kind(value).map(|_| ())?,
        (LOOKUPS, _) => {
            lookups(value)?;
            if spec.options.get(SHARD).is_none_or(|shard| shard != RINGS) {
                return Err("lookups= is of shard=rings; add that, or leave lookups= out".into());
            }
        }
        (_, Target::Server(authority)) => {
            return Err(format!(
                "nodes={value} is for stores that kvtrial starts; the URL of yours says it: it has {} addresses",
                authority.addresses.len()
            ));
        }
        _ => nodes(value).map(|_| ())?,
    }
    match &spec.target {
        Target::Server(authority) if authority.addresses.len() < 2 => {
            Err("shard= needs several servers; name them in the URL, separated by commas".into())
        }
        Target::Server(authority) if authority.addresses.len() <= spec_lookups(spec) => Err(format!(
            "shard=rings takes the last {} addresses for lookup nodes; name more, or say lookups=1",
            spec_lookups(spec)
        )),
        Target::Private | Target::Path(_) if !spec.options.contains_key(NODES) => {
            Err("shard= needs to know over how many; add nodes=4".into())
        }
        _ => Ok(()),
    }
}

fn kind(value: &str) -> Result<Kind, String> {
    if value == RINGS {
        return Ok(Kind::Rings { lookups: 2 });
    }
    let found = Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == value);
    found.map(Kind::Placed).ok_or_else(|| format!("shard={value} is not possible; use {}", NAMES.join(", ")))
}

fn lookups(value: &str) -> Result<usize, String> {
    let lookups = value.parse().ok().filter(|lookups| (1..=MOST_LOOKUPS).contains(lookups));
    lookups.ok_or_else(|| format!("lookups={value} is not possible; use a number from 1 to {MOST_LOOKUPS}"))
}

/// Lookup nodes a spec asks for: none but with two rings.
fn spec_lookups(spec: &Spec) -> usize {
    let value = |name: &str| spec.options.get(name).map(String::as_str);
    match value(SHARD).and_then(|name| kind(name).ok()) {
        Some(Kind::Rings { lookups: usual }) => value(LOOKUPS).and_then(|value| lookups(value).ok()).unwrap_or(usual),
        _ => 0,
    }
}

fn nodes(value: &str) -> Result<usize, String> {
    let nodes = value.parse().ok().filter(|nodes| (1..=MOST).contains(nodes));
    nodes.ok_or_else(|| format!("nodes={value} is not possible; use a number from 1 to {MOST}"))
}

impl Sharding {
    /// Returns how a spec spreads a store; `None` where it does not, or the store has nodes of its own. The values were checked.
    pub fn of(info: &StoreInfo, spec: &Spec) -> Option<Sharding> {
        super::is_asked(info, &LAYER, spec).then_some(())?;
        let value = |name: &str| spec.options.get(name).map(String::as_str);
        let lookups = spec_lookups(spec);
        let kind = match value(SHARD).and_then(|name| kind(name).ok()) {
            Some(Kind::Rings { .. }) => Kind::Rings { lookups },
            other => other.unwrap_or(Kind::Placed(Algorithm::Jump)),
        };
        let nodes = match &spec.target {
            Target::Server(authority) => authority.addresses.len(),
            _ => value(NODES).and_then(|value| nodes(value).ok()).unwrap_or(1) + lookups,
        };
        Some(Sharding { kind, nodes })
    }

    /// Makes one deployment of as many servers as there are nodes.
    ///
    /// # Errors
    /// Those of a plan.
    pub fn plan(
        &self,
        place: &mut Place,
        plan: impl Fn(&mut Place) -> Result<Deployment, StoreError>,
    ) -> Result<Deployment, StoreError> {
        let (mut all, mut copies) = (Vec::with_capacity(self.nodes), 1);
        for number in 1..=self.nodes {
            let name = self.node_name(number);
            let Deployment { nodes, copies: of_one, .. } = plan(&mut place.node(&name))?;
            copies = of_one;
            all.extend(nodes.into_iter().map(|node| Node { name: name.clone(), ..node }));
        }
        Ok(Deployment::from_iter(all).with_copies(copies))
    }

    /// Returns the directories of an embedded store's nodes.
    pub fn directories(&self, directory: &Path) -> Vec<PathBuf> {
        (1..=self.nodes).map(|number| directory.join(self.node_name(number))).collect()
    }

    /// Makes one store of these, in the order of the nodes. A deployment that has fewer nodes, or more, spreads keys over those.
    pub fn over(&self, stores: Vec<Box<dyn Store>>) -> Box<dyn Store> {
        let scheme = match self.kind {
            Kind::Placed(algorithm) => Scheme::Placed(Placement::new(algorithm, stores.len())),
            Kind::Rings { lookups } => {
                let storage = stores.len().saturating_sub(lookups).max(1);
                Scheme::Rings(Rings::new(storage, storage, lookups))
            }
        };
        Box::new(sharded::Sharded::new(stores, KeyMap::new(scheme)))
    }

    /// Returns the name of the node of this number, from 1.
    fn node_name(&self, number: usize) -> String {
        match self.kind {
            Kind::Rings { lookups } if number + lookups > self.nodes => {
                format!("lookup{}", number + lookups - self.nodes)
            }
            _ => format!("node{number}"),
        }
    }
}
