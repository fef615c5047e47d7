//! A sweep at a glance: a row for each store, a column for each value of a varied key.

use crate::figure::Figure;
use crate::layout::{Colour, Style, columns, paint, paragraph};
use analysis::{Better, MOST_RANKED, Shown, separate};
use std::collections::HashSet;
use study::{Cell, Measure, Quantity, Study, TrialOrder, Varied};
use words::units::whole;

/// Longest label of a row; longer ones are cut in their middle.
const LABEL: usize = 30;

/// Writes the varied key with the most values across, stores and the other keys down; one table of the figure cells are ranked by and one
/// of p99. At most 80 columns wide; more values go below. Empty when nothing was varied.
pub fn sweep_table(study: &Study, colour: Colour) -> String {
    let Some(across) = study.varied.iter().rev().max_by_key(|varied| varied.values.len()) else { return String::new() };
    let figures: &[Figure] = match study.cells.first().map(|cell| cell.measure) {
        Some(Measure::Rate) => &[Figure::Rate, Figure::P99],
        Some(Measure::Latency) => &[Figure::P99],
        Some(Measure::Makespan) | None => &[Figure::Time, Figure::P99],
    };
    let mut text = String::from("\n");
    let compared = |figure: &&Figure| study.cells.iter().any(|cell| !cell.baseline && figure.of(cell).is_some());
    for &figure in figures.iter().filter(compared) {
        text += &paragraph(&format!("{} by {}", figure.title(), across.key), 1, 3, Style::Bold, colour);
        text += &table(study, across, figure, colour);
        text.push('\n');
    }
    let (marks, style) = match trials_of(study) {
        Some(trials) if trials < stats::FEWEST_TRIALS => {
            let trials =
                if trials == 1 { "1 trial per cell is".into() } else { format!("{trials} trials per cell are") };
            let words = format!(
                "No cell is marked as the best: {trials} too few. --repeats {} or more can.",
                stats::FEWEST_TRIALS
            );
            (words, Style::Warning)
        }
        _ if across.values.len() > MOST_RANKED => (
            format!("No cell is marked as the best: of more than {MOST_RANKED} values none is proved."),
            Style::Warning,
        ),
        _ => (
            "* has the best median of its row; = cannot be separated from it by these trials; the rest is worse."
                .into(),
            Style::Dim,
        ),
    };
    text += &paragraph(&marks, 1, 3, style, colour);
    for note in notes(study) {
        text += &paragraph(&note, 1, 3, Style::Warning, colour);
    }
    text
}

/// The most trials any cell has.
fn trials_of(study: &Study) -> Option<usize> {
    study.cells.iter().filter(|cell| !cell.baseline).map(|cell| cell.counted().count()).max()
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
        notes.push(format!(
            "{} of {} combinations, drawn by seed {seed}.",
            whole(sampled.combinations),
            whole(sampled.of)
        ));
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
    let marks = Marks::of(&rows, figure);
    let drawn: Vec<Vec<String>> = rows.iter().map(|row| texts(row, figure, &marks)).collect();
    let widths: Vec<usize> = (0..across.values.len())
        .map(|at| drawn.iter().map(|row| row[at].chars().count()).chain([across.values[at].chars().count() + 1]).max())
        .map(|widest| widest.unwrap_or(0) + 2)
        .collect();
    let labels: Vec<String> = rows.iter().map(|row| shortened(&row.label)).collect();
    let label_width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    let mut from = 0;
    while from < widths.len() {
        let mut room = columns().saturating_sub(label_width + 3);
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

/// The cells that are worse than the best of their row, shown by the rule of every ranking over all pairs of all rows.
struct Marks(HashSet<*const Cell>);

impl Marks {
    fn of(rows: &[PivotRow<'_>], figure: Figure) -> Marks {
        let rows: Vec<Vec<&Cell>> = rows.iter().map(|row| best_first(row, figure)).collect();
        let all_pairs = |row: &Vec<&'_ Cell>| -> Vec<(usize, usize)> {
            // Of too many none is proved to be the best.
            let judged = if row.len() > MOST_RANKED { 0 } else { row.len() };
            (0..judged).flat_map(|a| (a + 1..judged).map(move |b| (a, b))).collect()
        };
        let pairs: Vec<(&Cell, &Cell)> =
            rows.iter().flat_map(|row| all_pairs(row).into_iter().map(|(a, b)| (row[a], row[b]))).collect();
        let worse = match figure.metric().better() {
            Better::Lower => Shown::Larger,
            Better::Higher => Shown::Smaller,
        };
        let best: HashSet<*const Cell> =
            rows.iter().filter_map(|row| row.first()).map(|cell| std::ptr::from_ref(*cell)).collect();
        let found = separate(&pairs, figure.metric());
        let behind = pairs
            .into_iter()
            .zip(found)
            .filter(|((a, _), found)| *found == worse && best.contains(&std::ptr::from_ref(*a)));
        Marks(behind.map(|((_, b), _)| std::ptr::from_ref(b)).collect())
    }

    fn is_behind(&self, cell: &Cell) -> bool {
        self.0.contains(&std::ptr::from_ref(cell))
    }
}

/// The cells of a row that have the figure, best first.
fn best_first<'a>(row: &PivotRow<'a>, figure: Figure) -> Vec<&'a Cell> {
    let mut cells: Vec<(f64, &Cell)> =
        row.cells.iter().flatten().filter_map(|cell| Some((known(cell, figure)?.value, *cell))).collect();
    cells.sort_by(|a, b| figure.better(a.0, b.0));
    cells.into_iter().map(|(_, cell)| cell).collect()
}

/// A cell's figure, where it may be believed.
fn known(cell: &Cell, figure: Figure) -> Option<Quantity> {
    figure.of(cell).filter(|_| cell.verdict.is_ranked())
}

fn texts(row: &PivotRow<'_>, figure: Figure, marks: &Marks) -> Vec<String> {
    let in_row: Vec<(&Cell, Quantity)> =
        row.cells.iter().flatten().filter_map(|cell| Some((*cell, known(cell, figure)?))).collect();
    let best = in_row.iter().min_by(|a, b| figure.better(a.1.value, b.1.value)).map(|(cell, _)| *cell);
    let can_be_marked = |cell: &Cell| cell.counted().count() >= stats::FEWEST_TRIALS;
    let marked =
        (2..=MOST_RANKED).contains(&in_row.len()) && in_row.iter().filter(|(cell, _)| can_be_marked(cell)).count() > 1;
    let text = |cell: &Option<&Cell>| {
        let Some(found) = *cell else { return "- ".into() };
        if !found.verdict.is_ranked() {
            return format!("{} ", found.verdict.status);
        }
        let Some(quantity) = known(found, figure) else { return "- ".to_owned() };
        let shown = figure.shown(quantity.value);
        let mark = match best {
            _ if !marked || marks.is_behind(found) => ' ',
            Some(best) if std::ptr::eq(best, found) => '*',
            _ => '=',
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
    use analysis::summarise;
    use std::collections::BTreeMap;
    use study::{Cell, Latencies, LatencySummary, Reason, ReasonKind, Study, TrialRecord, Varied, Verdict};

    fn cell(store: &str, varied: &[(&str, &str)], params: &[&str], time_s: f64) -> Cell {
        let varied: BTreeMap<String, String> = varied.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        let params = varied.iter().filter(|(key, _)| params.contains(&key.as_str()));
        let trial = |share: f64| TrialRecord {
            makespan_s: time_s * share,
            operations: 1_000,
            ops_per_s: 1_000.0 / (time_s * share),
            latency_ns: Latencies {
                response: LatencySummary { n: 1_000, p99: (time_s * share * 1e6) as u64, ..LatencySummary::default() },
                ..Latencies::default()
            },
            ..TrialRecord::default()
        };
        let mut cell = Cell {
            store: store.into(),
            params: params.map(|(k, v)| (k.clone(), v.clone())).collect(),
            varied,
            trials: [0.97, 1.0, 1.04].map(trial).into(),
            ..Cell::default()
        };
        summarise(&mut cell);
        cell
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
        let mut few = study;
        for cell in &mut few.cells {
            cell.trials.truncate(2);
            summarise(cell);
        }
        let text = sweep_table(&few, Colour::Never);
        assert!(
            !text.contains("s*") && !text.contains("s=") && text.contains("2 trials per cell are too few"),
            "{text}"
        );
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
