//! events as it was in 2012.

use jobkit::{FigureMeasure, Preset, PublishedFigure, Setting};

const fn events(system: &'static str, params: &'static [(&'static str, &'static str)], value: f64) -> PublishedFigure {
    PublishedFigure { system, store: Some("ram"), params, value, measure: FigureMeasure::InputPerS("events") }
}

/// The summarizer of 2012.
pub const PRESETS: &[Preset] = &[Preset {
    name: "2012",
    about: "a summarizer of events: parsers, queues and summarizers in one process, each kind of event by itself",
    source: "Aggregate Knowledge's engineering blog, on tuning the queues of the summarizer, 2012",
    data: None,
    params: &[
        ("events", Setting::Scaled { before: "", full: 1_000_000, after: "", what: "events" }),
        ("parsers", Setting::Fixed("2")),
        ("summarizers", Setting::Fixed("2")),
    ],
    vary: &[("format", "v1,v2"), ("queue", "none,mutex-array,mutex-list")],
    stores: &["ram"],
    clients: 1,
    pipeline: 1,
    time_one_in: None,
    warmups: 1,
    repeats: 3,
    originals: &[
        events("one thread, v1 (reached)", &[("format", "v1"), ("queue", "none")], 130_000.0),
        events("array queue, v1 (wanted)", &[("format", "v1"), ("queue", "mutex-array")], 200_000.0),
        events("array queue, v2 (wanted)", &[("format", "v2"), ("queue", "mutex-array")], 100_000.0),
    ],
    differences: &[
        "His events are not public: these are generated, and each adds to one to six counters.",
        "He gave the rates that were reached without a queue and wanted with one, and no rate per queue: mutex-array is his \
         ArrayBlockingQueue, mutex-list his LinkedBlockingQueue. He found the list ahead from three summarizers on.",
        "He used Java; here are two parsers and two summarizers in Rust.",
        "Waiting is the same for every queue here: a side that has to wait looks 100 times, then sleeps.",
    ],
}];
