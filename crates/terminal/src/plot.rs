//! A plot made of characters: figures of several lines over the values of a parameter.

use crate::layout::{Colour, Style, columns, paint, shortened, width};
use analysis::{Better, Metric};
use findings::{LinePlot, figures};
use words::units;

/// Rows between the highest figure and the axis.
const ROWS: usize = 10;
/// Columns of the figures at the left.
const FIGURES: usize = 8;
/// Columns from one value to the next, at most.
const STEP: usize = 16;
/// Beyond this ratio of the highest figure to the lowest the axis is logarithmic: the lower ones would be one line.
const LOGARITHMIC: f64 = 30.0;

/// Returns the plot, as wide as a line. Each line has a letter, `*` is where several meet.
pub(crate) fn plot(swept: &LinePlot, colour: Colour) -> String {
    let LinePlot { metric, values, lines, .. } = swept;
    let figures = || lines.iter().flat_map(|line| line.points.iter().map(|point| point.1)).filter(|it| *it > 0.0);
    let (lowest, highest) = (figures().fold(f64::INFINITY, f64::min), figures().fold(0.0, f64::max));
    if values.is_empty() || highest <= 0.0 {
        return String::new();
    }
    let scale = if highest / lowest > LOGARITHMIC { Scale::Log { lowest, highest } } else { Scale::Linear { highest } };
    let step = ((columns() - FIGURES - 4) / values.len()).clamp(1, STEP);
    let at = |value: usize| value * (columns() - FIGURES - 4).min(step * values.len()) / values.len() + step / 2;

    let mut grid = vec![vec![' '; columns() - FIGURES - 4]; ROWS + 1];
    for (line, letter) in lines.iter().zip(letters()) {
        for &(value, figure) in line.points.iter().filter(|point| point.1 > 0.0) {
            let place = &mut grid[ROWS - scale.row(figure)][at(value)];
            *place = if *place == ' ' { letter } else { '*' };
        }
    }
    let logarithmic = if matches!(scale, Scale::Log { .. }) { ", logarithmic" } else { "" };
    let mut text = format!(" {}\n", paint(&format!("{}{logarithmic}", figures::column(*metric)), Style::Dim, colour));
    for (down, row) in grid.iter().enumerate() {
        let up = ROWS - down;
        let shown = if up.is_multiple_of(ROWS / 2) { label(*metric, scale.figure(up)) } else { String::new() };
        let row: String = row.iter().collect();
        let edge = if shown.is_empty() { '│' } else { '┤' };
        text += format!(" {shown:>FIGURES$} {edge}{row}").trim_end();
        text.push('\n');
    }
    text += &axis(&swept.parameter, values, at);
    for (line, letter) in lines.iter().zip(letters()) {
        let (word, best) = match metric.better() {
            Better::Lower => ("lowest", line.points.iter().min_by(|a, b| a.1.total_cmp(&b.1))),
            // Of several the first.
            Better::Higher => ("highest", line.points.iter().min_by(|a, b| b.1.total_cmp(&a.1))),
        };
        let best = best.map(|&(value, figure)| {
            format!("  {word} {} at {}", figures::plain(figure, metric.unit()), shortened(&values[value], 12))
        });
        let best = best.unwrap_or_default();
        let name = shortened(&line.name, columns() - FIGURES - 4 - width(&best));
        text += &format!(" {:>FIGURES$}  {name}{best}\n", paint(&letter.to_string(), Style::Plain, colour));
    }
    text
}

/// A figure beside the axis: at most [`FIGURES`] columns, so a long time is as clocks show it.
fn label(metric: Metric, figure: f64) -> String {
    match metric {
        _ if figure == 0.0 => "0".into(),
        Metric::Makespan if figure >= 999.5 => units::clock(figure),
        _ => figures::plain(figure, metric.unit()),
    }
}

/// `a` to `z`, then `+` for all the others.
fn letters() -> impl Iterator<Item = char> {
    ('a'..='z').chain(std::iter::repeat('+'))
}

/// Values beneath their columns, as many as have room, and the parameter's name.
fn axis(parameter: &str, values: &[String], at: impl Fn(usize) -> usize) -> String {
    let mut line = String::new();
    let mut free = 0;
    for (index, value) in values.iter().enumerate() {
        let begin = at(index).saturating_sub(width(value) / 2);
        if begin >= free && begin + width(value) + FIGURES + 3 <= columns() {
            line += &" ".repeat(begin - width(&line));
            line += value;
            free = width(&line) + 1;
        }
    }
    format!(" {} {line}\n {} {parameter}\n", " ".repeat(FIGURES + 1), " ".repeat(FIGURES + 1))
}

/// From figures to rows and back.
enum Scale {
    /// From nought.
    Linear { highest: f64 },
    /// From the lowest.
    Log { lowest: f64, highest: f64 },
}

impl Scale {
    fn row(&self, figure: f64) -> usize {
        let share = match self {
            Scale::Linear { highest } => figure / highest,
            Scale::Log { lowest, highest } => (figure / lowest).ln() / (highest / lowest).ln(),
        };
        ((share * ROWS as f64).round() as usize).min(ROWS)
    }

    fn figure(&self, row: usize) -> f64 {
        let share = row as f64 / ROWS as f64;
        match self {
            Scale::Linear { highest } => highest * share,
            Scale::Log { lowest, highest } => lowest * (highest / lowest).powf(share),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::layout::{Colour, WIDTH, width};
    use analysis::Metric;
    use findings::{LinePlot, PlotLine};

    fn line(name: &str, figures: &[f64]) -> PlotLine {
        PlotLine { name: name.into(), points: figures.iter().copied().enumerate().collect() }
    }

    fn plot(metric: Metric, parameter: &str, values: &[String], lines: &[PlotLine]) -> String {
        let (label, parameter) = (String::new(), parameter.into());
        super::plot(&LinePlot { label, metric, parameter, values: values.into(), lines: lines.into() }, Colour::Never)
    }

    #[test]
    fn each_line_rises_as_its_figures_do() {
        let values = ["1", "4", "16"].map(String::from);
        let lines = [line("redis", &[28_800.0, 90_000.0, 144_000.0]), line("lmdb", &[144_000.0, 90_000.0, 70_000.0])];
        let text = plot(Metric::OpsPerS, "clients", &values, &lines);
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!(rows[1].trim_end(), "     144k ┤        b                               a", "{text}");
        assert!(rows[5].contains('*') && rows[9].contains('a') && rows[11].starts_with("        0 ┤"), "{text}");
        assert!(text.contains("a  redis  highest 144k at 16") && text.contains("b  lmdb  highest 144k at 1"), "{text}");
    }

    #[test]
    fn a_time_is_best_where_it_is_lowest() {
        let values = ["1", "1000", "3000"].map(String::from);
        let text = plot(Metric::Makespan, "batch", &values, &[line("sqlite", &[1.9, 0.27, 0.31])]);
        assert!(text.starts_with(" TIME\n") && text.contains("   1.90 s ┤") && text.contains("        0 ┤"), "{text}");
        assert!(text.contains("a  sqlite  lowest 270 ms at 1000"), "{text}");
    }

    #[test]
    fn figures_far_apart_have_a_logarithmic_axis() {
        let values = ["1", "2"].map(String::from);
        let lines = [line("sqlite,durability=commit", &[100.0, 110.0]), line("lmdb", &[1e6, 1e6])];
        let text = plot(Metric::OpsPerS, "clients", &values, &lines);
        assert!(text.starts_with(" OP/S, logarithmic\n") && text.contains("     100 ┤"), "{text}");
    }

    #[test]
    fn any_number_of_values_and_lines_fits_the_page() {
        let values: Vec<String> = (0..200).map(|value| format!("{}", value * 1_000_003)).collect();
        let figures: Vec<f64> = (0..200).map(|value| f64::from(value) * 1e9 + 1.0).collect();
        let name = "postgres://bench:***@db.example.org/bench,durability=commit,layout=hstore".repeat(2);
        let lines: Vec<PlotLine> = (0..40).map(|_| line(&name, &figures)).collect();
        for row in plot(Metric::OpsPerS, "records", &values, &lines).lines() {
            assert!(width(row) <= WIDTH, "{} {row}", width(row));
        }
        let seconds = [line("sqlite", &[0.0, 271.0, 12_000.0])];
        for row in plot(Metric::Makespan, "records", &values, &seconds).lines() {
            assert!(width(row) <= WIDTH, "{} {row}", width(row));
        }
        assert_eq!(plot(Metric::OpsPerS, "records", &[], &[]), "");
        assert_eq!(plot(Metric::OpsPerS, "records", &values, &[line("redis", &[0.0])]), "");
    }
}
