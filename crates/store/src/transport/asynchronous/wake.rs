//! Which slots' futures want to be polled: a set of bits, filled by wakers and emptied by the session.

use futures_util::task::AtomicWaker;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Wake, Waker};

/// The session's end.
pub(super) struct Woken {
    shared: Arc<Shared>,
    timer_waker: Waker,
}

struct Shared {
    words: Box<[AtomicU64]>,
    /// Whether the loop was woken since it last listened.
    told: AtomicBool,
    parent: AtomicWaker,
}

struct SlotWaker {
    shared: Arc<Shared>,
    slot: usize,
}

/// Returns an empty set for `slots` slots, and a waker for each.
pub(super) fn bitset(slots: usize) -> (Woken, Vec<Waker>) {
    let words = (0..=slots / 64).map(|_| AtomicU64::new(0)).collect();
    let shared = Arc::new(Shared { words, told: AtomicBool::new(false), parent: AtomicWaker::new() });
    let waker = |slot| Waker::from(Arc::new(SlotWaker { shared: shared.clone(), slot }));
    let wakers = (0..slots).map(waker).collect();
    // One past the last slot: nobody's bit, it only wakes the loop.
    let timer_waker = waker(slots);
    (Woken { shared, timer_waker }, wakers)
}

impl Woken {
    /// Sets the waker that the first wake from now on calls.
    pub(super) fn listen(&self, parent: &Waker) {
        self.shared.parent.register(parent);
        // Before the bits are read: a wake that comes later than the reading tells the loop again.
        self.shared.told.store(false, Ordering::SeqCst);
    }

    /// Empties the set, calling `visit` for each member. Members that wake meanwhile are visited by the next call.
    pub(super) fn drain(&self, mut visit: impl FnMut(usize)) {
        for (index, word) in self.shared.words.iter().enumerate() {
            if word.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let mut bits = word.swap(0, Ordering::SeqCst);
            while bits != 0 {
                visit(index * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }

    /// Returns a waker that only wakes the loop.
    pub(super) fn timer_waker(&self) -> &Waker {
        &self.timer_waker
    }
}

impl Wake for SlotWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.shared.words[self.slot / 64].fetch_or(1 << (self.slot % 64), Ordering::SeqCst);
        if !self.shared.told.swap(true, Ordering::SeqCst) {
            self.shared.parent.wake();
        }
    }
}
