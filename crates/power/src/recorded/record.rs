//! What was done to the files of a store, and what of it a power cut may leave.

use super::call::{Call, CallFate};
use super::contents::{FileContent, Parts};
use super::left::LeftFiles;
use super::names::{EntryKind, FileId, FileNames, NamedEntry, files, scan};
use crate::draws::SectorDraws;
use crate::image::SECTOR_BYTES;
use crate::message::{TakenCut, monotonic_ns};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use study::{DiskKind, KeptSectors, PowerCut};

/// The most looks at names that change all the time.
const MOST_LOOKS: u32 = 5;

/// The record of a store's files.
pub struct FileRecord {
    root: PathBuf,
    /// What is durable of files. One that is in neither this nor `written` was written by somebody who is not recorded.
    durable: HashMap<FileId, FileContent>,
    /// What was written to files and is not durable.
    written: HashMap<FileId, Parts>,
    /// Files that may change without a call.
    mapped: HashSet<FileId>,
    /// The names that are durable.
    names: FileNames,
    /// Whether names have changed since.
    have_names_changed: bool,
    /// Threads with a call under way: of names, of a write to a part of a file, or of one that returns when it is durable.
    changing_names: HashSet<u32>,
    writing: HashMap<u32, (FileId, u64, Option<u64>)>,
    writing_through: HashMap<u32, PathBuf>,
    written_sectors: u64,
    flushes: u64,
    /// The seed of a cut that is to be taken just before the next sync, and that cut.
    awaited: Option<u64>,
    taken: Option<io::Result<(LeftFiles, TakenCut)>>,
}

/// A file or directory of the store that a thread has open.
struct Opened {
    /// Another way to it, which stays as long as the thread waits.
    path: PathBuf,
    id: FileId,
    bytes: u64,
    is_file: bool,
}

impl FileRecord {
    /// Makes the record of the files below a directory, which is empty.
    ///
    /// # Errors
    /// There is no such directory.
    pub fn of(store: &Path) -> io::Result<FileRecord> {
        Ok(FileRecord {
            root: store.canonicalize()?,
            durable: HashMap::new(),
            written: HashMap::new(),
            mapped: HashSet::new(),
            names: FileNames::new(),
            have_names_changed: true,
            changing_names: HashSet::new(),
            writing: HashMap::new(),
            writing_through: HashMap::new(),
            written_sectors: 0,
            flushes: 0,
            awaited: None,
            taken: None,
        })
    }

    /// Notes what a thread is about to do. A sync of the store's files returns at once: what it makes durable is so in the record, at the moment it
    /// returns, and the disk below has no part in that.
    pub fn note(&mut self, thread: u32, call: Call) -> CallFate {
        // What it did before is done.
        self.have_names_changed |= self.changing_names.remove(&thread);
        self.writing.remove(&thread);
        if let Some(path) = self.writing_through.remove(&thread) {
            self.sync(&path, false);
        }
        match call {
            Call::Write { file, offset, bytes, is_synced } => self.write(thread, file, offset, bytes, is_synced),
            Call::Resize { file, bytes } => {
                if let Some(opened) = self.opened(thread, file).filter(|opened| opened.is_file) {
                    self.change(thread, opened.id, bytes.min(opened.bytes), None);
                }
            }
            Call::Map { file } => {
                if let Some(opened) = self.opened(thread, file).filter(|opened| opened.is_file) {
                    self.mapped.insert(opened.id);
                }
            }
            Call::Sync { file, with_names } => {
                if let Some(opened) = self.opened(thread, file) {
                    self.before_sync();
                    self.sync(&opened.path, with_names);
                    return CallFate::Returns;
                }
            }
            Call::SyncMapped { address } => {
                if let Some(path) = self.mapped_at(thread, address) {
                    self.before_sync();
                    self.sync(&path, false);
                    return CallFate::Returns;
                }
            }
            Call::SyncAll => {
                self.before_sync();
                self.sync_all();
            }
            Call::Names => _ = self.changing_names.insert(thread),
        }
        CallFate::CarriedOut
    }

    fn write(&mut self, thread: u32, file: RawFd, offset: Option<u64>, bytes: Option<u64>, is_synced: bool) {
        let Some(opened) = self.opened(thread, file).filter(|opened| opened.is_file) else { return };
        let (position, flags) = position(thread, file).unwrap_or_default();
        let is_appended = flags & libc::O_APPEND != 0;
        // Another thread may append before it does, or move the position they share.
        let (offset, length) = match offset {
            _ if is_appended => (opened.bytes, None),
            Some(offset) => (offset, bytes),
            None => (position, None),
        };
        self.change(thread, opened.id, offset, length);
        self.written_sectors += bytes.unwrap_or(1).div_ceil(SECTOR_BYTES as u64);
        if is_synced || flags & libc::O_DSYNC != 0 {
            self.flushes += 1;
            self.writing_through.insert(thread, self.root.join(opened.name(&self.root)));
        }
    }

    /// Notes that a thread is about to change a part of a file.
    fn change(&mut self, thread: u32, id: FileId, offset: u64, bytes: Option<u64>) {
        self.written.entry(id).or_default().add(offset, bytes);
        self.writing.insert(thread, (id, offset, bytes));
    }

    /// Returns what a thread has open; `None`: it is not in the directory of the store.
    fn opened(&self, thread: u32, file: RawFd) -> Option<Opened> {
        let path = PathBuf::from(format!("/proc/{thread}/fd/{file}"));
        if !fs::read_link(&path).is_ok_and(|target| target.starts_with(&self.root)) {
            return None;
        }
        let meta = path.metadata().ok()?;
        (meta.is_file() || meta.is_dir()).then(|| Opened {
            id: FileId::of(&meta),
            bytes: meta.len(),
            is_file: meta.is_file(),
            path,
        })
    }

    /// Returns the file that a thread has mapped at an address.
    fn mapped_at(&self, thread: u32, address: u64) -> Option<PathBuf> {
        let maps = fs::read_to_string(format!("/proc/{thread}/maps")).ok()?;
        let holds = |line: &&str| {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let end = |digits: &str| u64::from_str_radix(digits, 16).unwrap_or_default();
            range.is_some_and(|(from, to)| (end(from)..end(to)).contains(&address))
        };
        let line = maps.lines().find(holds)?;
        let path = PathBuf::from(&line[line.find('/')?..]);
        path.starts_with(&self.root).then_some(path)
    }

    /// Makes a file durable, and names where that takes its journal. A file that cannot be read is not there any more.
    fn sync(&mut self, path: &Path, with_names: bool) {
        let Ok(meta) = path.metadata() else { return };
        let id = FileId::of(&meta);
        let mut are_names = with_names || meta.is_dir();
        if meta.is_file() {
            are_names |= self.durable.get(&id).is_none_or(|content| content.bytes != meta.len());
            let Ok(file) = File::open(path) else { return };
            let written = self.written.remove(&id).unwrap_or_default();
            // A write that is under way may come after this.
            for (_, offset, bytes) in self.writing.values().filter(|(other, _, _)| *other == id) {
                self.written.entry(id).or_default().add(*offset, *bytes);
            }
            // Of one that is new to us nobody knows what was written.
            let is_whole = self.mapped.contains(&id) || !self.durable.contains_key(&id);
            let parts = if is_whole { Parts::all() } else { written };
            // What cannot be read is not durable.
            let changed = self.durable.entry(id).or_default().take(&file, &parts).unwrap_or_default();
            if self.mapped.contains(&id) {
                // Nobody has seen it being written.
                self.written_sectors += changed;
            }
        }
        if are_names {
            self.sync_names();
        }
    }

    fn sync_names(&mut self) {
        if self.have_names_changed || !self.changing_names.is_empty() {
            self.names = self.scan();
            self.have_names_changed = false;
            // What has no name any more is gone with its last one.
            let named: HashSet<FileId> = files(&self.names).map(|(_, id)| id).collect();
            self.durable.retain(|id, _| named.contains(id));
            self.written.retain(|id, _| named.contains(id));
            self.mapped.retain(|id| named.contains(id));
        }
    }

    /// Returns the names there are. While some are being changed, a file that is renamed may be seen by neither name: it is looked until nothing changes.
    fn scan(&self) -> FileNames {
        let mut names = scan(&self.root);
        let looks = if self.changing_names.is_empty() { 0 } else { MOST_LOOKS };
        for _ in 0..looks {
            let before = names;
            names = scan(&self.root);
            if names == before {
                break;
            }
        }
        names
    }

    fn sync_all(&mut self) {
        for (path, _) in files(&self.scan()) {
            self.sync(&self.root.join(path), false);
        }
        self.have_names_changed = true;
        self.sync_names();
    }

    /// Has a cut taken just before the next sync.
    pub fn cut_before_sync(&mut self, seed: u64) {
        self.awaited = Some(seed);
    }

    /// Returns that cut, once.
    pub fn taken(&mut self) -> Option<io::Result<(LeftFiles, TakenCut)>> {
        self.taken.take()
    }

    /// Returns that cut if it was taken after all; else none is taken any more.
    pub fn give_up(&mut self) -> Option<io::Result<(LeftFiles, TakenCut)>> {
        self.awaited = None;
        self.taken.take()
    }

    fn before_sync(&mut self) {
        if let Some(seed) = self.awaited.take() {
            self.taken = Some(self.cut(seed));
        }
        self.flushes += 1;
    }

    /// Returns what was written so far.
    pub fn look(&self) -> PowerCut {
        PowerCut {
            disk: DiskKind::Recorded,
            written_sectors: self.written_sectors,
            flushes: self.flushes,
            ..PowerCut::default()
        }
    }

    /// Returns what a cut leaves now. The seed chooses what is left of what is not durable.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn cut(&mut self, seed: u64) -> io::Result<(LeftFiles, TakenCut)> {
        let at_ns = monotonic_ns();
        // They may have returned.
        for path in std::mem::take(&mut self.writing_through).into_values() {
            self.sync(&path, false);
        }
        let mut random = SectorDraws::new(seed);
        let kept = [KeptSectors::Nothing, KeptSectors::All, KeptSectors::Some, KeptSectors::Some][random.below(4)];
        let now = self.scan();
        let mut left = LeftFiles { names: FileNames::new(), contents: HashMap::new() };
        let mut made = PowerCut { kept, ..self.look() };
        let mut in_memory = 0;
        for (path, id) in files(&now) {
            let written = match (self.mapped.contains(&id), self.written.get(&id)) {
                (true, _) => Parts::all(),
                (false, Some(written)) => written.clone(),
                (false, None) if self.durable.contains_key(&id) => continue,
                (false, None) => Parts::default(),
            };
            // One that was removed meanwhile.
            let Ok(file) = File::open(self.root.join(path)) else { continue };
            let mut content = self.durable.get(&id).cloned().unwrap_or_default();
            if !self.is_known(id) {
                content.take(&file, &Parts::all())?;
            }
            let writes = content.differences(&file, &written)?;
            made.unflushed_sectors += writes.len() as u64;
            in_memory += if self.mapped.contains(&id) { writes.len() as u64 } else { 0 };
            made.kept_sectors += content.cut(&writes, file.metadata()?.len(), kept, &mut random);
            left.contents.insert(id, content);
        }
        // What was written to memory that is a file, and is not synced, is seen only now.
        made.written_sectors += in_memory;
        let is_new = kept == KeptSectors::All || kept == KeptSectors::Some && random.below(2) == 0;
        left.names = if is_new { now } else { self.names.clone() };
        for (_, id) in files(&left.names) {
            if let (false, Some(content)) = (left.contents.contains_key(&id), self.durable.get(&id)) {
                left.contents.insert(id, content.clone());
            }
        }
        Ok((left, TakenCut { made, at_ns }))
    }

    fn is_known(&self, id: FileId) -> bool {
        self.durable.contains_key(&id) || self.written.contains_key(&id) || self.mapped.contains(&id)
    }

    /// Puts what was left in the place of the store's files: all of it is durable.
    ///
    /// # Errors
    /// The system's.
    pub fn begin_with(&mut self, left: LeftFiles) -> io::Result<()> {
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) }?;
        }
        left.write(&self.root)?;
        let (written_sectors, flushes) = (self.written_sectors, self.flushes);
        *self = FileRecord { written_sectors, flushes, ..FileRecord::of(&self.root)? };
        self.sync_names();
        let LeftFiles { names, contents } = left;
        for (path, id) in files(&self.names) {
            if let Some(NamedEntry { kind: EntryKind::File(before), .. }) = names.get(path) {
                self.durable.insert(id, contents.get(before).cloned().unwrap_or_default());
            }
        }
        Ok(())
    }
}

impl Opened {
    /// Its path in the directory of the store.
    fn name(&self, root: &Path) -> PathBuf {
        fs::read_link(&self.path)
            .ok()
            .and_then(|path| Some(path.strip_prefix(root).ok()?.to_owned()))
            .unwrap_or_default()
    }
}

/// Returns where a thread has a file's position, and the flags it was opened with.
fn position(thread: u32, file: RawFd) -> Option<(u64, i32)> {
    let text = fs::read_to_string(format!("/proc/{thread}/fdinfo/{file}")).ok()?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    Some((field("pos:")?.parse().ok()?, i32::from_str_radix(field("flags:")?, 8).ok()?))
}

#[cfg(test)]
mod tests;
