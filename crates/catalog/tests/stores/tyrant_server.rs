//! The Tyrant stores as users have them: `ttserver` is found on PATH, started by its plan, and connected to. Here `ttserver` is
//! the test server, which says so. PATH belongs to the whole process, so the test runs itself once more with another one.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::process::{Child, Command, Stdio};
use store::OwnedReply;
use store::{Availability, Opener, Place, ServerPlan, Store, StoreError};
use study::Spec;
use tempfile::TempDir;
use testkit::Client;
use testkit::replies::value;
use testkit::waiting::soon;

/// Set for the tests that are run with a PATH of their own; without it they have nothing to say.
const CHILD: &str = "KVTRIAL_TYRANT_CHILD";

fn with_path(path: &std::path::Path, test: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("tyrant_server::{test}"), "--ignored", "--nocapture"])
        .env("PATH", path)
        .env(CHILD, "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
fn a_server_found_on_path_is_started_spoken_to_and_stopped() {
    let path = TempDir::with_prefix("kvtrial-path-").unwrap();
    testkit::tyrant_server::install(path.path()).unwrap();
    with_path(path.path(), "child_starts_what_it_finds");
}

#[test]
fn without_a_server_the_message_says_how_to_get_one() {
    let path = TempDir::with_prefix("kvtrial-path-").unwrap();
    with_path(path.path(), "child_finds_nothing");
}

#[test]
#[ignore = "run by another test, with its own PATH"]
fn child_finds_nothing() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    for name in ["tyrant", "tyrant-unix"] {
        let info = kvtrial_catalog::find(name).unwrap();
        assert_eq!(info.probe(), Availability::NotFound("ttserver".into()));
        let Opener::Server { plan, .. } = info.opener else { panic!("{name}") };
        let error = plan(&Spec::private(name), &mut Place::on_paper(false)).unwrap_err();
        assert!(matches!(error, StoreError::NotFound { .. }), "{error:?}");
        assert!(error.to_string().contains("put ttserver on PATH"), "{error}");
    }
}

#[test]
#[ignore = "run by another test, with its own PATH"]
fn child_starts_what_it_finds() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    for name in ["tyrant", "tyrant-unix"] {
        let info = kvtrial_catalog::find(name).unwrap();
        let Availability::Found(found) = info.probe() else { panic!("{name} is not found") };
        assert!(found.starts_with("kvtrial test server"), "it must not pass for Tyrant: {found}");
        let Opener::Server { plan, connect, .. } = info.opener else { panic!("{name}") };
        let directory = TempDir::with_prefix("kvtrial-tyrant-").unwrap();
        let spec: Spec = format!("{name},bnum=1000").parse().unwrap();
        layers::check(info, &spec).unwrap();
        let free = || Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port());
        let mut place = Place::new(directory.path(), false, study::Secret::new("tulip"), free);
        let plan = plan(&spec, &mut place).unwrap().nodes.remove(0).plan;
        let mut server = start(&plan);
        let store = ready(|| connect(&spec, std::slice::from_ref(&plan.endpoint)));
        let mut client = Client::of(&*store);
        assert_eq!(client.put("k", "v"), OwnedReply::Done);
        assert_eq!(client.get("k"), value("v"));
        stop(&plan, &mut server);
        assert!(directory.path().join("casket.tch").is_file());
        // Started again over the same file, it still has what an orderly end closed.
        let mut server = start(&plan);
        let store = ready(|| connect(&spec, std::slice::from_ref(&plan.endpoint)));
        assert_eq!(Client::of(&*store).get("k"), value("v"));
        stop(&plan, &mut server);
    }
}

fn start(plan: &ServerPlan) -> Child {
    Command::new(&plan.run.program).args(&plan.run.args).stdin(Stdio::null()).spawn().unwrap()
}

fn ready(connect: impl Fn() -> Result<Box<dyn Store>, StoreError>) -> Box<dyn Store> {
    soon("the server answers", || connect().ok())
}

fn stop(plan: &ServerPlan, server: &mut Child) {
    // SAFETY: the process is our own child and has not been waited for.
    assert_eq!(unsafe { libc::kill(server.id() as i32, plan.stop_signal) }, 0);
    assert!(server.wait().unwrap().success());
}
