//! Writes a recording as a stream. What was flushed is in the file whatever happens to this process then.

use super::{BLOCK, BLOCK_HEADER_BYTES, END, Recorded, RecordingHead, block_sum};
use std::io::{self, Write};

/// Bytes of records after which a block is written.
const FULL_BYTES: usize = 256 << 10;

/// A recording under way.
pub struct KvtraceWriter<W: Write> {
    out: W,
    block: Vec<u8>,
    /// When the first record of the block was made, and the last one, in microseconds since the recording began.
    first_us: u64,
    last_us: u64,
    records: u64,
}

impl<W: Write> KvtraceWriter<W> {
    /// Begins a recording.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin(mut out: W, head: RecordingHead) -> io::Result<KvtraceWriter<W>> {
        out.write_all(&head.bytes())?;
        out.flush()?;
        Ok(KvtraceWriter { out, block: Vec::with_capacity(FULL_BYTES), first_us: 0, last_us: 0, records: 0 })
    }

    /// Adds what was seen, that long after the beginning. A time before that of the last record counts as that.
    ///
    /// # Errors
    /// A full block cannot be written.
    pub fn push(&mut self, time_us: u64, connection: u32, recorded: &Recorded<'_>) -> io::Result<()> {
        let time_us = time_us.max(self.last_us);
        if self.block.is_empty() {
            (self.first_us, self.last_us) = (time_us, time_us);
        }
        recorded.push(time_us - self.last_us, connection, &mut self.block);
        self.last_us = time_us;
        self.records += 1;
        if self.block.len() < FULL_BYTES { Ok(()) } else { self.flush() }
    }

    /// Writes what there is as a block. To be called each second, or what a crash loses is more.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let packed = lz4_flex::block::compress(&self.block);
        let header = block_header(BLOCK, &packed, self.block.len() as u32, self.first_us);
        // In one piece, so that no crash comes between.
        self.out.write_all(&[&header[..], &packed].concat())?;
        self.block.clear();
        self.out.flush()
    }

    /// Ends the recording, and returns how many records it has.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn end(mut self) -> io::Result<u64> {
        self.flush()?;
        self.out.write_all(&block_header(END, &[], 0, self.records))?;
        self.out.flush()?;
        Ok(self.records)
    }
}

fn block_header(kind: &[u8; 4], packed: &[u8], unpacked: u32, number: u64) -> [u8; BLOCK_HEADER_BYTES] {
    let mut header = [0; BLOCK_HEADER_BYTES];
    header[..4].copy_from_slice(kind);
    header[4..8].copy_from_slice(&(packed.len() as u32).to_le_bytes());
    header[8..12].copy_from_slice(&unpacked.to_le_bytes());
    header[16..].copy_from_slice(&number.to_le_bytes());
    let sum = block_sum(&header, packed);
    header[12..16].copy_from_slice(&sum.to_le_bytes());
    header
}
