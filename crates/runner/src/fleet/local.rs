//! A fleet on this machine: its workers are forked from fork servers of their own, and nothing stands between.

use super::{ClockReading, FleetEvent, FleetLink, FleetWorker, WorkerPlace};
use crate::relay::{Relay, Relayed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use store::CommandLine;

/// Workers on this machine.
pub struct LocalFleet {
    line: CommandLine,
    relays: Vec<Option<Relay>>,
    said: Sender<(usize, Relayed)>,
    heard: Receiver<(usize, Relayed)>,
}

impl LocalFleet {
    /// Makes a fleet of this number of workers, whose fork servers this command line starts.
    pub fn new(size: u32, line: CommandLine) -> LocalFleet {
        let (said, heard) = channel();
        LocalFleet { line, relays: (0..size).map(|_| None).collect(), said, heard }
    }
}

impl FleetLink for LocalFleet {
    fn size(&self) -> u32 {
        self.relays.len() as u32
    }

    fn gather(&mut self, _: &str, _: &mut dyn FnMut() -> bool) -> Result<Vec<FleetWorker>, String> {
        while self.heard.try_recv().is_ok() {} // what a trial that is over has left
        for (at, relay) in self.relays.iter_mut().enumerate().filter(|(_, relay)| relay.is_none()) {
            let said = self.said.clone();
            let started = Relay::start(&self.line, move |relayed| {
                let _ = said.send((at, relayed)); // fails only when the fleet is gone
            });
            *relay = Some(started.map_err(|error| format!("worker processes cannot be made: {error}"))?);
        }
        let cpus = host::allowed_cpus().len() as u32;
        let worker = |at: usize| FleetWorker {
            name: format!("local {}", at + 1),
            cpus,
            whereabouts: WorkerPlace::Here,
            clock: ClockReading::default(),
        };
        Ok((0..self.relays.len()).map(worker).collect())
    }

    fn send(&mut self, worker: usize, message: &[u8]) {
        if let Some(relay) = &self.relays[worker] {
            relay.send(message); // one that is gone is reported as lost
        }
    }

    fn receive(&mut self, patience: Duration) -> FleetEvent {
        match self.heard.recv_timeout(patience) {
            Ok((worker, Relayed::Message(message))) => FleetEvent::Message { worker, message },
            Ok((worker, Relayed::Gone(how))) => {
                self.relays[worker] = None; // the next trial starts another
                FleetEvent::Lost { worker, how, silent: Duration::ZERO }
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => FleetEvent::Nothing,
        }
    }

    fn kill(&mut self, worker: usize) {
        self.relays[worker].iter().for_each(Relay::kill);
    }

    fn part(&mut self) -> Vec<Option<ClockReading>> {
        self.relays.iter().map(|relay| relay.as_ref().map(|_| ClockReading::default())).collect()
    }
}
