//! Values of which an append failed: its record may be there or not, once; every other record must be.

use data::append::RECORD_BYTES;
use jobkit::{Doubt, Doubts, Effect};
use serde::{Deserialize, Serialize};
use study::WriteAccount;

/// A record of 16 bytes.
pub type EventRecord = [u8; RECORD_BYTES];

/// An append that failed, or was lost with others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DoubtfulAppend {
    /// What it appends.
    pub record: EventRecord,
    /// Rewriting: the whole value that was put.
    pub value: Option<Vec<u8>>,
}

/// Keys in doubt, by id.
pub type AppendDoubts = Doubts<u64, DoubtfulAppend>;

impl DoubtfulAppend {
    /// Makes the append of this record alone.
    pub fn of(record: EventRecord) -> DoubtfulAppend {
        DoubtfulAppend { record, value: None }
    }
}

impl Effect for DoubtfulAppend {
    type Whole = [u8];

    fn more(&self) -> i64 {
        1
    }

    fn instead(&self) -> Option<&[u8]> {
        self.value.as_deref()
    }
}

/// The result of checking a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendsFound {
    /// Every record that was acknowledged is there, in order, and of those that failed some. What became of them.
    Explained(WriteAccount),
    /// The same, but for this many acknowledged records, which are lost.
    Lost(WriteAccount),
    /// It holds something else.
    Otherwise,
}

/// Notes, for rewriting, that this value was read before the append of `right`'s last record, of which all but the last were sent before. If
/// the value is that of a put that failed, records that are not in it were overwritten by it.
#[cold]
pub fn reads(doubt: &mut Doubt<DoubtfulAppend>, value: &[u8], right: &[EventRecord]) {
    if doubt.allows_instead(value).is_none() {
        return;
    }
    let mut gone = owed(doubt, right);
    take_all(&mut gone, value.as_chunks::<RECORD_BYTES>().0);
    gone.into_iter().for_each(|record| doubt.overwrites(DoubtfulAppend::of(record)));
}

/// Holds the value found at the end against the records appended, in order.
pub fn judge(doubt: &Doubt<DoubtfulAppend>, value: &[u8], right: &[EventRecord]) -> AppendsFound {
    let (found, rest) = value.as_chunks::<RECORD_BYTES>();
    let mut doubt = doubt.clone();
    reads(&mut doubt, value, right);
    let (must, mut absent) = (owed(&doubt, right), records(doubt.failed()).copied().collect::<Vec<_>>());
    let mut may: Vec<_> = records(doubt.failed().chain(doubt.overwritten())).copied().collect();
    let (mut at, mut lost) = (0, 0);
    for record in found {
        if must.get(at) == Some(record) {
            at += 1;
        } else if let Some(one) = may.iter().position(|known| known == record) {
            may.swap_remove(one);
        } else if let Some(behind) = must[at..].iter().position(|known| known == record) {
            lost += behind as u64;
            at += behind + 1;
        } else {
            return AppendsFound::Otherwise;
        }
    }
    if !rest.is_empty() {
        return AppendsFound::Otherwise;
    }
    lost += (must.len() - at) as u64;
    take_all(&mut absent, found);
    let account = WriteAccount {
        lost,
        failed_absent: (absent.len() + doubt.unsent().len()) as u64,
        failed_present: (doubt.failed().count() - absent.len()) as u64,
    };
    if lost == 0 { AppendsFound::Explained(account) } else { AppendsFound::Lost(account) }
}

/// The records that must be there.
fn owed(doubt: &Doubt<DoubtfulAppend>, right: &[EventRecord]) -> Vec<EventRecord> {
    let mut owed = right.to_vec();
    take_all(&mut owed, records(doubt.failed().chain(doubt.unsent()).chain(doubt.overwritten())));
    owed
}

fn records<'d>(appends: impl Iterator<Item = &'d DoubtfulAppend>) -> impl Iterator<Item = &'d EventRecord> {
    appends.map(|append| &append.record)
}

/// Takes each of these records out once, the last first.
fn take_all<'r>(from: &mut Vec<EventRecord>, records: impl IntoIterator<Item = &'r EventRecord>) {
    for record in records {
        if let Some(at) = from.iter().rposition(|known| known == record) {
            from.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AppendsFound, DoubtfulAppend, EventRecord, judge, reads};
    use jobkit::Doubt;
    use study::WriteAccount;

    fn records(numbers: &[u8]) -> Vec<EventRecord> {
        numbers.iter().map(|&number| [number; size_of::<EventRecord>()]).collect()
    }

    fn account(lost: u64, failed_absent: u64, failed_present: u64) -> WriteAccount {
        WriteAccount { lost, failed_absent, failed_present }
    }

    #[test]
    fn a_failed_append_is_there_once_or_not_and_nothing_else_may_be_missing() {
        let right = records(&[1, 2, 3, 4]);
        let mut doubt = Doubt::default();
        doubt.fails(DoubtfulAppend::of(right[1]));
        for (found, seen) in [
            (&[1u8, 3, 4][..], AppendsFound::Explained(account(0, 1, 0))),
            (&[1, 2, 3, 4], AppendsFound::Explained(account(0, 0, 1))),
            (&[1, 3, 2, 4], AppendsFound::Explained(account(0, 0, 1))), // it took effect late
            (&[1, 2, 2, 3, 4], AppendsFound::Otherwise),
            (&[1, 2, 4], AppendsFound::Lost(account(1, 0, 1))),
            (&[4], AppendsFound::Lost(account(2, 1, 0))),
            (&[], AppendsFound::Lost(account(3, 1, 0))),
            (&[1, 4, 3], AppendsFound::Otherwise),
            (&[1, 3, 4, 9], AppendsFound::Otherwise),
        ] {
            assert_eq!(judge(&doubt, records(found).as_flattened(), &right), seen, "{found:?}");
        }
    }

    #[test]
    fn a_record_that_was_never_sent_must_not_be_there() {
        let right = records(&[1, 2]);
        let mut doubt = Doubt::default();
        doubt.skips(DoubtfulAppend::of(right[1]));
        assert_eq!(judge(&doubt, records(&[1]).as_flattened(), &right), AppendsFound::Explained(account(0, 1, 0)));
        assert_eq!(judge(&doubt, records(&[1, 2]).as_flattened(), &right), AppendsFound::Otherwise);
    }

    #[test]
    fn a_failed_put_of_the_whole_value_may_come_late_and_write_over_others_but_nothing_else_may() {
        let (right, put) = (records(&[1, 2, 3, 4]), records(&[1, 2]).as_flattened().to_vec());
        let mut doubt = Doubt::default();
        doubt.fails(DoubtfulAppend { record: right[1], value: Some(put.clone()) });
        // 3 and 4 were acknowledged on top of 1, then the put of 1 and 2 came.
        assert_eq!(judge(&doubt, &put, &right), AppendsFound::Explained(account(0, 0, 1)));
        assert_eq!(judge(&doubt, records(&[1]).as_flattened(), &right), AppendsFound::Lost(account(2, 1, 0)));
        // It was seen before 4: what was written over then stays so, and it cannot come twice.
        reads(&mut doubt, &put, &right[..3]);
        assert_eq!(
            judge(&doubt, records(&[1, 2, 4]).as_flattened(), &right),
            AppendsFound::Explained(account(0, 0, 1))
        );
        assert_eq!(judge(&doubt, &put, &right), AppendsFound::Lost(account(1, 0, 1)));
    }
}
