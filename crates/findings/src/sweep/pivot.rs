//! A sweep at a glance: a row for each store, a column for each value of a varied key.

use super::{Behind, behind, without};
use crate::block::{Block, FigureColumn, FigureTable, FigureText, Sentence, Tone};
use crate::figures;
use analysis::{Better, MOST_RANKED, Metric};
use std::cmp::Ordering;
use study::{Cell, Quantity, Study, TrialOrder, Varied};
use words::units::whole;

/// Returns the varied key with the most values across, stores and the other keys down; one table of the figure cells are ranked by and
/// one of p99, and how to read them. Nothing where nothing was varied.
pub(super) fn blocks(study: &Study) -> Vec<Block> {
    let Some(across) = study.varied.iter().rev().max_by_key(|varied| varied.values.len()) else { return Vec::new() };
    let mut metrics = vec![study.cells.first().map_or(Metric::Makespan, Metric::ranking), Metric::P99];
    metrics.dedup();
    metrics.retain(|metric| study.cells.iter().any(|cell| !cell.baseline && metric.of_cell(cell).is_some()));
    let tables = metrics.into_iter().map(|metric| Block::Table(table(study, across, metric)));
    tables.chain([Block::Sentence(legend(study, across))]).chain(notes(study).into_iter().map(Block::warning)).collect()
}

/// What the marks mean, or why there are none.
fn legend(study: &Study, across: &Varied) -> Sentence {
    let none = |why: String| Sentence::toned(format!("No cell is marked as the best: {why}"), Tone::Warning);
    match trials_of(study) {
        Some(trials) if trials < stats::FEWEST_TRIALS => {
            let trials =
                if trials == 1 { "1 trial per cell is".into() } else { format!("{trials} trials per cell are") };
            none(format!("{trials} too few. --repeats {} or more can.", stats::FEWEST_TRIALS))
        }
        _ if across.values.len() > MOST_RANKED => none(format!("of more than {MOST_RANKED} values none is proved.")),
        _ => Sentence::toned(
            "* has the best median of its row; = cannot be separated from it by these trials; the rest is worse.",
            Tone::Faint,
        ),
    }
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
        label = without(&label, &across.key, value);
    }
    for other in study.varied.iter().filter(|other| other.key != across.key) {
        if let Some(value) = cell.varied.get(&other.key).filter(|value| cell.params.get(&other.key) == Some(value)) {
            label += &format!(" {}={value}", other.key);
        }
    }
    label
}

fn table(study: &Study, across: &Varied, metric: Metric) -> FigureTable {
    let rows = rows(study, across);
    let behind = behind(&rows.iter().map(|row| best_first(row, metric)).collect::<Vec<_>>(), metric);
    // Marks stand behind figures, so titles leave room for one.
    let value = |value: &String| FigureColumn::figures(format!("{value} ")).headed(value.clone());
    let text = |row: &PivotRow<'_>| {
        let texts = texts(row, metric, &behind).into_iter();
        [row.label.clone()].into_iter().chain(texts).map(FigureText::from).collect()
    };
    FigureTable {
        title: format!("{} by {}", figures::column(metric), across.key),
        columns: [FigureColumn::words("")].into_iter().chain(across.values.iter().map(value)).collect(),
        rows: rows.iter().map(text).collect(),
        ..FigureTable::default()
    }
}

/// The cells of a row that have the figure, best first.
fn best_first<'a>(row: &PivotRow<'a>, metric: Metric) -> Vec<&'a Cell> {
    let mut cells: Vec<(f64, &Cell)> =
        row.cells.iter().flatten().filter_map(|cell| Some((known(cell, metric)?.value, *cell))).collect();
    cells.sort_by(|a, b| better(metric, a.0, b.0));
    cells.into_iter().map(|(_, cell)| cell).collect()
}

/// The better one first.
fn better(metric: Metric, a: f64, b: f64) -> Ordering {
    match metric.better() {
        Better::Lower => a.total_cmp(&b),
        Better::Higher => b.total_cmp(&a),
    }
}

/// A cell's figure, where it may be believed.
fn known(cell: &Cell, metric: Metric) -> Option<Quantity> {
    metric.of_cell(cell).filter(|_| cell.verdict.is_ranked())
}

fn texts(row: &PivotRow<'_>, metric: Metric, behind: &Behind) -> Vec<String> {
    let in_row: Vec<(&Cell, Quantity)> =
        row.cells.iter().flatten().filter_map(|cell| Some((*cell, known(cell, metric)?))).collect();
    let best = in_row.iter().min_by(|a, b| better(metric, a.1.value, b.1.value)).map(|(cell, _)| *cell);
    let can_be_marked = |cell: &Cell| cell.counted().count() >= stats::FEWEST_TRIALS;
    let marked =
        (2..=MOST_RANKED).contains(&in_row.len()) && in_row.iter().filter(|(cell, _)| can_be_marked(cell)).count() > 1;
    let text = |cell: &Option<&Cell>| {
        let Some(found) = *cell else { return "- ".into() };
        if !found.verdict.is_ranked() {
            return format!("{} ", found.verdict.status);
        }
        let Some(quantity) = known(found, metric) else { return "- ".to_owned() };
        let shown = figures::plain(quantity.value, metric.unit());
        let mark = match best {
            _ if !marked || behind.contains(&std::ptr::from_ref(found)) => ' ',
            Some(best) if std::ptr::eq(best, found) => '*',
            _ => '=',
        };
        format!("{shown}{mark}")
    };
    row.cells.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::blocks;
    use crate::block::{Block, FigureText};
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

    /// The title and the rows of each table, and the first sentence.
    fn drawn(study: &Study) -> (Vec<Vec<String>>, String) {
        let (mut tables, mut said) = (Vec::new(), Vec::new());
        for block in blocks(study) {
            match block {
                Block::Table(it) => {
                    let row =
                        |row: &Vec<FigureText>| row.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join(", ");
                    tables.push([it.title].into_iter().chain(it.rows.iter().map(row)).collect());
                }
                Block::Sentence(it) => said.push(it.text),
                _ => panic!("{block:?}"),
            }
        }
        (tables, said.swap_remove(0))
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
        let (tables, said) = drawn(&study);
        assert_eq!(tables[0], ["TIME by clients", "lmdb, 2.00 s , 1.00 s*, 1.05 s=", "redis, 4.00 s , void , 3.00 s*"]);
        assert!(tables[1][0] == "P99 by clients" && said.starts_with("* has the best median"), "{tables:?}");
        let mut few = study;
        for cell in &mut few.cells {
            cell.trials.truncate(2);
            summarise(cell);
        }
        let (tables, said) = drawn(&few);
        assert!(
            !tables[0].concat().contains(['*', '=']) && said.contains("2 trials per cell are too few"),
            "{tables:?}"
        );
    }

    #[test]
    fn versions_of_a_store_are_columns_of_one_row() {
        let cells = ["9.1.2", "9.1"].map(|v| cell(&format!("valkey@{v},hz=9"), &[("version", v)], &[], 1.0));
        let study =
            Study { cells: cells.into(), varied: vec![varied("version", &["9.1.2", "9.1"])], ..Study::default() };
        let (tables, _) = drawn(&study);
        assert_eq!(tables[0], ["TIME by version", "valkey,hz=9, 1.00 s*, 1.00 s="]);
    }

    #[test]
    fn options_of_a_store_are_columns_too_and_nothing_is_drawn_where_nothing_varies() {
        let cells = ["1000", "2000"].map(|v| cell(&format!("sqlite,cache={v}"), &[("sqlite.cache", v)], &[], 1.0));
        let study =
            Study { cells: cells.into(), varied: vec![varied("sqlite.cache", &["1000", "2000"])], ..Study::default() };
        assert!(drawn(&study).0[0][1].starts_with("sqlite, 1.00 s"), "{:?}", drawn(&study));
        assert!(blocks(&Study::default()).is_empty());
    }
}
