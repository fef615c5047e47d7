//! A plugin's store, opened, and its sessions.

use super::abi::{self, Bytes, Config, Pair, Setting};
use super::described::{self, Described};
use super::library::{self, Functions};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use store::immediate::{Immediate, SyncStore};
use store::{
    Capabilities, Facts, Failure, Holding, Operation, Reply, RowBuffer, Session, SessionPlan, Store, StoreError,
    Threading,
};

/// The room that a plugin has for words.
type Why = [u8; abi::WHY];

/// A store that is open.
pub struct Opened {
    held: Arc<Held>,
    capabilities: Capabilities,
    facts: Facts,
    /// The plugin, as the user named it.
    spec: String,
}

/// A plugin's own store: closed when the last session has ended.
struct Held {
    functions: Functions,
    store: *mut c_void,
}

// SAFETY: kvtrial.h demands that any thread may open sessions of a store, and that sync and count may be called by any.
unsafe impl Send for Held {}
// SAFETY: as above.
unsafe impl Sync for Held {}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the store is open, and no session of it is left: each has a share of this.
        unsafe { (self.functions.close)(self.store) }
    }
}

impl Opened {
    /// Opens a plugin's store in a directory, with these options.
    ///
    /// # Errors
    /// The plugin's own words.
    pub fn open(
        spec: String,
        functions: Functions,
        capabilities: Capabilities,
        directory: &Path,
        options: BTreeMap<String, String>,
    ) -> Result<Box<dyn Store>, StoreError> {
        let Described { name, version, .. } = Described::of(&functions);
        let c_string = |text: &[u8]| CString::new(text).map_err(|error| StoreError::open(&spec, error));
        let place = c_string(directory.as_os_str().as_bytes())?;
        let texts = options.iter().map(|(name, value)| Ok((c_string(name.as_bytes())?, c_string(value.as_bytes())?)));
        let texts = texts.collect::<Result<Vec<_>, StoreError>>()?;
        let settings: Vec<Setting> =
            texts.iter().map(|(name, value)| Setting { name: name.as_ptr(), value: value.as_ptr() }).collect();
        let config = Config {
            directory: place.as_ptr(),
            level: described::bit(capabilities.durability),
            settings_len: settings.len() as u32,
            settings: settings.as_ptr(),
        };
        let (mut store, mut why): (_, Why) = (std::ptr::null_mut(), [0; abi::WHY]);
        // SAFETY: config and everything it points to outlive the call; `store` and `why` are places for the answer.
        let code = unsafe { (functions.open)(&config, &mut store, why.as_mut_ptr().cast::<c_char>()) };
        refused(code, &why, "open").map_err(|problem| StoreError::open(&spec, problem))?;
        let facts = Facts { product: name, version, config: options, ..Facts::default() };
        Ok(Box::new(Opened { held: Arc::new(Held { functions, store }), capabilities, facts, spec }))
    }

    fn begin(&self) -> Result<Handle, StoreError> {
        let (mut session, mut why): (_, Why) = (std::ptr::null_mut(), [0; abi::WHY]);
        let functions = self.held.functions;
        // SAFETY: the store is open; `session` and `why` are places for the answer.
        let code = unsafe { (functions.session)(self.held.store, &mut session, why.as_mut_ptr().cast::<c_char>()) };
        refused(code, &why, "session").map_err(|problem| StoreError::open(&self.spec, problem))?;
        let held = Arc::clone(&self.held);
        let (rows, pairs, words) = (Taken::default(), Vec::new(), String::new());
        Ok(Handle { session, functions, rows, pairs, words, _held: held })
    }
}

/// The plugin's words on a function that failed.
fn refused(code: c_int, why: &Why, function: &str) -> Result<(), String> {
    if code == abi::OK {
        return Ok(());
    }
    let words = CStr::from_bytes_until_nul(why).map(CStr::to_string_lossy).unwrap_or_default();
    Err(if words.is_empty() { format!("{function} returned {code}, and no words") } else { words.into_owned() })
}

impl Store for Opened {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Immediate::session(plan, || self.begin())
    }

    fn threading(&self) -> Threading {
        Threading::PerClient
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        Ok(self.facts.clone())
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        let Some(count) = self.held.functions.count else { return Ok(Holding::default()) };
        let mut keys = 0;
        // SAFETY: the store is open, and `keys` is a place for the answer.
        match unsafe { count(self.held.store, &mut keys) } {
            abi::OK => Ok(Holding { keys: Some(keys), ..Holding::default() }),
            code => Err(StoreError::Session(format!("{}: count returned {code}", self.spec))),
        }
    }

    fn flush(&self) -> Result<(), StoreError> {
        let Some(sync) = self.held.functions.sync else { return Ok(()) };
        // SAFETY: the store is open.
        match unsafe { sync(self.held.store) } {
            abi::OK => Ok(()),
            code => Err(StoreError::Session(format!("{}: sync returned {code}", self.spec))),
        }
    }
}

/// A client's session. Values are read where the plugin has them.
struct Handle {
    session: *mut c_void,
    functions: Functions,
    rows: Taken,
    pairs: Vec<Pair>,
    words: String,
    /// Keeps the store open until the session has ended.
    _held: Arc<Held>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the session was begun, and is ended once.
        unsafe { (self.functions.end)(self.session) }
    }
}

impl Handle {
    #[inline]
    fn get(&mut self, key: &[u8]) -> Reply<'_> {
        let mut value = Bytes { data: std::ptr::null(), len: 0 };
        // SAFETY: the session is begun and this thread's; the key outlives the call, `value` is a place for the answer.
        match unsafe { (self.functions.get)(self.session, Bytes::of(key), &mut value) } {
            // SAFETY: the value stays as it is until the next call on the session, and the reply borrows the session until then.
            abi::OK => Reply::Value(unsafe { value.slice() }),
            abi::MISSING => Reply::Missing,
            code => self.failed(code),
        }
    }

    #[inline]
    fn del(&mut self, key: &[u8]) -> Reply<'_> {
        // SAFETY: the session is begun and this thread's; the key outlives the call.
        match unsafe { (self.functions.del)(self.session, Bytes::of(key)) } {
            abi::OK => Reply::Done,
            abi::MISSING => Reply::Missing,
            code => self.failed(code),
        }
    }

    /// Puts, or appends.
    #[inline]
    fn write(&mut self, put: abi::Put, key: &[u8], value: &[u8]) -> Reply<'_> {
        // SAFETY: the session is begun and this thread's; key and value outlive the call.
        match unsafe { put(self.session, Bytes::of(key), Bytes::of(value)) } {
            abi::OK => Reply::Done,
            code => self.failed(code),
        }
    }

    fn scan(&mut self, scan: abi::Scan, start: &[u8], limit: u32) -> Reply<'_> {
        self.rows.rows.clear();
        self.rows.left = limit;
        let to = (&raw mut self.rows).cast::<c_void>();
        // SAFETY: the session is begun and this thread's; the key outlives the call, and so does what the rows go to, which nothing else
        // touches meanwhile.
        match unsafe { scan(self.session, Bytes::of(start), limit, take, to) } {
            abi::OK => Reply::Rows(self.rows.rows.rows()),
            code => self.failed(code),
        }
    }

    fn batch(&mut self, batch: abi::Batch, pairs: &[(&[u8], &[u8])]) -> Reply<'_> {
        self.pairs.clear();
        self.pairs.extend(pairs.iter().map(|(key, value)| Pair { key: Bytes::of(key), value: Bytes::of(value) }));
        // SAFETY: the session is begun and this thread's; pairs, keys and values outlive the call.
        match unsafe { batch(self.session, self.pairs.as_ptr(), self.pairs.len()) } {
            abi::OK => Reply::Done,
            code => self.failed(code),
        }
    }

    #[cold]
    fn failed(&mut self, code: c_int) -> Reply<'_> {
        // SAFETY: the session is begun and this thread's; its words stay as they are until the next call.
        let said = self.functions.error.and_then(|error| unsafe { library::words(error(self.session)) });
        let said = said.filter(|words| !words.is_empty());
        self.words = said.unwrap_or_else(|| format!("the plugin returned {code}, and no words"));
        Reply::Failed(match code {
            abi::REFUSED => Failure::Refused(&self.words),
            abi::FAILED => Failure::Unknown(&self.words),
            // Not a number that this function may return.
            _ => Failure::Protocol(&self.words),
        })
    }
}

/// The rows of a scan, and how many more are wanted.
#[derive(Default)]
struct Taken {
    rows: RowBuffer,
    left: u32,
}

/// Takes a row, also one too many: the job sees it.
unsafe extern "C" fn take(to: *mut c_void, key: Bytes, value: Bytes) -> c_int {
    // SAFETY: `to` is what `Handle::scan` handed over, and the scan is under way.
    let taken = unsafe { &mut *to.cast::<Taken>() };
    // SAFETY: key and value are there during this call.
    let (key, value) = unsafe { (key.slice(), value.slice()) };
    taken.rows.push(key, value);
    taken.left = taken.left.saturating_sub(1);
    c_int::from(taken.left == 0)
}

impl SyncStore for Handle {
    #[inline]
    fn execute(&mut self, operation: &Operation<'_>) -> Reply<'_> {
        match *operation {
            Operation::Get { key } => return self.get(key),
            Operation::Put { key, value } => return self.write(self.functions.put, key, value),
            Operation::Delete { key } => return self.del(key),
            Operation::Append { key, value } => {
                if let Some(append) = self.functions.append {
                    return self.write(append, key, value);
                }
            }
            Operation::Scan { start, limit } => {
                if let Some(scan) = self.functions.scan {
                    return self.scan(scan, start, limit);
                }
            }
            Operation::PutMany { pairs } => {
                if let Some(batch) = self.functions.batch {
                    return self.batch(batch, pairs);
                }
            }
            _ => {}
        }
        Reply::Failed(Failure::Refused("the plugin has no function for that"))
    }
}
