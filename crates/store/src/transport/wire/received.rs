//! Bytes received on a connection: the whole replies among them, handed over in order, and what follows the last.

use super::{Codec, Decoded, Expect};
use crate::{Failure, Reply, Sink, Slot};
use std::collections::VecDeque;

pub(super) const SURPLUS: &str = "the server sent more than the replies it was asked for";

/// The bytes behind the last whole reply.
pub(super) enum End {
    /// No bytes.
    Whole,
    /// The beginning of another reply.
    Partial { at_least: usize },
    /// Bytes that are not the protocol.
    Broken(&'static str),
    /// Bytes that were not asked for.
    Surplus,
}

/// Hands every whole reply in `input` to the sink; returns the bytes that these replies took, and what follows them.
#[inline]
pub(super) fn hand_over<C: Codec>(
    codec: &mut C,
    in_flight: &mut VecDeque<(Slot, Expect)>,
    input: &[u8],
    sink: &mut dyn Sink,
) -> (usize, End) {
    let waiting = in_flight.len();
    let (mut at, mut answered, mut end) = (0, 0, End::Whole);
    // Slices, and one removal for all: a queue that is popped looks each time whether it has come to its end.
    let (older, newer) = in_flight.as_slices();
    'input: for part in [older, newer] {
        for &(slot, expect) in part {
            if at == input.len() {
                break 'input;
            }
            // By reference: a reply is too large to be copied for nothing.
            match &codec.decode(expect, &input[at..]) {
                Decoded::Reply { reply, consumed } => {
                    at += consumed;
                    answered += 1;
                    if answered == waiting && at < input.len() {
                        sink.reply(slot, &Reply::Failed(Failure::Protocol(SURPLUS)));
                    } else {
                        sink.reply(slot, reply);
                    }
                }
                Decoded::Incomplete { at_least } => {
                    end = End::Partial { at_least: *at_least };
                    break 'input;
                }
                Decoded::Broken(problem) => {
                    end = End::Broken(problem);
                    break 'input;
                }
            }
        }
    }
    in_flight.drain(..answered);
    if answered == waiting && at < input.len() {
        end = End::Surplus;
    }
    (at, end)
}
