//! Exact caches: the hits that a cache of a size would have had, to hold a store's against.
//!
//! A list over the keys' numbers, so that nothing is hashed: a hit moves a key to the front (LRU) or does not (FIFO), and what does not fit
//! goes from the back.

use crate::trace::{RequestKind, Trace};

/// What a full cache drops first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// What was used longest ago.
    Lru,
    /// What was put there longest ago.
    Fifo,
}

/// The size of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheSize {
    /// Objects, however large.
    Objects(u64),
    /// Bytes of keys and values.
    Bytes(u64),
}

/// What a miss leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filling {
    /// Nothing: the trace has the writes.
    Never,
    /// The value is put there.
    OnMiss,
}

/// No key.
const NONE: u32 = u32::MAX;

/// A key's place in the list.
#[derive(Clone, Copy)]
struct Link {
    before: u32,
    behind: u32,
    /// The size of what is in the cache; 0: it is not.
    weight: u32,
}

/// The keys in the cache, from the front to the back; the last link is that of both ends.
struct Cache {
    links: Vec<Link>,
    used: u64,
    most: u64,
}

impl Cache {
    fn new(keys: usize, most: u64) -> Cache {
        let mut links = vec![Link { before: NONE, behind: NONE, weight: 0 }; keys + 1];
        links[keys] = Link { before: keys as u32, behind: keys as u32, weight: 0 };
        Cache { links, used: 0, most }
    }

    fn ends(&self) -> usize {
        self.links.len() - 1
    }

    #[inline]
    fn has(&self, id: u32) -> bool {
        self.links[id as usize].weight > 0
    }

    #[inline]
    fn unlink(&mut self, id: u32) {
        let Link { before, behind, .. } = self.links[id as usize];
        self.links[before as usize].behind = behind;
        self.links[behind as usize].before = before;
    }

    #[inline]
    fn link_front(&mut self, id: u32) {
        let end = self.ends();
        let first = self.links[end].behind;
        let link = &mut self.links[id as usize];
        (link.before, link.behind) = (end as u32, first);
        self.links[first as usize].before = id;
        self.links[end].behind = id;
    }

    #[inline]
    fn touch(&mut self, id: u32) {
        self.unlink(id);
        self.link_front(id);
    }

    fn remove(&mut self, id: u32) {
        if self.has(id) {
            self.unlink(id);
            self.used -= u64::from(std::mem::take(&mut self.links[id as usize].weight));
        }
    }

    #[inline]
    fn insert(&mut self, id: u32, weight: u32) {
        self.remove(id);
        if u64::from(weight) > self.most {
            return;
        }
        while self.used + u64::from(weight) > self.most {
            self.remove(self.links[self.ends()].before);
        }
        self.links[id as usize].weight = weight;
        self.used += u64::from(weight);
        self.link_front(id);
    }
}

/// Returns how many gets of a trace an exact cache would have answered. `usual_bytes`: the size of a value of which the trace does not say it.
pub fn hits(trace: &Trace, eviction: Eviction, size: CacheSize, filling: Filling, usual_bytes: u32) -> u64 {
    let keys = trace.keys();
    let (most, key_bytes) = match size {
        CacheSize::Objects(objects) => (objects, Vec::new()),
        CacheSize::Bytes(bytes) => {
            let mut key = Vec::new();
            let bytes_of = |id| {
                keys.write(id, &mut key);
                key.len() as u32
            };
            (bytes, (0..keys.len() as u32).map(bytes_of).collect())
        }
    };
    let mut cache = Cache::new(keys.len(), most);
    let weight = |request: usize, id: u32| match key_bytes.get(id as usize) {
        None => 1,
        Some(key_bytes) => key_bytes.saturating_add(trace.value_bytes(request).unwrap_or(usual_bytes)).max(1),
    };
    let mut hits = 0;
    for (request, &id) in trace.ids().iter().enumerate() {
        match trace.kind(request) {
            RequestKind::Get if cache.has(id) => {
                hits += 1;
                if eviction == Eviction::Lru {
                    cache.touch(id);
                }
            }
            RequestKind::Get if filling == Filling::OnMiss => cache.insert(id, weight(request, id)),
            RequestKind::Touch if eviction == Eviction::Lru && cache.has(id) => cache.touch(id),
            RequestKind::Get | RequestKind::Touch => {}
            // A FIFO's write of what is there leaves it in its place, unless it no longer fits.
            RequestKind::Set
                if eviction == Eviction::Fifo && cache.has(id) && matches!(size, CacheSize::Objects(_)) => {}
            RequestKind::Set => cache.insert(id, weight(request, id)),
            RequestKind::Delete => cache.remove(id),
        }
    }
    hits
}
