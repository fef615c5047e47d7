//! What two studies of `kvtrial choose` decide, against each other.

use super::operand::Operand;
use crate::failure::CommandFailure;
use analysis::{Comparison, DECISION_GATE, DecisionShift, Unlike};

/// Whether a decision may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// It may: that is only told.
    Free,
    /// It may not (`--fail-if decision`).
    Guarded,
}

impl Guard {
    /// Finds the guard among the conditions of `--fail-if`, and returns the others.
    pub fn of(conditions: &[String]) -> (Guard, Vec<&str>) {
        let all = conditions.iter().map(String::as_str);
        let (own, others): (Vec<&str>, Vec<&str>) = all.partition(|text| text.trim() == DECISION_GATE);
        (if own.is_empty() { Guard::Free } else { Guard::Guarded }, others)
    }

    /// Refuses to guard a single study.
    pub fn refuse_one(self) -> Result<(), CommandFailure> {
        match self {
            Guard::Free => Ok(()),
            Guard::Guarded => Err(refused("one study decides once: name two, or --baseline NAME and one")),
        }
    }

    /// Adds to a comparison where needs differ and what became of decisions. Returns why the guard cannot judge them, where it is so.
    pub fn decide(
        self,
        comparison: &mut Comparison,
        a: &Operand,
        b: &Operand,
        unlike: Unlike,
    ) -> Result<Option<String>, CommandFailure> {
        let is_whole = a.selector.is_none() && b.selector.is_none();
        if self == Guard::Guarded {
            if !is_whole {
                return Err(refused("a decision is about all stores of a study: name the studies, not cells of them"));
            }
            if let Some(other) = [a, b].into_iter().find(|it| it.study.choice.is_none()) {
                let path = &other.source.path;
                return Err(refused(&format!("{path} decides nothing: name two studies of kvtrial choose")));
            }
        }
        if !is_whole {
            return Ok(None);
        }
        comparison.unlike_needs = analysis::unlike_needs(&a.study, &b.study);
        let [of_a, of_b] = [a, b].map(|it| (it.source.name.as_str(), &it.study));
        let (pairs, alone) = analysis::compare_decisions(of_a, of_b, unlike);
        comparison.decisions = pairs;
        comparison.alone.splice(0..0, alone);
        if self == Guard::Free {
            return Ok(None);
        }
        comparison.judgements.extend(analysis::judge_decisions(&comparison.decisions));
        Ok(undecided(comparison))
    }
}

/// Why nothing can be said of a decision.
fn undecided(comparison: &Comparison) -> Option<String> {
    let is_unlike = comparison.decisions.iter().any(|pair| pair.shift == DecisionShift::Unlike);
    let why = match (comparison.unlike_needs.is_some(), is_unlike, comparison.decisions.is_empty()) {
        (true, ..) => "the needs differ: choose by the same in both",
        (_, true, _) => "the two are not alike: measure both alike, or add --anyway",
        (.., true) => "they decide on no class and level of durability in common: choose among the same stores",
        _ => return None,
    };
    Some(refused(why).message)
}

fn refused(why: &str) -> CommandFailure {
    CommandFailure::usage(format!("--fail-if '{DECISION_GATE}': {why}"))
}
