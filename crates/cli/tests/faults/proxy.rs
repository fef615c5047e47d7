//! A server of the user's, and a proxy before it whose connections can be cut.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// The proxy, and the server behind it.
pub struct Proxy {
    name: String,
    port: u16,
    /// Where the server listens.
    behind: u16,
    server: Child,
    connections: Arc<Mutex<Vec<Connection>>>,
    /// Pieces of requests that write.
    writes: Arc<AtomicU64>,
}

/// How requests that write begin, in both protocols.
const WRITES: [&[u8]; 5] = [b"SET\r\n", b"APPEND\r\n", b"set ", b"ms ", b"append "];
/// This many of them are the work of the job's run: what kvtrial asks beforehand, and a load of 1,000 records, write less often.
const AT_WORK: u64 = 1500;

/// Which connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The one most bytes go through.
    Busiest,
    All,
}

/// A connection of a client's, and the bytes that went through it.
struct Connection {
    client: TcpStream,
    bytes: Arc<AtomicU64>,
    /// Set to have it closed when its next request has come, and before that is answered.
    cut: Arc<AtomicBool>,
    is_cut: Arc<AtomicBool>,
}

/// Starts `redis` or `memcached` on a port, and waits until it listens.
fn serve(name: &str, port: u16, more: &[&str]) -> Child {
    let text = port.to_string();
    let (program, args) = match name {
        "redis" => ("redis-server", vec!["--port", &text, "--save", "", "--bind", "127.0.0.1"]),
        _ => ("memcached", vec!["-p", &text, "-l", "127.0.0.1", "-u", "nobody"]),
    };
    let server = Command::new(program)
        .args(args)
        .args(more)
        .current_dir(std::env::temp_dir())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{name} does not listen");
        thread::sleep(Duration::from_millis(5));
    }
    server
}

impl Proxy {
    /// Starts `redis` or `memcached` on a port of its own, and a proxy before it.
    pub fn to(name: &str) -> Proxy {
        Proxy::to_one(name, &[])
    }

    /// The same with a server that may hold 20 MB.
    pub fn to_small(name: &str) -> Proxy {
        Proxy::to_one(name, if name == "redis" { &["--maxmemory", "20mb"] } else { &["-m", "20"] })
    }

    fn to_one(name: &str, more: &[&str]) -> Proxy {
        let free = testkit::free_port();
        let server = serve(name, free, more);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections: Arc<Mutex<Vec<Connection>>> = Arc::default();
        let kept = Arc::clone(&connections);
        let writes = Arc::<AtomicU64>::default();
        let written = Arc::clone(&writes);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", free)) else { continue };
                let (cut, is_cut) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
                let bytes = Arc::new(AtomicU64::new(0));
                let (asked, done) = (Arc::clone(&cut), Arc::clone(&is_cut));
                let closing = client.try_clone().unwrap();
                // Requests: the thread sees whether it is to close the connection instead of handing one on.
                let goes_on = move || {
                    if asked.load(Ordering::Relaxed) {
                        closing.shutdown(Shutdown::Both).unwrap();
                        done.store(true, Ordering::Relaxed);
                    }
                    !done.load(Ordering::Relaxed)
                };
                let ways: [(TcpStream, TcpStream, Box<dyn Fn() -> bool + Send>); 2] = [
                    (client.try_clone().unwrap(), server.try_clone().unwrap(), Box::new(goes_on)),
                    (server.try_clone().unwrap(), client.try_clone().unwrap(), Box::new(|| true)),
                ];
                for (mut from, mut to, goes_on) in ways {
                    let (bytes, written) = (Arc::clone(&bytes), Arc::clone(&written));
                    thread::spawn(move || {
                        let mut buffer = vec![0; 64 << 10];
                        while let Ok(got @ 1..) = from.read(&mut buffer) {
                            bytes.fetch_add(got as u64, Ordering::Relaxed);
                            let has = |word: &&[u8]| buffer[..got].windows(word.len()).any(|at| at == *word);
                            written.fetch_add(u64::from(WRITES.iter().any(has)), Ordering::Relaxed);
                            if !goes_on() || to.write_all(&buffer[..got]).is_err() {
                                break;
                            }
                        }
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
                kept.lock().unwrap().push(Connection { client, bytes, cut, is_cut });
            }
        });
        Proxy { name: name.into(), port, behind: free, server, connections, writes }
    }

    /// How kvtrial reaches it.
    pub fn spec(&self) -> String {
        format!("{}://127.0.0.1:{}", self.name, self.port)
    }

    /// Ends the server once the job writes; what connects afterwards is refused.
    pub fn kill_server(&mut self) -> Instant {
        let begun = Instant::now();
        while self.writes.load(Ordering::Relaxed) < AT_WORK {
            assert!(begun.elapsed() < Duration::from_secs(20), "nothing is written through the proxy");
            thread::sleep(Duration::from_millis(5));
        }
        let struck = Instant::now();
        self.server.kill().unwrap();
        struck
    }

    /// Starts a server where the one was that was ended; it knows nothing of what that held.
    pub fn restart_server(&mut self) {
        self.server.wait().unwrap();
        self.server = serve(&self.name, self.behind, &[]);
    }

    /// Cuts connections once the job writes, and says when. A connection is at work if bytes have gone through it in the last moments; of
    /// the busiest one a request is lost with it.
    pub fn cut(&self, cut: Cut) -> Instant {
        let begun = Instant::now();
        loop {
            let before = self.bytes();
            thread::sleep(Duration::from_millis(50));
            let connections = self.connections.lock().unwrap();
            let grown = |at: usize| {
                let now = connections[at].bytes.load(Ordering::Relaxed);
                now - before.get(at).copied().unwrap_or_default()
            };
            let busiest = (0..connections.len()).filter(|at| grown(*at) > 0).max_by_key(|at| grown(*at));
            let Some(busiest) = busiest.filter(|_| self.writes.load(Ordering::Relaxed) >= AT_WORK) else {
                assert!(begun.elapsed() < Duration::from_secs(20), "nothing goes through the proxy");
                continue;
            };
            let chosen = &connections[busiest];
            chosen.cut.store(true, Ordering::Relaxed);
            let asked = Instant::now();
            while !chosen.is_cut.load(Ordering::Relaxed) && asked.elapsed() < Duration::from_millis(100) {
                thread::sleep(Duration::from_micros(100));
            }
            if !chosen.is_cut.load(Ordering::Relaxed) {
                chosen.cut.store(false, Ordering::Relaxed); // its phase is over
                continue;
            }
            let struck = Instant::now();
            if cut == Cut::All {
                for connection in connections.iter() {
                    let _ = connection.client.shutdown(Shutdown::Both);
                }
            }
            return struck;
        }
    }

    /// Bytes of every connection so far.
    fn bytes(&self) -> Vec<u64> {
        let connections = self.connections.lock().unwrap();
        connections.iter().map(|connection| connection.bytes.load(Ordering::Relaxed)).collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}
