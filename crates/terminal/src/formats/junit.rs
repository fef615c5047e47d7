//! JUnit XML, in the dialect Jenkins reads (junit-10.xsd), which GitLab, GitHub actions and others take too.

use std::fmt::Write;
use study::{Status, Study};
use words::{meaning, remedy};

/// Writes one cell per test case: void is a failure, as is a need that is not shown to be met; not run is skipped; the time is the median of its trials.
pub fn study_junit(study: &Study) -> String {
    let names = analysis::CellNames::of(study);
    let cases = study.cells.iter().map(|cell| {
        let said = |reason: &study::Reason| {
            let example = if reason.example.is_empty() { String::new() } else { format!(": {}", reason.example) };
            format!("{}{example} ({})", meaning(reason), remedy(cell, reason))
        };
        let reasons: Vec<String> = cell.verdict.reasons.iter().map(said).collect();
        let kinds: Vec<String> = cell.verdict.reasons.iter().map(|reason| reason.kind.name()).collect();
        TestCase {
            class: format!("kvtrial.{}", cell.job),
            name: names.of_cell(cell),
            time_s: cell.makespan_s.map(|makespan| makespan.value),
            result: match cell.verdict.status {
                Status::Void => TestResult::Failed { kind: kinds.join(" "), message: reasons.join("; ") },
                Status::NotRun if reasons.is_empty() => TestResult::Skipped("not run".into()),
                Status::NotRun => TestResult::Skipped(format!("not run: {}", reasons.join("; "))),
                Status::Valid | Status::Degraded => match findings::needs::unmet(cell) {
                    Some(message) => TestResult::Failed { kind: "need".into(), message },
                    None => TestResult::Passed,
                },
            },
            output: format!("{} {}", cell.verdict.status.name(), reasons.join("; ")).trim_end().to_owned(),
        }
    });
    Suite {
        name: "kvtrial run".into(),
        timestamp: study.started_at.clone(),
        properties: vec![("command".into(), study.command.join(" ")), ("seed".into(), study.seed.to_string())],
        cases: cases.collect(),
    }
    .to_xml()
}

/// A suite of test cases.
pub(crate) struct Suite {
    pub name: String,
    /// RFC 3339, or empty.
    pub timestamp: String,
    pub properties: Vec<(String, String)>,
    pub cases: Vec<TestCase>,
}

/// One test case.
pub(crate) struct TestCase {
    pub class: String,
    pub name: String,
    pub time_s: Option<f64>,
    pub result: TestResult,
    pub output: String,
}

/// The end of a test case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TestResult {
    Passed,
    Failed { kind: String, message: String },
    Error { kind: String, message: String },
    Skipped(String),
}

impl Suite {
    pub(crate) fn to_xml(&self) -> String {
        let count = |which: fn(&TestResult) -> bool| self.cases.iter().filter(|case| which(&case.result)).count();
        let counts = format!(
            "tests=\"{}\" failures=\"{}\" errors=\"{}\"",
            self.cases.len(),
            count(|result| matches!(result, TestResult::Failed { .. })),
            count(|result| matches!(result, TestResult::Error { .. })),
        );
        let skipped = count(|result| matches!(result, TestResult::Skipped(_)));
        // From 0: the sum of nothing is -0, which the schema does not take.
        let time = self.cases.iter().filter_map(|case| case.time_s).fold(0.0, |sum, time_s| sum + time_s);
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let _ = writeln!(xml, "<testsuites name=\"kvtrial\" {counts} time=\"{time:.6}\">");
        let _ = write!(
            xml,
            "  <testsuite name=\"{}\" {counts} skipped=\"{skipped}\" time=\"{time:.6}\"",
            escaped(&self.name)
        );
        if !self.timestamp.is_empty() {
            // The schema's dates have no zone.
            let _ = write!(xml, " timestamp=\"{}\"", escaped(self.timestamp.trim_end_matches('Z')));
        }
        xml.push_str(">\n    <properties>\n");
        for (name, value) in &self.properties {
            let _ = writeln!(xml, "      <property name=\"{}\" value=\"{}\"/>", escaped(name), escaped(value));
        }
        xml.push_str("    </properties>\n");
        self.cases.iter().for_each(|case| case.write(&mut xml));
        xml.push_str("  </testsuite>\n</testsuites>\n");
        xml
    }
}

impl TestCase {
    fn write(&self, xml: &mut String) {
        let time = self.time_s.map_or(String::new(), |time_s| format!(" time=\"{time_s:.6}\""));
        let _ = writeln!(
            xml,
            "    <testcase classname=\"{}\" name=\"{}\"{time}>",
            escaped(&self.class),
            escaped(&self.name)
        );
        let mut fault = |tag: &str, kind: &str, message: &str| {
            let (kind, message) = (escaped(kind), escaped(message));
            let _ = writeln!(xml, "      <{tag} type=\"{kind}\" message=\"{message}\">{message}</{tag}>");
        };
        match &self.result {
            TestResult::Passed => {}
            TestResult::Failed { kind, message } => fault("failure", kind, message),
            TestResult::Error { kind, message } => fault("error", kind, message),
            TestResult::Skipped(message) => {
                let _ = writeln!(xml, "      <skipped message=\"{}\"/>", escaped(message));
            }
        }
        if !self.output.is_empty() {
            let _ = writeln!(xml, "      <system-out>{}</system-out>", escaped(&self.output));
        }
        xml.push_str("    </testcase>\n");
    }
}

/// Text for elements and attributes. Characters XML 1.0 cannot hold become `?`.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in study::visible(text).chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' => {
                let _ = write!(out, "&#{};", u32::from(letter));
            }
            '\u{fffe}' | '\u{ffff}' => out.push('?'),
            other => out.push(other),
        }
    }
    out
}
