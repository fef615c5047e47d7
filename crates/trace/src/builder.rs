//! Takes requests one by one, whatever their format.

use crate::keys::Interner;
use crate::lives::{GivenLife, packed};
use crate::trace::{RequestKind, Trace};

/// The most requests and keys together: each has a number of 32 bits.
const MOST: u64 = (1 << 32) - 2;

/// A key as a format has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name<'a> {
    /// A number; stores get it in decimal.
    Number(u64),
    /// Bytes.
    Bytes(&'a [u8]),
}

/// A request as a reader has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceRequest<'a> {
    pub(crate) key: Name<'a>,
    pub(crate) kind: RequestKind,
    pub(crate) value_bytes: Option<u64>,
    pub(crate) time_us: Option<u64>,
    pub(crate) life: GivenLife,
}

impl<'a> TraceRequest<'a> {
    /// Returns a get of which nothing more is known.
    pub(crate) fn get(key: Name<'a>) -> TraceRequest<'a> {
        TraceRequest { key, kind: RequestKind::Get, value_bytes: None, time_us: None, life: GivenLife::AsBefore }
    }
}

/// Whether more is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    More,
    Enough,
}

/// The trace as it grows.
pub(crate) struct TraceBuilder {
    pub(crate) trace: Trace,
    interner: Interner,
    most: u64,
    first_us: Option<u64>,
    last_us: u64,
    /// When the value of each key is over, in the time of the trace; 0: never. Empty: no time to live was seen.
    over_us: Vec<u64>,
}

impl TraceBuilder {
    pub(crate) fn new(most: u64) -> TraceBuilder {
        TraceBuilder {
            trace: Trace::empty(),
            interner: Interner::default(),
            most,
            first_us: None,
            last_us: 0,
            over_us: Vec::new(),
        }
    }

    /// Adds a request.
    ///
    /// # Errors
    /// Says why it cannot come now.
    #[inline]
    pub(crate) fn push(&mut self, mut request: TraceRequest<'_>) -> Result<Wanted, String> {
        // What lives no longer from now on is deleted.
        if request.life == (GivenLife::For { ms: 0 }) {
            match request.kind {
                RequestKind::Set | RequestKind::Touch => request.kind = RequestKind::Delete,
                RequestKind::Get | RequestKind::Delete => request.life = GivenLife::AsBefore,
            }
        }
        let TraceBuilder { trace, interner, .. } = self;
        let number = trace.ids.len();
        if number as u64 + trace.keys.len() as u64 >= MOST {
            return Err(format!(
                "a trace may have {MOST} requests and keys; use --set requests=N for the first of them"
            ));
        }
        let id = interner.id(&mut trace.keys, request.key)?;
        if request.kind != RequestKind::Get && trace.kinds.is_empty() {
            trace.kinds.resize(number, RequestKind::Get);
        }
        if request.kind != RequestKind::Get || !trace.kinds.is_empty() {
            trace.kinds.push(request.kind);
        }
        let bytes = request.value_bytes.map_or(0, |bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
        if bytes > 0 && trace.sizes.is_empty() {
            trace.sizes.resize(number, 0);
        }
        if bytes > 0 || !trace.sizes.is_empty() {
            trace.sizes.push(bytes);
        }
        self.live(id, number, &request);
        self.trace.ids.push(id);
        if let Some(time_us) = request.time_us {
            let first_us = *self.first_us.get_or_insert(time_us);
            if time_us < self.last_us.max(first_us) {
                let behind_s = (self.last_us.max(first_us) - time_us) as f64 / 1e6;
                return Err(format!(
                    "the clock runs backwards: this request comes {behind_s} s before the one above it"
                ));
            }
            self.last_us = time_us;
            self.trace.times_us.push(time_us - first_us);
        }
        Ok(if self.trace.ids.len() as u64 >= self.most { Wanted::Enough } else { Wanted::More })
    }

    /// Notes the time to live that a request gives its key. Where it says that the key lives as long as before, a write is given what is left.
    #[inline]
    fn live(&mut self, id: u32, number: usize, request: &TraceRequest<'_>) {
        if matches!(request.life, GivenLife::AsBefore | GivenLife::Lasting) && self.over_us.is_empty() {
            return;
        }
        let TraceBuilder { trace, over_us, .. } = self;
        if trace.ttls.is_empty() {
            trace.ttls.resize(number, 0);
        }
        over_us.resize(over_us.len().max(trace.keys.len()).max(1), 0);
        let (over_us, now_us) = (&mut over_us[id as usize], request.time_us.unwrap_or(0));
        let left_ms = over_us.checked_sub(now_us).map(|left_us| left_us.div_ceil(1000)).filter(|&left_ms| left_ms > 0);
        let ttl_ms = match (request.life, request.kind) {
            (GivenLife::For { ms }, _) => Some(ms),
            (GivenLife::AsBefore, RequestKind::Set) => left_ms,
            (GivenLife::AsBefore, _) => None,
            (GivenLife::Lasting | GivenLife::Until { .. }, _) => None,
        };
        if (request.life, request.kind) == (GivenLife::AsBefore, RequestKind::Set) && ttl_ms.is_some() {
            trace.kept_lives.extend(u32::try_from(number));
        }
        match (request.life, request.kind) {
            (_, RequestKind::Delete) => *over_us = 0,
            (GivenLife::AsBefore, RequestKind::Get | RequestKind::Touch) => {}
            _ => *over_us = ttl_ms.map_or(0, |ttl_ms| now_us.saturating_add(ttl_ms.saturating_mul(1000)).max(1)),
        }
        trace.ttls.push(ttl_ms.map_or(0, packed));
    }

    /// Counts what is no request for a value.
    pub(crate) fn leave_out(&mut self) {
        self.trace.left_out += 1;
    }
}
