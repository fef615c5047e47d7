//! Charts made of characters: bars in parts, and curves over time.

use crate::layout::{
    Colour, Column, FIXED_BLANK, Row, Side, Style, Table, WIDTH, columns, paragraph, shortened, width,
};
use crate::plot::plot;
use crate::spark::sparkline;
use findings::{BarPart, Bars, Curve, LinePlot, Sketch};
use study::BudgetLayer;
use words::units;

/// Columns of a bar: the whole of it.
const BAR: usize = 40;
/// Columns of the name beside a bar at most.
const NAME: usize = 24;
/// More curves than these are for the report, not for a terminal.
const MOST_CURVES: usize = 24;
/// More plots than these are for the report, not for a terminal.
const MOST_PLOTS: usize = 4;
/// Columns of a curve.
const CURVE: usize = 32;
/// Columns of a curve at least.
const SHORTEST_CURVE: usize = 12;
/// What a narrow terminal omits first: the lowest rate, the highest.
const SPARE: [usize; 2] = [3, 4];

const COLUMNS: [Column<'static>; 5] = [
    Column { title: "STORE", side: Side::Left, gap: 3 },
    Column { title: "OP/S OVER TIME", side: Side::Left, gap: 2 },
    Column { title: "FOR", side: Side::Right, gap: 2 },
    Column { title: "LOWEST", side: Side::Right, gap: 2 },
    Column { title: "HIGHEST", side: Side::Right, gap: 2 },
];

/// Returns the lines of a sketch.
pub(crate) fn drawn(sketch: &Sketch, colour: Colour) -> String {
    match sketch {
        Sketch::Bars(it) => bars(it, colour),
        Sketch::Curves(it) => curves(it, colour),
        Sketch::Plots(it) => plots(it, colour),
    }
}

/// A bar per row beneath what its signs mean.
fn bars(bars: &Bars, colour: Colour) -> String {
    let legend: Vec<String> =
        bars.legend.iter().map(|(layer, name)| format!("{}{FIXED_BLANK}{name}", sign(*layer))).collect();
    let mut text = paragraph(&format!("{}: {}", bars.title, legend.join(", ")), 1, 3, Style::Plain, colour);
    let name = bars.rows.iter().map(|(name, ..)| width(&shortened(name, NAME))).max().unwrap_or_default();
    let most = BAR.min(columns().saturating_sub(name + 15));
    for (of, whole, parts) in &bars.rows {
        text += &format!("   {:name$}  {whole:>8}  {}\n", shortened(of, NAME), bar(parts, most));
    }
    text
}

fn sign(layer: BudgetLayer) -> char {
    match layer {
        BudgetLayer::Generator => '·',
        BudgetLayer::Client => '░',
        BudgetLayer::Wire => '▒',
        BudgetLayer::Store => '█',
    }
}

/// A bar of `most` columns. Each part rounds its end, not its length, so that the bar is as long as the sum.
fn bar(parts: &[BarPart], most: usize) -> String {
    let whole: f64 = parts.iter().map(|part| part.length).sum();
    let (mut bar, mut up_to) = (String::new(), 0.0);
    for part in parts {
        up_to += part.length;
        let end = (most as f64 * up_to / whole.max(f64::MIN_POSITIVE)).round() as usize;
        bar.extend(std::iter::repeat_n(sign(part.layer), end.saturating_sub(width(&bar))));
    }
    bar
}

/// A line per curve, each scaled to its own highest, or to twice the usual where that is a burst. Beneath, a `^` where nodes were made to
/// fail.
fn curves(curves: &[Curve], colour: Colour) -> String {
    let fitted = |bars: usize| {
        let rows: Vec<(Row, Option<Row>)> =
            curves.iter().take(MOST_CURVES).map(|curve| (row(curve, bars), marks(curve, bars))).collect();
        (Table::fit_without(&COLUMNS, 0, &SPARE, rows.iter().map(|(row, _)| row)), rows)
    };
    let most = (columns() + CURVE).saturating_sub(WIDTH).max(SHORTEST_CURVE);
    // A bar less is better than a name in two pieces.
    let fits = |(table, _): &(Table<'_>, Vec<(Row, Option<Row>)>)| !table.cuts_words() && table.left_out().is_empty();
    let whole = (SHORTEST_CURVE..=most).rev().map(fitted).find(fits);
    let (table, rows) = whole.unwrap_or_else(|| fitted(SHORTEST_CURVE));
    let mut text = table.titles(colour);
    text.extend(rows.iter().map(|(row, marks)| table.row_over(row, marks.as_ref(), colour)));
    text + &more(curves.len().saturating_sub(MOST_CURVES), "cells", colour)
}

/// A plot below the other, each beneath its combination.
fn plots(all: &[LinePlot], colour: Colour) -> String {
    let plot = |swept: &LinePlot| {
        let label = Some(&swept.label).filter(|label| !label.is_empty());
        label.map_or(String::new(), |label| paragraph(label, 1, 3, Style::Bold, colour)) + &plot(swept, colour)
    };
    let shown: Vec<String> = all.iter().take(MOST_PLOTS).map(plot).collect();
    shown.join("\n") + &more(all.len().saturating_sub(MOST_PLOTS), "plots", colour)
}

/// Says how many more there are.
fn more(hidden: usize, what: &str, colour: Colour) -> String {
    match hidden {
        0 => String::new(),
        _ => paragraph(&format!("and {hidden} more {what}: they are in study.json"), 3, 5, Style::Dim, colour),
    }
}

fn row(curve: &Curve, bars: usize) -> Row {
    let lowest = curve.rates.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = curve.rates.iter().copied().fold(0.0, f64::max);
    [
        curve.name.clone(),
        sparkline(&curve.rates, bars),
        units::duration(curve.makespan_s),
        units::count(lowest),
        units::count(highest),
    ]
    .map(|text| (text, Style::Plain))
    .into()
}

/// Where on its line of bars nodes were made to fail, or started again.
fn marks(curve: &Curve, bars: usize) -> Option<Row> {
    let bars = curve.rates.len().min(bars.max(1));
    let mut line = vec![' '; bars];
    for at_s in curve.marks_s.iter().filter(|at_s| (0.0..curve.end_s).contains(*at_s)) {
        line[((at_s / curve.end_s * bars as f64) as usize).min(bars - 1)] = '^';
    }
    let is_marked = line.contains(&'^');
    let blank = || (String::new(), Style::Plain);
    is_marked.then(|| vec![blank(), (String::from_iter(line), Style::Bad), blank(), blank(), blank()])
}

#[cfg(test)]
mod tests {
    use super::{bars, curves};
    use crate::layout::{Colour, width};
    use findings::{BarPart, Bars, Curve};
    use study::BudgetLayer::{Client, Generator, Store, Wire};

    #[test]
    fn a_budget_is_drawn_as_a_bar_of_one_length() {
        let part = |(layer, length)| BarPart { layer, length };
        let near = [(Generator, 100.0), (Client, 1570.0), (Wire, 5120.0), (Store, 2340.0)].map(part);
        let far = [(Generator, 100.0), (Store, 0.0)].map(part);
        let legend = [(Generator, "generator"), (Client, "client"), (Wire, "wire"), (Store, "store or wire + store")];
        let drawn = Bars {
            title: "Time per operation".into(),
            legend: legend.map(|(layer, name)| (layer, name.to_owned())).into(),
            rows: vec![
                ("redis-unix,durability=none".into(), "9.13 µs".into(), near.into()),
                ("redis://10.0.0.5:6379".into(), "100 ns".into(), far.into()),
            ],
        };
        let text = bars(&drawn, Colour::Never);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0].trim(), "Time per operation: · generator, ░ client, ▒ wire, █ store or wire + store");
        let signs = |line: &str, sign: char| line.chars().filter(|c| *c == sign).count();
        assert_eq!([signs(lines[1], '░'), signs(lines[1], '▒'), signs(lines[1], '█')], [7, 23, 10]);
        assert_eq!(signs(lines[2], '·'), 40, "a bar is never negative: {}", lines[2]);
        assert!(lines.iter().all(|line| width(line) <= 80), "{text}");
    }

    #[test]
    fn an_interval_without_answers_is_the_lowest_bar_of_a_curve() {
        let rates = vec![100.0, 100.0, 0.0, 100.0, 100.0];
        let curve = Curve { name: "etcd".into(), rates, makespan_s: 5.0, end_s: 5.0, marks_s: vec![2.5] };
        let text = curves(&[curve], Colour::Never);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].contains("██▁██"), "{text}");
        assert_eq!(lines[1].chars().position(|c| c == '▁'), lines[2].chars().position(|c| c == '^'), "{text}");
    }

    #[test]
    fn the_bars_of_a_curve_leave_room_for_a_whole_name() {
        let bars = |name: &str| {
            let rates = vec![1000.0; 60];
            let curve = Curve { name: name.into(), rates, makespan_s: 60.0, end_s: 60.0, marks_s: Vec::new() };
            let text = curves(&[curve], Colour::Never);
            assert!(text.contains(name), "{text}");
            text.chars().filter(|c| *c == '█').count()
        };
        assert_eq!(bars("redis"), super::CURVE);
        assert!(bars("mysql-memcached-unix-of-1234") < super::CURVE);
    }
}
