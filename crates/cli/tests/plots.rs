//! Charts as files: in a build that draws them, and in one that does not. The other build: `cargo test -p kvtrial-cli --test plots`.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Desk, Ran};

/// Runs a job into `out`, with pictures.
fn run_with_pictures(desk: &Desk, words: &str) -> Ran {
    let mut command = desk.command(&format!("run {words} --out out"));
    desk.finished(command.env_remove("KVTRIAL_PLOTS").output().unwrap())
}

#[test]
fn a_build_draws_its_charts_as_files_or_says_how_to_have_them() {
    let desk = Desk::new();
    let ran = run_with_pictures(&desk, "fans -s lmdb --data debian-1k --no-baselines --repeats 2");
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

#[test]
#[cfg(feature = "plots")]
fn every_job_has_its_pictures_and_none_where_the_user_wants_none() {
    let jobs: [(&str, &str, &str); 10] = [
        ("ycsb", "ram", "--set records=300 --set operations=2000 --rate 20000"),
        ("crud", "ram", "--set rows=400"),
        ("bulk", "ram", "--data gen:400:7"),
        ("append", "ram", "--data gen:400:7"),
        ("counts", "ram", "--data gen:200:7"),
        ("fans", "ram", "--data gen:40:7"),
        ("grow", "ram", "--set items=4000 --set value=100"),
        ("events", "ram", "--set events=1000"),
        ("sets", "ram", "--set ids=300"),
        ("nodes", "redis-unix,nodes=2", "--set records=200 --set operations=250"),
    ];
    for (job, store, words) in jobs {
        let desk = Desk::new();
        let words = common::once(job, store, &[words]);
        let ran = run_with_pictures(&desk, &words);
        let pictures = desk.path().join("out/plots").read_dir().unwrap().count();
        assert!(ran.status == 0 && pictures >= 4 && ran.stdout.contains("/plots"), "{job}: {pictures}\n{}", ran.said());
        let desk = Desk::new();
        let ran = desk.run(&words);
        assert!(ran.status == 0 && !desk.path().join("out/plots").exists(), "{job}\n{}", ran.said());
        assert!(!ran.stdout.contains("/plots"), "{job}\n{}", ran.said());
    }
}
