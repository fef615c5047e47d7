//! What a cut has left of the files.

use super::contents::FileContent;
use super::names::{EntryKind, FileId, FileNames};
use std::collections::HashMap;
use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

/// What a cut has left.
#[derive(Clone)]
pub struct LeftFiles {
    pub names: FileNames,
    pub contents: HashMap<FileId, FileContent>,
}

impl LeftFiles {
    /// Writes it into a directory.
    ///
    /// # Errors
    /// The system's.
    pub fn write(&self, root: &Path) -> io::Result<()> {
        for (name, entry) in &self.names {
            let path = root.join(name);
            match &entry.kind {
                EntryKind::Directory => fs::create_dir(&path)?,
                EntryKind::Link(target) => {
                    symlink(target, &path)?;
                    continue;
                }
                EntryKind::File(id) => {
                    let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
                    if let Some(content) = self.contents.get(id) {
                        content.image.write_to(&file)?;
                        file.set_len(content.bytes)?;
                    }
                }
            }
            // Only root can give files away, and only root's stores have other owners.
            let _ = chown(&path, Some(entry.owner.0), Some(entry.owner.1));
            fs::set_permissions(&path, Permissions::from_mode(entry.mode))?;
        }
        Ok(())
    }
}
