//! The program of a store that is not on this machine and can be fetched: at a terminal the user is asked whether it shall be.

use super::fetch_store;
use crate::failure::{self, CommandFailure};
use std::collections::BTreeSet;
use std::io::{self, BufRead, IsTerminal, Write};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use store::{Bundle, StoreError, StoreInfo, VERSION};
use study::Spec;

/// The pause between two looks whether the user has ended the command instead of answering.
const LOOK_MS: libc::c_int = 50;

/// The way to deal with a program that is not here and can be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FetchPolicy {
    /// The user is asked.
    Ask,
    /// The error that follows names the command that fetches it.
    Tell,
}

impl FetchPolicy {
    /// Returns the policy of this process: only who sees the question and can answer is asked.
    fn of_this_process() -> FetchPolicy {
        let has_ended = INPUT_ENDED.load(Ordering::Relaxed);
        match io::stdin().is_terminal() && io::stderr().is_terminal() && !has_ended {
            true => FetchPolicy::Ask,
            false => FetchPolicy::Tell,
        }
    }
}

/// The answer of a user who is offered something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Consent {
    Given,
    Withheld,
}

/// The commands of the bundles that the user was asked about and did not want: nobody is asked twice.
static DECLINED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Whether the input ended instead of an answer: then nobody answers the next question.
static INPUT_ENDED: AtomicBool = AtomicBool::new(false);

/// Offers to fetch the program of a spec, if the program is not here and can be fetched. A program that stays away is left to the error that names
/// the command.
///
/// # Errors
/// The user wanted the program and it could not be fetched, or ended the command.
pub fn offer(info: &'static StoreInfo, spec: &Spec) -> Result<(), CommandFailure> {
    let Err(StoreError::NotFound { what, .. }) = host::present(info, spec) else { return Ok(()) };
    let Some(bundle) = bundle_of(info, spec).filter(|bundle| bundle.found().is_none()) else { return Ok(()) };
    let mut declined = DECLINED.lock().unwrap_or_else(PoisonError::into_inner);
    if FetchPolicy::of_this_process() == FetchPolicy::Tell || declined.contains(&bundle.command()) {
        return Ok(());
    }
    let Bundle { product, version, .. } = bundle;
    let question = format!("{what} was not found. Fetch {product} {version} ({})?", fetch_store::parts(bundle));
    match ask(&question)? {
        Consent::Given => fetch_store::get(bundle, None).map(drop).map_err(CommandFailure::from),
        Consent::Withheld => {
            declined.insert(bundle.command());
            Ok(())
        }
    }
}

/// Offers to fetch the programs of a spec in each of the versions that vary.
///
/// # Errors
/// Those of [`offer`].
pub fn offer_varied(info: &'static StoreInfo, spec: &Spec, vary: &[(String, String)]) -> Result<(), CommandFailure> {
    let varied = vary.iter().find(|(key, _)| key == VERSION.name && !info.versions().0.is_empty());
    let Some((key, values)) = varied else { return offer(info, spec) };
    values.split(',').try_for_each(|version| {
        let mut spec = spec.clone();
        spec.options.insert(key.clone(), version.to_owned());
        offer(info, &spec)
    })
}

/// Returns what can be fetched for a spec: the version that the spec names, else the newest.
fn bundle_of(info: &StoreInfo, spec: &Spec) -> Option<&'static Bundle> {
    let versions = info.versions();
    match VERSION.asked(spec) {
        Some(_) => versions.asked(spec),
        None => versions.0.first().or_else(|| catalog::bundle_of(info.name)),
    }
}

/// Asks a question at the terminal; a line without a word is a yes.
fn ask(question: &str) -> Result<Consent, CommandFailure> {
    let mut error = io::stderr();
    let _ = write!(error, "{} [Y/n] ", study::visible(question));
    let _ = error.flush();
    let mut input = libc::pollfd { fd: io::stdin().as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: the call writes into the one structure it is given, which outlives it.
    while unsafe { libc::poll(&raw mut input, 1, LOOK_MS) } < 1 {
        if host::interrupt::requested() {
            return Err(CommandFailure { message: "interrupted".into(), status: failure::INTERRUPTED });
        }
    }
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line).unwrap_or(0) > 0 {
        return Ok(consent(&line));
    }
    INPUT_ENDED.store(true, Ordering::Relaxed);
    let _ = writeln!(error);
    Ok(Consent::Withheld)
}

/// Reads the consent in a line; what is no clear yes is a no.
fn consent(line: &str) -> Consent {
    match line.trim().to_lowercase().as_str() {
        "" | "y" | "yes" => Consent::Given,
        _ => Consent::Withheld,
    }
}

#[cfg(test)]
mod tests {
    use super::{Consent, bundle_of, consent};

    #[test]
    fn only_a_yes_and_an_empty_line_are_a_yes() {
        for (line, meant) in [("\n", Consent::Given), ("Y\n", Consent::Given), (" yes\r\n", Consent::Given)] {
            assert_eq!(consent(line), meant, "{line:?}");
        }
        for line in ["n\n", "no\n", "later\n", "nyet"] {
            assert_eq!(consent(line), Consent::Withheld, "{line:?}");
        }
    }

    #[test]
    fn what_is_offered_is_the_version_that_a_spec_names_or_the_newest() {
        let offered = |text: &str| {
            let spec: study::Spec = text.parse().ok()?;
            bundle_of(catalog::find(&spec.name)?, &spec).map(|bundle| (bundle.store, bundle.version))
        };
        assert_eq!(offered("valkey-unix"), Some(("valkey", "9.1.2")));
        assert_eq!(offered("valkey-cluster@9.0.0"), Some(("valkey", "9.0.0")));
        assert_eq!(offered("hazelcast").map(|(store, _)| store), Some("hazelcast"));
        assert_eq!((offered("valkey@1"), offered("memcached")), (None, None));
    }
}
