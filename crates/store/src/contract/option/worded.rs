//! Options that are texts of a form of their own.

use super::OptionInfo;
use crate::StoreError;
use study::Spec;

/// An option that is a text of a form of its own, read as what the text says.
#[derive(Clone, Copy, Debug)]
pub struct Worded<T> {
    /// The option as stores list it.
    pub info: OptionInfo,
    parse: fn(&str) -> Option<T>,
    possible: &'static str,
}

impl OptionInfo {
    /// Returns the same option, read by a function that returns `None` for an impossible text. The words name the possible ones.
    pub const fn worded<T>(self, parse: fn(&str) -> Option<T>, possible: &'static str) -> Worded<T> {
        Worded { info: self, parse, possible }
    }
}

impl<T> Worded<T> {
    /// Returns what a spec states, or the default.
    ///
    /// # Errors
    /// The text is not a possible one; names those.
    pub fn read(&self, spec: &Spec) -> Result<T, StoreError> {
        self.of(spec, self.info.read(spec))
    }

    /// Returns what a spec states.
    ///
    /// # Errors
    /// The text is not a possible one; names those.
    pub fn asked(&self, spec: &Spec) -> Result<Option<T>, StoreError> {
        self.info.asked(spec).map(|text| self.of(spec, text)).transpose()
    }

    fn of(&self, spec: &Spec, text: &str) -> Result<T, StoreError> {
        (self.parse)(text).ok_or_else(|| self.info.refused(spec, text, self.possible))
    }
}
