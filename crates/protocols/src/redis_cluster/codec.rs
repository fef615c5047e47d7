//! RESP of one node, with `ASKING` before a request that was sent there for this once, and `WAIT` after a write that replicas must have.

use crate::redis::Resp;
use std::cell::Cell;
use std::rc::Rc;
use store::wire::ascii::parse_i64;
use store::wire::{Codec, Decoded, Expect};
use store::{Failure, Operation, OperationKind, Reply};

/// A flag that says whether the next request is preceded by `ASKING`. A session and the codecs of its connections share it.
pub(super) type Asking = Rc<Cell<bool>>;

const ASKING: &[u8] = b"*1\r\n$6\r\nASKING\r\n";

/// The reply to `ASKING`.
const ASKED: &[u8] = b"+OK\r\n";

/// A bit of [`Expect::detail`] that [`Resp`] never sets: `Resp` counts keys there, of which there are fewer.
const WAS_ASKING: u32 = 1 << 31;

/// Another such bit: `WAIT` follows the request, and a number of replicas its reply.
const WAITS: u32 = 1 << 30;

/// The time a write waits for its replicas, in milliseconds.
const PATIENCE_MS: &str = "1000";

/// The longest reply to `WAIT` that is believed.
const LONGEST_NUMBER: usize = 16;

/// What becomes of a write that too few replicas have.
const TOO_FEW: &str = "too few replicas had it within a second (WAIT)";

/// The number of replicas that must have a write before it counts as acknowledged; 0 by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wait(pub(super) u32);

/// The state of one connection.
pub(super) struct ClusterResp {
    resp: Resp,
    asking: Asking,
    wait: Wait,
}

impl ClusterResp {
    pub fn new(resp: Resp, asking: Asking, wait: Wait) -> ClusterResp {
        ClusterResp { resp, asking, wait }
    }
}

impl Codec for ClusterResp {
    fn hello(&mut self, out: &mut Vec<u8>) -> u32 {
        self.resp.hello(out)
    }

    fn hello_reply<'a>(&'a mut self, input: &'a [u8]) -> Decoded<'a> {
        self.resp.hello_reply(input)
    }

    #[inline(always)]
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) -> Expect {
        if self.asking.get() || self.wait != Wait(0) {
            return self.encode_with_more(operation, out);
        }
        self.resp.encode(operation, out)
    }

    #[inline(always)]
    fn decode<'a>(&'a mut self, expect: Expect, input: &'a [u8]) -> Decoded<'a> {
        if expect.detail & WAITS != 0 {
            return self.decode_waited(Expect { detail: expect.detail & !WAITS, ..expect }, input);
        }
        if expect.detail & WAS_ASKING != 0 {
            return self.decode_asked(Expect { detail: expect.detail & !WAS_ASKING, ..expect }, input);
        }
        self.resp.decode(expect, input)
    }
}

impl ClusterResp {
    fn encode_with_more(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) -> Expect {
        let mut more = 0;
        if self.asking.get() {
            out.extend_from_slice(ASKING);
            more |= WAS_ASKING;
        }
        let Expect { kind, detail } = self.resp.encode(operation, out);
        if self.wait != Wait(0) && writes(kind) {
            // One or two replicas: a digit.
            let digit = b'0' + self.wait.0 as u8;
            out.extend_from_slice(b"*3\r\n$4\r\nWAIT\r\n$1\r\n");
            out.extend_from_slice(&[digit, b'\r', b'\n', b'$', b'0' + PATIENCE_MS.len() as u8, b'\r', b'\n']);
            out.extend_from_slice(PATIENCE_MS.as_bytes());
            out.extend_from_slice(b"\r\n");
            more |= WAITS;
        }
        Expect { kind, detail: detail | more }
    }

    /// Reads a reply, and after it the number of replicas that have the write.
    fn decode_waited<'a>(&'a mut self, expect: Expect, input: &'a [u8]) -> Decoded<'a> {
        let enough = i64::from(self.wait.0);
        let (reply, consumed) = match self.decode(expect, input) {
            Decoded::Reply { reply, consumed } => (reply, consumed),
            other => return other,
        };
        let rest = &input[consumed..];
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            return if rest.len() < LONGEST_NUMBER {
                Decoded::Incomplete { at_least: 1 }
            } else {
                Decoded::Broken("the reply to WAIT")
            };
        };
        let line = &rest[..end];
        let number = line.strip_prefix(b":").and_then(|line| line.strip_suffix(b"\r")).and_then(parse_i64);
        let reply = match (reply, number) {
            (Reply::Failed(_), _) => reply,
            (_, Some(have)) if have >= enough => reply,
            (_, Some(_)) => Reply::Failed(Failure::Unknown(TOO_FEW)),
            // The master is one no longer: what became of the write nobody says.
            (_, None) if line.starts_with(b"-") => Reply::Failed(Failure::Unknown(TOO_FEW)),
            (_, None) => return Decoded::Broken("the reply to WAIT"),
        };
        Decoded::Reply { reply, consumed: consumed + end + 1 }
    }

    #[cold]
    fn decode_asked<'a>(&'a mut self, expect: Expect, input: &'a [u8]) -> Decoded<'a> {
        let Some(rest) = input.strip_prefix(ASKED) else {
            return if ASKED.starts_with(input) {
                Decoded::Incomplete { at_least: ASKED.len() - input.len() }
            } else {
                Decoded::Broken("the reply to ASKING")
            };
        };
        match self.resp.decode(expect, rest) {
            Decoded::Reply { reply, consumed } => Decoded::Reply { reply, consumed: consumed + ASKED.len() },
            other => other,
        }
    }
}

/// Returns whether replicas get an operation of this kind.
fn writes(kind: OperationKind) -> bool {
    match kind {
        OperationKind::Put
        | OperationKind::PutMany
        | OperationKind::Delete
        | OperationKind::Append
        | OperationKind::Increment
        | OperationKind::IncrementField
        | OperationKind::PutTtl
        | OperationKind::Touch
        | OperationKind::Command
        | OperationKind::Sql
        | OperationKind::CompareAndSet => true,
        OperationKind::Get
        | OperationKind::GetVersioned
        | OperationKind::GetMany
        | OperationKind::GetCounter
        | OperationKind::GetFields
        | OperationKind::TimeLeft
        | OperationKind::Scan => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{ASKED, ASKING, ClusterResp, Decoded, Failure, Operation, TOO_FEW, Wait};
    use crate::redis::{Login, Resp};
    use std::cell::Cell;
    use std::rc::Rc;
    use store::Reply;
    use store::wire::Codec;

    #[test]
    fn a_request_that_asks_is_one_request_with_one_reply_however_its_bytes_come() {
        let asking = Rc::new(Cell::new(true));
        let mut codec = ClusterResp::new(Resp::new(Login::default()), asking.clone(), Wait(0));
        let mut out = Vec::new();
        let expect = codec.encode(&Operation::Get { key: b"a" }, &mut out);
        assert_eq!(out, [ASKING, b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n"].concat());
        let reply = [ASKED, b"$2\r\nxy\r\n"].concat();
        for end in 0..reply.len() {
            assert!(matches!(codec.decode(expect, &reply[..end]), Decoded::Incomplete { .. }), "{end}");
        }
        let whole = Decoded::Reply { reply: Reply::Value(b"xy"), consumed: reply.len() };
        assert_eq!(codec.decode(expect, &reply), whole);
        assert!(matches!(codec.decode(expect, b"-ERR"), Decoded::Broken(_)));
        asking.set(false);
        let expect = codec.encode(&Operation::Get { key: b"a" }, &mut out);
        assert_eq!(codec.decode(expect, b"$1\r\nz\r\n"), Decoded::Reply { reply: Reply::Value(b"z"), consumed: 7 });
    }

    #[test]
    fn a_write_that_waits_is_one_request_and_counts_only_when_enough_replicas_have_it() {
        let asking = Rc::new(Cell::new(false));
        let mut codec = ClusterResp::new(Resp::new(Login::default()), asking.clone(), Wait(1));
        let mut out = Vec::new();
        let expect = codec.encode(&Operation::Put { key: b"a", value: b"b" }, &mut out);
        let wait = b"*3\r\n$4\r\nWAIT\r\n$1\r\n1\r\n$4\r\n1000\r\n";
        assert_eq!(out, [&b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n"[..], wait].concat());
        let reply = b"+OK\r\n:1\r\n";
        for end in 0..reply.len() {
            assert!(matches!(codec.decode(expect, &reply[..end]), Decoded::Incomplete { .. }), "{end}");
        }
        let whole = |reply, consumed| Decoded::Reply { reply, consumed };
        assert_eq!(codec.decode(expect, reply), whole(Reply::Done, 9));
        let too_few = Reply::Failed(Failure::Unknown(TOO_FEW));
        assert_eq!(codec.decode(expect, b"+OK\r\n:0\r\n"), whole(too_few, 9));
        assert_eq!(codec.decode(expect, b"+OK\r\n-ERR no\r\n"), whole(too_few, 14));
        let moved = Reply::Failed(Failure::Refused("MOVED 1 a:2"));
        assert_eq!(codec.decode(expect, b"-MOVED 1 a:2\r\n:0\r\n"), whole(moved, 18));
        assert!(matches!(codec.decode(expect, b"+OK\r\n+OK\r\n"), Decoded::Broken(_)));
        assert!(matches!(codec.decode(expect, b"+OK\r\n:11111111111111111"), Decoded::Broken(_)));
        let expect = codec.encode(&Operation::Get { key: b"a" }, &mut out);
        assert_eq!(codec.decode(expect, b"$1\r\nz\r\n"), whole(Reply::Value(b"z"), 7));
        asking.set(true);
        let expect = codec.encode(&Operation::Delete { key: b"a" }, &mut out);
        assert_eq!(codec.decode(expect, b"+OK\r\n:1\r\n:2\r\n"), whole(Reply::Done, 13));
    }
}
