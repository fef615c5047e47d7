//! The end of a study that `kvtrial run` or one of its searches made: what is cleared, written and said.

use super::notebook::Notebook;
use crate::failure::{self, CommandFailure};
use crate::output::{note, shell_word};
use runner::Plan;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use study::{Status, Study};

/// The words about a study that was interrupted before its first trial was finished.
pub const NOTHING_KEPT: &str = "Interrupted before a trial was finished: nothing was kept";

/// Carries out `--clear` after the last trial, also of a run that was interrupted. Returns the exit status.
pub fn clear(plan: &Plan, notebook: &mut Notebook) -> u8 {
    let left = std::mem::take(&mut notebook.left);
    // An interrupted run is cleared as well; a second interrupt ends everything at once.
    let still = super::clear::delete(plan, &left, &AtomicBool::new(false), &mut |line| note(line.trim_end()));
    let (still, status) = match still {
        Ok(still) => (still, failure::GOOD),
        Err((failure, still)) => {
            note(&format!("kvtrial: {}", failure.message));
            (still, failure.status)
        }
    };
    notebook.left = still;
    status
}

/// Says what the run has left in stores of the user's, and how to delete it.
pub fn tell_left(study: &Study, out: &Path) {
    for sentence in words::left_sentences(study) {
        note(&format!("{sentence} To delete them: kvtrial clear {}", shell_word(&out.display().to_string())));
    }
}

/// Writes the cells and the trials for spreadsheets.
pub fn write_cells(out: &Path, study: &Study) -> Result<(), CommandFailure> {
    let cells = out.join("cells.csv");
    archive::replace_file(&cells, |file| file.write_all(archive::cells_csv(study).as_bytes()))
        .map_err(|error| CommandFailure::usage(format!("{}: {error}", cells.display())))?;
    let trials = out.join("trials.csv");
    archive::replace_file(&trials, |file| archive::write_trials_csv(study, file))
        .map_err(|error| CommandFailure::usage(format!("{}: {error}", trials.display())))
}

/// Returns whether machine or client may have distorted the times, or the instrument was not proved right here. The latter is said: no
/// cell's verdict shows it.
pub fn untrusted(study: &Study) -> bool {
    let failed = study.selftest.as_ref().map_or(0, |selftest| selftest.proofs.len() - selftest.holding());
    if failed > 0 {
        note(&format!(
            "kvtrial: --strict: {failed} proofs of the self-test failed on this machine; 'kvtrial selftest' shows them"
        ));
    }
    failed > 0 || study.cells.iter().any(|cell| cell.verdict.status == Status::Degraded)
}
