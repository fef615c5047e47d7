//! Reads a recording, block by block.

use super::{BLOCK, BLOCK_HEADER_BYTES, END, HEADER_BYTES, MOST_BLOCK_BYTES, Recorded, RecordingHead, block_sum};
use crate::input::TraceInput;
use data::DataError;
use data::lines::Lines;
use std::path::Path;

const REMEDY: &str = "use the whole file, as 'kvtrial record' wrote it";

/// How a recording ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingEnd {
    /// It was closed.
    Closed,
    /// It was not: the recorder was killed, or the file is cut off. What was recorded in its last second may be missing.
    CutOff {
        /// Bytes behind the last whole block.
        left_over: u64,
    },
}

/// A recording that is read.
pub struct KvtraceReader {
    input: TraceInput,
    head: RecordingHead,
    packed: Vec<u8>,
    block: Vec<u8>,
    records: u64,
    end: Option<RecordingEnd>,
}

impl KvtraceReader {
    /// Opens a file.
    ///
    /// # Errors
    /// It cannot be read, or is no recording of a version that is known.
    pub fn open(path: &Path) -> Result<KvtraceReader, DataError> {
        KvtraceReader::over(TraceInput::new(Lines::open(path)?))
    }

    /// Reads bytes in memory, under this name.
    ///
    /// # Errors
    /// They are no recording of a version that is known.
    pub fn of_bytes(name: &str, bytes: &'static [u8]) -> Result<KvtraceReader, DataError> {
        KvtraceReader::over(TraceInput::new(Lines::of_bytes(name, bytes)?))
    }

    fn over(mut input: TraceInput) -> Result<KvtraceReader, DataError> {
        let head = KvtraceReader::head_of(&mut input)?;
        Ok(KvtraceReader { input, head, packed: Vec::new(), block: Vec::new(), records: 0, end: None })
    }

    pub(super) fn head_of(input: &mut TraceInput) -> Result<RecordingHead, DataError> {
        let mut header = [0; HEADER_BYTES];
        if !input.record(&mut header, REMEDY)? {
            return Err(input.whole("it is empty", REMEDY));
        }
        RecordingHead::of(&header).map_err(|problem| input.whole(&problem, REMEDY))
    }

    /// Returns what the recording says of itself.
    pub fn head(&self) -> RecordingHead {
        self.head
    }

    /// Returns how it ended, once everything was read.
    pub fn end(&self) -> Option<RecordingEnd> {
        self.end
    }

    /// Hands over the records of the next block, each with its time in microseconds since the recording began and its connection. False: there
    /// is none.
    ///
    /// # Errors
    /// A block within the file is damaged.
    pub fn block(&mut self, each: impl FnMut(u64, u32, Recorded<'_>) -> Result<(), String>) -> Result<bool, DataError> {
        let KvtraceReader { input, packed, block, records, end, .. } = self;
        next_block(input, packed, block, records, end, each)
    }
}

/// Reads a block.
pub(super) fn next_block(
    input: &mut TraceInput,
    packed: &mut Vec<u8>,
    block: &mut Vec<u8>,
    records: &mut u64,
    end: &mut Option<RecordingEnd>,
    mut each: impl FnMut(u64, u32, Recorded<'_>) -> Result<(), String>,
) -> Result<bool, DataError> {
    let mut header = [0; BLOCK_HEADER_BYTES];
    let read = input.fill(&mut header)?;
    if read < header.len() {
        *end = Some(RecordingEnd::CutOff { left_over: read as u64 });
        return Ok(false);
    }
    let field = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (packed_bytes, bytes, sum) = (field(4) as usize, field(8) as usize, field(12));
    let number = header[16..].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
    if header.starts_with(END) {
        if number != *records || sum != block_sum(&header, &[]) {
            let problem = format!("it has {records} records, its end says {number}: a part is missing, or damaged");
            return Err(input.whole(&problem, REMEDY));
        }
        *end = Some(RecordingEnd::Closed);
        return Ok(false);
    }
    let at = input.offset() - BLOCK_HEADER_BYTES as u64;
    let damaged =
        |input: &TraceInput, what: &str| input.whole(&format!("the block at byte {at} is damaged: {what}"), REMEDY);
    if !header.starts_with(BLOCK) {
        return Err(damaged(input, "it does not begin as a block does"));
    }
    if bytes > MOST_BLOCK_BYTES || packed_bytes > lz4_flex::block::get_maximum_output_size(bytes) {
        return Err(damaged(input, "it says it is larger than a block can be"));
    }
    // As much as there is, so that what a damaged header says takes no memory.
    let read = input.fill_up_to(packed, packed_bytes)?;
    if read < packed_bytes {
        *end = Some(RecordingEnd::CutOff { left_over: (BLOCK_HEADER_BYTES + read) as u64 });
        return Ok(false);
    }
    if block_sum(&header, packed) != sum {
        return Err(damaged(input, "its checksum is another"));
    }
    block.resize(bytes, 0);
    if lz4_flex::block::decompress_into(packed, block).ok() != Some(bytes) {
        return Err(damaged(input, "it cannot be unpacked"));
    }
    let (mut rest, mut time_us) = (&block[..], number);
    while !rest.is_empty() {
        let Some((after_us, connection, recorded)) = Recorded::take(&mut rest) else {
            return Err(damaged(input, "it holds what is no record"));
        };
        time_us = time_us.saturating_add(after_us);
        *records += 1;
        each(time_us, connection, recorded).map_err(|problem| damaged(input, &problem))?;
    }
    Ok(true)
}
