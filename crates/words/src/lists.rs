//! Lists as people read them.

use crate::units::whole;

/// Returns each of these once, in the order in which they first come.
pub fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut known = Vec::new();
    for one in all {
        if !known.contains(&one) {
            known.push(one);
        }
    }
    known
}

/// Returns `1 trial`, `12,345 trials`.
pub fn counted(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{} {noun}s", whole(number)) }
}

/// Returns `a, b and c`.
pub fn joined<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.split_last() {
        Some((last, some)) if !some.is_empty() => format!("{} and {last}", some.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::{counted, distinct, joined};

    #[test]
    fn lists_have_each_once_and_end_in_and() {
        assert_eq!(distinct([3, 1, 3, 2, 1]), [3, 1, 2]);
        assert_eq!([joined::<&str>(&[]), joined(&["a"]), joined(&["a", "b", "c"])], ["", "a", "a, b and c"]);
        assert_eq!(
            [counted(0, "trial"), counted(1, "trial"), counted(12_345, "trial")],
            ["0 trials", "1 trial", "12,345 trials"]
        );
    }
}
