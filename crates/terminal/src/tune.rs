//! What `kvtrial tune` found, on a terminal.

use crate::blocks;
use crate::layout::Colour;
use study::Study;

/// Returns the best setting with its gain, the settings no other beats, what each value does, and what did not matter. At most 80 columns
/// wide.
pub fn tune_text(study: &Study, colour: Colour) -> String {
    blocks::alone(study, findings::tune::find, colour)
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
        let text = tune_text(&Study { tune: Some(tune.clone()), ..study.clone() }, Colour::Never);
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
            let text = tune_text(&Study { tune: Some(tune.clone()), ..study.clone() }, Colour::Never);
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
        let text = tune_text(&Study { tune: Some(tune.clone()), ..study.clone() }, Colour::Never);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("It is worse: the default is 1.39x as good (1.25x to 1.67x, 95 %;"), "{text}");
        tune.best = tune.default.clone();
        (tune.combinations, tune.rounds) = (1_620, vec![TuneRound { settings: 5, trials: 5 }]);
        let text = tune_text(&Study { tune: Some(tune.clone()), ..study.clone() }, Colour::Never);
        assert!(text.replace("\n   ", " ").contains("but only 5 of 1,620 settings were tried"), "{text}");
        assert!(
            tune_text(&Study { tune: Some(tune.clone()), ..study.clone() }, Colour::Never)
                .contains("No setting of redis-unix")
        );
    }
}
