//! A contradiction as it looks: a row per client, time to the right, and below it the times themselves.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::act::{Act, ActEnd};
use crate::contradiction::Contradiction;

/// A moment that is shown in a drawing: a fault, its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultMark {
    /// When it was.
    pub at_ns: u64,
    /// What happened, in a few words.
    pub label: String,
}

/// Draws a contradiction: what comes before what is to scale, how long it took is not.
pub fn draw(contradiction: &Contradiction, marks: &[FaultMark]) -> String {
    let operations = &contradiction.operations;
    let columns = columns(operations, marks);
    let mut rows: Vec<Row> = Vec::new();
    let mut by_client: Vec<&Act> = operations.iter().collect();
    by_client.sort_by_key(|it| (it.client, it.sent_ns));
    for operation in by_client {
        let from = columns[&(operation.sent_ns, Moment::Sent)];
        let to = match operation.end {
            ActEnd::Answered(at) => Some(columns[&(at, Moment::Answered)]),
            ActEnd::Refused(_) | ActEnd::Unknown => None,
        };
        let label = format!("client {}", operation.client);
        let free = |it: &&mut Row| it.label == label && it.text.chars().count() <= from;
        let row = match rows.iter_mut().find(free) {
            Some(row) => row,
            None => {
                rows.push(Row { label, text: String::new() });
                let last = rows.len() - 1;
                &mut rows[last]
            }
        };
        row.place(from, to, &operation.kind.to_string());
    }
    for mark in marks {
        let mut row = Row { label: String::new(), text: String::new() };
        row.pad(columns[&(mark.at_ns, Moment::FaultMark)]);
        let _ = write!(row.text, "▲ {}", mark.label);
        rows.push(row);
    }
    let mut drawing = String::new();
    let width = rows.iter().map(|it| it.label.chars().count()).max().unwrap_or(0);
    for row in rows {
        let _ = writeln!(drawing, "{:width$}  {}", row.label, row.text.trim_end());
    }
    let _ = writeln!(drawing);
    times(&mut drawing, contradiction, marks);
    drawing
}

/// Writes what is wrong, and when each operation was sent and answered, from the first on.
fn times(drawing: &mut String, contradiction: &Contradiction, marks: &[FaultMark]) {
    let sent = contradiction.operations.iter().map(|it| it.sent_ns);
    let start = sent.chain(marks.iter().map(|it| it.at_ns)).min().unwrap_or(0);
    let ms = |at: u64| format!("{:.3} ms", (at - start) as f64 / 1e6);
    let _ = writeln!(drawing, "{}", contradiction.reason);
    if contradiction.start != 0 {
        let _ = writeln!(drawing, "Before these operations the counter held {}.", contradiction.start);
    }
    for it in &contradiction.operations {
        let end = match it.end {
            ActEnd::Answered(at) => format!("answered at {}", ms(at)),
            ActEnd::Refused(at) => format!("refused at {}", ms(at)),
            ActEnd::Unknown => "never answered".to_owned(),
        };
        let _ = writeln!(drawing, "  client {}: {}, sent at {}, {end}", it.client, it.kind, ms(it.sent_ns));
    }
    for mark in marks {
        let _ = writeln!(drawing, "  {}: at {}", mark.label, ms(mark.at_ns));
    }
}

/// What happens in a column. At equal times operations are sent first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    Sent,
    FaultMark,
    Answered,
}

/// Returns the column of each moment: as many apart as the words between need.
fn columns(operations: &[Act], marks: &[FaultMark]) -> BTreeMap<(u64, Moment), usize> {
    let mut moments: BTreeMap<(u64, Moment), Vec<&Act>> = BTreeMap::new();
    for operation in operations {
        moments.entry((operation.sent_ns, Moment::Sent)).or_default();
        if let ActEnd::Answered(at) = operation.end {
            moments.entry((at, Moment::Answered)).or_default().push(operation);
        }
    }
    for mark in marks {
        moments.entry((mark.at_ns, Moment::FaultMark)).or_default();
    }
    let mut columns: BTreeMap<(u64, Moment), usize> = BTreeMap::new();
    let mut next = 0;
    for (moment, answered) in moments {
        let mut column = next;
        for operation in answered {
            let from = columns[&(operation.sent_ns, Moment::Sent)];
            column = column.max(from + operation.kind.to_string().chars().count() + 3);
        }
        columns.insert(moment, column);
        next = column + 1;
    }
    columns
}

/// A row of the drawing.
struct Row {
    label: String,
    text: String,
}

impl Row {
    /// Fills the row with blanks up to a column.
    fn pad(&mut self, column: usize) {
        let now = self.text.chars().count();
        self.text.extend(std::iter::repeat_n(' ', column.saturating_sub(now)));
    }

    /// Places an operation between two columns, or from one on with an open end.
    fn place(&mut self, from: usize, to: Option<usize>, word: &str) {
        self.pad(from);
        let Some(to) = to else {
            let _ = write!(self.text, "├ {word} ┄┄?");
            return;
        };
        let room = to - from - 1 - word.chars().count();
        let left = room / 2;
        let _ = write!(self.text, "├{}{word}{}┤", blank(left), blank(room - left));
    }
}

/// Returns a line of some length with room for words at its ends.
fn blank(length: usize) -> String {
    if length < 2 { " ".repeat(length) } else { "─".repeat(length) }
}
