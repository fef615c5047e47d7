//! `kvtrial publish`: check a study, add it to a repository, make it again.

mod again;

use crate::args::PublishArguments;
use crate::failure::{self, CommandFailure};
use crate::output::{print, shell_word};
use ::publish::{Added, Objection, OwnNames, PublishError, Repository, WORKFLOW, WORKFLOW_PATH};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use study::Study;

/// Time for a study that is made again, unless the user says otherwise.
const BUDGET: Duration = Duration::from_secs(600);
/// Objections to one study that are listed.
const MOST_LISTED: usize = 10;

/// Carries out what the options say; exactly one of them is there.
pub fn publish(arguments: &PublishArguments) -> Result<u8, CommandFailure> {
    if arguments.budget.is_some() && !arguments.verify {
        return Err(CommandFailure::usage(
            "--budget is the time for studies that are made again: say --verify, or leave it out",
        ));
    }
    if arguments.init {
        return arguments.studies.iter().try_fold(failure::GOOD, |_, root| begin(root));
    }
    let found = below(&arguments.studies)?;
    if arguments.verify {
        return again::verify_all(&found, arguments.budget.unwrap_or(BUDGET));
    }
    let repository = arguments.to.as_deref().map(Repository::at).transpose()?;
    let mut status = failure::GOOD;
    for directory in &found {
        let good = match &repository {
            Some(repository) => add(directory, repository)?,
            None => check(directory)?,
        };
        status = status.max(if good { failure::GOOD } else { failure::VOID });
    }
    Ok(status)
}

/// The studies in and below some directories.
fn below(named: &[PathBuf]) -> Result<Vec<PathBuf>, CommandFailure> {
    let mut all = Vec::new();
    for path in named {
        let found = archive::studies_below(path);
        if found.is_empty() {
            // A study that is still running, or none.
            archive::read_study(path)?;
            return Err(CommandFailure::usage(format!(
                "{}: this study is not closed: let it end, or continue it with kvtrial run ... --out {} --resume",
                path.display(),
                shell_word(&path.display().to_string())
            )));
        }
        all.extend(found);
    }
    Ok(all)
}

/// Checks a published study as it is; whether nothing is wrong with it.
fn check(directory: &Path) -> Result<bool, CommandFailure> {
    let study = archive::read_study(directory)?;
    let found = ::publish::objections(&study, archive::written_schema(directory)?, &OwnNames::default());
    if found.is_empty() {
        print(&format!("{}: right\n", directory.display()))?;
        return Ok(true);
    }
    refuse(directory, &found)
}

fn refuse(directory: &Path, found: &[Objection]) -> Result<bool, CommandFailure> {
    let listed = found.iter().take(MOST_LISTED).map(|objection| format!("  {objection}.\n"));
    let more = found.len().saturating_sub(MOST_LISTED);
    let more = if more > 0 { format!("  And {more} more.\n") } else { String::new() };
    print(&format!("{}: refused\n{}{more}", directory.display(), listed.collect::<String>()))?;
    Ok(false)
}

/// Checks a study of the user's and adds it; whether nothing is wrong with it.
fn add(directory: &Path, repository: &Repository) -> Result<bool, CommandFailure> {
    let own = OwnNames::here();
    let study = ::publish::cleaned(&archive::read_study(directory)?, &own);
    let found = ::publish::objections(&study, archive::written_schema(directory)?, &own);
    if !found.is_empty() {
        return refuse(directory, &found);
    }
    let added = repository.add(&study)?;
    let to = repository.directory_of(&study);
    print(&format!("{}: {}\n{}", directory.display(), said(added, &to), cells(&study)))?;
    if added != Added::Already {
        let to = shell_word(&to.display().to_string());
        print(&format!("Look at it with kvtrial report {to}, then: git add {to} && git commit\n"))?;
    }
    Ok(true)
}

fn said(added: Added, to: &Path) -> String {
    let to = to.display();
    match added {
        Added::New => format!("added as {to}"),
        Added::Replaced => {
            format!("{to} was there with other trials, and is replaced; its mark is of the other, and counts no more")
        }
        Added::Already => format!("it is there already, as {to}, and nothing was changed"),
    }
}

/// How many cells will be shown, and how many of them have no place.
fn cells(study: &Study) -> String {
    let all = study.cells.iter().filter(|cell| !cell.baseline).count();
    let placed = study.cells.iter().filter(|cell| !cell.baseline && cell.verdict.is_ranked()).count();
    let rest = if placed == all {
        String::new()
    } else {
        format!(", {placed} of them with a place; the others are shown as void or not run")
    };
    format!("{}{rest}.\n", words::counted(all as u64, "cell"))
}

/// Writes the workflow of a repository.
fn begin(root: &Path) -> Result<u8, CommandFailure> {
    Repository::at(root)?;
    let path = root.join(WORKFLOW_PATH);
    if std::fs::read_to_string(&path).is_ok_and(|known| known != WORKFLOW) {
        return Err(CommandFailure::usage(format!(
            "{} is there already, and differs from what kvtrial writes: move it away first",
            path.display()
        )));
    }
    let written = std::fs::create_dir_all(path.parent().unwrap_or(root))
        .and_then(|()| archive::write_file(&path, |file| file.write_all(WORKFLOW.as_bytes())));
    written.map_err(|error| {
        CommandFailure::usage(format!("{}: {error}. Name a directory you may write", path.display()))
    })?;
    print(&format!(
        "{}: written. Read what it says at its top, then: git add {WORKFLOW_PATH} && git commit\n",
        path.display()
    ))?;
    Ok(failure::GOOD)
}

/// Reads a published study whose figures are right: no other is worth making again.
fn published(directory: &Path) -> Result<Study, CommandFailure> {
    ::publish::digest_of(directory).map_err(|_| PublishError::None(directory.to_owned()))?;
    Ok(archive::read_study(directory)?)
}
