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
use store::{
    Capabilities, Choice, Deployment, Node, Number, OperationKind, OperationSet, OptionInfo, Place, Store, StoreError,
    StoreInfo,
};
use study::{Spec, Target};

/// The layer.
pub const LAYER: Layer = Layer {
    options: &[SHARD.info, NODES.info, LOOKUPS.info],
    asked_by: &[SHARD.info.name, NODES.info.name],
    check,
    declares,
    wrap: Wrap::Opened,
};

const SHARD: Choice<Way> =
    OptionInfo::one_of("shard", &NAMES, "how keys are spread over several stores of this kind").means(&WAYS);
const NODES: Number = OptionInfo::text("nodes", "how many stores the keys are spread over, 1 to 256").within(1..=256);
const LOOKUPS: Number =
    OptionInfo::text("lookups", "shard=rings: how many stores beside them know where keys are, 1 to 16")
        .usual("2")
        .within(1..=16);

/// The name of LightCloud's two rings.
const RINGS: &str = "rings";

/// The ways of spreading keys, the default first.
const WAYS: [Way; Algorithm::ALL.len() + 1] = {
    let mut ways = [Way::Rings; Algorithm::ALL.len() + 1];
    let mut at = 0;
    while at < Algorithm::ALL.len() {
        ways[at] = Way::Placed(Algorithm::ALL[at]);
        at += 1;
    }
    ways
};

const NAMES: [&str; WAYS.len()] = {
    let mut names = [""; WAYS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = match WAYS[at] {
            Way::Placed(algorithm) => algorithm.name(),
            Way::Rings => RINGS,
        };
        at += 1;
    }
    names
};

/// The way in which keys are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Each key has its place.
    Placed(Algorithm),
    /// LightCloud's two rings.
    Rings,
}

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
    match SHARD.read(spec) {
        Way::Rings => Capabilities { native: OperationSet::BASIC, counter: None, sets: None, ..beneath },
        Way::Placed(_) => placed(beneath),
    }
}

/// Returns the capabilities of stores whose keys are placed: a set lies on one node, its union with another's on none; and so do the keys of a command.
fn placed(beneath: Capabilities) -> Capabilities {
    Capabilities { native: beneath.native.without(&OperationKind::OWN), sets: None, ..beneath }
}

fn check(spec: &Spec, option: &str, value: &str) -> Result<(), String> {
    if option == LOOKUPS.info.name && SHARD.read(spec) != Way::Rings {
        return Err("lookups= is of shard=rings; add that, or leave lookups= out".into());
    }
    let lookups = match kind(spec)? {
        Kind::Rings { lookups } => lookups,
        Kind::Placed(_) => 0,
    };
    match &spec.target {
        Target::Server(authority) if option == NODES.info.name => Err(format!(
            "nodes={value} is for stores that kvtrial starts; the URL of yours says it: it has {} addresses",
            authority.addresses.len()
        )),
        Target::Server(authority) if authority.addresses.len() < 2 => {
            Err("shard= needs several servers; name them in the URL, separated by commas".into())
        }
        Target::Server(authority) if authority.addresses.len() <= lookups => {
            Err(format!("shard=rings takes the last {lookups} addresses for lookup nodes; name more, or say lookups=1"))
        }
        Target::Server(_) => Ok(()),
        Target::Private | Target::Path(_) => match NODES.asked::<usize>(spec).map_err(problem)? {
            Some(_) => Ok(()),
            None => Err("shard= needs to know over how many; add nodes=4".into()),
        },
    }
}

/// Returns the kind that a spec asks for.
fn kind(spec: &Spec) -> Result<Kind, String> {
    Ok(match SHARD.read(spec) {
        Way::Placed(algorithm) => Kind::Placed(algorithm),
        Way::Rings => Kind::Rings { lookups: LOOKUPS.read(spec).map_err(problem)? },
    })
}

/// Returns what is wrong, without the name of the store.
fn problem(error: StoreError) -> String {
    match error {
        StoreError::Unsupported { problem, .. } => problem,
        other => other.to_string(),
    }
}

impl Sharding {
    /// Returns how a spec spreads a store; `None` where it does not, or the store has nodes of its own. The values were checked.
    pub fn of(info: &StoreInfo, spec: &Spec) -> Option<Sharding> {
        super::is_asked(info, &LAYER, spec).then_some(())?;
        let kind = kind(spec).ok()?;
        let nodes = match (&spec.target, kind) {
            (Target::Server(authority), _) => authority.addresses.len(),
            (_, Kind::Placed(_)) => NODES.asked(spec).ok()??,
            (_, Kind::Rings { lookups }) => NODES.asked::<usize>(spec).ok()?? + lookups,
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
