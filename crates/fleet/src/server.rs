//! A NATS server of kvtrial's own: for one study, let in by a token that nobody has had before.

use crate::address::{NatsAddress, USUAL_PORT};
use crate::error::FleetError;
use host::{Helper, Ports};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use store::StoreError;
use study::{Secret, Spec};

/// The store whose program it is.
const STORE: &str = "nats";

/// How long it may take to start.
const START: Duration = Duration::from_secs(10);

/// Where a server listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerPlace {
    /// Every address of this machine; the usual port, or another where that is taken.
    Everywhere,
    /// This one; the port as above where none is named.
    At(IpAddr, Option<u16>),
}

/// A server that runs. Dropping it ends it.
pub struct NatsServer {
    helper: Helper,
    address: NatsAddress,
    line: String,
}

impl NatsServer {
    /// Starts a server.
    ///
    /// # Errors
    /// There is no program, or it does not start there.
    pub fn start(place: ServerPlace) -> Result<NatsServer, FleetError> {
        let program = program()?;
        let (ip, port) = match place {
            ServerPlace::Everywhere => (IpAddr::V4(Ipv4Addr::UNSPECIFIED), None),
            ServerPlace::At(ip, port) => (ip, port),
        };
        let port = match port {
            Some(port) => port,
            None if TcpListener::bind((ip, USUAL_PORT)).is_ok() => USUAL_PORT,
            None => Ports::default().free()?,
        };
        let listen = SocketAddr::new(ip, port);
        let token = host::fresh_secret()?;
        // In a pipe, so that the token is in no file and no list of processes.
        let config = format!("listen: \"{listen}\"\nauthorization {{ token: \"{}\" }}\n", token.reveal());
        let mut command = Command::new(program);
        command.args(["-c", "/dev/stdin"]).stdin(Helper::input(&config)?);
        let helper = Helper::start(command)?;
        await_start(&helper, listen)?;
        let reached = if ip.is_unspecified() { own_ip() } else { ip };
        let host = SocketAddr::new(reached, port);
        let line = format!("kvtrial worker nats://:{}@{host}", token.reveal());
        // Here it is reached where it listens, whatever the others call this machine.
        let here = if ip.is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { ip };
        let address = NatsAddress::own(&here.to_string(), port, Secret::new(token.reveal()));
        Ok(NatsServer { helper, address, line })
    }

    /// Returns how it is reached from here.
    pub fn address(&self) -> &NatsAddress {
        &self.address
    }

    /// Returns how the server ended, if it has.
    pub(crate) fn ending(&self) -> Option<String> {
        self.helper.exit().map(|(exit, words)| format!("{exit}; its last words: {words}"))
    }

    /// Returns the line to run on every other machine. It has the token.
    pub fn line(&self) -> &str {
        &self.line
    }
}

/// Returns the program that the store of that name would be started with.
fn program() -> Result<PathBuf, FleetError> {
    let info = catalog::find(STORE);
    let planned = info.and_then(|info| layers::on_paper(info, &Spec::private(STORE), false));
    let missing = |install: &str| FleetError::NoServer { install: install.to_owned() };
    match planned {
        Some(Ok(deployment)) => {
            let node = deployment.nodes.into_iter().next().ok_or_else(|| missing("apt-get install nats-server"))?;
            Ok(node.plan.run.program)
        }
        Some(Err(StoreError::NotFound { install, .. })) => Err(missing(&install)),
        _ => Err(missing("apt-get install nats-server")),
    }
}

fn await_start(helper: &Helper, listen: SocketAddr) -> Result<(), FleetError> {
    let not_started = |problem: String| FleetError::NotStarted { place: listen.to_string(), problem };
    let ip = if listen.ip().is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { listen.ip() };
    let until = Instant::now() + START;
    loop {
        if let Some((exit, words)) = helper.exit() {
            return Err(not_started(format!("it {exit}; its last words: {words}")));
        }
        if TcpStream::connect_timeout(&SocketAddr::new(ip, listen.port()), START).is_ok() {
            // One that was there before answers, too; ours then ends at once.
            std::thread::sleep(Duration::from_millis(50));
            return match helper.exit() {
                Some((exit, words)) => Err(not_started(format!("it {exit}; its last words: {words}"))),
                None => Ok(()),
            };
        }
        if Instant::now() >= until {
            return Err(not_started(format!("it did not listen within {} s", START.as_secs())));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the address under which other machines are likely to know this one: that from which packets to them leave.
fn own_ip() -> IpAddr {
    let outside = SocketAddr::from(([192, 0, 2, 1], 9)); // of no machine; nothing is sent
    let ip = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).and_then(|socket| {
        socket.connect(outside)?;
        Ok(socket.local_addr()?.ip())
    });
    ip.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
}
