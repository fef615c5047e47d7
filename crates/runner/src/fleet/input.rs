//! What the workers of a trial share: the job and its input, which they read where they are, or which is sent to them.

use super::FilesSeen;
use crate::assignment::Assignment;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use data::sent::FileToSend;
use jobkit::{Job, JobError, Params};
use std::path::Path;
use std::sync::Arc;
use store::Capabilities;

/// What the workers of a trial share.
pub(super) struct SharedInput<'a> {
    /// What the store declares it can do.
    pub(super) declared: Capabilities,
    /// Gives a job with its input read.
    pub(super) job: &'a dyn Fn(&Params) -> Result<Arc<dyn Job>, JobError>,
    /// The file that the job reads, where it may be sent.
    pub(super) file: Option<&'a FileToSend>,
    pub(super) files_seen: FilesSeen,
}

impl SharedInput<'_> {
    /// Returns an assignment as workers get it: with the file that is sent, or a path that means the same wherever a worker was started.
    pub(super) fn given(&self, assignment: &Assignment) -> Assignment {
        let file = self.sent().map(|file| file.label().clone());
        let path = if file.is_none() { file_read(assignment) } else { None };
        let data = path.or_else(|| assignment.data.clone());
        Assignment { data, file, ..assignment.clone() }
    }

    /// Returns the file that has to be on every worker's machine.
    pub(super) fn file_needed(&self, assignment: &Assignment) -> Option<String> {
        let is_needed = self.files_seen == FilesSeen::OfTheirs && self.sent().is_none();
        file_read(assignment).filter(|_| is_needed)
    }

    /// Returns the piece of the file that begins at this byte, as it is sent.
    pub(super) fn piece(&self, from: u64) -> String {
        self.sent().map(|file| BASE64.encode(file.piece(from))).unwrap_or_default()
    }

    fn sent(&self) -> Option<&FileToSend> {
        self.file.filter(|_| self.files_seen == FilesSeen::OfTheirs)
    }
}

/// The file that a trial reads, by an absolute path; `None`: it reads none.
fn file_read(assignment: &Assignment) -> Option<String> {
    let path = Path::new(assignment.data.as_deref()?);
    let absolute = std::path::absolute(path).ok().filter(|_| path.is_absolute() || path.exists())?;
    Some(absolute.display().to_string())
}
