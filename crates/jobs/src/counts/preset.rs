//! counts as it was in 2009.

use jobkit::{FigureMeasure, Preset, PublishedFigure, Setting};

const fn messages(system: &'static str, store: Option<&'static str>, value: f64) -> PublishedFigure {
    PublishedFigure { system, store, params: &[], value, measure: FigureMeasure::InputPerS("messages") }
}

/// The job of April 2009, on the shipped messages.
pub const PRESETS: &[Preset] = &[Preset {
    name: "2009",
    about: "counts of words and word pairs of tweets from a Python script, one client",
    source: "Brendan O'Connor, Performance comparison: key/value stores for language model counts, April 2009, brenocon.com",
    data: Some(Setting::Scaled { before: "gen:", full: 25_000, after: ":42", what: "messages" }),
    params: &[("increment", Setting::Fixed("auto"))],
    vary: &[],
    stores: &["tokyocabinet", "berkeleydb", "tyrant", "memcached"],
    clients: 1,
    pipeline: 1,
    time_one_in: None,
    warmups: 0,
    repeats: 3,
    originals: &[
        messages("Python dictionary", Some("ram"), 2700.0),
        messages("Tokyo Cabinet hash", Some("tokyocabinet"), 1400.0),
        messages("Berkeley DB", Some("berkeleydb"), 340.0),
        messages("Tokyo Tyrant, binary protocol", Some("tyrant"), 225.0),
        messages("memcached", Some("memcached"), 120.0),
        messages("Tokyo Tyrant, memcached protocol", None, 85.0),
        messages("memcachedb", None, 0.5),
    ],
    differences: &[
        "His tweets are not public: these messages are generated, with the lengths and word frequencies of real ones.",
        "His memcached client did get, set 0 if absent, increment: --set increment=memcached does.",
        "He gave 17 increments per message, which is the number of words; words and pairs are about twice as many.",
    ],
}];
