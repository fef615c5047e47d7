//! LevelDB and RocksDB: log-structured merge trees with one C interface.
//!
//! All spaces lie in one tree; the first byte of a key names its space. What must read before it writes (increment, compare-and-set,
//! delete, which says whether there was a key; LevelDB's append) holds a lock of the adapter on that key and ends with one write;
//! plain writes hold it as well, so that none of them comes between. Writes of different keys run side by side, as the engines
//! group them. Put-many, and a delete of several spaces, is one atomic batch of the engine.

mod library;
mod merge;
mod writer;

pub use library::Api;

use library::{LogStructuredKind, Object};

use crate::shared::embedded::Fault;
use crate::shared::stripes::Stripes;
use crate::shared::transactional::{Engine, More, ReadView, Space, WriteView};
use merge::appending;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::{Compact, Facts, Maintenance, StoreError};
use study::Durability;
use writer::Writer;

/// The settings that an adapter makes before the database is opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct DatabaseSettings {
    /// The bytes of writes kept in memory before a table is written; `None`: the library's default.
    pub write_buffer_bytes: Option<u64>,
    /// The bytes of blocks kept in memory; `None`: the library's default.
    pub cache_bytes: Option<u64>,
    /// The library's number of the compression; `None`: its default.
    pub compression: Option<i32>,
}

/// An open database.
pub struct Tree {
    api: &'static Api,
    database: Object,
    read: Object,
    write: Object,
    keep: Vec<(unsafe extern "C" fn(Object), Object)>,
    keys: Stripes,
    path: PathBuf,
    settings: DatabaseSettings,
    facts: fn(&Tree) -> Facts,
}

// SAFETY: both libraries let any thread use an open database and options nobody changes.
unsafe impl Send for Tree {}
// SAFETY: as above.
unsafe impl Sync for Tree {}

thread_local! {
    /// A key behind the byte of its space.
    static PATH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn with_path<T>(space: Space, key: &[u8], body: impl FnOnce(&[u8]) -> T) -> T {
    PATH.with_borrow_mut(|path| {
        path.clear();
        path.push(space as u8);
        path.extend_from_slice(key);
        body(path)
    })
}

impl Tree {
    /// Opens or creates a database. `facts` says what its product is and what its settings are.
    pub fn open(
        api: &'static Api,
        path: &Path,
        settings: DatabaseSettings,
        durability: Durability,
        facts: fn(&Tree) -> Facts,
    ) -> Result<Tree, Fault> {
        let name = CString::new(path.as_os_str().as_bytes())?;
        let functions = &api.functions;
        // SAFETY: objects are made and used as the interface says: options before opening, each freed once, those that an open
        // database uses after it is closed.
        unsafe {
            let (read, write) = ((functions.readoptions_create)(), (functions.writeoptions_create)());
            let mut keep: Vec<(unsafe extern "C" fn(Object), Object)> =
                vec![(functions.readoptions_destroy, read), (functions.writeoptions_destroy, write)];
            (functions.writeoptions_set_sync)(write, u8::from(durability == Durability::Commit));
            let options = (functions.options_create)();
            keep.push((functions.options_destroy, options));
            (functions.options_set_create_if_missing)(options, 1);
            if let Some(bytes) = settings.write_buffer_bytes {
                (functions.options_set_write_buffer_size)(options, bytes as usize);
            }
            if let Some(number) = settings.compression {
                (functions.options_set_compression)(options, number);
            }
            let cache = settings.cache_bytes.map(|bytes| (functions.cache_create_lru)(bytes as usize));
            keep.extend(cache.map(|cache| (functions.cache_destroy, cache)));
            match &api.kind {
                LogStructuredKind::Level(level) => {
                    if let Some(cache) = cache {
                        (level.options_set_cache)(options, cache);
                    }
                }
                LogStructuredKind::Rocks(rocks) => {
                    (rocks.writeoptions_disable_WAL)(write, i32::from(durability == Durability::None));
                    (rocks.options_set_merge_operator)(options, appending(rocks));
                    if let Some(cache) = cache {
                        let table = (rocks.block_based_options_create)();
                        (rocks.block_based_options_set_block_cache)(table, cache);
                        (rocks.options_set_block_based_table_factory)(options, table);
                        (rocks.block_based_options_destroy)(table);
                    }
                }
            }
            let opened = api.tried(|trouble| (functions.open)(options, name.as_ptr(), trouble));
            let database = match &opened {
                Ok(database) => *database,
                Err(_) => std::ptr::null_mut(),
            };
            let tree = Tree {
                api,
                database,
                read,
                write,
                keep,
                keys: Stripes::default(),
                path: path.to_owned(),
                settings,
                facts,
            };
            opened.map(|_| tree)
        }
    }

    /// Returns the library's version.
    pub fn version(&self) -> &str {
        &self.api.version
    }

    /// Returns the settings that the database was opened with.
    pub fn settings(&self) -> DatabaseSettings {
        self.settings
    }

    /// Returns the directory of the database's files.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a property of the database; empty when there is none of that name.
    pub fn property(&self, name: &str) -> String {
        self.api.property(self.database, name)
    }

    fn read_value<T>(&self, path: &[u8], found: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Fault> {
        let (functions, mut bytes) = (&self.api.functions, 0);
        if let LogStructuredKind::Rocks(rocks) = &self.api.kind {
            // SAFETY: the database is open; the value lives as long as the object that holds it.
            return unsafe {
                let pinned = self.api.tried(|trouble| {
                    (rocks.get_pinned)(self.database, self.read, path.as_ptr(), path.len(), trouble)
                })?;
                if pinned.is_null() {
                    return Ok(None);
                }
                let value = (rocks.pinnableslice_value)(pinned, &raw mut bytes);
                let found = found(slice(value, bytes));
                (rocks.pinnableslice_destroy)(pinned);
                Ok(Some(found))
            };
        }
        // SAFETY: the database is open; the value is a copy of `bytes` bytes, freed after it was looked at.
        unsafe {
            let value = self.api.tried(|trouble| {
                (functions.get)(self.database, self.read, path.as_ptr(), path.len(), &raw mut bytes, trouble)
            })?;
            if value.is_null() {
                return Ok(None);
            }
            let found = found(slice(value, bytes));
            (functions.free)(value.cast());
            Ok(Some(found))
        }
    }

    fn store(&self, batch: &Batch) -> Result<(), Fault> {
        // SAFETY: the database is open, the batch alive.
        self.api.tried(|trouble| unsafe {
            (self.api.functions.write)(self.database, self.write, batch.object, trouble);
        })
    }
}

/// Returns bytes of the library as a slice.
///
/// # Safety
/// There must be that many bytes at the pointer, for as long as the slice is used.
unsafe fn slice<'a>(pointer: *const u8, bytes: usize) -> &'a [u8] {
    if bytes == 0 {
        return &[];
    }
    // SAFETY: as promised by the caller.
    unsafe { std::slice::from_raw_parts(pointer, bytes) }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // SAFETY: nobody else has the objects any more; the database goes before what it uses.
        unsafe {
            if !self.database.is_null() {
                (self.api.functions.close)(self.database);
            }
            for (destroy, object) in self.keep.drain(..) {
                destroy(object);
            }
        }
    }
}

/// A batch of writes that happen together.
struct Batch {
    api: &'static Api,
    object: Object,
}

impl Batch {
    fn new(api: &'static Api) -> Batch {
        // SAFETY: makes an object, freed when dropped.
        Batch { api, object: unsafe { (api.functions.writebatch_create)() } }
    }

    fn put(&mut self, space: Space, key: &[u8], value: &[u8]) {
        let put = self.api.functions.writebatch_put;
        // SAFETY: the batch is alive, and copies what it is given.
        with_path(space, key, |path| unsafe {
            put(self.object, path.as_ptr(), path.len(), value.as_ptr(), value.len());
        });
    }

    fn delete(&mut self, space: Space, key: &[u8]) {
        // SAFETY: as above.
        with_path(space, key, |path| unsafe {
            (self.api.functions.writebatch_delete)(self.object, path.as_ptr(), path.len());
        });
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // SAFETY: nobody else has it.
        unsafe { (self.api.functions.writebatch_destroy)(self.object) };
    }
}

impl ReadView for &Tree {
    fn get<T>(&self, space: Space, key: &[u8], found: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Fault> {
        with_path(space, key, |path| self.read_value(path, found))
    }

    fn scan(&self, space: Space, start: &[u8], row: impl FnMut(&[u8], &[u8]) -> More) -> Result<(), Fault> {
        let (functions, mut row) = (&self.api.functions, row);
        // SAFETY: the database is open; the iterator is freed before this ends, and what it shows is looked at before it moves.
        unsafe {
            let iterator = (functions.create_iterator)(self.database, self.read);
            with_path(space, start, |path| (functions.iter_seek)(iterator, path.as_ptr(), path.len()));
            while (functions.iter_valid)(iterator) != 0 {
                let (mut key_bytes, mut value_bytes) = (0, 0);
                let path = (functions.iter_key)(iterator, &raw mut key_bytes);
                let value = (functions.iter_value)(iterator, &raw mut value_bytes);
                let Some((_, key)) = slice(path, key_bytes).split_first().filter(|(first, _)| **first == space as u8)
                else {
                    break;
                };
                if row(key, slice(value, value_bytes)) == More::No {
                    break;
                }
                (functions.iter_next)(iterator);
            }
            let outcome = self.api.tried(|trouble| (functions.iter_get_error)(iterator, trouble));
            (functions.iter_destroy)(iterator);
            outcome
        }
    }
}

impl Engine for Tree {
    type Reader<'e> = &'e Tree;
    type Writer<'e> = Writer<'e>;

    fn facts(&self, durability: Durability) -> Result<Facts, StoreError> {
        let mut facts = (self.facts)(self);
        let log = match durability {
            Durability::Commit => "flushed at every write",
            Durability::None => "off",
            Durability::Os | Durability::Second => "written at every write",
        };
        facts.config.insert("write_ahead_log".into(), log.into());
        facts.set_up.extend(match durability {
            Durability::Commit => Some("write_options.sync = true;".into()),
            Durability::None => Some("write_options.disableWAL = true;".into()),
            Durability::Os | Durability::Second => None,
        });
        Ok(facts)
    }

    fn reader(&self) -> Result<&Tree, Fault> {
        Ok(self)
    }

    fn writer(&self, key: &[u8]) -> Result<Writer<'_>, Fault> {
        Ok(Writer { tree: self, batch: Batch::new(self.api), _held: self.keys.hold(key) })
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let _held = self.keys.hold(key);
        with_path(Space::Values, key, |path| {
            // SAFETY: the database is open; pointers and lengths are of live slices.
            self.api.tried(|trouble| unsafe {
                let (path, bytes) = (path.as_ptr(), path.len());
                (self.api.functions.put)(self.database, self.write, path, bytes, value.as_ptr(), value.len(), trouble);
            })
        })
    }

    /// Appends: RocksDB notes the piece, and puts the pieces together when it reads or compacts.
    fn append(&self, key: &[u8], more: &[u8], scratch: &mut Vec<u8>) -> Result<(), Fault> {
        let LogStructuredKind::Rocks(rocks) = &self.api.kind else {
            let mut writer = self.writer(key)?;
            scratch.clear();
            writer.get(Space::Values, key, |found| scratch.extend_from_slice(found))?;
            scratch.extend_from_slice(more);
            writer.put(Space::Values, key, scratch)?;
            return writer.commit();
        };
        let _held = self.keys.hold(key);
        with_path(Space::Values, key, |path| {
            // SAFETY: as in `put`.
            self.api.tried(|trouble| unsafe {
                let (path, bytes) = (path.as_ptr(), path.len());
                (rocks.merge)(self.database, self.write, path, bytes, more.as_ptr(), more.len(), trouble);
            })
        })
    }

    fn put_many(&self, pairs: &[(&[u8], &[u8])]) -> Result<(), Fault> {
        let mut batch = Batch::new(self.api);
        for (key, value) in pairs {
            batch.put(Space::Values, key, value);
        }
        let _held = self.keys.hold_all(pairs.iter().map(|(key, _)| *key));
        self.store(&batch)
    }

    fn maintenance(&self) -> Maintenance<'_> {
        Maintenance { compaction: Some(self), ..Maintenance::default() }
    }
}

impl Compact for Tree {
    fn compact(&self, _: Duration) -> Result<(), StoreError> {
        let none = std::ptr::null();
        // SAFETY: the database is open; no bounds mean all of it.
        unsafe { (self.api.functions.compact_range)(self.database, none, 0, none, 0) };
        Ok(())
    }
}

/// Returns settings in the form that facts have.
pub fn config<const N: usize>(settings: [(&str, String); N]) -> BTreeMap<String, String> {
    settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
