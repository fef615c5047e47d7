//! Kyoto Cabinet's C interface. Signatures are those of kclangc.h of version 1.2; the battery of tests proves them by reading
//! back.

use crate::shared::dylib::functions;
use crate::shared::embedded::Fault;
use libloading::Library;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_void};

const OPEN_WRITER: u32 = 1 << 1;
const OPEN_CREATE: u32 = 1 << 2;
const OPEN_AUTO_TRANSACTIONS: u32 = 1 << 4;
const OPEN_AUTO_SYNC: u32 = 1 << 5;
/// Says that somebody else has the file, instead of waiting for them.
const OPEN_TRY_LOCK: u32 = 1 << 7;

const EXISTS: i32 = 6;
const NO_RECORD: i32 = 7;
const NOT_AS_EXPECTED: i32 = 8;

type Db = *mut c_void;
type PutBytes = unsafe extern "C" fn(Db, *const u8, usize, *const u8, usize) -> i32;

functions! {
    /// The functions of the library.
    pub struct Functions {
        free: unsafe extern "C" fn(*mut c_void),
        dbnew: unsafe extern "C" fn() -> Db,
        dbdel: unsafe extern "C" fn(Db),
        dbopen: unsafe extern "C" fn(Db, *const c_char, u32) -> i32,
        dbclose: unsafe extern "C" fn(Db) -> i32,
        dbecode: unsafe extern "C" fn(Db) -> i32,
        dbemsg: unsafe extern "C" fn(Db) -> *const c_char,
        dbset: PutBytes,
        dbadd: PutBytes,
        dbappend: PutBytes,
        dbincrint: unsafe extern "C" fn(Db, *const u8, usize, i64, i64) -> i64,
        dbcas: unsafe extern "C" fn(Db, *const u8, usize, *const u8, usize, *const u8, usize) -> i32,
        dbremove: unsafe extern "C" fn(Db, *const u8, usize) -> i32,
        dbgetbuf: unsafe extern "C" fn(Db, *const u8, usize, *mut u8, usize) -> i32,
        dbsync: unsafe extern "C" fn(Db, i32, *const c_void, *mut c_void) -> i32,
        dbbegintran: unsafe extern "C" fn(Db, i32) -> i32,
        dbendtran: unsafe extern "C" fn(Db, i32) -> i32,
        dbcount: unsafe extern "C" fn(Db) -> i64,
        dbstatus: unsafe extern "C" fn(Db) -> *mut c_char,
    }
}

/// The loaded library.
pub struct KyotoCabinet {
    functions: Functions,
    /// The version of the library, e.g. `1.2.79`.
    pub version: String,
}

impl KyotoCabinet {
    /// Takes the functions of the library.
    ///
    /// # Safety
    /// The library must be Kyoto Cabinet 1.2.
    pub unsafe fn load(library: &Library) -> Result<KyotoCabinet, String> {
        // SAFETY: as promised by the caller; `KCVERSION` is a pointer to a constant string with an end.
        unsafe {
            let functions = Functions::load(library, "kc").map_err(|error| error.to_string())?;
            let version = library.get::<*const *const c_char>(b"KCVERSION\0").map_err(|error| error.to_string())?;
            Ok(KyotoCabinet { functions, version: CStr::from_ptr(**version).to_string_lossy().into_owned() })
        }
    }
}

/// The moment from which a write is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transactions {
    /// No transactions: a write changes the file in place.
    Off,
    /// A transaction per write, so a kill leaves the old state or the new one.
    On,
    /// A transaction per write, with log and file flushed.
    Flushed,
}

/// An open database; its functions may be called from any thread.
pub struct Database {
    db: Db,
    library: &'static KyotoCabinet,
}

// SAFETY: the library locks for itself, and keeps its last error by thread.
unsafe impl Send for Database {}
// SAFETY: as above.
unsafe impl Sync for Database {}

impl Database {
    /// Opens or creates a database at a path, with parameters behind `#`.
    pub fn open(library: &'static KyotoCabinet, path: &[u8], mode: Transactions) -> Result<Database, Fault> {
        let path = CString::new(path)?;
        let mode = match mode {
            Transactions::Off => 0,
            Transactions::On => OPEN_AUTO_TRANSACTIONS,
            Transactions::Flushed => OPEN_AUTO_TRANSACTIONS | OPEN_AUTO_SYNC,
        };
        // SAFETY: makes an object, which `Database` deletes when dropped.
        let database = Database { db: unsafe { (library.functions.dbnew)() }, library };
        let mode = OPEN_WRITER | OPEN_CREATE | OPEN_TRY_LOCK | mode;
        // SAFETY: the object is alive and not yet open; the path ends with NUL.
        database.done(unsafe { (library.functions.dbopen)(database.db, path.as_ptr(), mode) })?;
        Ok(database)
    }

    /// Returns the library's version.
    pub fn version(&self) -> &str {
        &self.library.version
    }

    fn code(&self) -> i32 {
        // SAFETY: the object is alive.
        unsafe { (self.library.functions.dbecode)(self.db) }
    }

    #[cold]
    fn fault(&self) -> Fault {
        // SAFETY: every code has a constant message.
        let words = unsafe { CStr::from_ptr((self.library.functions.dbemsg)(self.db)) };
        Fault(words.to_string_lossy().into_owned())
    }

    fn done(&self, ok: i32) -> Result<(), Fault> {
        if ok != 0 { Ok(()) } else { Err(self.fault()) }
    }

    /// Returns whether the call succeeded; false when it failed for one of these reasons.
    fn done_unless(&self, ok: i32, reasons: &[i32]) -> Result<bool, Fault> {
        match ok != 0 {
            true => Ok(true),
            false if reasons.contains(&self.code()) => Ok(false),
            false => Err(self.fault()),
        }
    }

    /// Reads a value into a buffer, and returns whether there is one.
    pub fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, Fault> {
        into.clear();
        into.reserve(64);
        loop {
            let room = into.capacity();
            // SAFETY: the buffer has that much room; the library fills as much of it as the value has, and says how long the
            // value is.
            let bytes =
                unsafe { (self.library.functions.dbgetbuf)(self.db, key.as_ptr(), key.len(), into.as_mut_ptr(), room) };
            let Ok(bytes) = usize::try_from(bytes) else { return self.done_unless(0, &[NO_RECORD]) };
            if bytes <= room {
                // SAFETY: that many bytes were written.
                unsafe { into.set_len(bytes) };
                return Ok(true);
            }
            into.reserve(bytes);
        }
    }

    /// Stores a value.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        self.done(self.put_with(self.library.functions.dbset, key, value))
    }

    /// Stores a value only when there is none, and returns whether it was stored.
    pub fn put_absent(&self, key: &[u8], value: &[u8]) -> Result<bool, Fault> {
        self.done_unless(self.put_with(self.library.functions.dbadd, key, value), &[EXISTS])
    }

    /// Adds to the end of a value, or creates it.
    pub fn append(&self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        self.done(self.put_with(self.library.functions.dbappend, key, value))
    }

    fn put_with(&self, put: PutBytes, key: &[u8], value: &[u8]) -> i32 {
        // SAFETY: the database is open; pointers and lengths are of live slices.
        unsafe { put(self.db, key.as_ptr(), key.len(), start(value), value.len()) }
    }

    /// Replaces a value only when it is the expected one, and returns whether it was replaced.
    pub fn replace(&self, key: &[u8], expected: &[u8], value: &[u8]) -> Result<bool, Fault> {
        // SAFETY: the database is open; pointers and lengths are of live slices.
        let ok = unsafe {
            let (old, old_bytes) = (start(expected), expected.len());
            (self.library.functions.dbcas)(self.db, key.as_ptr(), key.len(), old, old_bytes, start(value), value.len())
        };
        self.done_unless(ok, &[NOT_AS_EXPECTED, NO_RECORD])
    }

    /// Removes a record, and returns whether there was one.
    pub fn delete(&self, key: &[u8]) -> Result<bool, Fault> {
        // SAFETY: the database is open; pointer and length are of a live slice.
        self.done_unless(unsafe { (self.library.functions.dbremove)(self.db, key.as_ptr(), key.len()) }, &[NO_RECORD])
    }

    /// Adds to a counter, or creates it; the sum wraps. Returns `None` when the library answers the least number: that is its sign of failure, and
    /// can be a sum as well.
    pub fn add(&self, key: &[u8], by: i64) -> Option<i64> {
        // SAFETY: the database is open; pointer and length are of a live slice.
        let sum = unsafe { (self.library.functions.dbincrint)(self.db, key.as_ptr(), key.len(), by, 0) };
        (sum != i64::MIN).then_some(sum)
    }

    /// Carries out writes as one transaction. Nobody else may write meanwhile: the caller makes sure of that.
    pub fn transaction<T>(&self, flushed: bool, writes: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
        // SAFETY: the database is open.
        self.done(unsafe { (self.library.functions.dbbegintran)(self.db, i32::from(flushed)) })?;
        let outcome = writes();
        // SAFETY: as above.
        self.done(unsafe { (self.library.functions.dbendtran)(self.db, i32::from(outcome.is_ok())) })?;
        outcome
    }

    /// Flushes the file.
    pub fn sync(&self) -> Result<(), Fault> {
        // SAFETY: the database is open; there is no callback.
        self.done(unsafe { (self.library.functions.dbsync)(self.db, 1, std::ptr::null(), std::ptr::null_mut()) })
    }

    /// Returns the number of records.
    pub fn records(&self) -> Result<u64, Fault> {
        // SAFETY: the database is open; -1 says that it failed.
        u64::try_from(unsafe { (self.library.functions.dbcount)(self.db) }).map_err(|_| self.fault())
    }

    /// Returns what the database reports, by name.
    pub fn status(&self) -> BTreeMap<String, String> {
        // SAFETY: the database is open; the text has an end, and is the caller's to free.
        let text = unsafe {
            let words = (self.library.functions.dbstatus)(self.db);
            if words.is_null() {
                return BTreeMap::new();
            }
            let text = CStr::from_ptr(words).to_string_lossy().into_owned();
            (self.library.functions.free)(words.cast());
            text
        };
        let lines = text.lines().filter_map(|line| line.split_once('\t'));
        lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: nobody else has the object any more. Closing one that could not be opened only says so.
        unsafe {
            (self.library.functions.dbclose)(self.db);
            (self.library.functions.dbdel)(self.db);
        }
    }
}

/// Returns the address of the bytes. Rust's empty slices may be at address 1, which tells the library to remove the record.
fn start(slice: &[u8]) -> *const u8 {
    if slice.is_empty() { c"".as_ptr().cast() } else { slice.as_ptr() }
}
