//! The library of a plugin, loaded.

use super::abi::{self, Batch, Begin, Close, Count, Del, Flush, Get, Open, Put, Scan, Table, Words};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{CStr, c_char};
use std::path::Path;

/// The only symbol that a plugin exports.
const SYMBOL: &str = "kvtrial_plugin";

/// The functions of a plugin. Those that every store has are there.
#[derive(Clone, Copy)]
pub struct Functions {
    /// The table they are from.
    pub table: &'static Table,
    /// Opens the store.
    pub open: Open,
    /// Closes the store.
    pub close: Close,
    /// Begins a session.
    pub session: Begin,
    /// Ends a session.
    pub end: Close,
    /// Reads a value.
    pub get: Get,
    /// Stores a value.
    pub put: Put,
    /// Removes a key.
    pub del: Del,
    /// Returns the words on the last failure.
    pub error: Option<Words>,
    /// Adds bytes at the end of a value.
    pub append: Option<Put>,
    /// Hands over pairs in order.
    pub scan: Option<Scan>,
    /// Stores several pairs.
    pub batch: Option<Batch>,
    /// Makes everything durable.
    pub sync: Option<Flush>,
    /// Counts the keys.
    pub count: Option<Count>,
}

/// Loads a plugin, which stays loaded to the end of the process: a store may have threads of its own.
///
/// # Errors
/// The library cannot be loaded, or is no plugin of this version; with what to do.
pub fn load(path: &Path) -> Result<Functions, String> {
    // SAFETY: what a library does when it is loaded is the user's affair: the user named it, and this process is one that may die of it.
    let library = unsafe { Library::open(Some(path.as_os_str()), RTLD_NOW | RTLD_LOCAL) };
    let library = library.map_err(|error| format!("{error}. Build it as a shared library for this machine"))?;
    let table = {
        // SAFETY: a library that exports this name is a plugin, and there the name has this type in every version of kvtrial.h.
        let plugin = unsafe { library.get::<unsafe extern "C" fn(u32) -> *const Table>(SYMBOL) };
        let plugin =
            plugin.map_err(|_| format!("it exports no {SYMBOL}; kvtrial.h says what that function returns"))?;
        // SAFETY: any number may be asked for.
        unsafe { plugin(abi::ABI) }
    };
    std::mem::forget(library);
    if table.is_null() {
        return Err(format!("{SYMBOL}({}) returned NULL; return the table of functions (kvtrial.h)", abi::ABI));
    }
    // SAFETY: the version is the first field in every version, and the table is there; it may be shorter than this one, so no more of it is read.
    let version = unsafe { table.cast::<u32>().read() };
    if version != abi::ABI {
        return Err(format!(
            "it was built with version {version} of kvtrial.h, and this kvtrial has version {}; build it again with the kvtrial.h that \
             'kvtrial new NAME --plugin c' writes",
            abi::ABI
        ));
    }
    // SAFETY: a table of this version has these fields, and stays as it is to the end of the process.
    functions(unsafe { &*table })
}

fn functions(table: &'static Table) -> Result<Functions, String> {
    let missing =
        |name: &str| format!("its table has no {name}; open, close, session, end, get, put and del must be there");
    Ok(Functions {
        table,
        open: table.open.ok_or_else(|| missing("open"))?,
        close: table.close.ok_or_else(|| missing("close"))?,
        session: table.session.ok_or_else(|| missing("session"))?,
        end: table.end.ok_or_else(|| missing("end"))?,
        get: table.get.ok_or_else(|| missing("get"))?,
        put: table.put.ok_or_else(|| missing("put"))?,
        del: table.del.ok_or_else(|| missing("del"))?,
        error: table.error,
        append: table.append,
        scan: table.scan,
        batch: table.batch,
        sync: table.sync,
        count: table.count,
    })
}

/// Returns the words that a plugin hands over, on one line; none where the pointer is NULL.
///
/// # Safety
/// The words must end with a zero, and stay as they are during this call.
pub unsafe fn words(text: *const c_char) -> Option<String> {
    // SAFETY: as promised by the caller.
    let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })?;
    Some(text.to_string_lossy().replace('\n', " "))
}
