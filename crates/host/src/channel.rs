//! Messages between kvtrial and a process it has started: whole ones, over a socket that keeps their boundaries.
//!
//! A message goes as packets, of which the first byte says whether more follow. If the sender dies in between, the process that speaks
//! next for it starts [a fresh message](Sender::send_fresh), and half a message is never taken for a whole one.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

/// The bytes of a message that a packet carries.
const PACKET_BYTES: usize = 32 << 10;

/// First byte of a packet: more of the message follows; this is its end; forget what came before, this is all of it.
const MORE: u8 = 0;
const LAST: u8 = 1;
const FRESH: u8 = 2;

/// The sending end of a channel.
#[derive(Clone)]
pub struct Sender(Arc<OwnedFd>);

/// The receiving end of a channel.
pub struct Receiver {
    socket: Arc<OwnedFd>,
    partial: Vec<u8>,
}

/// The result of waiting for a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    /// A message.
    Message(Vec<u8>),
    /// No message in the given time.
    Nothing,
    /// A closed channel: the other side is gone.
    Closed,
}

/// Returns two connected sockets: one for this process, one for another process as its standard input.
///
/// # Errors
/// The system's error.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut sockets: [RawFd; 2] = [-1; 2];
    // SAFETY: socketpair writes two descriptors into the array.
    let result =
        unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0, sockets.as_mut_ptr()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both descriptors were just made and belong to nobody else.
    Ok(unsafe { (OwnedFd::from_raw_fd(sockets[0]), OwnedFd::from_raw_fd(sockets[1])) })
}

/// Returns both ends of a socket.
pub fn ends(socket: OwnedFd) -> (Sender, Receiver) {
    let socket = Arc::new(socket);
    (Sender(Arc::clone(&socket)), Receiver { socket, partial: Vec::new() })
}

impl Sender {
    /// Sends a message; waits while the other side has no room for it.
    ///
    /// # Errors
    /// The other side is gone.
    pub fn send(&self, message: &[u8]) -> io::Result<()> {
        let mut packets = message.chunks(PACKET_BYTES).peekable();
        loop {
            let part = packets.next().unwrap_or_default();
            let last = packets.peek().is_none();
            self.packet(if last { LAST } else { MORE }, part)?;
            if last {
                return Ok(());
            }
        }
    }

    /// Sends a short message, before which the receiver forgets the sent part of an unfinished message.
    ///
    /// # Errors
    /// The other side is gone.
    pub fn send_fresh(&self, message: &[u8]) -> io::Result<()> {
        self.packet(FRESH, &message[..message.len().min(PACKET_BYTES)])
    }

    fn packet(&self, mark: u8, part: &[u8]) -> io::Result<()> {
        let mut packet = Vec::with_capacity(part.len() + 1);
        packet.push(mark);
        packet.extend_from_slice(part);
        loop {
            // SAFETY: the call only reads the packet.
            let sent =
                unsafe { libc::send(self.0.as_raw_fd(), packet.as_ptr().cast(), packet.len(), libc::MSG_NOSIGNAL) };
            match io::Error::last_os_error() {
                _ if sent >= 0 => return Ok(()),
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            }
        }
    }
}

impl Receiver {
    /// Returns the next message; waits for it up to `patience`, or with `None` until there is one.
    pub fn receive(&mut self, patience: Option<Duration>) -> Received {
        let mut packet = vec![0; PACKET_BYTES + 1];
        loop {
            let ms = patience.map_or(-1, |patience| patience.as_millis().min(60_000) as libc::c_int);
            let mut waited = libc::pollfd { fd: self.socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: poll writes into one pollfd.
            match unsafe { libc::poll(&mut waited, 1, ms) } {
                0 => return Received::Nothing,
                ready if ready < 0 => match io::Error::last_os_error().kind() {
                    io::ErrorKind::Interrupted => continue,
                    _ => return Received::Closed,
                },
                _ => {}
            }
            // SAFETY: the call writes at most the packet's length.
            let got = unsafe { libc::recv(self.socket.as_raw_fd(), packet.as_mut_ptr().cast(), packet.len(), 0) };
            if got < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {
                continue;
            }
            if got <= 0 {
                return Received::Closed;
            }
            if packet[0] == FRESH {
                self.partial.clear();
            }
            self.partial.extend_from_slice(&packet[1..got.unsigned_abs()]);
            if packet[0] != MORE {
                return Received::Message(std::mem::take(&mut self.partial));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PACKET_BYTES, Received, ends, pair};
    use std::time::Duration;

    #[test]
    fn messages_of_any_length_arrive_whole_and_in_order() {
        let (ours, theirs) = pair().unwrap();
        let (sender, _) = ends(ours);
        let (_, mut receiver) = ends(theirs);
        let lengths = [0, 1, PACKET_BYTES - 1, PACKET_BYTES, PACKET_BYTES + 1, 20 * PACKET_BYTES + 3];
        let message = |length: usize| (0..length).map(|at| (at % 251) as u8).collect::<Vec<u8>>();
        let sending =
            std::thread::spawn(move || lengths.iter().for_each(|&length| sender.send(&message(length)).unwrap()));
        for length in lengths {
            assert_eq!(receiver.receive(None), Received::Message(message(length)), "{length}");
        }
        sending.join().unwrap();
    }

    #[test]
    fn half_a_message_of_a_dead_sender_is_dropped_and_the_end_of_the_other_side_is_seen() {
        let (ours, theirs) = pair().unwrap();
        let (sender, _) = ends(ours);
        let (_, mut receiver) = ends(theirs);
        assert_eq!(receiver.receive(Some(Duration::from_millis(1))), Received::Nothing);
        sender.packet(super::MORE, b"half of it").unwrap();
        sender.send_fresh(b"it died").unwrap();
        assert_eq!(receiver.receive(None), Received::Message(b"it died".to_vec()));
        drop(sender);
        assert_eq!(receiver.receive(Some(Duration::from_secs(5))), Received::Closed);
    }
}
