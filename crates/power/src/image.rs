//! The content of a disk at one moment, in memory: blocks that images share until one of them is written to.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// The smallest unit that a disk writes as a whole.
pub const SECTOR_BYTES: usize = 512;

/// The unit that images share.
const BLOCK_BYTES: usize = 4096;

type Block = [u8; BLOCK_BYTES];

static ZEROS: Block = [0; BLOCK_BYTES];

/// The content of a disk. A copy takes a pointer per block.
#[derive(Clone, Default)]
pub struct Image {
    /// `None`: all zeros.
    blocks: Vec<Option<Arc<Block>>>,
}

impl Image {
    /// Makes an image of zeros, of whole blocks.
    pub fn new(bytes: u64) -> Image {
        Image { blocks: vec![None; bytes as usize / BLOCK_BYTES] }
    }

    /// Returns its size.
    pub fn bytes(&self) -> u64 {
        (self.blocks.len() * BLOCK_BYTES) as u64
    }

    /// Makes it longer or shorter, by whole blocks; what lies behind the size is zeros.
    pub fn resize(&mut self, bytes: u64) {
        self.blocks.resize((bytes as usize).div_ceil(BLOCK_BYTES), None);
        let rest = self.bytes().saturating_sub(bytes) as usize;
        self.write(bytes, &ZEROS[..rest]);
    }

    /// Reads from a place; what lies behind the end is not there.
    pub fn read(&self, offset: u64, length: usize) -> Vec<u8> {
        let length = length.min(self.bytes().saturating_sub(offset) as usize);
        let mut found = Vec::with_capacity(length);
        for (block, from, to) in pieces(offset, length) {
            found.extend_from_slice(&self.block(block)[from..to]);
        }
        found
    }

    /// Writes at a place; what lies behind the end is left out.
    pub fn write(&mut self, offset: u64, data: &[u8]) {
        let length = data.len().min(self.bytes().saturating_sub(offset) as usize);
        let mut rest = &data[..length];
        for (number, from, to) in pieces(offset, length) {
            let (piece, others) = rest.split_at(to - from);
            rest = others;
            let place = &mut self.blocks[number];
            if piece == &ZEROS[..] {
                *place = None;
                continue;
            }
            Arc::make_mut(place.get_or_insert_with(|| Arc::new(ZEROS)))[from..to].copy_from_slice(piece);
        }
    }

    /// Takes the blocks that a write of this place and length touches from another image.
    pub fn take(&mut self, from: &Image, offset: u64, length: usize) {
        let length = length.min(self.bytes().saturating_sub(offset) as usize);
        for (number, _, _) in pieces(offset, length) {
            self.blocks[number].clone_from(&from.blocks[number]);
        }
    }

    /// Returns whether something other than zeros lies at this place.
    pub fn is_written(&self, offset: u64) -> bool {
        self.blocks.get(offset as usize / BLOCK_BYTES).is_some_and(Option::is_some)
    }

    /// Writes it to a new file, with holes for zeros.
    ///
    /// # Errors
    /// The system's.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let file = File::create_new(path)?;
        file.set_len(self.bytes())?;
        self.write_to(&file)
    }

    /// Writes it to an empty file, with holes for zeros.
    ///
    /// # Errors
    /// The system's.
    pub fn write_to(&self, file: &File) -> io::Result<()> {
        for (number, block) in self.blocks.iter().enumerate() {
            if let Some(block) = block {
                file.write_all_at(&block[..], (number * BLOCK_BYTES) as u64)?;
            }
        }
        Ok(())
    }

    fn block(&self, number: usize) -> &Block {
        self.blocks[number].as_deref().unwrap_or(&ZEROS)
    }
}

/// The blocks of a place, each with the part of it that is meant.
fn pieces(offset: u64, length: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let (start, end) = (offset as usize, offset as usize + length);
    // Nothing is in no block, wherever it lies.
    let blocks = if length == 0 { 0..0 } else { start / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES) };
    blocks.map(move |number| {
        let first = number * BLOCK_BYTES;
        (number, start.max(first) - first, end.min(first + BLOCK_BYTES) - first)
    })
}

#[cfg(test)]
mod tests {
    use super::Image;
    use crate::draws::SectorDraws;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn an_image_reads_as_a_flat_disk_would_and_a_copy_stays_as_it_was() {
        let mut random = SectorDraws::new(1);
        let mut flat = vec![0_u8; 64 << 10];
        let mut image = Image::new(flat.len() as u64);
        for round in 0..2000 {
            let offset = random.below(flat.len());
            let length = random.below(9000).min(flat.len() - offset);
            let fill = if round % 3 == 0 { 0 } else { round as u8 };
            let before = (image.clone(), flat.clone());
            flat[offset..offset + length].fill(fill);
            image.write(offset as u64, &vec![fill; length]);
            assert_eq!(image.read(0, flat.len()), flat);
            assert_eq!(before.0.read(0, flat.len()), before.1);
        }
        assert_eq!(image.read(flat.len() as u64 - 3, 9).len(), 3);
        assert!(image.read(flat.len() as u64 + 512, 9).is_empty());
    }

    #[test]
    fn a_saved_image_has_holes() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("image");
        let mut image = Image::new(64 << 20);
        image.write(32 << 20, b"here");
        image.save(&path).unwrap();
        let meta = path.metadata().unwrap();
        assert!(meta.len() == 64 << 20 && meta.blocks() < 1000, "{meta:?}");
        assert_eq!(&std::fs::read(&path).unwrap()[32 << 20..][..5], b"here\0");
    }
}
