//! A trial that several workers carry out in shares: what they did and found, as if one had done all of it.

use crate::message::{Finish, PhaseDone};
use crate::worker::holding::{self, HeldKeys};
use crate::worker::phases::stalls_of_series;
use jobkit::{Job, JobError, SharePart, Trial};
use serde::{Deserialize, Serialize};
use store::Keeps;
use study::{Answer, CurvePoint, Reason, Stall};

/// The findings of a share of a trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ShareFound {
    /// How far its phases came.
    pub(crate) done: PhasesDone,
    /// What the trial found.
    pub(crate) part: SharePart,
    /// What the store said it holds, and how many commands the server has carried out; only the first share asks.
    pub(crate) held: Option<HeldKeys>,
    pub(crate) commands: Option<u64>,
}

/// What a share of a trial tells the others before each phase, and before everything is read again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShareReport {
    /// Whether its phases so far were completed. Where those of one were not, none does more work.
    pub(crate) complete: bool,
    /// What its trial tells.
    pub(crate) part: SharePart,
}

/// How far the phases of a trial came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PhasesDone {
    /// All were completed.
    pub(crate) complete: bool,
    /// What they left was read to the end, though one before was not completed.
    pub(crate) read: bool,
    /// Why nothing was read again over new connections, where a fault is to blame.
    pub(crate) unread: Option<Reason>,
}

impl PhasesDone {
    /// One could not be carried out, or was not to be.
    pub(crate) const BROKEN: PhasesDone = PhasesDone { complete: false, read: false, unread: None };
}

impl PhaseDone {
    /// Returns what all shares did in a phase, in any order; `None`: there are none.
    pub(crate) fn of_shares(shares: Vec<PhaseDone>) -> Option<PhaseDone> {
        let of_several = shares.len() > 1;
        let mut all = shares.into_iter().reduce(PhaseDone::and)?;
        if of_several && !all.outcome.growth.is_empty() {
            all.grow();
        }
        Some(all)
    }

    fn and(mut self, other: PhaseDone) -> PhaseDone {
        self.outcome.merge(other.outcome);
        // Each makes what it wrote safe; the last is the one the phase waits for.
        self.flush = self.flush.max(other.flush);
        if self.curve.is_empty() {
            self.curve = other.curve;
        }
        self.stalls.extend(other.stalls);
        self.process_cpu_s += other.process_cpu_s;
        self
    }

    /// Makes one curve and one list of stalls of what all threads saw. Memory, disk and causes are those that were seen by a worker.
    fn grow(&mut self) {
        let (looks, explained) = (std::mem::take(&mut self.curve), std::mem::take(&mut self.stalls));
        self.curve = self.outcome.curve();
        self.stalls = self.outcome.stalls().unwrap_or_else(|| stalls_of_series(&self.outcome.series(), &self.curve));
        self.curve.iter_mut().for_each(|point| look(point, &looks));
        self.stalls.iter_mut().for_each(|stall| explain(stall, &explained));
        self.outcome.growth.clear(); // the curve says it in less
    }
}

/// Adds memory and disk, as a worker saw them next.
fn look(point: &mut CurvePoint, looks: &[CurvePoint]) {
    let next = looks.partition_point(|look| look.at_s < point.at_s).min(looks.len().saturating_sub(1));
    let Some(look) = looks.get(next) else { return };
    (point.rss_bytes, point.disk_bytes) = (look.rss_bytes, look.disk_bytes);
    (point.written_bytes, point.read_bytes) = (look.written_bytes, look.read_bytes);
}

/// Adds the cause that a worker found for a stall at the same time.
fn explain(stall: &mut Stall, explained: &[Stall]) {
    let overlaps = |it: &&Stall| it.at_s <= stall.at_s + stall.duration_s && stall.at_s <= it.at_s + it.duration_s;
    let of_one = explained.iter().filter(overlaps).max_by_key(|it| it.cause.is_some());
    if let Some(it) = of_one {
        (stall.cause, stall.evidence) = (it.cause.clone(), it.evidence.clone());
    }
}

impl PhasesDone {
    fn and(self, other: PhasesDone) -> PhasesDone {
        PhasesDone {
            complete: self.complete && other.complete,
            read: self.read && other.read,
            unread: self.unread.or(other.unread),
        }
    }
}

/// Returns the result of a trial whose phases came so far. What the store says it holds is not in it, nor what a process knows of itself.
pub(crate) fn finish(job: &dyn Job, trial: &dyn Trial, keeps: Keeps, done: PhasesDone) -> Finish {
    let PhasesDone { complete, read, unread } = done;
    // An answer of half a job would only repeat what the reasons say already; what it has lost is wrong all the same.
    let (answer, mut answer_reasons) = match (complete, read) {
        (true, _) => trial.answer(),
        (false, true) => (Answer::default(), trial.answer().1),
        (false, false) => Default::default(),
    };
    answer_reasons.extend(unread);
    Finish {
        complete,
        answer,
        answer_reasons,
        known_digest: (keeps == Keeps::Everything && complete).then(|| job.known_digest()).flatten(),
        logical_bytes: trial.logical_bytes(),
        keys_left: trial.keys_left().filter(|_| complete),
        account: if complete || read { trial.account() } else { None },
        oldest_lost: trial.oldest_lost(),
        ..Finish::default()
    }
}

/// Returns the result of a trial of which all shares are finished. `trial` is the coordinator's own, made from the same input for the same
/// store, of which it has driven nothing.
///
/// # Errors
/// When a share did not find what this job finds.
pub(crate) fn finish_of_shares(
    job: &dyn Job,
    trial: &dyn Trial,
    keeps: Keeps,
    shares: Vec<Finish>,
) -> Result<Finish, JobError> {
    let (mut resent, mut peak_rss_bytes, mut all_done, mut all_held, mut all_commands) = (0, 0, None, None, None);
    for share in shares {
        resent += share.resent;
        peak_rss_bytes = peak_rss_bytes.max(share.peak_rss_bytes);
        let found =
            share.share.ok_or_else(|| JobError("a worker has found an answer instead of a part of it".into()))?;
        let ShareFound { done, part, held, commands } = found;
        trial.join(part)?;
        all_held = all_held.or(held);
        all_commands = all_commands.or(commands);
        all_done = all_done.into_iter().chain([done]).reduce(PhasesDone::and);
    }
    let done = all_done.ok_or_else(|| JobError("no worker has finished".into()))?;
    let is_complete = done.complete && done.unread.is_none();
    let mut finish = finish(job, trial, keeps, done);
    // What the store holds only the trial can judge that knows of all clients.
    let held = all_held.filter(|_| is_complete);
    finish.answer_reasons.extend(held.iter().flat_map(|held| holding::reasons(held, trial)));
    Ok(Finish { resent, peak_rss_bytes, commands: all_commands, ..finish })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
