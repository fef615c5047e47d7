//! Tkrzw's C interface. Signatures are those of tkrzw_langc.h of version 1.0; the battery of tests proves them by reading back.

use crate::shared::dylib::functions;
use crate::shared::embedded::Fault;
use libloading::Library;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;

const NOT_FOUND: i32 = 7;
const NOT_AS_EXPECTED: i32 = 9;
const EXISTS: i32 = 10;

type Dbm = *mut c_void;
/// Gives the new value of a record, or the library's sign that nothing is to change: argument, key, its length, old value or
/// `NULL`, its length, where to put the length of the new one.
type Processor = unsafe extern "C" fn(*mut c_void, *const u8, i32, *const u8, i32, *mut i32) -> *const u8;

/// A record as the library takes and gives it.
#[repr(C)]
struct Pair {
    key: *const u8,
    key_bytes: i32,
    value: *const u8,
    value_bytes: i32,
}

functions! {
    /// The functions of the library.
    pub struct Functions {
        get_last_status_code: unsafe extern "C" fn() -> i32,
        get_last_status_message: unsafe extern "C" fn() -> *const c_char,
        free_str_map: unsafe extern "C" fn(*mut c_void, i32),
        dbm_open: unsafe extern "C" fn(*const c_char, bool, *const c_char) -> Dbm,
        dbm_close: unsafe extern "C" fn(Dbm) -> bool,
        dbm_get: unsafe extern "C" fn(Dbm, *const u8, i32, *mut i32) -> *mut u8,
        dbm_set: unsafe extern "C" fn(Dbm, *const u8, i32, *const u8, i32, bool) -> bool,
        dbm_set_multi: unsafe extern "C" fn(Dbm, *const c_void, i32, bool) -> bool,
        dbm_append: unsafe extern "C" fn(Dbm, *const u8, i32, *const u8, i32, *const u8, i32) -> bool,
        dbm_remove: unsafe extern "C" fn(Dbm, *const u8, i32) -> bool,
        dbm_compare_exchange: unsafe extern "C" fn(Dbm, *const u8, i32, *const u8, i32, *const u8, i32) -> bool,
        dbm_process: unsafe extern "C" fn(Dbm, *const u8, i32, Processor, *mut c_void, bool) -> bool,
        dbm_synchronize: unsafe extern "C" fn(Dbm, bool, *const c_void, *mut c_void, *const c_char) -> bool,
        dbm_rebuild: unsafe extern "C" fn(Dbm, *const c_char) -> bool,
        dbm_count: unsafe extern "C" fn(Dbm) -> i64,
        dbm_inspect: unsafe extern "C" fn(Dbm, *mut i32) -> *mut c_void,
    }
}

/// The loaded library.
pub struct Tkrzw {
    functions: Functions,
    /// The value that a processor returns to leave a record as it is.
    leave: usize,
    /// The version of the library, e.g. `1.0.25`.
    pub version: String,
}

impl Tkrzw {
    /// Takes the functions of the library.
    ///
    /// # Safety
    /// The library must be Tkrzw 1.0.
    pub unsafe fn load(library: &Library) -> Result<Tkrzw, String> {
        // SAFETY: as promised by the caller; both names are constant pointers, the version's to a string with an end.
        unsafe {
            let functions = Functions::load(library, "tkrzw_").map_err(|error| error.to_string())?;
            let constant = |name: &str| library.get::<*const *const c_char>(name).map(|pointer| **pointer);
            let version = constant("TKRZW_PACKAGE_VERSION").map_err(|error| error.to_string())?;
            let leave = constant("TKRZW_REC_PROC_NOOP").map_err(|error| error.to_string())? as usize;
            Ok(Tkrzw { functions, leave, version: CStr::from_ptr(version).to_string_lossy().into_owned() })
        }
    }
}

/// An open database; its functions may be called from any thread.
pub struct Database {
    dbm: Dbm,
    library: &'static Tkrzw,
}

// SAFETY: the library locks for itself, and keeps its last status by thread.
unsafe impl Send for Database {}
// SAFETY: as above.
unsafe impl Sync for Database {}

impl Database {
    /// Opens or creates a database, with parameters as the library has them.
    pub fn open(library: &'static Tkrzw, path: &Path, parameters: &str) -> Result<Database, Fault> {
        let path = CString::new(path.to_str().ok_or("Tkrzw takes only paths in UTF-8")?)?;
        let parameters = CString::new(parameters)?;
        // SAFETY: both texts have an end; the object is closed when dropped.
        let dbm = unsafe { (library.functions.dbm_open)(path.as_ptr(), true, parameters.as_ptr()) };
        let database = Database { dbm, library };
        if dbm.is_null() { Err(database.fault()) } else { Ok(database) }
    }

    /// Returns the library's version.
    pub fn version(&self) -> &str {
        &self.library.version
    }

    fn code(&self) -> i32 {
        // SAFETY: has no arguments; the status is the calling thread's.
        unsafe { (self.library.functions.get_last_status_code)() }
    }

    #[cold]
    fn fault(&self) -> Fault {
        // SAFETY: the message has an end, and lives until the thread's next call.
        let words = unsafe { CStr::from_ptr((self.library.functions.get_last_status_message)()) }.to_string_lossy();
        Fault(if words.is_empty() { format!("status {}", self.code()) } else { words.into_owned() })
    }

    fn done(&self, ok: bool) -> Result<(), Fault> {
        if ok { Ok(()) } else { Err(self.fault()) }
    }

    /// Returns whether the call succeeded; false when it failed for this reason.
    fn done_unless(&self, ok: bool, reason: i32) -> Result<bool, Fault> {
        match ok {
            true => Ok(true),
            false if self.code() == reason => Ok(false),
            false => Err(self.fault()),
        }
    }

    /// Reads a value into a buffer, and returns whether there is one.
    pub fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, Fault> {
        let (key, key_bytes) = bytes(key)?;
        let mut value_bytes = 0;
        into.clear();
        // SAFETY: the database is open; the value is a copy of that many bytes, freed once copied.
        unsafe {
            let value = (self.library.functions.dbm_get)(self.dbm, key, key_bytes, &raw mut value_bytes);
            if value.is_null() {
                return self.done_unless(false, NOT_FOUND);
            }
            into.extend_from_slice(std::slice::from_raw_parts(value, value_bytes.max(0) as usize));
            libc::free(value.cast());
        }
        Ok(true)
    }

    fn set(&self, key: &[u8], value: &[u8], overwrite: bool) -> Result<bool, Fault> {
        let ((key, key_bytes), (value, value_bytes)) = (bytes(key)?, bytes(value)?);
        // SAFETY: the database is open; pointers and lengths are of live slices.
        Ok(unsafe { (self.library.functions.dbm_set)(self.dbm, key, key_bytes, value, value_bytes, overwrite) })
    }

    /// Stores a value.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        self.done(self.set(key, value, true)?)
    }

    /// Stores a value only when there is none, and returns whether it was stored.
    pub fn put_absent(&self, key: &[u8], value: &[u8]) -> Result<bool, Fault> {
        self.done_unless(self.set(key, value, false)?, EXISTS)
    }

    /// Stores several values.
    pub fn put_many(&self, pairs: &[(&[u8], &[u8])]) -> Result<(), Fault> {
        let pair = |(key, value): &(&[u8], &[u8])| {
            let ((key, key_bytes), (value, value_bytes)) = (bytes(key)?, bytes(value)?);
            Ok(Pair { key, key_bytes, value, value_bytes })
        };
        let pairs: Vec<Pair> = pairs.iter().map(pair).collect::<Result<_, Fault>>()?;
        let count = i32::try_from(pairs.len())?;
        // SAFETY: the database is open; the pairs are of live slices.
        self.done(unsafe { (self.library.functions.dbm_set_multi)(self.dbm, pairs.as_ptr().cast(), count, true) })
    }

    /// Adds to the end of a value, or creates it.
    pub fn append(&self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let ((key, key_bytes), (value, value_bytes)) = (bytes(key)?, bytes(value)?);
        let none = b"".as_ptr();
        // SAFETY: the database is open; pointers and lengths are of live slices; nothing stands between the pieces.
        self.done(unsafe { (self.library.functions.dbm_append)(self.dbm, key, key_bytes, value, value_bytes, none, 0) })
    }

    /// Replaces a value only when it is the expected one, and returns whether it was replaced.
    pub fn replace(&self, key: &[u8], expected: &[u8], value: &[u8]) -> Result<bool, Fault> {
        let ((key, key_bytes), (value, value_bytes)) = (bytes(key)?, bytes(value)?);
        let (old, old_bytes) = bytes(expected)?;
        // SAFETY: the database is open; pointers and lengths are of live slices, so none is null, which would mean no record.
        let ok = unsafe {
            let exchange = self.library.functions.dbm_compare_exchange;
            exchange(self.dbm, key, key_bytes, old, old_bytes, value, value_bytes)
        };
        self.done_unless(ok, NOT_AS_EXPECTED)
    }

    /// Removes a record, and returns whether there was one.
    pub fn delete(&self, key: &[u8]) -> Result<bool, Fault> {
        let (key, key_bytes) = bytes(key)?;
        // SAFETY: the database is open; pointer and length are of a live slice.
        self.done_unless(unsafe { (self.library.functions.dbm_remove)(self.dbm, key, key_bytes) }, NOT_FOUND)
    }

    /// Adds to a counter of 8 bytes, big-endian, or creates it, and returns the sum.
    pub fn add(&self, key: &[u8], by: i64) -> Result<i64, Fault> {
        let (key, key_bytes) = bytes(key)?;
        let mut sum = Sum { by, leave: self.library.leave, after: Err("the record was not looked at"), stored: [0; 8] };
        // SAFETY: the database is open; the callback gets the address of `sum`, which lives until the call returns.
        let ok = unsafe {
            let sum = (&raw mut sum).cast();
            (self.library.functions.dbm_process)(self.dbm, key, key_bytes, add_to_counter, sum, true)
        };
        self.done(ok)?;
        sum.after.map_err(Fault::from)
    }

    /// Flushes the file.
    pub fn sync(&self) -> Result<(), Fault> {
        let none = std::ptr::null;
        // SAFETY: the database is open; there is no callback.
        self.done(unsafe {
            (self.library.functions.dbm_synchronize)(self.dbm, true, none(), std::ptr::null_mut(), c"".as_ptr())
        })
    }

    /// Rewrites the file without deleted or replaced records.
    pub fn rebuild(&self) -> Result<(), Fault> {
        // SAFETY: the database is open; no parameters leave everything as it is.
        self.done(unsafe { (self.library.functions.dbm_rebuild)(self.dbm, c"".as_ptr()) })
    }

    /// Returns the number of records.
    pub fn records(&self) -> Result<u64, Fault> {
        // SAFETY: the database is open; -1 says that it failed.
        u64::try_from(unsafe { (self.library.functions.dbm_count)(self.dbm) }).map_err(|_| self.fault())
    }

    /// Returns what the database reports, by name.
    pub fn inspect(&self) -> BTreeMap<String, String> {
        let mut count = 0;
        // SAFETY: the database is open; there are `count` pairs, freed once copied.
        unsafe {
            let map = (self.library.functions.dbm_inspect)(self.dbm, &raw mut count);
            if map.is_null() {
                return BTreeMap::new();
            }
            let text = |pointer: *const u8, bytes: i32| {
                String::from_utf8_lossy(std::slice::from_raw_parts(pointer, bytes.max(0) as usize)).into_owned()
            };
            let pairs = std::slice::from_raw_parts(map.cast::<Pair>(), count.max(0) as usize);
            let known =
                pairs.iter().map(|pair| (text(pair.key, pair.key_bytes), text(pair.value, pair.value_bytes))).collect();
            (self.library.functions.free_str_map)(map, count);
            known
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if !self.dbm.is_null() {
            // SAFETY: nobody else has the object any more.
            unsafe { (self.library.functions.dbm_close)(self.dbm) };
        }
    }
}

struct Sum {
    by: i64,
    leave: usize,
    after: Result<i64, &'static str>,
    stored: [u8; 8],
}

/// Gives the sum of a counter and what is to be added; leaves a record that is no counter, or would leave the range, as it is.
///
/// # Safety
/// Called by `tkrzw_dbm_process` only, with the record's value and the address of a [`Sum`].
unsafe extern "C" fn add_to_counter(
    sum: *mut c_void,
    _key: *const u8,
    _key_bytes: i32,
    old: *const u8,
    old_bytes: i32,
    new_bytes: *mut i32,
) -> *const u8 {
    // SAFETY: see above. The new value lies in the sum, and is copied by the library before the call returns.
    unsafe {
        let sum = &mut *sum.cast::<Sum>();
        let before = match old.is_null() {
            true => Ok(0),
            false => std::slice::from_raw_parts(old, old_bytes.max(0) as usize)
                .try_into()
                .map(i64::from_be_bytes)
                .map_err(|_| "the value is not a counter of 8 bytes"),
        };
        sum.after = before.and_then(|before| {
            before.checked_add(sum.by).ok_or("the counter would leave the range of 64-bit integers")
        });
        let Ok(after) = sum.after else { return sum.leave as *const u8 };
        sum.stored = after.to_be_bytes();
        *new_bytes = sum.stored.len() as i32;
        sum.stored.as_ptr()
    }
}

/// Returns a slice as C takes it.
fn bytes(slice: &[u8]) -> Result<(*const u8, i32), Fault> {
    let length = i32::try_from(slice.len()).map_err(|_| "Tkrzw takes at most 2147483647 bytes")?;
    Ok((slice.as_ptr(), length))
}
