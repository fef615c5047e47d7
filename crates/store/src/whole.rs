//! What is asked of a store as a whole, outside of sessions: compaction, and counts and sums over all documents.

use std::fmt;

/// A field of a JSON document: names of object members from the top, as in `population` or `origin.iata`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath(Vec<String>);

impl FieldPath {
    /// Reads a path: names of letters, digits, `_` and `-`, joined by dots. Such names need no quoting in any query language.
    ///
    /// # Errors
    /// Says what a path looks like.
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

/// Count and sum over all documents: how many there are of each value of `group`, and the sum of their `sum`. Every value stored
/// is a JSON object in which `group` is a string and `sum` an integer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// The field whose values make the groups.
    pub group: FieldPath,
    /// The field that is summed.
    pub sum: FieldPath,
}

/// A group of a reduction.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReductionGroup {
    /// The value of the field they share.
    pub key: String,
    /// Documents in it.
    pub count: u64,
    /// Sum of the field that is summed.
    pub sum: i64,
}

/// Whether a store has an ability itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Support {
    /// The store has it itself.
    Native,
    /// The store lacks it; a job uses other operations, says so, or leaves it out.
    #[default]
    Absent,
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
