//! Nodes whose time of day is moved away from that of the others, and set right again.
//!
//! The library libfaketime stands between a node's program and the C library, and adds to the time of day what a file says. It reads the file when a second
//! of the machine's clock begins and the program asks for the time. The clock that counts from the machine's start, by which programs wait, and the times of
//! files stay as they are. A program that asks the kernel and not the C library sees nothing of it, so a node is asked whether its clock has moved.

use crate::node::{Life, Running};
use crate::nodes::Nodes;
use crate::process::Pid;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};
use store::{CommandLine, Endpoint, StoreError, TimeOfDay};
use study::Spec;

/// The library, in its variant for programs of several threads.
const LIBRARY: &str = "libfaketimeMT.so.1";

/// The C library, named before an allocator that a program brings along: jemalloc, as of Redis, asks for the time while it begins, waits for itself
/// below the other library, and never ends.
const C_LIBRARY: &str = "libc.so.6";

/// The time a clock may take to move: a second, and what a busy machine needs to ask.
const MOVED_WITHIN: Duration = Duration::from_secs(10);

/// How often a node is asked meanwhile.
const LOOK: Duration = Duration::from_millis(20);

/// The library that moves the time of day of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockLibrary(PathBuf);

impl ClockLibrary {
    /// Finds it on this machine.
    ///
    /// # Errors
    /// It is not there; with the remedy.
    pub fn find() -> Result<ClockLibrary, String> {
        let of_this_kind = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
        ClockLibrary::find_below(&["/usr/local/lib", &of_this_kind, "/usr/lib64", "/usr/lib"])
    }

    fn find_below(directories: &[&str]) -> Result<ClockLibrary, String> {
        let mut files = directories.iter().map(|directory| Path::new(directory).join("faketime").join(LIBRARY));
        let found = files.find(|file| file.is_file()).map(ClockLibrary);
        found.ok_or_else(|| {
            format!("clocks are moved by the library {LIBRARY}, which was not found: apt-get install libfaketime")
        })
    }

    /// Returns a command with the library between it and the C library; the file says what is added to the time of day.
    fn below(&self, run: &CommandLine, file: &Path) -> CommandLine {
        let settings = [
            ("LD_PRELOAD", format!("{}:{C_LIBRARY}", self.0.display())),
            ("FAKETIME_TIMESTAMP_FILE", file.display().to_string()),
            // In whole seconds; without any of it the file would be read each time the program asks.
            ("FAKETIME_CACHE_DURATION", "0".into()),
            // One name is of older versions.
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
            ("DONT_FAKE_MONOTONIC", "1".into()),
            // Else every wait for a time is over at once, as those of Java.
            ("FAKETIME_FORCE_MONOTONIC_FIX", "0".into()),
            ("NO_FAKE_STAT", "1".into()),
        ];
        let mut below = run.clone();
        below.env.extend(settings.map(|(name, value)| (name.to_owned(), value)));
        below
    }
}

impl Nodes {
    /// Moves the time of day of a node ahead of the machine's by these milliseconds, or behind it; returns when the node says that time.
    ///
    /// # Errors
    /// Its clock is moved already, cannot be, or did not move.
    pub fn move_clock(&self, name: &str, by_ms: i64) -> Result<(), StoreError> {
        self.turn_clock(name, by_ms)
    }

    /// Sets the time of day of a node right again; returns when the node says that time, or does not run.
    ///
    /// # Errors
    /// Its clock is right, or did not move.
    pub fn set_clock_right(&self, name: &str) -> Result<(), StoreError> {
        self.turn_clock(name, 0)
    }

    fn turn_clock(&self, name: &str, by_ms: i64) -> Result<(), StoreError> {
        let Some((_, ask)) = self.clocks() else {
            return Err(self.refusal(name, "was not started with a clock that can be moved"));
        };
        let before_ms = {
            let mut running = self.running();
            let it = self.find(&mut running, name)?;
            match (it.clock_ms, by_ms) {
                (0, 0) => return Err(self.refusal(name, "has a clock that is right")),
                (0, _) if !matches!(it.life, Life::Runs(_)) => return Err(self.refusal(name, "does not run")),
                (0, _) | (_, 0) => {}
                _ => return Err(self.refusal(name, "has a clock that is moved already")),
            }
            write_offset(&self.lease.clock_of(name), by_ms).map_err(|error| self.refusal(name, &error.to_string()))?;
            std::mem::replace(&mut it.clock_ms, by_ms)
        };
        self.await_clock(name, ask, (before_ms, by_ms))
    }

    /// Waits until a node says the new time and not the one before; not for one that does not run.
    fn await_clock(&self, name: &str, ask: TimeOfDay, (before_ms, by_ms): (i64, i64)) -> Result<(), StoreError> {
        let begun = Instant::now();
        loop {
            let endpoint = {
                let mut running = self.running();
                let it = self.find(&mut running, name)?;
                match it.life {
                    Life::Runs(_) => it.node.plan.endpoint.clone(),
                    Life::Frozen(_) | Life::Down => return Ok(()),
                }
            };
            let ahead = ahead_ms(ask, &self.builder.spec, &endpoint);
            if ahead.as_ref().is_ok_and(|ahead_ms| has_moved(*ahead_ms, before_ms, by_ms)) {
                return Ok(());
            }
            if begun.elapsed() > MOVED_WITHIN {
                let seconds = |ms: i64| ms as f64 / 1e3;
                let said = match ahead {
                    Ok((ahead_ms, _)) => format!("it says {} s", seconds(ahead_ms)),
                    Err(error) => format!("it could not be asked: {error}"),
                };
                let problem = format!("has a clock that should be {} s ahead of the machine's; {said}", seconds(by_ms));
                return Err(self.refusal(name, &problem));
            }
            thread::sleep(LOOK);
        }
    }

    /// Removes what the library shares between processes once the nodes have loaded it.
    pub(crate) fn clocks_are_loaded(&self) {
        if self.clocks().is_some() {
            remove_shared(&self.pids());
        }
    }

    /// Returns the library and the question, where the clocks of these nodes can be moved.
    fn clocks(&self) -> Option<(&ClockLibrary, TimeOfDay)> {
        self.builder.clocks.as_ref().zip(self.time_of_day)
    }

    /// Returns the command that starts a node's program, with the library where its clock can be moved.
    pub(crate) fn with_clock(&self, it: &Running) -> Result<CommandLine, StoreError> {
        let run = &it.node.plan.run;
        let Some((library, _)) = self.clocks() else { return Ok(run.clone()) };
        let file = self.lease.clock_of(&it.node.name);
        write_offset(&file, it.clock_ms).map_err(|source| StoreError::Io { path: file.clone(), source })?;
        Ok(library.below(run, &file))
    }
}

/// Writes what is added to a time of day, where every user can read it.
fn write_offset(file: &Path, by_ms: i64) -> io::Result<()> {
    let open = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode));
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory)?;
        open(directory, 0o755)?;
    }
    // It is read at any time, and never half of it.
    let new = file.with_extension("new");
    fs::write(&new, format!("{:+.3}\n", by_ms as f64 / 1e3))?;
    open(&new, 0o644)?;
    fs::rename(new, file)
}

/// Returns by how much a node is ahead of the machine: the least and the most that its answer leaves possible, in milliseconds.
fn ahead_ms(ask: TimeOfDay, spec: &Spec, endpoint: &Endpoint) -> Result<(i64, i64), StoreError> {
    let asked = SystemTime::now();
    let said = ask(spec, endpoint)?;
    let answered = SystemTime::now();
    let ahead_of = |at: SystemTime| match said.duration_since(at) {
        Ok(ahead) => ahead.as_millis() as i64,
        Err(behind) => -(behind.duration().as_millis() as i64),
    };
    Ok((ahead_of(answered), ahead_of(asked)))
}

/// Returns whether a node that is so far ahead has the new time, and not the one before.
fn has_moved((least_ms, most_ms): (i64, i64), before_ms: i64, by_ms: i64) -> bool {
    let middle_ms = before_ms.midpoint(by_ms);
    if by_ms > before_ms { least_ms > middle_ms } else { most_ms < middle_ms }
}

/// Removes the semaphores and the shared memory that the library has made for these processes, and does not need once it is loaded: one that is killed leaves
/// them behind.
pub(crate) fn remove_shared(pids: &[Pid]) {
    let files = |pid: &Pid| [format!("/dev/shm/sem.faketime_sem_{pid}"), format!("/dev/shm/faketime_shm_{pid}")];
    pids.iter().flat_map(files).for_each(|file| _ = fs::remove_file(file));
}

#[cfg(test)]
mod tests {
    use super::{ClockLibrary, LIBRARY, has_moved, write_offset};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use store::CommandLine;

    #[test]
    fn where_the_library_is_not_found_the_remedy_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let find = || ClockLibrary::find_below(&["/nowhere", directory.path().to_str().unwrap()]);
        assert!(find().unwrap_err().ends_with("apt-get install libfaketime"), "{:?}", find());
        let file = directory.path().join("faketime").join(LIBRARY);
        fs::create_dir(file.parent().unwrap()).unwrap();
        fs::write(&file, "").unwrap();
        assert_eq!(find(), Ok(ClockLibrary(file)));
    }

    #[test]
    fn what_is_added_is_written_whole_and_for_every_user() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("clocks").join("node2");
        for (by_ms, text) in [(0, "+0.000\n"), (30_000, "+30.000\n"), (-1500, "-1.500\n")] {
            write_offset(&file, by_ms).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o644);
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_clock_has_moved_when_the_answer_is_nearer_to_the_new_time_however_long_it_took() {
        assert!(has_moved((29_990, 30_010), 0, 30_000) && !has_moved((-5, 5), 0, 30_000));
        assert!(!has_moved((-20_000, 30_010), 0, 30_000), "it was asked before, and answered after");
        assert!(has_moved((-210, -190), 0, -200) && !has_moved((-10, 0), 0, -200));
        assert!(has_moved((-3, 4), 30_000, 0) && !has_moved((29_990, 30_010), 30_000, 0));
    }

    #[test]
    fn a_program_below_the_library_has_its_own_settings_as_well() {
        let mut run = CommandLine::new("/bin/true");
        run.env.push(("OWN".into(), "1".into()));
        let below = ClockLibrary("/lib/x.so".into()).below(&run, Path::new("/clocks/node1"));
        let said = below.to_string();
        assert!(said.contains("OWN=1 LD_PRELOAD=/lib/x.so:libc.so.6 FAKETIME_TIMESTAMP_FILE=/clocks/node1 "), "{said}");
    }
}
