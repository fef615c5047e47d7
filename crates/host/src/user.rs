//! Ordinary users that servers run as when kvtrial is root.

use std::ffi::CString;
use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

/// The numbers of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// The user id.
    pub uid: u32,
    /// The primary group id.
    pub gid: u32,
}

/// Returns whether kvtrial runs as root.
pub fn is_root() -> bool {
    effective_uid() == 0
}

/// Returns the user kvtrial acts as.
pub fn effective_uid() -> u32 {
    // SAFETY: geteuid touches no memory and cannot fail.
    unsafe { libc::geteuid() }
}

impl User {
    /// Returns the user of that name, from the place where the system keeps its users.
    pub fn named(name: &str) -> Option<User> {
        let name = CString::new(name).ok()?;
        let mut text = vec![0 as libc::c_char; 16 << 10];
        let mut found = std::ptr::null_mut();
        // SAFETY: passwd is plain data; the call writes into it and into `text`, whose length it is given, and both outlive it.
        let (result, entry) = unsafe {
            let mut entry: libc::passwd = std::mem::zeroed();
            (libc::getpwnam_r(name.as_ptr(), &mut entry, text.as_mut_ptr(), text.len(), &mut found), entry)
        };
        (result == 0 && !found.is_null()).then_some(User { uid: entry.pw_uid, gid: entry.pw_gid })
    }

    /// Makes the user the owner of a file or directory.
    ///
    /// # Errors
    /// The system's error.
    pub fn own(self, path: &Path) -> io::Result<()> {
        chown(path, Some(self.uid), Some(self.gid))
    }

    /// Returns the first directory from the root down to `path` that this user may not pass through.
    pub fn barred_by(self, path: &Path) -> Option<PathBuf> {
        let mut dirs: Vec<&Path> = path.ancestors().collect();
        dirs.reverse();
        dirs.into_iter().find(|dir| !self.may_pass(dir)).map(Path::to_owned)
    }

    fn may_pass(self, dir: &Path) -> bool {
        let Ok(meta) = dir.metadata() else { return true };
        let shift = match (meta.uid() == self.uid, meta.gid() == self.gid) {
            (true, _) => 6,
            (false, true) => 3,
            (false, false) => 0,
        };
        (meta.mode() >> shift) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::User;
    use std::fs::{Permissions, create_dir, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn users_are_found_by_name() {
        assert_eq!(User::named("root"), Some(User { uid: 0, gid: 0 }));
        assert_eq!(User::named("no-such-user"), None);
    }

    #[test]
    fn the_closed_directory_on_the_way_is_named() {
        let stranger = User { uid: 65534, gid: 65534 };
        let open = tempfile::Builder::new().permissions(Permissions::from_mode(0o755)).tempdir().unwrap();
        let closed = open.path().join("closed");
        create_dir(&closed).unwrap();
        set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
        assert_eq!(stranger.barred_by(&closed.join("below")), Some(closed));
        assert_eq!(stranger.barred_by(open.path()), None);
    }
}
