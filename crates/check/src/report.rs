//! What came out of a check: one result a case, as text of at most 80 columns or as JSON.

use serde::{Deserialize, Serialize};
use std::fmt;
use study::{Reason, Verdict};

/// Columns of the text form.
const WIDTH: usize = 80;

/// The result of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum CaseStatus {
    /// Every answer was right.
    Passed,
    /// An answer was wrong; the first one.
    Failed {
        /// The fault: at which key, what was expected, and what came.
        reason: Reason,
    },
    /// The case was not tried.
    Skipped {
        /// Why not.
        why: String,
    },
}

/// A case and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// The claim of the case, as a sentence.
    pub name: String,
    /// The result of the case.
    #[serde(flatten)]
    pub status: CaseStatus,
    /// Operations sent for it.
    pub operations: u64,
    /// The time the case took, seconds.
    pub elapsed_s: f64,
}

/// All cases of a check, in the order they were tried.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckReport {
    /// The cases.
    pub cases: Vec<CaseResult>,
    /// Operations the store does not have itself, and which therefore were not checked.
    pub not_native: Vec<String>,
    /// Operations sent.
    pub operations: u64,
    /// The beginning of all keys of the check.
    pub key_prefix: String,
}

/// The finding of a whole check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckFinding {
    /// Some cases were tried and all of them passed.
    Correct,
    /// A case failed.
    Wrong,
    /// Nothing could be tried.
    NothingChecked,
}

impl CheckReport {
    /// Ends a report whose check did not: this came of the case that was under way, and the others were not tried.
    pub fn cut_short(&mut self, reason: Reason) {
        self.operations = self.cases.iter().map(|case| case.operations).sum();
        let mut status = CaseStatus::Failed { reason };
        for name in crate::names().into_iter().skip(self.cases.len()) {
            let rest = CaseStatus::Skipped { why: "the check ended with the process the store was opened in".into() };
            let status = std::mem::replace(&mut status, rest);
            self.cases.push(CaseResult { name, status, operations: 0, elapsed_s: 0.0 });
        }
    }

    /// Returns the finding of all cases together.
    pub fn finding(&self) -> CheckFinding {
        match (self.count(is_failed), self.count(is_passed)) {
            (0, 0) => CheckFinding::NothingChecked,
            (0, _) => CheckFinding::Correct,
            _ => CheckFinding::Wrong,
        }
    }

    /// Returns the verdict: the reasons of all failed cases, one entry per kind.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self.failures().map(|(_, reason)| reason.clone()))
    }

    /// Returns the failed cases with their reasons.
    pub fn failures(&self) -> impl Iterator<Item = (&str, &Reason)> {
        self.cases.iter().filter_map(|case| match &case.status {
            CaseStatus::Failed { reason } => Some((case.name.as_str(), reason)),
            _ => None,
        })
    }

    /// Cases of which `matches` holds.
    pub fn count(&self, matches: fn(&CaseStatus) -> bool) -> usize {
        self.cases.iter().filter(|case| matches(&case.status)).count()
    }
}

/// Returns whether a case passed.
pub fn is_passed(status: &CaseStatus) -> bool {
    matches!(status, CaseStatus::Passed)
}

/// Returns whether a case failed.
pub fn is_failed(status: &CaseStatus) -> bool {
    matches!(status, CaseStatus::Failed { .. })
}

/// Returns whether a case was skipped.
pub fn is_skipped(status: &CaseStatus) -> bool {
    matches!(status, CaseStatus::Skipped { .. })
}

impl fmt::Display for CaseResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, detail) = match &self.status {
            CaseStatus::Passed => ("passed", None),
            CaseStatus::Failed { reason } => ("FAILED", Some(format!("{}: {}", reason.kind.name(), reason.example))),
            CaseStatus::Skipped { why } => ("skipped", Some(why.clone())),
        };
        wrap(f, &format!("{word:<9}"), &self.name)?;
        detail.map_or(Ok(()), |detail| wrap(f, "           ", &detail))
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for case in &self.cases {
            write!(f, "{case}")?;
        }
        self.summary(f)
    }
}

impl CheckReport {
    /// Writes the lines after the last case.
    pub fn summary(&self, f: &mut impl fmt::Write) -> fmt::Result {
        if !self.not_native.is_empty() {
            wrap(f, "", &format!("Not native here, so not checked: {}.", self.not_native.join(", ")))?;
        }
        let words = match self.finding() {
            CheckFinding::Correct => "correct",
            CheckFinding::Wrong => "NOT CORRECT",
            CheckFinding::NothingChecked => "nothing could be checked",
        };
        let (passed, failed, skipped) = (self.count(is_passed), self.count(is_failed), self.count(is_skipped));
        let counts = format!(
            "{passed} passed, {failed} failed, {skipped} skipped; {} operations",
            study::whole(self.operations)
        );
        wrap(f, "", &format!("{words}: {counts}"))
    }
}

/// Writes words behind `head`, broken at spaces into lines of at most [`WIDTH`] columns, the following ones indented alike.
fn wrap(f: &mut impl fmt::Write, head: &str, words: &str) -> fmt::Result {
    let room = WIDTH - head.len();
    let mut line = String::new();
    let mut lead = head.to_owned();
    let indent = " ".repeat(head.len());
    for word in words.split(' ') {
        let mut word: Vec<char> = word.chars().collect();
        if !line.is_empty() && line.chars().count() + 1 + word.len() > room {
            writeln!(f, "{lead}{line}")?;
            lead.clone_from(&indent);
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        while word.len() > room {
            let rest = word.split_off(room);
            writeln!(f, "{lead}{}", word.iter().collect::<String>())?;
            lead.clone_from(&indent);
            word = rest;
        }
        line.extend(word);
    }
    writeln!(f, "{}", format!("{lead}{line}").trim_end())
}

#[cfg(test)]
mod tests {
    use super::{CaseResult, CaseStatus, CheckFinding, CheckReport};
    use study::{Reason, ReasonKind};

    fn case(name: &str, status: CaseStatus) -> CaseResult {
        CaseResult { name: name.into(), status, operations: 3, elapsed_s: 0.25 }
    }

    fn failing() -> CheckReport {
        let example = format!("key a: expected 3 bytes, got {}", "x".repeat(200));
        let reason = Reason { kind: ReasonKind::WrongValue, count: 1, example };
        CheckReport {
            cases: vec![
                case("a value comes back whole", CaseStatus::Passed),
                case(&"a long sentence about what must hold ".repeat(4), CaseStatus::Failed { reason }),
                case("a scan is sorted", CaseStatus::Skipped { why: "not native: scan".into() }),
            ],
            not_native: vec!["scan".into(), "append".into()],
            operations: 12,
            key_prefix: "kvtrial-check:".into(),
        }
    }

    #[test]
    fn the_text_keeps_to_80_columns_and_says_everything() {
        let text = failing().to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for part in [
            "passed   a value",
            "FAILED   a long",
            "wrong_value: key a",
            "scan, append",
            "NOT CORRECT: 1 passed, 1 failed",
        ] {
            assert!(text.contains(part), "'{part}' is missing in\n{text}");
        }
        assert_eq!(text.matches('x').count(), 200 + 1, "{text}");
    }

    #[test]
    fn json_says_name_status_and_reason_and_is_read_back() {
        let report = failing();
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["cases"][1]["status"], "failed");
        assert_eq!(json["cases"][1]["reason"]["kind"], "wrong_value");
        assert_eq!(json["cases"][2]["why"], "not native: scan");
        assert_eq!(serde_json::from_value::<CheckReport>(json).unwrap(), report);
    }

    #[test]
    fn a_report_without_a_passed_case_finds_nothing() {
        let mut report = failing();
        assert_eq!(report.finding(), CheckFinding::Wrong);
        report.cases.remove(1);
        assert_eq!(report.finding(), CheckFinding::Correct);
        report.cases.remove(0);
        assert_eq!(report.finding(), CheckFinding::NothingChecked);
    }
}
