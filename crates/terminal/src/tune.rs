//! What `kvtrial tune` found, on a terminal.

use crate::layout::{Colour, Column, Row, Side, Style, Table, paragraph};
use findings::tune;
use std::collections::BTreeMap;
use study::{Quantity, Study, Tune, TuneEffect, TunedSetting};
use words::{Batches, units};

/// Columns of the settings that no other beats; the rate is of what their operations carry.
fn front_columns(batches: Option<Batches>) -> [Column; 4] {
    [
        Column { title: "SETTING", side: Side::Left, gap: 3 },
        Column { title: batches.map_or("OP/S", Batches::title), side: Side::Right, gap: 2 },
        Column { title: "P99", side: Side::Right, gap: 2 },
        Column { title: "B/RECORD", side: Side::Right, gap: 2 },
    ]
}
const EFFECTS: [Column; 3] = [
    Column { title: "VALUE", side: Side::Left, gap: 3 },
    Column { title: "x DEFAULT", side: Side::Right, gap: 2 },
    Column { title: "95 % INTERVAL", side: Side::Left, gap: 2 },
];

/// Returns the best setting with its gain, the settings no other beats, what each value does, and what did not matter. At most 80 columns
/// wide.
pub fn tune_text(study: &Study, tune: &Tune, colour: Colour) -> String {
    let mut text = String::from("\n");
    for (line, style) in
        [(tune::best(study, tune), Style::Bold), (tune::gain(tune), Style::Plain), (tune::effort(tune), Style::Dim)]
    {
        text += &paragraph(&line, 1, 3, style, colour);
    }
    if !tune.pareto.is_empty() {
        text.push('\n');
        text += &paragraph("No other setting is better in all of these at once:", 1, 3, Style::Bold, colour);
        let rows: Vec<Row> = tune.pareto.iter().map(|one| front_row(one, &tune.default)).collect();
        let columns = front_columns(Batches::of(study));
        let table = Table::fit(&columns, 0, rows.iter());
        text += &table.titles(colour);
        rows.iter().for_each(|row| text += &table.row(row, colour));
    }
    text.push('\n');
    text + &effects(tune, colour)
}

fn front_row(one: &TunedSetting, default: &BTreeMap<String, String>) -> Row {
    let or_dash = |text: Option<String>| (text.unwrap_or_else(|| "-".into()), Style::Plain);
    vec![
        (tune::changes(&one.setting, default), Style::Plain),
        or_dash(one.rate().map(|rate| units::count(rate.value))),
        or_dash(one.p99_ns.map(|p99| units::duration(p99.value * 1e-9))),
        or_dash(one.bytes_per_record.map(units::count)),
    ]
}

fn effects(tune: &Tune, colour: Colour) -> String {
    let known: Vec<(&TuneEffect, Quantity)> =
        tune.effects.iter().filter_map(|effect| effect.ratio.map(|ratio| (effect, ratio))).collect();
    if known.is_empty() {
        let words = "Too few settings were tried to show what each value does by itself; a larger --budget tries more.";
        return paragraph(words, 1, 3, Style::Plain, colour);
    }
    let mattered: Vec<Row> = known
        .iter()
        .filter(|(effect, _)| effect.separated)
        .map(|(effect, ratio)| {
            let style = if ratio.value > 1.0 { Style::Good } else { Style::Bad };
            vec![
                (format!("{}={}", effect.key, effect.value), Style::Plain),
                (format!("{:.2}", ratio.value), style),
                (format!("{:.2} to {:.2}", ratio.low, ratio.high), Style::Dim),
            ]
        })
        .collect();
    let mut text = String::new();
    if !mattered.is_empty() {
        text += &paragraph("What a value does by itself, above 1 is better:", 1, 3, Style::Bold, colour);
        let table = Table::fit(&EFFECTS, 0, mattered.iter());
        text += &table.titles(colour);
        mattered.iter().for_each(|row| text += &table.row(row, colour));
    }
    if let Some(words) = tune::no_effect(tune) {
        text += &paragraph(&words, 1, 3, Style::Plain, colour);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::tune_text;
    use crate::Colour;
    use study::{Cell, Quantity, Study, Tune, TuneEffect, TuneRound, TunedKey, TunedSetting};

    fn tuned() -> (Study, Tune) {
        let setting = |clients: &str, threads: &str| {
            [("clients".to_owned(), clients.to_owned()), ("redis.io-threads".to_owned(), threads.to_owned())].into()
        };
        let effect = |key: &str, value: &str, ratio: f64, separated| TuneEffect {
            key: key.into(),
            value: value.into(),
            ratio: Some(Quantity { value: ratio, low: ratio * 0.95, high: ratio * 1.05, level: 0.95, n: 20 }),
            separated,
        };
        let key = |key: &str, values: &[&str]| TunedKey {
            key: key.into(),
            values: values.iter().map(|value| (*value).into()).collect(),
        };
        let tune = Tune {
            objective: "ops_per_s".into(),
            budget_s: 300.0,
            used_s: 298.2,
            combinations: 18,
            space: vec![key("clients", &["1", "8"]), key("redis.io-threads", &["1", "2"])],
            rounds: vec![TuneRound { settings: 12, trials: 12 }, TuneRound { settings: 6, trials: 18 }],
            default: setting("1", "1"),
            best: setting("8", "1"),
            gain: Some(Quantity { value: 2.41, low: 2.3, high: 2.5, level: 0.95, n: 9 }),
            gain_p: Some(0.0001),
            pareto: vec![TunedSetting { setting: setting("8", "1"), ..TunedSetting::default() }],
            effects: vec![effect("clients", "8", 2.4, true), effect("redis.io-threads", "2", 1.0, false)],
        };
        (
            Study {
                cells: vec![Cell { store: "redis-unix,io-threads=1".into(), ..Cell::default() }],
                ..Study::default()
            },
            tune,
        )
    }

    #[test]
    fn the_best_setting_its_gain_and_what_did_not_matter_are_printed() {
        let (study, tune) = tuned();
        let text = tune_text(&study, &tune, Colour::Never);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("The best setting found for redis-unix, by ops_per_s: clients=8"), "{text}");
        assert!(words.contains("It is 2.41x as good as the default (2.30x to 2.50x, 95 %; 9 pairs"), "{text}");
        assert!(words.contains("redis.io-threads (0.95x to 1.05x)") && words.contains("clients=8 2.40"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn chance_is_called_chance() {
        let (study, mut tune) = tuned();
        // The second as an earlier version had it: the p-value of one procedure beside the interval of another.
        for (low, high, p) in [(0.97, 1.08, 0.4), (0.94, 2.53, 0.020), (1.01, 2.0, 0.06)] {
            tune.gain = Some(Quantity { value: 1.02, low, high, level: 0.95, n: 9 });
            tune.gain_p = Some(p);
            let text = tune_text(&study, &tune, Colour::Never);
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains("that may be chance") && !words.contains("The best setting found"), "{text}");
            assert!(
                words.contains(
                    "No setting of redis-unix was shown to be better than the default in ops_per_s, but only 12 of 18 settings were tried: a larger --budget tries more. The search ranked first: clients=8"
                ),
                "{text}"
            );
        }
        tune.gain = Some(Quantity { value: 0.72, low: 0.6, high: 0.8, level: 0.95, n: 9 });
        tune.gain_p = Some(0.001);
        let text = tune_text(&study, &tune, Colour::Never);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("It is worse: the default is 1.39x as good (1.25x to 1.67x, 95 %;"), "{text}");
        tune.best = tune.default.clone();
        (tune.combinations, tune.rounds) = (1_620, vec![TuneRound { settings: 5, trials: 5 }]);
        let text = tune_text(&study, &tune, Colour::Never);
        assert!(text.replace("\n   ", " ").contains("but only 5 of 1,620 settings were tried"), "{text}");
        assert!(tune_text(&study, &tune, Colour::Never).contains("No setting of redis-unix"));
    }
}
