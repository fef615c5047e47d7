//! Bytes received on a connection whose replies name their requests: each goes to its own request, in any order.

use super::received::End;
use super::{Codec, Decoded, Expect, Head};
use crate::{Sink, Slot};
use std::collections::VecDeque;

/// The error for a reply whose request is not in flight: it had a reply already, or never existed.
pub(super) const NOBODYS: &str = "the server sent a reply that no request waits for";

/// The error for a reply that its head calls whole, and is not.
const OF_ANOTHER_SIZE: &str = "a reply of the size it announces";

/// Hands every whole reply in `input` to the sink; returns the bytes that these replies took, and what follows them.
pub(super) fn hand_over<C: Codec>(
    codec: &mut C,
    in_flight: &mut VecDeque<(Slot, Expect)>,
    input: &[u8],
    answer: &mut Vec<u8>,
    sink: &mut dyn Sink,
) -> (usize, End) {
    let mut at = 0;
    while at < input.len() {
        let (place, bytes) = match codec.head(&input[at..], answer) {
            Head::Reply { ticket, bytes } => {
                // Most come in order, so the search ends soon.
                let place = in_flight.iter().position(|(_, it)| it.detail == ticket);
                if place.is_none() && codec.may_repeat(ticket) {
                    at += bytes;
                    continue;
                }
                (place, bytes)
            }
            Head::Oldest { bytes } if in_flight.is_empty() => {
                at += bytes;
                continue;
            }
            Head::Oldest { bytes } => (Some(0), bytes),
            Head::Aside { bytes } => {
                at += bytes;
                continue;
            }
            Head::Incomplete { at_least } => return (at, End::Partial { at_least }),
            Head::Broken(problem) => return (at, End::Broken(problem)),
        };
        let Some((place, &(slot, expect))) = place.and_then(|place| Some((place, in_flight.get(place)?))) else {
            return (at, End::Broken(NOBODYS));
        };
        match &codec.decode(expect, &input[at..at + bytes]) {
            Decoded::Reply { reply, consumed } if *consumed == bytes => sink.reply(slot, reply),
            Decoded::Broken(problem) => return (at, End::Broken(problem)),
            _ => return (at, End::Broken(OF_ANOTHER_SIZE)),
        }
        in_flight.remove(place);
        at += bytes;
    }
    (at, End::Whole)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{NOBODYS, hand_over};
    use crate::wire::received::End;
    use crate::wire::{Codec, Decoded, Expect, Head, Replies};
    use crate::{Operation, OperationKind, OwnedReply, Reply, Sink, Slot};
    use std::collections::VecDeque;

    /// Replies are a digit, the ticket, and a letter; `p` is a question that wants `P`; `!` is about the connection; 5 was answered before.
    struct Digits;

    impl Codec for Digits {
        const REPLIES: Replies = Replies::ByTicket;

        fn head(&mut self, input: &[u8], answer: &mut Vec<u8>) -> Head {
            match input {
                [b'p', ..] => {
                    answer.push(b'P');
                    Head::Aside { bytes: 1 }
                }
                [b'!', ..] => Head::Oldest { bytes: 1 },
                [b'0'..=b'9'] => Head::Incomplete { at_least: 1 },
                [digit @ b'0'..=b'9', ..] => Head::Reply { ticket: u32::from(digit - b'0'), bytes: 2 },
                _ => Head::Broken("a digit"),
            }
        }

        fn may_repeat(&self, ticket: u32) -> bool {
            ticket == 5
        }

        fn encode(&mut self, operation: &Operation<'_>, _: &mut Vec<u8>) -> Expect {
            Expect { kind: operation.kind(), detail: 0 }
        }

        fn decode<'a>(&'a mut self, _: Expect, input: &'a [u8]) -> Decoded<'a> {
            Decoded::Reply { reply: Reply::Value(&input[input.len() - 1..]), consumed: input.len() }
        }
    }

    #[derive(Default)]
    struct Taken(Vec<(Slot, OwnedReply)>);

    impl Sink for Taken {
        fn arrived(&mut self) {}

        fn reply(&mut self, slot: Slot, reply: &Reply<'_>) {
            self.0.push((slot, (*reply).into()));
        }
    }

    /// What comes of this input when three requests are in flight: slots and letters, bytes taken, what was answered, and the end.
    fn taken(input: &[u8]) -> (Vec<(Slot, u8)>, usize, Vec<u8>, End) {
        let mut in_flight: VecDeque<_> =
            (7..10).map(|detail| (detail * 10, Expect { kind: OperationKind::Get, detail })).collect();
        let (mut answer, mut sink) = (Vec::new(), Taken::default());
        let (consumed, end) = hand_over(&mut Digits, &mut in_flight, input, &mut answer, &mut sink);
        assert_eq!(in_flight.len() + sink.0.len(), 3);
        let letter = |reply: &OwnedReply| if let OwnedReply::Value(value) = reply { value[0] } else { b'?' };
        (sink.0.iter().map(|(slot, reply)| (*slot, letter(reply))).collect(), consumed, answer, end)
    }

    #[test]
    fn replies_find_their_requests_in_any_order_and_questions_between_them_are_answered() {
        let (replies, consumed, answer, end) = taken(b"9xp7yp8z");
        assert_eq!((replies, consumed, answer), (vec![(90, b'x'), (70, b'y'), (80, b'z')], 8, b"PP".to_vec()));
        assert!(matches!(end, End::Whole));
        let (replies, consumed, _, end) = taken(b"8a9");
        assert_eq!((replies, consumed), (vec![(80, b'a')], 2));
        assert!(matches!(end, End::Partial { at_least: 1 }));
    }

    #[test]
    fn a_sentence_about_the_connection_is_the_reply_of_the_oldest() {
        let (replies, consumed, ..) = taken(b"8a!");
        assert_eq!((replies, consumed), (vec![(80, b'a'), (70, b'!')], 3));
        let (replies, consumed, _, end) = taken(b"7a8a9a!p");
        assert!(replies.len() == 3 && consumed == 8 && matches!(end, End::Whole), "nobody is there to get it");
    }

    #[test]
    fn a_second_reply_is_passed_over_where_several_servers_may_answer() {
        let (replies, consumed, _, end) = taken(b"5a7b5c8d");
        assert_eq!((replies, consumed), (vec![(70, b'b'), (80, b'd')], 8));
        assert!(matches!(end, End::Whole));
    }

    #[test]
    fn a_second_reply_and_one_that_nobody_asked_for_break_the_connection() {
        for input in [&b"7a7b"[..], b"1a"] {
            assert!(matches!(taken(input).3, End::Broken(NOBODYS)), "{}", input.escape_ascii());
        }
        assert!(matches!(taken(b"7ax").3, End::Broken("a digit")));
    }
}
