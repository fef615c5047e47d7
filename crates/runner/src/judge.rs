//! From what was seen to a verdict.

use engine::{Arrivals, End, Outcome, Settings};
use study::{Answer, Latencies, Noise, Reason, ReasonKind, Verdict};

/// Share of the processors above which the hypervisor or other processes are said to have disturbed a trial.
const STEAL_LIMIT: f64 = 0.03;
const OTHER_LOAD_LIMIT: f64 = 0.15;
/// Open loop: how late the client itself may send one operation in a hundred before its schedule is doubted.
const LAG_LIMIT_NS: u64 = 10_000_000;

/// What a trial is judged by.
pub(crate) struct Evidence<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) outcomes: &'a [(&'static str, Outcome)],
    pub(crate) answer: &'a Answer,
    pub(crate) answer_reasons: Vec<Reason>,
    pub(crate) known_digest: Option<String>,
    /// How the private server ended, when it ended before it was told to.
    pub(crate) server_ending: Option<String>,
    pub(crate) noise: Noise,
    pub(crate) latencies: &'a Latencies,
    pub(crate) not_sent: u64,
}

/// The verdict on one trial, with every reason.
pub(crate) fn verdict(mut evidence: Evidence<'_>) -> Verdict {
    let reason = |kind, count, example: String| Reason { kind, count, example };
    let mut verdict = Verdict::default();
    if let Some(ending) = evidence.server_ending.take() {
        verdict.add(reason(ReasonKind::ServerDied, 1, ending));
    }
    for (phase, outcome) in evidence.outcomes {
        for mut found in outcome.offences.clone().into_reasons() {
            if *phase != "run" {
                found.example = format!("{} (while: {phase})", found.example);
            }
            verdict.add(found);
        }
        if outcome.end == End::Unanswered && outcome.offences.total() == 0 {
            verdict.add(reason(ReasonKind::Deadline, 1, format!("the store stopped answering (while: {phase})")));
        }
    }
    std::mem::take(&mut evidence.answer_reasons).into_iter().for_each(|found| verdict.add(found));
    if let Some(known) = evidence.known_digest.take()
        && known != evidence.answer.digest
        && !evidence.answer.digest.is_empty()
        && verdict.is_ranked()
    // else the reasons found already say why it is wrong
    {
        let example = format!("the answer is {}, not {known}", evidence.answer.digest);
        verdict.add(reason(ReasonKind::WrongAnswer, 1, example));
    }
    if evidence.not_sent > 0 {
        let example = "operations that were due could not be sent; use more --pipeline or --clients, or a lower --rate";
        verdict.add(reason(ReasonKind::NotSent, evidence.not_sent, example.into()));
    }
    if evidence.settings.arrivals != Arrivals::Closed && evidence.latencies.client_lag.p99 > LAG_LIMIT_NS {
        let lag_ms = evidence.latencies.client_lag.p99 as f64 / 1e6;
        let example = format!(
            "1 % of operations were sent {lag_ms:.1} ms late or later although slots were free; give the client a processor of its own"
        );
        verdict.add(reason(ReasonKind::ScheduleLag, 1, example));
    }
    if evidence.noise.steal > STEAL_LIMIT {
        let example = format!("the hypervisor took {:.0} % of the processors", 100.0 * evidence.noise.steal);
        verdict.add(reason(ReasonKind::Steal, 1, example));
    }
    if evidence.noise.other_load > OTHER_LOAD_LIMIT {
        let example = format!("other processes used {:.0} % of the processors", 100.0 * evidence.noise.other_load);
        verdict.add(reason(ReasonKind::OtherLoad, 1, example));
    }
    verdict
}
