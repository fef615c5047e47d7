//! Hash slots, and the masters that serve them.

use store::routed::Route;
use store::{Endpoint, Keepers};
use study::Address;

/// The number of hash slots of a cluster.
const SLOTS: usize = 16_384;

/// The CRC-16/XMODEM of each byte: polynomial 0x1021, high bit first.
const CRC: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// Returns the hash slot of a key: of the bytes between its first `{` and the next `}`, where there are any, else of the whole key.
#[inline]
pub(super) fn hash_slot(key: &[u8]) -> usize {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let behind = &key[open + 1..];
        let length = behind.iter().position(|byte| *byte == b'}').filter(|length| *length > 0)?;
        Some(&behind[..length])
    });
    let crc = tag.unwrap_or(key).iter().fold(0u16, |crc, byte| crc << 8 ^ CRC[usize::from((crc >> 8) as u8 ^ byte)]);
    usize::from(crc) % SLOTS
}

/// A table of the masters and the slots they serve.
#[derive(Clone, Debug)]
pub(super) struct SlotTable {
    /// The master of each slot, by its place among the endpoints.
    masters: Box<[u16]>,
    endpoints: Vec<Endpoint>,
    replicas: usize,
    /// The nodes that are not given up, replicas too.
    nodes: Vec<Endpoint>,
    /// The latest change of masters that the node knows: the number grows with each takeover.
    epoch: u64,
}

impl SlotTable {
    /// Reads the answer of `from` to `CLUSTER NODES`, a line per node: id, `host:port@bus`, flags, its master, four numbers and words, then the slots
    /// it serves.
    pub fn read(nodes: &str, from: &Endpoint) -> Result<SlotTable, String> {
        const UNSERVED: u16 = u16::MAX;
        let mut table = SlotTable {
            masters: vec![UNSERVED; SLOTS].into(),
            endpoints: Vec::new(),
            replicas: 0,
            nodes: Vec::new(),
            epoch: 0,
        };
        for line in nodes.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, address, flags, _, _, _, epoch, _, ranges @ ..] = fields.as_slice() else {
                return Err(format!("CLUSTER NODES has a malformed line: '{}'", study::visible(line)));
            };
            let flags: Vec<&str> = flags.split(',').collect();
            table.replicas += usize::from(flags.contains(&"slave"));
            let located = located(address.split(['@', ',']).next().unwrap_or_default(), from);
            if !flags.contains(&"noaddr") {
                table.nodes.extend(located.clone());
            }
            // A slot on its way from or to another node is in brackets, and still served by this one.
            let ranges: Vec<&&str> = ranges.iter().filter(|range| !range.starts_with('[')).collect();
            if ranges.is_empty() || !flags.contains(&"master") {
                continue;
            }
            let endpoint = located
                .ok_or_else(|| format!("CLUSTER NODES has a node without address: '{}'", study::visible(line)))?;
            table.epoch = table.epoch.max(epoch.parse().unwrap_or(0));
            let master = table.endpoints.len() as u16;
            table.endpoints.push(endpoint);
            for range in ranges {
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                let bounds = first.parse::<usize>().ok().zip(last.parse::<usize>().ok());
                let slots = bounds.and_then(|(first, last)| table.masters.get_mut(first..=last));
                slots.ok_or_else(|| format!("CLUSTER NODES has slots that are none: '{range}'"))?.fill(master);
            }
        }
        match table.masters.iter().filter(|master| **master == UNSERVED).count() {
            0 => Ok(table),
            unserved => Err(format!("{unserved} of {SLOTS} hash slots are served by no node")),
        }
    }

    /// Returns the masters that serve slots.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// Returns the number of replicas of the cluster.
    pub fn replicas(&self) -> usize {
        self.replicas
    }

    /// Returns all nodes, replicas too.
    pub fn nodes(&self) -> &[Endpoint] {
        &self.nodes
    }

    /// Returns the number of the latest known change of masters.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Notes that a later change is known.
    pub fn set_epoch(&mut self, epoch: u64) {
        self.epoch = epoch;
    }

    /// Returns the share of all slots that each master serves.
    pub fn shares(&self) -> Vec<f64> {
        let mut shares = vec![0.0; self.endpoints.len()];
        self.masters.iter().for_each(|master| shares[usize::from(*master)] += 1.0 / SLOTS as f64);
        shares
    }

    /// Returns whether a master serves any slot.
    pub fn serves(&self, master: usize) -> bool {
        self.masters.iter().any(|of_slot| usize::from(*of_slot) == master)
    }

    /// Returns the place of a master.
    pub fn find(&self, endpoint: &Endpoint) -> Option<usize> {
        self.endpoints.iter().position(|known| known.address == endpoint.address)
    }

    /// Adds a master, and returns its place.
    pub fn add(&mut self, endpoint: Endpoint) -> usize {
        self.endpoints.push(endpoint);
        self.endpoints.len() - 1
    }

    /// Notes that this master serves a slot from now on.
    pub fn assign(&mut self, slot: usize, master: usize) {
        if let Some(of_slot) = self.masters.get_mut(slot) {
            *of_slot = master as u16;
        }
    }

    /// Returns each slot with the endpoint that serves it.
    pub fn assignments(&self) -> impl Iterator<Item = (usize, &Endpoint)> {
        self.masters.iter().enumerate().map(|(slot, master)| (slot, &self.endpoints[usize::from(*master)]))
    }
}

impl Route for SlotTable {
    #[inline]
    fn node(&self, key: &[u8]) -> usize {
        usize::from(self.masters[hash_slot(key)])
    }
}

/// The keepers of slots: the node that has the slot of a key, by numbers that stay when others come and go.
pub(super) struct SlotKeepers {
    table: SlotTable,
    /// The number of each master of the table.
    numbers: Vec<usize>,
    nodes: usize,
}

impl SlotKeepers {
    /// Makes the keepers of this table. Nodes that were known before come first; nodes that the table names later follow.
    pub fn new(table: SlotTable, known: &[Endpoint]) -> SlotKeepers {
        let mut all: Vec<&Endpoint> = known.iter().collect();
        for node in table.nodes() {
            if all.iter().all(|known| known.address != node.address) {
                all.push(node);
            }
        }
        let number = |master: &Endpoint| all.iter().position(|node| node.address == master.address);
        let numbers = table.endpoints().iter().map(|master| number(master).unwrap_or(all.len())).collect();
        SlotKeepers { numbers, nodes: all.len(), table }
    }
}

impl Keepers for SlotKeepers {
    fn nodes(&self) -> usize {
        self.nodes
    }

    fn keeper(&self, key: &[u8]) -> usize {
        self.numbers[self.table.node(key)]
    }
}

/// Returns the endpoint for `host:port` as a node of a cluster names another; a missing host means the reporting node's own. The login is the same.
pub(super) fn located(address: &str, from: &Endpoint) -> Option<Endpoint> {
    let (host, port) = address.rsplit_once(':')?;
    let port = port.parse::<u16>().ok().filter(|port| *port > 0)?;
    let host = match host {
        "" | "?" => from.tcp()?.0,
        host => host,
    };
    Some(Endpoint { address: Address::Tcp { host: host.into(), port: Some(port) }, ..from.clone() })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
