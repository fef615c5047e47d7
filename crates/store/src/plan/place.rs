//! The place of a private deployment: the directory, ports and programs its plan may use.

use crate::StoreError;
use std::cell::Cell;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use study::Secret;

/// The directory, ports and programs that the host offers a private deployment, or one node of it.
#[derive(Clone)]
pub struct Place {
    /// The empty private directory, which no other user can read; it is removed afterwards.
    pub directory: PathBuf,
    /// Whether kvtrial runs as root (some servers refuse to, some want an option).
    pub root: bool,
    /// The password made for this deployment and no other. A server that can ask for a password gets it in a file of the plan, never in its
    /// arguments, which every user of the machine can read; the plan's endpoint then carries it.
    pub secret: Secret,
    ports: Rc<dyn Fn() -> io::Result<u16>>,
}

impl Place {
    /// Makes a place that takes its ports from this function; no port is given twice.
    pub fn new(
        directory: impl Into<PathBuf>,
        root: bool,
        secret: Secret,
        ports: impl Fn() -> io::Result<u16> + 'static,
    ) -> Place {
        Place { directory: directory.into(), root, secret, ports: Rc::new(ports) }
    }

    /// Returns a place that is never used: for a plan that is only examined, to see whether a spec is possible.
    pub fn on_paper(root: bool) -> Place {
        let last = Cell::new(0);
        let next = move || {
            last.set(last.get() + 1);
            Ok(last.get())
        };
        Place::new("/nowhere", root, Secret::new("on paper"), next)
    }

    /// Returns a loopback port that was free a moment ago (the host tries again with other ports when one was taken meanwhile).
    ///
    /// # Errors
    /// No port is free.
    pub fn port(&mut self) -> Result<u16, StoreError> {
        (self.ports)().map_err(|error| StoreError::open("a free port", error))
    }

    /// Returns the place of the node of this name: its directory is its own, below this one; its ports come from the same source.
    pub fn node(&mut self, name: &str) -> Place {
        Place { directory: self.directory.join(name), ..self.clone() }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("directory", &self.directory).field("root", &self.root).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Place;

    #[test]
    fn a_node_has_a_directory_of_its_own_and_no_port_of_another_s() {
        let mut place = Place::on_paper(false);
        let (mut first, mut second) = (place.node("node1"), place.node("node2"));
        assert!(first.directory != second.directory && first.directory.starts_with(&place.directory));
        let ports = [place.port(), first.port(), second.port(), first.port()].map(Result::unwrap);
        assert_eq!(ports, [1, 2, 3, 4]);
    }
}
