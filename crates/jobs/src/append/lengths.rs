//! How long each value must be after an append, for stores that say it.
//!
//! Appends to one key are never in flight at once, and all by one worker: so each length is known exactly.

use super::doubt::{AppendDoubts, DoubtfulAppend};
use data::append::{Events, KEY_BYTES, RECORD_BYTES};
use jobkit::{Doubt, Offence};
use study::ReasonKind;

/// Records of every key, as far as this worker has appended them: 4 bytes per key, from the first reply on that says a length.
#[derive(Default)]
pub struct Lengths {
    records: Vec<u32>,
}

impl Lengths {
    /// Checks what the reply to an append to this key says of its value's bytes.
    ///
    /// # Errors
    /// When it is not as long as it must be.
    #[inline]
    pub fn check(
        &mut self,
        events: &Events,
        key: &[u8; KEY_BYTES],
        bytes: i64,
        doubts: &mut AppendDoubts,
    ) -> Result<(), Offence> {
        let Some(number) = events.key_of(u64::from_be_bytes(*key)) else { return Ok(()) };
        if self.records.is_empty() {
            self.records = vec![0; events.keys() as usize];
        }
        let records = &mut self.records[number as usize];
        *records += 1;
        let right = i64::from(*records) * RECORD_BYTES as i64;
        if bytes == right || Lengths::is_explained(records, bytes - right, doubts.get_mut(&u64::from_be_bytes(*key))) {
            return Ok(());
        }
        Err(Lengths::wrong(records, events, key, bytes))
    }

    /// Whether appends that failed and are there all the same make the value this many bytes longer.
    #[cold]
    fn is_explained(records: &mut u32, more_bytes: i64, doubt: Option<&mut Doubt<DoubtfulAppend>>) -> bool {
        let Some(doubt) = doubt else { return false };
        let (more, rest) = (more_bytes / RECORD_BYTES as i64, more_bytes % RECORD_BYTES as i64);
        let explains = rest == 0 && doubt.allows_more(more);
        *records += if explains { more as u32 } else { 0 };
        explains
    }

    #[cold]
    fn wrong(records: &mut u32, events: &Events, key: &[u8; KEY_BYTES], bytes: i64) -> Offence {
        let right = i64::from(*records) * RECORD_BYTES as i64;
        // A length that can be is gone on from: an append that was lost or done twice counts once.
        let said = bytes / RECORD_BYTES as i64;
        if bytes % RECORD_BYTES as i64 == 0 && (1..=events.len() as i64).contains(&said) {
            *records = said as u32;
        }
        let seen = format!("{bytes} bytes after an append, must be {right}");
        Offence::new(ReasonKind::WrongNumber, key, seen)
    }
}
