//! A bound on response time: `p99<2ms`.

use std::fmt;
use std::str::FromStr;
use study::LatencySummary;

/// A percentile of response time and what it must stay below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    percentile: Percentile,
    /// The limit, nanoseconds.
    pub limit_ns: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Percentile {
    Mean,
    P50,
    P90,
    P95,
    P99,
    P99_9,
    Max,
}

const NAMES: [(Percentile, &str); 7] = [
    (Percentile::Mean, "mean"),
    (Percentile::P50, "p50"),
    (Percentile::P90, "p90"),
    (Percentile::P95, "p95"),
    (Percentile::P99, "p99"),
    (Percentile::P99_9, "p99.9"),
    (Percentile::Max, "max"),
];

/// Longest unit first, so that `ms` is not read as minutes of something.
const UNITS: [(&str, f64); 5] = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];

impl Bound {
    /// Returns the figure the bound is about, of all that was asked, nanoseconds; beyond any bound where it was not reached, as operations
    /// failed.
    pub fn figure(&self, response: &LatencySummary) -> f64 {
        let asked = response.of_asked();
        let reached = |ns: Option<u64>| ns.map_or(f64::MAX, |ns| ns as f64);
        match self.percentile {
            Percentile::Mean | Percentile::Max if response.failed > 0 => f64::MAX,
            Percentile::Mean => response.mean,
            Percentile::P50 => reached(asked.p50),
            Percentile::P90 => reached(asked.p90),
            Percentile::P95 => reached(asked.p95),
            Percentile::P99 => reached(asked.p99),
            Percentile::P99_9 => reached(asked.p99_9),
            Percentile::Max => response.max as f64,
        }
    }

    /// Returns how long a trial must last to show whether a rate can be kept: at a rate one part in 25 too high, what is late grows to the
    /// bound within this time. In a shorter trial a rate no store can keep would seem to be kept.
    pub fn needs_s(&self) -> f64 {
        self.limit_ns * 25.0 / 1e9
    }
}

impl FromStr for Bound {
    type Err = String;

    fn from_str(text: &str) -> Result<Bound, String> {
        let wrong = || format!("'{text}' is not a bound; write PERCENTILE<TIME, such as p99<2ms or p99.9<500us");
        let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (name, time) = compact.split_once('<').ok_or_else(wrong)?;
        let known: Vec<&str> = NAMES.iter().map(|(_, name)| *name).collect();
        let of_name = NAMES.iter().find(|(_, known)| *known == name);
        let &(percentile, _) = of_name.ok_or_else(|| format!("'{name}' is not measured; use {}", known.join(", ")))?;
        let digits = time.trim_end_matches(|c: char| c.is_alphabetic());
        let &(_, ns) = UNITS.iter().find(|(unit, _)| *unit == &time[digits.len()..]).ok_or_else(wrong)?;
        let number: f64 = digits.parse().map_err(|_| wrong())?;
        let limit_ns = number * ns;
        if (100.0..=3.6e12).contains(&limit_ns) {
            Ok(Bound { percentile, limit_ns })
        } else {
            Err(format!("'{text}': the limit must be between 100ns and 3600s"))
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(percentile, _)| *percentile == self.percentile).map_or("", |(_, name)| name);
        let (unit, ns) = match self.limit_ns {
            1e9.. => ("s", 1e9),
            1e6.. => ("ms", 1e6),
            1e3.. => ("us", 1e3),
            _ => ("ns", 1.0),
        };
        write!(f, "{name}<{}{unit}", self.limit_ns / ns)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Bound;
    use study::LatencySummary;

    #[test]
    fn bounds_are_read_as_people_write_them() {
        for (text, shown, limit_ns) in [
            ("p99<2ms", "p99<2ms", 2e6),
            ("p99.9 < 500us", "p99.9<500us", 5e5),
            ("mean<1.5s", "mean<1.5s", 1.5e9),
            ("max<250µs", "max<250us", 2.5e5),
            ("p50<800ns", "p50<800ns", 800.0),
        ] {
            let bound: Bound = text.parse().unwrap();
            assert_eq!((bound.to_string().as_str(), bound.limit_ns), (shown, limit_ns));
        }
        let response = LatencySummary { p95: 7, p99: 9, ..LatencySummary::default() };
        assert_eq!("p95<1ms".parse::<Bound>().unwrap().figure(&response), 7.0);
    }

    #[test]
    fn what_is_no_bound_is_answered_with_an_example() {
        for text in ["2ms", "p99>2ms", "p99<2", "p99<ms", "p99<2h", "p99<"] {
            assert!(text.parse::<Bound>().unwrap_err().contains("p99<2ms"), "{text}");
        }
        assert!("p98<2ms".parse::<Bound>().unwrap_err().contains("p99.9"));
        assert!("p99<1ns".parse::<Bound>().unwrap_err().contains("100ns"));
    }
}
