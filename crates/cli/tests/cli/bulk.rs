//! The jobs bulk and crud on real stores: known answers, batches, compaction, reductions; bad input.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, Ran, embedded, named, words_of_page};

/// `crates/jobs/tests/answers/bulk_*.json`, by `tests/oracle/bulk.py`, which shares no code with kvtrial.
fn known(name: &str, fact: &str) -> String {
    let path = format!("{}/../jobs/tests/answers/bulk_{name}.json", env!("CARGO_MANIFEST_DIR"));
    let answers: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    answers[fact].as_str().unwrap().to_owned()
}

/// Crud of 2,000 rows, by `tests/oracle/crud.py`, which shares no code with kvtrial.
const CRUD_2000: &str = "sha256:6f8af591eb55d29655ea14f2ac17d191b2a7d3d036db354ab343d9e9d56bfaf6";

/// Checks digest and reduction of every store.
fn answers_on(ran: &Ran, stores: &[&str], name: &str, ids: &str) {
    assert_eq!(ran.status, 0, "{}", ran.said());
    for store in stores {
        assert!(ran.is_ranked(store), "{store}: {}", ran.said());
        assert_eq!(ran.digest(store), format!("sha256:{}", known(name, &format!("sha256_{ids}"))), "{store}");
        assert_eq!(ran.cell(store)["answer"]["facts"]["sha256_groups"], known(name, "sha256_groups"), "{store}");
    }
}

/// The phase of a name in a cell.
fn phase<'a>(ran: &'a Ran, store: &str, name: &str) -> Option<&'a serde_json::Value> {
    ran.cell(store)["by_phase"].as_array().unwrap().iter().find(|phase| phase["name"] == name)
}

#[test]
fn bulk_has_the_known_answer_on_every_embedded_store_with_either_kind_of_ids() {
    for ids in ["sequential", "random"] {
        let desk = Desk::new();
        let ran = desk.run(&format!("bulk {} --repeats 1 --set ids={ids} --set batch=500", named(&embedded())));
        answers_on(&ran, &embedded(), "geonames_20k", ids);
        assert_eq!(phase(&ran, "sqlite", "load").unwrap()["operations"], 40);
        assert_eq!(phase(&ran, "sqlite", "load").unwrap()["records"], 20_000);
        assert!(ran.cell("sqlite")["emulated"].as_array().unwrap().is_empty());
        assert_eq!(ran.cell("lmdb")["emulated"], serde_json::json!(["reduce by scan"]));
        for store in ["sqlite", "redb", "tokyocabinet"] {
            let bytes = |name: &str| phase(&ran, store, name).unwrap()["disk_bytes"]["value"].as_f64().unwrap();
            assert!(bytes("compact") > 4e6 && bytes("compact") <= 1.01 * bytes("load"), "{store}: {}", ran.said());
        }
        assert!(phase(&ran, "lmdb", "compact").is_none());
        assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
        assert!(desk.left_behind().is_empty(), "{:?}", desk.left_behind());
    }
}

/// Runs with the test server for Tokyo Tyrant on PATH.
fn on_servers(desk: &Desk, words: &str) -> Ran {
    testkit::tyrant_server::install(desk.path()).unwrap();
    let path = format!("{}:{}", desk.path().display(), std::env::var("PATH").unwrap());
    desk.finished(
        desk.command(&format!("run {words} --no-baselines --repeats 1 --out out")).env("PATH", path).output().unwrap(),
    )
}

#[test]
fn the_groups_of_a_reduction_are_shown() {
    let desk = Desk::new();
    desk.file("sales.csv", "shop;cents\nzurich;250\nbern;1000000\nzurich;-100\n");
    let ran = desk.run("bulk -s sqlite -s lmdb --data sales.csv --set reduce=shop:cents --repeats 1 --no-baselines");
    assert_eq!(ran.status, 0, "{}", ran.said());
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "Documents by shop, and the sum of their cents, 2 groups: zurich 2, sum 150; bern 1, sum 1,000,000.";
    assert_eq!(words.matches(said).count(), 1, "{}", ran.stdout);
    for store in ["sqlite", "lmdb"] {
        let largest = &ran.cell(store)["answer"]["facts"]["largest_groups"];
        assert_eq!(largest[0], serde_json::json!({"group": "zurich", "documents": 2, "sum": 150}), "{store}");
    }
    let page = words_of_page(&std::fs::read_to_string(desk.path().join("out/report.html")).unwrap());
    assert!(page.contains("bern 1, sum 1,000,000"));
}

#[test]
fn bulk_has_the_known_answer_on_every_server() {
    let fast = ["redis-unix", "memcached-unix", "memcached", "tyrant-unix"];
    let slow = ["mysql-unix,durability=none", "postgres-unix,durability=none", "mongodb-unix,durability=os"];
    let desk = Desk::new();
    let ran = on_servers(&desk, &format!("bulk {} --clients 2", named(&fast)));
    answers_on(&ran, &fast, "geonames_20k", "sequential");
    assert_eq!(ran.cell("memcached-unix")["emulated"], serde_json::json!(["reduce by get"]));
    let desk = Desk::new();
    let ran = on_servers(&desk, &format!("bulk {} --data geonames-1k --set ids=random --set batch=100", named(&slow)));
    answers_on(&ran, &slow, "geonames_1k", "random");
    for store in &slow[..2] {
        assert!(ran.cell(store)["emulated"].as_array().unwrap().is_empty(), "{store} reduces in SQL");
        assert!(phase(&ran, store, "compact").is_some());
    }
    let doors = [
        "couchdb",
        "etcd,durability=os",
        "postgres-unix,durability=none,layout=hstore",
        "postgres-unix,durability=none,layout=jsonb",
    ];
    let desk = Desk::new();
    let ran = on_servers(&desk, &format!("bulk {} --data geonames-1k --set ids=random --set batch=100", named(&doors)));
    answers_on(&ran, &doors, "geonames_1k", "random");
    for store in doors {
        let emulated =
            if store.starts_with("etcd") { serde_json::json!(["reduce by scan"]) } else { serde_json::json!([]) };
        assert_eq!(ran.cell(store)["emulated"], emulated, "{store}");
        assert!(phase(&ran, store, "compact").is_some(), "{store}");
    }
    assert!(desk.left_behind().is_empty(), "{:?}", desk.left_behind());
}

/// The full set is made by `./test` from a package of PyPI (`tools/geonames.py`), which names it here.
#[test]
#[ignore = "half a minute; short documents are loaded by every ./test"]
fn the_full_geonames_documents_have_the_known_answer_on_three_stores() {
    let Ok(path) = std::env::var("KVTRIAL_GEONAMES") else {
        return println!("left out: KVTRIAL_GEONAMES does not name the documents; ./test makes them");
    };
    let stores = ["sqlite", "lmdb", "fjall", "redis-unix"];
    let desk = Desk::new();
    let ran = on_servers(
        &desk,
        &format!("bulk --data {path} --set reduce=countrycode:population --set ids=random {}", named(&stores)),
    );
    answers_on(&ran, &stores, "geonames_full", "random");
}

#[test]
fn crud_goes_through_its_phases_on_every_store_with_any_number_of_clients() {
    let desk = Desk::new();
    let ran = desk.run(&format!("crud {} --repeats 1 --clients 7 --set rows=2000", named(&embedded())));
    assert_eq!(ran.status, 0, "{}", ran.said());
    let digest = CRUD_2000;
    for store in embedded() {
        assert!(ran.is_ranked(store) && ran.digest(store) == digest, "{store}: {}", ran.said());
    }
    let desk = Desk::new();
    let stores =
        ["memcached-unix", "redis-unix", "tyrant-unix", "mysql-unix,durability=none", "postgres-unix,durability=none"];
    let ran = on_servers(&desk, &format!("crud {} --clients 256 --set rows=2000", named(&stores)));
    assert_eq!(ran.status, 0, "{}", ran.said());
    for store in stores {
        assert!(ran.is_ranked(store) && ran.digest(store) == digest, "{store}: {}", ran.said());
        let names: Vec<&str> = ran.cell(store)["by_phase"]
            .as_array()
            .unwrap()
            .iter()
            .map(|phase| phase["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["insert", "select", "update", "check update", "delete", "check delete", "read again"]);
        assert!(phase(&ran, store, "select").unwrap()["ops_per_s"]["value"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn bad_documents_end_the_run_before_anything_is_started() {
    let desk = Desk::new();
    let refused = |words: &str| {
        let ran = desk.kvtrial(&format!("run bulk -s sqlite {words}"));
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{}", ran.said());
        assert!(desk.left_behind().is_empty(), "{:?}", desk.left_behind());
        ran.stderr
    };
    desk.file("bad.jsonl", "{\"a\":1}\n{\"a\":}\n");
    let message = refused("--data bad.jsonl");
    assert!(message.contains("bad.jsonl, line 2, column 6"), "{message}");
    desk.file("twice.jsonl", "x\t{\"a\":1}\nx\t{\"a\":2}\n");
    assert!(refused("--data twice.jsonl --set ids=own").contains("id x is on line 1 already"));
    assert!(refused("--data twice.jsonl").contains("ids=own"));
    desk.file("field.jsonl", "{\"g\":\"x\",\"n\":1}\n{\"g\":\"x\",\"n\":\"2\"}\n");
    let message = refused("--data field.jsonl --set reduce=g:n");
    assert!(message.contains("line 2: the field 'n' is \"2\", and must be an integer"), "{message}");
    for (document, reduce, expected) in [
        (
            r#"{"g":"x","n":1.5}"#,
            "g:n",
            "the field 'n' is 1.5, and must be an integer of 64 bits (stores add fractions",
        ),
        (r#"{"g":"x","n":1}"#, "g:m", "the document has no field 'm'. It has g, n. Correct the document"),
        (r#"{"group":"x","n":1}"#, "grup:n", "the document has no field 'grup'. Did you mean group? Correct"),
        (r#"{"g":7,"n":1}"#, "g:n", "the field 'g' is 7, and must be a string"),
        (r#"{"g":"x","n":9223372036854775807}"#, "g:n", "with this document the sum is beyond 64 bits"),
        (r#"{"g":"x","n":1,"g":"y"}"#, "g:n", "the name 'g' is there twice in one object"),
    ] {
        let text = if expected.contains("beyond") { r#"{"g":"y","n":1}"# } else { r#"{"a":{"b":2}}"# };
        let first = if expected.contains("no field") || expected.contains("must") { "" } else { text };
        desk.file("sums.jsonl", format!("{first}\n{document}\n"));
        let message = refused(&format!("--data sums.jsonl --set reduce={reduce}"));
        assert!(message.contains("sums.jsonl, line 2") && message.contains(expected), "{message}");
    }
    desk.file("open.csv", "name,\"people\na,1\n");
    assert!(refused("--data open.csv").contains("open.csv, line 1, column 6: the quote that opens here is not closed"));
    assert!(std::process::Command::new("mkfifo").arg(desk.path().join("pipe")).status().unwrap().success());
    assert!(refused("--data pipe").contains("pipe: it is not a regular file, and the data is read more than once"));
    desk.file("large.jsonl", format!("{{\"a\":\"{}\"}}\n", "x".repeat(2 << 20)));
    let ran = desk.kvtrial("run bulk -s memcached --data large.jsonl");
    assert!(ran.status == 2 && ran.stderr.contains("large.jsonl, line 1"), "{}", ran.said());
}

#[test]
fn a_preset_varies_what_its_original_varied_unless_it_is_set() {
    let clients = |words: &str| {
        let preset = "run crud --preset 2016 --scale 0.001 -s ram --no-baselines --repeats 1 --out out";
        let ran = Desk::new().kvtrial(&format!("{preset} {words}"));
        assert_eq!(ran.status, 0, "{}", ran.said());
        let study = ran.study.unwrap();
        let cells = study["cells"].as_array().unwrap().iter();
        let mut clients: Vec<u32> =
            cells.map(|cell| cell["params"]["clients"].as_str().unwrap().parse().unwrap()).collect();
        clients.sort_unstable();
        clients
    };
    assert_eq!(clients(""), [1, 2, 4, 8, 16]);
    assert_eq!(clients("--clients 3"), [3]);
    assert_eq!(clients("--vary clients=2,6"), [2, 6]);
}

#[test]
fn rates_of_batches_are_documents_per_second_and_times_are_those_of_a_batch_wherever_they_are_shown() {
    let desk = Desk::new();
    let ran = desk.run("bulk -s sqlite --vary batch=100,1000 --data gen:3000:42 --repeats 3");
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert!(ran.stdout.contains("DOCS/S") && !ran.stdout.contains("OP/S"), "{}", ran.stdout);
    assert!(ran.stdout.contains("On sqlite a batch takes"), "{}", ran.stdout);
    let trials: Vec<&str> = ran.stderr.lines().filter(|line| line.contains(": trial ")).collect();
    assert!(!trials.is_empty() && trials.iter().all(|line| line.contains(" docs/s")), "{}", ran.stderr);
    let shown = |format: &str| desk.kvtrial(&format!("report out --format {format}")).stdout;
    let markdown = shown("markdown");
    assert!(markdown.contains("| documents/s | p99 of a batch |") && !markdown.contains("op/s"), "{markdown}");
    let page = std::fs::read_to_string(desk.path().join("out/report.html")).unwrap();
    let body = words_of_page(&page);
    for words in ["Documents per second", "p99 of a batch", "An operation is a batch of documents."] {
        assert!(body.contains(words), "{words}");
    }
    assert!(!body.contains("Operations per second"), "of what, the page does not say");
    // The figure itself: documents by the time of the job.
    let cells = shown("cells-csv");
    let mut rows = cells.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = rows.next().unwrap();
    let column = |name: &str| header.iter().position(|title| *title == name).unwrap();
    for row in rows.filter(|row| row[column("store")] == "sqlite") {
        let number = |name: &str| row[column(name)].parse::<f64>().unwrap();
        let documents = number("records_per_s") * number("makespan_s");
        assert!((documents / 3000.0 - 1.0).abs() < 0.01, "{documents}: {row:?}");
    }
    let metrics = shown("openmetrics");
    assert!(metrics.contains("kvtrial_records_per_second{"), "{metrics}");
}
