//! The guard: a small process that outlives kvtrial by a moment, to clear away after it when it is killed by SIGKILL.
//!
//! It waits on a pipe whose other end only kvtrial holds, so it wakes however kvtrial ends. Places that still exist then have
//! not been ended properly: their processes are killed and their directories removed. Without it (no `/bin/sh`) servers still
//! die with kvtrial, and the next start removes the directories.

use crate::process::Pid;
use crate::tree::MARK;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

/// `$1` is the name of the mark; then lines are read: places, `=PLACE` for one that is kept, `+PID` of a process started, `-PID` of one that has
/// been cleared away after.
/// A killed process may leave System V memory, and what libfaketime shares.
const SCRIPT: &str = r#"
trap '' HUP INT TERM QUIT
mark=$1; shift
started=
while IFS= read -r line; do
    case $line in
    +*) started="$started ${line#+}" ;;
    -*)
        left=
        for process in $started; do [ "$process" = "${line#-}" ] || left="$left $process"; done
        started=$left
        ;;
    =*)
        for place do
            shift
            [ "$place" = "${line#=}" ] || set -- "$@" "$place"
        done
        ;;
    *) set -- "$@" "$line" ;;
    esac
done
for place do
    [ -d "$place" ] || continue
    tries=0
    while [ $tries -lt 100 ]; do
        found=$(grep -lasF -e "$mark=$place" /proc/[0-9]*/environ)
        [ "$found" ] || break
        for process in $found; do
            process=${process#/proc/}
            kill -KILL "${process%/environ}"
        done
        tries=$((tries + 1))
        sleep 0.02
    done
    # A disk of kvtrial's own: its process unmounts it, or is gone. The list has octal numbers for spaces.
    while read -r _ _ _ _ at rest; do
        case $at in *"/${place##*/}/"*) ;; *) continue ;; esac
        at=$(printf '%b.' "$(printf '%s' "$at" | sed 's/\\/\\0/g')")
        case ${at%.} in "$place"/*) umount -l "${at%.}" ;; esac
    done < /proc/self/mountinfo
    # A worker that dies with kvtrial may still make a file.
    while rm -rf -- "$place"; [ -d "$place" ] && [ $tries -lt 200 ]; do
        tries=$((tries + 1))
        sleep 0.02
    done
done
[ "$started" ] || exit 0
for process in $started; do rm -f "/dev/shm/sem.faketime_sem_$process" "/dev/shm/faketime_shm_$process"; done
while read -r key id rights bytes maker user attached rest; do
    case " $started " in *" $maker "*) [ "$attached" = 0 ] && ipcrm -m "$id" ;; esac
done < /proc/sysvipc/shm
"#;

/// Tells the guard of a place, and starts the guard with the first place.
pub fn watch(place: &Path) {
    let path = place.as_os_str().as_bytes();
    if path.starts_with(b"/") && !path.contains(&b'\n') {
        tell(path);
    }
}

/// Tells the guard that a place stays when kvtrial ends.
pub fn keep(place: &Path) {
    tell(&[b"=", place.as_os_str().as_bytes()].concat());
}

/// Tells the guard of a process that was started in a place.
pub fn note(pid: Pid) {
    tell(format!("+{pid}").as_bytes());
}

/// Tells the guard that a process needs no clearing away any more.
pub fn forget(pid: Pid) {
    tell(format!("-{pid}").as_bytes());
}

fn tell(line: &[u8]) {
    static GUARD: OnceLock<Option<Mutex<ChildStdin>>> = OnceLock::new();
    let Some(guard) = GUARD.get_or_init(|| start().map(Mutex::new)) else { return };
    let mut guard = guard.lock().unwrap_or_else(PoisonError::into_inner);
    // A guard that somebody has ended is missed only when kvtrial is killed too.
    let _ = guard.write_all(&[line, b"\n"].concat());
}

/// Starts the guard in a process group of its own, so that what is typed at the terminal does not reach it.
fn start() -> Option<ChildStdin> {
    let mut guard = Command::new("/bin/sh")
        .args(["-c", SCRIPT, "kvtrial-guard", MARK])
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    guard.stdin.take()
}
