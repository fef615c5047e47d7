//! What `kvtrial tune` found, in sentences.

use std::collections::BTreeMap;
use study::{Cell, Quantity, Study, Tune, TuneEffect};
use words::units;

/// What is said where no effect is known.
pub(super) const NO_EFFECT_KNOWN: &str =
    "Too few settings were tried to show what each value does by itself; a larger --budget tries more.";

/// Returns the part of a setting that differs from the default: `clients=8 threads=2`, or `the default`.
pub fn changes(setting: &BTreeMap<String, String>, default: &BTreeMap<String, String>) -> String {
    let changed: Vec<String> = setting
        .iter()
        .filter(|(key, value)| default.get(*key) != Some(value))
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    if changed.is_empty() { "the default".into() } else { changed.join(" ") }
}

/// What the trials of the final comparison show of the best setting of the search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gain {
    /// That it is better than the default.
    Better,
    /// That it is worse.
    Worse,
    /// Neither.
    Nothing,
}

/// A p-value must be below this, and 1 outside the interval: in studies of earlier versions the two could contradict each other.
const ALPHA: f64 = 0.05;

fn shown(tune: &Tune) -> Gain {
    let (Some(gain), Some(p)) = (tune.gain, tune.gain_p) else { return Gain::Nothing };
    match gain {
        _ if p >= ALPHA || gain.level <= 0.0 => Gain::Nothing,
        _ if gain.low > 1.0 => Gain::Better,
        _ if gain.high < 1.0 => Gain::Worse,
        _ => Gain::Nothing,
    }
}

/// Returns the best setting, or that none was shown to be better than the default.
pub(super) fn best(study: &Study, tune: &Tune) -> String {
    let of = |cell: &Cell| cell.store.split(',').take_while(|part| !part.contains('=')).collect::<Vec<_>>().join(",");
    let store = study.cells.first().map(of).unwrap_or_default();
    let objective = &tune.objective;
    match (changes(&tune.best, &tune.default).as_str(), shown(tune)) {
        ("the default", _) => {
            let tried = tried(tune);
            format!("No setting of {store} was found to be better than the default in {objective}{tried}.")
        }
        (changed, Gain::Better) => format!("The best setting found for {store}, by {objective}: {changed}"),
        (changed, Gain::Worse | Gain::Nothing) => format!(
            "No setting of {store} was shown to be better than the default in {objective}{}. The search ranked first: {changed}",
            tried(tune)
        ),
    }
}

/// How little was tried, where it was not all.
fn tried(tune: &Tune) -> String {
    let tried = tune.rounds.iter().map(|round| u64::from(round.settings)).max().unwrap_or_default();
    if tried == 0 || tried >= tune.combinations {
        return String::new();
    }
    let (tried, all) = (units::whole(tried), units::whole(tune.combinations));
    format!(", but only {tried} of {all} settings were tried: a larger --budget tries more")
}

/// Returns how much better it is than the default, as the final comparison shows it.
pub(super) fn gain(tune: &Tune) -> String {
    let Some(gain) = tune.gain else {
        return "There was no time left to compare the best setting tried with the default; give a larger --budget."
            .into();
    };
    let what = if tune.best == tune.default { "The nearest other setting" } else { "It" };
    let p = tune.gain_p.map_or(String::new(), |p| format!(", p = {p:.3}"));
    let measured = format!("{} pairs of trials after the search, alternating{p}", gain.n);
    if gain.level <= 0.0 {
        return format!(
            "{what} is {:.2} times as good as the default in a single pair: that may be chance.",
            gain.value
        );
    }
    let interval = format!("{:.2}x to {:.2}x, {:.0} %", gain.low, gain.high, gain.level * 100.0);
    match shown(tune) {
        Gain::Better => format!("{what} is {:.2}x as good as the default ({interval}; {measured}).", gain.value),
        // The other way round: 0.72x of a time would read as faster.
        Gain::Worse => format!(
            "{what} is worse: the default is {:.2}x as good ({:.2}x to {:.2}x, {:.0} %; {measured}).",
            1.0 / gain.value,
            1.0 / gain.high,
            1.0 / gain.low,
            gain.level * 100.0
        ),
        Gain::Nothing => format!(
            "{what} was {:.2}x as good as the default ({interval}; {measured}): that may be chance; a larger --budget can decide.",
            gain.value
        ),
    }
}

/// Returns the number of settings tried, and the time they took.
pub(super) fn effort(tune: &Tune) -> String {
    let rounds: Vec<String> =
        tune.rounds.iter().map(|round| format!("{} in {} trials", round.settings, round.trials)).collect();
    format!(
        "Of {} possible settings tried: {}; {} of {} used.",
        units::whole(tune.combinations),
        rounds.join(", then the best "),
        units::clock(tune.used_s),
        units::clock(tune.budget_s)
    )
}

/// Returns a sentence on the keys none of whose values differs measurably from the default, with where their effect lies.
pub(super) fn no_effect(tune: &Tune) -> Option<String> {
    let known: Vec<(&TuneEffect, Quantity)> =
        tune.effects.iter().filter_map(|effect| Some((effect, effect.ratio?))).collect();
    let idle: Vec<String> = tune
        .space
        .iter()
        .filter_map(|space| {
            let of_key: Vec<_> = known.iter().filter(|(effect, _)| effect.key == space.key).collect();
            if of_key.is_empty() || of_key.iter().any(|(effect, _)| effect.separated) {
                return None;
            }
            let low = of_key.iter().map(|(_, ratio)| ratio.low).fold(f64::INFINITY, f64::min);
            let high = of_key.iter().map(|(_, ratio)| ratio.high).fold(0.0, f64::max);
            Some(format!("{} ({low:.2}x to {high:.2}x)", space.key))
        })
        .collect();
    (!idle.is_empty()).then(|| format!("No measurable effect (95 % interval): {}.", idle.join(", ")))
}
