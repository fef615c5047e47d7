//! Statements of SQL, as applications send them: their parameters, and the rows that come back.

use crate::{AnswerTree, Span, TreeNode};
use std::fmt::{Display, Write as _};

/// A parameter of a statement, or a value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SqlValue<'a> {
    /// Nothing: NULL.
    Nil,
    /// True or false.
    Truth(bool),
    /// A whole number.
    Number(i64),
    /// A number with a fraction.
    Real(f64),
    /// A number with a fraction that a float would round, in decimal.
    Decimal(&'a str),
    /// Text or bytes.
    Text(&'a [u8]),
}

/// The result of a statement, written row by row; keeps its memory from statement to statement.
///
/// As an [`AnswerTree`], rows are a list of maps by column, a statement without rows gives the number of rows it changed, and one that the
/// store refused gives the store's words.
#[derive(Debug, Default)]
pub struct SqlResult {
    bytes: Vec<u8>,
    nodes: Vec<TreeNode>,
    columns: Vec<Span>,
    /// Values written so far.
    values: usize,
}

impl SqlResult {
    /// Begins the rows of a statement that has these columns.
    pub fn begin<'n>(&mut self, columns: impl Iterator<Item = &'n str>) {
        self.clear();
        for name in columns {
            let span = self.keep(name.as_bytes());
            self.columns.push(span);
        }
        self.nodes.push(TreeNode::List(0));
    }

    /// Writes the next value, column by column.
    pub fn push(&mut self, value: SqlValue<'_>) {
        let columns = self.columns.len();
        let Some(&column) = self.columns.get(self.values % columns.max(1)) else { return };
        if self.values.is_multiple_of(columns) {
            self.nodes.push(TreeNode::Map(columns));
            self.nodes[0] = TreeNode::List(self.values / columns + 1);
        }
        self.values += 1;
        self.nodes.push(TreeNode::Text(column));
        let node = match value {
            SqlValue::Nil => TreeNode::Nil,
            SqlValue::Truth(truth) => TreeNode::Truth(truth),
            SqlValue::Number(number) => TreeNode::Number(number),
            SqlValue::Real(number) => TreeNode::Decimal(self.write(format_args!("{number:?}"))),
            SqlValue::Decimal(digits) => TreeNode::Decimal(self.keep(digits.as_bytes())),
            SqlValue::Text(bytes) => TreeNode::Text(self.keep(bytes)),
        };
        self.nodes.push(node);
    }

    /// Writes the number of rows that a statement without rows has changed.
    pub fn changed(&mut self, rows: u64) {
        self.clear();
        self.nodes.push(TreeNode::Number(i64::try_from(rows).unwrap_or(i64::MAX)));
    }

    /// Writes the words with which the store refused the statement.
    #[cold]
    pub fn refused(&mut self, words: impl Display) {
        self.clear();
        let span = self.write(format_args!("{words}"));
        self.nodes.push(TreeNode::Error(span));
    }

    /// Returns the result.
    pub fn answer(&self) -> AnswerTree<'_> {
        AnswerTree::new(&self.bytes, &self.nodes)
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.nodes.clear();
        self.columns.clear();
        self.values = 0;
    }

    fn keep(&mut self, bytes: &[u8]) -> Span {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        (start, self.bytes.len())
    }

    fn write(&mut self, words: std::fmt::Arguments<'_>) -> Span {
        let mut text = Text(&mut self.bytes);
        let start = text.0.len();
        // Writing to memory cannot fail.
        let _ = text.write_fmt(words);
        (start, self.bytes.len())
    }
}

/// Bytes that are written to as text.
struct Text<'b>(&'b mut Vec<u8>);

impl std::fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{SqlResult, SqlValue};
    use crate::TreePart::{Decimal, Error, List, Map, Nil, Number, Text, Truth};

    #[test]
    fn rows_are_maps_by_column_and_the_next_statement_has_the_same_memory() {
        let mut result = SqlResult::default();
        for _ in 0..2 {
            result.begin(["id", "paid"].into_iter());
            assert_eq!(result.answer().parts().collect::<Vec<_>>(), [List(0)]);
            for value in [SqlValue::Number(7), SqlValue::Real(0.1), SqlValue::Text(b"x"), SqlValue::Nil] {
                result.push(value);
            }
            let row = |id, paid| [Map(2), Text(b"id"), id, Text(b"paid"), paid];
            let mut due = vec![List(2)];
            due.extend(row(Number(7), Decimal(b"0.1")));
            due.extend(row(Text(b"x"), Nil));
            assert_eq!(result.answer().parts().collect::<Vec<_>>(), due);
        }
    }

    #[test]
    fn a_statement_without_rows_gives_a_number_and_a_refused_one_the_words() {
        let mut result = SqlResult::default();
        result.begin(["sum"].into_iter());
        result.push(SqlValue::Decimal("12345678901234567890.5"));
        result.push(SqlValue::Truth(true));
        let parts =
            [List(2), Map(1), Text(b"sum"), Decimal(b"12345678901234567890.5"), Map(1), Text(b"sum"), Truth(true)];
        assert_eq!(result.answer().parts().collect::<Vec<_>>(), parts);
        result.changed(3);
        assert_eq!(result.answer().parts().collect::<Vec<_>>(), [Number(3)]);
        result.refused("no such table");
        assert_eq!(result.answer().parts().collect::<Vec<_>>(), [Error(b"no such table")]);
    }
}
