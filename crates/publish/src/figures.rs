//! Whether the figures of a study are those that its trials make: they are made again, by the code that made them, and held against what
//! is written.

use crate::objection::Objection;
use serde_json::Value;
use study::{Cell, Study};

/// How far, as a share, a number may be from the one made again: the last digits of a sum.
const TOLERANCE: f64 = 1e-9;
/// Figures of one cell that are named; a forged one changes a dozen others.
const MOST_NAMED: usize = 3;

/// Returns the figures and verdicts that the trials do not make.
pub(crate) fn changed(study: &Study) -> Vec<Objection> {
    let mut made = study.clone();
    made.cells.iter_mut().for_each(analysis::summarise);
    analysis::fill_budgets(&mut made);
    analysis::fill_needs(&mut made);
    let cells = study.cells.iter().zip(&made.cells).enumerate();
    cells.flat_map(|(at, (written, made))| of_cell(at, written, made)).collect()
}

fn of_cell(at: usize, written: &Cell, made: &Cell) -> Vec<Objection> {
    let mut found = Vec::new();
    match (summary(written), summary(made)) {
        (Some(written_summary), Some(made)) => {
            let place = format!("cells[{at}] ({} on {})", written.job, written.store);
            differences(&place, &written_summary, &made, &mut found);
        }
        _ => found.push(Objection::Figure {
            place: format!("cells[{at}]"),
            written: "no JSON".into(),
            made: "figures".into(),
        }),
    }
    found.truncate(MOST_NAMED);
    found
}

/// A cell without its trials.
fn summary(cell: &Cell) -> Option<Value> {
    serde_json::to_value(Cell { trials: Vec::new(), ..cell.clone() }).ok()
}

/// Adds every leaf in which two values differ.
pub(crate) fn differences(place: &str, written: &Value, made: &Value, found: &mut Vec<Objection>) {
    match (written, made) {
        (Value::Object(one), Value::Object(other)) => {
            let names = one.keys().chain(other.keys().filter(|name| !one.contains_key(*name)));
            for name in names {
                let (one, other) = (one.get(name), other.get(name));
                differences(
                    &format!("{place}.{name}"),
                    one.unwrap_or(&Value::Null),
                    other.unwrap_or(&Value::Null),
                    found,
                );
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (at, (one, other)) in one.iter().zip(other).enumerate() {
                differences(&format!("{place}[{at}]"), one, other, found);
            }
        }
        (one, other) if is_same(one, other) => {}
        (one, other) => {
            found.push(Objection::Figure { place: place.to_owned(), written: shown(one), made: shown(other) });
        }
    }
}

fn is_same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => is_near(one, other),
        _ => one == other,
    }
}

/// Returns whether two numbers are the same but for the last digits of a sum.
pub(crate) fn is_near(one: f64, other: f64) -> bool {
    one == other || (one - other).abs() <= TOLERANCE * one.abs().max(other.abs())
}

/// A value as it is named; long ones are cut.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::Null => "absent".into(),
        other => other.to_string(),
    };
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}
