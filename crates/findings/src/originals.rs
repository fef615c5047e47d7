//! The numbers of the original a study repeats, beside its own.

use crate::block::{Block, FigureColumn, FigureTable, FigureText, Sentence, Tone};
use crate::finding::{Arrangement, Finding, FindingPart};
use crate::view::View;
use study::{Cell, Original, OriginalMeasure, PresetRecord, Study};
use words::units;

pub(crate) fn find(view: &View<'_>) -> Option<Finding> {
    let parts = FindingPart::whole(blocks(view.study, view.study.preset.as_ref()?));
    let intro = String::new();
    Some(Finding { id: "original", title: "Then and here", intro, charts: Arrangement::Below, parts })
}

fn blocks(study: &Study, preset: &PresetRecord) -> Vec<Block> {
    let title = format!("As in {}: {}", preset.name, preset.about);
    let head = match preset.originals.is_empty() {
        true => Block::Sentence(Sentence::toned(title, Tone::Strong)),
        false => Block::Table(table(title, study, &preset.originals)),
    };
    let overridden =
        (!preset.overridden.is_empty()).then(|| format!("Not the preset's: {}.", preset.overridden.join(", ")));
    let warnings = scaled(preset).into_iter().chain(overridden).map(Block::warning);
    let faint = preset.differences.iter().cloned().chain([format!("Source: {}", preset.source)]).map(Block::faint);
    std::iter::once(head).chain(warnings).chain(faint).collect()
}

fn table(title: String, study: &Study, originals: &[Original]) -> FigureTable {
    let figures: Vec<(&Original, Option<f64>)> = originals.iter().map(|it| (it, here(study, it))).collect();
    let times = format!("time as a multiple of that of {}, then and here", originals[0].system);
    FigureTable {
        title,
        columns: vec![
            FigureColumn::words("SYSTEM THEN").headed("System then"),
            FigureColumn::figures("THEN").headed("Then"),
            FigureColumn::figures("x").meaning(if figures.len() > 1 { times } else { String::new() }),
            FigureColumn::words("STORE HERE").headed("Store here"),
            FigureColumn::figures("HERE").headed("Here"),
            FigureColumn::figures("x"),
        ],
        rows: figures.iter().map(|(original, here)| row(original, *here, figures[0])).collect(),
        ..FigureTable::default()
    }
}

fn scaled(preset: &PresetRecord) -> Option<String> {
    let changes: Vec<String> = preset
        .scaled
        .iter()
        .map(|scaled| {
            format!("{} {} instead of {}", units::whole(scaled.here), scaled.what, units::whole(scaled.original))
        })
        .collect();
    (!changes.is_empty()).then(|| format!("Scaled by {}: {}.", preset.scale, changes.join(", ")))
}

fn row(original: &Original, here: Option<f64>, (first, first_here): (&Original, Option<f64>)) -> Vec<FigureText> {
    let dash = || "-".to_owned();
    let times = |value: f64, first: f64| match original.measure {
        OriginalMeasure::MakespanS => units::ratio(value / first),
        OriginalMeasure::OpsPerS { .. } | OriginalMeasure::InputPerS { .. } => units::ratio(first / value),
    };
    vec![
        original.system.clone().into(),
        figure(original, original.value).into(),
        FigureText::toned(times(original.value, first.value), Tone::Faint),
        original.store.clone().unwrap_or_else(dash).into(),
        here.map_or_else(dash, |here| figure(original, here)).into(),
        FigureText::toned(here.zip(first_here).map_or_else(dash, |(here, first)| times(here, first)), Tone::Faint),
    ]
}

fn figure(original: &Original, value: f64) -> String {
    match &original.measure {
        OriginalMeasure::MakespanS => units::duration(value),
        OriginalMeasure::OpsPerS { .. } => format!("{}/s", units::count(value)),
        OriginalMeasure::InputPerS { what } => format!("{} {what}/s", units::count(value)),
    }
}

/// The study's own figure for one of the original's: a median over trials; `None` where there is none, or it is not to be believed.
fn here(study: &Study, original: &Original) -> Option<f64> {
    let store = original.store.as_deref()?;
    let belongs = |cell: &&Cell| {
        cell.store == store && original.params.iter().all(|(key, value)| cell.params.get(key) == Some(value))
    };
    let cell = study.cells.iter().find(belongs).filter(|cell| cell.verdict.is_ranked())?;
    match &original.measure {
        OriginalMeasure::MakespanS => cell.makespan_s.map(|makespan| makespan.value),
        OriginalMeasure::OpsPerS { phase } if phase.is_empty() => cell.ops_per_s.map(|rate| rate.value),
        OriginalMeasure::OpsPerS { phase } => {
            let rate = |trial: &study::TrialRecord| {
                let phase = trial.phases.iter().find(|found| found.name == *phase)?;
                (phase.elapsed_s > 0.0).then(|| phase.operations as f64 / phase.elapsed_s)
            };
            stats::median(&cell.counted().filter_map(rate).collect::<Vec<f64>>())
        }
        OriginalMeasure::InputPerS { what } => {
            let things = study.input.get(what)?.as_f64()?;
            cell.makespan_s.map(|makespan| things / makespan.value)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::blocks;
    use crate::block::Block;
    use study::{Cell, Original, OriginalMeasure, PresetRecord, Quantity, Reason, ReasonKind, Scaled, Study, Verdict};

    fn study() -> Study {
        let original = |system: &str, store: Option<&str>, value, measure| Original {
            system: system.into(),
            store: store.map(str::to_owned),
            value,
            measure,
            ..Original::default()
        };
        let makespan = |value| Some(Quantity { value, low: value, high: value, level: 0.95, n: 3 });
        let cell = |store: &str, value| Cell {
            store: store.into(),
            makespan_s: makespan(value),
            verdict: Verdict::of([]),
            ..Cell::default()
        };
        let void = Verdict::of([Reason { kind: ReasonKind::WrongValue, count: 1, example: "k".into() }]);
        Study {
            input: [("messages".to_owned(), 1000.into())].into(),
            cells: vec![cell("null", 0.5), cell("ram", 1.0), Cell { verdict: void, ..cell("redis", 2.0) }],
            preset: Some(PresetRecord {
                name: "2009".into(),
                about: "a job on nine stores".into(),
                source: "somebody, somewhere".into(),
                scale: 0.1,
                scaled: vec![Scaled { what: "profiles".into(), original: 10_000, here: 1000 }],
                overridden: vec!["--repeats".into()],
                originals: vec![
                    original("Null", Some("null"), 5.0, OriginalMeasure::MakespanS),
                    original("RAM", Some("ram"), 21.3, OriginalMeasure::MakespanS),
                    original("Redis TCP socket", Some("redis"), 42.6, OriginalMeasure::MakespanS),
                    original("a system of its time", None, 100.0, OriginalMeasure::MakespanS),
                    original("dict", Some("ram"), 2700.0, OriginalMeasure::InputPerS { what: "messages".into() }),
                ],
                differences: vec!["The client is compiled.".into()],
            }),
            ..Study::default()
        }
    }

    /// The rows of the table, and the sentences.
    fn drawn() -> (Vec<String>, Vec<String>) {
        let study = study();
        let (mut rows, mut said) = (Vec::new(), Vec::new());
        for block in study.preset.iter().flat_map(|preset| blocks(&study, preset)) {
            match block {
                Block::Table(it) => rows.extend(
                    it.rows.iter().map(|row| row.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join(" ")),
                ),
                Block::Sentence(it) => said.push(it.text),
                other => panic!("{other:?}"),
            }
        }
        (rows, said)
    }

    #[test]
    fn then_and_here_stand_side_by_side_with_their_own_multiples() {
        let (rows, said) = drawn();
        assert_eq!(rows[..2], ["Null 5.00 s x1.00 null 500 ms x1.00", "RAM 21.3 s x4.26 ram 1.00 s x2.00"]);
        assert!(rows[4].contains("2.70k messages/s") && rows[4].contains("1.00k messages/s"), "{rows:?}");
        assert_eq!(said[0], "Scaled by 0.1: 1,000 profiles instead of 10,000.");
        assert!(said[1].contains("--repeats") && said[3] == "Source: somebody, somewhere", "{said:?}");
    }

    #[test]
    fn what_is_void_or_has_no_counterpart_here_has_no_figure() {
        let (rows, _) = drawn();
        assert!(rows[2].starts_with("Redis TCP") && rows[2].ends_with(" - -"), "{rows:?}");
        assert!(rows[3].starts_with("a system") && rows[3].ends_with(" - - -"), "{rows:?}");
    }
}
