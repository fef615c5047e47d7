//! A study in which every field there is has a value: what the schema must know.

use std::collections::BTreeMap;
use study::{
    AskedPercentiles, Budget, BudgetLayer, BudgetPart, Cell, CurvePoint, Durability, FaultFigures, Judged, Latencies,
    LatencyDistribution, LatencyDistributions, LatencySummary, Left, LeftCount, MoreClients, Noise, Original,
    PhaseRecord, PhaseSummary, PresetRecord, Proof, Quantity, RateCount, RatePoint, RateSearch, Reason, ReasonKind,
    Sampled, Scaled, Selftest, SeriesPoint, ServerUse, SlowBaseline, Stall, Study, TrialRecord, Tune, TuneEffect,
    TuneRound, TunedKey, TunedSetting, Varied, Verdict,
};

pub fn study() -> Study {
    let figure = Quantity { value: 1.0, low: 0.9, high: 1.1, level: 0.75, n: 3 };
    let setting = || BTreeMap::from([("clients".to_owned(), "8".to_owned())]);
    Study {
        schema: study::SCHEMA,
        varied: vec![Varied { key: "clients".into(), values: vec!["1".into()], not_taken: vec!["ram".into()] }],
        sampled: Some(Sampled { combinations: 1, of: 2 }),
        preset: Some(PresetRecord {
            scaled: vec![Scaled::default()],
            originals: vec![Original { store: Some("tyrant".into()), ..Original::default() }],
            ..PresetRecord::default()
        }),
        selftest: Some(Selftest {
            scope: "quick".into(),
            proofs: vec![Proof { interval: Some(figure), measured: Some(1.0), ..Proof::default() }],
            ..Selftest::default()
        }),
        faults: vec!["rolling".into()],
        fault_timeout_s: Some(1.0),
        cells: vec![cell(figure)],
        rate_search: vec![RateSearch {
            varied: [("clients".to_owned(), "1".to_owned())].into(),
            clients: 1,
            counts: RateCount::Units,
            rate: Some(figure),
            more_clients: Some(MoreClients::default()),
            wire_ns: Some(1.0),
            points: vec![RatePoint { not_offered: 1, ..RatePoint::default() }],
            ..RateSearch::default()
        }],
        left: vec![Left {
            store: "redis://h:6379".into(),
            keys: 3,
            count: LeftCount::AtMost,
            made: vec!["table a.b".into()],
        }],
        tune: Some(Tune {
            objective: "p99".into(),
            space: vec![TunedKey { key: "clients".into(), values: vec!["1".into(), "8".into()] }],
            rounds: vec![TuneRound::default()],
            default: setting(),
            best: setting(),
            gain: Some(figure),
            gain_p: Some(0.01),
            pareto: vec![TunedSetting {
                setting: setting(),
                makespan_s: Some(figure),
                ops_per_s: Some(figure),
                records_per_s: Some(figure),
                p99_ns: Some(figure),
                bytes_per_record: Some(3.0),
                void: false,
            }],
            effects: vec![TuneEffect { ratio: Some(figure), ..TuneEffect::default() }],
            ..Tune::default()
        }),
        ..Study::default()
    }
}

fn cell(figure: Quantity) -> Cell {
    let verdict = Verdict::of([Reason { kind: ReasonKind::Refused, count: 1, example: "key a".into() }]);
    let some = Some(figure);
    Cell {
        class: study::Class::Network,
        varied: [("clients".to_owned(), "8".to_owned())].into(),
        input: [("records".to_owned(), 3.into())].into(),
        verdict: verdict.clone(),
        emulated: vec!["append".into()],
        durability: Some(Durability::Os),
        makespan_s: some,
        ops_per_s: some,
        p99_ns: Some(Quantity { value: f64::INFINITY, high: f64::INFINITY, ..figure }),
        failed_share: some,
        latency_ns: latencies(),
        client_cpu_s: some,
        server_cpu_s: some,
        server_rss_bytes: some,
        disk_bytes: some,
        by_phase: vec![PhaseSummary {
            elapsed_s: some,
            ops_per_s: some,
            records_per_s: some,
            p99_ns: some,
            disk_bytes: some,
            ..PhaseSummary::default()
        }],
        budget: Some(Budget {
            time_per_operation_ns: figure,
            parts: vec![BudgetPart {
                layers: vec![BudgetLayer::Wire, BudgetLayer::Store],
                beyond: Some("ram".into()),
                time_ns: figure,
                ..BudgetPart::default()
            }],
            too_slow: vec![SlowBaseline { store: "echo-unix".into(), time_per_operation_ns: figure }],
            client_cpu_per_operation_ns: some,
            server_cpu_per_operation_ns: some,
        }),
        curve: vec![point()],
        stalls: vec![stall()],
        faults: vec![FaultFigures {
            at_s: some,
            longest_dark_s: some,
            dark_key_s: some,
            failed_operations: some,
            before_per_s: some,
            after_per_s: some,
            p99_before_ns: some,
            p99_after_ns: some,
            back_s: some,
            done_s: some,
            ..FaultFigures::default()
        }],
        lost_writes: some,
        trials: vec![TrialRecord {
            order: 1,
            latency_ns: latencies(),
            noise: Noise { judged: Judged::TooShort, ..Noise::default() },
            server: Some(ServerUse::default()),
            disk_bytes: Some(1),
            failed_operations: Some(1),
            phases: vec![PhaseRecord {
                disk_bytes: Some(1),
                failed_operations: 1,
                distributions: distributions(),
                ..PhaseRecord::default()
            }],
            series: vec![SeriesPoint::default()],
            curve: vec![point()],
            stalls: vec![stall()],
            verdict,
            ..TrialRecord::default()
        }],
        ..Cell::default()
    }
}

fn distributions() -> LatencyDistributions {
    let one = || LatencyDistribution { counts: "+5 3".into(), failed: 1, ..LatencyDistribution::default() };
    LatencyDistributions {
        by_operation: [("get".to_owned(), one())].into(),
        service: one(),
        send_lag: one(),
        client_lag: one(),
    }
}

fn latencies() -> Latencies {
    let failed = LatencySummary { failed: 1, asked: Some(AskedPercentiles::default()), ..LatencySummary::default() };
    let by_operation = [("get".to_owned(), failed)].into();
    Latencies { by_operation, percentiles: vec![(50.0, 1)], ..Latencies::default() }
}

fn point() -> CurvePoint {
    CurvePoint { rss_bytes: Some(1), disk_bytes: Some(1), ..CurvePoint::default() }
}

fn stall() -> Stall {
    Stall { cause: Some("fork".into()), ..Stall::default() }
}
