//! A chart: what is drawn, in words, and as figures.

use analysis::Metric;
use serde_json::Value;
use study::BudgetLayer;

/// A chart of the report.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Unique in the report: lower-case letters, digits and `-`. The name of its files in `plots/`.
    pub id: String,
    /// The title: what the chart shows.
    pub title: String,
    /// The note: which cells, and how to read the chart.
    pub note: String,
    /// The description for a reader who cannot see the chart.
    pub description: String,
    /// Height in CSS pixels; a chart of facets has its own, which follows from its width.
    pub height: u32,
    /// The description `assets/chart.js` understands: an ECharts option without code.
    pub option: Value,
    /// The same figures.
    pub table: DataTable,
}

/// The figures behind a chart.
#[derive(Clone, Debug, Default)]
pub struct DataTable {
    /// Titles of the columns; the first is that of the rows.
    pub columns: Vec<String>,
    /// Rows of text, as many as there are columns.
    pub rows: Vec<Vec<String>>,
}

impl DataTable {
    /// Makes a table with these columns and rows.
    pub fn of<C: Into<String>, R: Into<Vec<String>>>(
        columns: impl IntoIterator<Item = C>,
        rows: impl IntoIterator<Item = R>,
    ) -> DataTable {
        DataTable {
            columns: columns.into_iter().map(Into::into).collect(),
            rows: rows.into_iter().map(Into::into).collect(),
        }
    }
}

/// A chart for media that draw none: bars, curves and points made of characters.
#[derive(Clone, Debug)]
pub enum Sketch {
    /// A bar per row, in parts.
    Bars(Bars),
    /// A curve per row over time.
    Curves(Vec<Curve>),
    /// A plot per combination of the other parameters, beside the headlines.
    Plots(Vec<LinePlot>),
}

/// Bars in parts.
#[derive(Clone, Debug)]
pub struct Bars {
    /// What the bars are of.
    pub title: String,
    /// What each layer stands for.
    pub legend: Vec<(BudgetLayer, String)>,
    /// The rows: a name, the whole as text, and the parts in order.
    pub rows: Vec<(String, String, Vec<BarPart>)>,
}

/// A part of a bar.
#[derive(Clone, Debug)]
pub struct BarPart {
    /// The layer it stands for: what decides how it is drawn.
    pub layer: BudgetLayer,
    /// The length, in the unit all parts share.
    pub length: f64,
}

/// The rate of a cell over the time of a trial.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The name of the cell.
    pub name: String,
    /// Good answers per second, in intervals of the same length.
    pub rates: Vec<f64>,
    /// The length of the trial.
    pub makespan_s: f64,
    /// The end of the last interval, in seconds.
    pub end_s: f64,
    /// The moments at which nodes were made to fail or started again, in seconds.
    pub marks_s: Vec<f64>,
}

/// A figure over the values of a parameter that was varied.
#[derive(Clone, Debug)]
pub struct LinePlot {
    /// The values of all other parameters that vary; empty where none does.
    pub label: String,
    /// The figure.
    pub metric: Metric,
    /// The parameter.
    pub parameter: String,
    /// Its values.
    pub values: Vec<String>,
    /// The lines.
    pub lines: Vec<PlotLine>,
}

/// The figures of one store.
#[derive(Clone, Debug)]
pub struct PlotLine {
    /// The store.
    pub name: String,
    /// Its figure at some of the values, by their indices.
    pub points: Vec<(usize, f64)>,
}

/// Rounds all numbers to the six digits a picture can show at most: this halves the page of a large study.
pub(crate) fn shorten(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(short) = number.as_f64().and_then(|it| format!("{it:.5e}").parse::<f64>().ok()) {
                *value = short.into();
            }
        }
        Value::Array(all) => all.iter_mut().for_each(shorten),
        Value::Object(all) => all.values_mut().for_each(shorten),
        _ => {}
    }
}

/// Returns a word that may stand in an identifier and a file name: letters, digits and `-`, at most 60.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        match c {
            'a'..='z' | '0'..='9' => slug.push(c),
            _ if !slug.ends_with('-') && !slug.is_empty() => slug.push('-'),
            _ => {}
        }
    }
    slug.truncate(60);
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::{shorten, slug};
    use serde_json::json;

    #[test]
    fn numbers_of_a_picture_have_six_digits_and_counts_all_of_theirs() {
        let mut option = json!({ "data": [[1.234_567_89e-5, 98_765_432.1], [12_345_678, 0.5]], "name": "0.123456789" });
        shorten(&mut option);
        assert_eq!(option, json!({ "data": [[1.23457e-5, 98_765_400.0], [12_345_678, 0.5]], "name": "0.123456789" }));
    }

    #[test]
    fn a_slug_is_safe_in_a_file_name_whatever_it_is_made_of() {
        assert_eq!(slug("Ranking clients=16 ../../etc/passwd"), "ranking-clients-16-etc-passwd");
        assert_eq!(slug("<script>µ</script>"), "script-script");
        assert!(slug(&"x".repeat(500)).len() == 60);
    }
}
