//! The generator of fan profiles: integers only, so every port of it gives the same bytes.
//!
//! 60,000 pages with Zipf-Mandelbrot popularity (weight of rank r is 2^40 / (r + 45)), each at home in one of 60
//! clusters. A profile has a size from a table of quantiles and two favourite clusters; of its draws 20 % go to all
//! pages, 50 % to its first cluster, 30 % to its second. The skew is that of the original job of 2009: the top page
//! has 410 fans of 10,000.

use crate::splitmix::{Rng, mix};
use crate::weights::{WeightTable, quantile, zipf};
use std::fmt::Write;

const PAGES: u64 = 60_000;
const CLUSTERS: u64 = 60;
const GLOBAL_PERMILLE: u64 = 200;
const FIRST_PERMILLE: u64 = 500;

/// Cumulative share in millionths, profile size.
const SIZES: [(u64, u64); 16] = [
    (0, 1),
    (50_000, 2),
    (150_000, 3),
    (250_000, 4),
    (350_000, 5),
    (430_000, 6),
    (500_000, 7),
    (600_000, 9),
    (700_000, 11),
    (800_000, 15),
    (900_000, 22),
    (950_000, 30),
    (980_000, 43),
    (990_000, 54),
    (999_000, 105),
    (1_000_000, 200),
];

/// Makes profile after profile.
pub struct Generator {
    rng: Rng,
    pages: WeightTable,
    /// Pages at home in each cluster, most popular first, and how to draw one.
    clusters: Vec<(Vec<u32>, WeightTable)>,
    cluster: WeightTable,
    profile: Vec<u32>,
}

impl Generator {
    /// Makes the stream of this seed.
    pub fn new(seed: u64) -> Generator {
        let mut members = vec![Vec::new(); CLUSTERS as usize];
        for page in 0..PAGES {
            members[(mix(page ^ 0xFA4) % CLUSTERS) as usize].push(page as u32);
        }
        let weights: Vec<u64> = zipf(PAGES, 45, 4).collect();
        Generator {
            rng: Rng::new(seed),
            pages: WeightTable::new(weights.iter().copied()),
            clusters: members
                .into_iter()
                .map(|pages| {
                    let table = WeightTable::new(pages.iter().map(|&page| weights[page as usize]));
                    (pages, table)
                })
                .collect(),
            cluster: WeightTable::new(zipf(CLUSTERS, 8, 4)),
            profile: Vec::new(),
        }
    }

    /// Returns the next profile: page numbers, each once.
    pub fn profile(&mut self) -> &[u32] {
        let Generator { rng, pages, clusters, cluster, profile } = self;
        let size = quantile(&SIZES, rng) as usize;
        let first = cluster.draw(rng);
        let second = cluster.draw(rng);
        profile.clear();
        let mut tries = 0;
        while profile.len() < size && tries < 20 * size {
            tries += 1;
            let choice = rng.below(1000);
            let page = if choice < GLOBAL_PERMILLE {
                pages.draw(rng) as u32
            } else {
                let (members, table) =
                    &clusters[if choice < GLOBAL_PERMILLE + FIRST_PERMILLE { first } else { second }];
                members[table.draw(rng)]
            };
            if !profile.contains(&page) {
                profile.push(page);
            }
        }
        profile
    }
}

/// Returns the line of profile number `number`: `u0000007 \t page page ...`, without its end.
pub(super) fn line(number: u64, pages: &[u32]) -> String {
    let mut line = format!("u{number:07}");
    for (at, page) in pages.iter().enumerate() {
        let _ = write!(line, "{}http://www.facebook.com/page{page:05}", if at == 0 { '\t' } else { ' ' });
    }
    line
}
