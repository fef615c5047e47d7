//! The job `nodes` on real stores: keys move to another number of nodes while they are served.
#![allow(clippy::unwrap_used)]

mod common;

use common::Desk;

#[test]
fn keys_move_between_real_servers_and_files_while_they_are_served_and_the_report_says_how_many() {
    let stores = "redis-unix,nodes=4 -s memcached-unix,nodes=3,shard=ketama -s sqlite,nodes=3,shard=anchor -s redis";
    let words = common::once("nodes", stores, &["--clients 4 --set records=2000 --set operations=4000"]);
    let ran = Desk::new().run(&words);
    assert_eq!(ran.status, 0, "{}", ran.said());
    let cells = ran.cells();
    let facts = |at: usize| &cells[at]["trials"][0]["answer"]["facts"];
    for (at, nodes) in [(0, 4), (1, 3), (2, 3)] {
        let facts = facts(at);
        assert_eq!((&facts["nodes_before"], &facts["nodes_after"]), (&(nodes - 1).into(), &nodes.into()), "{facts}");
        assert!(facts["keys_moved"] == facts["keys_to_move"] && facts["keys_moved"].as_u64() > Some(300), "{facts}");
        let by_node: u64 =
            facts["keys_by_node_after"].as_array().unwrap().iter().map(|keys| keys.as_u64().unwrap()).sum();
        assert_eq!(by_node, 2000);
    }
    assert!(facts(3).get("keys_moved").is_none(), "one server has nothing to move");
    let digests: Vec<_> = cells.iter().map(|cell| &cell["trials"][0]["answer"]["digest"]).collect();
    assert!(digests.iter().all(|digest| *digest == digests[0]), "{digests:?}");
    assert!(ran.stdout.contains("3 nodes became 4, and "), "{}", ran.stdout);
}

#[test]
fn two_rings_move_no_key_when_a_storage_node_comes_and_let_none_go() {
    let settings = "--clients 4 --set records=2000 --set operations=4000";
    let ran = Desk::new().run(&common::once("nodes", "redis-unix,nodes=3,shard=rings", &[settings]));
    assert_eq!(ran.status, 0, "{}", ran.said());
    let facts = &ran.cells()[0]["trials"][0]["answer"]["facts"];
    assert_eq!((&facts["nodes_after"], &facts["keys_moved"]), (&3.into(), &0.into()), "{facts}");
    assert_eq!(facts["keys_by_node_after"][2], 0, "{facts}");
    assert!(ran.stdout.contains("2 nodes became 3, and 0 of 2000 keys"), "{}", ran.stdout);

    let settings = format!("{settings} --set change=remove");
    let ran = Desk::new().run(&common::once("nodes", "redis-unix,nodes=3,shard=rings", &[&settings]));
    assert_eq!(ran.status, 1, "{}", ran.said());
    let reason = &ran.cells()[0]["trials"][0]["verdict"]["reasons"][0];
    assert!(reason["example"].as_str().unwrap().contains("its keys would go with it"), "{reason}");
}

#[test]
fn a_store_of_one_node_says_why_its_keys_cannot_move() {
    let ran = Desk::new().run(&common::once("nodes", "redis-unix,nodes=1", &["--set records=100"]));
    assert_eq!(ran.status, 1, "{}", ran.said());
    let reason = &ran.cells()[0]["trials"][0]["verdict"]["reasons"][0];
    assert!(reason["example"].as_str().unwrap().contains("use nodes=2 or more"), "{reason}");
}
