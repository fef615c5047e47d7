//! What users need of a store, as they write it: `p99<5ms`, `rate>=2000`, `disk<5x`, `durability=os`.

mod ruling;

use crate::amount::{amount, share};
use crate::{Metric, Unit};
use std::fmt;
use std::str::FromStr;
use study::Durability;

pub use ruling::{ALPHA as NEED_ALPHA, fill_needs, meets_all, shown, shown_at};

/// Most that a need may ask of space, as a multiple: beyond it a slip of the pen.
const MOST_TIMES: f64 = 1e6;

/// A need, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// The need as it was written.
    pub text: String,
    /// What it asks for.
    pub kind: NeedKind,
}

/// What a need asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NeedKind {
    /// At least this many operations (or units of a script) per second.
    Rate(f64),
    /// Less than this of a figure of which less is better, in [`Metric::unit`].
    Below(Metric, f64),
    /// Less than this many bytes of memory: of the server, or of an embedded store beyond what the same job takes without a store.
    Memory(f64),
    /// Less than this on disk.
    Disk(DiskBound),
    /// This level of durability, or a stronger one.
    Durability(Durability),
    /// No acknowledged write lost while nodes fail.
    NoLoss,
    /// At least this many records held.
    Items(u64),
}

/// DiskBound on disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DiskBound {
    /// A number of bytes.
    Bytes(f64),
    /// A multiple of the bytes of keys and values.
    Times(f64),
}

/// A need that cannot be read, and how to write it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--need '{need}': {problem}")]
pub struct NeedError {
    /// The need as it was written.
    pub need: String,
    /// The problem, and what to write instead.
    pub problem: String,
}

/// The names of needs with an example of each.
const EXAMPLES: [(&str, &str); 11] = [
    ("rate", "rate>=2000"),
    ("p50", "p50<1ms"),
    ("p95", "p95<2ms"),
    ("p99", "p99<5ms"),
    ("p99.9", "p99.9<20ms"),
    ("makespan", "makespan<10s"),
    ("failed", "failed<0.1%"),
    ("memory", "memory<1GiB"),
    ("disk", "disk<5x"),
    ("durability", "durability=os"),
    ("loss", "loss=0"),
];
/// One more, for jobs that say how many records they leave.
const ITEMS: (&str, &str) = ("items", "items>=1M");

/// Metrics that a need may bound, besides memory and disk, which have words of their own.
const BOUNDED: [Metric; 6] = [Metric::P50, Metric::P95, Metric::P99, Metric::P999, Metric::Makespan, Metric::Failed];

impl Need {
    /// Returns what the need is about, a word: two needs of one word contradict or repeat each other.
    pub fn word(&self) -> &'static str {
        match self.kind {
            NeedKind::Rate(_) => "rate",
            NeedKind::Below(metric, _) => metric.name(),
            NeedKind::Memory(_) => "memory",
            NeedKind::Disk(_) => "disk",
            NeedKind::Durability(_) => "durability",
            NeedKind::NoLoss => "loss",
            NeedKind::Items(_) => ITEMS.0,
        }
    }

    /// Returns the unit of the figure it is held against; `None` where that is a plain number, a level or a multiple.
    pub fn unit(&self) -> Option<Unit> {
        match self.kind {
            NeedKind::Rate(_) => Some(Unit::PerSecond),
            NeedKind::Below(metric, _) => Some(metric.unit()),
            NeedKind::Memory(_) | NeedKind::Disk(DiskBound::Bytes(_)) => Some(Unit::Bytes),
            NeedKind::Disk(DiskBound::Times(_)) | NeedKind::Durability(_) | NeedKind::NoLoss | NeedKind::Items(_) => {
                None
            }
        }
    }

    /// Checks that no two needs are about the same figure.
    ///
    /// # Errors
    /// Two are.
    pub fn distinct(needs: &[Need]) -> Result<(), NeedError> {
        for (at, need) in needs.iter().enumerate() {
            if let Some(known) = needs[..at].iter().find(|known| known.word() == need.word()) {
                let problem = format!("'{}' is about {} as well; leave one of them out", known.text, need.word());
                return Err(NeedError { need: need.text.clone(), problem });
            }
        }
        Ok(())
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl FromStr for Need {
    type Err = NeedError;

    fn from_str(text: &str) -> Result<Need, NeedError> {
        let kind = kind(text.trim()).map_err(|problem| NeedError { need: text.to_owned(), problem })?;
        Ok(Need { text: text.split_whitespace().collect(), kind })
    }
}

/// The relation of a need between its figure and its bound.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    Less,
    More,
    Equal,
}

fn kind(text: &str) -> Result<NeedKind, String> {
    let all =
        || EXAMPLES.iter().chain([&ITEMS]).map(|(_, example)| format!("'{example}'")).collect::<Vec<_>>().join(", ");
    let at = text.find(['<', '>', '=']).ok_or_else(|| format!("write a figure and its bound: {}", all()))?;
    let (name, rest) = (text[..at].trim(), &text[at..]);
    let bound = rest.trim_start_matches(['<', '>', '=']);
    let relation = match &rest[..rest.len() - bound.len()] {
        "<" | "<=" => Relation::Less,
        ">" | ">=" => Relation::More,
        "=" | "==" => Relation::Equal,
        other => return Err(format!("'{other}' is no relation; use one of: {}", all())),
    };
    let bound = bound.trim();
    let Some((name, example)) = EXAMPLES.iter().chain([&ITEMS]).find(|(known, _)| *known == name) else {
        return Err(format!("'{name}' is no figure a need can be about; use one of: {}", all()));
    };
    let right = |wanted: Relation| match relation == wanted {
        true => Ok(()),
        false => Err(format!("the relation is the wrong way; write it as in '{example}'")),
    };
    if bound.is_empty() {
        return Err(format!("the bound is missing, as in '{example}'"));
    }
    match *name {
        "rate" => right(Relation::More).and_then(|()| amount(bound, Unit::PerSecond)).map(NeedKind::Rate),
        "items" => {
            right(Relation::More)?;
            let items =
                amount(bound, Unit::PerSecond).ok().filter(|items| items.fract() == 0.0 && !bound.contains('/'));
            items
                .map(|items| NeedKind::Items(items as u64))
                .ok_or_else(|| format!("write a whole number, as in '{example}'"))
        }
        "memory" => right(Relation::Less).and_then(|()| amount(bound, Unit::Bytes)).map(NeedKind::Memory),
        "disk" => right(Relation::Less).and_then(|()| space(bound)).map(NeedKind::Disk),
        "durability" => {
            right(Relation::Equal)?;
            let level: Durability = bound.parse().map_err(|unknown: study::UnknownDurability| unknown.to_string())?;
            match level {
                Durability::None => Err("every store has that; use os, second or commit".into()),
                level => Ok(NeedKind::Durability(level)),
            }
        }
        "loss" if relation == Relation::Equal && bound == "0" => Ok(NeedKind::NoLoss),
        "loss" => Err("write loss=0: an acknowledged write is lost, or it is not".into()),
        name => {
            right(Relation::Less)?;
            let metric = BOUNDED.into_iter().find(|metric| metric.name() == name).unwrap_or(Metric::P99);
            let bound = match metric.unit() {
                Unit::Share => share(
                    bound
                        .strip_suffix('%')
                        .ok_or_else(|| format!("'{bound}' needs the unit %, as in '{example}'"))?
                        .trim(),
                )?,
                unit => amount(bound, unit)?,
            };
            Ok(NeedKind::Below(metric, bound))
        }
    }
}

/// Reads `5x` or `10GB`.
fn space(bound: &str) -> Result<DiskBound, String> {
    let Some(times) = bound.strip_suffix('x') else {
        return amount(bound, Unit::Bytes)
            .map(DiskBound::Bytes)
            .map_err(|problem| format!("{problem}, or 5x: five bytes per byte of keys and values"));
    };
    match times.trim().parse::<f64>() {
        Ok(times) if times > 0.0 && times <= MOST_TIMES => Ok(DiskBound::Times(times)),
        _ => Err(format!("'{bound}' is no multiple; write one above 0, such as 5x")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{DiskBound, EXAMPLES, ITEMS, Need, NeedKind};
    use crate::Metric;
    use study::Durability;

    fn kind(text: &str) -> NeedKind {
        text.parse::<Need>().unwrap().kind
    }

    #[test]
    fn needs_are_read_as_people_write_them() {
        assert_eq!(kind("rate>=2000"), NeedKind::Rate(2_000.0));
        assert_eq!(kind("rate >= 2k"), NeedKind::Rate(2_000.0));
        assert_eq!(kind("p99<5ms"), NeedKind::Below(Metric::P99, 5e6));
        assert_eq!(kind("p99.9 <= 500us"), NeedKind::Below(Metric::P999, 5e5));
        assert_eq!(kind("failed<0.1%"), NeedKind::Below(Metric::Failed, 0.001));
        assert_eq!(kind("memory<1GiB"), NeedKind::Memory(1073741824.0));
        assert_eq!(kind("disk<5x"), NeedKind::Disk(DiskBound::Times(5.0)));
        assert_eq!(kind("disk<10GB"), NeedKind::Disk(DiskBound::Bytes(1e10)));
        assert_eq!(kind("durability=os"), NeedKind::Durability(Durability::Os));
        assert_eq!(kind("loss=0"), NeedKind::NoLoss);
        assert_eq!(kind("items>=100M"), NeedKind::Items(100_000_000));
        assert_eq!("p99 < 5 ms".parse::<Need>().unwrap().text, "p99<5ms");
    }

    #[test]
    fn every_example_is_a_need_about_the_word_it_is_an_example_of() {
        for (word, example) in EXAMPLES.into_iter().chain([ITEMS]) {
            assert_eq!(example.parse::<Need>().unwrap().word(), word);
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_what_to_write() {
        for (text, said) in [
            ("fast", "'p99<5ms'"),
            ("speed>5", "'speed' is no figure"),
            ("p99<5", "needs one of the units ns, us"),
            ("p99>5ms", "the relation is the wrong way; write it as in 'p99<5ms'"),
            ("rate<10", "'rate>=2000'"),
            ("rate>=0", "above 0"),
            ("p99<", "the bound is missing"),
            ("p99<-1ms", "above 0"),
            ("memory<1", "needs one of the units B, kB"),
            ("disk<5", "or 5x"),
            ("disk<0x", "above 0"),
            ("failed<0.1", "needs the unit %"),
            ("durability=none", "every store has that"),
            ("durability=commitment", "commit"),
            ("loss=1", "write loss=0"),
            ("items>=1.5", "whole number"),
            ("p99=<5ms", "no relation"),
        ] {
            let problem = text.parse::<Need>().unwrap_err().to_string();
            assert!(problem.starts_with("--need '") && problem.contains(said), "{text}: {problem}");
        }
        let twice = Need::distinct(&["p99<5ms", "p99<3ms"].map(|text| text.parse().unwrap())).unwrap_err().to_string();
        assert!(twice.contains("'p99<5ms' is about p99 as well"), "{twice}");
    }
}
