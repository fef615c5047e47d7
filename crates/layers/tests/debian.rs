//! The names of 63,440 packages of Debian 12, and where independent implementations put them: Python (zlib, xxhash) by `modulo` and
//! `jump`, uhashring 2.5 (`HashRing(hash_fn="ketama")`) by `ketama`.
#![allow(clippy::unwrap_used, missing_docs)]

use flate2::read::GzDecoder;
use kvtrial_layers::placement::{Algorithm, Placement};
use std::io::{BufRead, BufReader};

fn names() -> Vec<String> {
    let file = &include_bytes!("debian_keys.txt.gz")[..];
    BufReader::new(GzDecoder::new(file)).lines().map(Result::unwrap).collect()
}

fn counts(placement: &Placement, keys: &[String]) -> Vec<u32> {
    let mut counts = vec![0; placement.nodes()];
    keys.iter().for_each(|key| counts[placement.node(key.as_bytes())] += 1);
    counts
}

fn moved(algorithm: Algorithm, keys: &[String]) -> usize {
    let [before, after] = [8, 9].map(|nodes| Placement::new(algorithm, nodes));
    keys.iter().filter(|key| before.node(key.as_bytes()) != after.node(key.as_bytes())).count()
}

#[test]
fn packages_lie_where_others_put_them() {
    let keys = names();
    assert_eq!(keys.len(), 63_440);
    let of = |algorithm, nodes| counts(&Placement::new(algorithm, nodes), &keys);
    assert_eq!(of(Algorithm::Modulo, 8), [7982, 7901, 7786, 8037, 8004, 7875, 7937, 7918]);
    assert_eq!(of(Algorithm::Jump, 8), [7832, 7933, 8021, 7962, 8024, 7942, 7921, 7805]);
    assert_eq!(of(Algorithm::Jump, 9), [6932, 7063, 7137, 7046, 7156, 7051, 7042, 6912, 7101]);
    assert_eq!(of(Algorithm::Ketama, 8), [7086, 8002, 7603, 8222, 8597, 8053, 8225, 7652]);
    assert_eq!(of(Algorithm::Ketama, 9), [6601, 6831, 6459, 7426, 7540, 7213, 7123, 6633, 7614]);
    assert_eq!(of(Algorithm::Ketama, 100)[..6], [617, 637, 544, 711, 697, 663]);
    assert_eq!(moved(Algorithm::Ketama, &keys), 7614);
    assert_eq!((moved(Algorithm::Jump, &keys), moved(Algorithm::Modulo, &keys)), (7101, 56_406));
}
