//! Charts as files: in a build that draws them, and in one that does not. The other build: `cargo test -p kvtrial-cli --test plots`.
#![allow(clippy::unwrap_used)]

mod common;

use common::Desk;

#[test]
fn a_build_draws_its_charts_as_files_or_says_how_to_have_them() {
    let desk = Desk::new();
    let ran = desk.run("fans -s lmdb --data debian-1k --no-baselines --repeats 2");
    assert_eq!(ran.status, 0, "{}", ran.said());
    let out = desk.path().join("out");
    assert!(out.join("report.html").is_file());
    let drawn = || {
        let files = out.join("plots").read_dir().into_iter().flatten();
        files.filter_map(|file| Some(file.unwrap().path().extension()?.to_str()?.to_owned())).collect::<Vec<_>>()
    };
    let is_built = cfg!(feature = "plots");
    assert_eq!((ran.stdout.contains("/plots"), !drawn().is_empty()), (is_built, is_built), "{}", ran.said());
    let _ = std::fs::remove_dir_all(out.join("plots"));
    let png = desk.kvtrial("report out --format png");
    if is_built {
        assert_eq!(png.status, 0, "{}", png.said());
        assert!(["png", "svg"].iter().all(|kind| drawn().iter().any(|it| it == kind)), "{:?}", drawn());
    } else {
        assert_eq!((png.status, png.stdout.as_str()), (2, ""), "{}", png.said());
        assert!(png.stderr.contains("build kvtrial with --features plots"), "{}", png.said());
        assert_eq!(png.stderr.lines().count(), 1, "{}", png.said());
    }
}
