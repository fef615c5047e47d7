//! A sweep at a glance: a row for each store, a column for each value of a varied key.

use crate::figure::Figure;
use crate::layout::{Colour, Style, WIDTH, paint, paragraph};
use study::{Cell, Measure, Study, TrialOrder, Varied};

/// Longest label of a row; longer ones are cut in their middle.
const LABEL: usize = 30;

/// The varied key with the most values across, stores and the other keys down; one table of the figure cells are ranked by and
/// one of p99. At most 80 columns wide; more values go below. Empty when nothing was
/// varied.
pub fn sweep_table(study: &Study, colour: Colour) -> String {
    let Some(across) = study.varied.iter().rev().max_by_key(|varied| varied.values.len()) else { return String::new() };
    let figures: &[Figure] = match study.cells.first().map(|cell| cell.measure) {
        Some(Measure::Rate) => &[Figure::Rate, Figure::P99],
        Some(Measure::Latency) => &[Figure::P99],
        Some(Measure::Makespan) | None => &[Figure::Time, Figure::P99],
    };
    let mut text = String::from("\n");
    for &figure in figures {
        text += &paragraph(&format!("{} by {}", figure.title(), across.key), 1, 3, Style::Bold, colour);
        text += &table(study, across, figure, colour);
        text.push('\n');
    }
    text += &paragraph(
        "* is the best of its row; = is not told apart from it, as their intervals overlap.",
        1,
        3,
        Style::Dim,
        colour,
    );
    for note in notes(study) {
        text += &paragraph(&note, 1, 3, Style::Warning, colour);
    }
    text
}

/// What a reader must know of how the combinations were run.
fn notes(study: &Study) -> Vec<String> {
    let mut notes = Vec::new();
    if study.order == TrialOrder::Rising {
        notes.push(
            "Trials ran in rising order: whatever drifts looks like an effect of the parameter. Without --order rising the \
             order is random and balanced."
                .into(),
        );
    }
    if let Some(sampled) = study.sampled {
        let seed = study.seed;
        notes.push(format!("{} of {} combinations, drawn by seed {seed}.", sampled.combinations, sampled.of));
    }
    for varied in &study.varied {
        notes.extend(varied.not_taken.iter().map(|who| format!("{}: {who}.", varied.key)));
    }
    notes
}

struct PivotRow<'a> {
    label: String,
    /// By value of the key across.
    cells: Vec<Option<&'a Cell>>,
}

fn rows<'a>(study: &'a Study, across: &Varied) -> Vec<PivotRow<'a>> {
    let mut rows: Vec<PivotRow<'a>> = Vec::new();
    for cell in &study.cells {
        let label = label(study, across, cell);
        let at = match rows.iter().position(|row| row.label == label) {
            Some(at) => at,
            None => {
                rows.push(PivotRow { label, cells: vec![None; across.values.len()] });
                rows.len() - 1
            }
        };
        // A store that does not take the key has one cell, the same for every value.
        let own = cell.varied.get(&across.key);
        for (value, place) in across.values.iter().zip(&mut rows[at].cells) {
            if own == Some(value) {
                *place = Some(cell);
            }
        }
        if own.is_none() {
            rows[at].cells[0] = Some(cell);
        }
    }
    rows
}

/// The store and the other varied keys.
fn label(study: &Study, across: &Varied, cell: &Cell) -> String {
    let mut label = cell.store.clone();
    if let Some(value) = cell.varied.get(&across.key) {
        let name = across.key.split_once('.').map_or(across.key.as_str(), |(_, name)| name);
        label = label.replace(&format!(",{name}={value}"), "");
    }
    for other in study.varied.iter().filter(|other| other.key != across.key) {
        if let Some(value) = cell.varied.get(&other.key).filter(|value| cell.params.get(&other.key) == Some(value)) {
            label += &format!(" {}={value}", other.key);
        }
    }
    label
}

fn table(study: &Study, across: &Varied, figure: Figure, colour: Colour) -> String {
    let rows = rows(study, across);
    let drawn: Vec<Vec<String>> = rows.iter().map(|row| texts(row, figure)).collect();
    let widths: Vec<usize> = (0..across.values.len())
        .map(|at| drawn.iter().map(|row| row[at].chars().count()).chain([across.values[at].chars().count() + 1]).max())
        .map(|widest| widest.unwrap_or(0) + 2)
        .collect();
    let labels: Vec<String> = rows.iter().map(|row| shortened(&row.label)).collect();
    let label_width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    let mut from = 0;
    while from < widths.len() {
        let mut room = WIDTH.saturating_sub(label_width + 3);
        let fitting =
            widths[from..].iter().take_while(|width| room.checked_sub(**width).map(|left| room = left).is_some());
        let to = from + fitting.count().max(1);
        let mut line = |label: &str, texts: &[String], style| {
            let mut line = format!("   {label:label_width$}");
            for (text, width) in texts[from..to].iter().zip(&widths[from..to]) {
                line += &format!("{text:>width$}");
            }
            text += &paint(line.trim_end(), style, colour);
            text.push('\n');
        };
        // Marks stand behind figures, so titles leave room for one.
        let titles: Vec<String> = across.values.iter().map(|value| format!("{value} ")).collect();
        line("", &titles, Style::Dim);
        for (label, texts) in labels.iter().zip(&drawn) {
            line(label, texts, Style::Plain);
        }
        from = to;
    }
    text
}

fn texts(row: &PivotRow<'_>, figure: Figure) -> Vec<String> {
    let known = |cell: &Option<&Cell>| cell.filter(|cell| cell.verdict.is_ranked()).and_then(|cell| figure.of(cell));
    let best = row.cells.iter().filter_map(known).min_by(|a, b| figure.better(a.value, b.value));
    let several = row.cells.iter().filter_map(known).count() > 1;
    let text = |cell: &Option<&Cell>| {
        let Some(found) = cell else { return "- ".into() };
        if !found.verdict.is_ranked() {
            return format!("{} ", found.verdict.status);
        }
        let Some(quantity) = known(cell) else { return "- ".to_owned() };
        let shown = figure.shown(quantity.value);
        let mark = match best {
            Some(best) if several && best == quantity => '*',
            Some(best) if several && best.level > 0.0 && best.low <= quantity.high && quantity.low <= best.high => '=',
            _ => ' ',
        };
        format!("{shown}{mark}")
    };
    row.cells.iter().map(text).collect()
}

fn shortened(label: &str) -> String {
    let length = label.chars().count();
    if length <= LABEL {
        return label.into();
    }
    let (head, tail) = (LABEL / 2, LABEL - LABEL / 2 - 1);
    label.chars().take(head).chain(['…']).chain(label.chars().skip(length - tail)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{shortened, sweep_table};
    use crate::Colour;
    use std::collections::BTreeMap;
    use study::{Cell, Quantity, Reason, ReasonKind, Study, Varied, Verdict};

    fn cell(store: &str, varied: &[(&str, &str)], params: &[&str], time_s: f64) -> Cell {
        let varied: BTreeMap<String, String> = varied.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        let params = varied.iter().filter(|(key, _)| params.contains(&key.as_str()));
        let quantity = |value: f64| Some(Quantity { value, low: value * 0.95, high: value * 1.05, level: 0.75, n: 3 });
        Cell {
            store: store.into(),
            params: params.map(|(k, v)| (k.clone(), v.clone())).collect(),
            varied,
            makespan_s: quantity(time_s),
            p99_ns: quantity(time_s * 1e6),
            verdict: Verdict::of([]),
            ..Cell::default()
        }
    }

    fn varied(key: &str, values: &[&str]) -> Varied {
        Varied { key: key.into(), values: values.iter().map(|value| (*value).into()).collect(), not_taken: Vec::new() }
    }

    #[test]
    fn a_pivot_has_a_row_a_store_marks_the_best_and_shows_void_cells() {
        let at = |store: &str, clients: &str, time_s| cell(store, &[("clients", clients)], &["clients"], time_s);
        let mut void = at("redis", "4", 9.0);
        void.verdict = Verdict::of([Reason { kind: ReasonKind::Refused, count: 1, example: "k".into() }]);
        let cells = vec![
            at("lmdb", "1", 2.0),
            at("redis", "1", 4.0),
            at("lmdb", "4", 1.0),
            void,
            at("lmdb", "16", 1.05),
            at("redis", "16", 3.0),
        ];
        let study = Study { cells, varied: vec![varied("clients", &["1", "4", "16"])], ..Study::default() };
        let text = sweep_table(&study, Colour::Never);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], " TIME by clients");
        assert_eq!(lines[3].split_whitespace().collect::<Vec<_>>(), ["lmdb", "2.00", "s", "1.00", "s*", "1.05", "s="]);
        assert_eq!(lines[4].split_whitespace().collect::<Vec<_>>(), ["redis", "4.00", "s", "void", "3.00", "s*"]);
        assert!(text.contains("P99 by clients"), "{text}");
    }

    #[test]
    fn wide_pivots_are_folded_into_eighty_columns_and_store_options_are_columns_too() {
        let values: Vec<String> = (1..=30).map(|n| (n * 1000).to_string()).collect();
        let words: Vec<&str> = values.iter().map(String::as_str).collect();
        let cells =
            words.iter().map(|v| cell(&format!("sqlite,cache={v}"), &[("sqlite.cache", v)], &[], 1.0)).collect();
        let study = Study { cells, varied: vec![varied("sqlite.cache", &words)], ..Study::default() };
        let text = sweep_table(&study, Colour::Never);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("30000") && text.contains("   sqlite ") && !text.contains("cache=1000"), "{text}");
    }

    #[test]
    fn nothing_is_drawn_when_nothing_varies_and_long_names_are_cut() {
        assert_eq!(sweep_table(&Study::default(), Colour::Never), "");
        assert_eq!(shortened("postgres://bench:***@db.example.org/bench").chars().count(), 30);
    }
}
