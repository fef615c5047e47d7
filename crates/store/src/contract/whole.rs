//! The questions to a store as a whole, outside sessions: compaction, and counts and sums over all documents.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A field of a JSON document: names of object members from the top, as in `population` or `origin.iata`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath(Vec<String>);

impl FieldPath {
    /// Reads a path: names of letters, digits, `_` and `-`, joined by dots. Such names need no quoting in any query language.
    ///
    /// # Errors
    /// The form that a path has.
    pub fn parse(text: &str) -> Result<FieldPath, String> {
        let plain = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
        };
        let names: Vec<String> = text.split('.').map(str::to_owned).collect();
        if names.iter().all(|name| plain(name)) {
            return Ok(FieldPath(names));
        }
        Err(format!(
            "'{text}' is not a field; write names of letters, digits, _ and -, joined by dots, as in origin.iata"
        ))
    }

    /// Returns the names, from the top.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Writes the path as SQL/JSON has it: `$."origin"."iata"`.
    pub fn sql_json(&self) -> String {
        self.0.iter().fold("$".to_owned(), |path, name| path + ".\"" + name + "\"")
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// A count and a sum over all documents: how many documents there are for each value of `group`, and the sum of their `sum`. Every stored value is a
/// JSON object in which `group` is a string and `sum` an integer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// The field whose values make the groups.
    pub group: FieldPath,
    /// The field that is summed.
    pub sum: FieldPath,
}

/// A group of a reduction.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReductionGroup {
    /// The value of the field that the documents of the group share.
    pub key: String,
    /// The number of documents in the group.
    pub count: u64,
    /// The sum of the field that is summed.
    pub sum: i64,
}

/// The support of an ability: whether a store has the ability itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Support {
    /// The store has it itself.
    Native,
    /// The store lacks it; a job uses other operations, says so, or leaves it out.
    #[default]
    Absent,
}

impl Support {
    /// Returns the object of the ability, where the store has it.
    pub fn of<T>(self, object: T) -> Option<T> {
        match self {
            Support::Native => Some(object),
            Support::Absent => None,
        }
    }

    /// Returns whether an ability is there, by its object.
    pub fn given<T>(ability: Option<T>) -> Support {
        ability.map_or(Support::Absent, |_| Support::Native)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::FieldPath;

    #[test]
    fn a_path_needs_no_quoting_anywhere_or_is_refused() {
        let path = FieldPath::parse("origin.iata-code_2").unwrap();
        assert_eq!((path.to_string().as_str(), path.names().len()), ("origin.iata-code_2", 2));
        assert_eq!(path.sql_json(), "$.\"origin\".\"iata-code_2\"");
        for bad in ["", ".", "a..b", "a'b", "a b", "a[0]", "ü"] {
            assert!(FieldPath::parse(bad).unwrap_err().contains("origin.iata"), "{bad}");
        }
    }
}
