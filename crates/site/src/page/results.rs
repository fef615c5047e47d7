//! All results as one table, which the page's script draws: thousands of rows would be megabytes as HTML.

use super::Depth;
use super::facts::{ALL, Choices};
use super::figures::{board_address, day, kind, shares, store_address};
use crate::board::{Board, BoardEntry};
use findings::figures;
use maud::{Markup, PreEscaped, html};
use serde::Serialize;
use study::Status;

/// What the script draws rows from: texts are kept once, and rows name them by number.
#[derive(Serialize)]
struct ResultData<'d> {
    /// What stands before each address.
    way: &'static str,
    texts: Vec<&'d str>,
    rows: Vec<ResultRow>,
}

/// A result: place, store, version, its page, job, kind, the board's page, figure, interval, share of the best in thousandths (-1: none), day, the
/// study, its mark, then its facts.
#[derive(Serialize)]
struct ResultRow(String, [usize; 6], String, String, i32, [usize; 3], Vec<usize>);

/// Texts with their numbers.
#[derive(Default)]
struct Texts {
    all: Vec<String>,
    known: std::collections::HashMap<String, usize>,
}

impl Texts {
    fn number(&mut self, text: &str) -> usize {
        if let Some(known) = self.known.get(text) {
            return *known;
        }
        self.all.push(text.to_owned());
        self.known.insert(text.to_owned(), self.all.len() - 1);
        self.all.len() - 1
    }
}

/// Returns the table, with a form before it that filters it.
pub(super) fn results(boards: &[Board<'_>], choices: &Choices, depth: Depth) -> Markup {
    let headings = [("Place", "num"), ("Store", ""), ("Work", ""), ("Figure", "num"), ("Day", "")];
    html! {
        (choices.form("filter", &ALL, "results"))
        div.scroll tabindex="0" role="region" aria-label="Table of all results" { table.results data-form="filter" data-rows="rows" {
            caption { "Bars: against the best of the same list; longer is better. The line on a bar is the interval of its trials." }
            thead { tr {
                @for (title, class) in headings { th class=(class) scope="col" { button type="button" { (title) } } }
            } }
            tbody {}
        } }
        button.more type="button" hidden { "Show all" }
        noscript { p { "This table needs JavaScript; the lists above have every result." } }
        script type="application/json" id="rows" { (PreEscaped(data(boards, choices, depth))) }
    }
}

/// The rows as JSON that cannot end its element.
fn data(boards: &[Board<'_>], choices: &Choices, depth: Depth) -> String {
    let mut texts = Texts::default();
    let mut rows = Vec::new();
    for board in boards {
        for entry in &board.entries {
            rows.push(row(board, entry, choices, &mut texts));
        }
    }
    let texts = texts.all.iter().map(String::as_str).collect();
    let json = serde_json::to_string(&ResultData { way: depth.way(), texts, rows }).unwrap_or_default();
    json.replace('<', "\\u003c")
}

fn row(board: &Board<'_>, entry: &BoardEntry<'_>, choices: &Choices, texts: &mut Texts) -> ResultRow {
    let unit = board.metric.unit();
    let of_board = [&board.key.job, &kind(board), &board_address(board)].map(|text| texts.number(text));
    let version = format!("{} {}", entry.cell.product, entry.cell.store_version);
    let of_store = [&entry.cell.store, &version, &store_address(entry)].map(|text| texts.number(text));
    let figure = match (entry.cell.verdict.status, entry.figure) {
        (Status::Void, _) => "void".into(),
        (_, Some(it)) => figures::value(it.value, unit),
        (_, None) => "–".into(),
    };
    let doubt = if entry.cell.verdict.status == Status::Degraded { "degraded · " } else { "" };
    let interval = entry.figure.map_or(String::new(), |it| format!("{doubt}{}", figures::interval(&it, unit)));
    let thousandths = shares(entry, board).map_or(-1, |share| (share.value * 1000.0).round() as i32);
    let mark = entry.published.verification.mark.words();
    let of_study = [day(entry), entry.published.id.as_str(), mark].map(|text| texts.number(text));
    let [a, b, c] = of_store;
    let [d, e, f] = of_board;
    let facts = choices.places(board, entry).to_vec();
    ResultRow(entry.rank.text(), [a, b, c, d, e, f], figure, interval, thousandths, of_study, facts)
}
