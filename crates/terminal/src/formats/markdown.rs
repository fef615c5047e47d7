//! A study as GitHub-flavoured Markdown.

pub(crate) mod blocks;

use crate::markdown::{code, escaped};
use analysis::Group;
use findings::ranking::order;
use findings::{Grouped, View};
use std::fmt::Write;
use study::{Class, Status, Study};
use words::{Batches, left_sentences, promise, shown_rate, units};

/// Writes a table for every combination of parameters and every group that may be ranked together, best first; void cells last, with their
/// reasons beneath.
pub fn study_markdown(study: &Study) -> String {
    let mut jobs: Vec<&str> = study.cells.iter().map(|cell| cell.job.as_str()).collect();
    jobs.dedup();
    let input = study.input.get("name").and_then(|name| name.as_str()).map(|name| format!(" on {name}"));
    let mut text = format!("### {}\n", escaped(&format!("{}{}", jobs.join(", "), input.unwrap_or_default())));
    let grouped = Grouped::all(study);
    let findings = findings::all(&View::of(study, &grouped).without_pictures());
    for it in &grouped {
        for group in &it.groups {
            table(&mut text, it.label(), group, study);
        }
        blocks::of_part(&mut text, &findings, it.label());
    }
    if grouped.iter().all(|it| !it.label().is_empty()) {
        blocks::of_part(&mut text, &findings, "");
    }
    let names = analysis::CellNames::of(study);
    let reasons: Vec<String> = study
        .cells
        .iter()
        .flat_map(|cell| cell.verdict.reasons.iter().map(move |reason| (cell, reason)))
        .map(|(cell, reason)| {
            let times =
                if reason.count > 1 { format!(", {} times", words::units::whole(reason.count)) } else { String::new() };
            let example = if reason.example.is_empty() { String::new() } else { format!(": {}", reason.example) };
            let what = format!("{}{times}{example}", reason.kind.name());
            let verb = if cell.verdict.status == Status::NotRun { "was" } else { "is" };
            let name = code(&names.of_cell(cell));
            format!("- {name} {verb} {}: {}", cell.verdict.status, escaped(&what))
        })
        .collect();
    if !reasons.is_empty() {
        let _ = writeln!(text, "\n{}", reasons.join("\n"));
    }
    for sentence in left_sentences(study) {
        let _ = writeln!(text, "\n{} `kvtrial clear` with the study's directory deletes them.", escaped(&sentence));
    }
    let _ = writeln!(text, "\n{}", code(&study.command.join(" ")));
    text
}

fn table(text: &mut String, label: &str, group: &Group<'_>, study: &Study) {
    let batches = Batches::of(study);
    let durability = promise(group).map(|promise| format!(", {promise}")).unwrap_or_default();
    let label = if label.is_empty() { String::new() } else { format!("{label}: ") };
    let _ = writeln!(
        text,
        "\n**{}**\n",
        escaped(&format!("{label}{}{durability}", group.class.map_or("all", Class::name)))
    );
    let (rate, p99) = match batches {
        None => ("op/s", "p99"),
        Some(Batches::Documents) => ("documents/s", "p99 of a batch"),
        Some(Batches::Events) => ("events/s", "p99 of a put"),
        Some(Batches::Records) => ("records/s", "p99 of a batch"),
    };
    let is_open = study.cells.iter().any(|cell| cell.offered_per_s.is_some());
    let (offered_title, offered_rule) = if is_open { (" offered/s |", "--:|") } else { ("", "") };
    let counts_units = study.cells.iter().any(|cell| cell.units_per_s.is_some());
    let (units_title, units_rule) = if counts_units { (" units/s |", "--:|") } else { ("", "") };
    let failures = findings::latency::any(&study.cells);
    let (failed_title, failed_rule) = if failures { (" failed |", "--:|") } else { ("", "") };
    let _ = writeln!(
        text,
        "| | store | time |{offered_title} {rate} |{units_title} {p99} |{failed_title} verdict |\n\
         |--:|---|--:|{offered_rule}--:|{units_rule}--:|{failed_rule}---|"
    );
    for ranked in &group.cells {
        let cell = ranked.cell;
        let rank = ranked.rank.text();
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let interval = |quantity: &study::Quantity, unit: &dyn Fn(f64) -> String| match quantity.level {
            0.0 => unit(quantity.value),
            _ => format!("{} ({} to {})", unit(quantity.value), unit(quantity.low), unit(quantity.high)),
        };
        let per_second = || or_dash(cell.units_per_s.map(|it| interval(&it, &units::count)));
        let share = || or_dash(cell.failed_share.map(|it| interval(&it, &units::share)));
        let failed = if failures { format!(" {} |", share()) } else { String::new() };
        let offered = || or_dash(cell.offered_per_s.map(|it| interval(&it, &units::count)));
        let offered = if is_open { format!(" {} |", offered()) } else { String::new() };
        let units_done = if counts_units { format!(" {} |", per_second()) } else { String::new() };
        let _ = writeln!(
            text,
            "| {rank} | {} | {} |{offered} {} |{units_done} {} |{failed} {} |",
            code(&cell.store).replace('|', "\\|"),
            or_dash(cell.makespan_s.map(|it| interval(&it, &units::duration))),
            or_dash(shown_rate(cell, batches).map(|it| interval(&it, &units::count))),
            or_dash(cell.p99_ns.map(|it| interval(&it, &|ns| units::duration(ns * 1e-9)))),
            verdict(cell),
        );
    }
    let cells: Vec<&study::Cell> = group.cells.iter().map(|ranked| ranked.cell).collect();
    if let Some(rates) = crate::footnotes::read_back(&cells, Batches::stored(study).noun()) {
        let _ = writeln!(text, "\n{}", escaped(&rates));
    }
    if let Some(sentence) = order::unseen(group) {
        let _ = writeln!(text, "\n{}", escaped(&sentence));
    }
}

/// The verdict with its first reason, beside the cell; all of them stand beneath.
fn verdict(cell: &study::Cell) -> String {
    match cell.verdict.reasons.first() {
        Some(reason) => format!("{} ({})", cell.verdict.status, reason.kind.name().replace('_', " ")),
        None => cell.verdict.status.to_string(),
    }
}
