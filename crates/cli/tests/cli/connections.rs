//! The phases of a trial go over the same connections, so that no server can tell by them what it is asked for.

#![allow(clippy::unwrap_used, missing_docs)]

use crate::common;

use common::run_once;
use engine::{Crew, End, Settings};
use jobkit::TrialSetup;
use std::sync::atomic::AtomicBool;
use store::{Endpoint, Opener, Store};
use study::Spec;
use testkit::lying::{Lie, LyingServer, Protocol, Rule, Target, Visit, When};

/// Answer of an unrelated script: `crates/jobs/tests/answers`.
const DEBIAN_1K: &str = "sha256:68feb5060a6d9f728165362a625509d52ab91a5abcf6de1f6c5fe58fe046bc91";

const JOBS: [(&str, &[&str]); 3] = [
    ("ycsb", &["--set", "workload=a", "--set", "records=300", "--set", "operations=2000", "--set", "value=100"]),
    ("crud", &["--set", "rows=400"]),
    ("bulk", &["--data", "gen:400:7", "--set", "batch=1"]),
];

/// More than kvtrial asks over any connection of its own: a few over which it asks what the server is and can do, and as many as there
/// are clients over which it looks, before the trial, whether the user's server holds keys of the job.
const ASKED_BY_CONTROL: u64 = 40;

/// The connections of the trial itself: they wrote what the job writes, or found it.
fn trials_own(visits: &[Visit]) -> Vec<Visit> {
    visits.iter().filter(|visit| visit.writes.max(visit.hits) > ASKED_BY_CONTROL).copied().collect()
}

#[test]
fn load_run_and_read_back_go_over_as_many_connections_as_there_are_clients() {
    for (protocol, name) in [(Protocol::Resp, "redis"), (Protocol::Memcached, "memcached")] {
        for (job, words) in JOBS {
            for (clients, pipeline) in [(1, 1), (5, 2)] {
                let server = LyingServer::start(protocol, Vec::new()).unwrap();
                let many = [clients.to_string(), pipeline.to_string()];
                let words = [words, &["--clients", &many[0], "--pipeline", &many[1]]].concat();
                let ran = run_once(job, &format!("{name}://127.0.0.1:{}", server.port()), &words);
                assert_eq!(ran.status, 0, "{job} on {name}\n{}", ran.said());
                let own = trials_own(&server.visits());
                // Before the verdict everything is read again over as many new ones.
                let (wrote, again): (Vec<Visit>, Vec<Visit>) = own.iter().partition(|visit| visit.writes > 0);
                assert_eq!(wrote.len(), clients, "{job} on {name}: {own:?}");
                assert!(wrote.iter().any(|visit| visit.hits > 0), "{job} on {name}: {own:?}");
                assert!(wrote.iter().all(|visit| visit.writes > ASKED_BY_CONTROL), "{job} on {name}: {own:?}");
                assert!(again.len() <= clients, "{job} on {name}: {own:?}");
            }
        }
    }
}

#[test]
fn a_server_that_tells_the_truth_only_over_connections_that_never_wrote_is_void() {
    // Bulk reads many keys by one request, about which this lie is not.
    for (job, words) in JOBS.into_iter().filter(|(job, _)| *job != "bulk") {
        let rule = Rule::new(Lie::Denied, Target::Gets, When::Every(1)).to_writers();
        let server = LyingServer::start(Protocol::Resp, vec![rule]).unwrap();
        let ran =
            run_once(job, &format!("redis://127.0.0.1:{}", server.port()), &[words, &["--clients", "2"]].concat());
        assert_eq!((ran.verdict(), ran.status), ("void", 1), "{job}\n{}", ran.said());
        assert!(ran.why("unexpected_miss").is_some(), "{job}: {}", ran.only()["verdict"]);
    }
}

#[test]
fn a_server_that_takes_back_the_last_writes_of_a_connection_that_closes_is_void_in_every_job() {
    let jobs: [(&str, &[&str]); 11] = [
        ("ycsb", &["--set", "workload=a", "--set", "records=300", "--set", "operations=2000", "--set", "value=100"]),
        ("crud", &["--set", "rows=400"]),
        ("bulk", &["--data", "gen:400:7"]),
        ("append", &["--data", "gen:400:7"]),
        ("append", &["--data", "gen:400:7", "--set", "append=rewrite"]),
        ("counts", &["--data", "gen:200:7"]),
        ("fans", &["--data", "gen:40:7"]),
        ("grow", &["--set", "items=400", "--set", "value=100"]),
        ("events", &["--set", "events=1000"]),
        ("sets", &["--set", "ids=300"]),
        ("sets,way=elements", &["--set", "ids=300"]),
    ];
    for (job, words) in jobs {
        let honest = LyingServer::start(Protocol::Resp, Vec::new()).unwrap();
        let liar = LyingServer::start_taking_back(Protocol::Resp, 10).unwrap();
        let (name, way) = job.split_once(',').map_or((job, String::new()), |(name, way)| (name, format!(",{way}")));
        let run =
            |port| run_once(name, &format!("redis://127.0.0.1:{port}{way}"), &[words, &["--clients", "3"]].concat());
        let ran = run(honest.port());
        assert_eq!(ran.status, 0, "{job}\n{}", ran.said());
        let ran = run(liar.port());
        assert_eq!((ran.verdict(), ran.status), ("void", 1), "{job}\n{}", ran.said());
        let (_, example) = ["unexpected_miss", "unexpected_hit", "stale_value", "lost_updates"]
            .iter()
            .find_map(|kind| ran.why(kind))
            .unwrap_or_else(|| panic!("{job}: {}", ran.only()["verdict"]));
        assert!(example.contains("(while: read again)") || job == "fans", "{job}: {example}");
    }
}

fn connected(name: &str, port: u16) -> Box<dyn Store> {
    let Some(Opener::Server { connect, .. }) = catalog::find(name).map(|info| info.opener) else { panic!("{name}") };
    let spec: Spec = format!("{name}://127.0.0.1:{port}").parse().unwrap();
    connect(&spec, &[Endpoint::loopback(port)]).unwrap()
}

#[test]
fn connections_a_server_closes_between_phases_are_opened_again_and_counted_and_nothing_is_lost() {
    for (clients, name, protocol) in [(1, "redis", Protocol::Resp), (6, "memcached", Protocol::Memcached)] {
        let server = LyingServer::start(protocol, Vec::new()).unwrap();
        let store = connected(name, server.port());
        let settings = Settings { clients, ..Settings::default() };
        let set = [("rows".to_owned(), "300".to_owned())];
        let job = jobs::prepare(jobs::find("crud").unwrap(), None, &set, 42).unwrap();
        let capabilities = store.capabilities().clone();
        let trial = job.trial(&TrialSetup::alone(settings.slots(), capabilities, 42));
        let stop = AtomicBool::new(false);
        let outcomes = Crew::over(&*store, &*trial, &settings, &stop, |crew| {
            let mut run = |phase| {
                if phase == 2 {
                    server.hang_up();
                }
                crew.run(phase, &mut |_: measure::Progress| {}).unwrap()
            };
            (0..trial.phases().len()).map(&mut run).collect::<Vec<_>>()
        });
        let wrong = outcomes.iter().map(|outcome| outcome.offences.total()).sum::<u64>();
        assert!(outcomes.iter().all(|outcome| outcome.end == End::Completed) && wrong == 0, "{name}: {outcomes:?}");
        let reconnected: Vec<u64> = outcomes.iter().map(|outcome| outcome.reconnected).collect();
        assert_eq!(reconnected, [0, 0, u64::from(clients), 0, 0, 0], "{name}");
        assert_eq!(Some(trial.answer().0.digest), job.known_digest(), "{name}");
    }
}

#[test]
fn clients_that_share_connections_come_to_the_known_answer_and_the_study_says_what_replies_wait_behind() {
    for (store, most) in [
        ("redis,connections=1", 15),
        ("memcached-unix,connections=2", 7),
        ("redis-unix,connections=1,nodes=3", 15),
        ("redis-cluster,connections=1", 15),
    ] {
        let ran = run_once("fans", store, &["--data", "debian-1k", "--clients", "16"]);
        assert_eq!(ran.status, 0, "{store}\n{}", ran.said());
        assert_eq!(ran.digest(store), DEBIAN_1K, "{store}");
        let line = &ran.only()["trials"][0]["head_of_line"];
        let (requests, ahead, at_most) =
            (line["requests"].as_u64(), line["ahead"].as_u64(), line["most_ahead"].as_u64());
        assert!(requests.is_some() && ahead > Some(0) && ahead < requests.map(|all| all * most), "{store}: {line}");
        assert!((1..=most).contains(&at_most.unwrap()), "{store}: {line}");
        let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("clients share connections, so a slow reply delays those behind it"), "{said}");
    }
    let own = run_once("fans", "redis-unix", &["--data", "debian-1k", "--clients", "16"]);
    assert!(
        own.only()["trials"][0].get("head_of_line").is_none() && !own.stdout.contains("clients share"),
        "{}",
        own.said()
    );
}
