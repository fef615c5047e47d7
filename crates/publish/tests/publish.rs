//! Studies that may be published, and studies that may not, with the reason.
#![allow(clippy::unwrap_used)]

use publish::{Added, Objection, OwnNames, Repository, Rerun, StudyMark, cleaned, objections, verification_of, verify};
use std::time::Duration;
use study::{
    Answer, Cell, Class, Histogram, HostFacts, LatencyDistributions, Noise, PhaseRecord, Proof, Reason, ReasonKind,
    SCHEMA, Selftest, Study, Tolerance, TrialRecord, Verdict,
};
use tempfile::TempDir;

/// A trial as the runner records it: all its figures follow from its one phase.
fn trial(order: u32, elapsed_s: f64) -> TrialRecord {
    let mut histogram = Histogram::default();
    (0..1_000u64).for_each(|number| histogram.record(20_000 + number * 977 % 40_000));
    let distributions = LatencyDistributions {
        by_operation: [("get".to_owned(), histogram.distribution())].into(),
        ..LatencyDistributions::default()
    };
    let phase = PhaseRecord {
        name: "run".into(),
        timed: true,
        elapsed_s,
        operations: 1_000,
        records: 1_000,
        response_ns: histogram.summary(),
        distributions: distributions.clone(),
        ..PhaseRecord::default()
    };
    TrialRecord {
        order,
        started_at: format!("2026-11-20T10:{:02}:{:02}Z", order / 30, order % 30 * 2),
        makespan_s: elapsed_s,
        operations: 1_000,
        failed_operations: Some(0),
        ops_per_s: 1_000.0 / elapsed_s,
        latency_ns: LatencyDistributions::together([&distributions]).unwrap(),
        phases: vec![phase],
        answer: Answer { digest: "sha256:1".into(), ..Answer::default() },
        verdict: Verdict::of([]),
        ..TrialRecord::default()
    }
}

fn cell(store: &str, first_order: u32, typical_s: f64) -> Cell {
    let shares = [0.98, 0.99, 1.0, 1.01, 1.02];
    let trials = shares.iter().zip(first_order..).map(|(share, order)| trial(order, typical_s * share));
    let mut cell = Cell {
        job: "ycsb".into(),
        store: store.into(),
        class: Class::Embedded,
        product: store.to_uppercase(),
        store_version: "1.2.3".into(),
        trials: trials.collect(),
        ..Cell::default()
    };
    analysis::summarise(&mut cell);
    cell
}

/// A study as `kvtrial run ycsb -s lmdb -s sqlite -s redb` leaves it.
fn right() -> Study {
    let proof = Proof {
        name: "stall_p99".into(),
        passed: true,
        measured: Some(1.0),
        bound: Tolerance::at_most(2.0),
        ..Proof::default()
    };
    Study {
        schema: SCHEMA,
        kvtrial: "0.1.0".into(),
        command: "kvtrial run ycsb -s lmdb -s sqlite -s redb --set workload=B --out /home/annika/x"
            .split(' ')
            .map(str::to_owned)
            .collect(),
        seed: 42,
        started_at: "2026-11-20T10:00:00Z".into(),
        repeats: 5,
        host: HostFacts {
            kernel: "Linux 6.18".into(),
            cpu: "AMD EPYC".into(),
            cpus: 2,
            memory_bytes: 24 << 30,
            filesystem: Some("ext4".into()),
            directory: "/home/annika/tmp".into(),
            clock: "tsc".into(),
            ..HostFacts::default()
        },
        selftest: Some(Selftest { passed: true, proofs: vec![proof], ..Selftest::default() }),
        cells: vec![cell("lmdb", 1, 1.0), cell("sqlite", 6, 2.0), cell("redb", 11, 3.0)],
        ..Study::default()
    }
}

fn own() -> OwnNames {
    OwnNames { user: "annika".into(), host: "tulip7".into(), home: "/home/annika".into() }
}

/// What is said against a right study after this change.
fn said_of(change: impl FnOnce(&mut Study)) -> Vec<Objection> {
    let mut study = cleaned(&right(), &own());
    change(&mut study);
    objections(&study, SCHEMA, &own())
}

fn words_of(change: impl FnOnce(&mut Study)) -> String {
    let said = said_of(change);
    assert!(!said.is_empty(), "nothing is said against it");
    said.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_study_as_it_was_measured_is_published_without_the_paths_of_its_author() {
    let study = cleaned(&right(), &own());
    assert_eq!(objections(&study, SCHEMA, &own()), []);
    assert_eq!(study.command.join(" "), "kvtrial run ycsb -s lmdb -s sqlite -s redb --set workload=B");
    assert_eq!(study.host.directory, "~/tmp");
    assert_eq!(study.cells, right().cells, "no figure is touched");
}

#[test]
fn a_figure_changed_by_hand_is_refused_and_named_wherever_it_stands() {
    let changes: [(&str, fn(&mut Study)); 9] = [
        ("makespan_s.value", |study| study.cells[0].makespan_s.as_mut().unwrap().value *= 0.9),
        ("ops_per_s.high", |study| study.cells[1].ops_per_s.as_mut().unwrap().high *= 1.01),
        ("p99_ns.value", |study| study.cells[0].p99_ns.as_mut().unwrap().value /= 2.0),
        ("latency_ns.response.p50", |study| study.cells[2].latency_ns.response.p50 -= 1),
        ("verdict.status", |study| {
            study.cells[0].verdict =
                Verdict::not_run(Reason { kind: ReasonKind::NoTrial, count: 1, example: String::new() })
        }),
        ("trial 3.makespan_s", |study| study.cells[0].trials[2].makespan_s *= 0.5),
        ("trial 6.ops_per_s", |study| study.cells[1].trials[0].ops_per_s *= 2.0),
        ("trial 1.operations", |study| study.cells[0].trials[0].operations = 2_000),
        ("trial 2.latency_ns", |study| study.cells[0].trials[1].latency_ns.response.p99 = 1),
    ];
    for (place, change) in changes {
        let words = words_of(change);
        assert!(words.contains(place) && words.contains("the trials make"), "{place}: {words}");
    }
}

#[test]
fn trials_whose_faults_were_wiped_away_are_refused_although_their_figures_add_up() {
    let busy = words_of(|study| {
        study.cells[0].trials[0].noise = Noise { other_load: 0.4, ..Noise::default() };
        study.cells.iter_mut().for_each(analysis::summarise);
    });
    assert!(busy.contains("other_load"), "{busy}");
    let wrong = words_of(|study| {
        study.cells[0].trials[0].errors = 7;
        study.cells.iter_mut().for_each(analysis::summarise);
    });
    assert!(wrong.contains("7 errors"), "{wrong}");
    let twice = words_of(|study| {
        let best = study.cells[0].trials[0].clone();
        study.cells[0].trials[1] = best;
        study.cells.iter_mut().for_each(analysis::summarise);
    });
    assert!(twice.contains("order"), "{twice}");
}

#[test]
fn a_void_cell_is_kept_and_a_study_of_nothing_else_is_refused() {
    let void = |cell: &mut Cell| {
        cell.trials[0].answer.digest = "sha256:2".into();
        analysis::summarise(cell);
    };
    assert_eq!(said_of(|study| void(&mut study.cells[0])), []);
    let words = words_of(|study| study.cells.iter_mut().for_each(void));
    assert!(words.contains("none of its 3 cells is valid"), "{words}");
    assert!(words_of(|study| study.cells.clear()).contains("no cells"));
}

#[test]
fn another_schema_no_selftest_a_failed_one_and_an_unknown_machine_are_refused_with_the_reason() {
    let old = objections(&right(), 1, &own());
    assert!(matches!(old[..], [Objection::Schema { found: 1 }]) && old[0].to_string().contains("schema 1"), "{old:?}");
    assert!(words_of(|study| study.selftest = None).contains("no self-test"));
    let failed = words_of(|study| study.selftest.as_mut().unwrap().proofs[0].measured = Some(9.0));
    assert!(failed.contains("stall_p99"), "what it says of itself is held against what it measured: {failed}");
    let unknown = words_of(|study| study.host.cpu.clear());
    assert!(unknown.contains("the processor"), "{unknown}");
}

#[test]
fn secrets_and_names_are_refused_by_the_place_they_stand_in() {
    let changes: [(&str, &str, fn(&mut Study)); 6] = [
        ("command", "password", |study| study.command.push("redis://:tulip@localhost:1".into())),
        ("store_config.bind", "10.0.0.7", |study| {
            drop(study.cells[0].store_config.insert("bind".into(), "10.0.0.7".into()))
        }),
        ("set_up[0]", "home directory", |study| study.cells[0].set_up = vec!["dir /home/bob/db".into()]),
        ("store_config.requirepass", "password", |study| {
            drop(study.cells[0].store_config.insert("requirepass".into(), "tulip".into()))
        }),
        ("input.note", "annika", |study| drop(study.input.insert("note".into(), "by annika".into()))),
        ("host.virtualisation", "tulip7", |study| study.host.virtualisation = Some("guest of tulip7".into())),
    ];
    for (place, what, change) in changes {
        let words = words_of(change);
        assert!(words.contains(place) && words.contains(what), "{place}: {words}");
    }
}

#[test]
fn a_command_that_others_cannot_repeat_is_refused() {
    let words = words_of(|study| study.command = vec!["kvtrial".into(), "run".into(), "mine.lua".into()]);
    assert!(words.contains("cannot be repeated") && words.contains("mine.lua"), "{words}");
}

#[test]
fn a_study_is_added_once_under_a_name_that_stays_and_replaced_when_it_has_more_trials() {
    let place = TempDir::new().unwrap();
    let error = Repository::at(place.path()).unwrap_err().to_string();
    assert!(error.contains("no git repository"), "{error}");
    std::fs::create_dir(place.path().join(".git")).unwrap();
    let repository = Repository::at(place.path()).unwrap();
    let study = cleaned(&right(), &own());
    assert_eq!(repository.add(&study).unwrap(), Added::New);
    let directory = repository.directory_of(&study);
    let name = directory.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("2026-11-20-ycsb-") && name.len() == 26, "{name}");
    assert_eq!(archive::read_study(&directory).unwrap(), study);
    assert_eq!(archive::written_schema(&directory).unwrap(), SCHEMA);
    assert_eq!(repository.add(&study).unwrap(), Added::Already);
    let mut longer = study.clone();
    longer.cells[0].trials.push(trial(99, 1.0));
    analysis::summarise(&mut longer.cells[0]);
    assert_eq!((repository.add(&longer).unwrap(), repository.directory_of(&longer)), (Added::Replaced, directory));
    let files = std::fs::read_dir(place.path().join("studies")).unwrap().count();
    assert_eq!(files, 1);
}

#[test]
fn as_much_is_made_again_as_the_budget_allows_and_nobody_chooses_which() {
    let study = right();
    let within = |seconds| Rerun::within(Duration::from_secs(seconds), &study);
    let all = within(600).unwrap();
    assert_eq!((all.stores.len(), all.left_out.len()), (3, 0));
    assert_eq!(
        all.arguments.join(" "),
        "run ycsb --set workload=B --repeats 5 --no-baselines -s lmdb -s sqlite -s redb"
    );
    // A round of the three stores takes about 7 s.
    assert!(within(23).unwrap().arguments.join(" ").contains("--repeats 3"));
    let part = within(16).unwrap();
    assert_eq!((part.stores.len(), part.left_out.len()), (2, 1));
    assert_eq!(part, within(16).unwrap());
    let none = within(5).unwrap_err();
    assert!(none.contains("--budget"), "{none}");
    let search = Study { command: "kvtrial choose ycsb -s lmdb".split(' ').map(str::to_owned).collect(), ..right() };
    assert!(Rerun::within(Duration::from_secs(600), &search).unwrap_err().contains("only studies of kvtrial run"));
}

/// The study, made again with these times, on this processor.
fn again(typical_s: [f64; 3], cpu: &str) -> Study {
    let mut again = right();
    again.host.cpu = cpu.into();
    again.cells = ["lmdb", "sqlite", "redb"]
        .iter()
        .zip(typical_s)
        .zip([1, 6, 11])
        .map(|((store, s), at)| cell(store, at, s))
        .collect();
    again
}

#[test]
fn on_the_same_hardware_figures_are_compared_and_on_another_only_ratios_between_stores() {
    let same = verify(&right(), &again([1.1, 2.1, 3.2], "AMD EPYC"));
    assert_eq!(same.mark, StudyMark::Reproduced, "{same:?}");
    assert_eq!(same.same, ["the answers of 3 cells", "3 figures, within 1.5 times"]);
    let slower = verify(&right(), &again([1.0, 2.0, 6.0], "AMD EPYC"));
    assert!(slower.mark == StudyMark::Differs && slower.differs[0].starts_with("makespan of redb is x2"), "{slower:?}");
    // Four times as slow as a whole: as a machine may be.
    let elsewhere = verify(&right(), &again([4.0, 8.0, 12.0], "Atom"));
    assert_eq!(elsewhere.mark, StudyMark::Reproduced, "{elsewhere:?}");
    assert_eq!(elsewhere.same[1], "2 ratios between stores, within 2 times");
    assert!(elsewhere.not_compared[0].contains("another machine"), "{elsewhere:?}");
    let otherwise = verify(&right(), &again([4.0, 8.0, 2.0], "Atom"));
    assert!(otherwise.mark == StudyMark::Differs && otherwise.differs[0].contains("redb was"), "{otherwise:?}");
}

#[test]
fn other_answers_differ_and_a_busy_machine_proves_nothing() {
    let mut other = again([1.0, 2.0, 3.0], "AMD EPYC");
    for trial in &mut other.cells[1].trials {
        trial.answer.digest = "sha256:9".into();
    }
    analysis::summarise(&mut other.cells[1]);
    let differs = verify(&right(), &other);
    assert!(
        differs.mark == StudyMark::Differs && differs.differs[0].contains("sqlite answered sha256:1"),
        "{differs:?}"
    );
    let mut busy = again([9.0, 9.0, 9.0], "AMD EPYC");
    for cell in &mut busy.cells {
        let reason = Reason { kind: ReasonKind::OtherLoad, count: 1, example: String::new() };
        cell.trials[0].verdict = Verdict::of([reason]);
        analysis::summarise(cell);
    }
    let nothing = verify(&right(), &busy);
    assert_eq!(
        (nothing.mark, nothing.same.len(), nothing.not_compared.len()),
        (StudyMark::AsSubmitted, 1, 3),
        "{nothing:?}"
    );
    let mut void = again([1.0, 2.0, 3.0], "AMD EPYC");
    void.cells[0].trials[0].verdict =
        Verdict::of([Reason { kind: ReasonKind::WrongValue, count: 1, example: String::new() }]);
    analysis::summarise(&mut void.cells[0]);
    let differs = verify(&right(), &void);
    assert!(
        differs.mark == StudyMark::Differs && differs.differs[0].contains("lmdb was valid and is void here"),
        "{differs:?}"
    );
}

#[test]
fn a_mark_counts_for_the_study_it_is_of_and_for_no_other() {
    let place = TempDir::new().unwrap();
    let study = right();
    archive::save_packed_study(place.path(), &study).unwrap();
    let mut verification = verify(&study, &again([1.0, 2.0, 3.0], "AMD EPYC"));
    verification.study_sha256 = publish::digest_of(place.path()).unwrap();
    verification.save(place.path()).unwrap();
    assert_eq!(verification_of(place.path()), verification);
    archive::save_packed_study(place.path(), &Study { seed: 7, ..study }).unwrap();
    assert_eq!(verification_of(place.path()).mark, StudyMark::AsSubmitted);
}
