use super::{SlotTable, hash_slot, located};
use store::Endpoint;
use store::routed::Route;

#[test]
fn slots_are_those_of_the_specification() {
    // 0x31C3 is the check value of CRC-16/XMODEM; foo and bar are answers of CLUSTER KEYSLOT of a Redis 7.0.
    for (key, slot) in [("123456789", 0x31C3), ("foo", 12_182), ("bar", 5_061), ("", 0)] {
        assert_eq!(hash_slot(key.as_bytes()), slot, "{key}");
    }
}

#[test]
fn a_tag_in_braces_is_all_that_counts_unless_it_is_empty_or_open() {
    let same = |one: &str, other: &str| hash_slot(one.as_bytes()) == hash_slot(other.as_bytes());
    assert!(same("{user1000}.following", "user1000") && same("a{b}c{d}", "b") && same("{{b}}x", "{b"));
    assert!(!same("a{}b", "") && !same("a{b", "b"));
}

const NODES: &str = "\
aa 127.0.0.1:7000@17000 myself,master - 0 0 1 connected 0-5460 10000 [5461->-bb]
bb 127.0.0.1:7001@17001,host.example master - 0 1 2 connected 5461-9999
cc :7002@17002 master - 0 1 3 connected 10001-16383
dd 127.0.0.1:7003@17003 slave aa 0 1 3 connected
ee 127.0.0.1:7004@17004 master - 0 1 4 connected
";

#[test]
fn a_table_is_read_from_what_a_node_says() {
    let table = SlotTable::read(NODES, &Endpoint::loopback(7000)).unwrap();
    let ports: Vec<u16> = table.endpoints().iter().map(|endpoint| endpoint.tcp().unwrap().1).collect();
    assert_eq!((ports, table.replicas()), (vec![7000, 7001, 7002], 1));
    assert_eq!((table.node(b"foo"), table.node(b"bar"), table.node(b"{bar}foo")), (2, 0, 0));
    let of = |slot: usize| table.assignments().nth(slot).unwrap().1.tcp().unwrap().1;
    assert_eq!([0, 5460, 5461, 9999, 10_000, 10_001, 16_383].map(of), [7000, 7000, 7001, 7001, 7000, 7002, 7002]);
}

#[test]
fn a_table_with_holes_or_nonsense_is_refused_in_words() {
    let from = Endpoint::loopback(7000);
    let problem = |nodes: &str| SlotTable::read(nodes, &from).unwrap_err();
    assert_eq!(
        problem("aa 127.0.0.1:7000@1 master - 0 0 1 connected 0-16382"),
        "1 of 16384 hash slots are served by no node"
    );
    assert!(problem("aa 127.0.0.1:7000@1 master - 0 0 1 connected 5-16384").contains("5-16384"));
    assert!(problem("aa 127.0.0.1:7000@1 master - 0 0 1 connected 9-5").contains("9-5"));
    assert!(problem("aa 127.0.0.1:none@1 master - 0 0 1 connected 0-16383").contains("without address"));
    assert!(problem("what\u{1b}[31m").contains("malformed line"));
}

#[test]
fn a_node_without_host_is_where_it_was_named() {
    let from = Endpoint::loopback(7000);
    assert_eq!(located(":7001", &from), Some(Endpoint::loopback(7001)));
    assert_eq!(located("::1:7001", &from).unwrap().tcp(), Some(("::1", 7001)));
    assert_eq!((located("7001", &from), located("a:0", &from), located("a:70000", &from)), (None, None, None));
}
