//! The C interface of LevelDB (`leveldb/c.h`), which RocksDB has taken over (`rocksdb/c.h`) and extended. Its functions are the
//! same but for the prefix of their names; the battery of tests proves the signatures by reading back.

use crate::shared::dylib::functions;
use crate::shared::embedded::Fault;
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_void};

/// An object of the library, of any kind.
pub type Object = *mut c_void;
/// The place where a function puts its error, in words from `malloc`.
type Trouble = *mut *mut c_char;

functions! {
    /// The functions that both products have.
    pub struct Functions {
        open: unsafe extern "C" fn(Object, *const c_char, Trouble) -> Object,
        close: unsafe extern "C" fn(Object),
        get: unsafe extern "C" fn(Object, Object, *const u8, usize, *mut usize, Trouble) -> *mut u8,
        put: unsafe extern "C" fn(Object, Object, *const u8, usize, *const u8, usize, Trouble),
        write: unsafe extern "C" fn(Object, Object, Object, Trouble),
        create_iterator: unsafe extern "C" fn(Object, Object) -> Object,
        iter_destroy: unsafe extern "C" fn(Object),
        iter_seek: unsafe extern "C" fn(Object, *const u8, usize),
        iter_valid: unsafe extern "C" fn(Object) -> u8,
        iter_next: unsafe extern "C" fn(Object),
        iter_key: unsafe extern "C" fn(Object, *mut usize) -> *const u8,
        iter_value: unsafe extern "C" fn(Object, *mut usize) -> *const u8,
        iter_get_error: unsafe extern "C" fn(Object, Trouble),
        writebatch_create: unsafe extern "C" fn() -> Object,
        writebatch_destroy: unsafe extern "C" fn(Object),
        writebatch_put: unsafe extern "C" fn(Object, *const u8, usize, *const u8, usize),
        writebatch_delete: unsafe extern "C" fn(Object, *const u8, usize),
        compact_range: unsafe extern "C" fn(Object, *const u8, usize, *const u8, usize),
        property_value: unsafe extern "C" fn(Object, *const c_char) -> *mut c_char,
        options_create: unsafe extern "C" fn() -> Object,
        options_destroy: unsafe extern "C" fn(Object),
        options_set_create_if_missing: unsafe extern "C" fn(Object, u8),
        options_set_write_buffer_size: unsafe extern "C" fn(Object, usize),
        options_set_compression: unsafe extern "C" fn(Object, c_int),
        readoptions_create: unsafe extern "C" fn() -> Object,
        readoptions_destroy: unsafe extern "C" fn(Object),
        writeoptions_create: unsafe extern "C" fn() -> Object,
        writeoptions_destroy: unsafe extern "C" fn(Object),
        writeoptions_set_sync: unsafe extern "C" fn(Object, u8),
        cache_create_lru: unsafe extern "C" fn(usize) -> Object,
        cache_destroy: unsafe extern "C" fn(Object),
        free: unsafe extern "C" fn(*mut c_void),
    }
}

functions! {
    /// The functions that only LevelDB has.
    pub struct LevelDb {
        major_version: unsafe extern "C" fn() -> c_int,
        minor_version: unsafe extern "C" fn() -> c_int,
        options_set_cache: unsafe extern "C" fn(Object, Object),
    }
}

/// The function that makes one value of the old one and all that was added to it. It takes: state, key, its length, the old value or `NULL`, its
/// length, pieces, their lengths, the number of pieces; then where to put whether the merge succeeded, and the length of the returned value.
pub type FullMerge = unsafe extern "C" fn(
    *mut c_void,
    *const u8,
    usize,
    *const u8,
    usize,
    *const *const u8,
    *const usize,
    c_int,
    *mut u8,
    *mut usize,
) -> *mut u8;
/// The function that does the same without an old value.
pub type PartialMerge = unsafe extern "C" fn(
    *mut c_void,
    *const u8,
    usize,
    *const *const u8,
    *const usize,
    c_int,
    *mut u8,
    *mut usize,
) -> *mut u8;

functions! {
    /// The functions that only RocksDB has.
    pub struct RocksDb {
        get_pinned: unsafe extern "C" fn(Object, Object, *const u8, usize, Trouble) -> Object,
        pinnableslice_value: unsafe extern "C" fn(Object, *mut usize) -> *const u8,
        pinnableslice_destroy: unsafe extern "C" fn(Object),
        merge: unsafe extern "C" fn(Object, Object, *const u8, usize, *const u8, usize, Trouble),
        mergeoperator_create: unsafe extern "C" fn(
            *mut c_void,
            unsafe extern "C" fn(*mut c_void),
            FullMerge,
            PartialMerge,
            unsafe extern "C" fn(*mut c_void, *mut c_void, usize),
            unsafe extern "C" fn(*mut c_void) -> *const c_char,
        ) -> Object,
        options_set_merge_operator: unsafe extern "C" fn(Object, Object),
        writeoptions_disable_WAL: unsafe extern "C" fn(Object, c_int),
        block_based_options_create: unsafe extern "C" fn() -> Object,
        block_based_options_destroy: unsafe extern "C" fn(Object),
        block_based_options_set_block_cache: unsafe extern "C" fn(Object, Object),
        options_set_block_based_table_factory: unsafe extern "C" fn(Object, Object),
    }
}

/// The product: LevelDB or RocksDB, with the functions that only it has.
pub enum LogStructuredKind {
    /// LevelDB.
    Level(LevelDb),
    /// RocksDB.
    Rocks(RocksDb),
}

/// The loaded library.
pub struct Api {
    /// The functions that both products have.
    pub functions: Functions,
    /// The functions that only this product has.
    pub kind: LogStructuredKind,
    /// The version that the library reports.
    pub version: String,
}

impl Api {
    /// Takes the functions of LevelDB.
    ///
    /// # Safety
    /// The library must be LevelDB 1.20 or later.
    pub unsafe fn leveldb(library: &Library) -> Result<Api, String> {
        // SAFETY: as promised by the caller; the version functions take and change nothing.
        unsafe {
            let functions = Functions::load(library, "leveldb_").map_err(|error| error.to_string())?;
            let level = LevelDb::load(library, "leveldb_").map_err(|error| error.to_string())?;
            let version = format!("{}.{}", (level.major_version)(), (level.minor_version)());
            Ok(Api { functions, kind: LogStructuredKind::Level(level), version })
        }
    }

    /// Takes the functions of RocksDB.
    ///
    /// # Safety
    /// The library must be RocksDB 6 or later.
    pub unsafe fn rocksdb(library: &Library) -> Result<Api, String> {
        // SAFETY: as promised by the caller.
        unsafe {
            let functions = Functions::load(library, "rocksdb_").map_err(|error| error.to_string())?;
            let rocks = RocksDb::load(library, "rocksdb_").map_err(|error| error.to_string())?;
            let version = rocksdb_version(library).unwrap_or_else(|| "of unknown version".into());
            Ok(Api { functions, kind: LogStructuredKind::Rocks(rocks), version })
        }
    }

    /// Carries out a call that may report an error in words.
    pub fn tried<T>(&self, call: impl FnOnce(Trouble) -> T) -> Result<T, Fault> {
        let mut trouble = std::ptr::null_mut();
        let result = call(&raw mut trouble);
        if trouble.is_null() { Ok(result) } else { Err(Fault(self.take_text(trouble))) }
    }

    /// Takes over words of the library; empty when there are none.
    #[cold]
    fn take_text(&self, words: *mut c_char) -> String {
        if words.is_null() {
            return String::new();
        }
        // SAFETY: the library gives strings with an end, from `malloc`, which are the caller's to free.
        unsafe {
            let text = CStr::from_ptr(words).to_string_lossy().into_owned();
            (self.functions.free)(words.cast());
            text
        }
    }

    /// Returns a property of an open database; empty when there is none of that name.
    pub fn property(&self, database: Object, name: &str) -> String {
        let Ok(name) = CString::new(name) else { return String::new() };
        // SAFETY: the database is open, the name has an end.
        self.take_text(unsafe { (self.functions.property_value)(database, name.as_ptr()) })
    }
}

/// `std::string` of the GNU C++ library.
#[repr(C)]
struct CxxString {
    text: *const u8,
    bytes: usize,
    short: [u8; 16],
}

/// Returns the version of RocksDB. The C interface has none; this calls `rocksdb::GetRocksVersionAsString(bool)`.
///
/// # Safety
/// The library must be RocksDB.
unsafe fn rocksdb_version(library: &Library) -> Option<String> {
    // SAFETY: the name includes the parameters and the kind of string that is returned; a string is returned like any large
    // struct.
    let string = unsafe {
        let function = library
            .get::<unsafe extern "C" fn(bool) -> CxxString>(b"_ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb\0")
            .ok()?;
        function(true)
    };
    let text = match string.short.get(..string.bytes) {
        Some(text) if string.bytes < 16 => text,
        // SAFETY: a longer text lies on the heap, and is left there.
        _ => unsafe { std::slice::from_raw_parts(string.text, string.bytes) },
    };
    Some(String::from_utf8_lossy(text).into_owned())
}
