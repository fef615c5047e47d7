//! The content of a file: what is durable of it, and which parts were written since.

use crate::disk::{DiskWrite, keep, keep_some};
use crate::draws::SectorDraws;
use crate::image::{Image, SECTOR_BYTES};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use study::KeptSectors;

/// The unit in which a file is read and compared.
const CHUNK_BYTES: usize = 1 << 20;

/// The most parts that are kept one by one; then they are joined.
const MOST_PARTS: usize = 4096;

/// What is durable of a file.
#[derive(Clone, Default)]
pub struct FileContent {
    /// What it holds.
    pub image: Image,
    /// How much of that.
    pub bytes: u64,
}

impl FileContent {
    /// Takes these parts of a file, and its size; returns how many sectors had changed.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn take(&mut self, file: &File, parts: &Parts) -> io::Result<u64> {
        let bytes = file.metadata()?.len();
        self.resize(bytes);
        let mut found = vec![0; CHUNK_BYTES];
        let mut changed = 0;
        for (offset, length) in parts.chunks(bytes) {
            let read = read_at(file, &mut found[..length], offset)?;
            let before = self.image.read(offset, read);
            let sectors = found[..read].chunks(SECTOR_BYTES).zip(before.chunks(SECTOR_BYTES));
            changed += sectors.filter(|(now, before)| now != before).count() as u64;
            self.image.write(offset, &found[..read]);
        }
        Ok(changed)
    }

    /// Returns what is different in these parts of a file, sector by sector.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn differences(&self, file: &File, parts: &Parts) -> io::Result<Vec<DiskWrite>> {
        let bytes = file.metadata()?.len();
        let mut writes: Vec<DiskWrite> = Vec::new();
        let mut found = vec![0; CHUNK_BYTES];
        for (offset, length) in parts.chunks(bytes) {
            let read = read_at(file, &mut found[..length], offset)?;
            let durable = self.image.read(offset, read);
            for (at, sector) in found[..read].chunks(SECTOR_BYTES).enumerate() {
                let place = at * SECTOR_BYTES;
                let is_same = durable.get(place..place + sector.len()).is_some_and(|it| it == sector);
                let end = offset + (place + sector.len()) as u64;
                if !is_same || end > self.bytes {
                    writes.push(DiskWrite::new(offset + place as u64, sector));
                }
            }
        }
        Ok(writes)
    }

    /// Keeps of what was written to a file, which has this size now, what is to be kept; returns how many sectors.
    pub fn cut(&mut self, writes: &[DiskWrite], bytes: u64, kept: KeptSectors, random: &mut SectorDraws) -> u64 {
        let durable = self.bytes;
        let longest = bytes.max(durable);
        match kept {
            KeptSectors::Nothing => 0,
            KeptSectors::All => {
                self.resize(bytes);
                keep(&mut self.image, writes, &mut |_| true).0
            }
            KeptSectors::Some => {
                self.resize(longest);
                // A file gets longer only as far as what was appended is there, as in ext4 and XFS.
                let appended = writes.iter().position(|write| write.end() > durable).unwrap_or(writes.len());
                let (within, beyond) = writes.split_at(appended);
                let first = random.below(beyond.len() + 1);
                let (added, end) = keep(&mut self.image, &beyond[..first], &mut |_| true);
                let kept = added + keep_some(&mut self.image, within, random);
                let is_shortened = bytes < durable && random.below(2) == 0;
                self.resize(if is_shortened { bytes } else { durable.max(end).min(longest) });
                kept
            }
        }
    }

    /// Makes it longer or shorter.
    fn resize(&mut self, bytes: u64) {
        self.image.resize(bytes);
        self.bytes = bytes;
    }
}

/// Reads as much as there is.
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], offset + read as u64) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

/// Parts of a file, from an offset to another one.
#[derive(Clone, Debug, Default)]
pub struct Parts(Vec<(u64, u64)>);

impl Parts {
    /// Returns all of a file.
    pub fn all() -> Parts {
        Parts(vec![(0, u64::MAX)])
    }

    /// Adds a part; `None`: to the end of the file, wherever that will be. It begins and ends with a sector.
    pub fn add(&mut self, offset: u64, bytes: Option<u64>) {
        let sector = SECTOR_BYTES as u64;
        let end = bytes.map_or(u64::MAX, |bytes| offset.saturating_add(bytes));
        let end = if end > u64::MAX - sector { u64::MAX } else { end.next_multiple_of(sector) };
        let start = offset / sector * sector;
        match self.0.last_mut() {
            // As a log grows.
            Some((before, last)) if (*before..=*last).contains(&start) => *last = end.max(*last),
            _ => self.0.push((start, end)),
        }
        if self.0.len() > MOST_PARTS {
            self.join();
        }
    }

    fn join(&mut self) {
        self.0.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (start, end) in self.0.drain(..) {
            match joined.last_mut() {
                Some((_, last)) if start <= *last => *last = end.max(*last),
                _ => joined.push((start, end)),
            }
        }
        // Still too many: what lies between is looked at, too.
        if let (true, Some((first, _)), Some((_, last))) =
            (joined.len() > MOST_PARTS / 2, joined.first(), joined.last())
        {
            joined = vec![(*first, *last)];
        }
        self.0 = joined;
    }

    /// Returns them in pieces that can be read at once, as far as a file of this size has them, each place once.
    fn chunks(&self, bytes: u64) -> impl Iterator<Item = (u64, usize)> + use<> {
        let mut parts = self.clone();
        parts.join();
        parts.0.into_iter().flat_map(move |(start, end)| {
            let end = end.min(bytes);
            (start..end.max(start))
                .step_by(CHUNK_BYTES)
                .map(move |at| (at, (end - at).min(CHUNK_BYTES as u64) as usize))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{FileContent, Parts};
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    #[test]
    fn parts_are_whole_sectors_each_place_once_and_end_with_the_file() {
        let mut parts = Parts::default();
        parts.add(100, Some(10));
        parts.add(512, Some(1));
        parts.add(5000, None);
        parts.add(4100, Some(10));
        assert_eq!(parts.chunks(6000).collect::<Vec<_>>(), [(0, 1024), (4096, 1904)]);
        assert_eq!(parts.chunks(700).collect::<Vec<_>>(), [(0, 700)]);
        for at in 0..10_000 {
            parts.add(at * 2048, Some(100));
        }
        assert!(parts.0.len() <= 4097, "{}", parts.0.len());
        assert_eq!(Parts::all().chunks(3 << 20).count(), 3);
    }

    #[test]
    fn what_differs_is_found_by_sector_and_what_lies_behind_the_durable_end_differs_in_any_case() {
        let place = tempfile::tempdir().unwrap();
        let file =
            File::options().create(true).truncate(true).read(true).write(true).open(place.path().join("file")).unwrap();
        file.write_all_at(&[7; 2048], 0).unwrap();
        let mut content = FileContent::default();
        content.take(&file, &Parts::all()).unwrap();
        file.write_all_at(&[8; 10], 600).unwrap();
        file.set_len(3000).unwrap();
        let written = content.differences(&file, &Parts::all()).unwrap();
        assert_eq!(written.iter().map(|write| write.offset).collect::<Vec<_>>(), [512, 2048, 2560]);
    }
}
