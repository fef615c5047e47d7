//! The nodes of a private deployment while it runs: watched, stopped, killed, frozen, started again, joined by others.

use crate::builder::{Builder, retrying};
use crate::disk::allocated_bytes;
use crate::lease::Lease;
use crate::network::Network;
use crate::node::{self, Fallen, Life, Running};
use crate::ports::Ports;
use crate::process::{Pid, exit_of, signal};
use crate::tree;
use crate::watch::Watched;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use store::{CaughtUp, Deployment, Endpoint, Joining, Leaders, Members, Place, Role, StoreError, TimeOfDay};
use study::{Secret, ServerUse};

/// A running deployment. Dropping it stops its nodes and removes its directory.
pub struct Nodes {
    pub(crate) builder: Builder,
    /// The network in which nodes can be cut off from each other, where kvtrial is in one of its own.
    pub(crate) network: Option<Network>,
    pub(crate) ports: Ports,
    pub(crate) secret: Secret,
    pub(crate) lease: Lease,
    pub(crate) running: Mutex<Vec<Running>>,
    /// The plan by which one more node joins.
    pub(crate) joining: Option<Joining>,
    pub(crate) caught_up: Option<CaughtUp>,
    pub(crate) leaders: Option<Leaders>,
    pub(crate) time_of_day: Option<TimeOfDay>,
}

/// The state of a node.
#[derive(Clone, Debug)]
pub struct NodeState {
    /// The name of the node; empty for a single node.
    pub name: String,
    /// The clients or nodes that the node serves.
    pub role: Role,
    /// The endpoint on which the node listens.
    pub endpoint: Endpoint,
    /// The process of the node's program; `None` when it was stopped or killed.
    pub pid: Option<i32>,
    /// The resources the node has used since it was first started.
    pub usage: ServerUse,
    /// The bytes on disk below the node's own directory, without logs.
    pub disk_bytes: u64,
}

impl Nodes {
    /// Returns the states of the nodes, in the order they were planned in. Looks through `/proc`, which takes milliseconds per node.
    pub fn states(&self) -> Vec<NodeState> {
        let state = |it: &Running| NodeState {
            name: it.node.name.clone(),
            role: it.node.role,
            endpoint: it.node.plan.endpoint.clone(),
            pid: it.life.pid(),
            usage: it.usage(),
            disk_bytes: allocated_bytes(&it.directory, it.logs.files()),
        };
        self.running().iter().map(state).collect()
    }

    /// Returns the names of the nodes, in the order planned.
    pub fn names(&self) -> Vec<String> {
        self.running().iter().map(|it| it.node.name.clone()).collect()
    }

    /// Returns the name of the node that comes after this number of nodes.
    pub fn next_name(nodes: usize) -> String {
        format!("node{}", nodes + 1)
    }

    /// Returns whether there is more than one node.
    pub fn is_several(&self) -> bool {
        self.running().len() > 1
    }

    /// Returns the CPU seconds of each node since it was first started, by name and in the order planned.
    pub fn cpu_s_of_each(&self) -> Vec<(String, f64)> {
        let all = tree::processes();
        let now = |it: &Running| it.life.pid().map_or(0.0, |pid| tree::cpu_s(&tree::descent(&all, &[pid])));
        self.running().iter().map(|it| (it.node.name.clone(), it.spent.cpu_s + now(it))).collect()
    }

    /// Returns the endpoints for clients.
    pub fn endpoints(&self) -> Vec<Endpoint> {
        let running = self.running();
        let serving = running.iter().filter(|it| it.node.role == Role::Clients);
        serving.map(|it| it.node.plan.endpoint.clone()).collect()
    }

    /// Returns the first node that ended though nobody has ended it. Takes a microsecond per node.
    pub fn fallen(&self) -> Option<Fallen> {
        let fallen = self.running().iter().find_map(Running::fallen)?;
        let memory_limit_bytes = self.builder.memory.as_ref().and_then(|group| group.killed_for());
        Some(Fallen { memory_limit_bytes, ..fallen })
    }

    /// Asks a node to end, waits up to 10 s, and kills the processes that are left.
    ///
    /// # Errors
    /// The node does not run.
    pub fn stop(&self, name: &str) -> Result<(), StoreError> {
        self.take_down(name, Farewell::Asked)
    }

    /// Kills a node: the node has no time to write anything.
    ///
    /// # Errors
    /// The node does not run.
    pub fn kill(&self, name: &str) -> Result<(), StoreError> {
        self.take_down(name, Farewell::Killed)
    }

    /// Kills all nodes that run, as one power cut would their machines: no node has time to write anything. Returns the moment before the first was
    /// killed; [`restart`](Nodes::restart) starts the nodes again.
    pub fn kill_all(&self) -> Instant {
        let mut running = self.running();
        let lives: Vec<Pid> =
            running.iter_mut().filter_map(|it| std::mem::replace(&mut it.life, Life::Down).pid()).collect();
        let begun = node::kill_below(self.lease.store(), &lives);
        lives.into_iter().for_each(|pid| self.lease.forget(pid));
        begun
    }

    /// Freezes a node: the node keeps its connections and answers nobody.
    ///
    /// # Errors
    /// The node does not run.
    pub fn freeze(&self, name: &str) -> Result<(), StoreError> {
        let mut running = self.running();
        let it = self.find(&mut running, name)?;
        let pid = it.life.pid().ok_or_else(|| self.refusal(name, "does not run"))?;
        it.life = Life::Frozen(pid);
        node::freeze(pid);
        Ok(())
    }

    /// Lets a frozen node continue.
    ///
    /// # Errors
    /// The node is not frozen.
    pub fn thaw(&self, name: &str) -> Result<(), StoreError> {
        let mut running = self.running();
        let it = self.find(&mut running, name)?;
        let Life::Frozen(pid) = it.life else { return Err(self.refusal(name, "is not frozen")) };
        node::thaw(pid);
        it.life = Life::Runs(pid);
        Ok(())
    }

    /// Starts a node again that was stopped or killed, in the same directory and on the same port; returns when the node is ready.
    ///
    /// # Errors
    /// The node runs, or did not get ready.
    pub fn restart(&self, name: &str) -> Result<(), StoreError> {
        self.launch(name)?;
        self.await_ready(name)
    }

    /// Starts a node as [`restart`](Nodes::restart) does, without waiting until the node is ready.
    ///
    /// # Errors
    /// The node runs, or its program cannot be started.
    pub fn launch(&self, name: &str) -> Result<(), StoreError> {
        let mut running = self.running();
        let it = self.find(&mut running, name)?;
        if it.life != Life::Down {
            return Err(self.refusal(name, "runs already"));
        }
        it.life = Life::Runs(self.spawn(it)?);
        Ok(())
    }

    /// Waits until a node that was launched is ready.
    ///
    /// # Errors
    /// The node did not get ready.
    pub fn await_ready(&self, name: &str) -> Result<(), StoreError> {
        self.await_node(name).map(drop)
    }

    /// Checks that each node that runs has everything it should have; `None`: these nodes do not report it.
    pub fn caught_up(&self) -> Option<Result<(), StoreError>> {
        self.caught_up.map(|ask| ask(&self.builder.spec, &self.serving()))
    }

    /// Returns the names of the nodes that lead; `None`: no node leads, or the nodes do not report it.
    pub fn leaders(&self) -> Option<Result<Vec<String>, StoreError>> {
        let ask = self.leaders?;
        let serving = self.serving();
        let named = |places: Vec<usize>| {
            let running = self.running();
            let is_one =
                |it: &&Running| places.iter().any(|place| serving[*place].address == it.node.plan.endpoint.address);
            running.iter().filter(is_one).map(|it| it.node.name.clone()).collect()
        };
        Some(ask(&self.builder.spec, &serving).map(named))
    }

    /// Adds nodes while the others run: they are planned, started and formed as the first ones were, with a forming that joins them
    /// to the others. A node's directory has its name, so a name that is taken is refused.
    ///
    /// # Errors
    /// The nodes did not start; then they are gone again.
    pub fn add(&self, plan: impl Fn(&mut Place) -> Result<Deployment, StoreError>) -> Result<(), StoreError> {
        let (nodes, ports) = (self.running().len(), self.ports.given().len());
        retrying(|| {
            let added = self.bring_up(plan(&mut self.place())?);
            if added.is_err() {
                self.send_away(nodes);
                self.ports.take_back(ports);
            }
            added.map(drop)
        })
    }

    /// Starts one more node and lets it join the nodes that run, as the store's plan has it; returns the node's name when it has its share.
    ///
    /// # Errors
    /// The store's nodes cannot be joined, or this node did not get so far; then it is gone again.
    pub fn join(&self) -> Result<String, StoreError> {
        let name = Nodes::next_name(self.running().len());
        let Some(joining) = self.joining else { return Err(self.refusal(&name, "cannot join while it serves")) };
        self.add(|place| {
            let members = Members { name: name.clone(), endpoints: self.serving() };
            joining(&self.builder.spec, place, &members)
        })?;
        Ok(name)
    }

    /// Returns the resources that all nodes have used since they were started, also nodes that were taken down: CPU seconds and peak resident sets.
    pub fn usage(&self) -> ServerUse {
        let now = tree::usage(&self.lease.settled_members());
        let running = self.running();
        let down = running.iter().filter(|it| it.life == Life::Down);
        let peak_rss_bytes = now.peak_rss_bytes + down.map(|it| it.spent.peak_rss_bytes).sum::<u64>();
        ServerUse { cpu_s: now.cpu_s + spent_cpu_s(&running), peak_rss_bytes }
    }

    /// Returns the CPU seconds alone, at less cost than [`usage`](Nodes::usage).
    pub fn cpu_s(&self) -> f64 {
        tree::cpu_s(&self.lease.settled_members()) + spent_cpu_s(&self.running())
    }

    /// Returns the processes of the nodes' programs.
    pub fn pids(&self) -> Vec<Pid> {
        self.running().iter().filter_map(|it| it.life.pid()).collect()
    }

    /// Returns the nodes' programs, for another process that watches them.
    pub(crate) fn watched(&self) -> Vec<Watched> {
        let watched = |it: &Running| Some(Watched::new(it.life.pid()?, it.node.plan.endpoint.address.clone()));
        self.running().iter().filter_map(watched).collect()
    }

    /// Returns the files that are the nodes' logs, not data.
    pub fn logs(&self) -> Vec<PathBuf> {
        self.running().iter().flat_map(|it| it.logs.files().to_vec()).collect()
    }

    /// Returns the end of the first node's log, ready to follow a message; empty when there is none.
    pub fn log_end(&self) -> String {
        self.running().first().map(|it| it.logs.quote()).unwrap_or_default()
    }

    /// Returns the commands that start the nodes again in their directories, one per line, as a shell reads them.
    pub fn start_commands(&self) -> String {
        let running = self.running();
        let lines = running.iter().map(|it| {
            let user = it.user.and(it.node.plan.user).map_or_else(String::new, |name| format!("runuser -u {name} -- "));
            format!("cd {} && {user}{}", it.directory.display(), it.node.plan.run)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Returns the lease on the nodes' directory and processes.
    pub(crate) fn lease(&self) -> &Lease {
        &self.lease
    }

    /// Lets every node continue, also a node that somebody else has frozen, and hear of all others.
    pub(crate) fn thaw_all(&self) {
        self.heal_all();
        for it in self.running().iter() {
            match it.life {
                // Of one that is gone the id may be somebody else's.
                Life::Runs(pid) | Life::Frozen(pid) if exit_of(pid).is_some() => {}
                Life::Runs(pid) => signal(pid, libc::SIGCONT),
                Life::Frozen(pid) => node::thaw(pid),
                Life::Down => {}
            }
        }
    }

    /// Asks all nodes to end, the nodes of the last step first, waits up to 10 s for each step, kills the processes that are left and removes the
    /// directory.
    ///
    /// # Errors
    /// The files that could not be removed.
    pub(crate) fn end(&self) -> Result<(), StoreError> {
        self.thaw_all();
        let mut living: Vec<(u32, (Pid, i32))> = self
            .running()
            .iter()
            .filter_map(|it| Some((it.node.step, (it.life.pid()?, it.node.plan.stop_signal))))
            .collect();
        living.sort_by_key(|(step, _)| std::cmp::Reverse(*step));
        for step in living.chunk_by(|one, other| one.0 == other.0) {
            node::ask_to_end(&step.iter().map(|(_, node)| *node).collect::<Vec<_>>());
        }
        self.lease.end()
    }

    pub(crate) fn running(&self) -> MutexGuard<'_, Vec<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn find<'a>(&self, running: &'a mut [Running], name: &str) -> Result<&'a mut Running, StoreError> {
        running.iter_mut().find(|it| it.node.name == name).ok_or_else(|| self.refusal(name, "is not one of its nodes"))
    }

    /// Ends a node. The end is meant from the beginning: nobody takes the node for fallen.
    fn take_down(&self, name: &str, farewell: Farewell) -> Result<(), StoreError> {
        let (pid, directory, stop_signal, life) = {
            let mut running = self.running();
            let it = self.find(&mut running, name)?;
            let pid = it.life.pid().ok_or_else(|| self.refusal(name, "does not run"))?;
            let life = std::mem::replace(&mut it.life, Life::Down);
            (pid, it.directory.clone(), it.node.plan.stop_signal, life)
        };
        let before = tree::usage(&node::of(pid));
        if farewell == Farewell::Asked {
            if life == Life::Frozen(pid) {
                node::thaw(pid);
            }
            node::ask_to_end(&[(pid, stop_signal)]);
        }
        node::kill_below(&directory, &[pid]);
        let cpu_s = tree::cpu_s(&node::of(pid)).max(before.cpu_s);
        let mut running = self.running();
        let it = self.find(&mut running, name)?;
        it.spent.cpu_s += cpu_s;
        it.spent.peak_rss_bytes = it.spent.peak_rss_bytes.max(before.peak_rss_bytes);
        self.lease.forget(pid);
        Ok(())
    }

    /// Ends all nodes but the first `kept`.
    fn send_away(&self, kept: usize) {
        let gone = self.running().split_off(kept);
        for pid in gone.iter().filter_map(|it| it.life.pid()) {
            node::kill(pid);
            self.lease.forget(pid);
        }
    }

    pub(crate) fn refusal(&self, name: &str, problem: &str) -> StoreError {
        let who = if name.is_empty() { "the server".to_owned() } else { format!("node '{name}'") };
        StoreError::Session(format!("{}: {who} {problem}", self.builder.info.name))
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        // A caller who wants to know what went wrong calls `end` first.
        let _ = self.end();
    }
}

/// How a node is ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Farewell {
    Asked,
    Killed,
}

/// Returns the CPU seconds of lives that have ended.
fn spent_cpu_s(running: &[Running]) -> f64 {
    running.iter().map(|it| it.spent.cpu_s).sum()
}
