//! The study as a table for a terminal.

use crate::answers;
use crate::blocks;
use crate::footnotes::{self, Emulations};
use crate::headings;
use crate::layout::{Colour, Column, Row, Side, Style, Table, entry, paragraph};
use crate::originals;
use crate::phases;
use crate::reasons;
use analysis::{Group, Metric, Rank, RankedCell, baseline, cost, meets_all, spread};
use findings::ranking::{order, verdict};
use findings::{Grouped, View};
use study::{BudgetLayer, Cell, Class, Meets, Promise, Quantity, Status, Study};
use words::{Batches, shown_rate, units};

const COLUMNS: [Column<'static>; 13] = [
    Column { title: "", side: Side::Left, gap: 1 },
    Column { title: "STORE", side: Side::Left, gap: 1 },
    Column { title: "TIME", side: Side::Right, gap: 2 },
    Column { title: "", side: Side::Left, gap: 1 },
    Column { title: "OFFERED", side: Side::Right, gap: 2 },
    Column { title: "OP/S", side: Side::Right, gap: 2 },
    Column { title: "UNITS/S", side: Side::Right, gap: 2 },
    Column { title: "P99", side: Side::Right, gap: 2 },
    Column { title: "FAILED", side: Side::Right, gap: 2 },
    Column { title: "vs null", side: Side::Right, gap: 2 },
    Column { title: "vs ram", side: Side::Right, gap: 2 },
    Column { title: "VERDICT", side: Side::Left, gap: 2 },
    Column { title: "MEETS", side: Side::Left, gap: 2 },
];
const STORE: usize = 1;
const TIME: usize = 2;
const INTERVAL: usize = 3;
/// What a narrow terminal omits first: vs ram, vs null, the interval.
const SPARE: [usize; 3] = [VS_RAM, VS_NULL, INTERVAL];
const OFFERED: usize = 4;
const RATE: usize = 5;
const UNITS: usize = 6;
const P99: usize = 7;
const FAILED: usize = 8;
const VS_NULL: usize = 9;
const VS_RAM: usize = 10;
const MEETS: usize = 12;

/// Writes the whole study in at most 80 columns: a table for every combination of parameters that vary, baselines first, classes and
/// durability levels apart, fastest first, void cells last and unranked with their reasons beneath; then whether the stores agree, what was
/// measured, and how to read it.
///
/// Reads the cells' summaries: call [`analysis::summarise`] on cells first (`archive::StudyDir` does).
pub fn study_table(study: &Study, colour: Colour) -> String {
    let mut text = headings::title(study, colour);
    let grouped = Grouped::all(study);
    let mut findings = findings::all(&View::of(study, &grouped).without_pictures());
    let all: Vec<&Cell> = study.cells.iter().collect();
    let emulations = Emulations::of(&all);
    let widespread = reasons::widespread(study);
    let batches = Batches::of(study);

    let drawn: Vec<Vec<Vec<Row>>> = grouped
        .iter()
        .map(|it| it.groups.iter().map(|group| rows(group, it.cells(), &emulations, batches)).collect())
        .collect();
    let mut columns = COLUMNS;
    columns[RATE].title = batches.map_or(columns[RATE].title, Batches::title);
    let no_units = study.cells.iter().all(|cell| cell.units_per_s.is_none());
    let no_rate = study.cells.iter().all(|cell| cell.offered_per_s.is_none());
    let none_failed = !findings::latency::any(&study.cells);
    let no_needs = study.cells.iter().all(|cell| cell.meets.is_empty());
    let absent = [(no_rate, OFFERED), (no_units, UNITS), (none_failed, FAILED), (no_needs, MEETS)];
    let absent = absent.into_iter().filter_map(|(is_absent, at)| is_absent.then_some(at));
    let silent: Vec<usize> = absent.chain(silent_columns(&grouped, &drawn)).collect();
    let columns: Vec<Column<'_>> = without(&columns, &silent);
    let spare: Vec<usize> = SPARE.into_iter().filter(|at| !silent.contains(at)).collect();
    let spare: Vec<usize> = spare.iter().map(|at| at - silent.iter().filter(|gone| *gone < at).count()).collect();
    let drawn: Vec<Vec<Vec<Row>>> = drawn
        .iter()
        .map(|groups| groups.iter().map(|rows| rows.iter().map(|row| without(row, &silent)).collect()).collect())
        .collect();
    let table = Table::fit_without(&columns, STORE, &spare, drawn.iter().flatten().flatten());
    for it in grouped.iter().filter(|it| !answers::all_agree(it.cells())) {
        let label = words::parameters::spoken(it.label());
        let whom = if label.is_empty() { label } else { format!("{label}: ") };
        let disagreement = answers::agreement(it.cells()).unwrap_or_default();
        text += &paragraph(&format!("{whom}{disagreement}"), 1, 3, Style::Bad, colour);
    }
    blocks::heads(&mut text, &mut findings, colour);
    for (it, rows) in grouped.iter().zip(&drawn) {
        text.push('\n');
        if !it.label().is_empty() {
            text += &paragraph(&words::parameters::spoken(it.label()), 1, 3, Style::Bold, colour);
        }
        text += &table.titles(colour);
        for (group, rows) in it.groups.iter().zip(rows) {
            text.push('\n');
            text += &paragraph(&headings::heading(group), 1, 3, Style::Bold, colour);
            for (ranked, row) in group.cells.iter().zip(rows) {
                text += &table.row(row, colour);
                text += &reasons::of_cell(ranked.cell, &widespread, colour);
            }
            if let Some(sentence) = order::unseen(group) {
                text += &paragraph(&sentence, 1, 3, Style::Warning, colour);
            }
        }
        if grouped.len() == 1 {
            text += &verdict(&it.groups, colour);
        }
        text += &phases::of_cells(&it.groups, Batches::stored(study).noun(), colour);
        text.push('\n');
        text += &conclusions(it, study, colour);
        blocks::of_part(&mut text, &findings, it.label(), colour);
    }
    if grouped.len() > 1 && grouped.iter().all(|it| !it.label().is_empty()) {
        blocks::of_part(&mut text, &findings, "", colour);
    }
    text += &reasons::of_many(study, &widespread, colour);
    if let Some(unfinished) = headings::unfinished(study) {
        text += &paragraph(&unfinished, 1, 3, Style::Warning, colour);
    }
    let originals = originals::section(study, colour);
    if !originals.is_empty() {
        text += &format!("\n{originals}\n");
    }
    let shown = words::shown_sentences(&all);
    let is_broken =
        all.iter().any(|cell| cell.durability_shown.as_ref().is_some_and(|it| it.promise == Promise::Broken));
    for (at, sentence) in shown.iter().enumerate() {
        let style = if is_broken && at == 0 { Style::Bad } else { Style::Plain };
        text += &paragraph(sentence, 1, 3, style, colour);
    }
    for note in emulations
        .notes()
        .chain(footnotes::burning(&all))
        .chain(footnotes::products(&all))
        .chain(footnotes::instrument(study))
    {
        text += &paragraph(&note, 1, 3, Style::Plain, colour);
    }
    let mut legend = legend(study, grouped.iter().flat_map(|it| &it.groups));
    let interval = INTERVAL - silent.iter().filter(|gone| **gone < INTERVAL).count();
    if table.leaves_out(interval) {
        legend.iter_mut().filter(|(word, _)| *word == "TIME").for_each(|it| it.1 = "median of the trials".into());
    }
    let gone = |word: &str| !word.is_empty() && silent.iter().any(|at| COLUMNS[*at].title == word);
    legend.retain(|(word, _)| !gone(word));
    if let [first, more @ ..] = table.left_out().as_slice() {
        legend.retain(|(word, _)| word != first && !more.contains(word));
        let names = [more, &[*first]].concat().join(" and ");
        legend.push(("left out", format!("{names}, for which there is no room; study.json and report.html have them")));
    }
    if !legend.is_empty() {
        blocks::empty_line(&mut text);
    }
    for (word, meaning) in legend {
        text += &entry(word, &meaning, colour);
    }
    text
}

/// Times whose largest is no more than this many times the smallest are the same where the time was given.
const SAME_TIME: f64 = 1.02;

/// Columns that say nothing: no row has anything there but a baseline's own, or every one has the same time, where it was given and the rate is
/// what counts.
fn silent_columns(grouped: &[Grouped<'_>], drawn: &[Vec<Vec<Row>>]) -> Vec<usize> {
    let groups = grouped.iter().flat_map(|it| &it.groups).zip(drawn.iter().flatten());
    let compared: Vec<(&Group<'_>, &Vec<Row>)> =
        groups.filter(|(group, _)| group.class != Some(Class::Baseline)).collect();
    if compared.is_empty() {
        return Vec::new();
    }
    let rows = || compared.iter().flat_map(|(_, rows)| rows.iter());
    let is_silent = |at: &usize| rows().all(|row| row[*at].0 == "-");
    let was_given = compared.iter().all(|(group, _)| group.metric != Metric::Makespan);
    let cells = compared.iter().flat_map(|(group, _)| &group.cells);
    let times_s: Vec<f64> = cells.filter_map(|ranked| ranked.cell.makespan_s).map(|it| it.value).collect();
    let (least_s, most_s) = (stats::quantile(&times_s, 0.0), stats::quantile(&times_s, 1.0));
    let are_alike = least_s.zip(most_s).is_some_and(|(least_s, most_s)| most_s <= SAME_TIME * least_s);
    let time = if was_given && are_alike { &[TIME, INTERVAL][..] } else { &[] };
    time.iter().copied().chain([P99, VS_NULL, VS_RAM].into_iter().filter(is_silent)).collect()
}

/// Those of a row that are not at these places.
fn without<T: Clone>(row: &[T], gone: &[usize]) -> Vec<T> {
    row.iter().enumerate().filter(|(at, _)| !gone.contains(at)).map(|(_, it)| it.clone()).collect()
}

fn rows(group: &Group<'_>, cells: &[&Cell], emulations: &Emulations, batches: Option<Batches>) -> Vec<Row> {
    let (null, ram) = (baseline(cells, BudgetLayer::Generator), baseline(cells, BudgetLayer::Client));
    group.cells.iter().map(|ranked| row(ranked, null, ram, emulations, batches)).collect()
}

fn row(
    ranked: &RankedCell<'_>,
    null: Option<&Cell>,
    ram: Option<&Cell>,
    emulations: &Emulations,
    batches: Option<Batches>,
) -> Row {
    let cell = ranked.cell;
    let (style, verdict) = match cell.verdict.status {
        Status::NotRun => (Style::Dim, Style::Warning),
        Status::Valid => (Style::Plain, Style::Good),
        Status::Degraded => (Style::Plain, Style::Warning),
        Status::Void => (Style::Dim, Style::Bad),
    };
    let rank = ranked.rank.text();
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    let interval = cell.makespan_s.and_then(|makespan| interval(&makespan));
    vec![
        (rank, style),
        (footnotes::store_label(cell, &emulations.mark(cell)), style),
        (or_dash(cell.makespan_s.map(|makespan| units::duration(makespan.value))), style),
        (interval.unwrap_or_default(), Style::Dim),
        (or_dash(cell.offered_per_s.map(|rate| units::count(rate.value))), style),
        (or_dash(shown_rate(cell, batches).map(|rate| units::count(rate.value))), style),
        (or_dash(cell.units_per_s.map(|rate| units::count(rate.value))), style),
        (or_dash(cell.p99_ns.map(|p99| units::duration(p99.value * 1e-9))), style),
        (or_dash(cell.failed_share.map(|share| units::share(share.value))), style),
        (or_dash(cost(cell, null).map(units::ratio)), style),
        (or_dash(cost(cell, ram).map(units::ratio)), style),
        (cell.verdict.status.to_string(), verdict),
        meets(cell),
    ]
}

/// How many of its needs a cell was shown to meet: `2 of 3`.
fn meets(cell: &Cell) -> (String, Style) {
    let met = cell.meets.iter().filter(|one| one.meets == Meets::Met).count();
    let style = match meets_all(&cell.meets) {
        Meets::Met => Style::Good,
        Meets::Missed => Style::Bad,
        Meets::NotShown => Style::Warning,
    };
    if cell.meets.is_empty() {
        (String::new(), Style::Plain)
    } else {
        (format!("{met} of {}", cell.meets.len()), style)
    }
}

/// `±4.2%`; where the interval is wider than the figure, its ends.
fn interval(figure: &Quantity) -> Option<String> {
    let share = spread(figure)?;
    Some(match share {
        1.0.. => format!("{}..{}", units::duration(figure.low), units::duration(figure.high)),
        0.1.. => format!("±{:.0}%", share * 100.0),
        _ => format!("±{:.1}%", share * 100.0),
    })
}

/// Which store is best and by how much, in words: within each class, then between classes.
fn verdict(groups: &[Group<'_>], colour: Colour) -> String {
    let sentences = groups.iter().filter_map(verdict::of_group).chain(verdict::across(groups));
    let text: String = sentences.map(|it| paragraph(&it, 1, 3, Style::Bold, colour)).collect();
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// Whether the stores agree, and how fast they read back what they were given.
fn conclusions(it: &Grouped<'_>, study: &Study, colour: Colour) -> String {
    // A disagreement stands above the tables.
    let agreement = answers::agreement(it.cells()).filter(|_| answers::all_agree(it.cells()));
    let read_back = footnotes::read_back(it.cells(), Batches::stored(study).noun());
    let agreement = agreement.map(|sentence| paragraph(&sentence, 1, 3, Style::Good, colour));
    let read_back = read_back.map(|sentence| paragraph(&sentence, 1, 3, Style::Plain, colour));
    agreement.into_iter().chain(read_back).collect()
}

/// How to read the table: a word in it and what it means, as far as this study needs it.
fn legend<'a>(study: &Study, groups: impl Iterator<Item = &'a Group<'a>>) -> Vec<(&'static str, String)> {
    let levels: Vec<f64> =
        study.cells.iter().filter_map(|cell| cell.makespan_s).map(|makespan| makespan.level).collect();
    let time = match (stats::quantile(&levels, 0.0), stats::quantile(&levels, 1.0)) {
        (Some(least), Some(most)) if most > 0.0 => {
            let fewest = study.cells.iter().filter_map(|cell| cell.makespan_s).map(|it| it.n).min().unwrap_or_default();
            let level = if least < most { format!("{} to {}", percent(least), percent(most)) } else { percent(most) };
            let why = if fewest < 6 { ", from the fastest to the slowest; 6 trials give 95 %" } else { "" };
            format!("median of the trials ± its {level} interval{why}")
        }
        (Some(_), _) => "of single trials, which have no interval".into(),
        _ => return Vec::new(),
    };
    let open_loop = study.cells.iter().any(|cell| cell.latency_ns.send_lag.n > 0);
    let p99 = match (findings::latency::any(&study.cells), open_loop) {
        (false, true) => "99 of 100 operations were answered within this time after they were due",
        (false, false) => "99 of 100 operations were answered within this time",
        (true, true) => "of all operations asked for 99 of 100 were answered within this time after they were due",
        (true, false) => "of all operations asked for 99 of 100 were answered within this time",
    };
    let ranked_by = |metric| study.cells.iter().any(|cell| Metric::ranking(cell) == metric);
    let mut legend = vec![("TIME", time)];
    if ranked_by(Metric::OpsPerS) {
        legend.push(("OP/S", "ranks the stores, as every trial was given the same time".into()));
    }
    if study.cells.iter().any(|cell| cell.offered_per_s.is_some()) {
        let what = if study.cells.iter().any(|cell| cell.units_per_s.is_some()) { "units" } else { "operations" };
        legend.push((
            "OFFERED",
            format!("{what} per second that were sent, at --rate; the rates beside it are those answered"),
        ));
    }
    if let Some(batches) = Batches::of(study) {
        legend.push((batches.title(), batches.meaning()));
    }
    if study.cells.iter().any(|cell| cell.units_per_s.is_some()) {
        legend.push(("UNITS/S", "calls of run per second; each does several operations".into()));
    }
    let ranks = if ranked_by(Metric::P99) { "; ranks the stores, as the rate was the same for all" } else { "" };
    legend.push(("P99", format!("{p99}{ranks}")));
    legend.push((
        "FAILED",
        "share of the operations that failed: they have no time, and count as slower than all".into(),
    ));
    let time = if ranked_by(Metric::OpsPerS) { "time per operation" } else { "time" };
    legend.push(("vs null", format!("{time} as a multiple of that of null")));
    legend.push(("vs ram", format!("{time} as a multiple of that of ram, a map in memory")));
    if !study.needs.is_empty() {
        legend.push(("MEETS", "of the needs asked for, how many the trials show to be met".into()));
    }
    if study.cells.iter().any(findings::faults::was_done) {
        legend.push(("^", "under a curve: here a node was made to fail, or started again".into()));
    }
    if let Some(tied) = groups.flat_map(|group| &group.cells).find_map(|ranked| match ranked.rank {
        Rank::Tied(at) => Some(at),
        _ => None,
    }) {
        legend.push(("=", format!("{tied}= is shared: these trials cannot separate them; listed by their medians")));
    }
    let has = |status| study.cells.iter().any(|cell| cell.verdict.status == status);
    if has(Status::Degraded) {
        legend.push(("degraded", "all answers were right, but the times may be distorted".into()));
    }
    if has(Status::Void) {
        legend.push(("void", "not to be trusted, so never ranked".into()));
    }
    if has(Status::NotRun) {
        legend.push(("not run", "no counted trial was finished, so nothing is known".into()));
    }
    legend
}

fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}
