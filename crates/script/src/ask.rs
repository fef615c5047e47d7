//! What the prelude yields first: the operation a client asks for.

/// Gives every operation its number, here and in the prelude.
macro_rules! operations {
    ($($name:ident = $number:literal,)*) => {
        $(pub(crate) const $name: u8 = $number;)*
        /// The prelude, whose first line begins with the operations as locals, so that its own lines keep their numbers.
        pub(crate) const PRELUDE: &str =
            concat!($("local ", stringify!($name), " = ", $number, "; ",)* include_str!("prelude.lua"));
        #[cfg(test)]
        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

operations! {
    GET = 1,
    PUT = 2,
    DELETE = 3,
    APPEND = 4,
    INCREMENT = 5,
    GET_COUNTER = 6,
    INCREMENT_FIELD = 7,
    GET_FIELDS = 8,
    GET_VERSIONED = 9,
    CAS = 10,
    GET_MANY = 11,
    PUT_MANY = 12,
    SCAN = 13,
    PUT_TTL = 14,
    TOUCH = 15,
    COMMAND = 16,
    TIME_LEFT = 17,
    SQL = 18,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{NAMES, PRELUDE};
    use std::collections::BTreeSet;

    #[test]
    fn the_prelude_asks_for_every_operation_and_for_no_other() {
        let asked = PRELUDE.split("yield(").skip(1).map(|rest| rest.split(',').next().unwrap());
        assert_eq!(asked.collect::<BTreeSet<_>>(), NAMES.iter().copied().collect());
    }

    #[test]
    fn the_first_line_of_the_prelude_is_its_first_line_still() {
        let first = include_str!("prelude.lua").lines().next().unwrap();
        assert!(PRELUDE.lines().next().unwrap().ends_with(first));
    }
}
