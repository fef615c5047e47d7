//! Exit status, and the message of a command that failed.

use runner::{RequestError, Room, RunError};

/// All cells valid or degraded.
pub const GOOD: u8 = 0;
/// Some cell is void or was not run, some check failed, or a `--need` is not shown to be met.
pub const VOID: u8 = 1;
/// Bad usage or input.
pub const USAGE: u8 = 2;
/// A condition of `--fail-if` is broken, or a promise of durability that was kept before.
pub const REGRESSION: u8 = 3;
/// Host or client could not be trusted (`--strict`).
pub const UNTRUSTED: u8 = 4;
/// Interrupted.
pub const INTERRUPTED: u8 = 130;

/// The meaning of each status, for help and manual.
pub const MEANINGS: [(u8, &str); 6] = [
    (GOOD, "all cells valid or degraded"),
    (VOID, "some cell void or not run, some check failed, or a --need not shown to be met"),
    (USAGE, "bad usage or input"),
    (REGRESSION, "a --fail-if is broken, or a promise of durability that was kept before"),
    (UNTRUSTED, "some cell degraded or self-test failed, with --strict"),
    (INTERRUPTED, "interrupted"),
];

/// Returns the same in a line.
pub fn meanings() -> String {
    let each: Vec<String> = MEANINGS.iter().map(|(status, meaning)| format!("{status} {meaning}")).collect();
    format!("Exit status: {}.", each.join("; "))
}

/// A command that failed.
#[derive(Debug)]
pub struct CommandFailure {
    /// A sentence on what happened and what to do.
    pub message: String,
    /// The exit status.
    pub status: u8,
}

impl CommandFailure {
    /// Makes the failure of bad usage or input.
    pub fn usage(message: impl ToString) -> CommandFailure {
        CommandFailure { message: message.to_string(), status: USAGE }
    }
}

impl CommandFailure {
    /// Makes a store that died, or has no answer, fails the check; everything else is for the user to fix.
    pub fn of(error: RunError) -> CommandFailure {
        let status = if matches!(error, RunError::Broken { .. } | RunError::Answer(_)) { VOID } else { USAGE };
        CommandFailure { message: error.to_string(), status }
    }

    /// Makes the failure of a request that cannot be met.
    pub fn of_request(error: RequestError) -> CommandFailure {
        let RequestError::NoRoom(store, shortage) = &error else {
            return CommandFailure::usage(error);
        };
        let (what, remedy) = match shortage.room {
            Room::Memory => ("memory", "free some memory"),
            Room::Disk => ("disk", "name a larger disk with --base DIR"),
        };
        let [needed, data, books, free] =
            [shortage.needed_bytes(), shortage.data_bytes, shortage.books_bytes, shortage.free_bytes]
                .map(words::units::bytes);
        let parts = match (shortage.data_bytes, shortage.books_bytes) {
            (_, 0) => format!("the job leaves at least {data} of keys and values"),
            (0, _) => format!("kvtrial needs {books} of memory for what it knows of each key, to check every reply"),
            _ => format!(
                "the job needs at least {needed} of memory ({data} of keys and values, {books} for what kvtrial knows of each key, to check \
                 every reply)"
            ),
        };
        CommandFailure::usage(format!(
            "-s {store}: {parts}, and {free} of {what} are free; make it smaller (--set, --data, --scale), or {remedy}"
        ))
    }
}

/// What a library refuses before anything is measured, the user can fix.
impl<E: std::error::Error> From<E> for CommandFailure {
    fn from(error: E) -> CommandFailure {
        CommandFailure::usage(error)
    }
}
