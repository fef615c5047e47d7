//! Several stores as one.

use super::key_map::KeyMap;
use super::stepping::Stepping;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use store::routed::Route;
use store::spread::Spread;
use store::{
    Belongings, Capabilities, Checkpoint, Compact, Facts, Happening, Holding, KeepSets, Maintenance, OperationKind,
    OperationSet, OwnTables, Reduce, Reduction, ReductionGroup, Session, SessionPlan, Store, StoreError, Sweep, Swept,
    Threading, Whereabouts, Witness, needed,
};

/// Stores whose keys are spread by a placement; there is at least one.
pub(super) struct Sharded {
    nodes: Vec<Box<dyn Store>>,
    key_map: Arc<KeyMap>,
    capabilities: Capabilities,
}

impl Sharded {
    pub fn new(nodes: Vec<Box<dyn Store>>, key_map: KeyMap) -> Sharded {
        let beneath = nodes[0].capabilities().clone();
        let capabilities = match key_map.lookup_nodes() {
            0 => super::placed(beneath),
            _ => Capabilities { native: OperationSet::BASIC, counter: None, sets: None, ..beneath },
        };
        Sharded { nodes, key_map: Arc::new(key_map), capabilities }
    }

    fn routed(
        &self,
        plan: SessionPlan,
        open: impl Fn(&dyn Store) -> Result<Box<dyn Session>, StoreError>,
    ) -> Result<Box<dyn Session>, StoreError> {
        let sessions = self.nodes.iter().map(|node| open(&**node)).collect::<Result<_, _>>()?;
        Stepping::session(Arc::clone(&self.key_map), sessions, plan.slots())
    }

    /// The nodes' own tables.
    fn tables(&self) -> impl Iterator<Item = &dyn OwnTables> {
        self.nodes.iter().filter_map(|node| match node.belongings() {
            Belongings::Own(tables) => Some(tables),
            Belongings::Left(_) => None,
        })
    }

    /// Keys by the node they belong to, and their places among those given.
    fn by_node<'a>(&self, keys: &[&'a [u8]]) -> Vec<(Vec<&'a [u8]>, Vec<usize>)> {
        let mut parts: Vec<(Vec<&[u8]>, Vec<usize>)> = self.nodes.iter().map(|_| Default::default()).collect();
        for (place, key) in keys.iter().enumerate() {
            let (part, places) = &mut parts[self.key_map.node(key)];
            part.push(key);
            places.push(place);
        }
        parts
    }
}

// A method missing here would silently fall back to its default instead of reaching the nodes.
#[deny(clippy::missing_trait_methods)]
impl Store for Sharded {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn lacks(&self, kind: OperationKind) -> Option<&str> {
        self.nodes[0].lacks(kind)
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        self.routed(plan, |node| node.session(plan))
    }

    fn believing_session(&self, plan: SessionPlan, largest_reply_bytes: u64) -> Result<Box<dyn Session>, StoreError> {
        self.routed(plan, |node| node.believing_session(plan, largest_reply_bytes))
    }

    fn threading(&self) -> Threading {
        self.nodes[0].threading()
    }

    /// Those of the first node; of the others what differs.
    fn facts(&self) -> Result<Facts, StoreError> {
        let mut facts = self.nodes[0].facts()?;
        let mut differing = BTreeMap::new();
        for (index, node) in self.nodes.iter().enumerate().skip(1) {
            let number = index + 1;
            let others = node.facts()?;
            if (&others.product, &others.version) != (&facts.product, &facts.version) {
                differing.insert(format!("node{number}_version"), format!("{} {}", others.product, others.version));
            }
            let changed = others.config.into_iter().filter(|(name, value)| facts.config.get(name) != Some(value));
            differing.extend(changed.map(|(name, value)| (format!("node{number}_{name}"), value)));
        }
        facts.config.extend(differing);
        facts.config.insert("shard".into(), self.key_map.scheme().into());
        facts.config.insert("shard_nodes".into(), self.key_map.nodes().to_string());
        if self.key_map.lookup_nodes() > 0 {
            facts.config.insert("shard_lookups".into(), self.key_map.lookup_nodes().to_string());
        }
        Ok(facts)
    }

    fn resent(&self) -> u64 {
        self.nodes.iter().map(|node| node.resent()).sum()
    }

    fn belongings(&self) -> Belongings<'_> {
        match self.nodes[0].belongings() {
            Belongings::Own(_) => Belongings::Own(self),
            Belongings::Left(_) => Belongings::Left(OwnTables::names(self)),
        }
    }

    fn sweep(&self, sweep: Sweep, keys: &[&[u8]]) -> Result<Option<Swept>, StoreError> {
        if self.key_map.lookup_nodes() > 0 {
            return Ok(None); // only a session knows where a key is
        }
        let mut all = Swept::default();
        for (node, (part, places)) in self.nodes.iter().zip(self.by_node(keys)) {
            let Some(swept) = node.sweep(sweep, &part)? else { return Ok(None) };
            all.there += swept.there;
            let first = swept.first.and_then(|place| places.get(place)).copied();
            all.first = all.first.into_iter().chain(first).min();
        }
        Ok(Some(all))
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        // Lookup nodes have records, not keys; one that is lost has nothing.
        let nodes = self.nodes.iter().take(self.key_map.nodes()).enumerate();
        let there = nodes.filter(|(place, _)| self.key_map.lost() != Some(*place));
        let each = there.map(|(_, node)| node.holding()).collect::<Result<Vec<_>, _>>()?;
        Ok(Holding {
            keys: each.iter().map(|it| it.keys).sum(),
            evicted: each.iter().map(|it| it.evicted).sum(),
            expired: each.iter().map(|it| it.expired).sum(),
        })
    }

    fn commands_done(&self) -> Result<Option<u64>, StoreError> {
        let nodes = self.nodes.iter().enumerate().filter(|(place, _)| self.key_map.lost() != Some(*place));
        nodes.map(|(_, node)| node.commands_done()).sum()
    }

    fn whereabouts(&self) -> Whereabouts<'_> {
        Whereabouts::Spread(Arc::<KeyMap>::clone(&self.key_map))
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.nodes.iter().try_for_each(|node| node.flush())
    }

    fn witness(&self) -> Option<&dyn Witness> {
        self.nodes[0].witness().map(|_| self as &dyn Witness)
    }

    fn maintenance(&self) -> Maintenance<'_> {
        let Maintenance { compaction, checkpoint } = self.nodes[0].maintenance();
        Maintenance {
            compaction: compaction.map(|_| self as &dyn Compact),
            checkpoint: checkpoint.map(|_| self as &dyn Checkpoint),
        }
    }

    fn reduces(&self) -> Option<&dyn Reduce> {
        self.nodes[0].reduces().map(|_| self as &dyn Reduce)
    }

    /// Sets are on no node as a whole: jobs keep them element by element.
    fn sets(&self) -> Option<&dyn KeepSets> {
        None
    }
}

impl OwnTables for Sharded {
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.nodes.iter().flat_map(|node| node.belongings().names()).collect();
        names.sort();
        names.dedup();
        names
    }

    fn rows(&self) -> Result<u64, StoreError> {
        self.tables().map(OwnTables::rows).sum()
    }

    fn clear(&self) -> Result<(), StoreError> {
        self.tables().try_for_each(OwnTables::clear)
    }

    fn unmake(&self) -> Result<(), StoreError> {
        self.tables().try_for_each(OwnTables::unmake)
    }
}

impl Witness for Sharded {
    fn look(&self, within: Duration) {
        let each = within / self.nodes.len() as u32;
        self.nodes.iter().filter_map(|node| node.witness()).for_each(|witness| witness.look(each));
    }

    fn happened(&self) -> Vec<Happening> {
        let mut all = Vec::new();
        for (index, witness) in self.nodes.iter().map(|node| node.witness()).enumerate() {
            let named = |it: Happening| Happening { detail: format!("node{}: {}", index + 1, it.detail), ..it };
            all.extend(witness.into_iter().flat_map(Witness::happened).map(named));
        }
        all
    }
}

impl Compact for Sharded {
    fn compact(&self, patience: Duration) -> Result<(), StoreError> {
        self.nodes.iter().try_for_each(|node| needed(node.maintenance().compaction, "compaction")?.compact(patience))
    }
}

impl Checkpoint for Sharded {
    fn checkpoint(&self, patience: Duration) -> Result<(), StoreError> {
        let of =
            |node: &dyn Store| needed(node.maintenance().checkpoint, "command for a checkpoint")?.checkpoint(patience);
        self.nodes.iter().try_for_each(|node| of(&**node))
    }
}

impl Reduce for Sharded {
    fn reduce(&self, reduction: &Reduction, patience: Duration) -> Result<Vec<ReductionGroup>, StoreError> {
        let mut groups: BTreeMap<String, (u64, i64)> = BTreeMap::new();
        for node in &self.nodes {
            for ReductionGroup { key, count, sum } in
                needed(node.reduces(), "reduction")?.reduce(reduction, patience)?
            {
                let (counted, summed) = groups.entry(key).or_default();
                *counted += count;
                *summed = summed.checked_add(sum).ok_or_else(|| {
                    StoreError::Session("the sums of the nodes exceed 64 bits when they are added".into())
                })?;
            }
        }
        Ok(groups.into_iter().map(|(key, (count, sum))| ReductionGroup { key, count, sum }).collect())
    }
}
