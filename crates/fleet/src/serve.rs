//! The side of a worker: it waits until a study claims it, and stands between that and a fork server of its own.

use crate::error::FleetError;
use crate::life::{LifeSigns, SILENT};
use crate::members::{MachineId, host_name};
use crate::message::{Hello, LetterHead, Say, VERSION};
use crate::parcel::{Parcel, parts};
use crate::post::{Letter, Post};
use crate::{NatsAddress, subject};
use runner::{Relay, Relayed};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use store::CommandLine;

/// How often a worker looks at whether it is still needed.
const LOOK: Duration = Duration::from_millis(100);

/// How long between two tries to reach NATS.
const AGAIN: Duration = Duration::from_secs(1);

/// What a worker tells the one who started it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerNews {
    /// NATS does not answer yet; it is tried again.
    Unreachable(String),
    /// It waits for a study.
    Waiting {
        /// Its name.
        name: String,
        /// Where NATS is.
        place: String,
    },
    /// A study has claimed it.
    Claimed,
    /// A trial begins.
    Trial(u32),
    /// The study needs it no longer, and it waits for the next.
    Released,
    /// The study gave no sign of life, and it waits for the next.
    StudyLost,
    /// A study refused it, and why.
    Refused(String),
}

/// Works for one study after the other, until `stop` is set. `line` starts a fork server.
///
/// # Errors
/// NATS does not let us in.
pub fn serve(
    address: &NatsAddress,
    name: Option<String>,
    line: CommandLine,
    stop: &AtomicBool,
    hear: &mut dyn FnMut(WorkerNews),
) -> Result<(), FleetError> {
    let name = name.unwrap_or_else(host_name);
    let Some(post) = connect(address, &name, stop, hear)? else { return Ok(()) };
    let id = host::fresh_secret()?.reveal()[..16].to_owned();
    let (said, heard) = channel();
    post.hear(subject::CALL.into(), &said, Heard::Letter)?;
    post.hear(subject::down(subject::ANY, &id), &said, Heard::Letter)?;
    post.hear(subject::pulse(subject::ANY), &said, Heard::Letter)?;
    post.tell_time(subject::clock(subject::ANY, &id))?;
    hear(WorkerNews::Waiting { name: name.clone(), place: address.place() });
    let hello = Hello { name, cpus: host::allowed_cpus().len() as u32, machine: MachineId::this().text() };
    let mut standing = Standing { post, id, hello, line, said, service: None, refused: BTreeSet::new(), hear };
    standing.stand(&heard, stop, address)
}

fn connect(
    address: &NatsAddress,
    name: &str,
    stop: &AtomicBool,
    hear: &mut dyn FnMut(WorkerNews),
) -> Result<Option<Post>, FleetError> {
    let mut told = false;
    while !stop.load(Ordering::Relaxed) {
        match Post::connect(address, &format!("kvtrial worker {name}")) {
            Err(FleetError::Unreachable { place, problem }) => {
                if !std::mem::replace(&mut told, true) {
                    hear(WorkerNews::Unreachable(format!("{place}: {problem}")));
                }
                std::thread::sleep(AGAIN);
            }
            connected => return connected.map(Some),
        }
    }
    Ok(None)
}

/// What a worker hears.
enum Heard {
    Letter(Letter),
    /// Of the fork server with this number.
    Relayed(u64, Relayed),
}

/// A worker that waits, or works.
struct Standing<'a> {
    post: Post,
    id: String,
    hello: Hello,
    line: CommandLine,
    said: Sender<Heard>,
    service: Option<Service>,
    /// Studies of other versions, and those that refused it.
    refused: BTreeSet<String>,
    hear: &'a mut dyn FnMut(WorkerNews),
}

/// The study that has claimed a worker.
struct Service {
    study: String,
    life: LifeSigns,
    trial: u32,
    plan: String,
    parcel: Parcel,
    relay: Option<Relay>,
    /// The number of the fork server: what an earlier one said is not heard any more.
    number: u64,
    /// A process of it is at a trial.
    is_busy: bool,
}

impl Standing<'_> {
    fn stand(&mut self, heard: &Receiver<Heard>, stop: &AtomicBool, address: &NatsAddress) -> Result<(), FleetError> {
        while !stop.load(Ordering::Relaxed) {
            match heard.recv_timeout(LOOK) {
                Ok(Heard::Letter(letter)) => self.read(&letter),
                Ok(Heard::Relayed(number, relayed)) => self.relayed(number, relayed),
                Err(_) => {}
            }
            if self.service.as_ref().is_some_and(|service| service.life.lost(Instant::now()).is_some()) {
                self.leave(WorkerNews::StudyLost);
            }
            if let (None, Some(problem)) = (&self.service, self.post.refused()) {
                return Err(FleetError::Refused { place: address.place(), problem });
            }
        }
        if self.service.is_some() {
            self.tell(Say::Bye, b"");
        }
        self.leave(WorkerNews::Released);
        if self.post.broken_since().is_none_or(|since| since.elapsed() < SILENT) {
            self.post.flush();
        }
        Ok(())
    }

    fn read(&mut self, letter: &Letter) {
        let Some((head, body)) = LetterHead::read(&letter.bytes) else { return };
        if head.say == Say::Call {
            return self.called(&head);
        }
        if let Say::Refused(why) = &head.say {
            if self.refused.insert(head.study.clone()) {
                (self.hear)(WorkerNews::Refused(why.clone()));
            }
            return;
        }
        if head.other_version().is_some() {
            return; // it has been told
        }
        let is_own = self.service.as_ref().is_some_and(|service| service.study == head.study);
        match (head.say, is_own) {
            (Say::Claim, false) if self.service.is_none() => self.join(head.study),
            (Say::Claim, false) => self.tell_study(&head.study, Say::Refused("it works for another study".into())),
            (Say::Claim, true) => self.tell(Say::Claimed, b""),
            (Say::Release, true) => self.leave(WorkerNews::Released),
            (say, true) => self.serve(say, head.trial, head.plan, body),
            (_, false) => {}
        }
    }

    /// A study looks for workers.
    fn called(&mut self, head: &LetterHead) {
        if self.service.is_some() || self.refused.contains(&head.study) {
            return;
        }
        // One of another version says why not: it alone can tell its user.
        self.tell_study(&head.study, Say::Hello(self.hello.clone()));
    }

    fn join(&mut self, study: String) {
        let life = LifeSigns::since(Instant::now());
        let (trial, plan, parcel) = (0, String::new(), Parcel::default());
        self.service = Some(Service { study, life, trial, plan, parcel, relay: None, number: 0, is_busy: false });
        self.tell(Say::Claimed, b"");
        self.beat();
        (self.hear)(WorkerNews::Claimed);
    }

    fn beat(&self) {
        let heart = self.service.as_ref().map(|it| (subject::up(&it.study, &self.id), self.head(Say::Beat).with(b"")));
        self.post.beat(heart);
    }

    /// Does what its study says.
    fn serve(&mut self, say: Say, trial: u32, plan: String, body: &[u8]) {
        let Some(service) = &mut self.service else { return };
        service.life.hear(Instant::now());
        let is_of_trial = service.trial == trial && service.plan == plan;
        match say {
            Say::Trial => {
                service.begin(trial, plan);
                self.beat();
                (self.hear)(WorkerNews::Trial(trial));
            }
            Say::Part | Say::Whole if is_of_trial => {
                if let Some(message) = service.parcel.add(body, say == Say::Whole) {
                    self.hand_on(&message);
                }
            }
            Say::Kill if is_of_trial => service.relay.iter().for_each(Relay::kill),
            _ => {}
        }
    }

    /// Hands a message of the study to the fork server, which is started where there is none.
    fn hand_on(&mut self, message: &[u8]) {
        let Some(service) = &mut self.service else { return };
        if service.relay.is_none() {
            let (said, number) = (self.said.clone(), service.number);
            let relay = Relay::start(&self.line, move |relayed| {
                let _ = said.send(Heard::Relayed(number, relayed)); // fails only when the worker ends
            });
            match relay {
                Ok(relay) => service.relay = Some(relay),
                Err(error) => {
                    let words = format!("worker processes cannot be made: {error}");
                    return self.tell(Say::Gone, words.as_bytes());
                }
            }
        }
        service.is_busy = true;
        service.relay.iter().for_each(|relay| _ = relay.send(message)); // one that is gone says so itself
    }

    /// Hands what the fork server or its worker says to the study.
    fn relayed(&mut self, number: u64, relayed: Relayed) {
        let Some(service) = self.service.as_mut().filter(|service| service.number == number) else { return };
        match relayed {
            Relayed::Message(message) => {
                if Relayed::is_ending(&message) {
                    service.is_busy = false;
                }
                for (part, is_last) in parts(&message) {
                    self.tell(if is_last { Say::Whole } else { Say::Part }, part);
                }
            }
            Relayed::Gone(how) => {
                service.forget_relay();
                self.tell(Say::Gone, how.as_bytes());
            }
        }
    }

    /// Ends what it does for its study, and is free.
    fn leave(&mut self, news: WorkerNews) {
        if self.service.take().is_some() {
            self.beat();
            (self.hear)(news);
        }
    }

    fn head(&self, say: Say) -> LetterHead {
        let Some(Service { study, trial, plan, .. }) = &self.service else {
            return LetterHead { say, ..LetterHead::default() };
        };
        LetterHead { version: VERSION.into(), study: study.clone(), trial: *trial, plan: plan.clone(), say }
    }

    /// Tells its study.
    fn tell(&self, say: Say, body: &[u8]) {
        if let Some(service) = &self.service {
            self.post.publish(subject::up(&service.study, &self.id), self.head(say).with(body));
        }
    }

    /// Tells a study that has not claimed it.
    fn tell_study(&self, study: &str, say: Say) {
        let head = LetterHead { version: VERSION.into(), study: study.to_owned(), say, ..LetterHead::default() };
        self.post.publish(subject::up(study, &self.id), head.with(b""));
    }
}

impl Service {
    /// A trial begins. The process of one before it that has not ended goes with its fork server.
    fn begin(&mut self, trial: u32, plan: String) {
        (self.trial, self.plan) = (trial, plan);
        self.parcel.clear();
        if self.is_busy {
            self.forget_relay();
        }
    }

    fn forget_relay(&mut self) {
        (self.relay, self.is_busy) = (None, false);
        self.number += 1;
    }
}
