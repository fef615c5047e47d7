//! Queues between parsers and summarizers. Adding one is a file in this folder and its name in `queues!`.
//!
//! A queue is asked without waiting: it takes as much as it has room for, and gives as much as it has. Waiting is the same for all of them
//! (`waiting`), so that what is compared is the queue. Each has a bound: one without would hide that the summarizers fall
//! behind, until memory is gone.

use super::portion::Portion;

#[cfg(test)]
mod tests;

/// Declares the queues' modules and lists them.
macro_rules! queues {
    ($($module:ident),* $(,)?) => {
        $(mod $module;)*

        /// Every queue, in the order in which they are shown.
        pub const ALL: &[QueueKind] = &[$($module::QUEUE),*];
    };
}

queues! { mutex_array, mutex_list, channel, array_queue, ring, disruptor }

/// A kind of queue.
#[derive(Clone, Copy)]
pub struct QueueKind {
    /// The name, as in `--set queue=NAME`.
    pub name: &'static str,
    /// The sizes the queue can have.
    pub sizes: QueueSizes,
    /// The ends of a queue of this many portions in all, for that many parsers and one summarizer.
    pub open: fn(size: usize, parsers: usize) -> QueueEnds,
}

/// The sizes that a queue can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueSizes {
    /// Any.
    Any,
    /// Powers of two.
    PowersOfTwo,
}

/// The ends of a queue: one for each parser, and the summarizer's.
pub type QueueEnds = (Vec<Box<dyn Inlet>>, Box<dyn Outlet>);

/// A parser's end of a queue.
pub trait Inlet: Send {
    /// Puts in as many of the first portions as there is room for, in their order, and says how many.
    fn push(&mut self, portions: &[Portion]) -> usize;
}

/// A summarizer's end of a queue.
pub trait Outlet: Send {
    /// Takes out what is there, at most this many.
    fn pop(&mut self, into: &mut Vec<Portion>, most: usize);
}

/// Returns the queue of that name.
pub fn find(name: &str) -> Option<&'static QueueKind> {
    ALL.iter().find(|kind| kind.name == name)
}
