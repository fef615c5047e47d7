//! Turns the evidence of a trial into a verdict.

use crate::trust::{Circumstances, doubts};
use crate::worker::phases::READ_AGAIN;
use engine::{End, Outcome};
use std::time::Duration;
use study::{Answer, PhaseRecord, Reason, ReasonKind, Verdict, WriteAccount};

/// What a fault may do to an operation: no answer, or a refusal such as "no quorum". A wrong answer stays what it is.
const COST: [ReasonKind; 5] = [
    ReasonKind::ConnectionLost,
    ReasonKind::NotConnected,
    ReasonKind::Unknown,
    ReasonKind::Deadline,
    ReasonKind::Refused,
];

/// Open loop: the rate sent may be below that asked for by this share, or the last send late by this much.
const SHORTFALL_LIMIT: f64 = 0.01;
const LATE_LIMIT: Duration = Duration::from_millis(1);

/// The evidence a trial is judged by.
pub(crate) struct Evidence<'a> {
    pub(crate) outcomes: &'a [(String, Outcome)],
    /// The same phases, as they are recorded.
    pub(crate) phases: &'a [PhaseRecord],
    pub(crate) answer: &'a Answer,
    pub(crate) answer_reasons: Vec<Reason>,
    pub(crate) known_digest: Option<String>,
    /// The private server ended before it was to, or the worker gave no sign of life.
    pub(crate) broken_off: Option<Reason>,
    /// Phases that were over before the first fault that was asked for; `None`: there was none.
    pub(crate) faulted_from: Option<usize>,
    /// Operations failed before that fault, which so is not to blame.
    pub(crate) failed_before_fault: bool,
    /// Operations failed, in any phase.
    pub(crate) any_failed: bool,
    /// Every phase was completed.
    pub(crate) complete: bool,
    /// What became of the writes, where it is known.
    pub(crate) account: Option<WriteAccount>,
    pub(crate) not_sent: u64,
    pub(crate) circumstances: Circumstances<'a>,
}

/// Returns the verdict on one trial, with every reason.
pub(crate) fn verdict(mut evidence: Evidence<'_>) -> Verdict {
    let reason = |kind, count, example: String| Reason { kind, count, example };
    let mut verdict = Verdict::of([]);
    evidence.broken_off.take().into_iter().for_each(|found| verdict.add(found));
    for (at, (phase, outcome)) in evidence.outcomes.iter().enumerate() {
        let faulted = evidence.faulted_from.is_some_and(|from| at >= from);
        let timed = evidence.phases.get(at).is_some_and(|phase| phase.timed);
        let mut explained = false;
        for mut found in outcome.offences.clone().into_reasons() {
            if faulted && COST.contains(&found.kind) {
                match timed {
                    true if !evidence.failed_before_fault => continue, // the cost of the fault, which is counted elsewhere
                    true => {}
                    false if evidence.was_read_later(at) => continue,
                    false => found.kind = ReasonKind::FailedInFault,
                }
            }
            if phase != "run" {
                found.example = format!("{} (while: {phase})", found.example);
            }
            verdict.add(found);
            explained = true;
        }
        if outcome.end == End::Unanswered && !explained {
            verdict.add(reason(ReasonKind::Deadline, 1, format!("the store stopped answering (while: {phase})")));
        }
    }
    std::mem::take(&mut evidence.answer_reasons).into_iter().for_each(|found| verdict.add(found));
    // Jobs find it key by key, as missing or stale; after a fault it is said as what it is.
    if let Some(WriteAccount { lost: lost @ 1.., .. }) = evidence.account.filter(|_| evidence.faulted_from.is_some())
        && verdict.reasons.iter().all(|reason| reason.kind != ReasonKind::LostUpdates)
    {
        let example = "acknowledged, and not there when it was read after the fault";
        verdict.add(reason(ReasonKind::LostUpdates, lost, example.into()));
    }
    // What failed is not in the answer, so it is held against no other.
    let is_whole = evidence.faulted_from.is_none() || !evidence.any_failed;
    if let Some(known) = evidence.known_digest.take().filter(|_| is_whole)
        && known != evidence.answer.digest
        && !evidence.answer.digest.is_empty()
        && verdict.is_ranked()
    // otherwise the reasons found already say why it is wrong
    {
        let example = format!("the answer is {}, not {known}", evidence.answer.digest);
        verdict.add(reason(ReasonKind::WrongAnswer, 1, example));
    }
    if evidence.not_sent > 0 {
        let example = match evidence.outcomes.iter().any(|(_, outcome)| outcome.end == End::Unanswered) {
            true => {
                "what was due was never sent: the store gave no answer for longer than --deadline, and the trial ended \
                there; read its log, or raise --deadline"
            }
            false => {
                "what was due was never sent, though after the end there was one more --deadline for them; use more \
                --pipeline or --clients, or a lower --rate"
            }
        };
        verdict.add(reason(ReasonKind::NotSent, evidence.not_sent, example.into()));
    }
    verdict_on_rate(&evidence).into_iter().for_each(|found| verdict.add(found));
    if evidence.faulted_from.is_some() && !evidence.complete && verdict.is_ranked() {
        let example = "the store gave no answer for longer than --deadline, and the trial ended there";
        verdict.add(reason(ReasonKind::Deadline, 1, example.into()));
    }
    if evidence.complete && verdict.is_ranked() && evidence.asked_while_timed() == 0 {
        let example = "not one operation was sent in a timed phase";
        verdict.add(reason(ReasonKind::NothingMeasured, 1, example.into()));
    }
    doubts(&evidence.circumstances).into_iter().for_each(|doubt| verdict.add(doubt));
    verdict
}

/// The first phase whose rate was not offered, where everything was sent at all.
fn verdict_on_rate(evidence: &Evidence<'_>) -> Option<Reason> {
    if evidence.not_sent > 0 {
        return None;
    }
    let (phase, offered) = evidence.outcomes.iter().find_map(|(phase, outcome)| {
        let offered = outcome.offered.filter(|_| outcome.end == End::Completed)?;
        (offered.shortfall() > SHORTFALL_LIMIT && offered.late > LATE_LIMIT).then_some((phase, offered))
    })?;
    let within = if phase == "run" { String::new() } else { format!(" (while: {phase})") };
    Some(Reason {
        kind: ReasonKind::RateNotOffered,
        count: 1,
        example: format!(
            "{:.1} per second were asked for and {:.1} were sent: the last left {:.1} ms after it was due{within}",
            offered.asked_per_s,
            offered.per_s(),
            offered.late.as_secs_f64() * 1e3
        ),
    })
}

impl Evidence<'_> {
    /// Operations of timed phases.
    fn asked_while_timed(&self) -> u64 {
        let timed = self.outcomes.iter().zip(self.phases).filter(|(_, record)| record.timed);
        timed.map(|((_, outcome), _)| outcome.counts.operations).sum()
    }

    /// Whether everything that was asked in this phase was asked again over new connections, and answered.
    fn was_read_later(&self, at: usize) -> bool {
        let later = self.outcomes.iter().skip(at + 1).find(|(phase, _)| phase == READ_AGAIN);
        later.is_some_and(|(_, outcome)| {
            outcome.end == End::Completed && COST.iter().all(|kind| !outcome.offences.has(*kind))
        })
    }
}
