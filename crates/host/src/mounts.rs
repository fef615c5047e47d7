//! File systems that are mounted below a private directory: they go before it does.

use std::ffi::{CString, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Takes away every mount below a directory, the last one first. What is still open there goes when it is closed.
pub fn release(root: &Path) {
    let Ok(list) = fs::read("/proc/self/mountinfo") else { return };
    let places = list.split(|byte| *byte == b'\n').filter_map(place);
    let mut below: Vec<PathBuf> = places.filter(|place| place.starts_with(root) && place != root).collect();
    while let Some(place) = below.pop() {
        let Ok(place) = CString::new(place.into_os_string().into_vec()) else { continue };
        // SAFETY: the call reads a C string. What is no mount any more is refused.
        unsafe { libc::umount2(place.as_ptr(), libc::MNT_DETACH | libc::UMOUNT_NOFOLLOW) };
    }
}

/// Returns where a line of the system's list has something mounted.
fn place(line: &[u8]) -> Option<PathBuf> {
    let written = line.split(|byte| *byte == b' ').nth(4)?;
    let mut name = Vec::with_capacity(written.len());
    let mut rest = written;
    while let [first, after @ ..] = rest {
        let octal = (*first == b'\\').then(|| after.get(..3)).flatten();
        let byte = octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        name.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[3..] } else { after };
    }
    Some(OsString::from_vec(name).into()).filter(|path: &PathBuf| !path.as_os_str().as_bytes().is_empty())
}

#[cfg(test)]
mod tests {
    use super::place;
    use std::path::Path;

    #[test]
    fn the_place_of_a_mount_is_read_as_the_system_writes_it() {
        let of = |line: &str| place(line.as_bytes());
        assert_eq!(
            of("31 1 7:0 / /tmp/a\\040b/store rw - ext4 /dev/loop0 rw").as_deref(),
            Some(Path::new("/tmp/a b/store"))
        );
        assert_eq!(of("22 1 0:5 / /proc rw - proc proc rw").as_deref(), Some(Path::new("/proc")));
        assert_eq!(of(""), None);
    }
}
