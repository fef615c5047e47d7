//! A network of kvtrial's own, in which every node of a private store has an address, and can be cut off from the others.
//!
//! kvtrial leaves the machine's network for an empty one ([`enter`]) before it does anything else: nothing outside is touched, and all of this is gone
//! with the last process that is in it. Each node then has a network namespace of its own, joined to the others by a bridge. Two nodes are cut off from
//! each other by sending what they send each other to an address of Ethernet that nobody has: it vanishes silently, on every port, also on
//! connections that are open. kvtrial and its clients speak to all nodes over the bridge meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use store::{Place, programs};

/// The address of Ethernet that nobody has.
const NOBODY: &str = "02:00:00:00:00:99";

/// The program that sets up links and addresses, once kvtrial is in a network of its own.
static IP: OnceLock<PathBuf> = OnceLock::new();

/// The numbers of the networks there are.
static TAKEN: Mutex<BTreeSet<u8>> = Mutex::new(BTreeSet::new());

/// Leaves the machine's network for an empty one. To be called while the process has one thread.
///
/// # Errors
/// What is missing, and the remedy.
pub fn enter() -> Result<(), String> {
    let ip = programs::find(&["ip"], &[]);
    let ip = ip.ok_or("nodes are cut off by the program ip, which was not found: apt-get install iproute2")?;
    leave().map_err(|error| {
        let error = crate::lease::system_words(&error);
        format!(
            "this needs a network of kvtrial's own, which the system refuses ({error}): run it as root; in a container, with the capabilities \
             NET_ADMIN and SYS_ADMIN"
        )
    })?;
    carry_out(&ip, None, "link set lo up\n")?;
    // What the kernel cannot do is said before anything starts.
    Network::new(&ip)?.namespace(1)?;
    let _ = IP.set(ip);
    Ok(())
}

/// Returns whether kvtrial is in a network of its own.
pub fn is_entered() -> bool {
    IP.get().is_some()
}

/// Moves to a new network: as root, else as the root of a new user namespace.
fn leave() -> io::Result<()> {
    match unshare(libc::CLONE_NEWNET) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {}
        left => return left,
    }
    // SAFETY: both touch no memory and cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

fn unshare(what: libc::c_int) -> io::Result<()> {
    // SAFETY: unshare touches no memory.
    if unsafe { libc::unshare(what) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The network namespace of a node. It lives as long as this or a process in it.
#[derive(Clone)]
pub(crate) struct Namespace(Arc<OwnedFd>);

impl Namespace {
    fn new() -> io::Result<Namespace> {
        // A thread of its own leaves, so that nothing has to come back.
        let made = thread::Builder::new().spawn(|| {
            unshare(libc::CLONE_NEWNET)?;
            File::open("/proc/thread-self/ns/net")
        })?;
        let file = made.join().map_err(|_| io::Error::other("the thread that makes namespaces is gone"))??;
        Ok(Namespace(Arc::new(file.into())))
    }

    /// Lets a command run in it.
    pub(crate) fn hold(&self, command: &mut Command) {
        let namespace = Namespace(self.0.clone());
        // SAFETY: the closure runs between fork and exec; it makes one system call and allocates nothing.
        unsafe {
            command.pre_exec(move || match libc::setns(namespace.0.as_raw_fd(), libc::CLONE_NEWNET) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            })
        };
    }

    /// Returns the path by which other processes find it.
    fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }
}

/// The network of one deployment. Dropping it removes its links.
pub(crate) struct Network {
    ip: PathBuf,
    number: u8,
    nodes: Mutex<Nodes>,
}

#[derive(Default)]
struct Nodes {
    namespaces: BTreeMap<u8, Namespace>,
    /// Those that are cut off from all others.
    cut: BTreeSet<u8>,
}

impl Network {
    /// Makes the network of a deployment, where kvtrial is in one of its own.
    pub(crate) fn of_deployment() -> Result<Option<Network>, String> {
        IP.get().map(|ip| Network::new(ip)).transpose()
    }

    fn new(ip: &Path) -> Result<Network, String> {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let number = (1..=u8::MAX).find(|number| !taken.contains(number)).ok_or("there are too many networks")?;
        taken.insert(number);
        drop(taken);
        let network = Network { ip: ip.to_owned(), number, nodes: Mutex::default() };
        let (hub, address) = (network.hub(), network.address());
        network.carry_out(
            None,
            &format!("link add {hub} type bridge\naddr add {address}/24 dev {hub}\nlink set {hub} up\n"),
        )?;
        Ok(network)
    }

    /// Returns the address of kvtrial itself.
    pub(crate) fn address(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, self.number, 254)
    }

    fn hub(&self) -> String {
        format!("hub{}", self.number)
    }

    fn link(&self, node: u8) -> String {
        format!("hub{}-{node}", self.number)
    }

    /// Returns the number of the node that has this address.
    pub(crate) fn node_at(&self, host: &str) -> Option<u8> {
        let address: Ipv4Addr = host.parse().ok()?;
        Place::number_at(self.address(), address)
    }

    /// Returns the namespace of a node, which is made when it is first asked for.
    pub(crate) fn namespace(&self, node: u8) -> Result<Namespace, String> {
        let mut nodes = self.nodes();
        if let Some(namespace) = nodes.namespaces.get(&node) {
            return Ok(namespace.clone());
        }
        let namespace = Namespace::new().map_err(|error| format!("no network namespace: {error}"))?;
        let (hub, link, path) = (self.hub(), self.link(node), namespace.path());
        self.carry_out(
            None,
            &format!("link add {link} type veth peer name eth0 netns {path}\nlink set {link} master {hub} up\n"),
        )?;
        let address = Place::address_of(self.address(), node);
        let own = format!("link set lo up\naddr add {address}/24 dev eth0\nlink set eth0 up\n");
        self.carry_out(Some(&namespace), &own)?;
        nodes.namespaces.insert(node, namespace.clone());
        let cut: Vec<u8> = nodes.cut.iter().copied().collect();
        cut.into_iter().try_for_each(|cut| self.part(&nodes, cut, &[node]))?;
        Ok(namespace)
    }

    /// Lets a node and all others hear nothing of each other.
    pub(crate) fn cut(&self, node: u8) -> Result<(), String> {
        let mut nodes = self.nodes();
        nodes.cut.insert(node);
        let others: Vec<u8> = nodes.namespaces.keys().copied().filter(|other| *other != node).collect();
        self.part(&nodes, node, &others)
    }

    /// Lets a node and those of the others that are not cut off themselves hear of each other again.
    pub(crate) fn heal(&self, node: u8) -> Result<(), String> {
        let mut nodes = self.nodes();
        nodes.cut.remove(&node);
        let others = nodes.namespaces.keys().copied().filter(|other| *other != node && !nodes.cut.contains(other));
        let others: Vec<u8> = others.collect();
        self.turn(&nodes, node, &others, |address| format!("neigh del {address} dev eth0\n"))
    }

    /// Returns the nodes that are cut off.
    pub(crate) fn cut_off(&self) -> Vec<u8> {
        self.nodes().cut.iter().copied().collect()
    }

    fn part(&self, nodes: &Nodes, node: u8, others: &[u8]) -> Result<(), String> {
        let nowhere = |address| format!("neigh replace {address} lladdr {NOBODY} nud permanent dev eth0\n");
        self.turn(nodes, node, others, nowhere)
    }

    /// Changes what a node knows of others, and what each of them knows of it.
    fn turn(&self, nodes: &Nodes, node: u8, others: &[u8], line: impl Fn(Ipv4Addr) -> String) -> Result<(), String> {
        let address = |node| Place::address_of(self.address(), node);
        let mut own = String::new();
        others.iter().for_each(|other| _ = own.write_str(&line(address(*other))));
        self.carry_out(nodes.namespaces.get(&node), &own)?;
        others.iter().try_for_each(|other| self.carry_out(nodes.namespaces.get(other), &line(address(node))))
    }

    fn carry_out(&self, inside: Option<&Namespace>, lines: &str) -> Result<(), String> {
        carry_out(&self.ip, inside, lines)
    }

    fn nodes(&self) -> MutexGuard<'_, Nodes> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let links = self.nodes().namespaces.keys().map(|node| self.link(*node)).chain([self.hub()]).collect::<Vec<_>>();
        links.iter().for_each(|link| _ = self.carry_out(None, &format!("link del {link}\n")));
        TAKEN.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

/// Lets `ip` carry out these lines, in a namespace or in that of kvtrial.
fn carry_out(ip: &Path, inside: Option<&Namespace>, lines: &str) -> Result<(), String> {
    let mut command = Command::new(ip);
    command.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    inside.into_iter().for_each(|namespace| namespace.hold(&mut command));
    let failed = |words: String| format!("{}: {words}", ip.display());
    let ended = command.spawn().and_then(|mut child| {
        child.stdin.take().map_or(Ok(()), |mut input| input.write_all(lines.as_bytes()))?;
        child.wait_with_output()
    });
    let ended = ended.map_err(|error| failed(error.to_string()))?;
    match ended.status.success() {
        true => Ok(()),
        false => Err(failed(String::from_utf8_lossy(&ended.stderr).trim().replace('\n', "; "))),
    }
}

#[cfg(test)]
mod tests {
    use super::{Namespace, Network, leave};
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::thread;
    use std::time::Duration;
    use store::{Place, programs};

    /// Does something in a namespace, on a thread of its own.
    fn inside<T: Send + 'static>(namespace: &Namespace, act: impl FnOnce() -> T + Send + 'static) -> T {
        let namespace = namespace.clone();
        let acting = thread::spawn(move || {
            // SAFETY: setns touches no memory.
            assert_eq!(unsafe { libc::setns(namespace.0.as_raw_fd(), libc::CLONE_NEWNET) }, 0);
            act()
        });
        acting.join().unwrap()
    }

    /// Answers every byte with itself.
    fn echo(namespace: &Namespace, at: SocketAddr) {
        let listener = inside(namespace, move || TcpListener::bind(at).unwrap());
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                thread::spawn(move || {
                    let mut byte = [0];
                    while stream.read_exact(&mut byte).and_then(|()| stream.write_all(&byte)).is_ok() {}
                });
            }
        });
    }

    fn connect(namespace: &Namespace, to: SocketAddr) -> std::io::Result<TcpStream> {
        inside(namespace, move || TcpStream::connect_timeout(&to, Duration::from_millis(300)))
    }

    /// Whether a byte that was sent comes back within a time.
    fn answers(mut stream: &TcpStream, within: Duration) -> bool {
        stream.set_read_timeout(Some(within)).unwrap();
        stream.write_all(&[7]).unwrap();
        stream.read_exact(&mut [0]).is_ok()
    }

    #[test]
    fn two_nodes_that_are_cut_off_from_each_other_hear_nothing_on_any_connection_and_everything_later() {
        let ip = programs::find(&["ip"], &[]);
        // Of the process only this thread leaves.
        let (Some(ip), Ok(())) = (ip, leave()) else {
            return eprintln!("not tried: only root, with ip, can have a network of its own here");
        };
        let network = Network::new(&ip).unwrap();
        let nodes = [1, 2, 3].map(|number| network.namespace(number).unwrap());
        let at = |number| SocketAddr::from((Place::address_of(network.address(), number), 5000));
        nodes.iter().zip(1..).for_each(|(node, number)| echo(node, at(number)));
        let (soon, later) = (Duration::from_millis(300), Duration::from_secs(5));
        let [to, from] = [connect(&nodes[0], at(2)).unwrap(), connect(&nodes[1], at(1)).unwrap()];
        let kvtrials = TcpStream::connect(at(2)).unwrap();
        assert!(answers(&to, soon) && answers(&from, soon) && answers(&kvtrials, soon));

        network.cut(2).unwrap();
        assert!(!answers(&to, soon) && !answers(&from, soon));
        assert!(connect(&nodes[1], at(3)).is_err() && connect(&nodes[2], at(2)).is_err());
        assert!(answers(&kvtrials, soon) && TcpStream::connect(at(1)).is_ok());
        assert!(answers(&connect(&nodes[0], at(3)).unwrap(), soon));
        // One that comes while another is cut off does not hear of it either.
        assert!(connect(&network.namespace(4).unwrap(), at(2)).is_err());
        network.cut(3).unwrap();
        network.heal(2).unwrap();
        assert!(connect(&nodes[1], at(3)).is_err(), "node 3 is still cut off");
        assert!(answers(&to, later) && answers(&from, later) && connect(&nodes[1], at(1)).is_ok());
        network.heal(3).unwrap();
        assert!(connect(&nodes[1], at(3)).is_ok());

        drop((network, nodes));
        let links = std::process::Command::new(ip).args(["-br", "link"]).output().unwrap().stdout;
        assert!(!String::from_utf8_lossy(&links).contains("hub"), "{}", String::from_utf8_lossy(&links));
    }
}
