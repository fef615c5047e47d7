//! The names below a directory: which files and directories there are.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// A file, whatever its name: a number may be used again, so the time it was made is with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId {
    number: u64,
    made_ns: u128,
}

impl FileId {
    /// Returns which file this is.
    pub fn of(meta: &Metadata) -> FileId {
        let made = meta.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        FileId { number: meta.ino(), made_ns: made.map_or(0, |since| since.as_nanos()) }
    }
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedEntry {
    /// What it is.
    pub kind: EntryKind,
    /// Its mode.
    pub mode: u32,
    /// Its user and group.
    pub owner: (u32, u32),
}

/// Sockets and pipes are none: they hold nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A file with data.
    File(FileId),
    /// A directory.
    Directory,
    /// A symbolic link.
    Link(PathBuf),
}

/// Names by their paths below a directory, each directory before what is in it.
pub type FileNames = BTreeMap<PathBuf, NamedEntry>;

/// Returns the names below a directory. What is removed meanwhile is left out.
pub fn scan(root: &Path) -> FileNames {
    let mut names = FileNames::new();
    let mut open = vec![PathBuf::new()];
    while let Some(directory) = open.pop() {
        for found in fs::read_dir(root.join(&directory)).into_iter().flatten().flatten() {
            let path = directory.join(found.file_name());
            let Ok(entry) = entry(&root.join(&path)) else { continue };
            let Some(entry) = entry else { continue };
            if matches!(entry.kind, EntryKind::Directory) {
                open.push(path.clone());
            }
            names.insert(path, entry);
        }
    }
    names
}

fn entry(path: &Path) -> io::Result<Option<NamedEntry>> {
    let meta = path.symlink_metadata()?;
    let kind = if meta.is_file() {
        EntryKind::File(FileId::of(&meta))
    } else if meta.is_dir() {
        EntryKind::Directory
    } else if meta.is_symlink() {
        EntryKind::Link(fs::read_link(path)?)
    } else {
        return Ok(None);
    };
    Ok(Some(NamedEntry { kind, mode: meta.mode() & 0o7777, owner: (meta.uid(), meta.gid()) }))
}

/// Returns the files among names, in order.
pub fn files(names: &FileNames) -> impl Iterator<Item = (&PathBuf, FileId)> {
    names.iter().filter_map(|(path, entry)| match entry.kind {
        EntryKind::File(id) => Some((path, id)),
        EntryKind::Directory | EntryKind::Link(_) => None,
    })
}
