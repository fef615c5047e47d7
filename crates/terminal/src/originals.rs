//! The numbers of the original a study repeats, beside its own.

use crate::layout::{Colour, Column, Row, Side, Style, Table, paragraph};
use study::{Cell, Original, OriginalMeasure, PresetRecord, Study};
use words::units;

const COLUMNS: [Column<'static>; 6] = [
    Column { title: "SYSTEM THEN", side: Side::Left, gap: 4 },
    Column { title: "THEN", side: Side::Right, gap: 2 },
    Column { title: "x", side: Side::Right, gap: 2 },
    Column { title: "STORE HERE", side: Side::Left, gap: 2 },
    Column { title: "HERE", side: Side::Right, gap: 2 },
    Column { title: "x", side: Side::Right, gap: 2 },
];

/// Returns the section on the original; empty for a study without a preset.
pub(crate) fn section(study: &Study, colour: Colour) -> String {
    let Some(preset) = &study.preset else { return String::new() };
    let line = |text: &str, style| paragraph(text, 1, 3, style, colour);
    let mut text = line(&format!("As in {}: {}", preset.name, preset.about), Style::Bold);
    if let Some(scaled) = scaled(preset) {
        text += &line(&scaled, Style::Warning);
    }
    if !preset.overridden.is_empty() {
        text += &line(&format!("Not the preset's: {}.", preset.overridden.join(", ")), Style::Warning);
    }
    let figures: Vec<(&Original, Option<f64>)> =
        preset.originals.iter().map(|original| (original, here(study, original))).collect();
    if let Some(&(first, first_here)) = figures.first() {
        let rows: Vec<Row> = figures.iter().map(|(original, here)| row(original, *here, first, first_here)).collect();
        let table = Table::fit(&COLUMNS, 0, rows.iter());
        text += &table.titles(colour);
        rows.iter().for_each(|row| text += &table.row(row, colour));
        if figures.len() > 1 {
            text += &line(&format!("x: time as a multiple of that of {}, then and here.", first.system), Style::Dim);
        }
    }
    for difference in &preset.differences {
        text += &line(difference, Style::Dim);
    }
    text + &line(&format!("Source: {}", preset.source), Style::Dim)
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

fn row(original: &Original, here: Option<f64>, first: &Original, first_here: Option<f64>) -> Row {
    let dash = || "-".to_owned();
    let times = |value: f64, first: f64| match original.measure {
        OriginalMeasure::MakespanS => units::ratio(value / first),
        OriginalMeasure::OpsPerS { .. } | OriginalMeasure::InputPerS { .. } => units::ratio(first / value),
    };
    let ours = match (here, first_here) {
        (Some(here), Some(first)) => times(here, first),
        _ => dash(),
    };
    vec![
        (original.system.clone(), Style::Plain),
        (figure(original, original.value), Style::Plain),
        (times(original.value, first.value), Style::Dim),
        (original.store.clone().unwrap_or_else(dash), Style::Plain),
        (here.map_or_else(dash, |here| figure(original, here)), Style::Plain),
        (ours, Style::Dim),
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
    use super::section;
    use crate::layout::{Colour, WIDTH, width};
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

    #[test]
    fn then_and_here_stand_side_by_side_with_their_own_multiples() {
        let text = section(&study(), Colour::Never);
        let line = |start: &str| text.lines().find(|line| line.trim_start().starts_with(start)).unwrap_or_default();
        let words = |start: &str| line(start).split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
        assert_eq!(words("Null"), "Null 5.00 s x1.00 null 500 ms x1.00");
        assert_eq!(words("RAM"), "RAM 21.3 s x4.26 ram 1.00 s x2.00");
        assert!(words("dict").contains("2.70k messages/s") && words("dict").contains("1.00k messages/s"), "{text}");
        assert!(
            text.contains("Scaled by 0.1: 1,000 profiles instead of 10,000.") && text.contains("--repeats"),
            "{text}"
        );
        assert!(text.lines().all(|line| width(line) <= WIDTH), "{text}");
    }

    #[test]
    fn what_is_void_or_has_no_counterpart_here_has_no_figure() {
        let text = section(&study(), Colour::Never);
        for start in ["Redis TCP", "a system"] {
            let line = text.lines().find(|line| line.trim_start().starts_with(start)).unwrap_or_default();
            assert!(
                line.trim_end().ends_with("-  -") || line.split_whitespace().rev().take(2).all(|word| word == "-"),
                "{line}"
            );
        }
        assert_eq!(section(&Study::default(), Colour::Never), "");
    }
}
