//! The options of stores: the options a spec may carry, and those that a search may change.

use std::collections::BTreeMap;

/// An option a spec may carry, e.g. `layout=hstore`.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    /// The name of the option.
    pub name: &'static str,
    /// The values of the option, the default first; free text when empty.
    pub values: &'static [&'static str],
    /// The meaning of the option.
    pub help: &'static str,
    /// The values that a search may try; `None` when the option changes what is stored or what a crash loses, or is not worth a search.
    pub tunable: Option<Tunable>,
}

/// An option that changes how the work is done, and neither what is stored nor what a crash loses.
#[derive(Clone, Copy, Debug)]
pub struct Tunable {
    /// The values worth trying, the store's default first.
    pub values: &'static [&'static str],
    /// The setting of [`Facts`](crate::Facts) that shows the value in effect.
    pub shown_as: &'static str,
    /// The form in which the fact shows the value.
    pub shown: ShownAs,
}

/// The form in which a store shows the value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownAs {
    /// The value as it was given.
    Same,
    /// A number of bytes, where a size was given (`64MiB`, `512kB`).
    Bytes,
}

impl OptionInfo {
    /// Returns an option that takes any text. Its help ends with `[default]`.
    pub const fn text(name: &'static str, help: &'static str) -> OptionInfo {
        OptionInfo::one_of(name, &[], help)
    }

    /// Returns an option that takes one of some values, the default first.
    pub const fn one_of(name: &'static str, values: &'static [&'static str], help: &'static str) -> OptionInfo {
        OptionInfo { name, values, help, tunable: None }
    }

    /// Returns the same option, and lets a search try these values, the default first. The store shows the value in effect under the option's name.
    pub const fn tuned(self, values: &'static [&'static str]) -> OptionInfo {
        OptionInfo { tunable: Some(Tunable { values, shown_as: self.name, shown: ShownAs::Same }), ..self }
    }

    /// Returns the same option, where the store shows the value in effect under another name or in another way.
    pub const fn shown(self, shown_as: &'static str, shown: ShownAs) -> OptionInfo {
        let tunable = match self.tunable {
            Some(Tunable { values, .. }) => Some(Tunable { values, shown_as, shown }),
            None => None,
        };
        OptionInfo { tunable, ..self }
    }

    /// Returns why a value is not in effect, by the settings that the store shows; `None` when it is in effect, or no setting shows it.
    pub(crate) fn not_in_effect(&self, asked: &str, config: &BTreeMap<String, String>) -> Option<String> {
        let Tunable { shown_as, shown, .. } = self.tunable?;
        match config.get(shown_as) {
            Some(seen) if shown.agrees(asked, seen) => None,
            Some(seen) => Some(format!("{}={asked} was asked for, the store has {seen}", self.name)),
            None => Some(format!("{}={asked} was asked for, the store does not show it", self.name)),
        }
    }
}

impl ShownAs {
    fn agrees(self, asked: &str, shown: &str) -> bool {
        match self {
            ShownAs::Same => asked == shown || asked.parse::<f64>().is_ok_and(|number| shown.parse() == Ok(number)),
            ShownAs::Bytes => crate::size::bytes(asked).is_some_and(|bytes| shown.parse() == Ok(bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OptionInfo, ShownAs};

    #[test]
    fn an_option_without_effect_is_named() {
        let threads = OptionInfo::text("threads", "").tuned(&["4", "2"]).shown("num_threads", ShownAs::Same);
        let shown = |threads: &str| [("num_threads".to_owned(), threads.to_owned())].into();
        assert_eq!(threads.not_in_effect("2", &shown("2")), None);
        assert_eq!(
            threads.not_in_effect("2", &shown("4")).as_deref(),
            Some("threads=2 was asked for, the store has 4")
        );
        assert!(threads.not_in_effect("2", &[].into()).is_some_and(|words| words.contains("does not show it")));
        assert_eq!(OptionInfo::text("memory", "").not_in_effect("64", &[].into()), None);
    }
}
