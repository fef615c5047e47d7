//! Options that are numbers: of a range, or sizes.

use super::OptionInfo;
use crate::{StoreError, size};
use std::ops::RangeInclusive;
use study::Spec;

/// An option that is a whole number.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    /// The option as stores list it.
    pub info: OptionInfo,
    form: Form,
    least: u64,
    most: u64,
}

/// The form in which a number is written, and in which a refusal names the possible ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A number of a range.
    Range,
    /// A number of MiB, of a range.
    Mib,
    /// A number from the least on.
    AtLeast,
    /// A number that counts something, so 1 or more.
    Count,
    /// Any whole number.
    Whole,
    /// A size such as `64MiB`.
    Size,
}

impl OptionInfo {
    /// Returns the same option, read as a number of a range.
    pub const fn within(self, range: RangeInclusive<u64>) -> Number {
        Number { info: self, form: Form::Range, least: *range.start(), most: *range.end() }
    }

    /// Returns the same option, read as a number of MiB of a range.
    pub const fn mib(self, range: RangeInclusive<u64>) -> Number {
        Number { form: Form::Mib, ..self.within(range) }
    }

    /// Returns the same option, read as a number that is no less than this.
    pub const fn at_least(self, least: u64) -> Number {
        Number { form: Form::AtLeast, ..self.within(least..=u64::MAX) }
    }

    /// Returns the same option, read as a count, 1 or more.
    pub const fn count(self) -> Number {
        Number { form: Form::Count, ..self.within(1..=u64::MAX) }
    }

    /// Returns the same option, read as any whole number.
    pub const fn whole(self) -> Number {
        Number { form: Form::Whole, ..self.within(0..=u64::MAX) }
    }

    /// Returns the same option, read as a number of bytes, written as a size such as `64MiB`.
    pub const fn size(self) -> Number {
        Number { form: Form::Size, ..self.within(0..=u64::MAX) }
    }
}

impl Number {
    /// Returns the same option, where no number above this is possible.
    pub const fn up_to(self, most: u64) -> Number {
        Number { most, ..self }
    }

    /// Returns the number that a spec states, or the default.
    ///
    /// # Errors
    /// The number is not a possible one; names those.
    pub fn read<N: TryFrom<u64>>(&self, spec: &Spec) -> Result<N, StoreError> {
        self.parsed(spec, self.info.read(spec))
    }

    /// Returns the number that a spec states.
    ///
    /// # Errors
    /// The number is not a possible one; names those.
    pub fn asked<N: TryFrom<u64>>(&self, spec: &Spec) -> Result<Option<N>, StoreError> {
        self.info.asked(spec).map(|text| self.parsed(spec, text)).transpose()
    }

    fn parsed<N: TryFrom<u64>>(&self, spec: &Spec, text: &str) -> Result<N, StoreError> {
        let number = match self.form {
            Form::Size => size::bytes(text),
            // A number with a sign would be a spec of another name.
            _ => text.parse().ok().filter(|_| !text.starts_with('+')),
        };
        let possible = number.filter(|number| (self.least..=self.most).contains(number));
        let number = possible.and_then(|number| N::try_from(number).ok());
        number.ok_or_else(|| self.info.refused(spec, text, &self.possible()))
    }

    /// Returns the possible numbers, in words.
    fn possible(&self) -> String {
        let Number { info, least, most, .. } = self;
        match self.form {
            Form::Range => format!("a number from {least} to {most}"),
            Form::Mib => format!("a number of MiB from {least} to {most}"),
            Form::AtLeast => format!("a number from {least}, e.g. {}={}", info.name, info.usual.unwrap_or_default()),
            Form::Count => "a whole number, 1 or more".into(),
            Form::Whole => "a whole number".into(),
            Form::Size => "a size such as 64MiB".into(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Number, OptionInfo};
    use study::Spec;

    const INFO: OptionInfo = OptionInfo::text("it", "").usual("8");

    fn of(number: Number, value: &str) -> Result<u32, String> {
        let mut spec = Spec::private("any");
        spec.options.insert("it".into(), value.into());
        number.read(&spec).map_err(|error| error.to_string())
    }

    #[test]
    fn without_a_value_the_default_is_read_and_nothing_was_asked_for() {
        let spec = Spec::private("any");
        assert_eq!(INFO.size().read::<u64>(&spec).unwrap(), 8);
        assert_eq!(INFO.size().asked::<u64>(&spec).unwrap(), None);
        assert_eq!((of(INFO.size(), "2k"), of(INFO.whole(), "0"), of(INFO.count(), "1")), (Ok(2048), Ok(0), Ok(1)));
    }

    #[test]
    fn a_number_that_is_not_possible_is_refused_with_those_that_are() {
        for (number, value, words) in [
            (INFO.within(3..=16), "2", "use a number from 3 to 16"),
            (INFO.within(3..=16).up_to(9), "10", "use a number from 3 to 9"),
            (INFO.mib(64..=128), "2g", "use a number of MiB from 64 to 128"),
            (INFO.at_least(1), "0", "use a number from 1, e.g. it=8"),
            (INFO.count(), "0", "use a whole number, 1 or more"),
            (INFO.whole(), "-1", "use a whole number"),
            (INFO.whole(), "+1", "use a whole number"),
            (INFO.size(), "many", "use a size such as 64MiB"),
            (INFO.whole(), "4294967296", "use a whole number"),
        ] {
            assert_eq!(of(number, value), Err(format!("any: it={value} is not possible; {words}")));
        }
    }
}
