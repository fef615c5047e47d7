//! What a study found, in words, where a reader looks first: before the tables of a sweep, after an ordinary one.

use crate::curves;
use crate::layout::{Colour, Style, paragraph};
use analysis::Group;
use findings::Grouped;
use study::Study;

/// Returns what a sweep found, and its curve: before the tables of all its combinations.
pub(crate) fn sweep(study: &Study, grouped: &[Grouped<'_>], colour: Colour) -> String {
    let mut text = String::new();
    if grouped.len() > 1 {
        text.push('\n');
        let parts: Vec<_> = grouped.iter().map(|it| (&it.part, it.groups.as_slice())).collect();
        for (at, sentence) in findings::sweep::sentences(study, &parts, &|cell| cell.store.clone()).iter().enumerate() {
            text += &paragraph(sentence, 1, 3, if at == 0 { Style::Bold } else { Style::Plain }, colour);
        }
    }
    let curve = curves::over_parameter(study, colour);
    if curve.is_empty() { text } else { format!("{text}\n{curve}") }
}

/// Returns which store is best and by how much, in words: within each class, then between classes.
pub(crate) fn verdict(groups: &[Group<'_>], colour: Colour) -> String {
    let sentences: Vec<String> = groups
        .iter()
        .filter_map(findings::ranking::verdict::of_group)
        .chain(findings::ranking::verdict::across(groups))
        .collect();
    let text: String = sentences.iter().map(|it| paragraph(it, 1, 3, Style::Bold, colour)).collect();
    if text.is_empty() { text } else { format!("\n{text}") }
}
