//! What came of counting sets of ids (job `sets`): each step's time, bytes per id, and how far counts were off.

use serde_json::Value;
use study::Cell;
use words::units;

/// The figures of a cell of the job `sets`; medians over its trials.
pub struct SetFigures<'a> {
    /// The cell.
    pub cell: &'a Cell,
    /// Bytes per different id, an index with them.
    pub bytes_per_id: Option<f64>,
    /// The error of unions.
    pub union: Option<CountError>,
    /// The error of intersections.
    pub intersection: Option<CountError>,
}

/// The error of counts, as shares of the true counts (root mean square).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountError {
    /// The error found.
    pub found: f64,
    /// The standard error of theory; 0 of exact ways.
    pub standard: f64,
}

impl CountError {
    /// Returns `0.31 % (theory 0.81 %)`, or `exact`.
    pub fn text(self) -> String {
        match self.standard {
            0.0 if self.found == 0.0 => "exact".into(),
            _ => format!("{} (theory {})", percent(self.found), percent(self.standard)),
        }
    }
}

impl CountError {
    /// Returns `0.31 %`.
    pub fn found_text(self) -> String {
        percent(self.found)
    }

    /// Returns `0.81 %`.
    pub fn standard_text(self) -> String {
        percent(self.standard)
    }
}

/// `3.3 %`, `0.31 %`, `198 %`.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        100.0.. => format!("{percent:.0} %"),
        1.0.. => format!("{percent:.1} %"),
        _ => format!("{percent:.2} %"),
    }
}

/// Returns the figures of the job's cells, in their order; void cells are left out.
pub fn figures<'a>(cells: &[&'a Cell]) -> Vec<SetFigures<'a>> {
    let sets = cells.iter().filter(|cell| cell.job == "sets" && cell.verdict.is_ranked());
    let of = |cell: &'a Cell| {
        let fact = |name: &str| {
            let found: Vec<f64> =
                cell.counted().filter_map(|trial| trial.answer.facts.get(name).and_then(Value::as_f64)).collect();
            stats::median(&found)
        };
        let error = |what: &str| {
            let standard = fact(&format!("{what}_standard_error"))?;
            Some(CountError { found: fact(&format!("{what}_error"))?, standard })
        };
        SetFigures {
            cell,
            bytes_per_id: fact("bytes_per_id"),
            union: error("union"),
            intersection: error("intersection"),
        }
    };
    sets.map(|cell| of(cell)).collect()
}

impl SetFigures<'_> {
    /// Returns the time of a step, in seconds: `build`, `size`, `union`, `intersection`.
    pub fn step_s(&self, name: &str) -> Option<f64> {
        self.cell.by_phase.iter().find(|phase| phase.name == name)?.elapsed_s.map(|elapsed| elapsed.value)
    }

    /// Returns the bytes per id with a digit behind the point where they are few.
    pub fn bytes_text(&self) -> Option<String> {
        self.bytes_per_id.map(|bytes| match bytes {
            0.0..1.0 => format!("{bytes:.2}"),
            1.0..100.0 => format!("{bytes:.1}"),
            _ => format!("{bytes:.0}"),
        })
    }
}

/// Returns a sentence for each cell whose intersection was worked out from counts that are not exact.
pub fn sentences<'a>(cells: &'a [&'a Cell]) -> impl Iterator<Item = String> + 'a {
    figures(cells).into_iter().filter_map(|it| {
        let (union, intersection) = (it.union?, it.intersection?);
        if intersection.standard == 0.0 {
            return None;
        }
        let by_counts = it.cell.answer.facts.get("way").and_then(Value::as_str).is_some_and(|way| way == "hll");
        let how = match by_counts {
            true => " by inclusion and exclusion (|A| + |B| - |A ∪ B|, three counts whose errors add up)",
            false => "",
        };
        let worse = match intersection.standard {
            1.0.. => ": theory expects it to err by more than it counts",
            _ if by_counts => "; the smaller the overlap, the larger the error",
            _ => "",
        };
        Some(format!(
            "{}: the union errs by {}, the intersection{how} by {}{worse}.",
            it.cell.store,
            union.text(),
            intersection.text()
        ))
    })
}

/// Returns a step's time, or a dash.
pub fn step_text(figures: &SetFigures<'_>, name: &str) -> String {
    figures.step_s(name).map_or_else(|| "-".into(), units::duration)
}

#[cfg(test)]
mod tests {
    use super::{figures, sentences};
    use serde_json::json;
    use study::{Answer, Cell, TrialRecord, Verdict};

    fn cell(store: &str, facts: serde_json::Value) -> Cell {
        let facts = facts.as_object().map(|facts| facts.clone().into_iter().collect()).unwrap_or_default();
        let answer = Answer { facts, ..Answer::default() };
        let trial = TrialRecord { answer: answer.clone(), verdict: Verdict::of([]), ..TrialRecord::default() };
        Cell {
            job: "sets".into(),
            store: store.into(),
            answer,
            verdict: Verdict::of([]),
            trials: vec![trial],
            ..Cell::default()
        }
    }

    #[test]
    fn an_intersection_of_two_hyperloglogs_is_said_to_err_more_than_it_counts() {
        let hll = cell(
            "ram,way=hll",
            json!({"way": "hll", "bytes_per_id": 0.0218, "union_error": 0.0031, "union_standard_error": 0.0081,
                   "intersection_error": 1.42, "intersection_standard_error": 1.98}),
        );
        let exact = cell(
            "ram,way=bitmap",
            json!({"way": "bitmap", "bytes_per_id": 14.67, "union_error": 0.0, "union_standard_error": 0.0,
                   "intersection_error": 0.0, "intersection_standard_error": 0.0}),
        );
        let cells = [&hll, &exact];
        let said: Vec<String> = sentences(&cells).collect();
        assert_eq!(
            said,
            [
                "ram,way=hll: the union errs by 0.31 % (theory 0.81 %), the intersection by inclusion and exclusion (|A| + |B| - |A ∪ B|, \
              three counts whose errors add up) by 142 % (theory 198 %): theory expects it to err by more than it counts."
            ]
        );
        let shown = figures(&cells);
        assert_eq!(shown[0].bytes_text().as_deref(), Some("0.02"));
        assert_eq!(shown[1].bytes_text().as_deref(), Some("14.7"));
        assert_eq!(shown[1].union.map(super::CountError::text).as_deref(), Some("exact"));
    }
}
