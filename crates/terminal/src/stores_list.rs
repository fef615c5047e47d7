//! The stores of this build as `kvtrial stores` lists them: a line per store.

use crate::layout::{Colour, Column, Row, Side, Style, Table, paragraph};
use crate::stores_table::{ListedStore, Presence, StoreRow, fold_twins};
use study::Class;

const COLUMNS: [Column<'static>; 4] = [
    Column { title: "STORE", side: Side::Left, gap: 3 },
    Column { title: "KIND", side: Side::Left, gap: 1 },
    Column { title: "FOUND, OR HOW TO GET IT", side: Side::Left, gap: 2 },
    Column { title: "DURABILITY", side: Side::Left, gap: 2 },
];
const FOUND: usize = 2;
/// Longest text of that column: more would be folded.
const FOUND_CHARS: usize = 27;

/// Returns a list of at most 80 columns, by class: what is found with its version, and for the others what to install, in a few words.
pub fn stores_list(stores: &[StoreRow], colour: Colour) -> String {
    let folded = fold_twins(stores);
    let rows: Vec<Row> = folded.iter().map(row).collect();
    let table = Table::fit_without(&COLUMNS, FOUND, &[], rows.iter());
    let mut text = table.titles(colour);
    for class in Class::ALL {
        let of_class: Vec<&Row> =
            folded.iter().zip(&rows).filter(|(listed, _)| listed.store.class == class).map(|(_, row)| row).collect();
        if of_class.is_empty() {
            continue;
        }
        text.push('\n');
        text += &paragraph(words::class_heading(class), 1, 3, Style::Bold, colour);
        of_class.into_iter().for_each(|row| text += &table.row(row, colour));
    }
    let found = stores.iter().filter(|store| matches!(store.presence, Presence::Found(_))).count();
    text.push('\n');
    let twin = folded.iter().rev().find_map(|listed| listed.unix);
    let twins = twin.map(|unix| format!(" *: also over a unix socket, as {}.", unix.name)).unwrap_or_default();
    let sentences = format!(
        "{found} of {} found. The first durability level is the default; choose another with -s STORE,durability=LEVEL.{twins}",
        stores.len()
    );
    text += &paragraph(&sentences, 1, 1, Style::Dim, colour);
    text += &paragraph(
        "kvtrial stores NAME shows its options, limits and licence, --long those of all.",
        1,
        1,
        Style::Dim,
        colour,
    );
    text
}

fn row(listed: &ListedStore<'_>) -> Row {
    let store = listed.store;
    let (found, style) = match &store.presence {
        Presence::Found(product) => (short(product), Style::Good),
        Presence::NotFound(_) => (short(&in_brief(&store.install)), Style::Warning),
        Presence::NotBuilt(feature) => (short(&format!("build --features {feature}")), Style::Warning),
    };
    let kind = (store.kind.clone(), Style::Plain);
    vec![(listed.short_name(), Style::Bold), kind, (found, style), (store.durabilities.join(" "), Style::Plain)]
}

/// A line that installs something, without what goes without saying; the whole line is with the store.
fn in_brief(install: &str) -> String {
    let brief = |begin: &str, rest: &str| Some(format!("{begin}{}", install.strip_prefix(rest)?));
    let known = [("install ", "apt-get install "), ("fetch-store ", "kvtrial fetch-store ")];
    known.iter().find_map(|(short, long)| brief(short, long)).unwrap_or_else(|| install.to_owned())
}

/// The beginning of a text, up to where it explains itself, at most [`FOUND_CHARS`].
fn short(text: &str) -> String {
    let end = [" (", ", ", "; "].iter().filter_map(|mark| text.find(mark)).min().unwrap_or(text.len());
    let begin = &text[..end];
    if begin.chars().count() <= FOUND_CHARS {
        return begin.into();
    }
    let mut kept: String = begin.chars().take(FOUND_CHARS - 1).collect();
    // A word is shown whole or not at all.
    kept.truncate(kept.rfind(' ').unwrap_or(kept.len()));
    kept + "…"
}
