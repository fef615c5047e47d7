//! What `kvtrial crash` found, on a terminal.

use crate::layout::{Colour, Column, Row, Side, Style, Table, entry, paragraph};
use findings::crash::{self as crashes, blows};
use study::{Crash, CrashCase, Promise};
use words::units;

const COLUMNS: [Column; 9] = [
    Column { title: "STORE", side: Side::Left, gap: 3 },
    Column { title: "LEVEL", side: Side::Left, gap: 2 },
    Column { title: "CUTS", side: Side::Right, gap: 2 },
    Column { title: "ACKED", side: Side::Right, gap: 2 },
    Column { title: "LOST", side: Side::Right, gap: 2 },
    Column { title: "OLDEST", side: Side::Right, gap: 2 },
    Column { title: "WRONG", side: Side::Right, gap: 2 },
    Column { title: "RECOVERY", side: Side::Right, gap: 2 },
    Column { title: "PROMISE", side: Side::Left, gap: 2 },
];

/// What a narrow terminal omits first: RECOVERY, OLDEST, CUTS, ACKED.
const SPARE: [usize; 4] = [7, 5, 2, 3];

/// Returns the findings in sentences, a broken promise first; a line per level of each store; notes on what was wrong, and on the cuts
/// behind the figures. At most 80 columns wide.
pub fn crash_text(crash: &Crash, colour: Colour) -> String {
    let mut text = String::from("\n");
    // A sentence for each.
    let broken = crash.cases.iter().filter(|case| case.promise == Promise::Broken).count();
    for (at, sentence) in crashes::headlines(crash).iter().enumerate() {
        let style = match at {
            broken_one if broken_one < broken => Style::Bad,
            0 => Style::Bold,
            _ => Style::Plain,
        };
        text += &paragraph(sentence, 1, 3, style, colour);
    }
    let rows: Vec<Row> = crash.cases.iter().map(row).collect();
    let table = Table::fit_without(&COLUMNS, 0, &SPARE, rows.iter());
    text.push('\n');
    if (crash.means, crash.nodes, crash.during) != Default::default() {
        text += &paragraph(&blows::how(crash), 1, 1, Style::Plain, colour);
        text.push('\n');
    }
    text += &table.titles(colour);
    rows.iter().for_each(|row| text += &table.row(row, colour));
    text.push('\n');
    for case in &crash.cases {
        for words in crashes::notes(case) {
            let (words, lines) = words.split_once('\n').unwrap_or((&words, ""));
            text += &paragraph(&format!("{}: {words}", case.name()), 1, 3, Style::Plain, colour);
            lines.lines().for_each(|line| text += &format!("   {line}\n")); // to be copied: never broken
        }
        for kept in case.cuts.iter().filter_map(|cut| cut.kept.as_ref()) {
            text += &paragraph(
                &format!("{}: its files are in {}. Open them:", case.name(), kept.directory),
                1,
                3,
                Style::Plain,
                colour,
            );
            kept.open.lines().for_each(|line| text += &format!("   {line}\n")); // to be copied: never broken
        }
    }
    for sentence in crashes::ruled_out(crash) {
        text += &paragraph(&sentence, 1, 3, Style::Plain, colour);
    }
    let left_out = table.left_out();
    let lost = match left_out.contains(&"OLDEST") {
        true => "acknowledged writes that are gone",
        false => "acknowledged writes that are gone; OLDEST: age of the oldest at the crash",
    };
    for (word, meaning) in [
        ("LOST", lost),
        ("WRONG", "values torn or never written, deleted keys that are back, starts that failed"),
        ("RECOVERY", "time from the restart on what was left to the first answer, median"),
    ] {
        if !left_out.contains(&word) {
            text += &entry(word, meaning, colour);
        }
    }
    if let [some @ .., last] = left_out.as_slice() {
        let names = if some.is_empty() { (*last).to_owned() } else { format!("{} and {last}", some.join(", ")) };
        text += &entry("left out", &format!("{names}, for which there is no room; report.html has them"), colour);
    }
    text + &paragraph(crashes::beyond(crash.means), 1, 3, Style::Dim, colour)
}

fn row(case: &CrashCase) -> Row {
    let found = case.found();
    let dash = || "-".to_owned();
    let number = |count: u64, style| (units::whole(count), if count > 0 { style } else { Style::Plain });
    // A key that is back is a lost delete, and counted as that.
    let wrong = found.torn + found.invented + case.not_started() as u64;
    let style = match case.promise {
        Promise::Kept => Style::Good,
        Promise::Broken => Style::Bad,
        Promise::NotShown | Promise::NothingToShow => Style::Dim,
    };
    vec![
        (case.store.clone(), Style::Plain),
        (case.level.map_or_else(dash, |level| level.to_string()), Style::Plain),
        (case.cuts.len().to_string(), Style::Plain),
        (units::whole(found.acknowledged), Style::Plain),
        number(found.lost, style),
        (found.oldest_lost_s.map_or_else(dash, units::duration), Style::Plain),
        number(wrong, style),
        (case.recovery_s.map_or_else(dash, |it| units::duration(it.value)), Style::Plain),
        (crashes::outcome(case).to_owned(), style),
    ]
}
