//! The versions of one product that `kvtrial fetch-store` gets, and the one that a spec means.

use crate::{Bundle, OptionInfo};
use std::cmp::Reverse;
use std::path::PathBuf;
use study::Spec;

/// The option that names a version: one that `kvtrial fetch-store` got, or the system's; `NAME@VERSION` is the same.
pub const VERSION: OptionInfo =
    OptionInfo::text(study::VERSION, "the version, fetched or the system's, also NAME@VERSION")
        .otherwise("the system's, else the newest that was fetched");

/// The versions of one product that can be fetched, the newest first.
#[derive(Clone, Copy, Debug)]
pub struct Versions(pub &'static [Bundle]);

impl Versions {
    /// Returns the option that chooses among the versions.
    pub const fn option(self) -> OptionInfo {
        VERSION.fetched(self)
    }

    /// Returns options with the one that chooses among the versions as the last.
    pub const fn with<const ONE_MORE: usize>(self, options: &[OptionInfo]) -> [OptionInfo; ONE_MORE] {
        let mut all = [self.option(); ONE_MORE];
        all.split_at_mut(options.len()).0.copy_from_slice(options);
        all
    }

    /// Finds a version as [`version_among`] does.
    pub fn find(self, version: &str) -> Option<&'static Bundle> {
        version_among(self.0.iter(), version)
    }

    /// Finds the version that a spec names.
    pub fn asked(self, spec: &Spec) -> Option<&'static Bundle> {
        self.find(VERSION.asked(spec)?)
    }

    /// Returns the program of the newest version that was fetched.
    pub fn program(self) -> Option<PathBuf> {
        self.0.iter().find_map(Bundle::program)
    }

    /// Returns the program for a spec: the fetched one if the spec names its version, else the one found elsewhere on this machine, else, where the
    /// spec names no version, the newest that was fetched. That a version which is not fetched is the one elsewhere was checked with the spec.
    pub fn chosen(self, spec: &Spec, elsewhere: impl FnOnce() -> Option<PathBuf>) -> Option<PathBuf> {
        match (self.asked(spec), VERSION.asked(spec)) {
            (Some(bundle), _) => bundle.program(),
            (None, Some(_)) => elsewhere(),
            (None, None) => elsewhere().or_else(|| self.program()),
        }
    }

    /// Returns the words for what was not found: the program, or the product with the version that a spec names.
    pub fn sought(self, spec: &Spec, program: &str) -> String {
        match (VERSION.asked(spec), self.0) {
            (Some(version), [bundle, ..]) => format!("{} {version}", bundle.product),
            _ => program.to_owned(),
        }
    }

    /// Returns the line that installs what a spec asks for: `usual`, or the command that gets the version it names.
    pub fn install(self, spec: &Spec, usual: &str) -> String {
        self.asked(spec).map_or_else(|| usual.to_owned(), Bundle::command)
    }

    /// Returns why a version cannot be had, with those that can, the nearest first; `None` if it can. `systems` says what the system has, as
    /// `Redis 7.0.15`.
    pub fn refusal(self, version: &str, systems: impl FnOnce() -> Option<String>) -> Option<String> {
        let [bundle, ..] = self.0 else { return None };
        if self.find(version).is_some() {
            return None;
        }
        let systems = systems().unwrap_or_default();
        let systems = systems.split_whitespace().find(|word| word.starts_with(|first: char| first.is_ascii_digit()));
        if systems.is_some_and(|known| known == version || begins_with(known, version)) {
            return None;
        }
        let product = bundle.product;
        let gets = nearest_versions(version, self.0.iter().map(|bundle| bundle.version)).join(", ");
        let systems = systems.map_or(String::new(), |known| format!(", nor the system's, {known}"));
        Some(format!("{product} {version} is none of the versions that 'kvtrial fetch-store' gets: {gets}{systems}"))
    }
}

/// Finds a version among those of one product, the newest first, or the newest that begins with the numbers asked for: `9.1` is also 9.1.2.
pub fn version_among(
    mut bundles: impl Iterator<Item = &'static Bundle> + Clone,
    version: &str,
) -> Option<&'static Bundle> {
    let exact = bundles.clone().find(|bundle| bundle.version == version);
    exact.or_else(|| bundles.find(|bundle| begins_with(bundle.version, version)))
}

/// Returns whether these are the first numbers of a version.
fn begins_with(version: &str, numbers: &str) -> bool {
    version.strip_prefix(numbers).is_some_and(|more| more.starts_with('.'))
}

/// Sorts versions so that those nearest to another come first.
pub fn nearest_versions<'v>(to: &str, versions: impl Iterator<Item = &'v str>) -> Vec<&'v str> {
    let mut all: Vec<&str> = versions.collect();
    let to = numbers(to);
    all.sort_by_key(|version| {
        let apart: Vec<u64> = numbers(version).iter().zip(&to).map(|(one, other)| one.abs_diff(*other)).collect();
        (apart, Reverse(numbers(version)))
    });
    all
}

/// Reads the numbers of a version; those that are left out are 0.
fn numbers(version: &str) -> [u64; 4] {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    std::array::from_fn(|_| parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::{Versions, nearest_versions};
    use crate::{Bundle, MadeOf};

    const fn bundle(version: &'static str) -> Bundle {
        Bundle { store: "many", product: "Many", version, licence: "MIT", made_of: MadeOf::Maven("") }
    }

    const MANY: Versions = Versions(&[bundle("11.1.2"), bundle("10.10.1"), bundle("10.2.0"), bundle("9.1.0")]);

    #[test]
    fn the_versions_that_exist_are_named_and_the_nearest_first() {
        let nearest = |to| nearest_versions(to, MANY.0.iter().map(|bundle| bundle.version));
        assert_eq!(nearest("10.9"), ["10.10.1", "10.2.0", "9.1.0", "11.1.2"]);
        assert_eq!(nearest("8"), ["9.1.0", "10.2.0", "10.10.1", "11.1.2"]);
        assert_eq!(nearest("any")[0], "9.1.0");
        let refusal = MANY.refusal("10.9", || None).unwrap_or_default();
        assert!(refusal.starts_with("Many 10.9 is none") && refusal.ends_with("10.10.1, 10.2.0, 9.1.0, 11.1.2"));
        assert_eq!((MANY.refusal("10.2.0", || None), Versions(&[]).refusal("1", || None)), (None, None));
    }

    #[test]
    fn the_systems_version_can_be_had_too_and_is_named_where_it_is_another() {
        let systems = || Some("Many 7.0.15 (a system)".to_owned());
        assert_eq!([MANY.refusal("7", systems), MANY.refusal("7.0.15", systems)], [None, None]);
        for other in ["7.1", "7.0.1", "70"] {
            let refusal = MANY.refusal(other, systems).unwrap_or_default();
            assert!(refusal.contains(", nor the system's, 7.0.15"));
        }
        let spec: study::Spec = "many@7".parse().unwrap_or_else(|_| study::Spec::private("many"));
        assert_eq!(MANY.chosen(&spec, || Some("/usr/bin/manyd".into())), Some("/usr/bin/manyd".into()));
    }

    #[test]
    fn the_first_numbers_of_a_version_mean_the_newest_that_begins_with_them() {
        let found = |version| MANY.find(version).map(|bundle| bundle.version);
        assert_eq!((found("10.2.0"), found("10"), found("10.1")), (Some("10.2.0"), Some("10.10.1"), None));
        assert_eq!((found("9.1"), found("1"), found("")), (Some("9.1.0"), None, None));
    }

    #[test]
    fn the_words_and_the_command_are_those_of_the_version_that_a_spec_names() {
        let named: study::Spec = "many@10.2.0".parse().unwrap_or_else(|_| study::Spec::private("many"));
        let other = study::Spec::private("many");
        assert_eq!(MANY.asked(&named).map(|bundle| bundle.version), Some("10.2.0"));
        assert_eq!(
            (MANY.sought(&named, "manyd"), MANY.sought(&other, "manyd")),
            ("Many 10.2.0".into(), "manyd".into())
        );
        assert_eq!(MANY.install(&named, "make it"), "kvtrial fetch-store many@10.2.0");
        assert_eq!(MANY.install(&other, "make it"), "make it");
        assert!(MANY.option().meaning().contains("11.1.2, 10.10.1, 10.2.0, 9.1.0"), "{}", MANY.option().meaning());
    }
}
