//! Stores against needs.

use super::sentences::figure;
use crate::block::{FigureColumn, FigureTable, FigureText, Tone};
use crate::identity::label;
use analysis::{Need, NeedKind};
use study::{Cell, Meets, NeedShown};
use words::units;

/// Returns the table of what each store shows of each need.
pub(super) fn table(cells: &[&Cell], needs: &[Need]) -> FigureTable {
    let columns = needs.iter().map(|need| FigureColumn::figures(need.text.clone()));
    let rows = cells.iter().map(|cell| {
        let texts = needs.iter().map(|need| text(need, cell.meets.iter().find(|one| one.need == need.text)));
        std::iter::once(FigureText::from(label(cell))).chain(texts).collect()
    });
    FigureTable {
        title: "What each store shows of each need".into(),
        columns: std::iter::once(FigureColumn::words("STORE")).chain(columns).collect(),
        rows: rows.collect(),
        ..FigureTable::default()
    }
}

fn text(need: &Need, shown: Option<&NeedShown>) -> FigureText {
    let Some(shown) = shown else { return FigureText::from("-") };
    let (word, tone) = match shown.meets {
        Meets::Met => ("met", Tone::Good),
        Meets::Missed => ("missed", Tone::Bad),
        Meets::NotShown => ("not shown", Tone::Warning),
    };
    let figure = figure(need, shown);
    let text = figure.map_or_else(|| word.to_owned(), |figure| format!("{word}, {figure}"));
    // By how much, else why, or who says it. What each figure is of is said once, in words.
    let margin = shown.margin.filter(|_| shown.meets != Meets::NotShown);
    let has_reason = shown.meets != Meets::Met || matches!(need.kind, NeedKind::Durability(_));
    let reason = Some(shown.because.clone()).filter(|_| has_reason);
    let note = margin.map(|margin| format!("margin {}", units::ratio(margin))).or(reason);
    FigureText::toned(text, tone).noted(note.unwrap_or_default())
}
