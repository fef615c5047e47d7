//! Asks the nodes who serves which slots, on threads of their own: one that does not answer keeps nobody waiting.

use super::super::slots::SlotTable;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use store::Endpoint;

/// The shortest time between two questions to a node.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// The time an answer may take.
const PATIENCE: Duration = Duration::from_secs(1);

const STACK_BYTES: usize = 256 << 10;

/// The answer of a node; `None`: the node cannot be reached, or takes the cluster for broken.
pub(super) struct Said {
    pub from: Endpoint,
    pub table: Option<SlotTable>,
}

/// The questions under way.
pub(super) struct Census {
    sender: Sender<Said>,
    answers: Receiver<Said>,
    /// The nodes that were asked and have not answered.
    asked: Vec<Endpoint>,
    asked_at: Option<Instant>,
}

impl Census {
    pub fn new() -> Census {
        let (sender, answers) = channel();
        Census { sender, answers, asked: Vec::new(), asked_at: None }
    }

    /// Asks each of these nodes that has no question open, if the last question is long enough ago.
    pub fn ask<'a>(&mut self, nodes: impl Iterator<Item = &'a Endpoint>) {
        let now = Instant::now();
        if self.asked_at.is_some_and(|asked| now < asked + ASK_EVERY) {
            return;
        }
        self.asked_at = Some(now);
        for node in nodes {
            if self.asked.contains(node) {
                continue;
            }
            let (from, sender) = (node.clone(), self.sender.clone());
            let ask = move || {
                let table = super::super::census::table_of(&from, now + PATIENCE).ok();
                let _ = sender.send(Said { from, table }); // nobody may listen any more
            };
            let thread = std::thread::Builder::new().name("asks who serves".into()).stack_size(STACK_BYTES);
            if thread.spawn(ask).is_ok() {
                self.asked.push(node.clone());
            }
        }
    }

    /// Returns whether nodes were asked that have not answered.
    pub fn is_open(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Returns an answer that has come.
    pub fn next(&mut self) -> Option<Said> {
        let said = self.answers.try_recv().ok()?;
        self.asked.retain(|asked| *asked != said.from);
        Some(said)
    }
}
