//! Sets of 64-bit ids: generated with a known overlap, or read from a file of `SET,ID` lines.

use crate::digest::{LineDigest, of_bytes};
use crate::lines::Lines;
use crate::splitmix::{mix, unmix};
use crate::{DataError, Spot};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

const REMEDY: &str = "write SET,ID or SET<tab>ID: a name without commas and a number below 2^64, and no header";

/// Most sets a file may have.
const MOST_SETS: usize = 256;

/// The way in which generated ids lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdKind {
    /// Spread over all 64 bits.
    Random,
    /// One after the other.
    Dense,
}

impl IdKind {
    /// Returns id number `at` of all.
    #[inline]
    pub fn id(self, at: u64) -> u64 {
        match self {
            IdKind::Random => mix(at),
            IdKind::Dense => at,
        }
    }

    /// The number of an id.
    #[inline]
    fn number(self, id: u64) -> u64 {
        match self {
            IdKind::Random => unmix(id),
            IdKind::Dense => id,
        }
    }
}

/// Sets with names, in the order of their names, and their ids in the order in which they are to be added.
pub struct IdSets {
    source_name: String,
    digest: String,
    names: Vec<String>,
    /// As they are added: a file may name an id twice.
    added: Vec<Vec<u64>>,
    known: Known,
}

/// What tells whether an id is in a set.
enum Known {
    /// Of each set the numbers its ids are made from.
    Numbers(IdKind, Vec<Range<u64>>),
    /// Each set without what was named twice, rising.
    Sorted(Vec<Vec<u64>>),
}

impl IdSets {
    /// Returns two sets of `ids` ids each, `common` of them in both; random ones rest on the seed.
    pub fn generate(ids: u64, common: u64, kind: IdKind, seed: u64) -> IdSets {
        let first = match kind {
            // No seed shares an id with another, up to 2^31 ids.
            IdKind::Random => (seed << 32).min(u64::MAX - 2 * ids),
            IdKind::Dense => 0,
        };
        let ranges = vec![first..first + ids, first + ids - common..first + 2 * ids - common];
        let added = ranges.iter().map(|range| range.clone().map(|at| kind.id(at)).collect()).collect();
        let name = match kind {
            IdKind::Random => "random",
            IdKind::Dense => "dense",
        };
        IdSets {
            source_name: format!("two sets of {ids} {name} ids, {common} in both"),
            digest: of_bytes(format!("{name} {ids} {common} {first}").as_bytes()),
            names: vec!["a".into(), "b".into()],
            added,
            known: Known::Numbers(kind, ranges),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Names the line and column, and how to write it.
    pub fn read(path: &Path) -> Result<IdSets, DataError> {
        let source_name = path.display().to_string();
        let mut lines = Lines::open(path)?;
        let (mut sets, mut digest) = (BTreeMap::<String, Vec<u64>>::new(), LineDigest::default());
        while let Some((number, line)) = lines.next_line()? {
            digest.line(&[line.as_bytes()]);
            if line.trim_ascii().is_empty() {
                continue;
            }
            let (name, id) = member(line).map_err(|(byte, problem)| {
                DataError::at(&source_name, Spot::of(number, line.as_bytes(), byte), problem, REMEDY)
            })?;
            match sets.get_mut(name) {
                Some(ids) => ids.push(id),
                None => drop(sets.insert(name.to_owned(), vec![id])),
            }
        }
        if !(2..=MOST_SETS).contains(&sets.len()) {
            let problem = format!("it names {} sets; 2 to {MOST_SETS} can be compared", sets.len());
            return Err(DataError::whole(&source_name, problem, REMEDY));
        }
        let (names, added): (Vec<String>, Vec<Vec<u64>>) = sets.into_iter().unzip();
        let sorted = |ids: &Vec<u64>| {
            let mut ids = ids.clone();
            ids.sort_unstable();
            ids.dedup();
            ids
        };
        let known = Known::Sorted(added.iter().map(sorted).collect());
        Ok(IdSets { source_name, digest: digest.finish(), names, added, known })
    }

    /// Returns the name of the file or generator the sets came from.
    pub fn source_name(&self) -> &str {
        &self.source_name
    }

    /// Returns the digest of the input.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the names of the sets, rising.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the ids of a set as they are to be added.
    pub fn added(&self, set: usize) -> &[u64] {
        &self.added[set]
    }

    /// Returns the ids of a set, each once.
    pub fn distinct(&self, set: usize) -> &[u64] {
        match &self.known {
            Known::Numbers(..) => &self.added[set],
            Known::Sorted(sets) => &sets[set],
        }
    }

    /// Returns the number of an id among those of a set, below how many there are; `None`: it is not in it.
    pub fn number(&self, set: usize, id: u64) -> Option<u64> {
        match &self.known {
            Known::Numbers(kind, ranges) => {
                let (number, range) = (kind.number(id), &ranges[set]);
                range.contains(&number).then(|| number - range.start)
            }
            Known::Sorted(sets) => sets[set].binary_search(&id).ok().map(|at| at as u64),
        }
    }

    /// Returns whether an id is in a set.
    #[inline]
    pub fn holds(&self, set: usize, id: u64) -> bool {
        match &self.known {
            Known::Numbers(kind, ranges) => ranges[set].contains(&kind.number(id)),
            Known::Sorted(sets) => sets[set].binary_search(&id).is_ok(),
        }
    }
}

/// The set and the id of a line; on failure the byte where it is wrong, and how.
fn member(line: &str) -> Result<(&str, u64), (usize, String)> {
    let Some(at) = line.find(['\t', ',']) else { return Err((line.len(), "a set without an id".into())) };
    let (name, id) = (line[..at].trim_ascii(), line[at + 1..].trim_ascii());
    if name.is_empty() {
        return Err((0, "an id without a set".into()));
    }
    match id.parse() {
        Ok(id) => Ok((name, id)),
        Err(_) => Err((at + 1, format!("'{id}' is no id"))),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{IdKind, IdSets};

    #[test]
    fn generated_sets_have_the_overlap_that_was_asked_for() {
        for kind in [IdKind::Random, IdKind::Dense] {
            for (ids, common) in [(1000, 500), (1000, 0), (1000, 1000), (7, 3), (1, 1)] {
                let sets = IdSets::generate(ids, common, kind, 42);
                let in_both = sets.added(0).iter().filter(|&&id| sets.added(1).contains(&id)).count() as u64;
                assert_eq!((sets.added(0).len() as u64, sets.added(1).len() as u64, in_both), (ids, ids, common));
                assert!((0..2).all(|set| sets.added(set).iter().all(|&id| sets.holds(set, id))));
                let others = sets.added(1).iter().filter(|&&id| !sets.holds(0, id)).count() as u64;
                assert_eq!(others, ids - common);
            }
        }
    }

    #[test]
    fn a_file_names_sets_in_any_order_and_ids_more_than_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sets.csv");
        std::fs::write(&path, "may,7\njune\t18446744073709551615\r\n\n may , 0\nmay,7\n").unwrap();
        let sets = IdSets::read(&path).unwrap();
        assert_eq!(sets.names(), ["june", "may"]);
        assert_eq!((sets.added(1), sets.distinct(1)), (&[7, 0, 7][..], &[0, 7][..]));
        assert!(sets.holds(0, u64::MAX) && !sets.holds(1, u64::MAX));
    }

    #[test]
    fn what_is_no_id_is_named_by_line_and_column() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sets.csv");
        for (text, words) in [
            ("a,1\nb,two\n", "line 2, column 3: 'two' is no id"),
            ("set,id\n", "line 1, column 5: 'id' is no id"),
            ("a,1\nb\n", "line 2, column 2: a set without an id"),
            (",1\n", "line 1, column 1: an id without a set"),
            ("a,18446744073709551616\n", "line 1, column 3: '18446744073709551616' is no id"),
            ("a,-1\n", "line 1, column 3: '-1' is no id"),
            ("a,1,2\n", "line 1, column 3: '1,2' is no id"),
            ("a,1\na,2\n", "it names 1 sets; 2 to 256 can be compared"),
            ("", "it names 0 sets"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = IdSets::read(&path).err().unwrap().to_string();
            assert!(error.contains(words) && error.contains("write SET,ID"), "{text:?}: {error}");
        }
    }
}
