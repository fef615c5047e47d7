//! Signs of life of the other side.

use std::time::{Duration, Instant};

/// How often a heart beats.
pub(crate) const BEAT: Duration = Duration::from_millis(500);

/// How long the other side may give no sign of life.
pub(crate) const SILENT: Duration = Duration::from_secs(3);

/// When the other side was last heard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LifeSigns(Instant);

impl LifeSigns {
    pub(crate) fn since(now: Instant) -> LifeSigns {
        LifeSigns(now)
    }

    pub(crate) fn hear(&mut self, now: Instant) {
        self.0 = now;
    }

    /// Returns how long it has been silent, if that is too long.
    pub(crate) fn lost(&self, now: Instant) -> Option<Duration> {
        let silent = now.saturating_duration_since(self.0);
        (silent >= SILENT).then_some(silent)
    }
}
