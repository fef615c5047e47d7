//! A private deployment from its plan to the first connection.

use crate::attempts::{Attempts, RETRY};
use crate::builder::{Builder, retrying};
use crate::lease::{Lease, system_words};
use crate::log::Logs;
use crate::network::{Namespace, Network};
use crate::node::{self, Life, Running};
use crate::nodes::Nodes;
use crate::ports::{self, Ports};
use crate::process::{Exit, Pid, exit_of};
use crate::setup::{check_socket_path, furnish};
use crate::user::{User, is_root};
use crate::{interrupt, secret, settle};
use std::fs;
use std::io;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::{Duration, Instant};
use store::{CommandLine, Deployment, Endpoint, Forming, FormingStep, Node, Place, Ready, Role, Store, StoreError};
use study::{Address, ServerUse};

/// The time one prepare command may take.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(300);

/// The name of the file for the output of the commands that form the nodes into one.
const FORMING: &str = "forming";

/// The reason why nothing is started any more.
const INTERRUPTED: &str = "kvtrial was interrupted";

/// Starts a deployment below `base` and connects to it; tries other ports when another program has taken these meanwhile.
///
/// # Errors
/// The problem, with the end of the log.
pub fn start(builder: impl Fn() -> Builder, base: &Path) -> Result<(Nodes, Box<dyn Store>), StoreError> {
    retrying(|| {
        let builder = builder();
        let lease = Lease::take(base)?;
        builder.ground.as_ref().map_or(Ok(()), |ground| ground.lay(&lease))?;
        let secret = secret::fresh().map_err(|error| builder.not_started(format!("no random bytes: {error}")))?;
        let network = Network::of_deployment().map_err(|problem| builder.not_started(problem))?;
        let mut nodes = Nodes {
            builder,
            network,
            ports: Ports::default(),
            secret,
            lease,
            running: Mutex::default(),
            joining: None,
            caught_up: None,
            leaders: None,
            time_of_day: None,
        };
        let deployment = layers::plan(nodes.builder.info, &nodes.builder.spec, &mut nodes.place())?;
        nodes.joining = deployment.joining;
        nodes.caught_up = deployment.caught_up;
        nodes.leaders = deployment.leaders;
        nodes.time_of_day = deployment.time_of_day;
        let store = nodes.bring_up(deployment)?;
        settle::settle(nodes.lease.store(), settle::Handles::Closed)
            .map_err(|(path, source)| StoreError::Io { path, source })?;
        Ok((nodes, store))
    })
}

impl Nodes {
    /// Returns the place that a plan may use.
    pub(crate) fn place(&self) -> Place {
        let ports = self.ports.clone();
        let place = Place::new(self.lease.store(), is_root(), self.secret.clone(), move || ports.free());
        match &self.network {
            Some(network) => place.in_network(network.address()),
            None => place,
        }
    }

    /// Starts nodes step by step, forms them, and connects to all nodes that run then.
    pub(crate) fn bring_up(&self, deployment: Deployment) -> Result<Box<dyn Store>, StoreError> {
        let Deployment { mut nodes, forming, .. } = deployment;
        nodes.sort_by_key(|node| node.step);
        let alone = nodes.len() == 1 && forming.is_none() && self.running().is_empty();
        let mut connected = None;
        for step in nodes.chunk_by(|one, other| one.step == other.step) {
            step.iter().try_for_each(|node| self.begin(node.clone()))?;
            for node in step {
                connected = self.await_node(&node.name)?;
            }
        }
        if let Some(store) = connected.filter(|_| alone) {
            return Ok(store);
        }
        let timeout = forming.as_ref().map_or_else(|| longest(&nodes), |forming| forming.timeout);
        let deadline = Instant::now() + timeout;
        if let Some(forming) = &forming {
            self.form(forming, deadline)?;
        }
        self.await_all(deadline, timeout)
    }

    /// Makes a node's directory, prepares it and starts its program.
    fn begin(&self, node: Node) -> Result<(), StoreError> {
        let name = &node.name;
        let is_new = self.running().iter().all(|it| it.node.name != *name && !it.node.name.is_empty());
        if !is_new || name.contains('/') || name.starts_with('.') {
            return Err(self.builder.not_started(format!("'{name}' is not possible as the name of a further node")));
        }
        check_socket_path(&node.plan.endpoint)?;
        let user = self.builder.user(&node.plan, &self.lease)?;
        let directory = if name.is_empty() { self.lease.store().to_owned() } else { self.lease.store().join(name) };
        if !name.is_empty() {
            // A node of this name that did not start may have left one.
            let _ = fs::remove_dir_all(&directory);
        }
        furnish(self.lease.store(), &directory, &node.plan, user)?;
        let output = self.lease.output_of(name);
        let logs = node.plan.log.iter().map(|log| directory.join(log)).chain([output.clone()]).collect();
        let logs = Logs::new(logs, self.secret.clone());
        let spent = ServerUse::default();
        let mut it = Running { node, directory, output, logs, user, life: Life::Down, spent, clock_ms: 0 };
        for command in &it.node.plan.prepare {
            let pid = self.run(command, &it.directory, &it.output, it.user, None)?;
            self.finish(command, pid, Instant::now() + PREPARE_TIMEOUT, PREPARE_TIMEOUT, &it.output)?;
        }
        it.life = Life::Runs(self.spawn(&it)?);
        self.running().push(it);
        Ok(())
    }

    /// Starts a node's program.
    pub(crate) fn spawn(&self, it: &Running) -> Result<Pid, StoreError> {
        let namespace = self.namespace(it).transpose()?;
        self.run(&self.with_clock(it)?, &it.directory, &it.output, it.user, namespace)
    }

    fn run(
        &self,
        line: &CommandLine,
        directory: &Path,
        output: &Path,
        user: Option<User>,
        network: Option<Namespace>,
    ) -> Result<Pid, StoreError> {
        let spawned = self.lease.spawn(line, directory, output, user, network, self.builder.cpus.clone());
        let pid = spawned.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => self.builder.not_found(line.program.display().to_string()),
            _ => self.builder.not_started(format!("{}: {}", line.program.display(), system_words(&error))),
        })?;
        if let Some(group) = &self.builder.memory {
            group.admit(pid).map_err(|problem| self.builder.not_started(problem))?;
        }
        Ok(pid)
    }

    /// Waits until a command has ended well; kills a command that does not end in time.
    fn finish(
        &self,
        line: &CommandLine,
        pid: Pid,
        deadline: Instant,
        timeout: Duration,
        output: &Path,
    ) -> Result<(), StoreError> {
        let problem = loop {
            match exit_of(pid) {
                Some(Exit::Status(0)) => {
                    self.lease.forget(pid);
                    return Ok(());
                }
                _ if interrupt::requested() => break INTERRUPTED.into(),
                Some(exit) => break exit.to_string(),
                None if Instant::now() >= deadline => break format!("took longer than {} s", timeout.as_secs_f64()),
                None => {}
            }
            if let Some(fallen) = self.fallen() {
                break format!("had to be given up, {fallen}{}", fallen.log_end);
            }
            thread::sleep(Duration::from_millis(3));
        };
        node::kill(pid);
        self.lease.forget(pid);
        if problem == INTERRUPTED {
            return Err(self.builder.not_started(problem));
        }
        let log = Logs::new(vec![output.to_owned()], self.secret.clone()).quote();
        Err(self.builder.not_started(format!("{} {problem}{log}", line.program.display())))
    }

    /// Carries out the steps that make one store of the nodes.
    fn form(&self, forming: &Forming, deadline: Instant) -> Result<(), StoreError> {
        let output = self.lease.output_of(FORMING);
        for step in &forming.steps {
            match step {
                FormingStep::Run(line) => {
                    let pid = self.run(line, self.lease.store(), &output, None, None)?;
                    self.finish(line, pid, deadline, forming.timeout, &output)?;
                }
                FormingStep::Until(holds) => self.await_that(*holds, deadline, forming.timeout)?,
            }
        }
        Ok(())
    }

    /// Asks the nodes that run until a condition holds.
    fn await_that(
        &self,
        holds: fn(&[Endpoint]) -> Result<(), StoreError>,
        deadline: Instant,
        timeout: Duration,
    ) -> Result<(), StoreError> {
        let endpoints = self.serving();
        loop {
            let Err(missing) = holds(&endpoints) else { return Ok(()) };
            if interrupt::requested() {
                return Err(self.builder.not_started(INTERRUPTED.into()));
            }
            if let Some(fallen) = self.fallen() {
                return Err(self.builder.not_started(format!("{fallen}{}", fallen.log_end)));
            }
            if Instant::now() >= deadline {
                let problem = format!("its nodes did not form one store within {} s: {missing}", timeout.as_secs_f64());
                return Err(self.builder.not_started(problem));
            }
            thread::sleep(RETRY);
        }
    }

    /// Waits until a node is ready; returns the connection to it, where connecting is the sign that it is ready.
    pub(crate) fn await_node(&self, name: &str) -> Result<Option<Box<dyn Store>>, StoreError> {
        let found = self.running().iter().find(|it| it.node.name == name).map(|it| it.node.clone());
        let Some(node) = found else { return Ok(None) };
        let endpoint = node.plan.endpoint.clone();
        let attempts = match node.ready {
            Ready::Connects => self.builder.attempts(vec![endpoint.clone()]),
            Ready::Listens => Attempts::start(move || listens(&endpoint).map(|()| None)),
        };
        let timeout = node.plan.start_timeout;
        let ready = self.await_result(&attempts, name, &[node.plan.endpoint], Instant::now() + timeout, timeout);
        self.clocks_are_loaded();
        ready
    }

    /// Returns the endpoints of the nodes that serve clients, run and are not frozen.
    pub(crate) fn serving(&self) -> Vec<Endpoint> {
        let running = self.running();
        let serving = running.iter().filter(|it| it.node.role == Role::Clients && matches!(it.life, Life::Runs(_)));
        serving.map(|it| it.node.plan.endpoint.clone()).collect()
    }

    /// Connects to all nodes together, except nodes that were taken down or frozen.
    fn await_all(&self, deadline: Instant, timeout: Duration) -> Result<Box<dyn Store>, StoreError> {
        let endpoints = self.serving();
        let attempts = self.builder.attempts(endpoints.clone());
        let connected = self.await_result(&attempts, "", &endpoints, deadline, timeout)?;
        connected.ok_or_else(|| self.builder.not_started("no client connected to it".into()))
    }

    /// Returns the result of the attempts, unless a node or the time ends before.
    fn await_result(
        &self,
        attempts: &Attempts,
        name: &str,
        endpoints: &[Endpoint],
        deadline: Instant,
        timeout: Duration,
    ) -> Result<Option<Box<dyn Store>>, StoreError> {
        let not_started = |problem: String| self.builder.not_started(problem);
        let mut refusal = None;
        loop {
            let result = attempts.results.recv_timeout(RETRY);
            if let Some(fallen) = self.fallen() {
                let it = if fallen.node.is_empty() { "it " } else { "" };
                let problem = format!("{it}{fallen}{}", fallen.log_end);
                return Err(match self.stranger_on(&self.ports.given()) {
                    None => not_started(problem),
                    Some(_) => self.builder.port_taken(format!("its port was taken: {problem}")),
                });
            }
            match result {
                Ok(Ok(store)) => {
                    let ports: Vec<u16> =
                        endpoints.iter().filter_map(|endpoint| endpoint.tcp().map(|(_, port)| port)).collect();
                    return match self.stranger_on(&ports) {
                        None => Ok(store),
                        Some(port) => {
                            Err(self.builder.port_taken(format!("another program listens on its port {port}")))
                        }
                    };
                }
                Ok(Err(error)) => refusal = Some(error),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(not_started("the attempt to connect broke off".into()));
                }
            }
            if interrupt::requested() {
                return Err(not_started(INTERRUPTED.into()));
            }
            if Instant::now() >= deadline {
                let it = if name.is_empty() { "it" } else { name };
                let refusal = refusal.map_or_else(String::new, |error| format!(" ({error})"));
                let log = self.log_of(name);
                let problem = format!("{it} did not answer within {} s{refusal}{log}", timeout.as_secs_f64());
                return Err(not_started(problem));
            }
        }
    }

    /// Returns the first of these ports on which another program listens.
    fn stranger_on(&self, ports: &[u16]) -> Option<u16> {
        let members = self.lease.members();
        ports.iter().copied().find(|port| ports::is_taken(*port) && !ports::is_held_by(*port, &members))
    }

    /// Returns the end of a node's log; of the first node's, where no node is named.
    fn log_of(&self, name: &str) -> String {
        let running = self.running();
        let named = running.iter().find(|it| it.node.name == name);
        named.or_else(|| running.first()).map(|it| it.logs.quote()).unwrap_or_default()
    }
}

/// Returns the longest time any of these nodes may take.
fn longest(nodes: &[Node]) -> Duration {
    nodes.iter().map(|node| node.plan.start_timeout).max().unwrap_or_default()
}

/// Checks that somebody accepts connections there.
fn listens(endpoint: &Endpoint) -> Result<(), StoreError> {
    let tried = match (&endpoint.address, endpoint.tcp()) {
        (Address::Unix(path), _) => UnixStream::connect(path).map(drop),
        (_, Some(address)) => TcpStream::connect(address).map(drop),
        (_, None) => Ok(()),
    };
    tried.map_err(|error| StoreError::open(endpoint, error))
}
