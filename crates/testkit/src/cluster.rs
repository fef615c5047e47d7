//! A Redis Cluster that does what a test says: nodes that freeze, die, take over late, or lie. Gets, puts and deletes are all it knows.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Hash slots of all keys.
pub const ALL_SLOTS: RangeInclusive<usize> = 0..=16_383;

type Data = HashMap<Vec<u8>, Vec<u8>>;

/// When a key got a value, or none.
type Change = (Instant, Vec<u8>, Option<Vec<u8>>);

/// The condition of a node: whether it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It does.
    Well,
    /// It takes connections and bytes, and answers nothing.
    Frozen,
    /// It closes every connection. A node that comes back refuses commands on keys, as Redis does for two seconds: others may have
    /// taken over.
    Dead,
}

/// One node.
pub struct FakeNode {
    port: u16,
    condition: Mutex<Condition>,
    /// How often it died: no connection outlives that.
    deaths: AtomicU64,
    data: Mutex<Data>,
    /// What it did, and when: what a replica of the past is made of.
    past: Mutex<Vec<Change>>,
    /// What it says of all nodes.
    says: Mutex<String>,
    /// Commands on keys that it has answered.
    answered: Mutex<u64>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FakeNode {
    /// Starts a node that says nothing of the cluster yet.
    #[allow(clippy::expect_used)] // a test that cannot listen is over
    pub fn start() -> Arc<FakeNode> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port to listen at");
        let node = Arc::new(FakeNode {
            port: listener.local_addr().expect("its address").port(),
            condition: Mutex::new(Condition::Well),
            deaths: AtomicU64::new(0),
            data: Mutex::default(),
            past: Mutex::default(),
            says: Mutex::default(),
            answered: Mutex::new(0),
        });
        let serving = Arc::clone(&node);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let node = Arc::clone(&serving);
                thread::spawn(move || node.serve(stream));
            }
        });
        node
    }

    /// Returns the port where the node listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns `host:port`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Puts the node in this condition from now on.
    pub fn become_(&self, condition: Condition) {
        let mut now = lock(&self.condition);
        *now = condition;
        self.deaths.fetch_add(u64::from(condition == Condition::Dead), Ordering::Relaxed);
    }

    /// Makes the node say this of the cluster from now on.
    pub fn say(&self, nodes: &str) {
        nodes.clone_into(&mut lock(&self.says));
    }

    /// Returns the data the node holds.
    pub fn data(&self) -> Data {
        lock(&self.data).clone()
    }

    /// Returns the data the node held so long ago.
    pub fn data_before(&self, ago: Duration) -> Data {
        let then = Instant::now().checked_sub(ago);
        let mut data = Data::new();
        for (_, key, value) in lock(&self.past).iter().filter(|(at, ..)| then.is_some_and(|then| *at <= then)) {
            match value {
                Some(value) => drop(data.insert(key.clone(), value.clone())),
                None => drop(data.remove(key)),
            }
        }
        data
    }

    /// Makes the node hold this data from now on.
    pub fn hold(&self, data: Data) {
        *lock(&self.data) = data;
    }

    /// Commands on keys that it has answered.
    pub fn answered(&self) -> u64 {
        *lock(&self.answered)
    }

    fn serve(&self, mut stream: TcpStream) {
        let (mut input, mut bytes) = (Vec::new(), [0; 1 << 16]);
        let _ = stream.set_read_timeout(Some(Duration::from_millis(20)));
        let _ = stream.set_nodelay(true);
        let deaths = self.deaths.load(Ordering::Relaxed);
        let has_died = || self.deaths.load(Ordering::Relaxed) != deaths;
        loop {
            // Not looked at within the `match`, which would keep it locked while this sleeps.
            let condition = *lock(&self.condition);
            match condition {
                _ if has_died() => return,
                Condition::Dead => return,
                Condition::Frozen => {
                    thread::sleep(Duration::from_millis(5));
                    continue;
                }
                Condition::Well => {}
            }
            match stream.read(&mut bytes) {
                Ok(0) => return,
                Ok(size) => input.extend_from_slice(&bytes[..size]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
                Err(_) => return,
            }
            // It may have frozen while it waited.
            while { *lock(&self.condition) } == Condition::Frozen {
                thread::sleep(Duration::from_millis(5));
            }
            // Held until the replies are written: a node that dies has acknowledged all it did before, and does nothing after.
            let _alive = lock(&self.condition);
            if has_died() {
                return;
            }
            let mut output = Vec::new();
            while let Some((words, size)) = command(&input) {
                input.drain(..size);
                output.extend(self.answer(&words));
            }
            if stream.write_all(&output).is_err() {
                return;
            }
        }
    }

    fn answer(&self, words: &[Vec<u8>]) -> Vec<u8> {
        let bulk = |bytes: &[u8]| [format!("${}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
        let word = |index: usize| words.get(index).map(|word| word.to_ascii_uppercase()).unwrap_or_default();
        let key = words.get(1).cloned().unwrap_or_default();
        if matches!(&word(0)[..], b"GET" | b"SET" | b"DEL") && self.deaths.load(Ordering::Relaxed) > 0 {
            return b"-CLUSTERDOWN The cluster is down\r\n".to_vec();
        }
        match (&word(0)[..], &word(1)[..]) {
            (b"CLUSTER", b"INFO") => bulk(b"cluster_state:ok\r\n"),
            (b"CLUSTER", b"NODES") => bulk(lock(&self.says).as_bytes()),
            (b"INFO", _) => bulk(b"redis_version:7.0.15\r\n"),
            (b"SCRIPT", _) => bulk(b"9727c0c3d59879d40e8841eb5f2722ce5967bd3d"),
            (b"CONFIG", _) => b"*0\r\n".to_vec(),
            (b"GET", _) => {
                *lock(&self.answered) += 1;
                lock(&self.data).get(&key).map_or(b"$-1\r\n".to_vec(), |value| bulk(value))
            }
            (b"SET", _) => {
                *lock(&self.answered) += 1;
                let value = words.get(2).cloned().unwrap_or_default();
                lock(&self.past).push((Instant::now(), key.clone(), Some(value.clone())));
                lock(&self.data).insert(key, value);
                b"+OK\r\n".to_vec()
            }
            (b"DEL", _) => {
                *lock(&self.answered) += 1;
                lock(&self.past).push((Instant::now(), key.clone(), None));
                let was_there = lock(&self.data).remove(&key).is_some();
                format!(":{}\r\n", u8::from(was_there)).into_bytes()
            }
            (b"LATENCY", _) => b"*0\r\n".to_vec(),
            (b"DBSIZE", _) => format!(":{}\r\n", lock(&self.data).len()).into_bytes(),
            (other, _) => format!("-ERR unknown command '{}'\r\n", String::from_utf8_lossy(other)).into_bytes(),
        }
    }
}

/// The first command of the input, and how many bytes it takes.
fn command(input: &[u8]) -> Option<(Vec<Vec<u8>>, usize)> {
    let line = |at: usize| {
        let end = input[at..].windows(2).position(|pair| pair == b"\r\n")? + at;
        Some((std::str::from_utf8(input.get(at + 1..end)?).ok()?.parse::<usize>().ok()?, end + 2))
    };
    let (count, mut at) = line(0)?;
    let mut words = Vec::new();
    for _ in 0..count {
        let (size, start) = line(at)?;
        words.push(input.get(start..start + size)?.to_vec());
        at = start + size + 2;
        input.get(at - 1)?;
    }
    Some((words, at))
}

/// Returns a line of `CLUSTER NODES`: a master of these slots, since this epoch.
pub fn master(node: &FakeNode, slots: RangeInclusive<usize>, epoch: u64) -> String {
    let port = node.port;
    format!("{port:040} 127.0.0.1:{port}@1 master - 0 0 {epoch} connected {}-{}\n", slots.start(), slots.end())
}

/// Returns a line of `CLUSTER NODES`: a replica of that master.
pub fn replica(node: &FakeNode, of: &FakeNode) -> String {
    let port = node.port;
    format!("{port:040} 127.0.0.1:{port}@1 slave {:040} 0 0 1 connected\n", of.port)
}
