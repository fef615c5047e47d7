//! crud as it was in 2016.

use jobkit::{Preset, Setting};

/// The comparison of SQL and key/value interfaces over the same storage engine.
pub const PRESETS: &[Preset] = &[Preset {
    name: "2016",
    about: "160,000 rows inserted, selected, updated and deleted over 1 to 16 connections: what does the SQL layer cost?",
    source: "atomic77, kvbench, and its account on notsobigdata.blogspot.com, 2016",
    data: None,
    params: &[
        ("rows", Setting::Scaled { before: "", full: 160_000, after: "", what: "rows" }),
        ("insert", Setting::Fixed("put")),
    ],
    vary: &[("clients", "1,2,4,8,16")],
    stores: &["memcached", "mysql", "postgres"],
    clients: 16,
    pipeline: 1,
    time_one_in: None,
    warmups: 0,
    repeats: 3,
    originals: &[],
    differences: &[
        "The original was published as plots, without the numbers: there is nothing to print beside ours.",
        "There memcached took its keys in rising order and the SQL servers at random; here every store takes them at random.",
        "There errors were not looked at and rows not verified, and rates of clients that ended at different times were added up.",
        "Keys are decimal text in every store; there they were integers in the SQL servers.",
    ],
}];
