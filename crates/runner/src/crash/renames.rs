//! The moments at which a store renames or deletes one of its files, as the kernel reports them (inotify).

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// Renames and deletions in a directory and those below it.
pub(super) struct Renames(OwnedFd);

impl Renames {
    /// Reports them from now on. Directories that are made later are not looked into.
    pub(super) fn within(directory: &Path) -> io::Result<Renames> {
        let renames = Renames(init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?);
        renames.look_into(directory)?;
        Ok(renames)
    }

    fn look_into(&self, directory: &Path) -> io::Result<()> {
        add_watch(&self.0, directory, WatchFlags::MOVED_TO | WatchFlags::DELETE | WatchFlags::ONLYDIR)?;
        for entry in fs::read_dir(directory)?.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                // It may be gone by now.
                let _ = self.look_into(&entry.path());
            }
        }
        Ok(())
    }

    /// Waits for the next one; `false`: none came until then.
    pub(super) fn next(&self, until: Instant) -> io::Result<bool> {
        self.forget()?;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let mut ready = [PollFd::new(&self.0, PollFlags::IN)];
            match poll(&mut ready, Some(&time(left))) {
                Ok(0) if left.is_zero() => return Ok(false),
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Forgets those that were reported so far.
    fn forget(&self) -> io::Result<()> {
        let mut reports = [0; 4096];
        loop {
            match rustix::io::read(&self.0, &mut reports) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn time(of: Duration) -> Timespec {
    Timespec { tv_sec: of.as_secs().cast_signed(), tv_nsec: of.subsec_nanos().into() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Renames;
    use std::fs;
    use std::time::{Duration, Instant};

    #[test]
    fn a_renamed_and_a_deleted_file_are_reported_once_and_a_written_one_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let below = directory.path().join("below");
        fs::create_dir(&below).unwrap();
        let renames = Renames::within(directory.path()).unwrap();
        let next = || renames.next(Instant::now() + Duration::from_millis(30)).unwrap();
        let (one, other) = (below.join("one"), below.join("other"));
        let act_soon = |act: &dyn Fn()| {
            std::thread::scope(|scope| {
                let waits = scope.spawn(|| renames.next(Instant::now() + Duration::from_secs(20)).unwrap());
                std::thread::sleep(Duration::from_millis(50));
                act();
                // It was not waiting yet where it had no processor.
                while !waits.is_finished() {
                    std::thread::sleep(Duration::from_millis(5));
                    fs::write(&one, "again").unwrap();
                    act();
                }
                waits.join().unwrap()
            })
        };
        fs::write(&one, "bytes").unwrap();
        assert!(!next(), "a file was only written");
        assert!(act_soon(&|| drop(fs::rename(&one, &other))));
        assert!(!next(), "what was reported is forgotten");
        fs::write(&one, "bytes").unwrap();
        assert!(act_soon(&|| drop(fs::remove_file(&one))));
    }
}
