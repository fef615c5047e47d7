//! sets as they were in 2011.

use jobkit::{Preset, Setting};

/// The counting of user ids in 2011.
pub const PRESETS: &[Preset] = &[Preset {
    name: "2011",
    about: "cardinality, union and intersection of sets of 64-bit user ids: hash sets were good up to 1 million ids and prohibitively \
            slow from 10 million on; an index map with arrays of bits took their place",
    source: "Aggregate Knowledge's engineering blog, Working with large sets, 13 May 2011",
    data: None,
    params: &[("ids", Setting::Scaled { before: "", full: 10_000_000, after: "", what: "ids per set" })],
    vary: &[("overlap", "0.5,0.1,0.01")],
    stores: &[
        "ram,way=hash",
        "ram,way=sorted",
        "ram,way=bitmap",
        "ram,way=roaring",
        "ram,way=indexed",
        "ram,way=hll",
        "ram,way=theta",
    ],
    clients: 1,
    pipeline: 1,
    time_one_in: None,
    warmups: 0,
    repeats: 3,
    originals: &[],
    differences: &[
        "He gave sizes and no times, so there are no numbers of his to print beside these.",
        "His sets were real user ids; these are generated, with an overlap that is known.",
        "He used Java; these ways are kvtrial's own memory in Rust. Stores can be added with -s.",
        "Sketches (hll, theta) were not in his comparison; the overlap is varied because it decides what they are worth.",
    ],
}];
