//! Test support: a node that keeps values in memory and answers as Voldemort does, or does not.

use super::super::clock::{Clock, latest};
use super::{
    Field, Fields, LENGTH_BYTES, OBSOLETE, Received, bytes_field, clock, clock_message, number_field, received,
};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

/// Values of a key, each with its version.
type Siblings = Vec<(Clock, Vec<u8>)>;

/// The treatment of a node's answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Mood {
    Answers,
    /// The node carries out the requests, and says nothing.
    Silent,
    /// Somebody else puts a value right after the next question for a version.
    Overtaken,
}

pub(in super::super) struct NodeMemory {
    pub(in super::super) pairs: BTreeMap<Vec<u8>, Siblings>,
    pub(in super::super) mood: Mood,
    /// The numbers of the requests that the node got, as the protocol has them.
    pub(in super::super) asked: Vec<u64>,
}

/// A node on a port of its own.
#[derive(Clone)]
pub(in super::super) struct TestNode {
    pub(in super::super) port: u16,
    /// Its number in clocks.
    id: i32,
    state: Arc<Mutex<NodeMemory>>,
}

impl TestNode {
    pub(in super::super) fn start(id: i32) -> TestNode {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let state = Arc::new(Mutex::new(NodeMemory { pairs: BTreeMap::new(), mood: Mood::Answers, asked: Vec::new() }));
        let node = TestNode { port: listener.local_addr().unwrap().port(), id, state };
        let serving = node.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let node = serving.clone();
                std::thread::spawn(move || node.converse(stream));
            }
        });
        node
    }

    pub(in super::super) fn state(&self) -> MutexGuard<'_, NodeMemory> {
        self.state.lock().unwrap()
    }

    fn converse(&self, mut stream: TcpStream) {
        let mut word = [0; 3];
        if stream.read_exact(&mut word).is_err() || &word != b"pb0" || stream.write_all(b"ok").is_err() {
            return;
        }
        let mut input = Vec::new();
        loop {
            let mut piece = [0; 4096];
            match stream.read(&mut piece) {
                Ok(size @ 1..) => input.extend_from_slice(&piece[..size]),
                _ => return,
            }
            if received(&input, usize::MAX) != Received::Whole {
                continue;
            }
            let body = self.answer(&input[LENGTH_BYTES..]);
            input.clear();
            let reply = [&(body.len() as u32).to_be_bytes()[..], &body].concat();
            if self.state().mood != Mood::Silent && stream.write_all(&reply).is_err() {
                return;
            }
        }
    }

    fn answer(&self, request: &[u8]) -> Vec<u8> {
        let (mut fields, mut kind, mut message) = (Fields(request), 0, &[][..]);
        while let Some(field) = fields.next().unwrap() {
            match field {
                (1, Field::Number(number)) => kind = number,
                (4.., Field::Bytes(bytes)) => message = bytes,
                _ => {}
            }
        }
        let mut state = self.state();
        state.asked.push(kind);
        let (mut fields, mut keys, mut second) = (Fields(message), Vec::new(), &[][..]);
        while let Some(field) = fields.next().unwrap() {
            match field {
                (1, Field::Bytes(bytes)) => keys.push(bytes.to_vec()),
                (2, Field::Bytes(bytes)) => second = bytes,
                _ => {}
            }
        }
        let key = keys.first().cloned().unwrap_or_default();
        let mut out = Vec::new();
        match kind {
            0 => versions(&mut out, 1, state.pairs.get(&key)),
            1 => keys.iter().filter(|key| state.pairs.contains_key(*key)).for_each(|key| {
                let mut keyed = Vec::new();
                bytes_field(&mut keyed, 1, key);
                versions(&mut keyed, 2, state.pairs.get(key));
                bytes_field(&mut out, 1, &keyed);
            }),
            2 => {
                let put = super::versioned(second).unwrap();
                if !store(state.pairs.entry(key).or_default(), put.clock, put.value) {
                    let mut error = Vec::new();
                    number_field(&mut error, 1, OBSOLETE);
                    bytes_field(&mut error, 2, b"a later version is there");
                    bytes_field(&mut out, 1, &error);
                }
            }
            3 => {
                let until = clock(second).unwrap();
                let kept = state.pairs.remove(&key).unwrap_or_default();
                let before = kept.len();
                let kept: Siblings = kept.into_iter().filter(|(clock, _)| !until.covers(clock)).collect();
                number_field(&mut out, 1, u64::from(kept.len() < before));
                if !kept.is_empty() {
                    state.pairs.insert(key, kept);
                }
            }
            _ => {
                let found = state.pairs.entry(key).or_default();
                found.iter().for_each(|(clock, _)| bytes_field(&mut out, 1, &clock_message(clock, 1)));
                let seen = found.first().map(|(clock, _)| clock.clone()).unwrap_or_default();
                if state.mood == Mood::Overtaken {
                    state.mood = Mood::Answers;
                    let key = keys.remove(0);
                    store(state.pairs.entry(key).or_default(), seen.incremented(self.id), b"somebody else's");
                }
            }
        }
        out
    }
}

/// Keeps a value unless it is obsolete.
fn store(found: &mut Siblings, clock: Clock, value: &[u8]) -> bool {
    if found.iter().any(|(other, _)| other.covers(&clock)) {
        return false;
    }
    found.push((clock, value.to_vec()));
    let kept = latest(found.iter().map(|(clock, _)| clock));
    *found = kept.into_iter().map(|place| found[place].clone()).collect();
    true
}

fn versions(out: &mut Vec<u8>, field: u64, found: Option<&Siblings>) {
    for (clock, value) in found.into_iter().flatten() {
        let mut versioned = Vec::new();
        bytes_field(&mut versioned, 1, value);
        bytes_field(&mut versioned, 2, &clock_message(clock, 1));
        bytes_field(out, field, &versioned);
    }
}
