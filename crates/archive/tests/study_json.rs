//! The names in `study.json` are a contract with everyone who reads it.

use serde_json::Value;
use testkit::studies;

/// Every name of the published layout, as paths; a number is an index.
const NAMES: &str = "
schema kvtrial command seed host cells
cells.0.job cells.0.store cells.0.params cells.0.baseline
cells.0.verdict.status cells.0.verdict.reasons
cells.7.verdict.reasons.0.kind cells.7.verdict.reasons.0.count cells.7.verdict.reasons.0.example
cells.0.emulated cells.0.durability cells.0.store_version cells.0.store_config
cells.0.answer.digest cells.0.answer.facts
cells.0.makespan_s.value cells.0.makespan_s.low cells.0.makespan_s.high cells.0.makespan_s.level cells.0.makespan_s.n
cells.0.ops_per_s.value
cells.0.latency_ns.service.n cells.0.latency_ns.service.mean cells.0.latency_ns.service.p50
cells.0.latency_ns.service.p90 cells.0.latency_ns.service.p95 cells.0.latency_ns.service.p99
cells.0.latency_ns.service.p99_9 cells.0.latency_ns.service.max
cells.0.latency_ns.response.p99 cells.0.latency_ns.by_operation
cells.0.hits cells.0.misses cells.0.errors
cells.0.client_cpu_s.value cells.6.server_cpu_s.value cells.6.server_rss_bytes.value cells.0.disk_bytes
cells.0.logical_bytes
cells.0.trials.0.order cells.0.trials.0.warmup cells.0.trials.0.started_at cells.0.trials.0.makespan_s
";

#[test]
fn every_published_name_is_where_it_was_published() {
    let study = serde_json::to_value(studies::fans()).unwrap_or_default();
    for path in NAMES.split_whitespace() {
        let mut value = &study;
        for name in path.split('.') {
            let found = match name.parse::<usize>() {
                Ok(index) => value.get(index),
                Err(_) => value.get(name),
            };
            value = found.unwrap_or_else(|| panic!("{path}: no {name}"));
        }
    }
    assert_eq!(study["cells"][0]["durability"], "none");
    assert_eq!(study["cells"][7]["verdict"]["status"], "void");
    assert_eq!(study["cells"][7]["verdict"]["reasons"][0]["kind"], "refused");
    assert_eq!(study["cells"][0]["disk_bytes"], Value::Null);
}

#[test]
fn a_study_of_an_older_build_without_later_fields_is_still_read() {
    let old = r#"{"schema": 1, "kvtrial": "0.0.9", "command": [], "seed": 1, "host": {"cpus": 2},
        "cells": [{"job": "fans", "store": "redis", "trials": [{"order": 3, "makespan_s": 1.5}]}]}"#;
    let study: study::Study = serde_json::from_str(old).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(study.cells[0].trials[0].makespan_s, 1.5);
}
