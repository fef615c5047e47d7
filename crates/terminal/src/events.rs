//! The job `events` in the terminal: the pipelines of a study side by side.

use crate::layout::{Colour, Column, Row, Side, Style, Table, paragraph};
use analysis::Part;
use words::events::{PipelineFigures, figures, share};
use words::units;

const COLUMNS: [Column; 5] = [
    Column { title: "SETTING", side: Side::Left, gap: 1 },
    Column { title: "EVENTS/S", side: Side::Right, gap: 2 },
    Column { title: "PARSERS WAIT", side: Side::Right, gap: 2 },
    Column { title: "SUMMARIZERS WAIT", side: Side::Right, gap: 2 },
    Column { title: "QUEUE FULL", side: Side::Right, gap: 2 },
];

/// Returns the table; empty where there are not several settings to compare.
pub(crate) fn table<'a>(parts: impl Iterator<Item = &'a Part<'a>>, colour: Colour) -> String {
    let found = parts.filter_map(|part| Some((part.label.as_str(), figures(&part.cells)?)));
    let mut found: Vec<(&str, PipelineFigures)> = found.collect();
    if found.len() < 2 {
        return String::new();
    }
    found.sort_by(|a, b| b.1.events_per_s.total_cmp(&a.1.events_per_s));
    let rows: Vec<Row> = found.iter().map(|(label, pipeline)| row(label, pipeline)).collect();
    let table = Table::fit(&COLUMNS, 0, rows.iter());
    let title = "Pipelines: events summarized per second, share of their time both sides wait, queue on average";
    let mut text = paragraph(title, 1, 3, Style::Bold, colour) + &table.titles(colour);
    text.extend(rows.iter().map(|row| table.row(row, colour)));
    text
}

fn row(label: &str, pipeline: &PipelineFigures) -> Row {
    let of_queue =
        |text: fn(&words::events::QueueFigures) -> String| pipeline.queue.as_ref().map_or_else(|| "-".into(), text);
    [
        label.to_owned(),
        units::count(pipeline.events_per_s),
        of_queue(|queue| share(queue.parsers_waiting)),
        of_queue(|queue| share(queue.summarizers_waiting)),
        of_queue(|queue| share(queue.depth_mean / queue.size.max(1.0))),
    ]
    .map(|text| (text, Style::Plain))
    .into()
}
