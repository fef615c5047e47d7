//! What a get costs the client: a closed loop over one session, every value verified, every operation timed.
//!
//! `wire_cost run STORE ADDRESS CLIENTS PIPELINE GETS` prints one line. ADDRESS is a socket's path or a port on this machine.
//! `wire_cost compare ROUNDS` starts redis-server on the second processor and alternates itself with redis-benchmark on the first:
//! operations per second of the client's processor time, as a ratio. Medians of the rounds.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};
use store::{Endpoint, Opener, Operation, Reply, SessionPlan, Sink, Slot, Until};
use study::Spec;

/// Keys in the store.
const KEYS: u64 = 100_000;
const VALUE_BYTES: usize = 64;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["run", store, address, clients, pipeline, gets] => {
            let plan = SessionPlan { clients: clients.parse().unwrap(), pipeline: pipeline.parse().unwrap() };
            let cost = run(store, &endpoint(address), plan, gets.parse().unwrap());
            println!("{cost}");
        }
        ["compare", rounds] => compare(rounds.parse().unwrap()),
        _ => {
            eprintln!("usage: wire_cost run STORE ADDRESS CLIENTS PIPELINE GETS | wire_cost compare ROUNDS");
            std::process::exit(2);
        }
    }
}

fn endpoint(address: &str) -> Endpoint {
    match address.parse() {
        Ok(port) => Endpoint::loopback(port),
        Err(_) => Endpoint::unix(address),
    }
}

/// Fills the store, then gets; returns a line of what that took.
fn run(store: &str, endpoint: &Endpoint, plan: SessionPlan, gets: u64) -> String {
    let Opener::Server { connect, .. } = kvtrial_catalog::find(store).unwrap().opener else {
        panic!("{store} is no server")
    };
    let store = connect(&Spec::private(store), std::slice::from_ref(endpoint)).unwrap();
    let mut bench = Loop::new(plan);
    if gets > 0 {
        // The last key tells whether an earlier run has filled it.
        let mut session = store.session(SessionPlan { clients: 1, pipeline: 64 }).unwrap();
        let mut filler = Loop::new(SessionPlan { clients: 1, pipeline: 64 });
        filler.drive(&mut *session, 1, Some(KEYS - 1));
        if filler.wrong > 0 {
            fill(&mut *session);
        }
    }
    let mut session = store.session(plan).unwrap();
    let (start, before) = (Instant::now(), cpu_s());
    bench.drive(&mut *session, gets, None);
    let (wall_s, cpu_s) = (start.elapsed().as_secs_f64(), cpu_s() - before);
    assert_eq!(bench.wrong, 0, "wrong answers");
    let p99 = bench.quantile(0.99);
    format!(
        "{gets} gets, {:.0} per second, {:.0} per second of processor, p99 below {p99} ns",
        gets as f64 / wall_s,
        gets as f64 / cpu_s
    )
}

fn fill(session: &mut dyn store::Session) {
    let mut inbox = Filled(0);
    let mut cx = Context::from_waker(Waker::noop());
    for first in (0..KEYS).step_by(64) {
        let batch = first..KEYS.min(first + 64);
        inbox.0 = 0;
        for id in batch.clone() {
            let (key, value) = (key(id), value(id));
            assert!(
                session.submit((id - first) as u32, &Operation::Put { key: &key, value: &value }).unwrap().is_none()
            );
        }
        while inbox.0 < batch.end - batch.start {
            let _ = session.poll(&mut cx, Until::At(Instant::now() + Duration::from_secs(5)), &mut inbox);
        }
    }
}

struct Filled(u64);

impl Sink for Filled {
    fn arrived(&mut self) {}
    fn reply(&mut self, _: Slot, reply: &Reply<'_>) {
        assert_eq!(*reply, Reply::Done);
        self.0 += 1;
    }
}

fn key(id: u64) -> [u8; 16] {
    let mut key = *b"key:000000000000";
    let mut rest = id;
    for digit in key[4..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    key
}

fn value(id: u64) -> [u8; VALUE_BYTES] {
    let mut value = [0; VALUE_BYTES];
    let mut word = id;
    for part in value.chunks_exact_mut(8) {
        word = word.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xd134_2543_de82_ef95);
        part.copy_from_slice(&word.to_le_bytes());
    }
    value
}

/// The closed loop: as the engine does it, without its generality.
struct Loop {
    idle: Vec<Slot>,
    /// What each slot asked for, and when in nanoseconds from the start.
    asked: Vec<(u64, u64)>,
    start: Instant,
    /// Nanoseconds from the start to the last arrival.
    arrived_ns: u64,
    /// Operations by the logarithm of their nanoseconds.
    latency: [u64; 64],
    answered: u64,
    wrong: u64,
}

impl Loop {
    fn new(plan: SessionPlan) -> Loop {
        let slots = plan.slots();
        Loop {
            idle: (0..slots).collect(),
            asked: vec![(0, 0); slots as usize],
            start: Instant::now(),
            arrived_ns: 0,
            latency: [0; 64],
            answered: 0,
            wrong: 0,
        }
    }

    fn drive(&mut self, session: &mut dyn store::Session, gets: u64, only: Option<u64>) {
        let mut cx = Context::from_waker(Waker::noop());
        let mut random = 88_172_645_463_325_252u64;
        let mut sent = 0;
        let deadline = Instant::now() + Duration::from_secs(3600);
        self.arrived();
        while self.answered < gets {
            while sent < gets
                && let Some(slot) = self.idle.pop()
            {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let id = only.unwrap_or(random % KEYS);
                self.asked[slot as usize] = (id, self.arrived_ns);
                let _ = session.submit(slot, &Operation::Get { key: &key(id) }).unwrap();
                sent += 1;
            }
            let _ = session.poll(&mut cx, Until::At(deadline), self);
        }
    }

    /// The upper bound of the power of two that holds this quantile.
    fn quantile(&self, q: f64) -> u64 {
        let mut left = (self.answered as f64 * q) as u64;
        for (bits, count) in self.latency.iter().enumerate() {
            if left < *count {
                return 1 << bits;
            }
            left -= count;
        }
        0
    }
}

impl Sink for Loop {
    #[inline]
    fn arrived(&mut self) {
        self.arrived_ns = self.start.elapsed().as_nanos() as u64;
    }

    #[inline]
    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) {
        let (id, sent) = self.asked[slot as usize];
        self.wrong += u64::from(!matches!(reply, Reply::Value(found) if *found == value(id)));
        let ns = self.arrived_ns - sent;
        self.latency[64 - ns.leading_zeros() as usize] += 1;
        self.answered += 1;
        self.idle.push(slot);
    }
}

/// Processor time of this process.
fn cpu_s() -> f64 {
    usage_s(libc::RUSAGE_SELF)
}

fn usage_s(whose: i32) -> f64 {
    // SAFETY: rusage is plain numbers, for which zeros are valid, and it is alive.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(whose, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// The cells of the comparison: connections, pipeline, gets.
const CELLS: [(u32, u32, u64); 4] = [(50, 16, 400_000), (50, 1, 60_000), (1, 16, 160_000), (1, 1, 15_000)];

fn compare(rounds: usize) {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("redis.sock");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let mut server = Command::new("taskset");
    server
        .args(["-c", "1", "redis-server", "--bind", "127.0.0.1", "--save", "", "--port", &port, "--unixsocket"])
        .arg(&socket)
        .stdout(Stdio::null());
    // SAFETY: prctl is allowed between fork and exec. The server dies with this process, however that ends.
    unsafe {
        server.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let mut server = server.spawn().unwrap();
    while !socket.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    println!(
        "operations per second of client processor, redis-benchmark = 1; median of {rounds} rounds, lowest and highest"
    );
    for (name, address) in [("unix", socket.to_str().unwrap()), ("TCP", &port)] {
        for (clients, pipeline, gets) in CELLS {
            let mut ratios: Vec<f64> =
                (0..rounds).map(|round| ratio(address, clients, pipeline, gets, round)).collect();
            ratios.sort_by(f64::total_cmp);
            println!(
                "{name} {clients}x{pipeline}: {:.2} ({:.2} to {:.2})",
                ratios[rounds / 2],
                ratios[0],
                ratios[rounds - 1]
            );
        }
    }
    end(&mut server);
}

fn end(server: &mut Child) {
    let _ = server.kill();
    let _ = server.wait();
}

/// One round: both tools, in alternating order.
fn ratio(address: &str, clients: u32, pipeline: u32, gets: u64, round: usize) -> f64 {
    let place: [&str; 2] = if Path::new(address).exists() { ["-s", address] } else { ["-p", address] };
    let ours = || {
        let me = std::env::current_exe().unwrap();
        let mut command = pinned(me.to_str().unwrap());
        command.args(["run", "redis", address, &clients.to_string(), &pipeline.to_string(), &gets.to_string()]);
        children_cpu_s(command)
    };
    let theirs = || {
        let mut command = pinned("redis-benchmark");
        command.args(place).args([
            "-q",
            "-n",
            &gets.to_string(),
            "-c",
            &clients.to_string(),
            "-P",
            &pipeline.to_string(),
        ]);
        command.args(["-r", &KEYS.to_string(), "get", "key:__rand_int__"]);
        children_cpu_s(command)
    };
    if round == 0 {
        ours(); // fills the store
    }
    if round.is_multiple_of(2) {
        let ours = ours();
        theirs() / ours
    } else {
        let theirs = theirs();
        theirs / ours()
    }
}

fn pinned(program: &str) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", "0", program]).stdout(Stdio::null()).process_group(0);
    command
}

fn children_cpu_s(mut command: Command) -> f64 {
    let before = usage_s(libc::RUSAGE_CHILDREN);
    assert!(command.status().unwrap().success());
    usage_s(libc::RUSAGE_CHILDREN) - before
}
