//! How much memory and disk is free.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Memory the kernel says can be had without swapping; `None` where it does not say.
pub fn free_memory_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// Bytes free on the file system of a directory for an ordinary user; `None` when it cannot be asked.
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
    use super::{free_disk_bytes, free_memory_bytes};
    use std::path::Path;

    #[test]
    fn free_memory_and_disk_are_known_and_no_directory_has_no_room() {
        assert!(free_memory_bytes() > Some(1 << 20));
        assert!(free_disk_bytes(Path::new("/")) > Some(0));
        assert_eq!(free_disk_bytes(Path::new("/no/such/place")), None);
    }
}
