//! Sample studies: what a report must be able to show.
#![allow(dead_code)] // each test uses some of it

use std::collections::BTreeMap;
use study::{
    Answer, Cell, Class, ClientSurvival, Crash, CrashCase, CrashCut, CrashFindings, CurvePoint, DarkTime, Durability,
    FaultRecord, HostFacts, Latencies, LatencySummary, Noise, PERCENTILES, PhaseRecord, Promise, Quantity, RatePoint,
    RateSearch, Reason, ReasonKind, SeriesPoint, ServerUse, Stall, Study, TrialRecord, Tune, TuneEffect, TuneRound,
    TunedKey, TunedSetting, Verdict, WriteAccount,
};

/// What one cell is to look like.
pub struct Sample<'a> {
    pub store: &'a str,
    pub class: Class,
    pub params: &'a [(&'a str, String)],
    pub time_s: f64,
    pub trials: u32,
    pub points: u32,
}

impl Sample<'_> {
    pub fn cell(&self, seed: u64) -> Cell {
        let mut random = Random(seed | 1);
        let trials = (0..self.trials).map(|at| self.trial(at, &mut random)).collect();
        let mut cell = Cell {
            job: "fans".into(),
            store: self.store.into(),
            params: self.params.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect(),
            baseline: self.class == Class::Baseline,
            class: self.class,
            durability: Some(if self.class == Class::Network { Durability::None } else { Durability::Os }),
            product: if self.class == Class::Baseline { String::new() } else { format!("Product {}", self.store) },
            store_version: "7.0.15".into(),
            store_config: [("maxmemory".into(), "0".into()), ("appendonly".into(), "no".into())].into(),
            logical_bytes: 1 << 22,
            trials,
            ..Cell::default()
        };
        analysis::summarise(&mut cell);
        cell.curve = self.curve();
        cell
    }

    /// A store that slows as it fills.
    fn curve(&self) -> Vec<CurvePoint> {
        let point = |at: u32| CurvePoint {
            records: u64::from(at) * 1000,
            at_s: self.time_s * f64::from(at) / f64::from(self.points),
            ops_per_s: 98_064.0 / self.time_s * (1.2 - 0.4 * f64::from(at) / f64::from(self.points)),
            p99_ns: 10_000 + u64::from(at) * 300,
            rss_bytes: (self.class == Class::Network).then_some(u64::from(at) * 90_000),
            disk_bytes: None,
            ..CurvePoint::default()
        };
        if self.class == Class::Baseline { Vec::new() } else { (1..=self.points).map(point).collect() }
    }

    fn trial(&self, at: u32, random: &mut Random) -> TrialRecord {
        let makespan_s = self.time_s * (0.97 + 0.06 * random.share());
        let operations = 98_064u64;
        let mean_ns = makespan_s / operations as f64 * 1e9;
        let at_percent =
            |percent: f64| (mean_ns * 0.8 * (1.0 + 3.0 * (-(1.0 - percent / 100.0).log10()).powi(2) / 4.0)) as u64 + 1;
        let response = LatencySummary {
            n: operations,
            mean: mean_ns,
            min: at_percent(0.0),
            p50: at_percent(50.0),
            p90: at_percent(90.0),
            p95: at_percent(95.0),
            p99: at_percent(99.0),
            p99_9: at_percent(99.9),
            max: at_percent(99.9999),
            ..LatencySummary::default()
        };
        let percentiles = PERCENTILES.iter().filter(|it| **it < 99.999).map(|&it| (it, at_percent(it))).collect();
        let stalled = self.points / 3..self.points / 3 + if at == 0 { 0 } else { self.points / 20 };
        let series = (0..self.points)
            .map(|point| {
                let share = if stalled.contains(&point) { 0.05 } else { 0.9 + 0.2 * random.share() };
                SeriesPoint {
                    at_s: makespan_s * f64::from(point + 1) / f64::from(self.points),
                    operations: (operations as f64 / f64::from(self.points) * share) as u64,
                    errors: 0,
                    p99_ns: (response.p99 as f64 / share) as u64,
                    max_ns: response.max,
                }
            })
            .collect();
        let seconds = |point: u32| makespan_s * f64::from(point) / f64::from(self.points.max(1));
        let stalls = if stalled.is_empty() {
            Vec::new()
        } else {
            vec![Stall {
                at_s: seconds(stalled.start),
                duration_s: seconds(stalled.end - stalled.start),
                ..Stall::default()
            }]
        };
        TrialRecord {
            order: at + 1,
            started_at: study::rfc3339(1_793_000_000 + u64::from(at)),
            makespan_s,
            operations,
            ops_per_s: operations as f64 / makespan_s,
            latency_ns: Latencies {
                service: response,
                response,
                percentiles,
                by_operation: [("get".to_owned(), response), ("put".to_owned(), response)].into(),
                ..Latencies::default()
            },
            hits: 35_838,
            misses: 13_194,
            client_cpu_s: makespan_s * 0.4,
            server: (self.class == Class::Network)
                .then_some(ServerUse { cpu_s: makespan_s * 0.3, peak_rss_bytes: 30 << 20 }),
            disk_bytes: Some(20 << 20),
            noise: Noise::default(),
            phases: vec![PhaseRecord {
                name: "run".into(),
                timed: true,
                elapsed_s: makespan_s,
                operations,
                ..PhaseRecord::default()
            }],
            series,
            stalls,
            answer: Answer {
                digest: if self.store == "null" { String::new() } else { "sha256:9c6e0f1a52c4b7d8".into() },
                facts: [("pages".to_owned(), 13_194.into())].into(),
            },
            ..TrialRecord::default()
        }
    }
}

/// A small generator, the same on every machine (xorshift64).
pub struct Random(u64);

impl Random {
    fn share(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

pub fn study(cells: Vec<Cell>) -> Study {
    Study {
        schema: study::SCHEMA,
        kvtrial: "0.1.0".into(),
        command: ["kvtrial", "run", "fans", "-s", "redis-unix"].map(str::to_owned).into(),
        seed: 42,
        started_at: "2026-11-21T12:00:00Z".into(),
        repeats: cells.first().map_or(0, |cell| cell.trials.len() as u32),
        input: [("name".to_owned(), "debian-10k".into())].into(),
        host: HostFacts {
            kernel: "Linux 6.18 x86_64".into(),
            cpu: "AMD EPYC".into(),
            cpus: 2,
            memory_bytes: 24 << 30,
            clock: "tsc: invariant".into(),
            ..HostFacts::default()
        },
        cells,
        ..Study::default()
    }
}

const CLIENTS: &[(&str, String)] = &[];

/// Two baselines, three embedded stores, two servers.
pub fn usual() -> Study {
    let sample = |(store, class, time_s): (&'static str, Class, f64)| Sample {
        store,
        class,
        params: CLIENTS,
        time_s,
        trials: 3,
        points: 100,
    };
    let cells = [
        ("null", Class::Baseline, 0.0095),
        ("ram", Class::Baseline, 0.165),
        ("lmdb", Class::Embedded, 0.675),
        ("sqlite", Class::Embedded, 1.36),
        ("redb", Class::Embedded, 1.37),
        ("redis-unix", Class::Network, 2.1),
        ("memcached-unix", Class::Network, 1.9),
    ];
    let mut study =
        study(cells.into_iter().map(sample).enumerate().map(|(at, it)| it.cell(at as u64 * 7919 + 3)).collect());
    analysis::fill_budgets(&mut study);
    study
}

/// A study whose stores are held against needs.
pub fn needed() -> Study {
    let mut study = usual();
    study.needs = ["p99<5ms", "rate>=1000", "disk<5x", "durability=commit", "memory<1KiB"].map(str::to_owned).into();
    analysis::fill_needs(&mut study);
    study
}

/// Two stores of which a node was killed after a third of the time: one was dark for a second, the other never.
pub fn faulted() -> Study {
    let mut study = usual();
    study.cells.retain(|cell| cell.class == Class::Network);
    study.cells.truncate(2);
    for (cell, dark_s) in study.cells.iter_mut().zip([1.0, 0.0]) {
        for (at, trial) in cell.trials.iter_mut().enumerate() {
            let at_s = trial.makespan_s / 3.0 + 0.01 * at as f64;
            let node = "node1".into();
            let fault =
                FaultRecord { planned: "at 1s kill 1".into(), node, at_s: Some(at_s), ..FaultRecord::default() };
            trial.faults = vec![FaultRecord { longest_dark_s: Some(dark_s), ..fault }];
            trial.writes = Some(WriteAccount::default());
            let dark = DarkTime { part: 0, share: 0.5, from_s: at_s, until_s: at_s + dark_s };
            trial.dark = if dark_s > 0.0 { vec![dark] } else { Vec::new() };
        }
        analysis::summarise(cell);
    }
    study
}

/// What `kvtrial crash` leaves: a store that keeps its promises, one that loses what it may, one that breaks them, one that has none.
pub fn crashed() -> Study {
    let level = |store: &str, level, promise, found: CrashFindings| {
        let cut = |cut: u32| CrashCut {
            cut,
            recovery_s: Some(0.02 + 0.001 * f64::from(cut)),
            found: CrashFindings { acknowledged: 5_000, ..CrashFindings::default() },
            ..CrashCut::default()
        };
        let mut cuts: Vec<CrashCut> = (1..=4).map(cut).collect();
        cuts[1].found = found;
        CrashCase {
            store: store.into(),
            level: Some(level),
            product: store.to_uppercase(),
            store_version: "7.0.15".into(),
            store_config: [("appendonly".into(), "yes".into())].into(),
            promise,
            not_ruled_out: (promise == Promise::Kept).then_some(0.527),
            recovery_s: Some(Quantity { value: 0.0225, low: 0.021, high: 0.024, level: 0.875, n: 4 }),
            cuts,
            ..CrashCase::default()
        }
    };
    let lossy = |ages: [u64; 7], oldest_s: f64| {
        let lost = ages.iter().sum::<u64>();
        CrashFindings {
            acknowledged: 5_000,
            lost,
            lost_ages: ages.into(),
            oldest_lost_s: Some(oldest_s),
            clients: vec![
                ClientSurvival { acknowledged: 3_000, lost: lost / 2 },
                ClientSurvival { acknowledged: 2_000, lost: lost - lost / 2 },
            ],
            ..CrashFindings::default()
        }
    };
    let quiet = || CrashFindings { acknowledged: 5_000, ..CrashFindings::default() };
    let mut broken = level("forgetful", Durability::Commit, Promise::Broken, lossy([1, 40, 120, 0, 0, 2, 1], 2.4));
    broken.cuts[1].found.torn = 3;
    broken.cuts[1].found.examples = vec!["c1k7: the acknowledged write 12 is lost, 2.400 s old at the crash".into()];
    broken.cuts[2].not_started = Some("bad magic number in <log>".into());
    broken.cuts[2].recovery_s = None;
    let only_none =
        CrashCase { promise: Promise::NothingToShow, ..level("ram", Durability::None, Promise::Kept, quiet()) };
    let cases = vec![
        level("sqlite", Durability::Os, Promise::Kept, quiet()),
        level("sqlite", Durability::Commit, Promise::Kept, quiet()),
        level("redis", Durability::Second, Promise::Kept, lossy([0, 3, 0, 700, 300, 0, 0], 0.9)),
        broken,
        CrashCase { cuts: Vec::new(), recovery_s: None, not_ruled_out: None, ..only_none },
    ];
    Study {
        command: ["kvtrial", "crash", "sqlite", "redis"].map(str::to_owned).into(),
        input: BTreeMap::new(),
        crash: Some(Crash { cuts: 4, clients: 2, cases, ..Crash::default() }),
        ..study(Vec::new())
    }
}

/// What `kvtrial tune` leaves: many settings of one store, a best one, effects that matter and one that does not.
pub fn tuned() -> Study {
    let figure = |value: f64| Quantity { value, low: value * 0.96, high: value * 1.05, level: 0.95, n: 9 };
    let setting = |clients: u32, cache: &str| -> BTreeMap<String, String> {
        [("clients".to_owned(), clients.to_string()), ("sqlite.cache".to_owned(), cache.to_owned())].into()
    };
    let mut cells = Vec::new();
    for (at, clients) in [1u32, 2, 4, 8].into_iter().enumerate() {
        for (more, cache) in ["2MiB", "64MiB"].into_iter().enumerate() {
            let store = format!("sqlite,cache={cache}");
            let params = [("clients", clients.to_string())];
            let time_s = 1.4 / f64::from(clients).sqrt() - 0.05 * more as f64;
            let sample =
                Sample { store: &store, class: Class::Embedded, params: &params, time_s, trials: 3, points: 20 };
            let mut cell = sample.cell((at * 2 + more) as u64 * 97 + 5);
            cell.varied = setting(clients, cache);
            cells.push(cell);
        }
    }
    let kept = |clients, cache, rate, p99_us: f64| TunedSetting {
        setting: setting(clients, cache),
        ops_per_s: Some(figure(rate)),
        p99_ns: Some(figure(p99_us * 1e3)),
        bytes_per_record: Some(1500.0 + 10.0 * f64::from(clients)),
        ..TunedSetting::default()
    };
    let effect = |key: &str, value: &str, ratio, separated| TuneEffect {
        key: key.into(),
        value: value.into(),
        ratio: Some(figure(ratio)),
        separated,
    };
    let mut study = study(cells);
    study.tune = Some(Tune {
        objective: "makespan".into(),
        budget_s: 60.0,
        used_s: 59.0,
        space: vec![
            TunedKey { key: "clients".into(), values: ["1", "2", "4", "8"].map(str::to_owned).into() },
            TunedKey { key: "sqlite.cache".into(), values: ["2MiB", "64MiB"].map(str::to_owned).into() },
        ],
        combinations: 8,
        rounds: vec![TuneRound { settings: 8, trials: 8 }, TuneRound { settings: 4, trials: 8 }],
        default: setting(1, "2MiB"),
        best: setting(8, "2MiB"),
        gain: Some(figure(2.8)),
        gain_p: Some(0.0001),
        pareto: vec![kept(8, "2MiB", 196_000.0, 40.0), kept(1, "2MiB", 70_000.0, 31.0)],
        effects: vec![
            effect("clients", "8", 2.8, true),
            effect("clients", "2", 0.8, true),
            effect("sqlite.cache", "64MiB", 1.0, false),
        ],
    });
    study
}

/// What `--find-rate` leaves: a closed loop, a cell for each rate, and the curve.
pub fn searched() -> Study {
    let rates = [100.0, 1000.0, 10_000.0, 20_000.0, 24_000.0, 30_000.0];
    let mut cells = vec![
        Sample { store: "redis-unix", class: Class::Network, params: CLIENTS, time_s: 2.1, trials: 3, points: 20 }
            .cell(3),
    ];
    for rate in rates {
        let params = [("rate", rate.to_string())];
        let sample =
            Sample { store: "redis-unix", class: Class::Network, params: &params, time_s: 5.0, trials: 2, points: 20 };
        cells.push(sample.cell(rate as u64));
    }
    let point = |rate: f64| RatePoint {
        offered_ops_per_s: rate,
        achieved_ops_per_s: rate.min(25_000.0),
        p50_ns: 1e5 + rate,
        p99_ns: 2e5 * (1.0 + (rate / 15_000.0).powi(6)),
        p99_9_ns: 4e5 * (1.0 + (rate / 15_000.0).powi(6)),
        n: 2,
        within: if rate < 21_000.0 { 2 } else { 0 },
        ..RatePoint::default()
    };
    let mut study = study(cells);
    study.rate_search = vec![RateSearch {
        store: "redis-unix".into(),
        bound: "p99<2ms".into(),
        closed_ops_per_s: 46_000.0,
        rate: Some(Quantity { value: 21_000.0, low: 20_100.0, high: 22_000.0, level: 0.9375, n: 5 }),
        points: rates.map(point).into(),
        ..RateSearch::default()
    }];
    study
}

/// Trials of twenty operations each: too few for a p99.
pub fn few() -> Study {
    let mut study = usual();
    for cell in &mut study.cells {
        for trial in &mut cell.trials {
            trial.operations = 20;
            trial.latency_ns.response.n = 20;
        }
        analysis::summarise(cell);
    }
    study
}

/// Stores, numbers of clients, trials of each, points of each trial.
pub fn sweep(stores: u32, values: u32, trials: u32, points: u32) -> Study {
    let mut cells = Vec::new();
    for value in 0..values {
        for store in 0..stores {
            let params = [("clients", (1u64 << value.min(40)).to_string()), ("pipeline", "1".to_owned())];
            let name = format!("store-{store:02}");
            let class = if store % 2 == 0 { Class::Embedded } else { Class::Network };
            let time_s = (0.5 + f64::from(store) * 0.3) / (1.0 + f64::from(value)).sqrt();
            let sample = Sample { store: &name, class, params: &params, time_s, trials, points };
            cells.push(sample.cell(u64::from(value * 1000 + store) * 31 + 7));
        }
    }
    study(cells)
}

/// Cells that are void and degraded, one that did not start, and one whose store and keys try to break the page.
pub fn troubled() -> Study {
    let mut study = usual();
    let reason = |kind, count, example: &str| Reason { kind, count, example: example.into() };
    study.cells[3].verdict = Verdict::of([
        reason(ReasonKind::WrongValue, 3, "key page/17: 12 bytes, not 16"),
        reason(ReasonKind::Refused, 53_882, HOSTILE),
    ]);
    study.cells[4].verdict =
        Verdict::of([reason(ReasonKind::OtherLoad, 1, "31 % of the processors; run it on a quieter machine")]);
    study.cells[5] = Cell {
        job: "fans".into(),
        store: HOSTILE.into(),
        class: Class::Network,
        durability: Some(Durability::None),
        verdict: Verdict::of([reason(ReasonKind::NotStarted, 1, HOSTILE)]),
        store_config: [(HOSTILE.to_owned(), HOSTILE.to_owned())].into(),
        ..Cell::default()
    };
    let mut hostile = study.cells[6].clone();
    hostile.store = format!("{HOSTILE},{{b}}");
    hostile.product = HOSTILE.into();
    study.cells.push(hostile);
    study.command.push(HOSTILE.into());
    study.input.insert("name".into(), HOSTILE.into());
    study
}

/// A name that would run code where it is not escaped.
pub const HOSTILE: &str =
    "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">'\"&<!--";
