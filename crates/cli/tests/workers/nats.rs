//! NATS, workers that have joined, and one who speaks the protocol by hand.

use crate::common::Desk;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long a study takes to be judged and written, on a machine that does other things, too.
pub const WRITING: Duration = Duration::from_millis(1500);

const LOCALHOST: &str = "127.0.0.1";

/// A server that is ended at once when dropped.
pub struct Nats {
    child: Child,
    host: String,
    port: u16,
}

impl Nats {
    pub fn start() -> Nats {
        Nats::listening(LOCALHOST, testkit::free_port(), &[])
    }

    /// Starts one where another was.
    pub fn start_at(url: &str) -> Nats {
        Nats::listening(LOCALHOST, url.rsplit(':').next().unwrap().parse().unwrap(), &[])
    }

    /// Starts one that other machines reach, too.
    pub fn start_on(host: &str, port: u16) -> Nats {
        Nats::listening(host, port, &[])
    }

    /// Starts one that lets in who has this token.
    pub fn with_token(token: &str) -> Nats {
        Nats::listening(LOCALHOST, testkit::free_port(), &["--auth", token])
    }

    /// Starts one with these lines in its configuration.
    pub fn configured(desk: &Desk, lines: &str) -> Nats {
        let file = desk.file("nats.conf", lines);
        Nats::listening(LOCALHOST, testkit::free_port(), &["-c", file.to_str().unwrap()])
    }

    fn listening(host: &str, port: u16, more: &[&str]) -> Nats {
        let mut server = Command::new("nats-server");
        server.args(["-a", host, "-p", &port.to_string()]).args(more).stderr(Stdio::null()).stdout(Stdio::null());
        let child = server.spawn().unwrap_or_else(|error| panic!("apt-get install nats-server: {error}"));
        testkit::waiting::until("nats-server listens", || TcpStream::connect((host, port)).is_ok());
        Nats { child, host: host.to_owned(), port }
    }

    pub fn place(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    pub fn url(&self) -> String {
        format!("nats://{}", self.place())
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process whose standard error is read line by line.
pub struct Said {
    child: Child,
    lines: std::sync::mpsc::Receiver<String>,
    heard: Vec<String>,
}

impl Said {
    pub fn of(mut command: Command) -> Said {
        let mut child = command.spawn().unwrap();
        let stderr: ChildStderr = child.stderr.take().unwrap();
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            BufReader::new(stderr).lines().map_while(Result::ok).for_each(|line| _ = sender.send(line));
        });
        Said { child, lines, heard: Vec::new() }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes a line to its standard input.
    pub fn tell(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Waits for a line with these words.
    pub fn await_line(&mut self, words: &str) -> String {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("no '{words}' among {:#?}", self.heard));
            self.heard.push(line.clone());
            if line.contains(words) {
                return line;
            }
        }
    }

    /// Ends it at once.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for its end.
    pub fn output(mut self) -> Output {
        let mut stdout = Vec::new();
        self.child.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
        let status = self.child.wait().unwrap();
        self.heard.extend(self.lines.iter());
        Output { status, stdout, stderr: self.heard.join("\n").into_bytes() }
    }
}

/// `kvtrial worker`.
pub struct JoinedWorker(Said);

impl JoinedWorker {
    pub fn join(desk: &Desk, url: &str, name: &str) -> JoinedWorker {
        JoinedWorker::of(Said::of(desk.command(&format!("worker {url} --name {name}"))))
    }

    pub fn of(mut said: Said) -> JoinedWorker {
        said.await_line("waits for a study");
        JoinedWorker(said)
    }

    pub fn await_line(&mut self, words: &str) -> String {
        self.0.await_line(words)
    }

    /// It, and the processes it has started.
    pub fn processes(&self) -> Vec<u32> {
        let mut all = vec![self.0.pid()];
        let mut at = 0;
        while at < all.len() {
            let threads = std::fs::read_dir(format!("/proc/{}/task", all[at])).into_iter().flatten().flatten();
            for thread in threads {
                let children = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
                all.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
            }
            at += 1;
        }
        all
    }

    pub fn kill(mut self) {
        self.0.child.kill().unwrap();
        self.0.child.wait().unwrap();
    }

    /// Sends this to all of its processes.
    pub fn signal_all(&self, signal: i32) {
        self.processes().into_iter().for_each(|pid| send(pid, signal));
    }

    /// Asks it to end; its exit status.
    pub fn end(mut self) -> i32 {
        send(self.0.pid(), libc::SIGTERM);
        self.0.child.wait().unwrap().code().unwrap_or(-1)
    }
}

impl Drop for JoinedWorker {
    fn drop(&mut self) {
        let _ = self.0.child.kill();
        let _ = self.0.child.wait();
    }
}

fn send(pid: u32, signal: i32) {
    // SAFETY: plain system call.
    unsafe { libc::kill(pid.cast_signed(), signal) };
}

/// Whether a process is there and no zombie.
pub fn lives(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| !rest.trim_start().starts_with('Z')))
}

/// A client of NATS that says what a test wants.
pub struct Speaker {
    stream: BufReader<TcpStream>,
    subscriptions: u32,
    last: String,
}

impl Speaker {
    pub fn connect(nats: &Nats) -> Speaker {
        let stream = TcpStream::connect(nats.place()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut speaker = Speaker { stream: BufReader::new(stream), subscriptions: 0, last: String::new() };
        speaker.say("CONNECT {\"verbose\":false}\r\n");
        speaker
    }

    fn say(&mut self, text: &str) {
        self.stream.get_mut().write_all(text.as_bytes()).unwrap();
    }

    pub fn subscribe(&mut self, subject: &str) {
        self.subscriptions += 1;
        self.say(&format!("SUB {subject} {}\r\nPING\r\n", self.subscriptions));
        self.await_text("PONG");
    }

    pub fn publish(&mut self, subject: &str, payload: &str) {
        self.say(&format!("PUB {subject} {}\r\n{payload}\r\n", payload.len()));
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "NATS has closed the connection");
        line
    }

    fn await_text(&mut self, text: &str) {
        while !self.line().starts_with(text) {}
    }

    /// Waits for a message whose subject begins so; its head.
    pub fn await_message(&mut self, subject: &str) -> Value {
        loop {
            let line = self.line();
            if line.starts_with("PING") {
                self.say("PONG\r\n");
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            if words.first() != Some(&"MSG") {
                continue;
            }
            let mut payload = vec![0; words[words.len() - 1].parse::<usize>().unwrap() + 2];
            self.stream.read_exact(&mut payload).unwrap();
            if words[1].starts_with(subject) {
                words[1].clone_into(&mut self.last);
                let head = payload.split(|byte| *byte == b'\n').next().unwrap();
                return serde_json::from_slice(head).unwrap();
            }
        }
    }

    pub fn last_subject(&self) -> &str {
        &self.last
    }
}
