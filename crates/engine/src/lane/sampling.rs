//! Which operations of a closed loop are timed.

use jobkit::Think;
use measure::Ticks;
use store::OperationKind;

/// The choice of operations to time.
pub(super) struct Sampling {
    /// One operation in this many is timed.
    pub(super) every: u32,
    pub(super) until_timed: u32,
    /// Whether the end of one operation is the start of the next.
    pub(super) chained: bool,
    pub(super) burst: Burst,
}

/// Replies of one kind that arrived together to operations sent together: one latency, recorded once.
pub(super) struct Burst {
    pub(super) kind: OperationKind,
    pub(super) sent: Ticks,
    pub(super) arrived: Ticks,
    pub(super) replies: u32,
}

impl Sampling {
    /// Times one operation in `every`, of a job that thinks like this.
    pub(super) fn new(every: u32, think: Think) -> Sampling {
        Sampling {
            every,
            until_timed: every,
            chained: think == Think::Free && every == 1,
            burst: Burst { kind: OperationKind::Get, sent: 0, arrived: 0, replies: 0 },
        }
    }

    /// Returns whether the operation that is about to be sent is timed.
    #[inline(always)]
    pub(super) fn times(&mut self) -> bool {
        self.until_timed -= 1;
        let timed = self.until_timed == 0;
        if timed {
            self.until_timed = self.every;
        }
        timed
    }
}
