//! RESP of one node, with `ASKING` before a request that was sent there for this once.

use crate::redis::Resp;
use std::cell::Cell;
use std::rc::Rc;
use store::Operation;
use store::wire::{Codec, Decoded, Expect};

/// Whether the next request is preceded by `ASKING`. Shared by a session and the codecs of its connections.
pub(super) type Asking = Rc<Cell<bool>>;

const ASKING: &[u8] = b"*1\r\n$6\r\nASKING\r\n";

/// The reply to it.
const ASKED: &[u8] = b"+OK\r\n";

/// A bit of [`Expect::detail`] that [`Resp`] never sets: it counts keys there, of which there are fewer.
const WAS_ASKING: u32 = 1 << 31;

/// One connection's state.
pub(super) struct ClusterResp {
    resp: Resp,
    asking: Asking,
}

impl ClusterResp {
    pub fn new(resp: Resp, asking: Asking) -> ClusterResp {
        ClusterResp { resp, asking }
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
        if self.asking.get() {
            out.extend_from_slice(ASKING);
            let Expect { kind, detail } = self.resp.encode(operation, out);
            return Expect { kind, detail: detail | WAS_ASKING };
        }
        self.resp.encode(operation, out)
    }

    #[inline(always)]
    fn decode<'a>(&'a mut self, expect: Expect, input: &'a [u8]) -> Decoded<'a> {
        if expect.detail & WAS_ASKING != 0 {
            return self.decode_asked(Expect { detail: expect.detail & !WAS_ASKING, ..expect }, input);
        }
        self.resp.decode(expect, input)
    }
}

impl ClusterResp {
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{ASKED, ASKING, ClusterResp, Decoded, Operation};
    use crate::redis::{Login, Resp};
    use std::cell::Cell;
    use std::rc::Rc;
    use store::Reply;
    use store::wire::Codec;

    #[test]
    fn a_request_that_asks_is_one_request_with_one_reply_however_its_bytes_come() {
        let asking = Rc::new(Cell::new(true));
        let mut codec = ClusterResp::new(Resp::new(Login::default()), asking.clone());
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
}
