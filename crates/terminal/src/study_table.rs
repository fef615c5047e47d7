//! The study as a table for a terminal.

use crate::answers;
use crate::budget;
use crate::curves;
use crate::events;
use crate::footnotes::{self, Emulations};
use crate::layout::{Colour, Column, Row, Side, Style, Table, paragraph};
use crate::originals;
use crate::phases;
use crate::reasons;
use crate::sets;
use analysis::{Group, Metric, Part, Rank, RankedCell, baseline, cost, spread};
use study::{BudgetLayer, Cell, Class, Promise, Quantity, Status, Study};
use words::{Batches, order, promise, shown_rate, units};

const COLUMNS: [Column; 12] = [
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
];
const STORE: usize = 1;
/// What a narrow terminal omits first: vs ram, vs null, the interval.
const SPARE: [usize; 3] = [VS_RAM, VS_NULL, 3];
const OFFERED: usize = 4;
const RATE: usize = 5;
const UNITS: usize = 6;
const P99: usize = 7;
const FAILED: usize = 8;
const VS_NULL: usize = 9;
const VS_RAM: usize = 10;

/// The whole study in at most 80 columns: a table for every combination of parameters that vary, baselines first, classes and
/// durability levels apart, fastest first, void cells last and unranked with their reasons beneath; then whether the stores agree,
/// what was measured, and how to read it.
///
/// Reads the cells' summaries: call [`analysis::summarise`] on cells first (`archive::StudyDir` does).
pub fn study_table(study: &Study, colour: Colour) -> String {
    let mut text = title(study, colour);
    let grouped: Vec<(Part<'_>, Vec<Group<'_>>)> = analysis::ranking(study);
    let all: Vec<&Cell> = study.cells.iter().collect();
    let emulations = Emulations::of(&all);
    let widespread = reasons::widespread(study);
    let batches = Batches::of(study);

    let drawn: Vec<Vec<Vec<Row>>> = grouped
        .iter()
        .map(|(part, groups)| groups.iter().map(|group| rows(group, &part.cells, &emulations, batches)).collect())
        .collect();
    let mut columns = COLUMNS;
    columns[RATE].title = batches.map_or(columns[RATE].title, Batches::title);
    let no_units = study.cells.iter().all(|cell| cell.units_per_s.is_none());
    let no_rate = study.cells.iter().all(|cell| cell.offered_per_s.is_none());
    let none_failed = !words::failed::any(&study.cells);
    let absent = [(no_rate, OFFERED), (no_units, UNITS), (none_failed, FAILED)];
    let absent = absent.into_iter().filter_map(|(is_absent, at)| is_absent.then_some(at));
    let silent: Vec<usize> = absent.chain(silent_columns(&grouped, &drawn)).collect();
    let columns: Vec<Column> = without(&columns, &silent);
    let spare: Vec<usize> = SPARE.into_iter().filter(|at| !silent.contains(at)).collect();
    let spare: Vec<usize> = spare.iter().map(|at| at - silent.iter().filter(|gone| *gone < at).count()).collect();
    let drawn: Vec<Vec<Vec<Row>>> = drawn
        .iter()
        .map(|groups| groups.iter().map(|rows| rows.iter().map(|row| without(row, &silent)).collect()).collect())
        .collect();
    for sentence in words::outages::headlines(&all) {
        text += &paragraph(&sentence, 1, 3, Style::Bold, colour);
    }
    let table = Table::fit_without(&columns, STORE, &spare, drawn.iter().flatten().flatten());
    for (part, _) in grouped.iter().filter(|(part, _)| !answers::all_agree(&part.cells)) {
        let whom = if part.label.is_empty() { String::new() } else { format!("{}: ", part.label) };
        let disagreement = answers::agreement(&part.cells).unwrap_or_default();
        text += &paragraph(&format!("{whom}{disagreement}"), 1, 3, Style::Bad, colour);
    }
    for ((part, groups), rows) in grouped.iter().zip(&drawn) {
        text.push('\n');
        if !part.label.is_empty() {
            text += &paragraph(&part.label, 1, 3, Style::Bold, colour);
        }
        text += &table.titles(colour);
        for (group, rows) in groups.iter().zip(rows) {
            text.push('\n');
            text += &paragraph(&heading(group), 1, 3, Style::Bold, colour);
            for (ranked, row) in group.cells.iter().zip(rows) {
                text += &table.row(row, colour);
                text += &reasons::of_cell(ranked.cell, &widespread, colour);
            }
            if let Some(sentence) = order::unseen(group) {
                text += &paragraph(&sentence, 1, 3, Style::Warning, colour);
            }
        }
        let sets = sets::of_cells(&part.cells, colour);
        text += &if sets.is_empty() { phases::of_cells(groups, Batches::stored(study).noun(), colour) } else { sets };
        text.push('\n');
        text += &conclusions(&part.cells, groups, Batches::stored(study).noun(), colour);
    }
    let pipelines = events::table(grouped.iter().map(|(part, _)| part), colour);
    text += &if pipelines.is_empty() { pipelines } else { format!("\n{pipelines}\n") };
    text += &reasons::of_many(study, &widespread, colour);
    if let Some(unfinished) = unfinished(study) {
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
    for section in [curves::over_time(study, colour), curves::over_parameter(study, colour)] {
        if !section.is_empty() {
            text.push('\n');
            text += &section;
        }
    }
    let mut legend = legend(study, grouped.iter().flat_map(|(_, groups)| groups));
    legend.retain(|(word, _)| !silent.iter().any(|at| COLUMNS[*at].title == *word));
    if let [first, more @ ..] = table.left_out().as_slice() {
        legend.retain(|(word, _)| word != first && !more.contains(word));
        let names = [more, &[*first]].concat().join(" and ");
        legend.push(("", format!("{names}: only where there is room; study.json and report.html have them")));
    }
    text += if legend.is_empty() { "" } else { "\n" };
    for (word, meaning) in legend {
        text += &paragraph(&format!("{word:10}{meaning}"), 1, 11, Style::Dim, colour);
    }
    text
}

/// Columns of latencies and baselines that no row has anything for but a baseline's own, where libraries are compared that are asked as
/// a whole.
fn silent_columns(grouped: &[(Part<'_>, Vec<Group<'_>>)], drawn: &[Vec<Vec<Row>>]) -> Vec<usize> {
    if !grouped.iter().flat_map(|(_, groups)| groups).any(|group| group.class == Some(Class::Library)) {
        return Vec::new();
    }
    let groups = grouped.iter().flat_map(|(_, groups)| groups).zip(drawn.iter().flatten());
    let compared: Vec<&Row> =
        groups.filter(|(group, _)| group.class != Some(Class::Baseline)).flat_map(|(_, rows)| rows).collect();
    let is_silent = |at: &usize| compared.iter().all(|row| row[*at].0 == "-");
    [P99, VS_NULL, VS_RAM].into_iter().filter(is_silent).collect()
}

/// Those of a row that are not at these places.
fn without<T: Clone>(row: &[T], gone: &[usize]) -> Vec<T> {
    row.iter().enumerate().filter(|(at, _)| !gone.contains(at)).map(|(_, it)| it.clone()).collect()
}

fn title(study: &Study, colour: Colour) -> String {
    let mut jobs: Vec<&str> = study.cells.iter().map(|cell| cell.job.as_str()).collect();
    jobs.dedup();
    if jobs.is_empty() {
        return paragraph("This study has no cells.", 1, 1, Style::Plain, colour);
    }
    let mut title = jobs.join(", ");
    if let Some(name) = study.input.get("name").and_then(|name| name.as_str()) {
        title += &format!(" on {name}");
    }
    let mut text = paragraph(&title, 1, 3, Style::Bold, colour);
    let mut facts = analysis::common_parameters(study);
    // `read=workload`: as another parameter says, which is in the line as well.
    let is_parameter = |name: &str| study.cells.iter().any(|cell| cell.params.contains_key(name));
    facts.retain(|fact| fact.split_once('=').is_none_or(|(_, value)| !is_parameter(value)));
    facts.push(trials(study));
    text += &paragraph(&facts.join(" · "), 1, 1, Style::Dim, colour);
    if !study.host.cpu.is_empty() {
        let host = &study.host;
        let cpus = if host.cpus == 1 { "1 processor".into() } else { format!("{} processors", host.cpus) };
        let machine = format!("{} · {cpus} · {} · {}", host.cpu, units::bytes(host.memory_bytes), host.kernel);
        text += &paragraph(&machine, 1, 1, Style::Dim, colour);
    }
    text
}

/// `5 trials per store after 1 warm-up`.
fn trials(study: &Study) -> String {
    let counted = study.cells.iter().map(|cell| cell.counted().count()).max().unwrap_or_default();
    let trials = match counted {
        0 => return "no trial yet".into(),
        1 => "1 trial per store".to_owned(),
        n => format!("{n} trials per store"),
    };
    match study.warmups {
        0 => trials,
        1 => format!("{trials} after 1 warm-up"),
        n => format!("{trials} after {n} warm-ups"),
    }
}

/// What is still to do in an interrupted study. A cell that is void without a trial will have none, so it is not missing any.
fn unfinished(study: &Study) -> Option<String> {
    let wanted = study.repeats as usize;
    let cells = study.cells.iter().filter(|cell| cell.verdict.status != Status::Void || cell.was_run());
    let (planned, missing) = cells.fold((0, 0), |(planned, missing), cell| {
        (planned + wanted, missing + wanted.saturating_sub(cell.counted().count()))
    });
    (missing > 0).then(|| format!("Unfinished: {missing} of {planned} trials are missing. Continue with --resume."))
}

fn heading(group: &Group<'_>) -> String {
    let heading = words::group_heading(group);
    if promise(group).is_none() || group.class == Some(Class::Baseline) {
        return heading;
    }
    let ranked = match group.metric {
        Metric::OpsPerS => " · ranked by OP/S",
        Metric::P99 => " · ranked by P99",
        _ => "",
    };
    heading + ranked
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
    ]
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

fn conclusions(cells: &[&Cell], groups: &[Group<'_>], noun: &str, colour: Colour) -> String {
    let mut text = String::new();
    // A disagreement stands above the tables.
    if let Some(agreement) = answers::agreement(cells).filter(|_| answers::all_agree(cells)) {
        text += &paragraph(&agreement, 1, 3, Style::Good, colour);
    }
    let standings: Vec<&RankedCell<'_>> = groups.iter().flat_map(|group| &group.cells).collect();
    let ranked: Vec<&Cell> =
        standings.iter().filter(|ranked| ranked.rank.is_listed()).map(|ranked| ranked.cell).collect();
    text += &budget::bars(&ranked, cells, colour);
    let best = |class: Class| standings.iter().find(|ranked| ranked.cell.class == class && ranked.rank.is_listed());
    let best = best(Class::Network).or_else(|| best(Class::Embedded));
    if let Some(sentence) = best.and_then(|ranked| budget::sentence(ranked.cell, cells)) {
        text += &paragraph(&sentence, 1, 3, Style::Plain, colour);
    }
    for sentence in words::failed::sentences(cells).chain(words::outages::lines(cells)) {
        text += &paragraph(&sentence, 1, 3, Style::Plain, colour);
    }
    if let Some(rates) = footnotes::read_back(cells, noun) {
        text += &paragraph(&rates, 1, 3, Style::Plain, colour);
    }
    for note in footnotes::silent(cells)
        .chain(footnotes::crashes(cells))
        .chain(footnotes::stalls(cells))
        .chain(footnotes::unjudged(cells))
        .chain(footnotes::resent(cells))
        .chain(footnotes::outliers(cells))
    {
        text += &paragraph(&note, 1, 3, Style::Warning, colour);
    }
    let nodes = words::nodes::sentences(cells).chain(words::faults::sentences(cells));
    for sentence in nodes
        .chain(words::head_of_line::sentences(cells))
        .chain(words::moves::sentences(cells))
        .chain(words::growth::sentences(cells))
        .chain(words::sets::sentences(cells))
        .chain(words::events::sentences(cells))
    {
        text += &paragraph(&sentence, 1, 3, Style::Plain, colour);
    }
    text
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
    let p99 = match (words::failed::any(&study.cells), open_loop) {
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
    legend.push(("P99", p99.into()));
    legend.push((
        "FAILED",
        "share of the operations that failed: they have no time, and count as slower than all".into(),
    ));
    if ranked_by(Metric::P99) {
        legend.push(("", "ranks the stores, as the rate was the same for all".into()));
    }
    let time = if ranked_by(Metric::OpsPerS) { "time per operation" } else { "time" };
    legend.push(("vs null", format!("{time} as a multiple of that of null; vs ram: of ram")));
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
