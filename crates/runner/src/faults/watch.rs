//! What nodes say of themselves after a fault: who leads in the place of one that was struck, and whether one that was started again has
//! caught up; and how old something was when a node was struck.

use super::Faulting;
use host::Nodes;
use std::time::{Duration, Instant};

/// How often they are asked.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The time before a fault at which kvtrial asks who leads.
pub(super) const LEADERS_BEFORE: Duration = Duration::from_millis(100);

impl Faulting {
    /// Returns who leads, if the node that is about to be struck is one of the leaders.
    pub(super) fn led(&self, fault: usize, nodes: &Nodes) -> Option<Vec<String>> {
        let (strikes, node) = {
            let it = &self.state().happened[fault];
            (it.fault.act.strikes(), it.node.clone())
        };
        let leaders = if strikes { nodes.leaders()?.ok()? } else { return None };
        leaders.contains(&node).then_some(leaders)
    }

    /// Looks who leads that did not before, until the trial is over, the node that was struck leads again, or for so long.
    pub(super) fn watch_takeover(&self, fault: usize, led: Vec<String>, nodes: &Nodes, patience: Duration) {
        let node = self.state().happened[fault].node.clone();
        self.look(patience, || {
            let leaders = nodes.leaders()?.ok().unwrap_or_default();
            if leaders.contains(&node) {
                // One that is cut off takes itself for a leader until it hears of another; one whose clock is wrong goes on.
                return self.goes_on(fault).then_some(false);
            }
            let Some(by) = leaders.into_iter().find(|leader| !led.contains(leader)) else { return Some(false) };
            self.state().happened[fault].taken_over = Some((by, Instant::now()));
            Some(true)
        });
    }

    /// Returns whether it is a fault that leaves the node at work, and is not over.
    fn goes_on(&self, fault: usize) -> bool {
        let it = &self.state().happened[fault];
        (it.fault.cuts() || it.fault.moves_clock()) && it.until.is_none()
    }

    /// Looks when a node that was started again has what it missed, until the trial is over.
    pub(super) fn watch_catching_up(&self, fault: usize, nodes: &Nodes) {
        self.look(Duration::MAX, || {
            let has_caught_up = nodes.caught_up()?.is_ok();
            if has_caught_up {
                self.state().happened[fault].caught_up = Some(Instant::now());
            }
            Some(has_caught_up)
        });
    }

    /// Returns how old something was that was acknowledged so long ago, when the next node was killed, stopped, frozen, cut off or told another time; 0 where that was
    /// after the last of them.
    pub(crate) fn age_s(&self, ago: Duration) -> Option<f64> {
        let acknowledged = Instant::now().checked_sub(ago)?;
        let state = self.state();
        let struck = state.happened.iter().filter(|it| it.fault.act.strikes()).filter_map(|it| it.at);
        let next = struck.filter(|at| *at >= acknowledged).min();
        Some(next.map_or(0.0, |at| at.duration_since(acknowledged).as_secs_f64()))
    }

    /// Asks again and again until it is so, until there is nothing to ask (`None`), until the trial is over, or for so long.
    fn look(&self, patience: Duration, is_so: impl Fn() -> Option<bool>) {
        let begun = Instant::now();
        while !self.state().over && begun.elapsed() < patience && is_so() == Some(false) {
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}
