//! Faults that are asked for: nodes of a private deployment killed, stopped, frozen, cut off, told another time and started again while a trial runs. What a job asks for
//! ([`changes`]) is one of them.

mod asked;
mod clock;
mod cut;
mod planned;
mod records;
mod undone;
mod watch;
mod window;

use crate::changes;
use crate::planned_cell::{PlannedCell, seconds};
use crate::stroke::{end_stroke, strike};
use engine::Outages;
use host::{ClockLibrary, Nodes};
use jobkit::NodeAct;
use planned::{CHANGE, restart_in_vain};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::StoreError;
use study::Target;
use watch::LEADERS_BEFORE;

pub use asked::{AskedFault, USUAL_SECONDS, UsualFault};
pub use planned::PlannedFault;
pub(crate) use undone::undone;
pub(crate) use window::failed_before;

/// All faults of a trial.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    asked: Vec<AskedFault>,
    /// The length of a trial, where it is known.
    length: Option<Duration>,
    /// The longest time for an operation while nodes fail.
    timeout: Duration,
    /// What moves the clocks of nodes, where one is to be moved.
    clocks: Option<ClockLibrary>,
}

/// The longest time for an operation while nodes fail, unless the user asks for another.
pub const USUAL_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a part of a job's run lasts at most for another node to lead in the place of one that was killed.
const TAKEOVER: Duration = Duration::from_secs(60);

impl Faults {
    /// Makes the faults of the cells of a plan, with the longest time for an operation meanwhile, when every store the user named can have them.
    ///
    /// # Errors
    /// A store that is not a private server, or has no such node.
    pub fn on(cells: &[PlannedCell], asked: Vec<AskedFault>, timeout: Duration) -> Result<Faults, String> {
        let Some(first) = asked.first().cloned() else { return Ok(Faults { timeout, ..Faults::default() }) };
        let length = cells.first().and_then(|cell| seconds(&cell.params));
        let mut faults = Faults { asked, length, timeout, clocks: None };
        for cell in cells.iter().filter(|cell| !cell.baseline) {
            let spec = &cell.spec;
            let deployment =
                (spec.target == Target::Private).then(|| layers::on_paper(cell.info, spec, false)).flatten();
            let Some(deployment) = deployment else {
                return Err(format!(
                    "--fault '{first}': {spec} has no server that kvtrial started; name a private one, such as -s redis"
                ));
            };
            let deployment = deployment.map_err(|error| error.to_string())?;
            let mut nodes = deployment.nodes.len();
            let planned = faults.of_nodes(nodes)?;
            if let Some(fault) = restart_in_vain(&planned) {
                return Err(format!("--fault '{fault}': that node runs then; have it killed or stopped before"));
            }
            cut::check(cell.info, spec, &planned)?;
            clock::check(&deployment, spec, &planned)?;
            for fault in &planned {
                match fault.act.node() {
                    Some(node) if node > nodes => {
                        let least = if nodes == 1 { "1".into() } else { format!("1 to {nodes}") };
                        return Err(format!("--fault '{fault}': {spec} has no node {node} then; use {least}"));
                    }
                    Some(_) => {}
                    None if deployment.joining.is_some() => nodes += 1,
                    None => {
                        return Err(format!(
                            "--fault '{fault}': no node can join {spec} while it serves; {}",
                            changes::JOINABLE
                        ));
                    }
                }
            }
        }
        faults.clocks = clock::library(&faults.asked)?;
        Ok(faults)
    }

    /// Returns what moves the clocks of nodes, where one is to be moved.
    pub(crate) fn clocks(&self) -> Option<ClockLibrary> {
        self.clocks.clone()
    }

    /// Returns whether any fault was asked for.
    pub fn is_any(&self) -> bool {
        !self.asked().is_empty()
    }

    /// Returns the faults as they were asked for.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.iter().map(ToString::to_string).collect()
    }

    /// Returns the seconds an operation may take meanwhile, where there are any faults.
    pub(crate) fn timeout_s(&self) -> Option<f64> {
        (!self.asked.is_empty()).then_some(self.timeout.as_secs_f64())
    }

    /// Returns the faults for a store with this number of nodes, by time.
    fn of_nodes(&self, nodes: usize) -> Result<Vec<PlannedFault>, String> {
        let planned = self
            .asked
            .iter()
            .map(|asked| asked.planned(nodes, self.length).map_err(|problem| format!("--fault '{asked}': {problem}")));
        let mut planned = planned.collect::<Result<Vec<_>, String>>()?.concat();
        planned.sort_by_key(|fault| fault.at);
        Ok(planned)
    }

    /// Returns what a worker does when connections are lost.
    pub(crate) fn outages(&self, cell: &PlannedCell) -> Outages {
        let is_changed = matches!(changes::of_cell(cell), Ok(Some(_)));
        match self.asked.is_empty() && !is_changed {
            true => Outages::GiveUp,
            false => Outages::Endure { timeout: self.timeout },
        }
    }
}

/// The faults of one trial while it runs.
pub(crate) struct Faulting {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    begun: Option<Instant>,
    over: bool,
    happened: Vec<Happened>,
    /// That which the job asked for.
    change: Option<Change>,
}

/// The fault that a job asks for.
struct Change {
    /// Its place among all.
    fault: usize,
    phase: &'static str,
    has_phase_begun: bool,
    is_over: bool,
}

struct Happened {
    fault: PlannedFault,
    node: String,
    at: Option<Instant>,
    until: Option<Instant>,
    caught_up: Option<Instant>,
    taken_over: Option<(String, Instant)>,
    problem: Option<String>,
}

impl Happened {
    /// Whether a phase and not a time says when.
    fn is_of_job(&self) -> bool {
        self.fault.text.starts_with(CHANGE)
    }
}

#[derive(Clone, Copy)]
enum Step {
    Do(usize),
    End(usize),
}

impl Faulting {
    pub(crate) fn new(faults: &Faults, cell: &PlannedCell, nodes: Option<&Nodes>) -> Faulting {
        let mut names = nodes.map(Nodes::names).unwrap_or_default();
        let mut happened = Vec::new();
        // Whatever cannot be was refused with the plan.
        let mut planned = if names.is_empty() { Vec::new() } else { faults.of_nodes(names.len()).unwrap_or_default() };
        let change = changes::of_cell(cell).ok().flatten().filter(|_| !names.is_empty());
        planned.extend(change.map(|change| PlannedFault::of_job(change.act)));
        for fault in planned {
            let number = fault.act.node().unwrap_or_else(|| {
                names.push(Nodes::next_name(names.len()));
                names.len()
            });
            let Some(node) = names.get(number - 1).cloned() else { continue };
            happened.push(Happened {
                fault,
                node,
                at: None,
                until: None,
                caught_up: None,
                taken_over: None,
                problem: None,
            });
        }
        let change = change.zip(happened.len().checked_sub(1)).map(|(change, fault)| Change {
            fault,
            phase: change.phase,
            has_phase_begun: false,
            is_over: false,
        });
        Faulting { state: Mutex::new(State { happened, change, ..State::default() }), changed: Condvar::new() }
    }

    /// Notes that a phase of this name begins.
    pub(crate) fn phase_begins(&self, name: &str) {
        if let Some(change) = &mut self.state().change
            && change.phase == name
        {
            change.has_phase_begun = true;
        }
        self.changed.notify_all();
    }

    /// Returns whether what the job asked for is done, and the store has taken its turn.
    pub(crate) fn is_changed(&self) -> bool {
        self.state().change.as_ref().is_some_and(|change| change.is_over)
    }

    /// Notes that a timed phase began at this time. The first one counts; its progress gives the time more exactly than its announcement.
    pub(crate) fn begin(&self, at: Instant) {
        self.state().begun = Some(at);
        self.changed.notify_all();
    }

    /// Notes that the worker is gone: nothing more is done.
    pub(crate) fn end(&self) {
        self.state().over = true;
        self.changed.notify_all();
    }

    /// Returns whether there are any.
    pub(crate) fn any_planned(&self) -> bool {
        !self.state().happened.is_empty()
    }

    /// Returns whether any was begun.
    pub(crate) fn any_happened(&self) -> bool {
        self.state().happened.iter().any(|it| it.at.is_some())
    }

    /// Does what is due when it is due, until the trial is over.
    pub(crate) fn carry_out(&self, nodes: &Nodes) {
        std::thread::scope(|scope| self.steps(nodes, scope));
    }

    fn steps<'scope>(&'scope self, nodes: &'scope Nodes, scope: &'scope std::thread::Scope<'scope, '_>) {
        let mut steps: Vec<(Duration, Step)> = Vec::new();
        let change = self.state().change.as_ref().map(|change| change.fault);
        if let Some(fault) = change {
            scope.spawn(move || self.change(fault, nodes));
        }
        for (at, it) in self.state().happened.iter().enumerate().filter(|(at, _)| Some(*at) != change) {
            steps.push((it.fault.at, Step::Do(at)));
            steps.extend(it.fault.over_at().map(|over| (over, Step::End(at))));
        }
        steps.sort_by_key(|(at, _)| *at);
        for (due, step) in steps {
            let at = match step {
                Step::Do(at) | Step::End(at) => at,
            };
            if !self.wait(due.saturating_sub(LEADERS_BEFORE)) {
                return;
            }
            let led = match step {
                Step::Do(_) => self.led(at, nodes),
                Step::End(_) => None,
            };
            if !self.wait(due) {
                return;
            }
            if self.moves_clock(at) {
                scope.spawn(move || self.move_clock(step, at, led, nodes));
                continue;
            }
            match (self.carry_out_step(step, nodes), led) {
                (Some(NodeAct::Restart(_)), _) => _ = scope.spawn(move || self.watch_catching_up(at, nodes)),
                (Some(_), Some(led)) => _ = scope.spawn(move || self.watch_takeover(at, led, nodes, Duration::MAX)),
                _ => {}
            }
        }
    }

    /// Does what the job asked for when its phase begins. It is over when it is done and, where the node led, another leads.
    fn change(&self, fault: usize, nodes: &Nodes) {
        let begins = |state: &State| state.change.as_ref().is_some_and(|change| change.has_phase_begun);
        let mut state = self.state();
        while !state.over && !begins(&state) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let is_late = state.over;
        drop(state);
        if is_late {
            return;
        }
        let led = self.led(fault, nodes);
        if let (Some(_), Some(led)) = (self.carry_out_step(Step::Do(fault), nodes), led) {
            self.watch_takeover(fault, led, nodes, TAKEOVER);
        }
        if let Some(change) = &mut self.state().change {
            change.is_over = true;
        }
    }

    /// Carries out a step; what was done, if it was.
    fn carry_out_step(&self, step: Step, nodes: &Nodes) -> Option<NodeAct<usize>> {
        let (Step::Do(at) | Step::End(at)) = step;
        let (act, name) = {
            let mut state = self.state();
            let it = &mut state.happened[at];
            if matches!(step, Step::Do(_)) {
                it.at = Some(Instant::now());
            }
            (it.fault.act, it.node.clone())
        };
        let (done, ends): (Result<(), StoreError>, bool) = match (step, act) {
            (Step::End(_), NodeAct::Strike(_, stroke)) => (end_stroke(nodes, &name, stroke), true),
            (_, NodeAct::Strike(_, stroke)) => (strike(nodes, &name, stroke), false),
            (_, NodeAct::Restart(_)) => (nodes.restart(&name), true),
            (_, NodeAct::Add) => (nodes.join().map(drop), true),
            (_, NodeAct::Remove(_)) => (Err(StoreError::Session("no node can leave it while it serves".into())), true),
        };
        let mut state = self.state();
        let it = &mut state.happened[at];
        match done {
            Ok(()) => {
                let now = Instant::now();
                if ends {
                    it.until = Some(now);
                } else if it.fault.moves_clock() {
                    // When the node said so.
                    it.at = Some(now);
                }
                Some(act)
            }
            Err(error) => {
                it.problem = it.problem.take().or(Some(error.to_string()));
                None
            }
        }
    }

    /// Waits until so long after the begin; false when the trial is over.
    fn wait(&self, due: Duration) -> bool {
        let mut state = self.state();
        loop {
            if state.over {
                return false;
            }
            let left = state.begun.map(|begun| (begun + due).saturating_duration_since(Instant::now()));
            state = match left {
                Some(Duration::ZERO) => return true,
                Some(left) => self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
