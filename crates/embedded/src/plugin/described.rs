//! What a plugin says of itself. It is asked in a process of its own, so that one that crashes when it is loaded ends nothing else.

use super::abi;
use super::library::{self, Functions};
use std::ffi::CStr;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use store::{Capabilities, OperationKind};
use study::Durability;

/// The seconds that a plugin may take to be loaded.
const PATIENCE_S: u32 = 10;

/// The last line of a description: before it the process may have died.
const END: &str = ".";

/// What precedes a problem in the place of a description.
const PROBLEM: &str = "problem";

/// The functions that a plugin may lack, and what they are for a job. Where one stands is its bit.
const OPTIONAL: [OperationKind; 3] = [OperationKind::Append, OperationKind::Scan, OperationKind::PutMany];

/// What a plugin says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The product.
    pub name: String,
    /// Its version.
    pub version: String,
    levels: u32,
    optional: u32,
    max_key_bytes: u64,
    max_value_bytes: u64,
    /// Its options: name, meaning and the value where the user gives none.
    pub options: Vec<[String; 3]>,
}

impl Described {
    /// Reads the table of a plugin.
    pub fn of(functions: &Functions) -> Described {
        let table = functions.table;
        let has = [functions.append.is_some(), functions.scan.is_some(), functions.batch.is_some()];
        // SAFETY: the words of a table end with a zero and stay as they are.
        let words = |text| unsafe { library::words(text) }.unwrap_or_default();
        let mut options = Vec::new();
        let mut next = table.options;
        // SAFETY: the options end with one whose name is NULL.
        while let Some(option) = unsafe { next.as_ref() }.filter(|option| !option.name.is_null()) {
            options.push([words(option.name), words(option.help), words(option.usual)]);
            // SAFETY: another one follows.
            next = unsafe { next.add(1) };
        }
        Described {
            name: words(table.name),
            version: words(table.version),
            levels: table.levels,
            optional: has.iter().rev().fold(0, |bits, has| bits << 1 | u32::from(*has)),
            max_key_bytes: table.max_key_bytes,
            max_value_bytes: table.max_value_bytes,
            options,
        }
    }

    /// Returns the levels that the plugin has, its default first.
    ///
    /// # Errors
    /// It has none.
    pub fn levels(&self) -> Result<Vec<Durability>, String> {
        let has = |level: &Durability| self.levels & bit(*level) != 0;
        let mut levels: Vec<Durability> = WEAKEST_FIRST.into_iter().filter(has).collect();
        // As of every embedded store.
        levels.sort_by_key(|level| *level != Durability::Os);
        if levels.is_empty() {
            Err("it has no level of durability; set levels, to KVTRIAL_NONE at least".into())
        } else {
            Ok(levels)
        }
    }

    /// Returns what a store of this plugin can do at a level.
    pub fn capabilities(&self, durability: Durability) -> Capabilities {
        let basic = Capabilities::BASIC;
        let has = OPTIONAL.iter().enumerate().filter(|(bit, _)| self.optional & 1 << bit != 0);
        let limit = |own: u64, usual: usize| if own == 0 { usual } else { usize::try_from(own).unwrap_or(usize::MAX) };
        Capabilities {
            native: has.fold(basic.native, |native, (_, kind)| native.and(&[*kind])),
            max_key_bytes: limit(self.max_key_bytes, basic.max_key_bytes),
            max_value_bytes: limit(self.max_value_bytes, basic.max_value_bytes),
            value_limit_is_hard: self.max_value_bytes != 0,
            durability,
            ..basic
        }
    }

    fn lines(&self) -> Vec<String> {
        let numbers = [u64::from(self.levels), u64::from(self.optional), self.max_key_bytes, self.max_value_bytes];
        let options = self.options.iter().flatten().cloned();
        let own = [self.name.clone(), self.version.clone()].into_iter();
        own.chain(numbers.iter().map(u64::to_string)).chain(options).collect()
    }

    fn read(lines: &[String]) -> Option<Described> {
        let [name, version, levels, optional, max_key_bytes, max_value_bytes, options @ ..] = lines else {
            return None;
        };
        Some(Described {
            name: name.clone(),
            version: version.clone(),
            levels: levels.parse().ok()?,
            optional: optional.parse().ok()?,
            max_key_bytes: max_key_bytes.parse().ok()?,
            max_value_bytes: max_value_bytes.parse().ok()?,
            options: options.as_chunks().0.to_vec(),
        })
    }
}

const WEAKEST_FIRST: [Durability; 4] = [Durability::None, Durability::Os, Durability::Second, Durability::Commit];

/// Returns a level as kvtrial.h has it.
pub fn bit(level: Durability) -> u32 {
    let place = WEAKEST_FIRST.iter().position(|known| *known == level).unwrap_or_default();
    abi::LEVELS[place]
}

/// Asks a plugin what it is. This process does not load it.
///
/// # Errors
/// The library cannot be loaded, is no plugin, or ends the process that loads it.
pub fn ask(path: &Path) -> Result<Described, String> {
    let failed = |error: std::io::Error| format!("no process can be made to load it: {error}");
    let (reader, writer) = std::io::pipe().map_err(failed)?;
    // SAFETY: the child allocates and loads a library, for which the C library makes a process ready that was forked while other threads
    // run; it takes no lock of kvtrial's or of Rust's, and ends by `_exit`.
    match unsafe { libc::fork() } {
        -1 => Err(failed(std::io::Error::last_os_error())),
        0 => answer(path, writer),
        child => {
            drop(writer);
            let lines = hear(reader);
            let ending = wait(child);
            match lines.as_deref() {
                Some([first, words]) if first == PROBLEM => Err(words.clone()),
                Some(lines) => Described::read(lines).ok_or_else(|| ending.clone()),
                None => Err(ending),
            }
        }
    }
}

/// Says what the plugin is, in the child.
fn answer(path: &Path, mut writer: PipeWriter) -> ! {
    // SAFETY: these calls only change this process: a crash leaves no core file, and one that hangs ends.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &libc::rlimit { rlim_cur: 0, rlim_max: 0 });
        libc::signal(libc::SIGALRM, libc::SIG_DFL);
        libc::alarm(PATIENCE_S);
    }
    let said = catch_unwind(AssertUnwindSafe(|| {
        let lines = match library::load(path) {
            Ok(functions) => Described::of(&functions).lines(),
            Err(problem) => vec![PROBLEM.to_owned(), problem.replace('\n', " ")],
        };
        writer.write_all(format!("{}\n{END}\n", lines.join("\n")).as_bytes())
    }));
    // SAFETY: ends the process at once: what libraries do at exit is none of kvtrial's.
    unsafe { libc::_exit(i32::from(!matches!(said, Ok(Ok(()))))) }
}

/// The lines of the child; `None`: it ended before the last.
fn hear(reader: PipeReader) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    for line in BufReader::new(reader).lines() {
        match line.ok()? {
            line if line == END => return Some(lines),
            line => lines.push(line),
        }
    }
    None
}

/// Waits for the child, and says how it ended.
fn wait(child: libc::pid_t) -> String {
    let mut status = 0;
    // SAFETY: the child is this process's, and `status` is a place for the answer.
    while unsafe { libc::waitpid(child, &mut status, 0) } == -1
        && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
    {}
    if !libc::WIFSIGNALED(status) {
        return format!("it ended the process that loaded it, with status {}", libc::WEXITSTATUS(status));
    }
    let signal = libc::WTERMSIG(status);
    if signal == libc::SIGALRM {
        return format!("it was not loaded within {PATIENCE_S} s");
    }
    // SAFETY: the words on a signal are there until the next call of this thread.
    let words = unsafe { CStr::from_ptr(libc::strsignal(signal)) }.to_string_lossy().into_owned();
    format!("it ended the process that loaded it: {words} (signal {signal})")
}
