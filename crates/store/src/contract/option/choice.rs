//! Options that take one of some values, each with a meaning for the program.

use super::OptionInfo;
use study::Spec;

/// An option that takes one of some values, read as what the value means.
#[derive(Clone, Copy, Debug)]
pub struct Choice<T: 'static> {
    /// The option as stores list it.
    pub info: OptionInfo,
    meanings: &'static [T],
}

impl OptionInfo {
    /// Returns the same option, read as the meanings of its values, which come in the order of the values.
    pub const fn means<T>(self, meanings: &'static [T]) -> Choice<T> {
        assert!(self.values.len() == meanings.len() && !meanings.is_empty(), "each value has one meaning");
        Choice { info: self, meanings }
    }
}

impl<T: Copy> Choice<T> {
    /// Returns the meaning of the value that a spec states, or of the default. A value that the option does not have is refused before any reader
    /// sees the spec.
    pub fn read(&self, spec: &Spec) -> T {
        self.asked(spec).unwrap_or(self.meanings[0])
    }

    /// Returns the meaning of the value that a spec states.
    pub fn asked(&self, spec: &Spec) -> Option<T> {
        let stated = self.info.asked(spec)?;
        let mut pairs = self.info.values.iter().zip(self.meanings);
        pairs.find(|(value, _)| **value == stated).map(|(_, meaning)| *meaning)
    }
}

#[cfg(test)]
mod tests {
    use super::{Choice, OptionInfo};
    use study::Spec;

    const BACKUPS: Choice<u32> = OptionInfo::one_of("backups", &["1", "0"], "").means(&[1, 0]);

    #[test]
    fn a_value_is_read_as_its_meaning_and_without_one_the_first_counts() {
        let mut spec = Spec::private("any");
        assert_eq!((BACKUPS.asked(&spec), BACKUPS.read(&spec)), (None, 1));
        spec.options.insert("backups".into(), "0".into());
        assert_eq!((BACKUPS.asked(&spec), BACKUPS.read(&spec)), (Some(0), 0));
    }
}
