//! The free space of a disk.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Returns the number of bytes free for an ordinary user on the file system of a directory; `None` when the system does not report it.
pub fn free_disk_bytes(directory: &Path) -> Option<u64> {
    let path = CString::new(directory.as_os_str().as_bytes()).ok()?;
    // SAFETY: statvfs is plain data for which all zeros is valid; the call reads a C string and writes into it.
    let (result, found) = unsafe {
        let mut found: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(path.as_ptr(), &mut found), found)
    };
    (result == 0).then(|| found.f_bavail * found.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::free_disk_bytes;
    use std::path::Path;

    #[test]
    fn the_room_of_a_directory_is_known_and_no_directory_has_none() {
        assert!(free_disk_bytes(Path::new("/")) > Some(0));
        assert_eq!(free_disk_bytes(Path::new("/no/such/place")), None);
    }
}
