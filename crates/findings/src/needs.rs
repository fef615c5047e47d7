//! Which stores meet what the user needs.

mod chart;
mod sentences;
mod table;

use crate::block::{Block, Tone};
use crate::finding::{Arrangement, Finding};
use crate::view::{Grouped, View};
use analysis::Need;
use study::{Cell, Meets};

pub(crate) use sentences::{has_figures, verdict, whys, whys_of};

pub(crate) fn find(view: &View<'_>) -> Option<Finding> {
    let needs: Vec<Need> = view.study.needs.iter().filter_map(|text| text.parse().ok()).collect();
    if needs.is_empty() || view.is_search() {
        return None;
    }
    Some(Finding {
        id: "needs",
        title: "Needs",
        intro: "A need is met, or missed, where the trials show it: a store whose figure is the bound itself is called either in at most one of \
                twenty studies. Stores of all classes are held against the same needs."
            .into(),
        charts: Arrangement::Below,
        parts: view.by_part(|it| blocks(it, &needs, view)),
    })
}

/// Says which needs a cell is not shown to meet, and what was seen; `None` where it meets all.
pub fn unmet(cell: &Cell) -> Option<String> {
    let of = |ruling| Some(whys(cell, ruling)).filter(|whys| !whys.is_empty());
    let not_shown = of(Meets::NotShown).map(|whys| format!("not shown: {whys}"));
    let each: Vec<String> = of(Meets::Missed).into_iter().chain(not_shown).collect();
    (!each.is_empty()).then(|| each.join("; "))
}

/// Returns whether cells are drawn together by what is needed, whatever their class.
pub(crate) fn are_drawn(cells: &[&Cell]) -> bool {
    cells.iter().flat_map(|cell| &cell.meets).any(|one| one.margin.is_some())
}

fn blocks(it: &Grouped<'_>, needs: &[Need], view: &View<'_>) -> Vec<Block> {
    let cells: Vec<&Cell> = it.cells().iter().copied().filter(|cell| !cell.meets.is_empty()).collect();
    if cells.is_empty() {
        return Vec::new();
    }
    let limit = sentences::limit(view.study).map(|text| Block::headline(text, Tone::Plain));
    let table = Block::Table(table::table(&cells, needs));
    let chart = view.charts(|| chart::chart(&cells, needs, it.label()));
    // What was decided says the rest.
    if view.study.choice.is_some() {
        return limit.into_iter().chain([table]).chain(chart).collect();
    }
    let head = Block::headline(sentences::verdict(&cells), sentences::tone(&cells));
    let others = [(sentences::missed(&cells), Tone::Warning), (sentences::not_shown(&cells), Tone::Plain)];
    let others = others.into_iter().filter_map(|(text, tone)| Some(Block::headline(text?, tone)));
    std::iter::once(head).chain(others).chain(limit).chain([table]).chain(chart).collect()
}
