//! The types of kvtrial.h, version 1, for Rust. What each means, who owns which memory and which thread calls what: see kvtrial.h.

#![allow(dead_code)] // a plugin needs some of them

use std::ffi::{c_char, c_int, c_void};

/// The version of kvtrial.h.
pub const ABI: u32 = 1;

/// It is done.
pub const OK: c_int = 0;
/// There is no such key.
pub const MISSING: c_int = 1;
/// The store said no, and nothing happened.
pub const REFUSED: c_int = 2;
/// The operation failed, and may have happened.
pub const FAILED: c_int = 3;

/// The levels of durability, weakest first.
pub const LEVELS: [u32; 4] = [1, 2, 4, 8];

/// The room for words on a failure, with the zero at the end.
pub const WHY: usize = 256;

/// Any bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Bytes {
    pub data: *const c_void,
    pub len: usize,
}

impl Bytes {
    /// Returns bytes as C has them.
    pub fn of(bytes: &[u8]) -> Bytes {
        Bytes { data: bytes.as_ptr().cast(), len: bytes.len() }
    }

    /// Returns the bytes as Rust has them.
    ///
    /// # Safety
    /// The data must be there, unchanged, for all of this lifetime.
    pub unsafe fn slice<'a>(self) -> &'a [u8] {
        // SAFETY: as promised by the caller; of no bytes the pointer may be anything.
        if self.len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(self.data.cast(), self.len) } }
    }
}

/// A key and its value.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub key: Bytes,
    pub value: Bytes,
}

/// An option the store takes.
#[repr(C)]
pub(super) struct Opt {
    pub name: *const c_char,
    pub help: *const c_char,
    pub usual: *const c_char,
}

/// An option as the user gave it.
#[repr(C)]
pub(super) struct Setting {
    pub name: *const c_char,
    pub value: *const c_char,
}

/// How to open the store.
#[repr(C)]
pub(super) struct Config {
    pub directory: *const c_char,
    pub level: u32,
    pub settings_len: u32,
    pub settings: *const Setting,
}

/// Takes a row of a scan.
pub(super) type Row = unsafe extern "C" fn(to: *mut c_void, key: Bytes, value: Bytes) -> c_int;

/// Opens a store.
pub(super) type Open = unsafe extern "C" fn(config: *const Config, store: *mut *mut c_void, why: *mut c_char) -> c_int;
/// Begins a session of a store.
pub(super) type Begin = unsafe extern "C" fn(store: *mut c_void, session: *mut *mut c_void, why: *mut c_char) -> c_int;
/// Closes a store, or ends a session.
pub(super) type Close = unsafe extern "C" fn(*mut c_void);
/// Reads a value.
pub(super) type Get = unsafe extern "C" fn(session: *mut c_void, key: Bytes, value: *mut Bytes) -> c_int;
/// Stores a value, or appends one.
pub(super) type Put = unsafe extern "C" fn(session: *mut c_void, key: Bytes, value: Bytes) -> c_int;
/// Removes a key.
pub(super) type Del = unsafe extern "C" fn(session: *mut c_void, key: Bytes) -> c_int;
/// Returns the words on the last failure.
pub(super) type Words = unsafe extern "C" fn(session: *mut c_void) -> *const c_char;
/// Hands pairs to a function.
pub(super) type Scan = unsafe extern "C" fn(*mut c_void, start: Bytes, limit: u32, row: Row, to: *mut c_void) -> c_int;
/// Stores several pairs.
pub(super) type Batch = unsafe extern "C" fn(session: *mut c_void, pairs: *const Pair, count: usize) -> c_int;
/// Makes everything durable.
pub(super) type Flush = unsafe extern "C" fn(store: *mut c_void) -> c_int;
/// Counts the keys.
pub(super) type Count = unsafe extern "C" fn(store: *mut c_void, keys: *mut u64) -> c_int;

/// The table that `kvtrial_plugin(abi: u32) -> *const Table` returns. From `error` on all are optional.
#[repr(C)]
pub(super) struct Table {
    pub abi: u32,
    pub levels: u32,
    pub name: *const c_char,
    pub version: *const c_char,
    pub options: *const Opt,
    pub max_key_bytes: u64,
    pub max_value_bytes: u64,
    pub open: Option<Open>,
    pub close: Option<Close>,
    pub session: Option<Begin>,
    pub end: Option<Close>,
    pub get: Option<Get>,
    pub put: Option<Put>,
    pub del: Option<Del>,
    pub error: Option<Words>,
    pub append: Option<Put>,
    pub scan: Option<Scan>,
    pub batch: Option<Batch>,
    pub sync: Option<Flush>,
    pub count: Option<Count>,
}

// SAFETY: a table is read only, and stays as it is to the end of the process.
unsafe impl std::marker::Sync for Table {}
