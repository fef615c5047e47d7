//! The job `events`: whether the queue or the work is the limit.

mod chart;
mod sentences;

use crate::block::{Block, FigureTable};
use crate::finding::{Arrangement, Finding, FindingPart};
use crate::view::{Grouped, View};
use sentences::{PipelineFigures, QueueFigures, figures, sentences, share};
use words::units;

pub(crate) fn find(view: &View<'_>) -> Option<Finding> {
    let named = |it: &Grouped<'_>, sentence: String| match it.label() {
        "" => sentence,
        label => format!("{label}: {sentence}"),
    };
    let said = |it: &&Grouped<'_>| sentences(it.cells()).into_iter().map(|one| named(it, one)).collect::<Vec<_>>();
    let sentences = view.parts.iter().flat_map(said);
    let charts = view.charts(|| chart::charts(view.parts.iter().map(|it| &it.part)));
    let table = table(view).map(Block::Table);
    let sentences = sentences.map(Block::plain);
    Some(Finding {
        id: "pipeline",
        title: "Parsers, queues, summarizers",
        intro: "Whether the queue or the work is the limit. The pipeline runs before the store is used: its figures are medians over all stores."
            .into(),
        charts: Arrangement::Below,
        parts: FindingPart::whole(
            table.into_iter().chain(sentences).chain(charts).collect(),
        ),
    })
}

/// The settings side by side, quickest first; nothing where there are not several.
fn table(view: &View<'_>) -> Option<FigureTable> {
    let found = view.parts.iter().filter_map(|it| Some((it.label(), figures(it.cells())?)));
    let mut found: Vec<(&str, PipelineFigures)> = found.collect();
    found.sort_by(|a, b| b.1.events_per_s.total_cmp(&a.1.events_per_s));
    let title = "Pipelines: events summarized per second, share of their time both sides wait, queue on average";
    let columns = ["SETTING", "EVENTS/S", "PARSERS WAIT", "SUMMARIZERS WAIT", "QUEUE FULL"];
    let rows = found.iter().map(|(label, pipeline)| row(label, pipeline));
    FigureTable::of_figures(title, columns, rows).filter(|table| table.rows.len() > 1)
}

fn row(label: &str, pipeline: &PipelineFigures) -> [String; 5] {
    let of_queue = |text: fn(&QueueFigures) -> String| pipeline.queue.as_ref().map_or_else(|| "-".into(), text);
    [
        label.to_owned(),
        units::count(pipeline.events_per_s),
        of_queue(|queue| share(queue.parsers_waiting)),
        of_queue(|queue| share(queue.summarizers_waiting)),
        of_queue(|queue| share(queue.depth_mean / queue.size.max(1.0))),
    ]
}
