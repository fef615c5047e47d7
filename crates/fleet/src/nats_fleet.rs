//! The side of the study: it claims workers, measures their clocks, and hands messages to and fro.

use crate::error::FleetError;
use crate::life::SILENT;
use crate::members::{ClaimedWorkers, MachineId};
use crate::message::{Hello, LetterHead, Say, VERSION};
use crate::parcel::parts;
use crate::post::{Letter, Post};
use crate::server::NatsServer;
use crate::{NatsAddress, subject};
use runner::{ClockReading, FilesSeen, FleetEvent, FleetLink, FleetWorker};
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How often a study calls for workers while it lacks some.
const CALL_EVERY: Duration = Duration::from_millis(300);
/// How long it waits for a letter before it looks around.
const LOOK: Duration = Duration::from_millis(25);
/// How long a worker that was lost may take to come back before the next trial.
const BACK_WITHIN: Duration = Duration::from_secs(10);

/// What a study wants of its workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedWorkers {
    /// How many.
    pub workers: u32,
    /// How long it waits for them.
    pub within: Duration,
    /// Who can reach its stores.
    pub reached_by: ReachedBy,
}

/// The machines that reach the stores of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReachedBy {
    /// Those that answer: the user says where they are.
    Anybody,
    /// This machine only: kvtrial starts servers that listen on loopback.
    ThisMachine,
}

/// What happens while workers are claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetNews {
    /// The line to run on the other machines. It has the token, and belongs on the terminal only.
    Waiting {
        /// How many are there.
        joined: usize,
        /// Of how many.
        of: usize,
        /// The line.
        line: String,
    },
    /// One has joined.
    Joined {
        /// Its name.
        name: String,
        /// How many are there.
        joined: usize,
        /// Of how many.
        of: usize,
    },
    /// One was refused, and why.
    Refused {
        /// Its name.
        name: String,
        /// Why.
        why: String,
    },
}

/// Workers reached over NATS. Dropping this frees them for other studies.
pub struct NatsFleet {
    post: Post,
    letters: Receiver<Letter>,
    _sender: Sender<Letter>,
    place: String,
    /// The line to run elsewhere.
    line: String,
    study: String,
    wanted: WantedWorkers,
    machine: MachineId,
    members: ClaimedWorkers,
    trial: u32,
    plan: String,
    /// Workers that were refused, by id, and why.
    refused: BTreeMap<String, String>,
    events: VecDeque<FleetEvent>,
    hear: Box<dyn FnMut(FleetNews) + Send>,
    server: Option<NatsServer>,
}

impl NatsFleet {
    /// Connects to the user's NATS. `hear` hears of workers that join.
    ///
    /// # Errors
    /// Nobody answers there, or we are not let in.
    pub fn connect(
        address: &NatsAddress,
        wanted: WantedWorkers,
        hear: impl FnMut(FleetNews) + Send + 'static,
    ) -> Result<NatsFleet, FleetError> {
        // The login is not shown: who runs a worker there has it.
        let line = format!("kvtrial worker {}", address.servers().join(","));
        NatsFleet::over(address, line, None, wanted, Box::new(hear))
    }

    /// Does the same over a server of kvtrial's own, which ends with it.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn own(
        server: NatsServer,
        wanted: WantedWorkers,
        hear: impl FnMut(FleetNews) + Send + 'static,
    ) -> Result<NatsFleet, FleetError> {
        let (address, line) = (server.address().clone(), server.line().to_owned());
        NatsFleet::over(&address, line, Some(server), wanted, Box::new(hear))
    }

    fn over(
        address: &NatsAddress,
        line: String,
        server: Option<NatsServer>,
        wanted: WantedWorkers,
        hear: Box<dyn FnMut(FleetNews) + Send>,
    ) -> Result<NatsFleet, FleetError> {
        let study = host::fresh_secret()?.reveal()[..16].to_owned();
        let post = Post::connect(address, "kvtrial run")?;
        let (sender, letters) = channel();
        post.hear(subject::up(&study, subject::ANY), &sender, |letter| letter)?;
        let beat = LetterHead { version: VERSION.into(), study: study.clone(), ..LetterHead::default() };
        post.beat(Some((subject::pulse(&study), beat.with(b""))));
        Ok(NatsFleet {
            post,
            letters,
            _sender: sender,
            place: address.place(),
            line,
            study,
            wanted,
            machine: MachineId::this(),
            members: ClaimedWorkers::new(wanted.workers),
            trial: 0,
            plan: String::new(),
            refused: BTreeMap::new(),
            events: VecDeque::new(),
            hear,
            server,
        })
    }

    /// Waits until all workers are there, while `goes_on`.
    ///
    /// # Errors
    /// They are not; in words that say how many, and what to do.
    pub fn await_workers(&mut self, goes_on: &mut dyn FnMut() -> bool) -> Result<(), String> {
        self.fill(goes_on)
    }

    fn head(&self, say: Say) -> LetterHead {
        let (study, plan) = (self.study.clone(), self.plan.clone());
        LetterHead { version: VERSION.into(), study, trial: self.trial, plan, say }
    }

    fn tell(&self, id: &str, say: Say, body: &[u8]) {
        self.post.publish(subject::down(&self.study, id), self.head(say).with(body));
    }

    /// Takes note of a letter of a worker.
    fn note(&mut self, letter: &Letter) {
        let Some((_, id)) = subject::named(&letter.subject) else { return };
        let Some((head, body)) = LetterHead::read(&letter.bytes) else { return };
        let now = Instant::now();
        if let Say::Hello(hello) = &head.say {
            return self.greet(id, &head, hello.clone(), now);
        }
        let Some(place) = self.members.place_of(id) else {
            if head.say != Say::Bye {
                self.tell(id, Say::Release, b""); // it was given up, and does not know it
            }
            return;
        };
        let is_of_trial = head.trial == self.trial && head.plan == self.plan;
        let Some(member) = self.members.at(place) else { return };
        member.life.hear(now);
        match head.say {
            Say::Claimed if self.members.accept(place) => {
                let name = self.members.at(place).map(|it| it.name.clone()).unwrap_or_default();
                let (joined, of) = (self.members.count(), self.members.size());
                (self.hear)(FleetNews::Joined { name, joined, of });
            }
            Say::Refused(_) => _ = self.members.free(place), // it works for another study
            Say::Part | Say::Whole if is_of_trial => {
                let member = self.members.at(place);
                if let Some(message) = member.and_then(|it| it.parcel.add(body, head.say == Say::Whole)) {
                    self.events.push_back(FleetEvent::Message { worker: place, message });
                }
            }
            Say::Gone if is_of_trial => {
                let how = String::from_utf8_lossy(body).into_owned();
                self.events.push_back(FleetEvent::Lost { worker: place, how, silent: Duration::ZERO });
            }
            Say::Bye => self.lose(place, "it was ended there".into(), Duration::ZERO),
            _ => {}
        }
    }

    /// A worker is free: it gets a place, or hears why not.
    fn greet(&mut self, id: &str, head: &LetterHead, hello: Hello, now: Instant) {
        let elsewhere = self.wanted.reached_by == ReachedBy::ThisMachine && hello.machine != self.machine.text();
        let why = head.other_version().or_else(|| {
            elsewhere.then(|| {
                "its machine cannot reach a server that kvtrial starts, which listens on loopback only; start one that it \
                 reaches, and name it: -s redis://HOST:6379"
                    .into()
            })
        });
        if let Some(why) = why {
            let name = hello.name;
            let theirs = match head.other_version() {
                Some(_) => format!("the study is of kvtrial {VERSION}, this is kvtrial {}", head.version),
                None => why.clone(),
            };
            self.tell(id, Say::Refused(theirs), b"");
            if self.refused.insert(id.to_owned(), format!("{name}: {why}")).is_none() {
                (self.hear)(FleetNews::Refused { name, why });
            }
        } else if self.members.claim(id, hello, now).is_some() {
            self.tell(id, Say::Claim, b"");
        }
    }

    fn lose(&mut self, place: usize, how: String, silent: Duration) {
        self.members.free(place);
        self.events.push_back(FleetEvent::Lost { worker: place, how, silent });
    }

    /// Gives up workers that gave no sign of life for too long, and all of them where NATS itself is gone.
    fn look_around(&mut self, now: Instant) {
        let broken = self.post.broken_since().map(|since| now.saturating_duration_since(since));
        while let Some((place, silent)) = self.members.lost(now) {
            let how = match broken {
                Some(_) => format!("NATS at {} no longer answers", self.place),
                None => format!("it gave no sign of life for {:.1} s", silent.as_secs_f64()),
            };
            if let Some(member) = self.members.at(place) {
                let id = member.id.clone();
                self.tell(&id, Say::Release, b"");
            }
            self.lose(place, how, silent);
        }
    }

    /// Waits until every place is taken.
    fn fill(&mut self, goes_on: &mut dyn FnMut() -> bool) -> Result<(), String> {
        let within = if self.trial <= 1 { self.wanted.within } else { self.wanted.within.min(BACK_WITHIN) };
        let (begun, mut called, mut told) = (Instant::now(), None::<Instant>, false);
        loop {
            let now = Instant::now();
            self.members.forget_silent(now);
            self.look_around(now);
            self.events.clear(); // of the trial before
            if self.members.is_full() {
                return Ok(());
            }
            let (joined, of) = (self.members.count(), self.members.size());
            if !goes_on() {
                return Err("interrupted".into());
            }
            if let Some(words) = self.server.as_ref().and_then(NatsServer::ending) {
                return Err(format!("the nats-server that kvtrial had started {words}"));
            }
            if begun.elapsed() >= within {
                return Err(self.missing(joined, of, within));
            }
            if called.is_none_or(|called| now.saturating_duration_since(called) >= CALL_EVERY) {
                called = Some(now);
                self.post.publish(subject::CALL.into(), self.head(Say::Call).with(b""));
            }
            // Those that wait already are claimed without a word.
            if !told && begun.elapsed() >= CALL_EVERY {
                told = true;
                let line = self.line.clone();
                (self.hear)(FleetNews::Waiting { joined, of, line });
            }
            match self.letters.recv_timeout(LOOK) {
                Ok(letter) => self.note(&letter),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    fn missing(&self, joined: usize, of: usize, within: Duration) -> String {
        let line = self.line.split(' ').map(study::redact).collect::<Vec<_>>().join(" ");
        let refused: Vec<&str> = self.refused.values().map(String::as_str).collect();
        let refused = if refused.is_empty() { String::new() } else { format!("; refused: {}", refused.join("; ")) };
        let broken = match (self.post.refused(), self.post.broken_since()) {
            (Some(words), _) => format!("; NATS at {} lets nobody in: {words}", self.place),
            (None, Some(_)) => format!("; NATS at {} does not answer", self.place),
            (None, None) => String::new(),
        };
        format!(
            "{joined} of {of} workers joined within {} s{refused}{broken}; on each machine run: {line}; or wait longer with --join-within",
            within.as_secs_f64()
        )
    }

    /// Reads the clocks of all; one that does not answer is given up.
    fn read_clocks(&mut self) -> Vec<Option<ClockReading>> {
        let ids: Vec<Option<String>> =
            (0..self.members.size()).map(|at| self.members.at(at).map(|it| it.id.clone())).collect();
        let read = |id: &Option<String>| self.post.read_clock(&subject::clock(&self.study, id.as_deref()?));
        let readings: Vec<Option<ClockReading>> = ids.iter().map(read).collect();
        for (at, reading) in readings.iter().enumerate() {
            match (self.members.at(at), reading) {
                (Some(member), Some(reading)) => member.clock = *reading,
                _ => _ = self.members.free(at),
            }
        }
        readings
    }
}

impl FleetLink for NatsFleet {
    fn size(&self) -> u32 {
        self.wanted.workers
    }

    fn gather(&mut self, plan: &str, goes_on: &mut dyn FnMut() -> bool) -> Result<Vec<FleetWorker>, String> {
        self.trial += 1;
        plan.clone_into(&mut self.plan);
        loop {
            self.fill(goes_on)?;
            if self.read_clocks().iter().all(Option::is_some) {
                break;
            }
        }
        for at in 0..self.members.size() {
            if let Some(member) = self.members.at(at) {
                member.life.hear(Instant::now()); // it has just told the time
                member.parcel.clear();
                let id = member.id.clone();
                self.tell(&id, Say::Trial, b"");
            }
        }
        self.events.clear();
        Ok(self.members.each().map(|(_, member)| member.worker(&self.machine)).collect())
    }

    fn send(&mut self, worker: usize, message: &[u8]) {
        let Some(id) = self.members.at(worker).map(|it| it.id.clone()) else { return };
        for (part, is_last) in parts(message) {
            self.tell(&id, if is_last { Say::Whole } else { Say::Part }, part);
        }
    }

    fn receive(&mut self, patience: Duration) -> FleetEvent {
        if let Some(event) = self.events.pop_front() {
            return event;
        }
        let mut letter = self.letters.recv_timeout(patience).ok();
        // What has arrived is heard before anybody is taken for silent.
        while let Some(heard) = letter {
            self.note(&heard);
            letter = self.letters.try_recv().ok();
        }
        self.look_around(Instant::now());
        self.events.pop_front().unwrap_or(FleetEvent::Nothing)
    }

    fn kill(&mut self, worker: usize) {
        if let Some(id) = self.members.at(worker).map(|it| it.id.clone()) {
            self.tell(&id, Say::Kill, b"");
        }
    }

    fn files_seen(&self) -> FilesSeen {
        FilesSeen::OfTheirs
    }

    fn part(&mut self) -> Vec<Option<ClockReading>> {
        // Where somebody was lost, NATS may be gone: nothing comes of the trial anyway.
        match self.members.is_full() && self.post.broken_since().is_none() {
            true => self.read_clocks(),
            false => (0..self.members.size()).map(|_| None).collect(),
        }
    }
}

impl Drop for NatsFleet {
    fn drop(&mut self) {
        self.post.beat(None);
        self.members.each().for_each(|(_, member)| self.tell(&member.id, Say::Release, b""));
        if self.post.broken_since().is_none_or(|since| since.elapsed() < SILENT) {
            self.post.flush();
        }
    }
}
