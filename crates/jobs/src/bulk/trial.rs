//! One execution: load, compaction, reduction, read-back.

use super::input::{Input, Tally};
use super::load::{Load, Puts};
use super::read_back::{MANY, ReadBack, documents_of_part};
use super::reduce::{Gets, PAGE, Scan};
use crate::marks::{NotWritten, OnceWritten, WrittenSums};
use data::digest::LineDigest;
use jobkit::{JobError, Offences, Phase, Share, SharePart, Trial, TrialSetup, Worker};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use store::{Capabilities, Keeps, OperationKind, Reduction, ReductionGroup, Slot, Store, StoreError, Support, needed};
use study::{Answer, Reason, ReasonKind, WriteAccount};

/// What a phase does.
#[derive(Clone, Copy, Debug)]
enum Stage<'a> {
    Load,
    Compact,
    /// In the store.
    Reduce(&'a Reduction),
    ReduceByScan(&'a Reduction),
    ReduceByGet(&'a Reduction),
    ReadBack,
}

/// Groups that are written out; of all there is a digest.
const MOST_GROUPS: usize = 100;
/// What stands around a document in a reply: its revision, a size, quotes.
const ROW_ROOM_BYTES: usize = 256;

/// State shared by the workers of one execution.
pub struct BulkTrial<'a> {
    pub(super) input: &'a Input,
    pub(super) batch: usize,
    pub(super) puts: Puts,
    pub(super) slots: u32,
    share: Share,
    /// The slots of this share.
    own: Range<Slot>,
    pub(super) capabilities: Capabilities,
    stages: Vec<Stage<'a>>,
    pub(super) tally: Mutex<Tally>,
    /// Groups the store itself came to.
    groups: Mutex<Option<Vec<ReductionGroup>>>,
    /// Documents found otherwise than they must be.
    pub(super) otherwise: Mutex<BTreeMap<u32, Option<[u8; 64]>>>,
    pub(super) more: Mutex<Offences>,
    /// What became of the documents put.
    pub(super) written: OnceWritten,
    /// The reduction had every answer it asked for. Otherwise its groups lack what was not read, and say nothing.
    reduced: AtomicBool,
}

/// What a share has found.
#[derive(Serialize, Deserialize)]
struct BulkPart {
    tally: Tally,
    groups: Option<Vec<ReductionGroup>>,
    #[serde(with = "crate::hex")]
    otherwise: BTreeMap<u32, Option<[u8; 64]>>,
    more: Offences,
    written: WrittenSums,
    reduced: bool,
}

impl<'a> BulkTrial<'a> {
    /// Makes an execution on an empty store.
    pub fn new(input: &'a Input, batch: u32, reduction: Option<&'a Reduction>, setup: &TrialSetup) -> BulkTrial<'a> {
        let store = &setup.capabilities;
        let mut stages = vec![Stage::Load];
        if store.keeps == Keeps::Everything {
            if store.compaction == Support::Native {
                stages.push(Stage::Compact);
            }
            stages.extend(reduction.map(|reduction| match store.reduction {
                Support::Native => Stage::Reduce(reduction),
                Support::Absent if store.has(OperationKind::Scan) => Stage::ReduceByScan(reduction),
                Support::Absent => Stage::ReduceByGet(reduction),
            }));
            stages.push(Stage::ReadBack);
        }
        BulkTrial {
            input,
            batch: batch as usize,
            puts: if batch > 1 && store.has(OperationKind::PutMany) { Puts::Batches } else { Puts::Single },
            slots: setup.slots.max(1),
            share: setup.share,
            own: setup.own_slots(),
            capabilities: store.clone(),
            stages,
            tally: Mutex::default(),
            groups: Mutex::default(),
            otherwise: Mutex::default(),
            more: Mutex::default(),
            written: OnceWritten::below(input.documents.len() as u64),
            reduced: AtomicBool::new(true),
        }
    }

    /// Returns the document a slot puts after these: within the batch the next; when the batch is whole, the batches of the other slots
    /// come first.
    pub(super) fn behind(&self, first: usize, put: usize) -> usize {
        let next = first + put;
        if next.is_multiple_of(self.batch) { next + self.batch * (self.slots as usize - 1) } else { next }
    }

    /// Notes that the input of the reduction was not read.
    #[cold]
    pub(super) fn lacks(&self) {
        self.reduced.store(false, Ordering::Relaxed);
    }

    /// The fields of the reduction, `GROUP:SUM`; empty when none is asked for.
    fn reduction(&self) -> String {
        let of = self.stages.iter().find_map(|stage| match stage {
            Stage::Reduce(reduction) | Stage::ReduceByScan(reduction) | Stage::ReduceByGet(reduction) => {
                Some(reduction)
            }
            Stage::Load | Stage::Compact | Stage::ReadBack => None,
        });
        of.map_or_else(String::new, |Reduction { group, sum }| format!("{group}:{sum}"))
    }

    /// The groups found, if a reduction ran, in byte order of keys.
    fn found_groups(&self) -> Option<Vec<ReductionGroup>> {
        if !self.reduced.load(Ordering::Relaxed) {
            return None;
        }
        let stage =
            self.stages.iter().find(|stage| !matches!(stage, Stage::Load | Stage::Compact | Stage::ReadBack))?;
        let mut groups = match stage {
            Stage::Reduce(_) => self.groups.lock().unwrap_or_else(PoisonError::into_inner).clone()?,
            _ => self.tally.lock().unwrap_or_else(PoisonError::into_inner).clone().groups(),
        };
        groups.sort_unstable();
        Some(groups)
    }
}

impl Trial for BulkTrial<'_> {
    fn phases(&self) -> Vec<Phase> {
        let documents = self.input.documents.len() as u64;
        let batches = documents.div_ceil(self.batch as u64);
        let phase = |stage: &Stage<'_>| match stage {
            Stage::Load => {
                let operations = if self.puts == Puts::Single { documents } else { batches };
                Phase::timed("load", Some(operations)).carrying(documents)
            }
            Stage::Compact => Phase::untimed("compact", Some(1)),
            Stage::Reduce(_) => Phase::untimed("reduce", Some(1)).carrying(documents),
            Stage::ReduceByScan(_) | Stage::ReduceByGet(_) => Phase::untimed("reduce", None).carrying(documents),
            Stage::ReadBack => Phase::read_back(None).carrying(documents),
        };
        self.stages.iter().map(phase).collect()
    }

    fn worker(&self, phase: usize, slots: Range<Slot>) -> Box<dyn Worker + '_> {
        match self.stages[phase] {
            Stage::Load => Box::new(Load::new(self, slots)),
            Stage::ReduceByScan(reduction) => Box::new(Scan::new(self, reduction, slots)),
            Stage::ReduceByGet(reduction) => Box::new(Gets::new(self, reduction, slots)),
            // What is asked of the store as a whole needs no worker.
            Stage::ReadBack | Stage::Compact | Stage::Reduce(_) => Box::new(ReadBack::new(self, slots)),
        }
    }

    fn whole(&self, phase: usize, store: &dyn Store, patience: Duration) -> Option<Result<(), StoreError>> {
        match self.stages[phase] {
            // Another share asks the store.
            Stage::Compact | Stage::Reduce(_) if !self.share.is_first() => Some(Ok(())),
            Stage::Compact => {
                Some(needed(store.maintenance().compaction, "compaction").and_then(|it| it.compact(patience)))
            }
            Stage::Reduce(reduction) => {
                let found = needed(store.reduces(), "reduction").and_then(|it| it.reduce(reduction, patience));
                Some(found.map(|groups| {
                    *self.groups.lock().unwrap_or_else(PoisonError::into_inner) = Some(groups);
                }))
            }
            _ => None,
        }
    }

    fn again(&self) -> Option<usize> {
        self.otherwise.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.stages.iter().position(|stage| matches!(stage, Stage::ReadBack))
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        if self.capabilities.keeps == Keeps::Nothing {
            return (Answer::default(), Vec::new());
        }
        let otherwise = self.otherwise.lock().unwrap_or_else(PoisonError::into_inner);
        let documents = self.input.documents.len();
        let digest =
            if otherwise.is_empty() { self.input.digest().to_owned() } else { self.input.digest_but(&otherwise) };
        let mut facts: BTreeMap<String, serde_json::Value> = BTreeMap::from([
            ("documents".into(), documents.into()),
            ("documents_valid".into(), (documents - otherwise.len()).into()),
        ]);
        let more = std::mem::take(&mut *self.more.lock().unwrap_or_else(PoisonError::into_inner));
        let mut reasons = more.into_reasons();
        if let Some(groups) = self.found_groups() {
            let (count, sum) = groups
                .iter()
                .fold((0, 0i64), |(count, sum), group| (count + group.count, sum.saturating_add(group.sum)));
            facts.insert("groups".into(), groups.len().into());
            facts.insert("count".into(), count.into());
            facts.insert("sum".into(), sum.into());
            facts.insert("sha256_groups".into(), digest_of(&groups).into());
            facts.insert("reduction".into(), self.reduction().into());
            facts.insert("largest_groups".into(), largest(&groups));
            reasons.extend(wrong_group(&groups, &self.input.groups, self.written.failed()));
        }
        (Answer { digest, facts }, reasons)
    }

    fn account(&self) -> Option<WriteAccount> {
        (self.capabilities.keeps == Keeps::Everything).then(|| self.written.account())
    }

    /// Which puts failed is known after the load.
    fn tell(&self, phase: usize) -> Result<SharePart, JobError> {
        if phase == 1 { SharePart::of(&self.written.tell()) } else { Ok(SharePart::default()) }
    }

    fn hear(&self, _: usize, told: SharePart) -> Result<(), JobError> {
        if told.is_empty() {
            return Ok(());
        }
        let told: NotWritten = told.found()?;
        let part = documents_of_part(&self.capabilities) as u64;
        let reader = |number: u64| ((number / part) % u64::from(self.slots)) as Slot;
        self.written.hear(told, |number| self.own.contains(&reader(number)));
        Ok(())
    }

    fn part(&self) -> Result<SharePart, JobError> {
        SharePart::of(&BulkPart {
            tally: self.tally.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            groups: self.groups.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            otherwise: self.otherwise.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            more: self.more.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            written: self.written.sums(),
            reduced: self.reduced.load(Ordering::Relaxed),
        })
    }

    fn join(&self, part: SharePart) -> Result<(), JobError> {
        let BulkPart { tally, groups, otherwise, more, written, reduced } = part.found()?;
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).merge(tally);
        if groups.is_some() {
            *self.groups.lock().unwrap_or_else(PoisonError::into_inner) = groups;
        }
        self.otherwise.lock().unwrap_or_else(PoisonError::into_inner).extend(otherwise);
        self.more.lock().unwrap_or_else(PoisonError::into_inner).merge(more);
        self.written.join(written);
        self.reduced.fetch_and(reduced, Ordering::Relaxed);
        Ok(())
    }

    fn largest_reply_bytes(&self) -> Option<u64> {
        let row = self.input.largest + self.input.longest_id + ROW_ROOM_BYTES;
        let rows = MANY.max(PAGE as usize);
        // Of a batch written, a server may answer each document.
        Some((rows * row).max(self.batch * (self.input.longest_id + ROW_ROOM_BYTES)) as u64)
    }

    fn judges_unfinished(&self) -> bool {
        true
    }

    fn keys_left(&self) -> Option<u64> {
        self.written.are_all_acknowledged().then_some(self.input.documents.len() as u64)
    }

    fn key(&self, index: u64, out: &mut Vec<u8>) -> bool {
        if index >= self.input.documents.len() as u64 {
            return false;
        }
        out.extend_from_slice(self.input.documents.id(index as usize));
        true
    }

    fn logical_bytes(&self) -> u64 {
        self.input.documents.document_bytes() + self.input.documents.id_bytes()
    }
}

/// Whether the groups are as they must be but for at most this many documents.
fn may_lack(found: &[ReductionGroup], expected: &[ReductionGroup], failed: u64) -> bool {
    let count = |groups: &[ReductionGroup], key: &str| -> u64 {
        groups.iter().filter(|group| group.key == key).map(|group| group.count).sum()
    };
    let lacking: Option<u64> =
        expected.iter().map(|group| group.count.checked_sub(count(found, &group.key))).sum::<Option<u64>>();
    let known = found.iter().all(|group| count(expected, &group.key) > 0);
    // Where nothing lacks, the sums are exact, too.
    known && lacking.is_some_and(|lacking| lacking <= failed && (lacking > 0 || found == expected))
}

/// The groups of most documents, those of most first, to be looked at: key, documents, sum.
fn largest(groups: &[ReductionGroup]) -> serde_json::Value {
    let mut largest: Vec<&ReductionGroup> = groups.iter().collect();
    largest.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.key.cmp(&other.key)));
    largest.truncate(MOST_GROUPS);
    largest.iter().map(|it| serde_json::json!({"group": it.key, "documents": it.count, "sum": it.sum})).collect()
}

/// Digest of the lines `key \t count \t sum`.
fn digest_of(groups: &[ReductionGroup]) -> String {
    let mut digest = LineDigest::default();
    for group in groups {
        digest.line(&[group.key.as_bytes(), group.count.to_string().as_bytes(), group.sum.to_string().as_bytes()]);
    }
    digest.finish().trim_start_matches("sha256:").to_owned()
}

/// The groups that are not what they must be; of documents whose put failed any may be missing in them.
fn wrong_group(found: &[ReductionGroup], expected: &[ReductionGroup], failed: u64) -> Option<Reason> {
    if failed > 0 && may_lack(found, expected, failed) {
        return None;
    }
    let shown = |group: &ReductionGroup| {
        let documents = study::whole(group.count);
        format!("group {}: {documents} documents, sum {}", group.key, group.sum)
    };
    let wrong: Vec<&ReductionGroup> = found.iter().filter(|group| expected.binary_search(group).is_err()).collect();
    let lacking: Vec<&ReductionGroup> = expected.iter().filter(|group| found.binary_search(group).is_err()).collect();
    let example = match (wrong.first(), lacking.first()) {
        (None, None) => return None,
        (Some(wrong), Some(lacking)) => format!("the reduction has {}; must be {}", shown(wrong), shown(lacking)),
        (Some(wrong), None) => format!("the reduction has {}, which no document is in", shown(wrong)),
        (None, Some(lacking)) => format!("the reduction lacks {}", shown(lacking)),
    };
    Some(Reason { kind: ReasonKind::WrongAnswer, count: wrong.len().max(lacking.len()) as u64, example })
}
