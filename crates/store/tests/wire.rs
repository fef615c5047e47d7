//! The transport, with a codec of three letters and a server that is the test itself: what arrives when is decided here, byte by byte.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod wire_peer;

use kvtrial_store::{Abandoned, Endpoint, OwnedFailure, OwnedReply, Until, wire};
use proptest::prelude::{ProptestConfig, any, prop, proptest};
use std::io::{Read, Write};
use std::time::{Duration, Instant};
use testkit::replies::{breach, broken, loss, value};
use testkit::waiting::PATIENCE;
use wire_peer::{Letters, Peers};

/// One connection reads blocking, two are watched by epoll: everything here must hold for both.
const CLIENTS: [u32; 2] = [1, 2];

#[test]
fn requests_leave_in_one_write_and_replies_come_back_in_order() {
    for clients in CLIENTS {
        let mut peers = Peers::new(clients, 3);
        for slot in 0..3 {
            peers.get(slot, &format!("key{slot}"));
        }
        assert!(peers.poll(Until::Now).is_empty());
        assert_eq!(peers.received(0), "key0\nkey1\nkey2\n");
        peers.send(0, b"1:a0:3:ccc");
        assert_eq!(peers.poll(Until::Now), [(0, value("a")), (1, value("")), (2, value("ccc"))]);
        assert_eq!(peers.arrivals, 1, "one read, one arrival");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn a_reply_stream_split_anywhere_gives_the_same_answers(
        sizes in prop::collection::vec(prop::sample::select(vec![0usize, 1, 2, 9, 10, 100, 5000, 65_536, 200_000]), 1..8),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        clients in 1..3u32,
    ) {
        let mut peers = Peers::new(clients, sizes.len() as u32);
        let values: Vec<String> = (b'a'..).zip(&sizes).map(|(letter, &size)| (letter as char).to_string().repeat(size)).collect();
        let stream: Vec<u8> = values.iter().flat_map(|value| format!("{}:{value}", value.len()).into_bytes()).collect();
        for slot in 0..sizes.len() as u32 {
            peers.get(slot, "k");
        }
        let mut answers = peers.poll(Until::Now);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).chain([stream.len()]).collect();
        cuts.sort_unstable();
        let mut start = 0;
        for cut in cuts {
            for chunk in stream[start..cut].chunks(50_000) {
                peers.send(0, chunk);
                answers.extend(peers.poll(Until::Now));
                answers.extend(peers.poll(Until::Now));
            }
            start = cut;
        }
        let expected: Vec<_> = (0..).zip(&values).map(|(slot, text)| (slot, value(text))).collect();
        assert!(answers == expected);
        assert!(peers.poll(Until::Now).is_empty());
    }
}

#[test]
fn a_reply_split_at_any_byte_decodes_alike() {
    for clients in CLIENTS {
        let mut peers = Peers::new(clients, 2);
        for cut in 0..=11 {
            peers.get(0, "a");
            peers.get(1, "b");
            let mut answers = peers.poll(Until::Now);
            let (head, tail) = b"3:one5:three".split_at(cut);
            for part in [head, tail] {
                peers.send(0, part);
                answers.extend(peers.poll(Until::Now));
            }
            assert_eq!(answers, [(0, value("one")), (1, value("three"))], "cut at {cut}");
        }
    }
}

#[test]
fn a_reply_given_twice_at_once_is_caught_at_once() {
    for clients in CLIENTS {
        let mut peers = Peers::new(clients, 1);
        peers.get(0, "a");
        peers.poll(Until::Now);
        peers.send(0, b"1:x1:x");
        let answers = peers.poll(Until::Now);
        assert!(
            matches!(&answers[..], [(0, reply)] if breach(reply).is_some_and(|words| words.contains("more than"))),
            "{answers:?}"
        );
        assert!(peers.hung_up(0));
    }
}

#[test]
fn a_reply_nobody_asked_for_fails_the_next_operation_of_its_connection() {
    for clients in CLIENTS {
        let mut peers = Peers::new(clients, 1);
        peers.get(0, "a");
        peers.poll(Until::Now);
        peers.send(0, b"1:x");
        assert_eq!(peers.poll(Until::Now), [(0, value("x"))]);
        peers.send(0, b"1:x");
        assert!(peers.poll(Until::Now).is_empty());
        let told = peers.try_get(0, "b");
        assert!(told.as_ref().and_then(breach).is_some_and(|words| words.contains("more than")), "{told:?}");
        // Said once; then the connection is made again.
        peers.get(0, "c");
        peers.poll(Until::Now);
        peers.accept(0);
        assert_eq!(peers.received(0), "c\n");
        peers.send(0, b"1:y");
        assert_eq!(peers.poll(Until::Now), [(0, value("y"))]);
    }
}

#[test]
fn what_is_not_the_protocol_fails_all_in_flight_and_hangs_up() {
    for clients in CLIENTS {
        let mut peers = Peers::new(clients, 3);
        for slot in 0..3 {
            peers.get(slot, "k");
        }
        peers.poll(Until::Now);
        peers.send(0, b"1:x#");
        let answers = peers.poll(Until::Now);
        assert_eq!(answers[0], (0, value("x")));
        assert_eq!(answers[1..], [1, 2].map(|slot| (slot, broken("a length and a colon"))));
        assert!(peers.hung_up(0));
    }
}

#[test]
fn a_connection_lost_in_the_middle_of_a_reply_fails_what_was_in_flight_on_it_alone() {
    let mut peers = Peers::new(2, 2);
    for slot in 0..4 {
        peers.get(slot, "k");
    }
    peers.poll(Until::Now);
    peers.send(0, b"1:x5:hal");
    assert_eq!(peers.poll(Until::Now), [(0, value("x"))]);
    peers.received(0); // hanging up on bytes not read would be a reset
    peers.hang_up(0);
    let answers = peers.poll(Until::Now);
    assert!(
        matches!(&answers[..], [(1, reply)] if loss(reply).is_some_and(|words| words.contains("closed"))),
        "{answers:?}"
    );
    peers.send(1, b"1:y1:z");
    assert_eq!(peers.poll(Until::Now), [(2, value("y")), (3, value("z"))]);
    // Nothing of the half reply is left when the connection is made again.
    peers.get(1, "again");
    peers.poll(Until::Now);
    peers.accept(0);
    assert_eq!(peers.received(0), "again\n");
    peers.send(0, b"2:ok");
    assert_eq!(peers.poll(Until::Now), [(1, value("ok"))]);
}

#[test]
fn a_request_larger_than_the_sockets_buffers_arrives_whole_while_replies_are_taken() {
    for clients in CLIENTS {
        let mut peers = Peers::new(clients, 4);
        let key: String = (0..3 << 20).map(|n: u32| char::from(b'a' + (n % 23) as u8)).collect();
        peers.get(0, "first");
        peers.get(1, &key);
        peers.get(2, &key);
        peers.get(3, "last");
        let expected = format!("first\n{key}\n{key}\nlast\n");
        peers.poll(Until::Now);
        // The first reply gets through although the second request is stuck.
        peers.send(0, b"1:1");
        let mut answers = peers.poll(Until::Now);
        assert_eq!(answers, [(0, value("1"))]);
        let mut received = String::new();
        let start = Instant::now();
        while received.len() < expected.len() {
            received += &peers.received(0);
            answers.extend(peers.poll(Until::At(Instant::now() + Duration::from_millis(1))));
            assert!(start.elapsed() < PATIENCE);
        }
        assert!(received == expected);
        peers.send(0, b"1:20:1:4");
        answers.extend(peers.poll(Until::Now));
        assert_eq!(answers[1..], [(1, value("2")), (2, value("")), (3, value("4"))]);
    }
}

#[test]
fn a_connection_that_cannot_be_made_again_is_tried_less_and_less_often() {
    for clients in CLIENTS {
        let mut peers = Peers::new(clients, 2);
        peers.close_all();
        let start = Instant::now();
        for _ in 0..8 {
            peers.get(0, "k");
            peers.get(1, "k");
            let mut answers = Vec::new();
            while answers.is_empty() {
                answers = peers.poll(Until::At(start + Duration::from_secs(60)));
            }
            assert_eq!(answers.len(), 2);
            assert!(answers.iter().all(|(_, answer)| loss(answer).is_some()), "{answers:?}");
        }
        // At 0, 0, 10, 30, 70, 150, 310, 630 ms; later on a busy machine, never earlier.
        assert!(start.elapsed() >= Duration::from_millis(630), "{clients}: 8 attempts in {:?}", start.elapsed());
        peers.listen();
        peers.get(0, "k");
        let back = Instant::now();
        let (mut answers, mut polls_too_late) = (Vec::new(), 0);
        while !peers.accept_waiting(0) {
            polls_too_late += u32::from(back.elapsed() > wire::RETRY_LONGEST);
            assert!(polls_too_late < 2, "no attempt though {:?} are over", wire::RETRY_LONGEST);
            answers.extend(peers.poll(Until::At(back + wire::RETRY_LONGEST)));
        }
        peers.send(0, b"2:up");
        while answers.is_empty() {
            answers = peers.poll(Until::At(Instant::now() + Duration::from_secs(1)));
        }
        assert_eq!(answers, [(0, value("up"))]);
    }
}

#[test]
fn operations_on_a_server_that_is_away_for_good_fail_at_once_and_it_is_found_when_it_is_back() {
    for clients in CLIENTS {
        let mut peers = Peers::new(clients, 1);
        peers.close_all();
        let gone = Instant::now();
        let fail = |peers: &mut Peers| {
            peers.get(0, "k");
            let start = Instant::now();
            let mut answers = Vec::new();
            while answers.is_empty() {
                answers = peers.poll(Until::At(start + Duration::from_secs(60)));
            }
            (loss(&answers[0].1).unwrap().to_owned(), start.elapsed())
        };
        let (mut waited, mut words) = (Duration::ZERO, String::new());
        while !words.contains("has been away for 1") {
            let took;
            (words, took) = fail(&mut peers);
            waited = waited.max(took);
            assert!(gone.elapsed() < 2 * wire::PATIENCE, "{words}");
        }
        assert!(gone.elapsed() >= wire::PATIENCE, "{words} after {:?}", gone.elapsed());
        assert!(waited > wire::RETRY_LONGEST / 2, "until then each waited for the next attempt: {waited:?}");
        // Now hardly one waits, where each has.
        let start = Instant::now();
        let mut failed = 0;
        while start.elapsed() < wire::RETRY_LONGEST {
            failed += 1;
            fail(&mut peers);
        }
        assert!(failed > 20, "{failed}");
        peers.listen();
        let back = Instant::now();
        peers.get(0, "k");
        while !peers.accept_waiting(0) {
            if !peers.poll(Until::At(Instant::now() + Duration::from_millis(50))).is_empty() {
                peers.get(0, "k");
            }
            assert!(back.elapsed() < PATIENCE, "it is not found again");
        }
    }
}

#[test]
fn operations_that_have_less_time_than_an_attempt_waits_do_not_put_the_attempt_off() {
    for clients in CLIENTS {
        let mut peers = Peers::new(clients, 1);
        peers.close_all();
        let mut inbox = testkit::Inbox::default();
        // Each has 20 ms, then it is abandoned and the next one comes: so attempts are soon as far apart as they get.
        let mut try_for = |peers: &mut Peers, time: Duration, mut is_over: Box<dyn FnMut(&mut Peers) -> bool>| {
            let start = Instant::now();
            while start.elapsed() < time && !is_over(peers) {
                peers.get(0, "k");
                let end = Instant::now() + Duration::from_millis(20);
                let mut failed = false;
                while !failed && Instant::now() < end {
                    failed = !peers.poll(Until::At(end)).is_empty();
                }
                if !failed {
                    peers.client.session.abandon(0, &mut inbox);
                }
            }
            start.elapsed()
        };
        try_for(&mut peers, 4 * wire::RETRY_LONGEST, Box::new(|_| false));
        peers.listen();
        let took = try_for(&mut peers, PATIENCE, Box::new(|peers| peers.accept_waiting(0)));
        assert!(took < PATIENCE, "{clients}: the server is back, and no attempt is made");
    }
}

#[test]
fn a_server_that_answers_and_hangs_up_each_time_is_reached_each_time() {
    for clients in CLIENTS {
        let mut peers = Peers::new(clients, 1);
        for round in 0..50 {
            peers.get(0, "k");
            peers.poll(Until::Now);
            if round > 0 {
                // It is there already: nothing is waited for after a connection that worked.
                peers.accept(0);
            }
            peers.send(0, b"1:x");
            assert_eq!(peers.poll(Until::Now), [(0, value("x"))]);
            peers.hang_up(0);
            peers.poll(Until::Now);
        }
    }
}

#[test]
fn a_server_that_is_not_there_or_does_not_greet_is_an_error_with_its_address() {
    let directory = wire_peer::directory();
    let path = directory.path().join("none.sock");
    let error = wire_peer::session(&Endpoint::unix(&path), 1, 1, Letters::greeting).err().unwrap().to_string();
    assert!(error.contains("none.sock") && error.contains("No such file"), "{error}");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let server = std::thread::spawn(move || {
        for answer in [&b""[..], b"#", b"1:!", b"2:hi1:x"] {
            let (mut peer, _) = listener.accept().unwrap();
            peer.read_exact(&mut [0; 6]).unwrap();
            peer.write_all(answer).unwrap();
        }
    });
    for words in ["closed the connection", "not the protocol", "says no", "more than it was asked"] {
        let error = wire_peer::session(&Endpoint::unix(&path), 1, 1, Letters::greeting).err().unwrap().to_string();
        assert!(error.contains(words) && error.contains("none.sock"), "{error}");
    }
    server.join().unwrap();
}

#[test]
fn a_length_that_is_a_lie_costs_no_memory() {
    let mut peers = Peers::new(1, 1);
    peers.get(0, "k");
    peers.poll(Until::Now);
    let (resident, mapped) = (wire_peer::resident_bytes(), wire_peer::mapped_bytes());
    for part in [&b"2000000000:"[..], &[b'x'; 1000], &[b'x'; 1000]] {
        peers.send(0, part);
        assert!(peers.poll(Until::Now).is_empty());
    }
    // Reserved but untouched memory is not resident, so look at what is mapped as well.
    assert!(wire_peer::mapped_bytes() < mapped + (1 << 30), "{}", wire_peer::mapped_bytes());
    assert!(wire_peer::resident_bytes() < resident + (16 << 20));
}

#[test]
fn a_reply_larger_than_any_that_can_come_fails_when_it_is_announced_or_has_grown_so_large() {
    let mut peers = Peers::new(1, 2);
    peers.client.session.believe(1000);
    let most = 2000 + (1 << 20);
    peers.get(0, "k");
    peers.get(1, "k");
    peers.poll(Until::Now);
    peers.send(0, format!("1:a{most}:").as_bytes());
    let words = format!("announces a reply of {} bytes, more than the {most} it can have here", most + 8);
    assert_eq!(peers.poll(Until::Now), [(0, value("a")), (1, broken(&words))]);
    assert!(peers.hung_up(0));
    // One that just fits is taken, over a new connection.
    peers.get(0, "k");
    peers.poll(Until::Now);
    peers.accept(0);
    let fits = most - 8;
    peers.send(0, format!("{fits}:").as_bytes());
    let mut answers = Vec::new();
    let block = vec![b'x'; 1 << 14];
    for start in (0..fits).step_by(block.len()) {
        peers.send(0, &block[..block.len().min(fits - start)]);
        answers.extend(peers.poll(Until::Now));
    }
    while answers.is_empty() {
        answers.extend(peers.poll(Until::Now));
    }
    assert!(answers == [(0, value("x".repeat(fits)))]);
}

#[test]
fn an_operation_that_is_abandoned_takes_its_connection_with_it_and_the_next_one_opens_another() {
    for clients in CLIENTS {
        let mut peers = Peers::new(clients, 2);
        peers.get(0, "slow");
        peers.get(1, "behind");
        assert!(peers.poll(Until::Now).is_empty());
        let mut inbox = testkit::Inbox::default();
        assert_eq!(peers.client.session.abandon(0, &mut inbox), Abandoned::GivenUp);
        assert_eq!(inbox.replies[0], (0, OwnedReply::Failed(OwnedFailure::Deadline)));
        let beside = inbox.replies.get(1).map(|(slot, reply)| (*slot, loss(reply).is_some()));
        assert_eq!((inbox.replies.len(), beside), (2, Some((1, true))), "{:?}", inbox.replies);
        assert!(peers.hung_up(0));
        // Nothing is in flight any more, on this connection or another.
        assert_eq!(peers.client.session.abandon(0, &mut inbox), Abandoned::Never);
        peers.get(0, "again");
        peers.poll(Until::Now);
        peers.accept(0);
        assert_eq!(peers.received(0), "again\n");
        peers.send(0, b"2:ok");
        assert_eq!(peers.poll(Until::Now), [(0, value("ok"))]);
        assert_eq!(peers.client.session.reconnected(), 1);
    }
}

#[test]
fn a_server_that_takes_connections_and_does_not_greet_holds_up_no_other_connection() {
    let directory = wire_peer::directory();
    let path = directory.path().join("peer.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    // It greets two, answers the second for ever, and says nothing to those that come later.
    let server = std::thread::spawn(move || {
        let greeted: Vec<_> = (0..2)
            .map(|_| {
                let (mut peer, _) = listener.accept().unwrap();
                peer.read_exact(&mut [0; 6]).unwrap();
                peer.write_all(b"2:hi").unwrap();
                peer
            })
            .collect();
        let [first, mut second] = <[_; 2]>::try_from(greeted).unwrap();
        drop(first);
        let silent = listener.accept().unwrap();
        let mut bytes = [0; 2];
        while second.read_exact(&mut bytes).is_ok() {
            second.write_all(b"1:y").unwrap();
        }
        drop(silent);
    });
    let mut client =
        testkit::Client::over(wire_peer::session(&Endpoint::unix(&path), 2, 1, Letters::greeting).unwrap());
    let get = |key| kvtrial_store::Operation::Get { key };
    assert!(client.session.submit(0, &get(b"k")).unwrap().is_none());
    let lost = testkit::waiting::soon("the first connection is lost", || client.poll(Until::Now).replies.pop());
    assert!(lost.0 == 0 && loss(&lost.1).is_some(), "{lost:?}");
    // It is opened again, and greeted by nobody.
    assert!(client.session.submit(0, &get(b"k")).unwrap().is_none());
    let (mut answered, mut failed, begin) = (0, None, Instant::now());
    while failed.is_none() {
        assert!(client.session.submit(1, &get(b"k")).unwrap().is_none());
        let mut replies = Vec::new();
        while !replies.iter().any(|(slot, _)| *slot == 1) {
            replies.extend(client.poll(Until::At(Instant::now() + Duration::from_millis(50))).replies);
            assert!(begin.elapsed() < PATIENCE, "{answered} answers");
        }
        answered += 1;
        failed = replies.into_iter().find(|(slot, _)| *slot == 0);
    }
    let words = failed.as_ref().and_then(|(_, reply)| loss(reply)).unwrap_or_default();
    assert!(words.contains("did not answer in time"), "{failed:?}");
    assert!(answered > 100, "while one connection was being opened the other had {answered} answers");
    drop(client);
    server.join().unwrap();
}

#[test]
fn a_connection_to_a_name_is_opened_again_by_a_thread_of_its_own() {
    for clients in CLIENTS {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = study::Address::Tcp { host: "localhost".into(), port: Some(port) };
        let endpoint = Endpoint { address, ..Endpoint::loopback(port) };
        let session = wire_peer::session(&endpoint, clients, 1, Letters::silent).unwrap();
        let mut client = testkit::Client::over(session);
        (0..clients).for_each(|_| drop(listener.accept().unwrap()));
        let get = kvtrial_store::Operation::Get { key: b"k" };
        assert!(client.session.submit(0, &get).unwrap().is_none());
        let lost = testkit::waiting::soon("the connection is lost", || client.poll(Until::Now).replies.pop());
        assert!(loss(&lost.1).is_some(), "{lost:?}");
        assert!(client.session.submit(0, &get).unwrap().is_none());
        listener.set_nonblocking(true).unwrap();
        let mut peer = testkit::waiting::soon("it is opened again", || {
            assert!(client.poll(Until::Now).replies.is_empty());
            listener.accept().ok()
        });
        peer.0.write_all(b"2:ok").unwrap();
        let reply = testkit::waiting::soon("the reply", || client.poll(Until::Now).replies.pop());
        assert_eq!(reply, (0, value("ok")));
    }
}
