//! fans as it was in 2009.

use jobkit::{FigureMeasure, Preset, PublishedFigure, Setting};

const fn seconds(system: &'static str, store: &'static str, value: f64) -> PublishedFigure {
    PublishedFigure { system, store: Some(store), params: &[], value, measure: FigureMeasure::MakespanS }
}

/// The job of November 2009 on generated profiles with its skew.
pub const PRESETS: &[Preset] = &[Preset {
    name: "2009",
    about: "10,000 Facebook profiles from a PHP script, one client, on a MacBook Pro of 2.8 GHz",
    source: "Pete Warden, Real-world benchmarking of key/value stores, November 2009, petewarden.com/2009/11",
    data: Some(Setting::Scaled { before: "gen:", full: 10_000, after: ":42", what: "profiles" }),
    params: &[("policy", Setting::Fixed("partition")), ("variant", Setting::Fixed("blob"))],
    vary: &[],
    stores: &["memcached", "redis-unix", "tyrant-unix", "redis", "mongodb", "tyrant", "mysql"],
    clients: 1,
    pipeline: 1,
    time_one_in: None,
    warmups: 0,
    repeats: 3,
    originals: &[
        seconds("Null", "null", 5.0),
        seconds("RAM", "ram", 21.3),
        seconds("Memcache", "memcached", 35.7),
        seconds("Redis domain socket", "redis-unix", 37.3),
        seconds("Tokyo domain socket", "tyrant-unix", 40.8),
        seconds("Redis TCP socket", "redis", 42.6),
        seconds("Mongo TCP socket", "mongodb", 43.9),
        seconds("Tokyo TCP socket", "tyrant", 45.3),
        seconds("MySQL", "mysql", 543.5),
    ],
    differences: &[
        "His profiles are not public: these are generated, with their skew (he had 406 fans of the top page, here it has 410).",
        "Here the client is compiled, every value is checked, and reading back is not timed.",
    ],
}];
