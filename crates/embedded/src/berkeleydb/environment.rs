//! An environment of three databases, one per space. Each operation is a transaction.

use super::library::{
    AUTO_COMMIT, BTREE, BUFFER_SMALL, BerkeleyDb, CREATE, DBT_PARTIAL, Dbt, FIRST, FORCE, FREE_SPACE, HASH,
    LOCK_MINWRITE, LOG_AUTO_REMOVE, NEXT, NOT_FOUND, Object, RMW, Region, SET_RANGE, THREAD, TRANSACTIONAL, TXN_NOSYNC,
    TXN_WRITE_NOSYNC, cursor, db, env, txn,
};
use crate::shared::embedded::Fault;
use crate::shared::transactional::{Engine, More, ReadView, Space, WriteView};
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::fs::{File, TryLockError};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use store::{Checkpoint, Compact, Facts, Maintenance, Resent, StoreError};
use study::Durability;

/// Locks, and things that are locked, at one time: a page each, and put-many writes many.
const LOCKS: u32 = 200_000;
/// Transactions open at one time.
const TRANSACTIONS: u32 = 4096;
/// The number of writes after which the adapter looks whether a checkpoint is due.
const LOOK_EVERY: u64 = 1000;
/// The KiB of log after which a checkpoint is due.
const CHECKPOINT_KIB: u32 = 64 << 10;

/// The layout of the values, and the settings of the database.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseSettings {
    /// The fill factor of a hash table, which then takes the place of the B+ tree.
    pub hash_fill_factor: Option<u32>,
    /// The bytes of a page.
    pub page_bytes: u32,
    /// The bytes of pages kept in memory.
    pub cache_bytes: u64,
    /// The moment from which a commit is safe.
    pub durability: Durability,
}

/// An open environment.
pub struct Environment {
    library: &'static BerkeleyDb,
    environment: Object,
    /// By the number of their space.
    databases: [Object; 3],
    settings: DatabaseSettings,
    writes: AtomicU64,
    resent: Resent,
    /// The lock, held as long as the environment is open: the library does not know of other processes.
    _lock: File,
}

// SAFETY: environment and databases are opened with DB_THREAD, which lets any thread use them.
unsafe impl Send for Environment {}
// SAFETY: as above.
unsafe impl Sync for Environment {}

thread_local! {
    /// Key and value read last; one per thread, since an operation is over before the next begins.
    static READ: RefCell<(Region, Region)> = const { RefCell::new((Region::new(), Region::new())) };
}

impl Environment {
    /// Opens or creates an environment in a directory that is there.
    pub fn open(
        library: &'static BerkeleyDb,
        directory: &Path,
        settings: DatabaseSettings,
    ) -> Result<Environment, Fault> {
        let lock = File::create(directory.join("kvtrial.lock"))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => "another process has it open".to_owned(),
            TryLockError::Error(error) => error.to_string(),
        })?;
        let home = CString::new(directory.as_os_str().as_bytes())?;
        let mut opened = Environment {
            library,
            environment: library.environment()?,
            databases: [null_mut(); 3],
            settings,
            writes: AtomicU64::new(0),
            resent: Resent::default(),
            _lock: lock,
        };
        let (object, done) = (opened.environment, |code| library.done(code));
        let cache = (settings.cache_bytes >> 30, settings.cache_bytes & ((1 << 30) - 1));
        let sync = match settings.durability {
            Durability::None => Some(TXN_NOSYNC),
            Durability::Os | Durability::Second => Some(TXN_WRITE_NOSYNC),
            Durability::Commit => None,
        };
        // SAFETY: the environment is new and not yet open; the path has an end.
        unsafe {
            done(env::set_cachesize(object)(object, cache.0 as u32, cache.1 as u32, 1))?;
            done(env::set_lk_detect(object)(object, LOCK_MINWRITE))?;
            done(env::set_lk_max_locks(object)(object, LOCKS))?;
            done(env::set_lk_max_objects(object)(object, LOCKS))?;
            done(env::set_lk_max_lockers(object)(object, TRANSACTIONS))?;
            done(env::set_tx_max(object)(object, TRANSACTIONS))?;
            done(env::log_set_config(object)(object, LOG_AUTO_REMOVE, 1))?;
            if let Some(flag) = sync {
                done(env::set_flags(object)(object, flag, 1))?;
            }
            done(env::open(object)(object, home.as_ptr(), CREATE | THREAD | TRANSACTIONAL, 0))?;
        }
        for space in Space::ALL {
            opened.open_database(space)?;
        }
        Ok(opened)
    }

    /// Opens the database of a space. Counters and fields are always a tree: fields are read in their order.
    fn open_database(&mut self, space: Space) -> Result<(), Fault> {
        let name = CString::new(format!("{}.db", space.name()))?;
        let database = self.library.database(self.environment)?;
        self.databases[space as usize] = database;
        let fill_factor = self.settings.hash_fill_factor.filter(|_| space == Space::Values);
        let method = if fill_factor.is_some() { HASH } else { BTREE };
        let flags = CREATE | AUTO_COMMIT | THREAD;
        // SAFETY: the database is new and not yet open; the name has an end.
        unsafe {
            self.library.done(db::set_pagesize(database)(database, self.settings.page_bytes))?;
            if let Some(records) = fill_factor {
                self.library.done(db::set_h_ffactor(database)(database, records))?;
            }
            let none = std::ptr::null::<c_char>();
            self.library.done(db::open(database)(database, null_mut(), name.as_ptr(), none, method, flags, 0))
        }
    }

    fn database(&self, space: Space) -> Object {
        self.databases[space as usize]
    }

    fn read<T>(
        &self,
        txn: Object,
        space: Space,
        key: &[u8],
        flags: u32,
        found: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, Fault> {
        let (mut key, database) = (Dbt::of(key)?, self.database(space));
        READ.with_borrow_mut(|(_, value)| {
            // SAFETY: the database is open, the transaction alive or none; the library fills the region.
            match unsafe { db::get(database)(database, txn, &raw mut key, &raw mut value.0, flags) } {
                NOT_FOUND => Ok(None),
                code => self.library.done(code).map(|()| Some(found(value.bytes()))),
            }
        })
    }

    fn scan_with(
        &self,
        txn: Object,
        space: Space,
        start: &[u8],
        row: impl FnMut(&[u8], &[u8]) -> More,
    ) -> Result<(), Fault> {
        let (database, mut row, mut object) = (self.database(space), row, null_mut());
        // SAFETY: the database is open, the transaction alive or none; the cursor is closed before this ends.
        self.library.done(unsafe { db::cursor(database)(database, txn, &raw mut object, 0) })?;
        let outcome = READ.with_borrow_mut(|(key, value)| {
            let mut step = if start.is_empty() { FIRST } else { SET_RANGE };
            if step == SET_RANGE {
                key.set(start)?; // where the key found is put as well
            }
            loop {
                // SAFETY: the cursor is open; the library fills both regions.
                match unsafe { cursor::get(object)(object, &raw mut key.0, &raw mut value.0, step) } {
                    NOT_FOUND => return Ok(()),
                    code => self.library.done(code)?,
                }
                if row(key.bytes(), value.bytes()) == More::No {
                    return Ok(());
                }
                step = NEXT;
            }
        });
        // SAFETY: the cursor is open, and not used any more.
        let closed = self.library.done(unsafe { cursor::close(object)(object) });
        outcome.and(closed)
    }

    /// Makes a checkpoint when enough was written since the last one, as the library leaves to its user. Without checkpoints the log would only grow.
    fn written(&self) -> Result<(), Fault> {
        if self.writes.fetch_add(1, Ordering::Relaxed) % LOOK_EVERY == LOOK_EVERY - 1 {
            self.checkpoint_of(CHECKPOINT_KIB, 0)?;
        }
        Ok(())
    }

    fn checkpoint_of(&self, kib: u32, flags: u32) -> Result<(), Fault> {
        // SAFETY: the environment is open.
        self.library.done(unsafe { env::txn_checkpoint(self.environment)(self.environment, kib, 0, flags) })
    }

    fn begin(&self) -> Result<Writer<'_>, Fault> {
        let mut txn = null_mut();
        // SAFETY: the environment is open; the transaction ends when the writer does.
        let code = unsafe { env::txn_begin(self.environment)(self.environment, null_mut(), &raw mut txn, 0) };
        self.library.done(code).map(|()| Writer { environment: self, txn })
    }

    fn ask(&self, method: unsafe fn(Object) -> unsafe extern "C" fn(Object, *mut u32) -> c_int, of: Object) -> u32 {
        let mut number = 0;
        // SAFETY: the object is open, and the method is its own.
        unsafe { method(of)(of, &raw mut number) };
        number
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        // SAFETY: nobody else has the objects any more; databases go before their environment. What was not opened is only freed.
        unsafe {
            for database in self.databases {
                if !database.is_null() {
                    db::close(database)(database, 0);
                }
            }
            if !self.databases.contains(&null_mut()) {
                let _ = self.checkpoint_of(0, FORCE); // without it the next opening has more to recover
            }
            env::close(self.environment)(self.environment, 0);
        }
    }
}

impl Engine for Environment {
    type Reader<'e> = &'e Environment;
    type Writer<'e> = Writer<'e>;

    fn facts(&self, durability: Durability) -> Result<Facts, StoreError> {
        let (mut gib, mut bytes, mut caches) = (0, 0, 0);
        // SAFETY: the environment is open.
        unsafe {
            let object = self.environment;
            env::get_cachesize(object)(object, &raw mut gib, &raw mut bytes, &raw mut caches);
        }
        let values = self.database(Space::Values);
        let flags = self.ask(env::get_flags, self.environment);
        let (commit, sync) = match (flags & TXN_NOSYNC, flags & TXN_WRITE_NOSYNC) {
            (0, 0) => ("written and flushed", None),
            (0, _) => ("written (DB_TXN_WRITE_NOSYNC)", Some("DB_TXN_WRITE_NOSYNC")),
            _ => ("kept in memory (DB_TXN_NOSYNC)", Some("DB_TXN_NOSYNC")),
        };
        debug_assert_eq!(durability, self.settings.durability);
        let mut config = vec![
            ("cache_size", ((u64::from(gib) << 30) + u64::from(bytes)).to_string()),
            ("page_size", self.ask(db::get_pagesize, values).to_string()),
            ("log_at_commit", commit.to_owned()),
            ("checkpoint_kib", CHECKPOINT_KIB.to_string()),
        ];
        let hash = self.settings.hash_fill_factor.is_some();
        config.push(("method", if hash { "hash".into() } else { "btree".into() }));
        if hash {
            config.push(("ffactor", self.ask(db::get_h_ffactor, values).to_string()));
        }
        let config = config.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        // Of the file DB_CONFIG, which lies in the environment's directory; the size of a page is of the code.
        let page = format!("db->set_pagesize(db, {});", self.ask(db::get_pagesize, values));
        let sync = sync.map(|flag| format!("set_flags {flag} on"));
        let set_up = std::iter::once(format!("set_cachesize {gib} {bytes} 1")).chain(sync).chain([page]).collect();
        Ok(Facts { product: "Berkeley DB".into(), version: self.library.version.clone(), config, set_up })
    }

    fn again(&self, Fault(words): &Fault) -> bool {
        let again = words.contains("DB_LOCK_DEADLOCK");
        if again {
            self.resent.add();
        }
        again
    }

    fn resent(&self) -> u64 {
        self.resent.count()
    }

    fn reader(&self) -> Result<&Environment, Fault> {
        Ok(self)
    }

    fn writer(&self, _: &[u8]) -> Result<Writer<'_>, Fault> {
        self.begin()
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let (database, mut key, mut value) = (self.database(Space::Values), Dbt::of(key)?, Dbt::of(value)?);
        // SAFETY: the database is open; the call is a transaction of its own.
        self.library.done(unsafe { db::put(database)(database, null_mut(), &raw mut key, &raw mut value, 0) })?;
        self.written()
    }

    /// A partial put behind the end: the value is measured, but not read.
    fn append(&self, key: &[u8], more: &[u8], _: &mut Vec<u8>) -> Result<(), Fault> {
        let writer = self.begin()?;
        let (database, mut key, mut end, mut more) =
            (self.database(Space::Values), Dbt::of(key)?, Dbt::measure(), Dbt::of(more)?);
        // SAFETY: the database is open, the transaction alive; there is no room to write to, and none is needed.
        match unsafe { db::get(database)(database, writer.txn, &raw mut key, &raw mut end, RMW) } {
            0 | BUFFER_SMALL => {
                more.doff = end.size;
                more.flags |= DBT_PARTIAL;
            }
            NOT_FOUND => {}
            code => return Err(self.library.fault(code)),
        }
        // SAFETY: as above.
        self.library.done(unsafe { db::put(database)(database, writer.txn, &raw mut key, &raw mut more, 0) })?;
        writer.commit()
    }

    fn maintenance(&self) -> Maintenance<'_> {
        Maintenance { compaction: Some(self), checkpoint: Some(self) }
    }
}

impl Compact for Environment {
    fn compact(&self, patience: Duration) -> Result<(), StoreError> {
        let none = null_mut;
        for database in self.databases {
            // SAFETY: the database is open; without bounds it is all of it, in transactions of the library's own.
            self.library.done(unsafe {
                db::compact(database)(database, none(), null_mut(), null_mut(), none(), FREE_SPACE, null_mut())
            })?;
        }
        self.checkpoint(patience)
    }
}

impl Checkpoint for Environment {
    fn checkpoint(&self, _: Duration) -> Result<(), StoreError> {
        Ok(self.checkpoint_of(0, FORCE)?)
    }
}

impl ReadView for &Environment {
    fn get<T>(&self, space: Space, key: &[u8], found: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Fault> {
        self.read(null_mut(), space, key, 0, found)
    }

    fn scan(&self, space: Space, start: &[u8], row: impl FnMut(&[u8], &[u8]) -> More) -> Result<(), Fault> {
        self.scan_with(null_mut(), space, start, row)
    }
}

/// A transaction.
pub struct Writer<'e> {
    environment: &'e Environment,
    txn: Object,
}

impl ReadView for Writer<'_> {
    fn get<T>(&self, space: Space, key: &[u8], found: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Fault> {
        self.environment.read(self.txn, space, key, RMW, found)
    }

    fn scan(&self, space: Space, start: &[u8], row: impl FnMut(&[u8], &[u8]) -> More) -> Result<(), Fault> {
        self.environment.scan_with(self.txn, space, start, row)
    }
}

impl WriteView for Writer<'_> {
    fn put(&mut self, space: Space, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let (database, mut key, mut value) = (self.environment.database(space), Dbt::of(key)?, Dbt::of(value)?);
        // SAFETY: the database is open, the transaction alive.
        let code = unsafe { db::put(database)(database, self.txn, &raw mut key, &raw mut value, 0) };
        self.environment.library.done(code)
    }

    fn delete(&mut self, space: Space, key: &[u8]) -> Result<bool, Fault> {
        let (database, mut key) = (self.environment.database(space), Dbt::of(key)?);
        // SAFETY: the database is open, the transaction alive.
        match unsafe { db::del(database)(database, self.txn, &raw mut key, 0) } {
            NOT_FOUND => Ok(false),
            code => self.environment.library.done(code).map(|()| true),
        }
    }

    fn commit(mut self) -> Result<(), Fault> {
        let txn = std::mem::replace(&mut self.txn, null_mut());
        // SAFETY: the transaction is alive, and gone afterwards whatever is returned.
        self.environment.library.done(unsafe { txn::commit(txn)(txn, 0) })?;
        self.environment.written()
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        if !self.txn.is_null() {
            // SAFETY: the transaction is alive, and gone afterwards.
            unsafe { txn::abort(self.txn)(self.txn) };
        }
    }
}
