//! The documents, and all that is derived from them and shared by all trials.

use super::fields::found;
use data::digest::{LineDigest, hex_of_bytes};
use data::docs::{DocSet, Scalar, fields};
use jobkit::JobError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use store::{Reduction, ReductionGroup};

/// The documents and what must come out of them.
pub struct Input {
    pub(super) documents: DocSet,
    /// Numbers of the documents in byte order of their ids.
    pub(super) order: Vec<u32>,
    pub(super) longest_id: usize,
    pub(super) largest: usize,
    /// What the reduction must come to, in byte order of keys; empty when none is asked for.
    pub(super) groups: Vec<ReductionGroup>,
    digest: OnceLock<String>,
}

impl Input {
    /// Derives everything but the digest; checks the fields of the reduction in every document.
    pub fn new(documents: DocSet, reduction: Option<&Reduction>) -> Result<Input, JobError> {
        let groups = reduction.map_or(Ok(Vec::new()), |reduction| expected(&documents, reduction))?;
        let longest = |bytes: &dyn Fn(usize) -> usize| (0..documents.len()).max_by_key(|&at| bytes(at)).unwrap_or(0);
        Ok(Input {
            order: documents.in_id_order(),
            longest_id: longest(&|at| documents.id(at).len()),
            largest: longest(&|at| documents.document(at).len()),
            groups,
            digest: OnceLock::new(),
            documents,
        })
    }

    /// Returns the digest of the lines `id \t sha256 of the document`, in byte order of ids.
    pub fn digest(&self) -> &str {
        self.digest.get_or_init(|| self.digest_but(&BTreeMap::new()))
    }

    /// Returns the same, where some documents (by number) were found otherwise: another content, or missing.
    pub fn digest_but(&self, otherwise: &BTreeMap<u32, Option<[u8; 64]>>) -> String {
        let mut digest = LineDigest::default();
        for &at in &self.order {
            let content = match otherwise.get(&at) {
                None => hex_of_bytes(self.documents.document(at as usize)),
                Some(Some(other)) => *other,
                Some(None) => continue,
            };
            digest.line(&[self.documents.id(at as usize), &content]);
        }
        digest.finish()
    }

    /// Returns the document with this id.
    pub fn find(&self, id: &[u8]) -> Option<u32> {
        let place = self.order.binary_search_by(|&at| self.documents.id(at as usize).cmp(id)).ok()?;
        Some(self.order[place])
    }
}

/// Counts and sums by group while documents come in.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tally(BTreeMap<String, (u64, i64)>);

impl Tally {
    /// Adds a document; false when it lacks the fields.
    pub fn add(&mut self, document: &[u8], reduction: &Reduction) -> bool {
        let found = fields(document, [reduction.group.names(), reduction.sum.names()]);
        let Ok([Scalar::Text(group), Scalar::Integer(number)]) = found else { return false };
        match self.0.get_mut(&*group) {
            Some((count, sum)) => (*count, *sum) = (*count + 1, sum.saturating_add(number)),
            None => {
                self.0.insert(group.into_owned(), (1, number));
            }
        }
        true
    }

    /// Adds another's.
    pub fn merge(&mut self, other: Tally) {
        for (group, (count, sum)) in other.0 {
            let mine = self.0.entry(group).or_default();
            *mine = (mine.0 + count, mine.1.saturating_add(sum));
        }
    }

    /// Returns the groups in byte order of keys.
    pub fn groups(self) -> Vec<ReductionGroup> {
        self.0.into_iter().map(|(key, (count, sum))| ReductionGroup { key, count, sum }).collect()
    }
}

/// What the reduction must come to. Every document must have both fields, and no store may run out of 64 bits while it adds, in any order.
fn expected(documents: &DocSet, reduction: &Reduction) -> Result<Vec<ReductionGroup>, JobError> {
    let mut tally = Tally::default();
    let mut sums = [0i64; 2];
    for at in 0..documents.len() {
        let document = documents.document(at);
        if !tally.add(document, reduction) {
            return Err(refused(documents, at, reduction, &lacks(document, reduction)));
        }
        let Ok([Scalar::Integer(number)]) = fields(document, [reduction.sum.names()]) else { continue };
        let sum = &mut sums[usize::from(number < 0)];
        *sum = sum.checked_add(number).ok_or_else(|| {
            refused(
                documents,
                at,
                reduction,
                "with this document the sum is beyond 64 bits, which not every store can add",
            )
        })?;
    }
    Ok(tally.groups())
}

#[cold]
fn refused(documents: &DocSet, at: usize, reduction: &Reduction, problem: &str) -> JobError {
    let end = if problem.ends_with(['.', '?']) { "" } else { "." };
    JobError(format!(
        "{}, line {}: {problem}{end} Correct the document, or use other fields than reduce={}:{}, or reduce=none",
        documents.source_name(),
        documents.line(at),
        reduction.group,
        reduction.sum
    ))
}

/// What is wrong with the fields of a document.
#[cold]
fn lacks(document: &[u8], reduction: &Reduction) -> String {
    match fields(document, [reduction.group.names(), reduction.sum.names()]) {
        Ok([Scalar::Text(_), Scalar::Missing]) => found(document, reduction.sum.names()),
        Ok([Scalar::Text(_), _]) => {
            let found = found(document, reduction.sum.names());
            format!(
                "{found}, and must be an integer of 64 bits (stores add fractions in binary, each in an order of its own, so the sums would \
                 differ; store cents instead of francs)"
            )
        }
        Ok([Scalar::Missing, _]) => found(document, reduction.group.names()),
        _ => format!("{}, and must be a string", found(document, reduction.group.names())),
    }
}
