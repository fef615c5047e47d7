//! Other users of the machine, while a private server runs: none gets in, and none can read what would let him in.
//!
//! A stranger is a thread of this test that has become `nobody`, which only root's can: for anybody else the part that needs it is
//! said to be left out.
#![cfg(all(feature = "mysql", feature = "postgres", feature = "mongodb", feature = "couchdb", feature = "etcd"))]
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use host::OpenStore;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use store::{Endpoint, Opener};
use study::{Secret, Spec};
use tempfile::TempDir;

const NOBODY: libc::c_long = 65534;

/// A private server in a base of its own.
struct Private {
    open: OpenStore,
    base: TempDir,
}

impl Private {
    fn start(name: &str) -> Private {
        let passable = Permissions::from_mode(0o755);
        let base = tempfile::Builder::new().prefix("strangers-").permissions(passable).tempdir().unwrap();
        let open = host::open(info(name), &Spec::private(name), base.path());
        Private { open: open.unwrap_or_else(|error| panic!("{error}")), base }
    }

    fn endpoint(&self) -> &Endpoint {
        self.open.endpoint().unwrap()
    }

    /// Everything below the base.
    fn paths(&self) -> Vec<PathBuf> {
        let mut found = vec![self.base.path().to_owned()];
        let mut at = 0;
        while at < found.len() {
            if found[at].is_dir() && !found[at].is_symlink() {
                found.extend(std::fs::read_dir(&found[at]).unwrap().map(|entry| entry.unwrap().path()));
            }
            at += 1;
        }
        found.split_off(1)
    }
}

fn info(name: &str) -> &'static store::StoreInfo {
    kvtrial_catalog::find(name).unwrap()
}

/// Does something as `nobody`; `None` when this test may not become nobody.
fn as_a_stranger<T: Send>(deed: impl FnOnce() -> T + Send) -> Option<T> {
    // SAFETY: the call has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("not tried as another user: only root can become one");
        return None;
    }
    let become_nobody = || {
        // SAFETY: these calls touch no memory. As bare system calls they change this thread only, which ends with the deed.
        unsafe {
            assert_eq!(libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<libc::gid_t>()), 0);
            assert_eq!(libc::syscall(libc::SYS_setresgid, NOBODY, NOBODY, NOBODY), 0);
            assert_eq!(libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY), 0);
        }
        deed()
    };
    std::thread::scope(|scope| Some(scope.spawn(become_nobody).join().unwrap()))
}

/// Connects as the adapter does; the refusal in the server's words, or `None`: it let us in.
fn refusal(name: &str, endpoint: &Endpoint) -> Option<String> {
    let Opener::Server { connect, .. } = info(name).opener else { panic!("{name} is no server") };
    connect(&Spec::private(name), std::slice::from_ref(endpoint)).err().map(|error| error.to_string())
}

/// Without a password, with an empty one, with a wrong one, as everybody the server may know.
fn gets_in_nowhere(name: &str, users: &[Option<&str>], words: &[&str]) {
    let private = Private::start(name);
    let endpoint = private.endpoint();
    assert_eq!(refusal(name, endpoint), None, "{name}: who has the password gets in");
    let try_all = || {
        for user in users.iter().copied().chain([endpoint.user.as_deref()]) {
            for password in [None, Some(""), Some("kvtrial"), Some("password")] {
                let (user, password) = (user.map(str::to_owned), password.map(Secret::new));
                let attempt = Endpoint { user, password, ..endpoint.clone() };
                let said = refusal(name, &attempt).unwrap_or_else(|| panic!("{name} let {attempt:?} in"));
                assert!(words.iter().any(|word| said.contains(word)), "{name}, {attempt:?}: {said}");
            }
        }
    };
    try_all();
    as_a_stranger(try_all);
    can_read_nothing(&private);
}

fn can_read_nothing(private: &Private) {
    let paths = private.paths();
    assert!(paths.len() > 2, "{paths:?}");
    as_a_stranger(|| {
        for path in &paths {
            assert!(std::fs::read_dir(path).is_err(), "{} can be listed", path.display());
            assert!(std::fs::read(path).is_err(), "{} can be read", path.display());
            assert!(UnixStream::connect(path).is_err(), "{} can be connected to", path.display());
        }
    });
    let Some(password) = &private.endpoint().password else { return };
    let is_shown =
        |text: &[u8]| text.windows(password.reveal().len()).any(|window| window == password.reveal().as_bytes());
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        assert!(!is_shown(&arguments), "{}", String::from_utf8_lossy(&arguments));
    }
    assert!(!is_shown(private.open.log_end().as_bytes()), "{}", private.open.log_end());
    assert!(!format!("{:?} {}", private.endpoint(), private.endpoint()).contains(password.reveal()));
    let facts = private.open.store().facts().unwrap();
    assert!(!format!("{facts:?}").contains(password.reveal()));
    // What a server writes has the mode it likes; nobody passes through to it.
    let written_for_it = |path: &&PathBuf| path.is_file() && !path.ends_with("server.log");
    for path in paths.iter().filter(written_for_it).filter(|path| is_shown(&std::fs::read(path).unwrap())) {
        assert_eq!(mode(path) & 0o077, 0, "{} holds the password", path.display());
    }
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode()
}

#[test]
fn no_stranger_gets_into_postgresql() {
    gets_in_nowhere("postgres", &[None, Some("postgres"), Some("root"), Some("nobody")], &["password"]);
}

#[test]
fn no_stranger_gets_into_mariadb() {
    gets_in_nowhere("mysql", &[None, Some("root"), Some("mysql"), Some("")], &["Access denied"]);
}

#[test]
fn no_stranger_gets_into_mariadb_by_handlersocket() {
    gets_in_nowhere("handlersocket", &[None], &["unauth"]);
}

#[test]
fn no_stranger_gets_into_redis() {
    gets_in_nowhere("redis", &[None, Some("default"), Some("root")], &["NOAUTH", "WRONGPASS", "ERR AUTH"]);
}

#[test]
fn no_stranger_gets_into_etcd() {
    let words = ["user name is empty", "authentication failed"];
    gets_in_nowhere("etcd", &[None, Some(""), Some("kvtrial")], &words);
}

#[test]
fn no_stranger_gets_into_pouchdb() {
    gets_in_nowhere("couchdb", &[None, Some(""), Some("root"), Some("admin")], &["unauthorized"]);
}

#[test]
fn no_stranger_gets_into_ferretdb() {
    let words = ["requires authentication", "Authentication failed", "no password supplied", "username"];
    gets_in_nowhere("mongodb", &[None, Some(""), Some("root"), Some("admin")], &words);
}

#[test]
fn no_stranger_passes_through_to_a_unix_socket() {
    for name in ["postgres-unix", "mysql-unix", "redis-unix", "memcached-unix", "mongodb-unix"] {
        let private = Private::start(name);
        let study::Address::Unix(socket) = &private.endpoint().address else { panic!("{name}") };
        assert!(UnixStream::connect(socket).is_ok(), "{name}: who may pass can connect");
        can_read_nothing(&private);
    }
}

/// The users a process runs as.
fn uids(pid: i32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap().trim().to_owned()
}

#[test]
fn memcached_is_not_root() {
    // SAFETY: the call has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("not tried: only root's memcached could be root");
        return;
    }
    for name in ["memcached", "memcached-unix"] {
        let private = Private::start(name);
        let uids = uids(private.open.server_pid().unwrap());
        assert!(uids.split_whitespace().all(|uid| uid != "0"), "{name}: {uids}");
    }
}

#[test]
fn mariadb_is_not_root_and_its_statements_reach_no_file() {
    // SAFETY: the call has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("not tried: only root's MariaDB could be root");
        return;
    }
    for name in ["mysql", "handlersocket"] {
        let private = Private::start(name);
        let uids = uids(private.open.server_pid().unwrap());
        assert!(uids.split_whitespace().all(|uid| uid != "0"), "{name}: {uids}");
        let socket =
            private.paths().into_iter().find(|path| path.extension().is_some_and(|end| end == "sock")).unwrap();
        let target = private.base.path().join("written");
        let password = private.endpoint().password.as_ref().unwrap().reveal();
        let statement = |text: &str| {
            let mut client = std::process::Command::new("mariadb");
            client.args(["--no-defaults", "-ukvtrial", "-N", "-B", "-S"]).arg(&socket).args(["-e", text]);
            let output = client.env("MYSQL_PWD", password).output().unwrap();
            String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
        };
        let said = statement(&format!("SELECT 'x' INTO OUTFILE '{}'", target.display()));
        assert!(said.contains("Access denied") && !target.exists(), "{name}: {said}");
        let said = statement("SELECT @@secure_file_priv, LOAD_FILE('/etc/passwd')");
        assert!(said.contains("/nowhere/\tNULL"), "{name}: {said}");
        let said = statement("SELECT user FROM mysql.user");
        assert!(said.contains("denied"), "{name}: {said}");
    }
}

#[test]
fn a_server_that_others_can_use_says_so() {
    for (name, is_open) in
        [("memcached", true), ("memcached-unix", false), ("redis", false), ("etcd", false), ("couchdb", false)]
    {
        let facts = Private::start(name).open.facts().unwrap();
        assert_eq!(facts.config.get("access").is_some_and(|text| text.starts_with("any user")), is_open, "{name}");
    }
}
