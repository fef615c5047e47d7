//! Append as a merge operator of RocksDB: pieces are put one behind the other.

use super::library::{Object, RocksDb};
use std::ffi::{c_char, c_int, c_void};

/// Makes the operator; the options that it is given to own it.
pub fn appending(rocks: &RocksDb) -> Object {
    // SAFETY: the functions below are what the interface asks for, and there is no state.
    unsafe { (rocks.mergeoperator_create)(std::ptr::null_mut(), no_state, full_merge, partial_merge, free_value, name) }
}

/// Returns the operator's name, which is kept in the files: a database can only be opened again with an operator of the same name.
unsafe extern "C" fn name(_: *mut c_void) -> *const c_char {
    c"kvtrial.append".as_ptr()
}

unsafe extern "C" fn no_state(_: *mut c_void) {}

/// # Safety
/// Called by RocksDB only, with what [`join`] returned.
unsafe extern "C" fn free_value(_: *mut c_void, value: *mut c_void, _: usize) {
    // SAFETY: `join` takes it from `malloc`.
    unsafe { libc::free(value) };
}

/// # Safety
/// Called by RocksDB only.
#[allow(clippy::too_many_arguments)] // as the interface has it
unsafe extern "C" fn full_merge(
    _: *mut c_void,
    _key: *const u8,
    _key_bytes: usize,
    old: *const u8,
    old_bytes: usize,
    pieces: *const *const u8,
    sizes: *const usize,
    count: c_int,
    ok: *mut u8,
    bytes: *mut usize,
) -> *mut u8 {
    // SAFETY: as the interface says; without an old value its pointer is null.
    unsafe { join((!old.is_null()).then_some((old, old_bytes)), pieces, sizes, count, ok, bytes) }
}

/// # Safety
/// Called by RocksDB only.
#[allow(clippy::too_many_arguments)] // as the interface has it
unsafe extern "C" fn partial_merge(
    _: *mut c_void,
    _key: *const u8,
    _key_bytes: usize,
    pieces: *const *const u8,
    sizes: *const usize,
    count: c_int,
    ok: *mut u8,
    bytes: *mut usize,
) -> *mut u8 {
    // SAFETY: as the interface says.
    unsafe { join(None, pieces, sizes, count, ok, bytes) }
}

/// # Safety
/// Pointers and sizes must be of live bytes; `ok` and `bytes` are written.
unsafe fn join(
    old: Option<(*const u8, usize)>,
    pieces: *const *const u8,
    sizes: *const usize,
    count: c_int,
    ok: *mut u8,
    bytes: *mut usize,
) -> *mut u8 {
    // SAFETY: as promised by the caller; the new region has room for all pieces, one byte more stands for an empty value.
    unsafe {
        let count = count.max(0) as usize;
        let all = || old.into_iter().chain((0..count).map(|at| (*pieces.add(at), *sizes.add(at))));
        let total: usize = all().map(|(_, size)| size).sum();
        let value = libc::malloc(total + 1).cast::<u8>();
        *ok = u8::from(!value.is_null());
        *bytes = 0;
        if value.is_null() {
            return value;
        }
        for (piece, size) in all() {
            std::ptr::copy_nonoverlapping(piece, value.add(*bytes), size);
            *bytes += size;
        }
        value
    }
}
