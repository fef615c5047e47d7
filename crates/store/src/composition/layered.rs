//! Stores built on another store: everything that such a layer does not change goes to the store beneath, here and nowhere else.

use crate::{
    Belongings, Capabilities, Checkpoint, Compact, Facts, Holding, KeepSets, Maintenance, OperationKind, Reduce,
    Reduction, ReductionGroup, Session, SessionPlan, Store, StoreError, Sweep, Swept, Threading, Whereabouts, Witness,
    needed,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// A store around a store. The layer's changes are functions of this trait; every other function of [`Store`] is the function of the store beneath.
pub trait Layered: Send + Sync {
    /// Returns the store beneath.
    fn beneath(&self) -> &dyn Store;

    /// Returns the layer's capabilities, where they differ from those of the inner store.
    fn declared(&self) -> &Capabilities {
        self.beneath().capabilities()
    }

    /// Returns why the layer lacks an operation that the inner store has.
    fn lacked(&self, kind: OperationKind) -> Option<&str> {
        let _ = kind;
        None
    }

    /// Wraps a session of the inner store for the layer's clients.
    fn around(&self, session: Box<dyn Session>, plan: SessionPlan) -> Box<dyn Session> {
        let _ = plan;
        session
    }

    /// Adds the layer's facts to the facts of the store beneath.
    fn add_facts(&self, config: &mut BTreeMap<String, String>) {
        let _ = config;
    }

    /// Hands down everything that the layer still holds back: questions about all that is stored go to the store beneath.
    fn hand_down(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

// A method missing here would silently fall back to its default instead of reaching the inner store.
#[deny(clippy::missing_trait_methods)]
impl<L: Layered> Store for L {
    fn capabilities(&self) -> &Capabilities {
        self.declared()
    }

    fn lacks(&self, kind: OperationKind) -> Option<&str> {
        self.lacked(kind).or_else(|| self.beneath().lacks(kind))
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Ok(self.around(self.beneath().session(plan)?, plan))
    }

    fn believing_session(&self, plan: SessionPlan, largest_reply_bytes: u64) -> Result<Box<dyn Session>, StoreError> {
        Ok(self.around(self.beneath().believing_session(plan, largest_reply_bytes)?, plan))
    }

    fn threading(&self) -> Threading {
        self.beneath().threading()
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let mut facts = self.beneath().facts()?;
        self.add_facts(&mut facts.config);
        Ok(facts)
    }

    fn resent(&self) -> u64 {
        self.beneath().resent()
    }

    fn belongings(&self) -> Belongings<'_> {
        self.beneath().belongings()
    }

    fn sweep(&self, sweep: Sweep, keys: &[&[u8]]) -> Result<Option<Swept>, StoreError> {
        self.hand_down()?;
        self.beneath().sweep(sweep, keys)
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        self.hand_down()?;
        self.beneath().holding()
    }

    fn commands_done(&self) -> Result<Option<u64>, StoreError> {
        self.hand_down()?;
        self.beneath().commands_done()
    }

    fn whereabouts(&self) -> Whereabouts<'_> {
        self.beneath().whereabouts()
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.hand_down()?;
        self.beneath().flush()
    }

    fn witness(&self) -> Option<&dyn Witness> {
        self.beneath().witness()
    }

    fn maintenance(&self) -> Maintenance<'_> {
        let Maintenance { compaction, checkpoint } = self.beneath().maintenance();
        Maintenance {
            compaction: compaction.map(|_| self as &dyn Compact),
            checkpoint: checkpoint.map(|_| self as &dyn Checkpoint),
        }
    }

    fn reduces(&self) -> Option<&dyn Reduce> {
        self.beneath().reduces().map(|_| self as &dyn Reduce)
    }

    /// A layer that holds operations back declares no sets: nothing has to be handed down.
    fn sets(&self) -> Option<&dyn KeepSets> {
        self.beneath().sets().filter(|_| self.declared().sets.is_some())
    }
}

impl<L: Layered> Compact for L {
    fn compact(&self, patience: Duration) -> Result<(), StoreError> {
        self.hand_down()?;
        needed(self.beneath().maintenance().compaction, "compaction")?.compact(patience)
    }
}

impl<L: Layered> Checkpoint for L {
    fn checkpoint(&self, patience: Duration) -> Result<(), StoreError> {
        self.hand_down()?;
        needed(self.beneath().maintenance().checkpoint, "command for a checkpoint")?.checkpoint(patience)
    }
}

impl<L: Layered> Reduce for L {
    fn reduce(&self, reduction: &Reduction, patience: Duration) -> Result<Vec<ReductionGroup>, StoreError> {
        self.hand_down()?;
        needed(self.beneath().reduces(), "reduction")?.reduce(reduction, patience)
    }
}

/// Writes the functions of a [`Session`] that a session made of another one passes on to it, by their names:
/// `pass_on!(beneath: poll, abandon, ...)` for the field `beneath`. The implementation denies `clippy::missing_trait_methods`, so that a function is
/// either named or written out: what is missing would silently fall back to its default.
#[macro_export]
macro_rules! pass_on {
    ($beneath:ident: $($name:ident),+ $(,)?) => { $($crate::pass_on! { @$name $beneath })+ };
    (@believe $beneath:ident) => {
        fn believe(&mut self, largest_reply_bytes: u64) {
            self.$beneath.believe(largest_reply_bytes);
        }
    };
    (@poll $beneath:ident) => {
        fn poll(
            &mut self,
            cx: &mut ::std::task::Context<'_>,
            until: $crate::Until,
            sink: &mut dyn $crate::Sink,
        ) -> ::std::task::Poll<::std::result::Result<(), $crate::StoreError>> {
            self.$beneath.poll(cx, until, sink)
        }
    };
    (@abandon $beneath:ident) => {
        fn abandon(&mut self, slot: $crate::Slot, sink: &mut dyn $crate::Sink) -> $crate::Abandoned {
            self.$beneath.abandon(slot, sink)
        }
    };
    (@expect $beneath:ident) => {
        fn expect(&mut self, slot: $crate::Slot, kind: $crate::OperationKind, key: &[u8]) -> $crate::Heed {
            self.$beneath.expect(slot, kind, key)
        }
    };
    (@rest $beneath:ident) => {
        fn rest(&mut self, slot: $crate::Slot) {
            self.$beneath.rest(slot);
        }
    };
    (@parts $beneath:ident) => {
        fn parts(&self) -> ::std::vec::Vec<f64> {
            self.$beneath.parts()
        }
    };
    (@part $beneath:ident) => {
        fn part(&self, key: &[u8]) -> u16 {
            self.$beneath.part(key)
        }
    };
    (@reconnected $beneath:ident) => {
        fn reconnected(&self) -> u64 {
            self.$beneath.reconnected()
        }
    };
    (@take_head_of_line $beneath:ident) => {
        fn take_head_of_line(&mut self) -> ::std::option::Option<$crate::HeadOfLine> {
            self.$beneath.take_head_of_line()
        }
    };
    (@descriptor $beneath:ident) => {
        fn descriptor(
            &mut self,
        ) -> ::std::io::Result<::std::option::Option<::std::os::fd::BorrowedFd<'_>>> {
            self.$beneath.descriptor()
        }
    };
    (@executor $beneath:ident) => {
        fn executor(&self) -> $crate::Executor {
            self.$beneath.executor()
        }
    };
}
