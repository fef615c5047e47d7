//! The tables of a search for the best setting: the settings that no other beats, and what each value does.

use super::sentences::changes;
use crate::block::{FigureColumn, FigureTable, FigureText, Tone};
use study::{Quantity, Tune, TuneEffect, TunedSetting};
use words::{Batches, units};

/// Returns the settings that no other beats; the rate is of what their operations carry.
pub(super) fn front(tune: &Tune, batches: Option<Batches>) -> Option<FigureTable> {
    let columns = ["SETTING", batches.map_or("OP/S", Batches::title), "P99", "B/RECORD"];
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    let row = |one: &TunedSetting| {
        [
            changes(&one.setting, &tune.default),
            or_dash(one.rate().map(|rate| units::count(rate.value))),
            or_dash(one.p99_ns.map(|p99| units::duration(p99.value * 1e-9))),
            or_dash(one.bytes_per_record.map(units::count)),
        ]
    };
    FigureTable::of_figures("No other setting is better in all of these at once", columns, tune.pareto.iter().map(row))
}

/// Returns what each value does that does anything.
pub(super) fn effects(tune: &Tune) -> Option<FigureTable> {
    let rows = tune.effects.iter().filter(|effect| effect.separated);
    let rows: Vec<_> = rows.filter_map(|effect| Some(effect_row(effect, effect.ratio?))).collect();
    let columns =
        [FigureColumn::words("VALUE"), FigureColumn::figures("x DEFAULT"), FigureColumn::words("95 % INTERVAL")];
    let title = "What a value does by itself, above 1 is better".into();
    (!rows.is_empty()).then(|| FigureTable { title, columns: columns.into(), rows, ..FigureTable::default() })
}

fn effect_row(effect: &TuneEffect, ratio: Quantity) -> Vec<FigureText> {
    let tone = if ratio.value > 1.0 { Tone::Good } else { Tone::Bad };
    vec![
        format!("{}={}", effect.key, effect.value).into(),
        FigureText::toned(format!("{:.2}", ratio.value), tone),
        FigureText::toned(format!("{:.2} to {:.2}", ratio.low, ratio.high), Tone::Faint),
    ]
}
