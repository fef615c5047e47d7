//! append as it was in 2011.

use jobkit::{FigureMeasure, Preset, PublishedFigure, Setting};

/// The job of November 2011 on generated events with its number of keys and, nearly, of records.
pub const PRESETS: &[Preset] = &[Preset {
    name: "2011",
    about: "212 million records appended to 78 million keys by one Java client in a machine of 68 GiB (EC2 m2.4xlarge)",
    source: "Aggregate Knowledge, Big Memory, Part 3, 2011-11-15, research.neustar.biz, and its program hashperf",
    data: Some(Setting::Scaled { before: "gen:", full: 78_000_000, after: ":42", what: "keys" }),
    params: &[("append", Setting::Fixed("auto")), ("verify", Setting::Fixed("all"))],
    vary: &[],
    stores: &["berkeleydb", "kyotocabinet", "redis", "memcached"],
    clients: 1,
    pipeline: 10_000,
    time_one_in: Some(1000),
    warmups: 10,
    repeats: 30,
    originals: &[PublishedFigure {
        system: "what it had to sustain",
        store: None,
        params: &[],
        value: 200_000.0,
        measure: FigureMeasure::OpsPerS(""),
    }],
    differences: &[
        "His log is not public: the events are generated, 207,709,935 on 78,000,000 keys, with as many events per key.",
        "He read CSV within the clock and verified nothing; here events are made within the clock (the null cell, his xfer, says \
         what that costs), and every value is read back outside of it.",
        "His rates of single stores were published as plots only, so none is shown here.",
    ],
}];
