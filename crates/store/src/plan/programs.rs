//! Finding a server's program on this machine and asking it for its version. Starts nothing else, touches no data.

use std::env;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// The time a program may take to state its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(5);

/// The most bytes that are read when a program prints its version.
const MAX_OUTPUT_BYTES: u64 = 64 << 10;

/// The directories of servers that an ordinary user's `PATH` leaves out.
const SYSTEM_DIRS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Returns the first of these programs that is installed; earlier names are preferred. A name is looked for on `PATH`, then in
/// `extra_dirs`, then in the system's sbin directories. In an extra directory one component may be `*`, e.g. `/usr/lib/postgresql/*/bin`:
/// the highest number there is tried first.
pub fn find(names: &[&str], extra_dirs: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let dirs: Vec<PathBuf> = env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .chain(extra_dirs.iter().flat_map(|dir| expand(dir)))
        .chain(SYSTEM_DIRS.iter().map(PathBuf::from))
        .collect();
    names.iter().find_map(|name| dirs.iter().map(|dir| dir.join(name)).find(|path| is_program(path)))
}

/// Returns the first of these users that the machine has, in its own list; a directory service is not asked.
pub fn user(names: &[&'static str]) -> Option<&'static str> {
    let list = fs::read_to_string("/etc/passwd").ok()?;
    let has = |name: &str| list.lines().any(|line| line.split(':').next() == Some(name));
    names.iter().copied().find(|name| has(name))
}

/// Returns the first line that `program args` prints (standard output, else standard error); `None` when the program cannot be started, fails, prints
/// nothing or takes longer than 5 s.
pub fn version_line(program: &Path, args: &[&str]) -> Option<String> {
    first_line_within(program, args, VERSION_TIMEOUT)
}

fn first_line_within(program: &Path, args: &[&str], timeout: Duration) -> Option<String> {
    let deadline = Instant::now() + timeout;
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Of its own, so that what it starts can be ended with it.
        .process_group(0)
        .spawn()
        .ok()?;
    let line = read_line(&mut child, deadline);
    // Ends one that hangs, and whatever it has started: a program may be a script. The group has the id of its first process until the
    // last is gone, and that first one has not been waited for, so the id is nobody else's.
    // SAFETY: killpg touches no memory.
    unsafe { libc::killpg(child.id().cast_signed(), libc::SIGKILL) };
    let _ = child.wait();
    line
}

fn read_line(child: &mut Child, deadline: Instant) -> Option<String> {
    let outputs = [collect(child.stdout.take()?), collect(child.stderr.take()?)];
    let mut texts = outputs.iter().map(|output| {
        output.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok().map(|text| first_line(&text))
    });
    let line = (texts.next()??).or(texts.next()??)?;
    loop {
        match success(child) {
            Some(success) => return success.then_some(line),
            None if Instant::now() >= deadline => return None,
            None => thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Returns whether a child that has ended did so well. The child stays to be waited for.
fn success(child: &Child) -> Option<bool> {
    // SAFETY: siginfo_t is plain data for which all zeros is valid; waitid only writes into it.
    let (result, info) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        (libc::waitid(libc::P_PID, child.id(), &mut info, flags), info)
    };
    if result != 0 {
        return Some(false);
    }
    // SAFETY: waitid has filled the fields of a child's siginfo, or left them zero: it still runs.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    (pid != 0).then_some(info.si_code == libc::CLD_EXITED && status == 0)
}

/// Reads to the end on a thread of its own: a program that hangs with its output open cannot hold us up.
fn collect(output: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut text = Vec::new();
        let _ = output.take(MAX_OUTPUT_BYTES).read_to_end(&mut text);
        let _ = sender.send(text);
    });
    receiver
}

fn first_line(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

/// Returns a directory as named, or every directory that its `*` component matches, the highest number first.
fn expand(dir: &str) -> Vec<PathBuf> {
    let Some((parent, rest)) = dir.split_once("/*") else { return vec![PathBuf::from(dir)] };
    let Ok(entries) = fs::read_dir(parent) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.sort_by_key(|path| std::cmp::Reverse(version_of(path)));
    let rest = rest.trim_start_matches('/');
    found.into_iter().map(|path| path.join(rest)).collect()
}

/// Returns the numbers in a directory's name, so that `15` comes after `9.6`.
fn version_of(path: &Path) -> Vec<u64> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::{find, first_line_within, version_line, version_of};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant};

    const SH: &str = "/bin/sh";

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("store-programs-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn install(dir: &Path, name: &str, mode: u32) {
        fs::create_dir_all(dir).unwrap();
        fs::write(dir.join(name), "#!/bin/sh\necho here\n").unwrap();
        fs::set_permissions(dir.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_first_user_there_is_is_found() {
        assert_eq!(super::user(&["no-such-user", "root", "nobody"]), Some("root"));
        assert_eq!(super::user(&["no-such-user"]), None);
    }

    #[test]
    fn a_program_on_the_path_is_found_and_the_first_name_wins() {
        assert!(find(&["sh"], &[]).unwrap().ends_with("sh"));
        assert!(find(&["no-such-program", "ls", "sh"], &[]).unwrap().ends_with("ls"));
        assert_eq!(find(&["no-such-program"], &["/no/such/dir"]), None);
    }

    #[test]
    fn only_executable_files_are_programs_and_the_highest_version_wins() {
        let dir = directory("versions");
        for version in ["9.6", "15", "2"] {
            install(&dir.join(version).join("bin"), "kvtrial-fake-server", 0o755);
        }
        install(&dir.join("16").join("bin"), "kvtrial-fake-server", 0o644);
        let pattern = format!("{}/*/bin", dir.display());
        let found = find(&["kvtrial-fake-server"], &[&pattern]);
        assert_eq!(found, Some(dir.join("15").join("bin").join("kvtrial-fake-server")));
        assert!(version_of(Path::new("/x/15")) > version_of(Path::new("/x/9.6")));
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn the_first_line_is_taken_from_standard_output_or_else_standard_error() {
        let line = |script: &str| version_line(Path::new(SH), &["-c", script]);
        assert_eq!(line("echo; echo 'v 1.2 '; echo more"), Some("v 1.2".into()));
        assert_eq!(line("echo 'v 3' >&2"), Some("v 3".into()));
        assert_eq!(line("true"), None);
        assert_eq!(line("echo broken; exit 1"), None);
        assert_eq!(version_line(Path::new("/no/such/program"), &[]), None);
    }

    #[test]
    fn a_program_that_hangs_or_floods_is_given_up() {
        let start = Instant::now();
        let timeout = Duration::from_millis(200);
        assert_eq!(first_line_within(Path::new("/bin/sleep"), &["20"], timeout), None);
        assert_eq!(first_line_within(Path::new(SH), &["-c", "echo v; exec sleep 20"], timeout), None);
        assert_eq!(first_line_within(Path::new(SH), &["-c", "while :; do echo y; done"], timeout), None);
        assert!(start.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn what_a_hanging_program_has_started_is_ended_with_it() {
        let dir = directory("children");
        let pid_file = dir.join("pid");
        let script = format!("sleep 1000 & echo $! > {}; wait", pid_file.display());
        assert_eq!(first_line_within(Path::new(SH), &["-c", &script], Duration::from_millis(500)), None);
        let pid = fs::read_to_string(&pid_file).unwrap();
        let process = Path::new("/proc").join(pid.trim());
        let is_gone = || match fs::read_to_string(process.join("stat")) {
            Ok(stat) => stat.contains(") Z "),
            Err(_) => true,
        };
        let limit = Instant::now() + Duration::from_secs(5);
        while !is_gone() {
            assert!(Instant::now() < limit, "process {} still runs", pid.trim());
            std::thread::sleep(Duration::from_millis(5));
        }
        fs::remove_dir_all(dir).unwrap();
    }
}
