//! A job as its author ran it: the settings, and the numbers then published.

use study::{Original, OriginalMeasure, PresetRecord, Scaled};

/// A job as it was run and published once: `--preset NAME`. Every part of it can be set otherwise by the usual options.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name of the preset: the year of the original, `2009`.
    pub name: &'static str,
    /// A sentence or two on what was run then, and on what machine.
    pub about: &'static str,
    /// The author and place of publication.
    pub source: &'static str,
    /// `--data`; `None`: the job's default.
    pub data: Option<Setting>,
    /// `--set KEY=VALUE`.
    pub params: &'static [(&'static str, Setting)],
    /// `--vary KEY=VALUES`: what the original varied.
    pub vary: &'static [(&'static str, &'static str)],
    /// `-s`: the stores the original compared, as near as there are any here. What this machine lacks is left out, and said.
    pub stores: &'static [&'static str],
    /// `--clients`.
    pub clients: u32,
    /// `--pipeline`.
    pub pipeline: u32,
    /// `--time-one-in`: one operation in n is timed; `None`: every one.
    pub time_one_in: Option<u32>,
    /// `--warmups`.
    pub warmups: u32,
    /// `--repeats`.
    pub repeats: u32,
    /// The numbers that were published. The first one is what the others are compared with, then and here.
    pub originals: &'static [PublishedFigure],
    /// The differences from the original, a sentence each.
    pub differences: &'static [&'static str],
}

/// A setting of a preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A fixed text.
    Fixed(&'static str),
    /// A number of things that `--scale` makes smaller or larger.
    Scaled {
        /// The text before the number, e.g. `gen:`.
        before: &'static str,
        /// The original's number.
        full: u64,
        /// The text behind the number, e.g. `:42`.
        after: &'static str,
        /// The items that are counted, e.g. `keys`.
        what: &'static str,
    },
}

/// A number that was published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedFigure {
    /// The system as the original named it.
    pub system: &'static str,
    /// The spec it corresponds to here, as in `stores` (or `null`, `ram`); `None`: there is none.
    pub store: Option<&'static str>,
    /// Parameters of the cell it corresponds to, where the preset varies any.
    pub params: &'static [(&'static str, &'static str)],
    /// The number.
    pub value: f64,
    /// The measure of the number.
    pub measure: FigureMeasure,
}

/// The measure of a published number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureMeasure {
    /// Time of the whole job, seconds.
    MakespanS,
    /// Operations per second of one phase, by its name; of all timed phases when empty.
    OpsPerS(&'static str),
    /// Things of the input per second, by their name in the study's `input`: `messages`.
    InputPerS(&'static str),
}

/// The size of a preset as a multiple of the original's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale(f64);

impl Scale {
    /// The size of the original.
    pub const FULL: Scale = Scale(1.0);

    /// Makes a factor above 0, at most 1,000.
    ///
    /// # Errors
    /// Says what is possible.
    pub fn new(factor: f64) -> Result<Scale, String> {
        match factor {
            factor if factor > 0.0 && factor <= 1000.0 => Ok(Scale(factor)),
            _ => Err("use a factor above 0 and at most 1000, such as 0.01".into()),
        }
    }

    /// Returns the factor.
    pub fn factor(self) -> f64 {
        self.0
    }

    /// A number of things, scaled: rounded, at least 1.
    fn of(self, full: u64) -> u64 {
        if self.0 == 1.0 { full } else { ((full as f64 * self.0).round() as u64).max(1) }
    }
}

impl Setting {
    /// Returns the setting as text.
    pub fn text(&self, scale: Scale) -> String {
        match *self {
            Setting::Fixed(text) => text.into(),
            Setting::Scaled { before, full, after, .. } => format!("{before}{}{after}", scale.of(full)),
        }
    }

    /// Returns the quantity that was scaled.
    fn scaled(&self, scale: Scale) -> Option<Scaled> {
        match *self {
            Setting::Scaled { full, what, .. } if scale != Scale::FULL => {
                Some(Scaled { what: what.into(), original: full, here: scale.of(full) })
            }
            _ => None,
        }
    }
}

impl Preset {
    /// Returns the record of the preset for the study. `overridden`: options with which the user changed it.
    pub fn record(&self, scale: Scale, overridden: Vec<String>) -> PresetRecord {
        let settings = self.data.iter().chain(self.params.iter().map(|(_, setting)| setting));
        PresetRecord {
            name: self.name.into(),
            about: self.about.into(),
            source: self.source.into(),
            scale: scale.factor(),
            scaled: settings.filter_map(|setting| setting.scaled(scale)).collect(),
            overridden,
            originals: self.originals.iter().map(PublishedFigure::record).collect(),
            differences: self.differences.iter().map(|&sentence| sentence.to_owned()).collect(),
        }
    }
}

impl PublishedFigure {
    fn record(&self) -> Original {
        let own = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
        Original {
            system: self.system.into(),
            store: self.store.map(str::to_owned),
            params: self.params.iter().map(own).collect(),
            value: self.value,
            measure: match self.measure {
                FigureMeasure::MakespanS => OriginalMeasure::MakespanS,
                FigureMeasure::OpsPerS(phase) => OriginalMeasure::OpsPerS { phase: phase.into() },
                FigureMeasure::InputPerS(what) => OriginalMeasure::InputPerS { what: what.into() },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Scale, Setting};

    #[test]
    fn a_scaled_setting_says_what_it_was_and_is_and_a_fixed_one_stays() {
        let keys = Setting::Scaled { before: "gen:", full: 78_000_000, after: ":42", what: "keys" };
        assert_eq!(keys.text(Scale::FULL), "gen:78000000:42");
        assert!(keys.scaled(Scale::FULL).is_none());
        let Ok(scale) = Scale::new(0.01) else { panic!("0.01 is a scale") };
        assert_eq!(keys.text(scale), "gen:780000:42");
        let said = keys.scaled(scale).map(|scaled| (scaled.what, scaled.original, scaled.here));
        assert_eq!(said, Some(("keys".to_owned(), 78_000_000, 780_000)));
        assert_eq!(Setting::Fixed("partition").text(scale), "partition");
    }

    #[test]
    fn nothing_is_scaled_to_nothing_and_no_factor_is_absurd() {
        let Ok(scale) = Scale::new(1e-9) else { panic!("a small scale is a scale") };
        assert_eq!(scale.of(100), 1);
        assert!([0.0, -1.0, f64::NAN, f64::INFINITY, 1001.0].iter().all(|&factor| Scale::new(factor).is_err()));
    }
}
