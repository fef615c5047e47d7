//! The start of one server: plain data, written by adapters, executed by the `host` crate.

use crate::Endpoint;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// A program with its arguments and environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The program.
    pub program: PathBuf,
    /// The arguments of the command.
    pub args: Vec<OsString>,
    /// The environment variables that are set in addition to a minimal environment.
    pub env: Vec<(String, String)>,
}

impl CommandLine {
    /// Makes a command line of a program without arguments.
    pub fn new(program: impl Into<PathBuf>) -> CommandLine {
        CommandLine { program: program.into(), args: Vec::new(), env: Vec::new() }
    }

    /// Adds one argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> CommandLine {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> CommandLine {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }
}

/// As a shell reads it.
impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.env.is_empty() {
            write!(f, "env ")?;
        }
        self.env.iter().try_for_each(|(name, value)| write!(f, "{name}={} ", shell_word(value)))?;
        write!(f, "{}", shell_word(&self.program.to_string_lossy()))?;
        self.args.iter().try_for_each(|arg| write!(f, " {}", shell_word(&arg.to_string_lossy())))
    }
}

/// Returns a word as a shell reads it, in quotes where needed.
fn shell_word(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The plan by which one server is started. The program stays in the foreground (no daemon mode), so that it dies with kvtrial.
#[derive(Clone)]
pub struct ServerPlan {
    /// The directories below the server's directory that are made first (owned by `user` when set).
    pub directories: Vec<PathBuf>,
    /// The files that are written then, below the server's directory, with their contents: a configuration, a script of SQL. Nobody but the user who
    /// runs the server can read the files, and they are never printed: passwords are in some.
    pub files: Vec<(PathBuf, String)>,
    /// The commands that run to their end before the server, e.g. `initdb`.
    pub prepare: Vec<CommandLine>,
    /// The command line of the server.
    pub run: CommandLine,
    /// The endpoint on which the server will listen.
    pub endpoint: Endpoint,
    /// The ordinary user that the server runs as when kvtrial runs as root, e.g. `postgres`; `None`: kvtrial's own user.
    pub user: Option<&'static str>,
    /// The server's own log below the server's directory, shown when it does not start. The server's output is captured anyway.
    pub log: Option<PathBuf>,
    /// The longest time until the server answers.
    pub start_timeout: Duration,
    /// The signal that asks the server to end (then SIGKILL after 10 s).
    pub stop_signal: i32,
}

impl ServerPlan {
    /// Makes the plan of a server that needs nothing made or run before it, runs as kvtrial's user, answers within 10 s and ends at SIGTERM.
    pub fn new(run: CommandLine, endpoint: Endpoint) -> ServerPlan {
        ServerPlan {
            directories: Vec::new(),
            files: Vec::new(),
            prepare: Vec::new(),
            run,
            endpoint,
            user: None,
            log: None,
            start_timeout: Duration::from_secs(10),
            stop_signal: libc::SIGTERM,
        }
    }
}

impl fmt::Debug for ServerPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files: Vec<_> = self.files.iter().map(|(path, _)| path).collect();
        f.debug_struct("ServerPlan")
            .field("prepare", &self.prepare)
            .field("run", &self.run)
            .field("files", &files)
            .field("endpoint", &self.endpoint)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::CommandLine;

    #[test]
    fn a_command_line_is_written_as_a_shell_reads_it() {
        let mut line = CommandLine::new("/bin/server").args(["--save", "", "--name", "it's here", "--port=1"]);
        line.env.push(("HEAP".into(), "1 GB".into()));
        assert_eq!(line.to_string(), r"env HEAP='1 GB' /bin/server --save '' --name 'it'\''s here' --port=1");
    }
}
