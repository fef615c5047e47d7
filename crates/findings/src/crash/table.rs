//! The table of what stores still held after crashes: a row per level of each store.

use super::sentences::{outcome, percent};
use crate::block::{Breadth, FigureColumn, FigureTable, FigureText, Tone};
use study::{Crash, CrashCase, Promise};
use words::units;

/// A key that is back is a lost delete, and counted as that in sums.
fn columns() -> [FigureColumn; 15] {
    [
        FigureColumn::words("STORE").headed("Store"),
        FigureColumn::words("LEVEL").headed("Level"),
        FigureColumn::figures("CUTS").headed("Cuts").spare(3),
        FigureColumn::figures("ACKED").headed("Acknowledged").spare(4),
        FigureColumn::figures("LOST").headed("Lost").meaning("acknowledged writes that are gone"),
        FigureColumn::figures("OLDEST")
            .headed("Oldest lost")
            .meaning("age of the oldest of these writes at the crash")
            .spare(2),
        FigureColumn::figures("WRONG")
            .meaning("values torn or never written, deleted keys that are back, starts that failed")
            .only(Breadth::Narrow),
        FigureColumn::figures("Torn").meaning("checksum or length is wrong").only(Breadth::Wide),
        FigureColumn::figures("Resurrected").meaning("back after an acknowledged delete").only(Breadth::Wide),
        FigureColumn::figures("Invented").meaning("never written").only(Breadth::Wide),
        FigureColumn::figures("Holes")
            .meaning("lost, though a later write of the same client is there")
            .only(Breadth::Wide),
        FigureColumn::figures("Not started").only(Breadth::Wide),
        FigureColumn::figures("RECOVERY")
            .headed("Recovery")
            .meaning("time from the restart on what was left to the first answer, median")
            .spare(1),
        FigureColumn::figures("May still break")
            .meaning("the largest share of crashes these cuts cannot rule out, at 95 %")
            .only(Breadth::Wide),
        FigureColumn::words("PROMISE").headed("Promise"),
    ]
}

/// Returns the table.
pub(super) fn table(crash: &Crash) -> FigureTable {
    FigureTable {
        title: "Every level of every store: what was found after its crashes".into(),
        columns: columns().into(),
        rows: crash.cases.iter().map(row).collect(),
        ..FigureTable::default()
    }
}

fn row(case: &CrashCase) -> Vec<FigureText> {
    let found = case.found();
    let dash = || "-".to_owned();
    let is_broken = case.promise == Promise::Broken;
    let harm = |count: u64| {
        FigureText::toned(units::whole(count), if count > 0 && is_broken { Tone::Bad } else { Tone::Plain })
    };
    let not_started = case.not_started() as u64;
    let recovery_n = case.recovery_s.map_or(String::new(), |it| format!("n = {}", it.n));
    let product = format!("{} {}", case.product, case.store_version);
    vec![
        FigureText::from(case.store.clone()).noted(product.trim()),
        case.level.map_or_else(dash, |level| level.to_string()).into(),
        case.cuts.len().to_string().into(),
        units::whole(found.acknowledged).into(),
        harm(found.lost),
        found.oldest_lost_s.map_or_else(dash, units::duration).into(),
        harm(found.torn + found.invented + not_started),
        harm(found.torn),
        harm(found.resurrected),
        harm(found.invented),
        harm(found.holes),
        harm(not_started),
        FigureText::from(case.recovery_s.map_or_else(dash, |it| units::duration(it.value))).noted(recovery_n),
        case.not_ruled_out.map_or_else(dash, percent).into(),
        FigureText::toned(outcome(case), tone(case.promise)),
    ]
}

fn tone(promise: Promise) -> Tone {
    match promise {
        Promise::Kept => Tone::Good,
        Promise::Broken => Tone::Bad,
        Promise::NotShown | Promise::NothingToShow => Tone::Faint,
    }
}
