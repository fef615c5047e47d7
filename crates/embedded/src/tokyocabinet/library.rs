//! Tokyo Cabinet's hash database, from the shared library of the system. Signatures are those of tchdb.h of version 1.4; the
//! battery of tests proves them by reading back.

use crate::shared::dylib::functions;
use crate::shared::embedded::Fault;
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const OPEN_WRITER: c_int = 1 << 1;
const OPEN_CREATE: c_int = 1 << 2;

/// Files over 2 GiB (`HDBTLARGE`).
const TUNE_LARGE: u8 = 1 << 0;
/// Leaves the options as they are (`UINT8_MAX`).
const TUNE_SAME: u8 = u8::MAX;
/// Leaves alignment and free block pool as they are by default.
const TUNE_DEFAULT: i8 = -1;

const RECORD_EXISTS: c_int = 21;
const NO_RECORD: c_int = 22;

type Hdb = *mut c_void;
type Bytes = *const c_void;
type PutBytes = unsafe extern "C" fn(Hdb, Bytes, c_int, Bytes, c_int) -> bool;
type Plain = unsafe extern "C" fn(Hdb) -> bool;
/// Makes the new value (from `malloc`) out of the old one, or `NULL` to leave it.
type Change = unsafe extern "C" fn(Bytes, c_int, *mut c_int, *mut c_void) -> *mut c_void;

functions! {
    /// The functions of the library's hash database.
    pub struct Functions {
    new: unsafe extern "C" fn() -> Hdb,
    del: unsafe extern "C" fn(Hdb),
    ecode: unsafe extern "C" fn(Hdb) -> c_int,
    errmsg: unsafe extern "C" fn(c_int) -> *const c_char,
    setmutex: Plain,
    tune: unsafe extern "C" fn(Hdb, i64, i8, i8, u8) -> bool,
    open: unsafe extern "C" fn(Hdb, *const c_char, c_int) -> bool,
    close: Plain,
    put: PutBytes,
    putkeep: PutBytes,
    putcat: PutBytes,
    putproc: unsafe extern "C" fn(Hdb, Bytes, c_int, Bytes, c_int, Change, *mut c_void) -> bool,
    out: unsafe extern "C" fn(Hdb, Bytes, c_int) -> bool,
    get3: unsafe extern "C" fn(Hdb, Bytes, c_int, *mut c_void, c_int) -> c_int,
    addint: unsafe extern "C" fn(Hdb, Bytes, c_int, c_int) -> c_int,
    sync: Plain,
    tranbegin: Plain,
    trancommit: Plain,
    tranabort: Plain,
    rnum: unsafe extern "C" fn(Hdb) -> u64,
    bnum: unsafe extern "C" fn(Hdb) -> u64,
    optimize: unsafe extern "C" fn(Hdb, i64, i8, i8, u8) -> bool,
}
}

/// The loaded library.
pub struct TokyoCabinet {
    functions: Functions,
    /// The version of the library, e.g. `1.4.48`.
    pub version: String,
}

impl TokyoCabinet {
    /// Takes the functions of the library.
    ///
    /// # Safety
    /// The library must be Tokyo Cabinet 1.4.
    pub unsafe fn load(library: &Library) -> Result<TokyoCabinet, String> {
        // SAFETY: as promised by the caller; `tcversion` is a pointer to a constant string with an end.
        unsafe {
            let functions = Functions::load(library, "tchdb").map_err(|error| error.to_string())?;
            let version = library.get::<*const *const c_char>(b"tcversion\0").map_err(|error| error.to_string())?;
            Ok(TokyoCabinet { functions, version: CStr::from_ptr(**version).to_string_lossy().into_owned() })
        }
    }
}

/// The moment from which a write is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transactions {
    /// No transactions: a write changes the file in place.
    Off,
    /// A transaction per write: the change is logged first, so a kill leaves the old state or the new one.
    On,
}

/// An open database; its functions may be called from any thread.
pub struct Database {
    hdb: Hdb,
    library: &'static TokyoCabinet,
}

// SAFETY: `tchdbsetmutex` was called before opening, after which the library locks for itself.
unsafe impl Send for Database {}
// SAFETY: as above.
unsafe impl Sync for Database {}

impl Database {
    /// Opens or creates a file, which gets this number of buckets when it is new.
    pub fn open(library: &'static TokyoCabinet, path: &Path, buckets: u64) -> Result<Database, Fault> {
        let path = CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: makes an object, which `Database` deletes when dropped.
        let hdb = unsafe { (library.functions.new)() };
        if hdb.is_null() {
            return Err(Fault("out of memory".into()));
        }
        let database = Database { hdb, library };
        let functions = &database.library.functions;
        // SAFETY: the object is alive and not yet open; the path ends with NUL.
        let opened = unsafe {
            (functions.setmutex)(hdb)
                && (functions.tune)(
                    hdb,
                    i64::try_from(buckets).unwrap_or(i64::MAX),
                    TUNE_DEFAULT,
                    TUNE_DEFAULT,
                    TUNE_LARGE,
                )
                && (functions.open)(hdb, path.as_ptr(), OPEN_WRITER | OPEN_CREATE)
        };
        if opened { Ok(database) } else { Err(database.fault()) }
    }

    /// Returns the library's version.
    pub fn version(&self) -> &str {
        &self.library.version
    }

    /// Returns the number of records.
    pub fn records(&self) -> u64 {
        // SAFETY: the database is open.
        unsafe { (self.library.functions.rnum)(self.hdb) }
    }

    /// Returns the number of buckets of the database.
    pub fn buckets(&self) -> u64 {
        // SAFETY: the database is open.
        unsafe { (self.library.functions.bnum)(self.hdb) }
    }

    /// Rewrites the file with as many buckets as now, without deleted or moved records.
    pub fn optimize(&self) -> Result<(), Fault> {
        let buckets = i64::try_from(self.buckets()).unwrap_or(i64::MAX);
        // SAFETY: the database is open, and the library locks for itself.
        self.done(unsafe {
            (self.library.functions.optimize)(self.hdb, buckets, TUNE_DEFAULT, TUNE_DEFAULT, TUNE_SAME)
        })
    }

    fn code(&self) -> c_int {
        // SAFETY: the object is alive. The code is kept by thread.
        unsafe { (self.library.functions.ecode)(self.hdb) }
    }

    #[cold]
    fn fault(&self) -> Fault {
        // SAFETY: every code has a constant message.
        let words = unsafe { CStr::from_ptr((self.library.functions.errmsg)(self.code())) };
        Fault(words.to_string_lossy().into_owned())
    }

    fn done(&self, ok: bool) -> Result<(), Fault> {
        if ok { Ok(()) } else { Err(self.fault()) }
    }

    /// Returns whether the call succeeded; false when it failed for one of these reasons.
    fn done_unless(&self, ok: bool, reasons: &[c_int]) -> Result<bool, Fault> {
        match ok {
            true => Ok(true),
            false if reasons.contains(&self.code()) => Ok(false),
            false => Err(self.fault()),
        }
    }

    /// Reads a value into a buffer, and returns whether there is one.
    pub fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, Fault> {
        let (key, key_bytes) = bytes(key)?;
        loop {
            into.clear();
            into.reserve(64);
            let room = into.capacity().min(c_int::MAX as usize);
            // SAFETY: the buffer has that much room, and the library says how much of it it filled.
            let read = unsafe {
                (self.library.functions.get3)(self.hdb, key, key_bytes, into.as_mut_ptr().cast(), room as c_int)
            };
            let Ok(read) = usize::try_from(read) else {
                return self.done_unless(false, &[NO_RECORD]);
            };
            // SAFETY: that many bytes were written.
            unsafe { into.set_len(read) };
            // A value that fills the buffer may have been cut.
            if read < room {
                return Ok(true);
            }
            into.reserve(2 * room);
        }
    }

    /// Stores a value.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        self.done(self.put_with(self.library.functions.put, key, value)?)
    }

    /// Stores a value only when there is none, and returns whether it was stored.
    pub fn put_absent(&self, key: &[u8], value: &[u8]) -> Result<bool, Fault> {
        self.done_unless(self.put_with(self.library.functions.putkeep, key, value)?, &[RECORD_EXISTS])
    }

    /// Adds to the end of a value, or creates it.
    pub fn append(&self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        self.done(self.put_with(self.library.functions.putcat, key, value)?)
    }

    fn put_with(&self, put: PutBytes, key: &[u8], value: &[u8]) -> Result<bool, Fault> {
        let ((key, key_bytes), (value, value_bytes)) = (bytes(key)?, bytes(value)?);
        // SAFETY: the database is open; pointers and lengths are of live slices.
        Ok(unsafe { put(self.hdb, key, key_bytes, value, value_bytes) })
    }

    /// Replaces a value only when it is the expected one, and returns whether it was replaced.
    pub fn replace(&self, key: &[u8], expected: &[u8], value: &[u8]) -> Result<bool, Fault> {
        let (key, key_bytes) = bytes(key)?;
        bytes(value)?;
        let mut exchange = Exchange { expected, value };
        // SAFETY: the callback gets the address of `exchange`, which lives until the call returns; without a value of its own
        // the call does nothing when there is no record.
        let ok = unsafe {
            let exchange = (&raw mut exchange).cast();
            (self.library.functions.putproc)(self.hdb, key, key_bytes, std::ptr::null(), 0, exchange_if_equal, exchange)
        };
        self.done_unless(ok, &[NO_RECORD, RECORD_EXISTS])
    }

    /// Removes a record, and returns whether there was one.
    pub fn delete(&self, key: &[u8]) -> Result<bool, Fault> {
        let (key, key_bytes) = bytes(key)?;
        // SAFETY: the database is open; pointer and length are of a live slice.
        let ok = unsafe { (self.library.functions.out)(self.hdb, key, key_bytes) };
        self.done_unless(ok, &[NO_RECORD])
    }

    /// Adds to a 32-bit counter, or creates it; the sum wraps. Returns `None` when the library answers `INT_MIN`: that is its sign of failure, and
    /// can be a sum as well.
    pub fn add(&self, key: &[u8], by: i32) -> Result<Option<i32>, Fault> {
        let (key, key_bytes) = bytes(key)?;
        // SAFETY: the database is open; pointer and length are of a live slice.
        let sum = unsafe { (self.library.functions.addint)(self.hdb, key, key_bytes, by) };
        Ok((sum != c_int::MIN).then_some(sum))
    }

    /// Begins a transaction. Only one may be open at a time: the caller makes sure of that.
    pub fn begin(&self) -> Result<(), Fault> {
        // SAFETY: the database is open.
        self.done(unsafe { (self.library.functions.tranbegin)(self.hdb) })
    }

    /// Commits a transaction.
    pub fn commit(&self) -> Result<(), Fault> {
        // SAFETY: the database is open.
        self.done(unsafe { (self.library.functions.trancommit)(self.hdb) })
    }

    /// Takes a transaction back.
    pub fn abort(&self) -> Result<(), Fault> {
        // SAFETY: the database is open.
        self.done(unsafe { (self.library.functions.tranabort)(self.hdb) })
    }

    /// Flushes the file.
    pub fn sync(&self) -> Result<(), Fault> {
        // SAFETY: the database is open.
        self.done(unsafe { (self.library.functions.sync)(self.hdb) })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: nobody else has the object any more. Closing one that could not be opened only says so.
        unsafe {
            (self.library.functions.close)(self.hdb);
            (self.library.functions.del)(self.hdb);
        }
    }
}

struct Exchange<'a> {
    expected: &'a [u8],
    value: &'a [u8],
}

/// Gives the new value when the old one is as expected.
///
/// # Safety
/// Called by `tchdbputproc` only, with the record's value and the address of an [`Exchange`].
unsafe extern "C" fn exchange_if_equal(
    old: Bytes,
    old_bytes: c_int,
    new_bytes: *mut c_int,
    exchange: *mut c_void,
) -> *mut c_void {
    // SAFETY: see above. The library frees what is returned; a region of one byte stands for an empty value.
    unsafe {
        let exchange = &*exchange.cast::<Exchange<'_>>();
        let old = std::slice::from_raw_parts(old.cast::<u8>(), old_bytes.max(0) as usize);
        if old != exchange.expected {
            return std::ptr::null_mut();
        }
        let value = libc::malloc(exchange.value.len().max(1));
        if !value.is_null() {
            std::ptr::copy_nonoverlapping(exchange.value.as_ptr(), value.cast(), exchange.value.len());
            *new_bytes = exchange.value.len() as c_int;
        }
        value
    }
}

/// Returns a slice as C takes it.
fn bytes(slice: &[u8]) -> Result<(Bytes, c_int), Fault> {
    let length = c_int::try_from(slice.len()).map_err(|_| "Tokyo Cabinet takes at most 2147483647 bytes")?;
    Ok((slice.as_ptr().cast(), length))
}
