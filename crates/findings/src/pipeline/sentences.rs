//! What the pipeline of the job `events` came to: its rate, how long each side waited, how full the queues were.

use serde_json::Value;
use study::Cell;
use words::units;

/// Below this share of its time a side hardly waits.
const HARDLY: f64 = 0.1;
/// A side that waits this many times as long as the other waits for it.
const FAR_MORE: f64 = 3.0;

/// The pipeline of one setting: medians over its trials on every store, which it has nothing to do with.
#[derive(Clone, Debug, PartialEq)]
pub struct PipelineFigures {
    /// Events per second, from the first one parsed to the last one summarized.
    pub events_per_s: f64,
    /// What was between both sides; `None`: one thread did it all.
    pub queue: Option<QueueFigures>,
}

/// The figures of the queue.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueFigures {
    /// Its name.
    pub name: String,
    /// Entries it can hold.
    pub size: f64,
    /// Entries in it, on average over the times a summarizer took some.
    pub depth_mean: f64,
    /// Most entries in it.
    pub depth_max: f64,
    /// Share of the parsers' time in which there was no room.
    pub parsers_waiting: f64,
    /// Share of the summarizers' time in which there was nothing.
    pub summarizers_waiting: f64,
}

impl QueueFigures {
    /// Which side decides, and what to do.
    fn conclusion(&self) -> &'static str {
        let (parsers, summarizers) = (self.parsers_waiting, self.summarizers_waiting);
        let waits_for = |side: f64, other: f64| side >= HARDLY && (other < HARDLY || side >= FAR_MORE * other);
        if parsers.max(summarizers) < HARDLY {
            "Neither waits for the other: the work is the limit, not the queue."
        } else if waits_for(parsers, summarizers) {
            "The summarizers are the limit: more parsers or a larger queue change nothing; another summarizer may help."
        } else if waits_for(summarizers, parsers) {
            "The parsers are the limit: more summarizers or a larger queue change nothing; another parser may help."
        } else {
            "Both wait in turn: a larger batch or queue may change that."
        }
    }
}

/// Returns the figures for the cells of one combination of parameters; `None` where none is of the job.
pub fn figures(cells: &[&Cell]) -> Option<PipelineFigures> {
    let cells: Vec<&&Cell> = cells.iter().filter(|cell| cell.job == "events" && cell.verdict.is_ranked()).collect();
    let fact = |name: &str| {
        let trials = cells.iter().flat_map(|cell| cell.counted());
        let found: Vec<f64> = trials.filter_map(|trial| trial.answer.facts.get(name).and_then(Value::as_f64)).collect();
        stats::median(&found)
    };
    let name = cells.first().and_then(|cell| cell.counted().next()?.answer.facts.get("queue")?.as_str());
    let queue = |name: &str| {
        Some(QueueFigures {
            name: name.to_owned(),
            size: fact("queue_size")?,
            depth_mean: fact("queue_depth_mean")?,
            depth_max: fact("queue_depth_max")?,
            parsers_waiting: fact("parsers_waiting_share")?,
            summarizers_waiting: fact("summarizers_waiting_share")?,
        })
    };
    Some(PipelineFigures { events_per_s: fact("summarized_events_per_s")?, queue: name.and_then(queue) })
}

/// Returns `71 %`.
pub fn share(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Returns sentences on the figures of one combination of parameters; none where no cell is of the job.
pub fn sentences(cells: &[&Cell]) -> Vec<String> {
    let Some(pipeline) = figures(cells) else { return Vec::new() };
    let rate = units::count(pipeline.events_per_s);
    let Some(queue) = &pipeline.queue else {
        return vec![format!("{rate} events summarized per second by one thread that parses and sums.")];
    };
    vec![format!(
        "{rate} events summarized per second through {}: the parsers wait {} of their time, the summarizers {}; of {} entries the queue holds \
         {} on average, {} at most. {}",
        queue.name,
        share(queue.parsers_waiting),
        share(queue.summarizers_waiting),
        units::count(queue.size),
        units::count(queue.depth_mean),
        units::count(queue.depth_max),
        queue.conclusion()
    )]
}

#[cfg(test)]
mod tests {
    use super::{figures, sentences};
    use serde_json::json;
    use study::{Answer, Cell, TrialRecord, Verdict};

    fn cell(store: &str, facts: serde_json::Value) -> Cell {
        let facts = facts.as_object().map(|facts| facts.clone().into_iter().collect()).unwrap_or_default();
        let answer = Answer { facts, ..Answer::default() };
        let trial = TrialRecord { answer, verdict: Verdict::of([]), ..TrialRecord::default() };
        Cell {
            job: "events".into(),
            store: store.into(),
            verdict: Verdict::of([]),
            trials: vec![trial],
            ..Cell::default()
        }
    }

    fn waiting(store: &str, parsers: f64, summarizers: f64) -> Cell {
        cell(
            store,
            json!({"summarized_events_per_s": 2.5e6, "queue": "ring", "queue_size": 4096, "queue_depth_mean": 3100.5,
                   "queue_depth_max": 4096, "parsers_waiting_share": parsers, "summarizers_waiting_share": summarizers}),
        )
    }

    #[test]
    fn the_side_that_does_not_wait_decides() {
        let (a, b, c) = (waiting("ram", 0.7, 0.02), waiting("lmdb", 0.72, 0.01), waiting("redb", 0.71, 0.03));
        assert_eq!(
            sentences(&[&a, &b, &c]),
            [
                "2.50M events summarized per second through ring: the parsers wait 71 % of their time, the summarizers 2 %; of 4.10k entries \
              the queue holds 3.10k on average, 4.10k at most. The summarizers are the limit: more parsers or a larger queue change nothing; \
              another summarizer may help."
            ]
        );
        for (parsers, summarizers, words) in [
            (0.02, 0.5, "The parsers are the limit"),
            (0.12, 0.8, "The parsers are the limit"),
            (0.02, 0.03, "the work is the limit, not the queue"),
            (0.3, 0.4, "Both wait in turn"),
        ] {
            let cell = waiting("ram", parsers, summarizers);
            assert!(sentences(&[&cell])[0].contains(words), "{words}");
        }
    }

    #[test]
    fn without_a_queue_nobody_waits_and_other_jobs_have_no_pipeline() {
        let alone = cell("ram", json!({"summarized_events_per_s": 1.25e6}));
        assert_eq!(sentences(&[&alone]), ["1.25M events summarized per second by one thread that parses and sums."]);
        assert_eq!(figures(&[&Cell { job: "counts".into(), ..alone }]), None);
    }
}
