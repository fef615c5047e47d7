//! The study as a table for a terminal.

use crate::advice::advice;
use crate::answers;
use crate::comparison::{self, Group, Place, Rank, baseline, cost, spread};
use crate::footnotes::{self, Emulations};
use crate::layout::{Colour, Column, Row, Side, Style, Table, paragraph};
use crate::units;
use study::{Cell, Durability, Status, Study};

const COLUMNS: [Column; 9] = [
    Column { title: "", side: Side::Left, gap: 1 },
    Column { title: "STORE", side: Side::Left, gap: 1 },
    Column { title: "TIME", side: Side::Right, gap: 2 },
    Column { title: "", side: Side::Left, gap: 1 },
    Column { title: "OP/S", side: Side::Right, gap: 2 },
    Column { title: "P99", side: Side::Right, gap: 2 },
    Column { title: "x NULL", side: Side::Right, gap: 2 },
    Column { title: "x RAM", side: Side::Right, gap: 2 },
    Column { title: "VERDICT", side: Side::Left, gap: 2 },
];
const STORE: usize = 1;

/// The whole study in at most 80 columns: a table for every combination of parameters that vary, baselines first, classes and
/// durability levels apart, fastest first, void cells last and unranked with their reasons beneath; then whether the stores agree,
/// what was measured, and how to read it.
///
/// Reads the cells' summaries: call [`summarise`](crate::summarise) on cells first (a [`StudyDir`](crate::StudyDir) does).
pub fn study_table(study: &Study, colour: Colour) -> String {
    let mut text = title(study, colour);
    let parts = comparison::by_parameters(study);
    let all: Vec<&Cell> = study.cells.iter().collect();
    let emulations = Emulations::of(&all);
    let grouped: Vec<_> = parts.iter().map(|(label, cells)| (label, cells, comparison::groups(cells))).collect();

    let drawn: Vec<Vec<Vec<Row>>> = grouped
        .iter()
        .map(|(_, cells, groups)| groups.iter().map(|group| rows(group, cells, &emulations)).collect())
        .collect();
    let table = Table::fit(&COLUMNS, STORE, drawn.iter().flatten().flatten());
    for ((label, cells, groups), rows) in grouped.iter().zip(&drawn) {
        text.push('\n');
        if !label.is_empty() {
            text += &paragraph(label, 1, 3, Style::Bold, colour);
        }
        text += &table.titles(colour);
        for (group, rows) in groups.iter().zip(rows) {
            text += &paragraph(&heading(group), 1, 3, Style::Bold, colour);
            for (place, row) in group.places.iter().zip(rows) {
                text += &table.row(row, colour);
                text += &reasons(place.cell, colour);
            }
        }
        text.push('\n');
        text += &conclusions(cells, groups, colour);
    }
    for note in emulations.notes().chain(footnotes::products(&all)) {
        text += &paragraph(&note, 1, 1, Style::Plain, colour);
    }
    text += &paragraph(
        &legend(study, &grouped.iter().flat_map(|part| &part.2).collect::<Vec<_>>()),
        1,
        1,
        Style::Dim,
        colour,
    );
    text
}

fn title(study: &Study, colour: Colour) -> String {
    let mut jobs: Vec<&str> = study.cells.iter().map(|cell| cell.job.as_str()).collect();
    jobs.dedup();
    let mut title = jobs.join(", ");
    if let Some(name) = study.input.get("name").and_then(|name| name.as_str()) {
        title += &format!(" on {name}");
    }
    let mut text = paragraph(&title, 1, 3, Style::Bold, colour);
    let mut facts = comparison::common_parameters(study);
    let counted = study.cells.iter().map(|cell| cell.counted().count()).max().unwrap_or_default();
    facts.push(match counted {
        1 => "1 trial a store".into(),
        n => format!("{n} trials a store"),
    });
    text += &paragraph(&facts.join(" · "), 1, 1, Style::Dim, colour);
    if !study.host.cpu.is_empty() {
        let host = &study.host;
        let cpus = if host.cpus == 1 { "1 processor".into() } else { format!("{} processors", host.cpus) };
        let machine = format!("{} · {cpus} · {} · {}", host.cpu, units::bytes(host.memory_bytes), host.kernel);
        text += &paragraph(&machine, 1, 1, Style::Dim, colour);
    }
    text
}

fn heading(group: &Group<'_>) -> String {
    let class = match group.class {
        "baseline" => return "Baselines: what client and job cost without a store".into(),
        "embedded" => "Embedded: a library in this process".to_owned(),
        "network" => "Network: one server".to_owned(),
        "distributed" => "Distributed: several servers".to_owned(),
        "" => "Other".to_owned(),
        other => other.to_owned(),
    };
    let promise = group.durability.map(|level| match level {
        Durability::None => "durability none: all may be lost at its end",
        Durability::Os => "durability os: survives a kill of the process",
        Durability::Second => "durability second: at most 1 s lost at power cut",
        Durability::Commit => "durability commit: nothing lost at power cut",
    });
    promise.map_or(class.clone(), |promise| format!("{class} · {promise}"))
}

fn rows(group: &Group<'_>, cells: &[&Cell], emulations: &Emulations) -> Vec<Row> {
    let (null, ram) = (baseline(cells, "null"), baseline(cells, "ram"));
    group.places.iter().map(|place| row(place, null, ram, emulations)).collect()
}

fn row(place: &Place<'_>, null: Option<&Cell>, ram: Option<&Cell>, emulations: &Emulations) -> Row {
    let cell = place.cell;
    let (style, verdict) = match cell.verdict.status {
        Status::Valid => (Style::Plain, Style::Good),
        Status::Degraded => (Style::Plain, Style::Warning),
        Status::Void => (Style::Dim, Style::Bad),
    };
    let rank = match place.rank {
        Rank::At(place) => place.to_string(),
        Rank::Tied(place) => format!("{place}="),
        Rank::Unranked => String::new(),
    };
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    let interval = cell.makespan_s.and_then(|makespan| spread(&makespan)).map(|share| match share {
        0.1.. => format!("±{:.0}%", share * 100.0),
        _ => format!("±{:.1}%", share * 100.0),
    });
    vec![
        (rank, style),
        (footnotes::store_label(cell) + &emulations.mark(cell), style),
        (or_dash(cell.makespan_s.map(|makespan| units::duration(makespan.value))), style),
        (interval.unwrap_or_default(), Style::Dim),
        (or_dash(cell.ops_per_s.map(|rate| units::count(rate.value))), style),
        (or_dash(cell.p99_ns.map(|p99| units::duration(p99.value * 1e-9))), style),
        (or_dash(cost(cell, null).map(units::ratio)), style),
        (or_dash(cost(cell, ram).map(units::ratio)), style),
        (cell.verdict.status.to_string(), verdict),
    ]
}

/// Why a cell is void or degraded, beneath its row: what and how often, the first example, what to do.
fn reasons(cell: &Cell, colour: Colour) -> String {
    let mut text = String::new();
    for reason in &cell.verdict.reasons {
        let style = if reason.kind.status() == Status::Void { Style::Bad } else { Style::Warning };
        let (meaning, remedy) = advice(reason.kind);
        let times = if reason.count > 1 { format!(", {} times", grouped(reason.count)) } else { String::new() };
        let example = if reason.example.is_empty() { String::new() } else { format!(": {}", reason.example) };
        text += &paragraph(&format!("{}{times}{example}", sentence(meaning)), 5, 7, style, colour);
        text += &paragraph(&format!("→ {remedy}"), 7, 9, Style::Plain, colour);
    }
    text
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// 1234567 as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn conclusions(cells: &[&Cell], groups: &[Group<'_>], colour: Colour) -> String {
    let mut text = String::new();
    if let Some(agreement) = answers::agreement(cells) {
        let style = if answers::all_agree(cells) { Style::Good } else { Style::Bad };
        text += &paragraph(&agreement, 1, 1, style, colour);
    }
    let places: Vec<&Place<'_>> = groups.iter().flat_map(|group| &group.places).collect();
    if let Some(sentence) = footnotes::cost_sentence(cells, &places) {
        text += &paragraph(&sentence, 1, 1, Style::Plain, colour);
    }
    text
}

/// How to read the columns, as far as this study needs it.
fn legend(study: &Study, groups: &[&Group<'_>]) -> String {
    let levels: Vec<f64> =
        study.cells.iter().filter_map(|cell| cell.makespan_s).map(|makespan| makespan.level).collect();
    let mut text = match stats::quantile(&levels, 0.0) {
        Some(level) if level > 0.0 => {
            format!("TIME: median of the trials ± its {} interval.", percent(level))
        }
        Some(_) => {
            "TIME: of single trials where no ± is shown: the order may be chance; repeat with --repeats 5.".into()
        }
        None => String::new(),
    };
    text += " P99: 99 of 100 operations were answered within. x NULL, x RAM: time as a multiple of that baseline's.";
    if groups.iter().flat_map(|group| &group.places).any(|place| matches!(place.rank, Rank::Tied(_))) {
        text += " 1=: not told apart from the store above at this place.";
    }
    if study.cells.iter().any(|cell| !cell.verdict.is_ranked()) {
        text += " Void: not to be believed, so never ranked.";
    }
    text.trim_start().to_owned()
}

fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}
