//! Stores that a test would try and that are not here: left out with a sentence, or a failure where all must be tried.

use std::ffi::OsStr;

/// Set to anything (by `./test --full`), a store that is not here is a failure.
pub const REQUIRED: &str = "KVTRIAL_REQUIRE_STORES";

/// Only these may be missing even then, and why.
pub const EXCUSED: [(&str, &str); 6] = [
    ("tyrant", "Tokyo Tyrant comes in no package"),
    ("tyrant-unix", "Tokyo Tyrant comes in no package"),
    ("voldemort", "Voldemort comes in no package"),
    ("plugin", "it is a library of the user's; tests that build some have files of their own"),
    ("echo", "it is the program kvtrial itself, which the tests of other crates do not have"),
    ("echo-unix", "it is the program kvtrial itself, which the tests of other crates do not have"),
];

/// Says that a test goes on without this store, and how to get it.
///
/// # Panics
/// Where [`REQUIRED`] is set, unless the store is [`EXCUSED`].
pub fn left_out(store: &str, install: &str) {
    let sentence = format!("{store} is left out: it is not here. To get it: {install}");
    let is_failure = is_failure(store, std::env::var_os(REQUIRED).as_deref());
    assert!(!is_failure, "{sentence}. ({REQUIRED} is set, so every store is to be tried)");
    println!("{sentence}");
}

fn is_failure(store: &str, required: Option<&OsStr>) -> bool {
    required.is_some_and(|value| !value.is_empty()) && !EXCUSED.iter().any(|(excused, _)| *excused == store)
}

#[cfg(test)]
mod tests {
    use super::is_failure;

    #[test]
    fn a_store_that_is_not_here_is_a_failure_where_all_are_required_unless_it_is_excused() {
        let required = Some("1".as_ref());
        assert!(is_failure("redis", required) && !is_failure("tyrant", required));
        assert!(!is_failure("redis", None) && !is_failure("redis", Some("".as_ref())));
    }
}
