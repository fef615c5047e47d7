//! mystore: a store of your own for kvtrial. A hash map in shards to begin with, each behind a lock.
//!
//! Build: rustc --edition 2024 --crate-type cdylib -O -o mystore.so mystore.rs
//! Check: kvtrial check plugin:./mystore.so
//! Run:   kvtrial run ycsb -s plugin:./mystore.so -s ram

mod kvtrial; // kvtrial.h, in Rust

use kvtrial::{ABI, Bytes, Config, LEVELS, MISSING, OK, Table};
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void};
use std::hash::{BuildHasher, RandomState};
use std::ptr::null;
use std::sync::{Mutex, MutexGuard};

const SHARDS: usize = 256;

type Map = HashMap<Vec<u8>, Vec<u8>>;

struct Store {
    hasher: RandomState,
    shards: Vec<Mutex<Map>>,
}

impl Store {
    fn shard(&self, key: &[u8]) -> MutexGuard<'_, Map> {
        let shard = self.hasher.hash_one(key) as usize % self.shards.len();
        self.shards[shard].lock().unwrap()
    }
}

/// A client's session: kvtrial reads values here until the next call.
struct Client {
    store: *const Store,
    value: Vec<u8>,
}

/// Returns the client and the shard of a key.
unsafe fn at<'a>(session: *mut c_void, key: Bytes) -> (&'a mut Vec<u8>, MutexGuard<'a, Map>, &'a [u8]) {
    // SAFETY: kvtrial hands over what `begin` gave it, from one thread; the store outlives its sessions, and the key the call.
    let (client, key) = unsafe { (&mut *session.cast::<Client>(), key.slice()) };
    (&mut client.value, unsafe { &*client.store }.shard(key), key)
}

unsafe extern "C" fn open(_config: *const Config, opened: *mut *mut c_void, _why: *mut c_char) -> c_int {
    let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
    let store = Store { hasher: RandomState::new(), shards };
    unsafe { *opened = Box::into_raw(Box::new(store)).cast() }; // SAFETY: room for a pointer
    OK
}

unsafe extern "C" fn close(store: *mut c_void) {
    drop(unsafe { Box::from_raw(store.cast::<Store>()) }); // SAFETY: from `open`, and given back once
}

unsafe extern "C" fn begin(store: *mut c_void, session: *mut *mut c_void, _why: *mut c_char) -> c_int {
    let client = Client { store: store.cast(), value: Vec::new() };
    unsafe { *session = Box::into_raw(Box::new(client)).cast() }; // SAFETY: room for a pointer
    OK
}

unsafe extern "C" fn end(session: *mut c_void) {
    drop(unsafe { Box::from_raw(session.cast::<Client>()) }); // SAFETY: from `begin`, and given back once
}

unsafe extern "C" fn get(session: *mut c_void, key: Bytes, value: *mut Bytes) -> c_int {
    let (copy, shard, key) = unsafe { at(session, key) }; // SAFETY: as kvtrial hands them over
    let Some(found) = shard.get(key) else { return MISSING };
    copy.clone_from(found);
    unsafe { *value = Bytes::of(copy) }; // SAFETY: room for the answer
    OK
}

unsafe extern "C" fn put(session: *mut c_void, key: Bytes, value: Bytes) -> c_int {
    let ((_, mut shard, key), value) = unsafe { (at(session, key), value.slice()) }; // SAFETY: as kvtrial hands them over
    shard.insert(key.to_vec(), value.to_vec());
    OK
}

unsafe extern "C" fn del(session: *mut c_void, key: Bytes) -> c_int {
    let (_, mut shard, key) = unsafe { at(session, key) }; // SAFETY: as kvtrial hands it over
    if shard.remove(key).is_some() { OK } else { MISSING }
}

#[rustfmt::skip]
static TABLE: Table = Table {
    abi: ABI, levels: LEVELS[0], name: c"mystore".as_ptr(), version: c"0.1".as_ptr(), options: null(), max_key_bytes: 0,
    max_value_bytes: 0, open: Some(open), close: Some(close), session: Some(begin), end: Some(end), get: Some(get), put: Some(put),
    del: Some(del), error: None, append: None, scan: None, batch: None, sync: None, count: None,
};
#[unsafe(no_mangle)]
extern "C" fn kvtrial_plugin(_abi: u32) -> *const Table {
    &TABLE
}
