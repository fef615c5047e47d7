//! Clients that share connections: whose request goes where, who gets which reply, and what one costs the others.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod wire_peer;

use kvtrial_store::{Abandoned, OwnedFailure, OwnedReply, Slot, Until};
use study::HeadOfLine;
use testkit::Inbox;
use testkit::replies::{loss, value};
use wire_peer::Peers;

#[test]
fn what_all_clients_ask_leaves_in_one_write_and_each_gets_its_own_reply() {
    let mut peers = Peers::over(3, 2, "1");
    let order: [Slot; 6] = [5, 0, 3, 1, 4, 2];
    for slot in order {
        peers.get(slot, &format!("key{slot}"));
    }
    assert!(peers.poll(Until::Now).is_empty());
    assert_eq!(peers.received(0), "key5\nkey0\nkey3\nkey1\nkey4\nkey2\n");
    peers.send(0, b"1:51:01:31:11:41:2");
    assert_eq!(peers.poll(Until::Now), order.map(|slot| (slot, value(slot.to_string()))));
    assert_eq!(peers.arrivals, 1, "one read, one arrival");
}

#[test]
fn a_client_stays_on_one_of_several_connections() {
    let mut peers = Peers::over(3, 2, "2");
    (0..6).for_each(|slot| peers.get(slot, &slot.to_string()));
    assert!(peers.poll(Until::Now).is_empty());
    assert_eq!((peers.received(0), peers.received(1)), ("0\n1\n2\n3\n".into(), "4\n5\n".into()));
    peers.send(1, b"1:41:5");
    assert_eq!(peers.poll(Until::Now), [(4, value("4")), (5, value("5"))], "nobody waits for the other connection");
}

#[test]
fn a_connection_that_breaks_fails_what_each_of_its_clients_had_in_flight_and_nothing_else() {
    let mut peers = Peers::over(4, 1, "2");
    (0..4).for_each(|slot| peers.get(slot, "k"));
    assert!(peers.poll(Until::Now).is_empty());
    peers.hang_up(0);
    let lost = peers.poll(Until::Now);
    assert_eq!(
        lost.iter().filter(|(_, reply)| loss(reply).is_some()).map(|(slot, _)| *slot).collect::<Vec<_>>(),
        [0, 1]
    );
    assert_eq!(lost.len(), 2, "{lost:?}");
    peers.received(1);
    peers.send(1, b"1:a1:b");
    assert_eq!(peers.poll(Until::Now), [(2, value("a")), (3, value("b"))]);
    // The next request of either client opens it again, for both.
    peers.get(1, "again");
    peers.get(0, "too");
    peers.poll(Until::Now);
    peers.accept(0);
    assert_eq!(peers.received(0), "again\ntoo\n");
    peers.send(0, b"1:c1:d");
    assert_eq!(peers.poll(Until::Now), [(1, value("c")), (0, value("d"))]);
    assert_eq!(peers.client.session.reconnected(), 1);
}

#[test]
fn an_operation_that_has_had_its_time_is_late_and_those_behind_it_are_lost_with_the_connection() {
    for connections in ["1", "2"] {
        let mut peers = Peers::over(4, 1, connections);
        let shared: Vec<Slot> = if connections == "1" { vec![0, 1, 2, 3] } else { vec![0, 1] };
        (0..4).for_each(|slot| peers.get(slot, "k"));
        assert!(peers.poll(Until::Now).is_empty());
        let mut inbox = Inbox::default();
        assert_eq!(peers.client.session.abandon(0, &mut inbox), Abandoned::GivenUp);
        assert_eq!(inbox.replies[0], (0, OwnedReply::Failed(OwnedFailure::Deadline)));
        assert!(inbox.replies[1..].iter().all(|(_, reply)| loss(reply).is_some()), "{:?}", inbox.replies);
        assert_eq!(inbox.replies.iter().map(|(slot, _)| *slot).collect::<Vec<_>>(), shared);
        assert!(peers.hung_up(0));
    }
}

#[test]
fn how_many_requests_were_ahead_of_each_is_counted_where_clients_share_and_only_there() {
    let mut peers = Peers::over(4, 2, "1");
    (0..8).for_each(|slot| peers.get(slot, "k"));
    assert!(peers.poll(Until::Now).is_empty());
    peers.send(0, b"0:0:0:0:");
    assert_eq!(peers.poll(Until::Now).len(), 4);
    peers.get(0, "k");
    let counted = HeadOfLine { requests: 9, ahead: 28 + 4, most_ahead: 7 };
    assert_eq!(peers.client.session.take_head_of_line(), Some(counted));
    assert_eq!(peers.client.session.take_head_of_line(), Some(HeadOfLine::default()), "since the last call");
    for (clients, connections) in [(4, "client"), (4, "4"), (1, "1")] {
        assert_eq!(Peers::over(clients, 2, connections).client.session.take_head_of_line(), None);
    }
}
