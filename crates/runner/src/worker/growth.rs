//! What is seen beside the loop while a store grows, and which stalls it explains.

use host::{Location, Sighting, Watched};
use std::time::{Duration, Instant};
use store::{Happening, Store, Witness};
use study::{CurvePoint, Stall};

/// Most that a store may take to say what it does before a phase has begun, when nothing holds it up.
const FIRST_LOOK: Duration = Duration::from_millis(500);
/// How often the disk is measured; memory is looked at whenever progress is.
const DISK_EVERY: Duration = Duration::from_secs(2);
/// Most looks kept; when they are full every second one goes.
const LOOKS: usize = 4096;
/// Bytes to disk around a stall that make it the disk's.
const DISK_BYTES: u64 = 1 << 20;

#[derive(Clone, Copy)]
struct Look {
    at_s: f64,
    seen: Sighting,
    disk_bytes: Option<u64>,
}

/// Looks taken while a phase runs.
pub(crate) struct Watch<'a> {
    store: &'a dyn Store,
    location: &'a Location,
    servers: Vec<Watched>,
    /// How long the store may take to answer a look: as long as an operation, so that who hangs ends with those.
    deadline: Duration,
    looks: Vec<Look>,
    begin: Instant,
    disk: (Option<u64>, Instant),
}

impl<'a> Watch<'a> {
    /// Begins to watch.
    pub(crate) fn begin(store: &'a dyn Store, location: &'a Location, deadline: Duration) -> Watch<'a> {
        let now = Instant::now();
        let disk = (location.disk_bytes(), now);
        let mut watch =
            Watch { store, location, servers: location.servers.clone(), deadline, looks: Vec::new(), begin: now, disk };
        watch.look_within(deadline.min(FIRST_LOOK), Duration::ZERO);
        watch
    }

    /// Looks, so long after the clock was switched on.
    pub(crate) fn look(&mut self, elapsed: Duration) {
        self.look_within(self.deadline, elapsed);
    }

    fn look_within(&mut self, within: Duration, elapsed: Duration) {
        let now = Instant::now();
        self.begin = now.checked_sub(elapsed).unwrap_or(now);
        if now - self.disk.1 >= DISK_EVERY {
            self.disk = (self.location.disk_bytes(), now);
        }
        if self.looks.len() == LOOKS {
            let mut at = 0;
            self.looks.retain(|_| {
                at += 1;
                at % 2 == 1
            });
        }
        if let Some(witness) = self.store.witness() {
            witness.look(within);
        }
        let seen = Sighting::of(&mut self.servers);
        self.looks.push(Look { at_s: elapsed.as_secs_f64(), seen, disk_bytes: self.disk.0 });
    }

    /// Adds memory and disk to the points, and causes to the stalls.
    pub(crate) fn explain(mut self, elapsed: Duration, curve: &mut [CurvePoint], stalls: &mut [Stall]) {
        self.look(elapsed);
        for point in curve {
            let later = self.looks.partition_point(|look| look.at_s < point.at_s).min(self.looks.len() - 1);
            let (first, look) = (self.looks[0].seen, self.looks[later]);
            (point.rss_bytes, point.disk_bytes) = (Some(look.seen.rss_bytes), look.disk_bytes);
            point.written_bytes = Some(look.seen.written_bytes.saturating_sub(first.written_bytes));
            point.read_bytes = Some(look.seen.read_bytes.saturating_sub(first.read_bytes));
        }
        if stalls.is_empty() {
            return;
        }
        let happened = self.store.witness().map(Witness::happened).unwrap_or_default();
        for stall in stalls {
            let end_s = stall.at_s + stall.duration_s;
            let before = self.looks.partition_point(|look| look.at_s <= stall.at_s).saturating_sub(1);
            let after = self.looks.partition_point(|look| look.at_s < end_s).min(self.looks.len() - 1);
            let (cause, evidence) = self
                .own(&happened, stall)
                .or_else(|| outside(&self.looks[before].seen, &self.looks[after].seen, stall.duration_s))
                .unwrap_or((
                    None,
                    "nothing that was watched: not the store's own word, page faults, writing, waiting".into(),
                ));
            (stall.cause, stall.evidence) = (cause, evidence);
        }
    }

    /// What the store itself says it did then.
    fn own(&self, happened: &[Happening], stall: &Stall) -> Option<(Option<String>, String)> {
        let overlaps = |happening: &&Happening| {
            let Some(start) = happening.start else {
                // Known is only how long it took: about as long as the stall.
                let share = happening.duration.as_secs_f64() / stall.duration_s;
                return (0.5..=1.1).contains(&share);
            };
            let start_s = start.saturating_duration_since(self.begin).as_secs_f64();
            let end_s = start_s + happening.duration.as_secs_f64();
            let slack = 0.005;
            start_s < stall.at_s + stall.duration_s + slack
                && end_s + slack > stall.at_s
                && happening.duration.as_secs_f64() > stall.duration_s / 4.0
        };
        let found = happened.iter().filter(overlaps).max_by_key(|happening| happening.duration)?;
        let took = format!("{} ({:.1} ms)", found.detail, found.duration.as_secs_f64() * 1e3);
        Some((Some(found.cause.into()), took))
    }
}

/// What the kernel's counters say happened between two looks.
fn outside(before: &Sighting, after: &Sighting, duration_s: f64) -> Option<(Option<String>, String)> {
    let faults = after.major_faults - before.major_faults.min(after.major_faults);
    let written = after.written_bytes - before.written_bytes.min(after.written_bytes);
    let waited_s = after.waited_s - before.waited_s;
    let (cause, evidence) = match () {
        () if faults > 0 => ("swap", format!("{faults} page faults that waited for a disk")),
        () if waited_s > duration_s / 2.0 => {
            ("processor", format!("its threads waited {:.1} ms for a processor", waited_s * 1e3))
        }
        () if written >= DISK_BYTES => ("disk", format!("{:.1} MB sent to disk around then", written as f64 / 1e6)),
        () => return None,
    };
    Some((Some(cause.into()), evidence))
}

#[cfg(test)]
mod tests {
    use super::outside;
    use host::Sighting;

    #[test]
    fn a_stall_is_put_down_to_what_the_counters_say_and_to_nothing_else() {
        let before = Sighting { rss_bytes: 1, major_faults: 10, written_bytes: 1000, read_bytes: 0, waited_s: 1.0 };
        let cause = |after: Sighting| outside(&before, &after, 0.1).and_then(|found| found.0);
        assert_eq!(cause(before), None);
        assert_eq!(cause(Sighting { major_faults: 12, ..before }).as_deref(), Some("swap"));
        assert_eq!(cause(Sighting { waited_s: 1.08, ..before }).as_deref(), Some("processor"));
        assert_eq!(cause(Sighting { waited_s: 1.02, ..before }), None);
        assert_eq!(cause(Sighting { written_bytes: 2_000_000, ..before }).as_deref(), Some("disk"));
    }
}
