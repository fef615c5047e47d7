//! bulk as it was in 2009.

use jobkit::{FigureMeasure, Preset, PublishedFigure, Setting};

const fn couchdb(
    system: &'static str,
    params: &'static [(&'static str, &'static str)],
    minutes: f64,
) -> PublishedFigure {
    PublishedFigure { system, store: Some("couchdb"), params, value: minutes * 60.0, measure: FigureMeasure::MakespanS }
}

/// The reload of 2009, one document a request and a thousand, under random ids and rising ones.
pub const PRESETS: &[Preset] = &[Preset {
    name: "2009",
    about: "1.9 million JSON documents of 100 to 512 bytes loaded into CouchDB, one by one and in batches",
    source: "a CouchDB user's account of bulk loading (wohali), 2009",
    data: Some(Setting::Scaled { before: "gen:", full: 1_900_000, after: ":42", what: "documents" }),
    params: &[("batch", Setting::Fixed("1000")), ("ids", Setting::Fixed("sequential"))],
    vary: &[("batch", "1,1000"), ("ids", "random,sequential")],
    stores: &["couchdb", "mongodb", "postgres", "mysql", "sqlite"],
    clients: 1,
    pipeline: 1,
    time_one_in: None,
    warmups: 0,
    repeats: 3,
    originals: &[
        couchdb("CouchDB, one by one", &[("batch", "1"), ("ids", "random")], 480.0),
        couchdb("CouchDB, batches, random ids", &[("batch", "1000"), ("ids", "random")], 42.0),
        couchdb("CouchDB, batches, rising ids", &[("batch", "1000"), ("ids", "sequential")], 12.0),
    ],
    differences: &[
        "The documents were a company's: these are generated, of the same sizes.",
        "Rising ids also made the file six times smaller than random ones: compare the sizes on disk.",
        "There every run scrolled upward through the batch sizes, which showed a peak at 3,000 that random order did not.",
    ],
}];
