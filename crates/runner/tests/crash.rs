//! Crashes of servers that are only just there: Redis behind an adapter that fails at a moment of its own.
#![allow(clippy::unwrap_used, clippy::panic)]

use jobkit::Stroke;
use kvtrial_runner::{Blow, BrokenFiles, CrashRequest, Crashed, Execution, crash};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use store::immediate::{Immediate, SyncStore};
use store::{
    Availability, BUILT_IN, Capabilities, CommandLine, Connect, Deployment, Endpoint, Facts, Failure, Opener,
    Operation, Place, PlanDeployment, Reply, Session, SessionPlan, Store, StoreError, StoreInfo, Threading,
};
use study::{Class, CrashCut, CrashMoment, Durability, Spec, StruckNodes};

/// Redis, connected to in this way.
const fn redis(connect: Connect) -> StoreInfo {
    StoreInfo {
        name: "redis-seldom",
        family: "redis-seldom",
        transport: None,
        driver: None,
        class: Class::Network,
        kind: "test",
        summary: "a test's",
        durabilities: &[Durability::Os],
        options: &[],
        install: BUILT_IN,
        licence: "MIT OR Apache-2.0",
        declares: |_| Capabilities { durability: Durability::Os, ..Capabilities::BASIC },
        probe: || Availability::Found("a test's".into()),
        opener: Opener::Server { plan, connect, usual_port: 1 },
    }
}

fn honest() -> Opener {
    catalog::find("redis-unix").unwrap().opener
}

fn plan(spec: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    let Opener::Server { plan, .. } = honest() else { unreachable!("it is a server") };
    plan(spec, place)
}

fn connect(spec: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    let Opener::Server { connect, .. } = honest() else { unreachable!("it is a server") };
    connect(spec, nodes)
}

/// One cut of it, in this process.
fn cut(info: &'static StoreInfo) -> CrashCut {
    let base = tempfile::tempdir().unwrap();
    let request = CrashRequest {
        info,
        spec: Spec::private(info.name).with_durability(Durability::Os),
        base: base.path().to_owned(),
        clients: 2,
        seed: 42,
        value_bytes: 228,
        done: 0,
        cuts: 1,
        blow: Blow::Nodes { which: StruckNodes::All, stroke: Stroke::Kill, outage: Duration::ZERO },
        during: CrashMoment::Write,
        earliest: Duration::ZERO,
        longest: Duration::from_millis(20),
        deadline: Duration::from_secs(10),
        broken: BrokenFiles::Removed,
    };
    let mut made = None;
    let whole = crash(&request, &Execution::InProcess, &AtomicBool::new(false), &mut |heard| {
        if let Crashed::Cut(cut) = heard {
            made = Some(cut.clone());
        }
    });
    assert!(whole.unwrap());
    made.unwrap()
}

#[test]
fn a_server_is_back_when_it_answers_a_read_not_when_it_listens() {
    /// Sessions that were refused since the crash: before it there are two connections and one session.
    static REFUSED: AtomicU32 = AtomicU32::new(0);
    static LOADING: StoreInfo = redis(|spec, nodes| {
        static CONNECTIONS: AtomicU32 = AtomicU32::new(0);
        let honest = connect(spec, nodes)?;
        let is_later = CONNECTIONS.fetch_add(1, Ordering::Relaxed) >= 2;
        Ok(if is_later { Box::new(Loading(honest)) } else { honest })
    });
    const REFUSALS: u32 = 25;
    struct Loading(Box<dyn Store>);
    impl Store for Loading {
        fn capabilities(&self) -> &Capabilities {
            self.0.capabilities()
        }
        fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
            if REFUSED.fetch_add(1, Ordering::Relaxed) < REFUSALS {
                return Immediate::session(plan, || Ok(Refuses));
            }
            self.0.session(plan)
        }
        fn threading(&self) -> Threading {
            self.0.threading()
        }
        fn facts(&self) -> Result<Facts, StoreError> {
            self.0.facts()
        }
    }
    struct Refuses;
    impl SyncStore for Refuses {
        fn execute(&mut self, _: &Operation<'_>) -> Reply<'_> {
            Reply::Failed(Failure::Refused("LOADING it is loading the dataset in memory"))
        }
    }
    let cut = cut(&LOADING);
    assert_eq!((&cut.not_started, cut.found.lost), (&None, 0), "{cut:?}");
    assert!(REFUSED.load(Ordering::Relaxed) > REFUSALS, "{cut:?}");
    // It was asked again every 2 ms, and each time it was not back.
    assert!(cut.recovery_s.unwrap() > 0.002 * f64::from(REFUSALS), "{cut:?}");
}

/// Redis that the first time starts as it should, and from then on does this.
fn plan_of_second_start(spec: &Spec, place: &mut Place, second: &str) -> Result<Deployment, StoreError> {
    let mut deployment = plan(spec, place)?;
    let it = &mut deployment.nodes[0].plan;
    let marks = place.directory.join("started");
    let script = format!("[ -e {0} ] && {{ {second}; }}; touch {0}; exec {1}", marks.display(), it.run);
    it.run = CommandLine::new("/bin/sh").args(["-c", &script]);
    it.start_timeout = Duration::from_millis(800);
    Ok(deployment)
}

#[test]
fn a_server_that_never_comes_back_is_given_up_and_its_last_words_are_quoted() {
    const fn planned(plan: PlanDeployment) -> StoreInfo {
        StoreInfo { opener: Opener::Server { plan, connect, usual_port: 1 }, ..redis(connect) }
    }
    static ENDS: StoreInfo =
        planned(|spec, place| plan_of_second_start(spec, place, "echo the log is damaged at byte 7; exit 3"));
    static HANGS: StoreInfo =
        planned(|spec, place| plan_of_second_start(spec, place, "echo waiting for the log; exec sleep 1000"));
    for (info, words) in
        [(&ENDS, ["status 3", "the log is damaged at byte 7"]), (&HANGS, ["within 0.8 s", "waiting for the log"])]
    {
        let cut = cut(info);
        let said = cut.not_started.as_deref().unwrap_or_default();
        assert!(words.iter().all(|words| said.contains(words)), "{cut:?}");
        assert!(cut.found.acknowledged > 0 && cut.recovery_s.is_none(), "{cut:?}");
    }
}

/// Redis over TCP, whose port somebody takes before its second start.
fn plan_of_taken_port(spec: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    let Opener::Server { plan, .. } = catalog::find("redis").unwrap().opener else { unreachable!("it is a server") };
    let mut deployment = plan(spec, place)?;
    let it = &mut deployment.nodes[0].plan;
    let [started, down, taken] = ["started", "down", "taken"].map(|name| place.directory.join(name));
    let wait = format!("touch {}; until [ -e {} ]; do sleep 0.01; done", down.display(), taken.display());
    let script = format!("[ -e {0} ] && {{ {wait}; }}; touch {0}; exec {1}", started.display(), it.run);
    it.run = CommandLine::new("/bin/sh").args(["-c", &script]);
    let (_, port) = it.endpoint.tcp().unwrap();
    std::thread::spawn(move || {
        while !down.exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let stranger = TcpListener::bind(("127.0.0.1", port)).unwrap();
        std::fs::write(taken, "").unwrap();
        // Until the test ends.
        std::mem::forget(stranger);
    });
    Ok(deployment)
}

#[test]
fn a_port_that_another_program_took_while_the_server_was_down_is_no_broken_promise() {
    static TAKEN: StoreInfo = StoreInfo {
        opener: Opener::Server {
            plan: plan_of_taken_port,
            connect: |spec, nodes| {
                let honest = catalog::find("redis").unwrap().opener;
                let Opener::Server { connect, .. } = honest else { unreachable!("it is a server") };
                connect(spec, nodes)
            },
            usual_port: 1,
        },
        ..redis(connect)
    };
    let cut = cut(&TAKEN);
    assert!(cut.not_measured.as_deref().unwrap_or_default().contains("port"), "{cut:?}");
    assert_eq!((&cut.not_started, cut.found.lost), (&None, 0), "{cut:?}");
}

#[test]
fn a_server_that_cannot_be_reached_for_a_moment_has_not_failed_to_start() {
    /// Every second attempt comes to nothing.
    static SELDOM: StoreInfo = redis(|spec, nodes| {
        static ATTEMPTS: AtomicU32 = AtomicU32::new(0);
        match ATTEMPTS.fetch_add(1, Ordering::Relaxed) % 2 {
            0 => Err(StoreError::Session("no answer within 1 s".into())),
            _ => connect(spec, nodes),
        }
    });
    let cut = cut(&SELDOM);
    assert_eq!((&cut.not_started, cut.found.lost), (&None, 0), "{cut:?}");
    assert!(cut.found.acknowledged > 0);
}
