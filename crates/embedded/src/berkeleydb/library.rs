//! Berkeley DB's C interface. Its methods are pointers inside of its structs, so their places belong to one version: those below
//! are of db.h of 5.3.28 on 64-bit x86, and the library is asked for its version before they are used. The battery of tests proves
//! signatures and places by reading back.

use crate::shared::embedded::Fault;
use libloading::Library;
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};

/// A struct of the library: environment, database, transaction or cursor.
pub type Object = *mut c_void;

/// The version of the library in which the methods have these places.
const VERSION: (c_int, c_int, c_int) = (5, 3, 28);

/// The loaded library.
pub struct BerkeleyDb {
    env_create: unsafe extern "C" fn(*mut Object, u32) -> c_int,
    create: unsafe extern "C" fn(*mut Object, Object, u32) -> c_int,
    strerror: unsafe extern "C" fn(c_int) -> *const c_char,
    /// The version of the library, e.g. `5.3.28`.
    pub version: String,
}

impl BerkeleyDb {
    /// Takes the functions of the library.
    ///
    /// # Safety
    /// The library must be Berkeley DB.
    pub unsafe fn load(library: &Library) -> Result<BerkeleyDb, String> {
        // SAFETY: as promised by the caller; these four have had the same signatures in all versions.
        let (loaded, version) = unsafe {
            let words = |error: libloading::Error| error.to_string();
            let version = *library
                .get::<unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int) -> *const c_char>(b"db_version\0")
                .map_err(words)?;
            let (mut major, mut minor, mut patch) = (0, 0, 0);
            version(&raw mut major, &raw mut minor, &raw mut patch);
            let loaded = BerkeleyDb {
                env_create: *library.get(b"db_env_create\0").map_err(words)?,
                create: *library.get(b"db_create\0").map_err(words)?,
                strerror: *library.get(b"db_strerror\0").map_err(words)?,
                version: format!("{major}.{minor}.{patch}"),
            };
            (loaded, (major, minor, patch))
        };
        match version == VERSION && cfg!(target_arch = "x86_64") {
            true => Ok(loaded),
            false => Err(format!("it is Berkeley DB {}; this adapter knows 5.3.28 on 64-bit x86", loaded.version)),
        }
    }

    /// Returns the fault for a code that a method returned, in words.
    #[cold]
    pub fn fault(&self, code: c_int) -> Fault {
        // SAFETY: every code has a text with an end.
        let words = unsafe { CStr::from_ptr((self.strerror)(code)) }.to_string_lossy().into_owned();
        let said = SAID.take();
        Fault(if said.is_empty() { words } else { format!("{words} ({said})") })
    }

    /// Returns success, or the fault in words.
    pub fn done(&self, code: c_int) -> Result<(), Fault> {
        if code == 0 { Ok(()) } else { Err(self.fault(code)) }
    }

    /// Makes an environment.
    pub fn environment(&self) -> Result<Object, Fault> {
        let mut environment = std::ptr::null_mut();
        // SAFETY: makes an object, which the caller closes.
        self.done(unsafe { (self.env_create)(&raw mut environment, 0) })?;
        // SAFETY: the object is new; words for people go to `SAID` instead of standard error.
        unsafe { env::set_errcall(environment)(environment, said) };
        Ok(environment)
    }

    /// Makes a database of an environment.
    pub fn database(&self, environment: Object) -> Result<Object, Fault> {
        let mut database = std::ptr::null_mut();
        // SAFETY: makes an object of an open environment, which the caller closes.
        self.done(unsafe { (self.create)(&raw mut database, environment, 0) })?;
        Ok(database)
    }
}

thread_local! {
    /// The last words of the library for people, on this thread.
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
}

/// # Safety
/// Called by the library only, with a text that has an end.
unsafe extern "C" fn said(_: Object, _prefix: *const c_char, words: *const c_char) {
    // SAFETY: see above.
    let words = unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned();
    SAID.set(words);
}

/// The bytes as the library takes and gives them.
#[repr(C)]
pub struct Dbt {
    pub data: *mut c_void,
    pub size: u32,
    pub ulen: u32,
    pub dlen: u32,
    pub doff: u32,
    app_data: *mut c_void,
    pub flags: u32,
}

impl Dbt {
    const fn empty(flags: u32) -> Dbt {
        let none = std::ptr::null_mut();
        Dbt { data: none, size: 0, ulen: 0, dlen: 0, doff: 0, app_data: none, flags }
    }

    /// Makes a piece of bytes to read from; the library does not change them.
    pub fn of(slice: &[u8]) -> Result<Dbt, Fault> {
        let size = u32::try_from(slice.len()).map_err(|_| "Berkeley DB takes at most 4294967295 bytes")?;
        Ok(Dbt { data: slice.as_ptr().cast_mut().cast(), size, ulen: size, ..Dbt::empty(0) })
    }

    /// Makes a piece without any room: the library says how much it would need.
    pub fn measure() -> Dbt {
        Dbt::empty(DBT_USERMEM)
    }
}

/// A region of `malloc` that the library makes larger as it needs.
pub struct Region(pub Dbt);

impl Region {
    /// Makes a region without memory.
    pub const fn new() -> Region {
        Region(Dbt::empty(DBT_REALLOC))
    }

    /// Puts bytes into the region.
    pub fn set(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let size = u32::try_from(bytes.len())?;
        // SAFETY: the region is from `malloc` or there is none; it has that much room afterwards.
        unsafe {
            let data = libc::realloc(self.0.data, bytes.len().max(1));
            if data.is_null() {
                return Err(Fault("out of memory".into()));
            }
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast(), bytes.len());
            (self.0.data, self.0.size) = (data, size);
        }
        Ok(())
    }

    /// Returns the bytes that the library left in the region.
    pub fn bytes(&self) -> &[u8] {
        if self.0.size == 0 || self.0.data.is_null() {
            return &[];
        }
        // SAFETY: the library made it, with that many bytes.
        unsafe { std::slice::from_raw_parts(self.0.data.cast(), self.0.size as usize) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: from `malloc`, and nobody else has it.
        unsafe { libc::free(self.0.data) };
    }
}

const DBT_USERMEM: u32 = 0x800;
const DBT_REALLOC: u32 = 0x80;
pub const DBT_PARTIAL: u32 = 0x40;

pub const NOT_FOUND: c_int = -30988;
pub const BUFFER_SMALL: c_int = -30999;

pub const CREATE: u32 = 0x1;
pub const AUTO_COMMIT: u32 = 0x100;
pub const THREAD: u32 = 0x20;
/// The flags `DB_INIT_TXN`, `DB_INIT_LOG`, `DB_INIT_LOCK`, `DB_INIT_MPOOL`, `DB_RECOVER`, `DB_PRIVATE`: a transactional environment of this process,
/// recovered when it is opened.
pub const TRANSACTIONAL: u32 = 0x2000 | 0x200 | 0x100 | 0x400 | 0x2 | 0x10000;
pub const TXN_NOSYNC: u32 = 0x1;
pub const TXN_WRITE_NOSYNC: u32 = 0x20;
pub const LOG_AUTO_REMOVE: u32 = 0x1;
/// The rule that ends the transaction that has written least.
pub const LOCK_MINWRITE: u32 = 6;
/// The flag that takes locks for writing at once when something is read.
pub const RMW: u32 = 0x2000;
pub const FORCE: u32 = 0x1;
pub const BTREE: c_int = 1;
pub const HASH: c_int = 2;
pub const FIRST: u32 = 7;
pub const NEXT: u32 = 16;
pub const SET_RANGE: u32 = 27;
pub const FREE_SPACE: u32 = 0x2;

/// Declares functions that find a method by its place in a struct.
macro_rules! methods {
    ($(#[$doc:meta])* $module:ident { $($name:ident @ $offset:literal: fn($($argument:ty),*) $(-> $result:ty)?;)* }) => {
        $(#[$doc])*
        #[allow(missing_docs)] // as the library's own documentation has them
        pub mod $module {
            use super::{Dbt, Object};
            use std::ffi::{c_char, c_int, c_void};

            $(
                /// # Safety
                /// The object must be such a struct of Berkeley DB 5.3.28.
                pub unsafe fn $name(object: Object) -> unsafe extern "C" fn(Object, $($argument),*) $(-> $result)? {
                    // SAFETY: as promised by the caller, the pointer lies at this place.
                    unsafe { *object.cast::<u8>().add($offset).cast() }
                }
            )*

            /// So that every module uses what is imported.
            #[allow(dead_code)]
            type Imported = (Dbt, c_char, c_int, c_void);
        }
    };
}

methods! {
    /// `DB_ENV`.
    env {
        close @ 488: fn(u32) -> c_int;
        get_cachesize @ 576: fn(*mut u32, *mut u32, *mut c_int) -> c_int;
        get_flags @ 656: fn(*mut u32) -> c_int;
        log_set_config @ 1112: fn(u32, c_int) -> c_int;
        open @ 1328: fn(*const c_char, u32, c_int) -> c_int;
        set_cachesize @ 1632: fn(u32, u32, c_int) -> c_int;
        set_errcall @ 1688: fn(unsafe extern "C" fn(Object, *const c_char, *const c_char));
        set_flags @ 1728: fn(u32, c_int) -> c_int;
        set_lk_detect @ 1800: fn(u32) -> c_int;
        set_lk_max_lockers @ 1808: fn(u32) -> c_int;
        set_lk_max_locks @ 1816: fn(u32) -> c_int;
        set_lk_max_objects @ 1824: fn(u32) -> c_int;
        set_tx_max @ 2000: fn(u32) -> c_int;
        txn_begin @ 2040: fn(Object, *mut Object, u32) -> c_int;
        txn_checkpoint @ 2048: fn(u32, u32, u32) -> c_int;
    }
}

methods! {
    /// `DB`.
    db {
        close @ 568: fn(u32) -> c_int;
        compact @ 576: fn(Object, *mut Dbt, *mut Dbt, *mut c_void, u32, *mut Dbt) -> c_int;
        cursor @ 584: fn(Object, *mut Object, u32) -> c_int;
        del @ 592: fn(Object, *mut Dbt, u32) -> c_int;
        get @ 632: fn(Object, *mut Dbt, *mut Dbt, u32) -> c_int;
        get_h_ffactor @ 800: fn(*mut u32) -> c_int;
        get_pagesize @ 896: fn(*mut u32) -> c_int;
        open @ 1008: fn(Object, *const c_char, *const c_char, c_int, u32, c_int) -> c_int;
        put @ 1024: fn(Object, *mut Dbt, *mut Dbt, u32) -> c_int;
        set_h_ffactor @ 1176: fn(u32) -> c_int;
        set_pagesize @ 1248: fn(u32) -> c_int;
    }
}

methods! {
    /// `DBC`.
    cursor {
        close @ 352: fn() -> c_int;
        get @ 392: fn(*mut Dbt, *mut Dbt, u32) -> c_int;
    }
}

methods! {
    /// `DB_TXN`.
    txn {
        abort @ 232: fn() -> c_int;
        commit @ 240: fn(u32) -> c_int;
    }
}
