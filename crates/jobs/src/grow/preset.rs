//! grow as it was in 2009.

use jobkit::{FigureMeasure, Preset, PublishedFigure, Setting};

const fn inserts(system: &'static str, store: Option<&'static str>, value: f64) -> PublishedFigure {
    PublishedFigure { system, store, params: &[], value, measure: FigureMeasure::OpsPerS("fill") }
}

/// The search of 2009 for a keystore that takes 100 million items.
pub const PRESETS: &[Preset] = &[Preset {
    name: "2009",
    about: "100 million items wanted; MySQL filled to 20 million rows, Project Voldemort to 50 million, Tokyo Tyrant as the \
            store that was chosen",
    source: "an engineer's search for a distributed keystore, 2009; his figures as they were handed down, his account was not found",
    data: None,
    params: &[
        ("items", Setting::Scaled { before: "", full: 20_000_000, after: "", what: "items" }),
        ("value", Setting::Fixed("spread")),
        ("reads", Setting::Fixed("0")),
    ],
    vary: &[],
    stores: &["mysql", "tyrant", "tokyocabinet", "rocksdb"],
    clients: 1,
    pipeline: 1,
    time_one_in: None,
    warmups: 0,
    repeats: 1,
    originals: &[
        inserts("MySQL at 20 million rows", Some("mysql"), 400.0),
        inserts("Project Voldemort, one node, at first", None, 1000.0),
        inserts("Project Voldemort, several nodes, after 50 million items (fewer than)", None, 150.0),
        inserts("Tokyo Tyrant (half the bytes of MySQL)", Some("tyrant"), 1600.0),
    ],
    differences: &[
        "The numbers are of 2009 and of other machines; they say how things stood, not how fast these stores are.",
        "The rates of then are at the sizes named; ours is the mean over the whole fill: the curve shows the rate at each size.",
        "The items of then are not public: these are generated, with the sizes of Debian's package descriptions and a heavy tail.",
        "Nothing was verified then; here every item is read back and compared, outside of the clock.",
    ],
}];
