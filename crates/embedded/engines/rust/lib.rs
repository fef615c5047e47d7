//! What the engines of Rust share: the functions of kvtrial.h, by which kvtrial calls the store of an engine. An engine is `engine.rs` with its `Tree`;
//! `kvtrial fetch-store NAME` builds the two with the types of the header (`kvtrial.rs`).

/// Names the files that are laid beside this one, which rustfmt need not find.
macro_rules! beside {
    ($($file:ident)*) => { $(mod $file;)* };
}
beside! { engine kvtrial }

use engine::Tree;
use kvtrial::{ABI, Bytes, Config, FAILED, LEVELS, MISSING, OK, Pair, REFUSED, Row, Table, WHY};
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::fmt::Display;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null;

/// A level of durability: what is acknowledged survives ...
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code)] // no engine has all
enum Level {
    /// Nothing.
    None,
    /// A kill of the process.
    Os,
    /// A power cut, but for the last second.
    Second,
    /// A power cut.
    Commit,
}

const fn bits(levels: &[Level]) -> u32 {
    let (mut bits, mut at) = (0, 0);
    while at < levels.len() {
        bits |= LEVELS[levels[at] as usize];
        at += 1;
    }
    bits
}

/// What an engine could not do.
#[allow(dead_code)] // not every engine refuses
enum Failure {
    /// The engine said no, and nothing has happened.
    Refused(String),
    /// It failed, and may have happened.
    Failed(String),
}

impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Failed(error.to_string())
    }
}

type Outcome<T> = Result<T, Failure>;

/// A store of an engine, used by all clients at once.
trait Engine: Sized + Send + Sync {
    const NAME: &'static CStr;
    const LEVELS: &'static [Level];
    /// The longest key; 0: no limit.
    const MAX_KEY_BYTES: u64 = 0;
    fn open(directory: &Path, level: Level) -> Outcome<Self>;
    /// Copies a value to `value`; false: there is none.
    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Outcome<bool>;
    fn put(&self, key: &[u8], value: &[u8]) -> Outcome<()>;
    /// Says whether there was such a key, to one of several clients.
    fn del(&self, key: &[u8]) -> Outcome<bool>;
    /// Adds bytes at the end of a value.
    fn add(&self, key: &[u8], value: &[u8]) -> Outcome<()>;
    /// Hands over pairs in order, to the end or until `row` says false.
    fn scan(&self, start: &[u8], row: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Outcome<()>;
    fn batch(&self, pairs: &[(&[u8], &[u8])]) -> Outcome<()>;
    fn sync(&self) -> Outcome<()>;
}

/// A client's session: kvtrial reads value and words here until the next call.
struct Client {
    store: *const Tree,
    value: Vec<u8>,
    why: CString,
}

impl Client {
    /// Returns what a function of kvtrial.h returns.
    fn outcome(&mut self, outcome: Outcome<bool>) -> c_int {
        let (code, words) = match outcome {
            Ok(true) => return OK,
            Ok(false) => return MISSING,
            Err(Failure::Refused(words)) => (REFUSED, words),
            Err(Failure::Failed(words)) => (FAILED, words),
        };
        self.why = CString::new(words.replace('\0', " ")).unwrap_or_default();
        code
    }
}

/// Returns a session and its store.
///
/// # Safety
/// The session must be one that `begin` gave, used by this thread.
unsafe fn of<'a>(session: *mut c_void) -> (&'a mut Client, &'a Tree) {
    // SAFETY: as promised by the caller; a store outlives its sessions.
    unsafe {
        let client = &mut *session.cast::<Client>();
        let store = &*client.store;
        (client, store)
    }
}

// SAFETY, for all functions below: kvtrial hands over what kvtrial.h says: stores and sessions that it was given, one thread for a session, keys,
// values and pairs that outlive the call, and room for each answer.

unsafe extern "C" fn open(config: *const Config, opened: *mut *mut c_void, why: *mut c_char) -> c_int {
    let (directory, level) = unsafe { (CStr::from_ptr((*config).directory), (*config).level) };
    let levels = [Level::None, Level::Os, Level::Second, Level::Commit];
    let level = levels[LEVELS.iter().position(|bit| *bit == level).unwrap_or_default()];
    match Tree::open(Path::new(OsStr::from_bytes(directory.to_bytes())), level) {
        Ok(tree) => {
            unsafe { *opened = Box::into_raw(Box::new(tree)).cast() };
            OK
        }
        Err(Failure::Refused(words) | Failure::Failed(words)) => {
            let words = &words.as_bytes()[..words.len().min(WHY - 1)];
            unsafe {
                why.cast::<u8>().copy_from_nonoverlapping(words.as_ptr(), words.len());
                *why.add(words.len()) = 0;
            }
            FAILED
        }
    }
}

unsafe extern "C" fn close(store: *mut c_void) {
    drop(unsafe { Box::from_raw(store.cast::<Tree>()) });
}

unsafe extern "C" fn begin(store: *mut c_void, session: *mut *mut c_void, _why: *mut c_char) -> c_int {
    let client = Client { store: store.cast(), value: Vec::new(), why: CString::default() };
    unsafe { *session = Box::into_raw(Box::new(client)).cast() };
    OK
}

unsafe extern "C" fn end(session: *mut c_void) {
    drop(unsafe { Box::from_raw(session.cast::<Client>()) });
}

unsafe extern "C" fn error(session: *mut c_void) -> *const c_char {
    unsafe { of(session) }.0.why.as_ptr()
}

unsafe extern "C" fn get(session: *mut c_void, key: Bytes, value: *mut Bytes) -> c_int {
    let (client, store) = unsafe { of(session) };
    let outcome = store.get(unsafe { key.slice() }, &mut client.value);
    unsafe { *value = Bytes::of(&client.value) };
    client.outcome(outcome)
}

unsafe extern "C" fn put(session: *mut c_void, key: Bytes, value: Bytes) -> c_int {
    let (client, store) = unsafe { of(session) };
    let outcome = unsafe { store.put(key.slice(), value.slice()) };
    client.outcome(outcome.map(|()| true))
}

unsafe extern "C" fn del(session: *mut c_void, key: Bytes) -> c_int {
    let (client, store) = unsafe { of(session) };
    client.outcome(store.del(unsafe { key.slice() }))
}

unsafe extern "C" fn append(session: *mut c_void, key: Bytes, value: Bytes) -> c_int {
    let (client, store) = unsafe { of(session) };
    let outcome = unsafe { store.add(key.slice(), value.slice()) };
    client.outcome(outcome.map(|()| true))
}

unsafe extern "C" fn scan(session: *mut c_void, start: Bytes, limit: u32, row: Row, to: *mut c_void) -> c_int {
    let (client, store) = unsafe { of(session) };
    let mut left = limit;
    let mut take = |key: &[u8], value: &[u8]| {
        left -= 1;
        let more = unsafe { row(to, Bytes::of(key), Bytes::of(value)) } == 0;
        more && left > 0
    };
    let outcome = if limit == 0 { Ok(()) } else { store.scan(unsafe { start.slice() }, &mut take) };
    client.outcome(outcome.map(|()| true))
}

unsafe extern "C" fn batch(session: *mut c_void, pairs: *const Pair, count: usize) -> c_int {
    let (client, store) = unsafe { of(session) };
    let pairs = if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(pairs, count) } };
    let pairs: Vec<_> = pairs.iter().map(|pair| unsafe { (pair.key.slice(), pair.value.slice()) }).collect();
    client.outcome(store.batch(&pairs).map(|()| true))
}

unsafe extern "C" fn sync(store: *mut c_void) -> c_int {
    let store = unsafe { &*store.cast::<Tree>() };
    if store.sync().is_ok() { OK } else { FAILED }
}

unsafe extern "C" fn count(store: *mut c_void, keys: *mut u64) -> c_int {
    let store = unsafe { &*store.cast::<Tree>() };
    let mut counted = 0;
    let outcome = store.scan(&[0], &mut |_, _| {
        counted += 1;
        true
    });
    unsafe { *keys = counted };
    if outcome.is_ok() { OK } else { FAILED }
}

/// The version of the engine, which is that of the package.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

static TABLE: Table = Table {
    abi: ABI,
    levels: bits(Tree::LEVELS),
    name: Tree::NAME.as_ptr(),
    version: VERSION.as_ptr().cast(),
    options: null(),
    max_key_bytes: Tree::MAX_KEY_BYTES,
    max_value_bytes: 0,
    open: Some(open),
    close: Some(close),
    session: Some(begin),
    end: Some(end),
    get: Some(get),
    put: Some(put),
    del: Some(del),
    error: Some(error),
    append: Some(append),
    scan: Some(scan),
    batch: Some(batch),
    sync: Some(sync),
    count: Some(count),
};

#[unsafe(no_mangle)]
extern "C" fn kvtrial_plugin(_abi: u32) -> *const Table {
    &TABLE
}
