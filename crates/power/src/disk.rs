//! The disk: what is durable, what is not yet, and what a cut leaves.

use crate::draws::SectorDraws;
use crate::image::{Image, SECTOR_BYTES};
use std::collections::{HashSet, VecDeque};
use study::{DiskKind, KeptSectors, PowerCut};

/// What the cache of a disk that lies holds; what is older reaches the disk in its order.
const CACHE_BYTES: usize = 64 << 20;

/// The most sectors that a torn write damages beside it.
const MOST_DAMAGED: usize = 8;

/// A disk with a cache that forgets.
pub struct Disk {
    kind: DiskKind,
    /// What a cut leaves in any case.
    durable: Image,
    /// What a reader sees.
    now: Image,
    /// Writes that are not durable, parted by the flushes that were asked for; of an honest disk one part only. Never empty.
    parts: VecDeque<Part>,
    cached_bytes: usize,
    written_sectors: u64,
    flushes: u64,
}

#[derive(Default)]
struct Part {
    writes: Vec<DiskWrite>,
    bytes: usize,
}

/// Data written to a place.
pub(crate) struct DiskWrite {
    pub(crate) offset: u64,
    data: Box<[u8]>,
}

impl Disk {
    /// Makes a disk that holds an image, all of it durable.
    pub fn new(kind: DiskKind, image: Image) -> Disk {
        Disk {
            kind,
            durable: image.clone(),
            now: image,
            parts: [Part::default()].into(),
            cached_bytes: 0,
            written_sectors: 0,
            flushes: 0,
        }
    }

    /// Returns its size.
    pub fn bytes(&self) -> u64 {
        self.now.bytes()
    }

    /// Returns what it holds, as one that reads it sees it.
    pub fn image(&self) -> &Image {
        &self.now
    }

    /// Takes a write into its cache.
    pub fn write(&mut self, offset: u64, data: &[u8]) {
        self.now.write(offset, data);
        self.written_sectors += data.len().div_ceil(SECTOR_BYTES) as u64;
        self.cached_bytes += data.len();
        if let Some(part) = self.parts.back_mut() {
            part.bytes += data.len();
            part.writes.push(DiskWrite::new(offset, data));
        }
    }

    /// Makes all that was written durable; a disk that lies only says so.
    pub fn flush(&mut self) {
        self.flushes += 1;
        if self.kind != DiskKind::Lies {
            for Part { writes, .. } in self.parts.drain(..) {
                writes.iter().for_each(|write| self.durable.take(&self.now, write.offset, write.data.len()));
            }
            self.parts.push_back(Part::default());
            self.cached_bytes = 0;
            return;
        }
        if self.parts.back().is_some_and(|part| part.bytes > 0) {
            self.parts.push_back(Part::default());
        }
        while self.cached_bytes > CACHE_BYTES && self.parts.len() > 1 {
            let Some(oldest) = self.parts.pop_front() else { break };
            self.cached_bytes -= oldest.bytes;
            oldest.writes.iter().for_each(|write| self.durable.write(write.offset, &write.data));
        }
    }

    /// Returns what is left if the power fails now; the disk itself continues. The seed chooses what reaches the disk of the writes that are not
    /// durable.
    pub fn cut(&self, seed: u64) -> (Image, PowerCut) {
        let mut random = SectorDraws::new(seed);
        let mut image = self.durable.clone();
        // Of a disk that lies, any flush may have been the last one that it carried out.
        let whole = random.below(self.parts.len());
        let (before, rest) = (self.parts.iter().take(whole), self.parts.get(whole));
        let mut kept_sectors = 0;
        for write in before.flat_map(|part| &part.writes) {
            image.write(write.offset, &write.data);
            kept_sectors += write.sectors();
        }
        let edge = rest.map(|part| part.writes.as_slice()).unwrap_or_default();
        let kept = [KeptSectors::Nothing, KeptSectors::All, KeptSectors::Some, KeptSectors::Some][random.below(4)];
        kept_sectors += match kept {
            KeptSectors::Nothing => 0,
            KeptSectors::All => keep(&mut image, edge, &mut |_| true).0,
            KeptSectors::Some => keep_some(&mut image, edge, &mut random),
        };
        let damaged_sectors = if self.kind == DiskKind::Tears { damage(&mut image, edge, &mut random) } else { 0 };
        let writes = self.parts.iter().flat_map(|part| &part.writes);
        let made = PowerCut {
            disk: self.kind,
            kept,
            unflushed_sectors: writes.map(DiskWrite::sectors).sum(),
            kept_sectors,
            damaged_sectors,
            written_sectors: self.written_sectors,
            flushes: self.flushes,
        };
        (image, made)
    }
}

impl DiskWrite {
    /// Makes one of this data.
    pub(crate) fn new(offset: u64, data: &[u8]) -> DiskWrite {
        DiskWrite { offset, data: data.into() }
    }

    /// Returns where it ends.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.data.len() as u64
    }

    fn sectors(&self) -> u64 {
        self.data.len().div_ceil(SECTOR_BYTES) as u64
    }
}

/// Writes those sectors to the image that are chosen, each write after those before it; returns how many, and where the last of them ends.
pub(crate) fn keep(image: &mut Image, writes: &[DiskWrite], is_kept: &mut dyn FnMut(usize) -> bool) -> (u64, u64) {
    let (mut number, mut kept, mut end) = (0, 0, 0);
    for write in writes {
        for (at, sector) in write.data.chunks(SECTOR_BYTES).enumerate() {
            if is_kept(number) {
                let place = write.offset + (at * SECTOR_BYTES) as u64;
                image.write(place, sector);
                end = end.max(place + sector.len() as u64);
                kept += 1;
            }
            number += 1;
        }
    }
    (kept, end)
}

/// Keeps some sectors: half of the times those before a moment, as a disk without a queue does; else any, as often as the seed says.
pub(crate) fn keep_some(image: &mut Image, writes: &[DiskWrite], random: &mut SectorDraws) -> u64 {
    let sectors: u64 = writes.iter().map(DiskWrite::sectors).sum();
    if sectors == 0 {
        return 0;
    }
    if random.below(2) == 0 {
        let first = random.below(sectors as usize);
        return keep(image, writes, &mut |number| number < first).0;
    }
    let of_16 = 1 + random.below(15);
    keep(image, writes, &mut |_| random.below(16) < of_16).0
}

/// Damages durable sectors before or behind one of the writes; returns how many.
fn damage(image: &mut Image, writes: &[DiskWrite], random: &mut SectorDraws) -> u64 {
    if writes.is_empty() {
        return 0;
    }
    let sector = |offset: u64| offset / SECTOR_BYTES as u64;
    let of = |write: &DiskWrite| sector(write.offset)..sector(write.offset) + write.sectors();
    let pending: HashSet<u64> = writes.iter().flat_map(of).collect();
    let torn = &writes[random.below(writes.len())];
    let many = 1 + random.below(MOST_DAMAGED) as u64;
    let (before, behind) = (sector(torn.offset), of(torn).end);
    let beside = if random.below(2) == 0 { before.saturating_sub(many)..before } else { behind..behind + many };
    let mut damaged = 0;
    for number in beside {
        let offset = number * SECTOR_BYTES as u64;
        if !pending.contains(&number) && image.is_written(offset) {
            let noise: Vec<u8> = (0..SECTOR_BYTES / 8).flat_map(|_| random.next().to_le_bytes()).collect();
            image.write(offset, &noise);
            damaged += 1;
        }
    }
    damaged
}

#[cfg(test)]
mod tests;
