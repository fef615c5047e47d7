//! The hash database of the system's Tokyo Cabinet, as much as the test server needs of it.

use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const LIBRARY: &str = "libtokyocabinet.so.9";

const WRITER_AND_CREATE: c_int = 1 << 1 | 1 << 2;

type Hdb = *mut c_void;
type Plain = unsafe extern "C" fn(Hdb) -> bool;
type Put = unsafe extern "C" fn(Hdb, *const u8, c_int, *const u8, c_int) -> bool;
type Get = unsafe extern "C" fn(Hdb, *const u8, c_int, *mut c_int) -> *mut u8;

/// An open database.
pub struct Cabinet {
    hdb: Hdb,
    library: Library,
}

// SAFETY: the library locks for itself after `tchdbsetmutex`, which `open` calls.
unsafe impl Send for Cabinet {}
// SAFETY: as above.
unsafe impl Sync for Cabinet {}

fn load() -> Result<Library, String> {
    // SAFETY: the library's initialiser only sets up its own variables.
    unsafe { Library::new(LIBRARY) }
        .map_err(|error| format!("{error}; install it with: apt-get install libtokyocabinet9"))
}

/// Returns the library's version.
pub fn version() -> Result<String, String> {
    let library = load()?;
    // SAFETY: `tcversion` is a pointer to a constant string with an end; it is copied while the library is loaded.
    unsafe {
        let version = library.get::<*const *const c_char>(b"tcversion\0").map_err(|error| error.to_string())?;
        Ok(CStr::from_ptr(**version).to_string_lossy().into_owned())
    }
}

impl Cabinet {
    /// Opens or creates a file.
    pub fn open(path: &Path) -> Result<Cabinet, String> {
        let library = load()?;
        let file = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
        // SAFETY: the signatures are those of tchdb.h; the object is used by `Cabinet` alone until it is dropped.
        let hdb = unsafe {
            let new = library.get::<unsafe extern "C" fn() -> Hdb>(b"tchdbnew\0").map_err(|error| error.to_string())?;
            new()
        };
        let cabinet = Cabinet { hdb, library };
        let open: unsafe extern "C" fn(Hdb, *const c_char, c_int) -> bool = cabinet.function(b"tchdbopen\0");
        // SAFETY: the object is not yet open; the path ends with NUL.
        let opened = cabinet.plain(b"tchdbsetmutex\0") && unsafe { open(hdb, file.as_ptr(), WRITER_AND_CREATE) };
        if opened { Ok(cabinet) } else { Err(format!("{}: cannot be opened", path.display())) }
    }

    /// A function of the library. Its type must be that of tchdb.h.
    fn function<T: Copy>(&self, name: &[u8]) -> T {
        // SAFETY: see above; the pointer is called only while the library is loaded.
        match unsafe { self.library.get::<T>(name) } {
            Ok(function) => *function,
            Err(error) => panic!("{error}"),
        }
    }

    fn plain(&self, name: &[u8]) -> bool {
        let function: Plain = self.function(name);
        // SAFETY: the object is alive.
        unsafe { function(self.hdb) }
    }

    fn put_with(&self, name: &[u8], key: &[u8], value: &[u8]) -> bool {
        let put: Put = self.function(name);
        // SAFETY: pointers and lengths are of live slices.
        unsafe { put(self.hdb, key.as_ptr(), key.len() as c_int, value.as_ptr(), value.len() as c_int) }
    }

    /// Calls `tchdbput`.
    pub fn put(&self, key: &[u8], value: &[u8]) -> bool {
        self.put_with(b"tchdbput\0", key, value)
    }

    /// Calls `tchdbputkeep`.
    pub fn put_keep(&self, key: &[u8], value: &[u8]) -> bool {
        self.put_with(b"tchdbputkeep\0", key, value)
    }

    /// Calls `tchdbputcat`.
    pub fn put_cat(&self, key: &[u8], value: &[u8]) -> bool {
        self.put_with(b"tchdbputcat\0", key, value)
    }

    /// Calls `tchdbout`.
    pub fn out(&self, key: &[u8]) -> bool {
        let out: unsafe extern "C" fn(Hdb, *const u8, c_int) -> bool = self.function(b"tchdbout\0");
        // SAFETY: pointer and length are of a live slice.
        unsafe { out(self.hdb, key.as_ptr(), key.len() as c_int) }
    }

    /// Calls `tchdbget`.
    pub fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let get: Get = self.function(b"tchdbget\0");
        let mut bytes = 0;
        // SAFETY: pointer and length are of a live slice; what is returned is `malloc`ed, `bytes` bytes long, and ours to free.
        unsafe {
            let value = get(self.hdb, key.as_ptr(), key.len() as c_int, &mut bytes);
            if value.is_null() {
                return None;
            }
            let copy = std::slice::from_raw_parts(value, bytes as usize).to_vec();
            libc::free(value.cast());
            Some(copy)
        }
    }

    /// Calls `tchdbaddint`: `i32::MIN` is its sign of failure.
    pub fn add_int(&self, key: &[u8], by: i32) -> i32 {
        let add: unsafe extern "C" fn(Hdb, *const u8, c_int, c_int) -> c_int = self.function(b"tchdbaddint\0");
        // SAFETY: pointer and length are of a live slice.
        unsafe { add(self.hdb, key.as_ptr(), key.len() as c_int, by) }
    }

    /// Calls `tchdbrnum`.
    pub fn records(&self) -> u64 {
        let records: unsafe extern "C" fn(Hdb) -> u64 = self.function(b"tchdbrnum\0");
        // SAFETY: the database is open.
        unsafe { records(self.hdb) }
    }

    /// Calls `tchdbsync`.
    pub fn sync(&self) -> bool {
        self.plain(b"tchdbsync\0")
    }

    /// Calls `tchdbvanish`.
    pub fn vanish(&self) -> bool {
        self.plain(b"tchdbvanish\0")
    }
}

impl Drop for Cabinet {
    fn drop(&mut self) {
        self.plain(b"tchdbclose\0");
        let delete: unsafe extern "C" fn(Hdb) = self.function(b"tchdbdel\0");
        // SAFETY: nobody else has the object any more.
        unsafe { delete(self.hdb) };
    }
}
