//! Values of which an append failed: its record may be there or not, once; every other record must be.

use data::append::RECORD_BYTES;
use std::collections::BTreeMap;
use study::WriteAccount;

/// A record of 16 bytes.
pub type EventRecord = [u8; RECORD_BYTES];

/// The doubt about one key: appends that failed.
#[derive(Clone, Debug, Default)]
pub struct KeyDoubt {
    /// Records whose append failed: each may be there once.
    failed: Vec<EventRecord>,
    /// Records that were never sent, because the value could not be read before: they are not there.
    unsent: Vec<EventRecord>,
    /// Rewriting: whole values whose put failed. Such a put may take effect late, over others that were acknowledged.
    values: Vec<Vec<u8>>,
    /// Records that were acknowledged and then written over by such a put.
    overwritten: Vec<EventRecord>,
    /// Lengths: failed appends that no length has shown to be there.
    unseen: u32,
}

/// Keys in doubt, by id.
pub type Doubts = BTreeMap<u64, KeyDoubt>;

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

impl KeyDoubt {
    /// Notes that the append of this record failed; `value`: for rewriting, the whole value.
    #[cold]
    pub fn fails(&mut self, record: EventRecord, value: Option<&[u8]>) {
        self.failed.push(record);
        self.unseen += 1;
        self.values.extend(value.map(<[u8]>::to_vec));
    }

    /// Notes that the append of this record was never sent.
    #[cold]
    pub fn skips(&mut self, record: EventRecord) {
        self.unsent.push(record);
    }

    /// Returns whether a length may be this many records more than those that were acknowledged; it is so from then on.
    #[cold]
    pub fn allows_more(&mut self, records: u32) -> bool {
        let allows = records <= self.unseen;
        if allows {
            self.unseen -= records;
        }
        allows
    }

    /// Notes, for rewriting, that this value was read before the append of `right`'s last record, of which all but the last were sent
    /// before. If the value is that of a put that failed, records that are not in it were overwritten by it.
    #[cold]
    pub fn reads(&mut self, value: &[u8], right: &[EventRecord]) {
        let Some(at) = self.values.iter().position(|known| known == value) else { return };
        self.values.swap_remove(at);
        let (records, _) = value.as_chunks::<RECORD_BYTES>();
        let mut gone = right.to_vec();
        take_all(&mut gone, records);
        take_all(&mut gone, &self.failed);
        take_all(&mut gone, &self.unsent);
        take_all(&mut gone, &self.overwritten);
        self.overwritten.extend(gone);
    }

    /// Holds the value found at the end against the records appended, in order.
    pub fn judge(&self, value: &[u8], right: &[EventRecord]) -> AppendsFound {
        let (records, rest) = value.as_chunks::<RECORD_BYTES>();
        let mut doubt = self.clone();
        doubt.reads(value, right);
        let mut must = right.to_vec();
        let mut may = doubt.failed.clone();
        may.extend(&doubt.overwritten);
        [&doubt.failed, &doubt.unsent, &doubt.overwritten].into_iter().for_each(|some| take_all(&mut must, some));
        let (mut at, mut lost) = (0, 0);
        for record in records {
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
        let mut absent = doubt.failed.clone();
        take_all(&mut absent, records);
        let account = WriteAccount {
            lost,
            failed_absent: (absent.len() + doubt.unsent.len()) as u64,
            failed_present: (doubt.failed.len() - absent.len()) as u64,
        };
        if lost == 0 { AppendsFound::Explained(account) } else { AppendsFound::Lost(account) }
    }
}

/// Takes each of these records out once, the last first.
fn take_all(from: &mut Vec<EventRecord>, records: &[EventRecord]) {
    for record in records {
        if let Some(at) = from.iter().rposition(|known| known == record) {
            from.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AppendsFound, EventRecord, KeyDoubt};
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
        let mut doubt = KeyDoubt::default();
        doubt.fails(right[1], None);
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
            assert_eq!(doubt.judge(records(found).as_flattened(), &right), seen, "{found:?}");
        }
    }

    #[test]
    fn a_record_that_was_never_sent_must_not_be_there() {
        let right = records(&[1, 2]);
        let mut doubt = KeyDoubt::default();
        doubt.skips(right[1]);
        assert_eq!(doubt.judge(records(&[1]).as_flattened(), &right), AppendsFound::Explained(account(0, 1, 0)));
        assert_eq!(doubt.judge(records(&[1, 2]).as_flattened(), &right), AppendsFound::Otherwise);
    }

    #[test]
    fn a_failed_put_of_the_whole_value_may_come_late_and_write_over_others_but_nothing_else_may() {
        let right = records(&[1, 2, 3, 4]);
        let mut doubt = KeyDoubt::default();
        doubt.fails(right[1], Some(records(&[1, 2]).as_flattened()));
        // 3 and 4 were acknowledged on top of 1, then the put of 1 and 2 came.
        assert_eq!(doubt.judge(records(&[1, 2]).as_flattened(), &right), AppendsFound::Explained(account(0, 0, 1)));
        assert_eq!(doubt.judge(records(&[1]).as_flattened(), &right), AppendsFound::Lost(account(2, 1, 0)));
        // It was seen before 4: what was written over then stays so, and it cannot come twice.
        doubt.reads(records(&[1, 2]).as_flattened(), &right[..3]);
        assert_eq!(doubt.judge(records(&[1, 2, 4]).as_flattened(), &right), AppendsFound::Explained(account(0, 0, 1)));
        assert_eq!(doubt.judge(records(&[1, 2]).as_flattened(), &right), AppendsFound::Lost(account(1, 0, 1)));
    }
}
