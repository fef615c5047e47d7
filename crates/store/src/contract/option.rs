//! The options of stores: the options a spec may carry, and those that a search may change.
//!
//! The declaration of an option is also its reader, so that name, default and possible values stand once: an [`OptionInfo`] reads text,
//! and becomes a [`Choice`], a [`Number`] or a [`Worded`], which read what the text means.
//!
//! ```
//! # use kvtrial_store as store;
//! use store::{Choice, Number, OptionInfo};
//!
//! const BACKUPS: Choice<u32> = OptionInfo::one_of("backups", &["1", "0"], "copies of an entry").means(&[1, 0]);
//! const NODES: Number = OptionInfo::text("nodes", "servers, 3 to 16").usual("3").within(3..=16);
//!
//! let spec = "redis-cluster,nodes=4".parse()?;
//! assert_eq!((BACKUPS.read(&spec), NODES.read(&spec)?), (1, 4));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::{StoreError, Versions};
use std::collections::BTreeMap;
use study::Spec;

mod choice;
mod number;
mod worded;

pub use choice::Choice;
pub use number::Number;
pub use worded::Worded;

/// An option a spec may carry, e.g. `layout=hstore`.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    /// The name of the option.
    pub name: &'static str,
    /// The values of the option, the default first; free text when empty.
    pub values: &'static [&'static str],
    /// The meaning of the option, without its default.
    help: &'static str,
    /// The value in effect where a spec has none.
    pub usual: Option<&'static str>,
    /// The words on what is in effect where a spec has no value.
    otherwise: Option<&'static str>,
    /// The versions that can be fetched, where the option chooses among them.
    pub versions: Versions,
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
    /// Returns an option that takes any text.
    pub const fn text(name: &'static str, help: &'static str) -> OptionInfo {
        OptionInfo::one_of(name, &[], help)
    }

    /// Returns an option that takes one of some values, the default first.
    pub const fn one_of(name: &'static str, values: &'static [&'static str], help: &'static str) -> OptionInfo {
        let usual = match values {
            [first, ..] => Some(*first),
            [] => None,
        };
        OptionInfo { name, values, help, usual, otherwise: None, versions: Versions(&[]), tunable: None }
    }

    /// Returns the same option, with its default.
    pub const fn usual(self, value: &'static str) -> OptionInfo {
        OptionInfo { usual: Some(value), ..self }
    }

    /// Returns the same option, with words on what holds where a spec has no value.
    pub const fn otherwise(self, words: &'static str) -> OptionInfo {
        OptionInfo { otherwise: Some(words), ..self }
    }

    /// Returns the same option, which chooses among these versions.
    pub const fn fetched(self, versions: Versions) -> OptionInfo {
        OptionInfo { versions, ..self }
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

    /// Returns the meaning of the option. The meaning of a free text ends with `[default]`, `[default: what that means]` or `[what holds otherwise]`.
    pub fn meaning(&self) -> String {
        let help = match self.versions.0 {
            [] => self.help.to_owned(),
            some => format!("{}: {}", self.help, some.iter().map(|it| it.version).collect::<Vec<_>>().join(", ")),
        };
        match (self.usual, self.otherwise) {
            _ if !self.values.is_empty() => help,
            (Some(usual), Some(words)) => format!("{help} [{usual}: {words}]"),
            (Some(stated), None) | (None, Some(stated)) => format!("{help} [{stated}]"),
            (None, None) => help,
        }
    }

    /// Returns the value that a spec states.
    pub fn asked(self, spec: &Spec) -> Option<&str> {
        spec.options.get(self.name).map(String::as_str)
    }

    /// Returns the value that a spec states, or the default.
    pub fn read(self, spec: &Spec) -> &str {
        self.asked(spec).or(self.usual).unwrap_or_default()
    }

    /// Returns the refusal of a value, with the possible ones.
    fn refused(self, spec: &Spec, value: &str, possible: &str) -> StoreError {
        let problem = format!("{}={value} is not possible; use {possible}", self.name);
        StoreError::Unsupported { store: spec.name.clone(), problem }
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
    use study::Spec;

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

    #[test]
    fn a_meaning_ends_with_the_default_and_a_text_is_read_with_it() {
        let size = OptionInfo::text("size", "memory");
        assert_eq!(size.meaning(), "memory");
        assert_eq!(size.usual("0").meaning(), "memory [0]");
        assert_eq!(size.usual("0").otherwise("no limit").meaning(), "memory [0: no limit]");
        assert_eq!(size.otherwise("half of it").meaning(), "memory [half of it]");
        assert_eq!(OptionInfo::one_of("size", &["0", "1"], "memory").meaning(), "memory");
        let mut spec = Spec::private("any");
        assert_eq!((size.asked(&spec), size.read(&spec), size.usual("0").read(&spec)), (None, "", "0"));
        spec.options.insert("size".into(), "7".into());
        assert_eq!((size.asked(&spec), size.usual("0").read(&spec)), (Some("7"), "7"));
    }
}
