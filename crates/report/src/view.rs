//! What a report is about: one study, or several overlaid.

use crate::headline::headlines;
use findings::{FigureTable, Finding, Grouped, STUDY, View, ranking};
use std::borrow::Cow;
use study::{Crash, CrashCase, RateSearch, Study};

/// A study and what it is called where there are several.
#[derive(Clone, Debug)]
pub struct Named<'a> {
    /// Short name, e.g. that of its directory. Not shown when there is one study only.
    pub label: String,
    /// The study, with summaries.
    pub study: &'a Study,
}

/// A report, ready to be drawn.
#[derive(Debug)]
pub struct Report<'a> {
    pub(crate) named: Vec<Named<'a>>,
    /// All cells, of several studies with the name of each.
    pub(crate) study: Cow<'a, Study>,
    /// What it shows, subject by subject.
    pub(crate) findings: Vec<Finding>,
    /// What they say first.
    pub(crate) headlines: Vec<String>,
    /// The table of all cells.
    pub(crate) standings: FigureTable,
    /// What a comparison of the studies found, a sentence each.
    pub(crate) compared: Vec<String>,
}

/// Cells from which a report is large: its page and its pictures are made with that in mind.
const LARGE: usize = 100;

impl<'a> Report<'a> {
    /// Returns whether it has more cells than a reader looks at one by one.
    pub(crate) fn is_large(&self) -> bool {
        self.study.cells.len() > LARGE
    }

    /// Makes a report on these studies: on one alone, or on several overlaid.
    pub fn new(named: Vec<Named<'a>>) -> Report<'a> {
        let study = match named.as_slice() {
            [one] => Cow::Borrowed(one.study),
            several => Cow::Owned(overlay(several)),
        };
        let grouped = Grouped::all(&study);
        let mut findings = findings::all(&View::of(&study, &grouped));
        let headlines = headlines(&study, named.len(), &mut findings);
        let standings = ranking::table(&study, &grouped);
        Report { named, findings, headlines, standings, study, compared: Vec::new() }
    }

    /// Makes the same with what a comparison of its studies found, a sentence each, before everything else.
    pub fn with_comparison(self, compared: Vec<String>) -> Report<'a> {
        Report { compared, ..self }
    }
}

/// Returns one study with the cells of all, each named after its own study.
fn overlay(named: &[Named<'_>]) -> Study {
    let mut all = named.first().map(|first| Study { cells: Vec::new(), ..shallow(first.study) }).unwrap_or_default();
    for Named { label, study } in named {
        for cell in &study.cells {
            let mut cell = cell.clone();
            cell.more.insert(STUDY.into(), label.as_str().into());
            all.cells.push(cell);
        }
        let named =
            |search: &RateSearch| RateSearch { store: format!("{} · {label}", search.store), ..search.clone() };
        all.rate_search.extend(study.rate_search.iter().map(named));
        if let Some(crash) = &study.crash {
            let known = all.crash.get_or_insert_with(|| Crash { cases: Vec::new(), ..crash.clone() });
            known.cases.extend(
                crash
                    .cases
                    .iter()
                    .map(|case| CrashCase { store: format!("{} · {label}", case.store), ..case.clone() }),
            );
        }
    }
    all
}

/// The study without its cells.
fn shallow(study: &Study) -> Study {
    Study {
        schema: study.schema,
        kvtrial: study.kvtrial.clone(),
        command: study.command.clone(),
        seed: study.seed,
        started_at: study.started_at.clone(),
        repeats: study.repeats,
        warmups: study.warmups,
        varied: study.varied.clone(),
        input: study.input.clone(),
        host: study.host.clone(),
        ..Study::default()
    }
}
