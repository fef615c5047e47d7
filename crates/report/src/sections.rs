//! Which charts a report has, and in which order.

use crate::chart::{Chart, Section, SectionPart, shorten};
use crate::charts::{
    budget, crashes, events, faults, growth, latency, ranking, rate, resources, sets, sweep, time, tune,
};
use crate::identity::Identities;
use crate::view::Grouped;
use std::collections::BTreeSet;
use study::{Class, Crash, CrashCase, Study};
use words::Batches;

/// Points of all curves over time together: what keeps the page of a large study small.
const MOST_POINTS: usize = 24_000;
/// Points of one curve, and the least that still show a stall.
const POINTS_OF_A_CURVE: std::ops::RangeInclusive<usize> = 24..=300;

/// The section of crashes: its table stands before its charts.
pub(crate) const CRASHES: &str = "crashes";

/// Returns all sections with something to show.
pub(crate) fn all(study: &Study, grouped: &[Grouped<'_>], identities: &Identities) -> Vec<Section> {
    let batches = Batches::of(study);
    let curves = study.cells.iter().filter(|cell| !cell.baseline).count().max(1);
    let points = (MOST_POINTS / curves).clamp(*POINTS_OF_A_CURVE.start(), *POINTS_OF_A_CURVE.end());
    // Cells of a search are steps to its finding, which the search's own chart shows; ranking one against the next says nothing.
    let step = |it: &&Grouped<'_>| {
        let rates = !study.rate_search.is_empty() && it.part.cells.iter().all(|cell| cell.params.contains_key("rate"));
        study.tune.is_some() || rates
    };
    let grouped: Vec<&Grouped<'_>> = grouped.iter().filter(|it| !step(it)).collect();
    let by_part = |charts: &dyn Fn(&Grouped<'_>) -> Vec<Chart>| -> Vec<SectionPart> {
        grouped
            .iter()
            .map(|it| SectionPart { label: it.part.label.clone(), words: Vec::new(), charts: charts(it) })
            .collect()
    };
    let whole = |charts: Vec<Chart>| vec![SectionPart { label: String::new(), words: Vec::new(), charts }];
    let mut sections = vec![
        Section {
            id: "faults",
            title: "Faults",
            intro: "What each store did when nodes were made to fail, all on one time axis.".into(),
            parts: grouped
                .iter()
                .map(|it| SectionPart {
                    label: it.part.label.clone(),
                    words: words::outages::lines(&it.part.cells).chain(words::faults::sentences(&it.part.cells)).collect(),
                    charts: faults::charts(&it.part.cells, &it.part.label, identities),
                })
                .collect(),
        },
        Section {
            id: "setting",
            title: "The best setting",
            intro: "A search by successive halving: all settings get a trial, the better half continues. The best is then compared with the default in \
                    trials of their own."
                .into(),
            parts: whole(tune::charts(study)),
        },
        Section { id: "rate", title: "Highest rate", intro: String::new(), parts: whole(rate::charts(study)) },
        Section {
            id: "sweep",
            title: "What varied",
            intro: "The same figures against the parameters this study varied. Trials of all cells ran in one balanced random order, so a drift \
                    of the machine does not look like an effect."
                .into(),
            parts: whole(if study.tune.is_some() { Vec::new() } else { sweep::charts(study, identities) }),
        },
        Section {
            id: "ranking",
            title: "Ranking",
            intro: "Stores are compared within one class and one durability level only: a library in the client's process and a server behind a \
                    socket do not do the same work, nor do stores that promise different things."
                .into(),
            parts: by_part(&|it| {
                // Baselines come last: they are what the others are compared with.
                let (baselines, stores): (Vec<_>, Vec<_>) = it.groups.iter().partition(|group| group.class == Some(Class::Baseline));
                stores.into_iter().chain(baselines).filter_map(|group| ranking::chart(group, &it.part.label, identities)).collect()
            }),
        },
        Section {
            id: "budget",
            title: "Cost budget",
            intro: "Where the time of an operation goes, by difference with the baselines. Generator: kvtrial and the job, with nothing kept. Client: \
                    work on kept values, as a map in memory needs it. Wire: codec, system calls and socket, to a minimal server. Store: \
                    the rest. If a baseline is missing, one bar stands for two layers, and says so."
                .into(),
            parts: grouped
                .iter()
                .map(|it| SectionPart {
                    label: it.part.label.clone(),
                    words: budget::words(&it.part.cells),
                    charts: budget::chart(&it.part.cells, &it.part.label, batches).into_iter().collect(),
                })
                .collect(),
        },
        Section {
            id: "sets",
            title: "Sets of ids",
            intro: "What exact counts cost, what estimates save, and how far they are off.".into(),
            parts: grouped
                .iter()
                .map(|it| SectionPart {
                    label: it.part.label.clone(),
                    words: words::sets::sentences(&it.part.cells).collect(),
                    charts: sets::charts(&it.part.cells, &it.part.label, identities),
                })
                .collect(),
        },
        Section {
            id: "pipeline",
            title: "Parsers, queues, summarizers",
            intro: "Whether the queue or the work is the limit. The pipeline runs before the store is used: its figures are medians over all stores.".into(),
            parts: vec![SectionPart {
                label: String::new(),
                words: match &grouped[..] {
                    [it] => words::events::sentences(&it.part.cells),
                    _ => Vec::new(),
                },
                charts: events::charts(grouped.iter().map(|it| &it.part)),
            }],
        },
        Section {
            id: "growth",
            title: "Growth",
            intro: "What a store does as it fills.".into(),
            parts: grouped
                .iter()
                .map(|it| SectionPart {
                    label: it.part.label.clone(),
                    words: words::growth::sentences(&it.part.cells).collect(),
                    charts: growth::charts(&it.part.cells, &it.part.label, identities, points),
                })
                .collect(),
        },
        Section {
            id: "latency",
            title: "Latency",
            intro: batches.map_or(String::new(), Batches::operation),
            parts: grouped
                .iter()
                .map(|it| SectionPart {
                    label: it.part.label.clone(),
                    words: words::failed::sentences(&it.part.cells).chain(words::head_of_line::sentences(&it.part.cells)).collect(),
                    charts: latency::chart(&it.part.cells, &it.part.label, identities).into_iter().collect(),
                })
                .collect(),
        },
        Section {
            id: "time",
            title: "Over time",
            intro: batches.map_or(String::new(), Batches::operation),
            parts: by_part(&|it| time::charts(&it.part.cells, batches, &it.part.label, identities, points)),
        },
        Section {
            id: "resources",
            title: "Resources",
            intro: batches.map_or("Medians over trials.".into(), |it| format!("Medians over trials. {}", it.operation())),
            parts: grouped
                .iter()
                .map(|it| SectionPart {
                    label: it.part.label.clone(),
                    words: words::nodes::sentences(&it.part.cells)
                        .chain(words::faults::sentences(&it.part.cells).filter(|_| !it.part.cells.iter().any(|cell| words::outages::was_done(cell))))
                        .chain(words::moves::sentences(&it.part.cells))
                        .chain(words::reduction::sentence(&it.part.cells))
                        .collect(),
                    charts: resources::charts(&it.part.cells, &it.part.label, identities, batches),
                })
                .collect(),
        },
    ];
    for section in &mut sections {
        section.parts.retain(|part| !part.charts.is_empty());
    }
    sections.retain(|section| !section.parts.is_empty());
    sections.splice(0..0, study.crash.as_ref().map(crash_section));
    let mut known = BTreeSet::new();
    let charts = sections.iter_mut().flat_map(|section| &mut section.parts).flat_map(|part| &mut part.charts);
    for (at, chart) in charts.enumerate() {
        shorten(&mut chart.option);
        if !known.insert(chart.id.clone()) {
            chart.id = format!("{}-{at}", chart.id);
            known.insert(chart.id.clone());
        }
    }
    sections
}

/// Makes the section on what stores still held after crashes. The section is there without charts, too: its table says why there are none.
fn crash_section(crash: &Crash) -> Section {
    let notes = |case: &CrashCase| {
        let name = case.name();
        words::crashes::notes(case).into_iter().map(move |note| format!("{name}: {note}"))
    };
    let words = crash.cases.iter().flat_map(notes).chain(words::crashes::ruled_out(crash)).collect();
    Section {
        id: CRASHES,
        title: "Crashes",
        intro: format!(
            "Clients wrote while everything was killed at a moment chosen by the seed; then the store was started on what was left, and every key \
             was read. {}",
            words::crashes::beyond(crash.means)
        ),
        parts: vec![SectionPart { label: String::new(), words, charts: crashes::charts(crash) }],
    }
}
