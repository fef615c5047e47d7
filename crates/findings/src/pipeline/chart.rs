//! The job `events`: what both sides of the queue did with their time, and how full the queue was, for each setting.

use super::sentences::{PipelineFigures, figures, share};
use crate::chart::{Chart, DataTable, slug};
use crate::draw::axes::{marks, stack, stacked};
use crate::draw::bars::rows_height;
use analysis::Part;
use serde_json::{Value, json};
use words::units;

/// Settings in one picture; the figures have all.
const MOST_ROWS: usize = 24;

/// A setting and what came of it.
type Pipeline = (String, PipelineFigures);

/// Returns the charts over all settings of a study, quickest first.
pub(crate) fn charts<'a>(parts: impl Iterator<Item = &'a Part<'a>>) -> Vec<Chart> {
    let named = |label: &str| if label.is_empty() { "this setting".to_owned() } else { label.to_owned() };
    let found = parts.filter_map(|part| Some((named(&part.label), figures(&part.cells)?)));
    let mut found: Vec<Pipeline> = found.collect();
    found.sort_by(|a, b| b.1.events_per_s.total_cmp(&a.1.events_per_s));
    if found.is_empty() {
        return Vec::new();
    }
    [rate(&found)].into_iter().chain(waiting(&found)).collect()
}

fn rate(found: &[Pipeline]) -> Chart {
    let shown = &found[..found.len().min(MOST_ROWS)];
    let rates: Vec<f64> = shown.iter().map(|(_, pipeline)| pipeline.events_per_s).collect();
    let names = ["events per second".to_owned()];
    let series = vec![stack(&names[0], json!(rates), "$c0")];
    let words: Vec<String> =
        shown.iter().map(|(label, pipeline)| format!("{label} {}", units::count(pipeline.events_per_s))).collect();
    Chart {
        id: slug("events per second"),
        title: "Events summarized per second".into(),
        note: "From the first event parsed to the last one summarized; storing the counters comes after it. More is better.".into(),
        description: format!("Events summarized per second: {}.", words.join(", ")),
        height: rows_height(shown.len()),
        option: stacked(shown.iter().map(|(label, _)| label.clone()).collect(), "rate", None, &names, series),
        table: table(found),
    }
}

/// What each side waited; nothing where no setting has a queue.
fn waiting(found: &[Pipeline]) -> Option<Chart> {
    let queues = found.iter().filter_map(|(label, pipeline)| Some((label, pipeline.queue.as_ref()?)));
    let queues: Vec<_> = queues.take(MOST_ROWS).collect();
    if queues.is_empty() {
        return None;
    }
    let (mut names, mut working, mut waiting, mut full, mut words) = (vec![], vec![], vec![], vec![], vec![]);
    for (label, queue) in &queues {
        for (side, waits) in [("parsers", queue.parsers_waiting), ("summarizers", queue.summarizers_waiting)] {
            names.push(format!("{label} · {side}"));
            working.push(100.0 * (1.0 - waits));
            waiting.push(100.0 * waits);
        }
        names.push(format!("{label} · queue filled"));
        working.push(0.0);
        waiting.push(0.0);
        full.push(json!([100.0 * queue.depth_mean / queue.size.max(1.0), names.len() - 1]));
        words.push(format!(
            "{label}: the parsers wait {}, the summarizers {}",
            share(queue.parsers_waiting),
            share(queue.summarizers_waiting)
        ));
    }
    let most = queues.iter().enumerate();
    let most: Vec<Value> =
        most.map(|(at, (_, queue))| json!([100.0 * queue.depth_max / queue.size.max(1.0), 3 * at + 2])).collect();
    let parts = ["working", "waiting", "queue on average", "queue at most"].map(str::to_owned);
    let mark = |name: &str, symbol: &str, data: Vec<Value>| {
        let mut marks = marks(symbol, data);
        (marks["name"], marks["silent"]) = (name.into(), false.into());
        marks
    };
    let series = vec![
        stack(&parts[0], json!(working), "$c0"),
        stack(&parts[1], json!(waiting), "$l0"),
        mark(&parts[2], "circle", full),
        mark(&parts[3], "diamond", most),
    ];
    Some(Chart {
        id: slug("waiting at the queue"),
        title: "Who waits for whom".into(),
        note: "The share of their time in which both sides work and wait. Circle and diamond: how full the queue was, on average and at most.".into(),
        description: format!("{}.", words.join("; ")),
        height: rows_height(names.len()) + 28,
        option: stacked(names, "percent", Some(100), &parts, series),
        table: table(found),
    })
}

fn table(found: &[Pipeline]) -> DataTable {
    let row = |(label, pipeline): &Pipeline| {
        let [parsers, summarizers, size, mean, max] = match &pipeline.queue {
            None => ["–"; 5].map(str::to_owned),
            Some(queue) => [
                share(queue.parsers_waiting),
                share(queue.summarizers_waiting),
                units::count(queue.size),
                units::count(queue.depth_mean),
                units::count(queue.depth_max),
            ],
        };
        [label.clone(), units::count(pipeline.events_per_s), parsers, summarizers, size, mean, max]
    };
    let columns =
        ["Setting", "Events per second", "Parsers wait", "Summarizers wait", "Queue holds", "On average", "At most"];
    DataTable::of(columns, found.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::charts;
    use analysis::Part;
    use serde_json::json;
    use study::{Answer, Cell, TrialRecord, Verdict};

    fn cell(facts: serde_json::Value) -> Cell {
        let facts = facts.as_object().map(|facts| facts.clone().into_iter().collect()).unwrap_or_default();
        let answer = Answer { facts, ..Answer::default() };
        let trial = TrialRecord { answer, verdict: Verdict::of([]), ..TrialRecord::default() };
        Cell {
            job: "events".into(),
            store: "ram".into(),
            verdict: Verdict::of([]),
            trials: vec![trial],
            ..Cell::default()
        }
    }

    #[test]
    fn settings_are_drawn_quickest_first_and_one_without_a_queue_waits_for_nobody() {
        let ring = cell(
            json!({"summarized_events_per_s": 3e6, "queue": "ring", "queue_size": 4096, "queue_depth_mean": 1024.0,
                   "queue_depth_max": 4096, "parsers_waiting_share": 0.71, "summarizers_waiting_share": 0.02}),
        );
        let alone = cell(json!({"summarized_events_per_s": 2e6}));
        let parts = [("queue=none", &alone), ("queue=ring", &ring)]
            .map(|(label, cell)| Part { label: label.into(), cells: vec![cell] });
        let drawn = charts(parts.iter());
        let [rate, waiting] = &drawn[..] else { panic!("{} charts", drawn.len()) };
        assert_eq!(rate.option["yAxis"]["data"], json!(["queue=ring", "queue=none"]));
        assert_eq!(rate.option["series"][0]["data"], json!([3e6, 2e6]));
        assert_eq!(waiting.option["series"][1]["data"], json!([71.0, 2.0, 0.0]));
        assert_eq!(waiting.option["series"][2]["data"], json!([[25.0, 2]]));
        assert_eq!(waiting.description, "queue=ring: the parsers wait 71 %, the summarizers 2 %.");
        assert_eq!(waiting.table.rows[1], ["queue=none", "2.00M", "–", "–", "–", "–", "–"]);
        assert!(charts(std::iter::empty()).is_empty());
    }
}
