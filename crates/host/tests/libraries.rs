//! Embedded stores: a private directory, or the user's own.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod support;

use kvtrial_host as host;
use std::path::Path;
use store::{Opener, Store, StoreError, StoreInfo};
use study::Spec;
use support::{Answering, base, names_in};

static LIBRARY: StoreInfo = StoreInfo { opener: Opener::Embedded(open_files), ..support::REDIS };
static BROKEN: StoreInfo = StoreInfo { opener: Opener::Embedded(break_off), ..support::REDIS };

fn open_files(_: &Spec, path: &Path) -> Result<Box<dyn Store>, StoreError> {
    std::fs::create_dir_all(path.join("deep")).unwrap();
    std::fs::write(path.join("deep/data"), vec![7; 100_000]).unwrap();
    Ok(Box::new(Answering))
}

fn break_off(_: &Spec, path: &Path) -> Result<Box<dyn Store>, StoreError> {
    std::fs::write(path.join("half"), "x").unwrap();
    Err(StoreError::open(path.display(), "broken"))
}

#[test]
fn a_private_directory_is_measured_and_removed() {
    let base = base();
    let opened = host::open(&LIBRARY, &Spec::private("library"), base.path()).unwrap();
    assert_eq!(names_in(base.path()).len(), 1);
    assert!(opened.disk_bytes().unwrap() >= 100_000);
    assert!(opened.usage().is_none() && opened.is_alive() && opened.log_end().is_empty());
    opened.close().unwrap();
    assert_eq!(names_in(base.path()), [""; 0]);
}

#[test]
fn a_private_directory_is_removed_when_opening_fails_and_when_the_trial_panics() {
    let base = base();
    host::open(&BROKEN, &Spec::private("library"), base.path()).unwrap_err();
    assert_eq!(names_in(base.path()), [""; 0]);
    let path = base.path().to_owned();
    let trial = std::thread::spawn(move || {
        let _opened = host::open(&LIBRARY, &Spec::private("library"), &path).unwrap();
        assert_eq!(names_in(&path).len(), 1);
        panic!("a trial that fails");
    });
    trial.join().unwrap_err();
    assert_eq!(names_in(base.path()), [""; 0]);
}

#[test]
fn the_user_s_own_files_are_never_removed() {
    let base = base();
    let own = base.path().join("own");
    let spec = format!("library:{}", own.display()).parse().unwrap();
    let opened = host::open(&LIBRARY, &spec, Path::new("/no/such/base")).unwrap();
    assert_eq!(opened.disk_bytes(), None);
    opened.close().unwrap();
    assert_eq!(names_in(&own), ["deep"]);
    let message = host::open(&LIBRARY, &"library://localhost".parse().unwrap(), base.path()).unwrap_err().to_string();
    assert!(message.contains("it is a library"), "{message}");
}
