//! The files and directories a server finds when it starts.

use crate::user::User;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use store::{Endpoint, ServerPlan, StoreError};
use study::Address;

/// The longest path of a unix socket that the system can bind.
const MAX_SOCKET_PATH_BYTES: usize = 107;

/// Makes a server's own directory, below `top` or `top` itself, and the files and directories that its plan wants there.
///
/// # Errors
/// The system's error, with the path.
pub fn furnish(top: &Path, own: &Path, plan: &ServerPlan, user: Option<User>) -> Result<(), StoreError> {
    let at = |path: &Path, source| StoreError::Io { path: path.to_owned(), source };
    make_directories(top, own, user).map_err(|source| at(own, source))?;
    for directory in &plan.directories {
        let path = own.join(directory);
        make_directories(top, &path, user).map_err(|source| at(&path, source))?;
    }
    for (file, content) in &plan.files {
        let path = own.join(file);
        write(&path, content, user).map_err(|source| at(&path, source))?;
    }
    Ok(())
}

/// Makes a directory below `top` and the directories on the way to it, private to the user.
fn make_directories(top: &Path, directory: &Path, user: Option<User>) -> io::Result<()> {
    let below = directory.strip_prefix(top).unwrap_or(directory);
    let mut path = top.to_owned();
    for part in below.components() {
        path.push(part);
        if !path.exists() {
            DirBuilder::new().mode(0o700).create(&path)?;
            user.map_or(Ok(()), |user| user.own(&path))?;
        }
    }
    Ok(())
}

/// Writes a file that belongs to the user, and that nobody else can read.
fn write(path: &Path, content: &str, user: Option<User>) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(content.as_bytes())?;
    user.map_or(Ok(()), |user| user.own(path))
}

/// Checks that the system can bind the socket of a plan.
///
/// # Errors
/// The socket's path is too long.
pub fn check_socket_path(endpoint: &Endpoint) -> Result<(), StoreError> {
    match &endpoint.address {
        Address::Unix(path) if path.as_os_str().as_bytes().len() > MAX_SOCKET_PATH_BYTES => Err(StoreError::open(
            path.display(),
            format!(
                "a unix socket's path has at most {MAX_SOCKET_PATH_BYTES} bytes; name a shorter directory with --base or TMPDIR"
            ),
        )),
        _ => Ok(()),
    }
}
