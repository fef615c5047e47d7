//! The format of kvtrial's own recordings, as `docs/kvtrace.md` publishes it: a header, then blocks of records, each packed by itself and with a
//! checksum, so that all that was written before a crash can be read.

mod log;
mod reader;
mod record;
mod requests;
mod varint;
mod writer;

pub use log::{CommandLog, LoggedCommand};
pub use reader::{KvtraceReader, RecordingEnd};
pub use record::{Recorded, RecordedReply, RecordedWord, ReplyShape};
pub(crate) use requests::{read, shows};
pub use writer::KvtraceWriter;

/// The first bytes of a file.
const MAGIC: &[u8; 8] = b"kvtrace\n";

/// The version of the format.
const VERSION: u16 = 1;

/// The bytes of the header of a file.
const HEADER_BYTES: usize = 32;

/// The bytes of the header of a block.
const BLOCK_HEADER_BYTES: usize = 24;

/// The first bytes of a block of records, and of the block that ends a file.
const BLOCK: &[u8; 4] = b"KVTB";
const END: &[u8; 4] = b"KVTE";

/// The most bytes of a block, unpacked: what a reader must have room for.
const MOST_BLOCK_BYTES: usize = 1 << 30;

/// The checksum of a block: over its header without the checksum, and its packed bytes.
fn block_sum(header: &[u8; BLOCK_HEADER_BYTES], packed: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    [&header[..12], &header[16..], packed].into_iter().for_each(|bytes| sum.update(bytes));
    sum.finalize()
}

/// What a recording says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordingHead {
    /// Whether keys are as the application had them, or hashed.
    pub keys: RecordedKeys,
    /// Whether values are kept, or only their sizes.
    pub values: RecordedValues,
    /// When it began, in microseconds since 1970.
    pub began_us: u64,
}

/// What is kept of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedKeys {
    /// Keys of the same length, made by a hash whose key is kept nowhere; those with the same beginning have the same beginning.
    Hashed,
    /// The keys.
    Kept,
}

/// What is kept of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedValues {
    /// How large they are, and how well they can be packed.
    Sizes,
    /// The values.
    Kept,
}

impl RecordingHead {
    fn bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[10] = u8::from(self.keys == RecordedKeys::Kept) | u8::from(self.values == RecordedValues::Kept) << 1;
        bytes[16..24].copy_from_slice(&self.began_us.to_le_bytes());
        let sum = crc32fast::hash(&bytes[..24]);
        bytes[24..28].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads the header of a file.
    ///
    /// # Errors
    /// Says what is wrong with it.
    fn of(bytes: &[u8; HEADER_BYTES]) -> Result<RecordingHead, String> {
        let part = |start: usize, count: usize| {
            bytes[start..start + count].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
        };
        if &bytes[..8] != MAGIC {
            return Err("it does not begin as a recording does".into());
        }
        if part(8, 2) != u64::from(VERSION) {
            return Err(format!("it has version {} of the format, this kvtrial reads version {VERSION}", part(8, 2)));
        }
        if part(24, 4) != u64::from(crc32fast::hash(&bytes[..24])) {
            return Err("its header is damaged: the checksum is another".into());
        }
        Ok(RecordingHead {
            keys: if bytes[10] & 1 != 0 { RecordedKeys::Kept } else { RecordedKeys::Hashed },
            values: if bytes[10] & 2 != 0 { RecordedValues::Kept } else { RecordedValues::Sizes },
            began_us: part(16, 8),
        })
    }
}
