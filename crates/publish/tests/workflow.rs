//! The workflow of a repository of studies, read as GitHub reads it: as YAML.
#![allow(clippy::unwrap_used)]

use publish::{WORKFLOW, WORKFLOW_PATH};
use saphyr::{LoadableYamlNode, Yaml};

fn workflow() -> Yaml<'static> {
    Yaml::load_from_str(WORKFLOW).unwrap().remove(0)
}

fn text<'y>(value: &'y Yaml<'_>) -> &'y str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value:?}"))
}

fn steps<'y>(workflow: &'y Yaml<'static>, job: &str) -> &'y [Yaml<'static>] {
    workflow["jobs"][job]["steps"].as_vec().unwrap()
}

#[test]
fn it_runs_for_pull_requests_and_for_main_and_lies_where_github_looks() {
    assert!(WORKFLOW_PATH.starts_with(".github/workflows/") && WORKFLOW_PATH.ends_with(".yml"));
    let workflow = workflow();
    assert!(workflow["on"].as_mapping().unwrap().contains_key(&Yaml::value_from_str("pull_request")));
    assert_eq!(text(&workflow["on"]["push"]["branches"][0]), "main");
}

#[test]
fn what_runs_the_studies_of_strangers_may_only_read_and_what_may_write_runs_none() {
    let workflow = workflow();
    assert_eq!(text(&workflow["permissions"]["contents"]), "read");
    assert!(workflow["jobs"]["check"].as_mapping().unwrap().get(&Yaml::value_from_str("permissions")).is_none());
    assert!(text(&workflow["jobs"]["keep"]["if"]).contains("github.event_name == 'push'"));
    for step in steps(&workflow, "keep") {
        let run =
            step.as_mapping().unwrap().get(&Yaml::value_from_str("run")).and_then(Yaml::as_str).unwrap_or_default();
        assert!(!run.contains("kvtrial"), "{run}");
    }
}

#[test]
fn a_pull_request_is_checked_made_again_and_built_in_this_order_and_brings_no_marks() {
    let workflow = workflow();
    let runs: Vec<&str> = steps(&workflow, "check")
        .iter()
        .filter_map(|step| step.as_mapping()?.get(&Yaml::value_from_str("run"))?.as_str())
        .collect();
    let at = |what: &str| runs.iter().position(|run| run.contains(what)).unwrap_or_else(|| panic!("{what}: {runs:?}"));
    let order = ["cargo install", "study\\.json\\.xz", "publish --check", "publish --verify", "kvtrial site"].map(at);
    assert!(order.is_sorted(), "{order:?}");
}
