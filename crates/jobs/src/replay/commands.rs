//! Every command of a recording as it was, and whether the replies are those that the application had.
//!
//! The commands of one recorded connection are sent by one slot, in their order; with one client all of them are, in the order they were made. A
//! reply that differs is no fault of the store, but what was asked for: it is counted, and the first are said in words.

use jobkit::{Offence, Phase, Step, Trial, TrialSetup, Worker, printable};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use store::{AnswerTree, Keeps, Operation, Reply, Slot, TreePart};
use study::{Answer, Reason};
use trace::kvtrace::{CommandLog, LoggedCommand, RecordedReply, ReplyShape};
use trace::{CommandWords, ReplyDigest, ReplyRule, WordPart, reply_rule};

/// Differences that are said in words.
const SHOWN: usize = 5;

/// The state shared by the workers of one execution.
pub struct CommandTrial<'a> {
    log: &'a CommandLog,
    slots: u32,
    keeps: Keeps,
    compared: Mutex<Compared>,
}

/// What came of comparing.
#[derive(Default)]
struct Compared {
    same: u64,
    /// Replies whose recorded one is not known, or says nothing.
    not_compared: u64,
    not_sent: u64,
    differ: u64,
    /// The first, with the numbers of their commands.
    first: Vec<(u32, String)>,
}

impl<'a> CommandTrial<'a> {
    /// Makes an execution on an empty store.
    pub fn new(log: &'a CommandLog, setup: &TrialSetup) -> CommandTrial<'a> {
        CommandTrial { log, slots: setup.slots.max(1), keeps: setup.capabilities.keeps, compared: Mutex::default() }
    }

    fn compared(&self) -> std::sync::MutexGuard<'_, Compared> {
        self.compared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Trial for CommandTrial<'_> {
    fn phases(&self) -> Vec<Phase> {
        let sent = |command: &&LoggedCommand| reply_rule(self.log.name(command)) != ReplyRule::NotSent;
        vec![Phase::timed("replay", Some(self.log.commands().iter().filter(sent).count() as u64))]
    }

    fn worker(&self, _: usize, slots: Range<Slot>) -> Box<dyn Worker + '_> {
        let state = |slot| SlotState { slot, at: 0, in_flight: 0, in_transaction: false, is_compared: true };
        Box::new(Commands { trial: self, slots: slots.map(state).collect(), words: Vec::new() })
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        if self.keeps == Keeps::Nothing {
            return (Answer::default(), Vec::new());
        }
        let mut compared = self.compared();
        compared.first.sort();
        compared.first.truncate(SHOWN);
        let first: Vec<&str> = compared.first.iter().map(|(_, words)| words.as_str()).collect();
        let facts = [
            ("replies_same", compared.same.into()),
            ("replies_differ", compared.differ.into()),
            ("replies_not_compared", compared.not_compared.into()),
            ("commands_not_sent", compared.not_sent.into()),
            ("first_differences", serde_json::Value::from(first)),
        ];
        let facts = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        (Answer { digest: String::new(), facts }, Vec::new())
    }

    /// The keys that its commands name, each as often.
    fn key(&self, index: u64, out: &mut Vec<u8>) -> bool {
        let keys = self.log.commands().iter().flat_map(|command| {
            let parts = CommandWords::of(self.log.name(command));
            self.log.words(command).enumerate().filter(move |(at, _)| parts.part(*at) == WordPart::Key)
        });
        // Those of many commands take long to go through once per key: a store of the user's is searched for the first.
        let mut keys = keys.skip(usize::try_from(index).unwrap_or(usize::MAX)).take(1);
        let key = (index < 10_000).then(|| keys.next()).flatten();
        key.map(|(_, key)| out.extend_from_slice(key)).is_some()
    }

    fn evicts(&self) -> bool {
        true
    }

    fn expires(&self) -> bool {
        true
    }
}

/// A thread's slots.
struct Commands<'a> {
    trial: &'a CommandTrial<'a>,
    slots: Vec<SlotState>,
    words: Vec<&'a [u8]>,
}

struct SlotState {
    /// The slot's number over the whole trial.
    slot: Slot,
    /// The command that is looked at next.
    at: usize,
    in_flight: usize,
    /// Between MULTI and EXEC, which are not sent: the recorded replies are of another kind.
    in_transaction: bool,
    is_compared: bool,
}

impl Worker for Commands<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let Commands { trial, slots, words } = self;
        let state = &mut slots[slot as usize];
        while let Some(command) = trial.log.commands().get(state.at) {
            let number = state.at;
            state.at += 1;
            if command.connection % trial.slots != state.slot {
                continue;
            }
            let name = trial.log.name(command);
            let is = |other: &[u8]| other.eq_ignore_ascii_case(name);
            if reply_rule(name) == ReplyRule::NotSent || name.is_empty() {
                state.in_transaction = is(b"MULTI") || state.in_transaction && !is(b"EXEC") && !is(b"DISCARD");
                trial.compared().not_sent += 1;
                continue;
            }
            (state.in_flight, state.is_compared) = (number, !state.in_transaction);
            words.clear();
            words.extend(trial.log.words(command));
            let parts = CommandWords::of(name);
            let key = (1..words.len()).find(|&at| parts.part(at) == WordPart::Key);
            return Step::Operation(Operation::Command { words, key });
        }
        Step::Finished
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let trial = self.trial;
        let state = &self.slots[slot as usize];
        let command = &trial.log.commands()[state.in_flight];
        let Reply::Tree(tree) = reply else {
            let key = trial.log.words(command).nth(1).unwrap_or_default();
            return if trial.keeps == Keeps::Nothing { Ok(()) } else { Err(Offence::failed(key, reply)) };
        };
        let name = trial.log.name(command);
        let recorded = command.reply.filter(|_| state.is_compared);
        let is_same = match (recorded, reply_rule(name)) {
            (None, _) | (_, ReplyRule::Any | ReplyRule::NotSent) => None,
            (Some(recorded), ReplyRule::SameShape) => Some(shape(*tree) == recorded.shape),
            (Some(recorded), ReplyRule::Same) => Some(digest(*tree) == recorded.digest),
        };
        let mut compared = trial.compared();
        match (is_same, recorded) {
            (Some(true), _) => compared.same += 1,
            (Some(false), Some(recorded)) => {
                compared.differ += 1;
                let number = state.in_flight as u32;
                if compared.first.len() < 4 * SHOWN || compared.first.iter().any(|(other, _)| *other > number) {
                    let words: Vec<String> = trial.log.words(command).take(4).map(printable).collect();
                    let was = said(recorded);
                    let now = shown(*tree);
                    compared
                        .first
                        .push((number, format!("command {}, {}: was {was}, is {now}", number + 1, words.join(" "))));
                    compared.first.sort();
                    compared.first.truncate(4 * SHOWN);
                }
            }
            _ => compared.not_compared += 1,
        }
        Ok(())
    }
}

fn said(recorded: RecordedReply) -> String {
    let shape = match recorded.shape {
        ReplyShape::Status => "a status",
        ReplyShape::Error => "an error",
        ReplyShape::Number => "a number",
        ReplyShape::Value => "a value",
        ReplyShape::Missing => "nothing",
        ReplyShape::Many => "a list",
    };
    format!("{shape} of {} bytes", recorded.bytes)
}

fn shown(tree: AnswerTree<'_>) -> String {
    match tree.parts().next() {
        None | Some(TreePart::Nil) => "nothing".into(),
        Some(TreePart::Truth(truth)) => truth.to_string(),
        Some(TreePart::Number(number)) => number.to_string(),
        Some(TreePart::Decimal(text) | TreePart::Text(text)) => format!("'{}'", printable(text)),
        Some(TreePart::Error(words)) => format!("the error '{}'", printable(words)),
        Some(TreePart::List(values)) => format!("a list of {values}"),
        Some(TreePart::Map(pairs)) => format!("a map of {pairs}"),
    }
}

/// The shape of an answer. A status cannot be told from a value here: both are texts.
fn shape(tree: AnswerTree<'_>) -> ReplyShape {
    match tree.parts().next() {
        None | Some(TreePart::Nil) => ReplyShape::Missing,
        Some(TreePart::Truth(_) | TreePart::Number(_) | TreePart::Decimal(_)) => ReplyShape::Number,
        Some(TreePart::Text(_)) => ReplyShape::Value,
        Some(TreePart::Error(_)) => ReplyShape::Error,
        Some(TreePart::List(_) | TreePart::Map(_)) => ReplyShape::Many,
    }
}

/// The hash of an answer, as recordings have it.
fn digest(tree: AnswerTree<'_>) -> u64 {
    let mut digest = ReplyDigest::default();
    for part in tree.parts() {
        match part {
            TreePart::Nil => digest.nil(),
            TreePart::Truth(truth) => digest.number(truth.into()),
            TreePart::Number(number) => digest.number(number),
            TreePart::Decimal(text) | TreePart::Text(text) => digest.text(text),
            TreePart::Error(words) => digest.error(words),
            TreePart::List(values) => digest.list(values as u64),
            TreePart::Map(pairs) => digest.list(2 * pairs as u64),
        }
    }
    digest.finish()
}
