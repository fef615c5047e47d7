//! `kvtrial publish --verify`: a study is made again by its own command, and marked.

use super::{check, published};
use crate::failure::{self, CommandFailure};
use crate::output::{note, print, shell_word};
use ::publish::{Rerun, StudyMark, Verification};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use study::Study;

/// Makes studies again: one that is named by itself, and of several those without a mark.
pub(super) fn verify_all(found: &[PathBuf], budget: Duration) -> Result<u8, CommandFailure> {
    let is_marked = |directory: &PathBuf| ::publish::verification_of(directory).mark != StudyMark::AsSubmitted;
    let several = found.len() > 1;
    let mut status = failure::GOOD;
    for directory in found {
        if several && is_marked(directory) {
            let mark = ::publish::verification_of(directory).mark.words();
            print(&format!("{}: {mark}, as was found before\n", directory.display()))?;
            continue;
        }
        if host::interrupt::flag().load(std::sync::atomic::Ordering::Relaxed) {
            return Ok(failure::INTERRUPTED);
        }
        let verification = verify(directory, budget)?;
        status = status.max(if verification.mark == StudyMark::Differs { failure::VOID } else { failure::GOOD });
    }
    Ok(status)
}

fn verify(directory: &Path, budget: Duration) -> Result<Verification, CommandFailure> {
    let study = published(directory)?;
    if !check(directory)? {
        return Err(CommandFailure::usage("a study that is refused is not made again: restore it, or take it away"));
    }
    let verification = match Rerun::within(budget, &study) {
        Ok(rerun) => made_again(&study, &rerun)?,
        Err(why) => Verification { not_compared: vec![why], ..Verification::default() },
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let verification = Verification {
        study_sha256: ::publish::digest_of(directory)?,
        verified_at: study::rfc3339(now),
        ..verification
    };
    verification.save(directory)?;
    print(&said(directory, &verification))?;
    Ok(verification)
}

/// Runs the study, or the part of it that the budget allows, and compares.
fn made_again(study: &Study, rerun: &Rerun) -> Result<Verification, CommandFailure> {
    let place = tempfile::tempdir()?;
    let out = place.path().join("again");
    let shown: Vec<String> = rerun.arguments.iter().map(|word| shell_word(word)).collect();
    note(&format!(
        "kvtrial: kvtrial {}: it took its author about {}",
        shown.join(" "),
        words::units::clock(rerun.expected.as_secs_f64())
    ));
    let program = std::env::current_exe()?;
    // The exit status says what the verdicts of the study say, too.
    Command::new(program).args(&rerun.arguments).arg("--out").arg(&out).stdout(Stdio::null()).status()?;
    let command = std::iter::once("kvtrial".to_owned()).chain(rerun.arguments.iter().cloned()).collect();
    let Ok(again) = archive::read_study(&out) else {
        let why = "the command failed here; what it said is above".to_owned();
        return Ok(Verification { command, not_compared: vec![why], ..Verification::default() });
    };
    let mut verification = ::publish::verify(study, &again);
    if !rerun.left_out.is_empty() {
        verification.not_compared.push(format!("left out for the budget: {}", rerun.left_out.join(", ")));
    }
    Ok(Verification { command, ..verification })
}

fn said(directory: &Path, verification: &Verification) -> String {
    let lines = |what: &str, all: &[String]| all.iter().map(|it| format!("  {what}: {it}\n")).collect::<String>();
    format!(
        "{}: {}\n{}{}{}",
        directory.display(),
        verification.mark.words(),
        lines("differs", &verification.differs),
        lines("the same", &verification.same),
        lines("not compared", &verification.not_compared)
    )
}
