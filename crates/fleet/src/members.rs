//! The workers that a study has claimed, each in its place.

use crate::life::LifeSigns;
use crate::message::Hello;
use crate::parcel::Parcel;
use runner::{ClockReading, FleetWorker, WorkerPlace};
use std::fs;
use std::time::{Duration, Instant};

/// How long a worker may take to accept a claim.
const ACCEPTS_WITHIN: Duration = Duration::from_secs(2);

/// A worker of a study.
pub(crate) struct Claimed {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) hello: Hello,
    pub(crate) life: LifeSigns,
    pub(crate) parcel: Parcel,
    pub(crate) clock: ClockReading,
    /// Since when the claim has not been accepted.
    asked: Option<Instant>,
}

/// The places of a study, each with the worker that has it.
pub(crate) struct ClaimedWorkers(Vec<Option<Claimed>>);

impl ClaimedWorkers {
    pub(crate) fn new(size: u32) -> ClaimedWorkers {
        ClaimedWorkers((0..size).map(|_| None).collect())
    }

    pub(crate) fn size(&self) -> usize {
        self.0.len()
    }

    /// Returns how many have accepted.
    pub(crate) fn count(&self) -> usize {
        self.0.iter().flatten().filter(|it| it.asked.is_none()).count()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.count() == self.size()
    }

    pub(crate) fn each(&self) -> impl Iterator<Item = (usize, &Claimed)> {
        self.0.iter().enumerate().filter_map(|(at, it)| Some((at, it.as_ref()?)))
    }

    pub(crate) fn at(&mut self, place: usize) -> Option<&mut Claimed> {
        self.0.get_mut(place)?.as_mut()
    }

    pub(crate) fn place_of(&self, id: &str) -> Option<usize> {
        self.0.iter().position(|it| it.as_ref().is_some_and(|it| it.id == id))
    }

    /// Gives a worker a place that is free; `None`: there is none, or it has one.
    pub(crate) fn claim(&mut self, id: &str, hello: Hello, now: Instant) -> Option<usize> {
        if self.place_of(id).is_some() {
            return None;
        }
        let place = self.0.iter().position(Option::is_none)?;
        let taken = |name: &str| self.0.iter().flatten().any(|it| it.name == name);
        let numbered = (2..).map(|number| format!("{} {number}", hello.name));
        let name = std::iter::once(hello.name.clone()).chain(numbered).find(|name| !taken(name))?;
        self.0[place] = Some(Claimed {
            id: id.to_owned(),
            name,
            hello,
            life: LifeSigns::since(now),
            parcel: Parcel::default(),
            clock: ClockReading::default(),
            asked: Some(now),
        });
        Some(place)
    }

    /// A worker has accepted; whether that is news.
    pub(crate) fn accept(&mut self, place: usize) -> bool {
        self.at(place).and_then(|it| it.asked.take()).is_some()
    }

    /// Frees a place.
    pub(crate) fn free(&mut self, place: usize) -> Option<Claimed> {
        self.0.get_mut(place)?.take()
    }

    /// Frees the places of workers that did not accept in time.
    pub(crate) fn forget_silent(&mut self, now: Instant) {
        for place in &mut self.0 {
            let waited = place.as_ref().and_then(|it| it.asked).map(|asked| now.saturating_duration_since(asked));
            if waited.is_some_and(|waited| waited > ACCEPTS_WITHIN) {
                *place = None;
            }
        }
    }

    /// Returns the first worker that gave no sign of life for too long, and how long.
    pub(crate) fn lost(&self, now: Instant) -> Option<(usize, Duration)> {
        self.each().find_map(|(at, it)| Some((at, it.life.lost(now)?)))
    }
}

impl Claimed {
    pub(crate) fn worker(&self, machine: &MachineId) -> FleetWorker {
        let is_here = self.hello.machine.starts_with(&machine.boot);
        FleetWorker {
            name: self.name.clone(),
            cpus: self.hello.cpus,
            whereabouts: if is_here { WorkerPlace::Here } else { WorkerPlace::Elsewhere },
            clock: self.clock,
        }
    }
}

/// Which machine this is, and which of its networks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MachineId {
    boot: String,
    network: String,
}

impl MachineId {
    pub(crate) fn this() -> MachineId {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned();
        let network = fs::read_link("/proc/self/ns/net").map_or_else(|_| String::new(), |it| it.display().to_string());
        MachineId { boot, network }
    }

    /// Returns it as a worker says it.
    pub(crate) fn text(&self) -> String {
        format!("{}/{}", self.boot, self.network)
    }
}

/// Returns the name of this machine, for people.
pub(crate) fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "worker".into() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{ACCEPTS_WITHIN, ClaimedWorkers};
    use crate::life::SILENT;
    use crate::message::Hello;
    use std::time::{Duration, Instant};

    #[test]
    fn a_place_is_given_once_freed_when_nobody_accepts_and_names_differ() {
        let now = Instant::now();
        let hello = |name: &str| Hello { name: name.into(), ..Hello::default() };
        let mut members = ClaimedWorkers::new(2);
        assert_eq!(members.claim("a", hello("box"), now), Some(0));
        assert_eq!(members.claim("a", hello("box"), now), None, "it has a place");
        assert_eq!(members.claim("b", hello("box"), now), Some(1));
        assert_eq!(members.claim("c", hello("other"), now), None, "there is none left");
        assert!(members.accept(0) && !members.accept(0));
        members.forget_silent(now + ACCEPTS_WITHIN + Duration::from_millis(1));
        assert_eq!((members.count(), members.place_of("b")), (1, None));
        assert_eq!(members.claim("c", hello("box"), now), Some(1));
        assert_eq!(members.at(1).unwrap().name, "box 2");
        assert!(members.accept(1) && members.is_full());
        assert_eq!(members.lost(now + SILENT - Duration::from_millis(1)), None);
        members.at(0).unwrap().life.hear(now + SILENT);
        assert_eq!(members.lost(now + SILENT), Some((1, SILENT)));
    }
}
