//! The limits of what kvtrial believes of a server: between the socket and the driver, which would hold as much as the server announces.
//!
//! A reply ends with the message that says that the server is ready for the next. The messages before it, by the sizes they announce,
//! may together be no larger than what the job can get; see [`believed`](store::believed).

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use store::believed::{too_large, wire_bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The size of a message's tag and length.
const HEADER_BYTES: usize = 5;

/// The tag of the message at the end of every reply.
const READY: u8 = b'Z';

/// The most bytes believed until `believe` sets another limit: answers to single questions.
const ANSWER_BYTES: usize = 256 << 20;

/// The limit of a connection's replies, known on both sides of the driver.
#[derive(Clone)]
pub(super) struct Believed(Arc<Limit>);

struct Limit {
    most_bytes: AtomicUsize,
    /// The bytes of the reply that was too large.
    announced: AtomicUsize,
    is_passed: AtomicBool,
}

impl Believed {
    fn new() -> Believed {
        let (most_bytes, announced) = (AtomicUsize::new(ANSWER_BYTES), AtomicUsize::new(0));
        Believed(Arc::new(Limit { most_bytes, announced, is_passed: AtomicBool::new(false) }))
    }

    /// Sets the limit: replies carry at most `largest_reply_bytes` bytes of keys and values.
    pub(super) fn believe(&self, largest_reply_bytes: u64) {
        self.0.most_bytes.store(wire_bytes(largest_reply_bytes), Ordering::Relaxed);
    }

    /// Returns the words for the reply because of which the connection was given up, if there was one.
    pub(super) fn broken_by(&self) -> Option<String> {
        let limit = &*self.0;
        let passed = limit.is_passed.load(Ordering::Acquire);
        passed.then(|| too_large(limit.announced.load(Ordering::Relaxed), limit.most_bytes.load(Ordering::Relaxed)))
    }

    #[cold]
    fn pass(&self, announced: usize) -> io::Error {
        self.0.announced.store(announced, Ordering::Relaxed);
        self.0.is_passed.store(true, Ordering::Release);
        io::Error::other(self.broken_by().unwrap_or_default())
    }
}

/// The place where one message ends and the next begins.
#[derive(Default)]
struct Messages {
    header: [u8; HEADER_BYTES],
    /// The bytes of the header that are there.
    headed: usize,
    /// The bytes of the message that are still to come.
    left: usize,
    /// The bytes of the reply so far, with all of the present message.
    reply_bytes: usize,
}

impl Messages {
    /// Follows some bytes. The error is the size of a reply beyond `most_bytes`.
    fn follow(&mut self, mut bytes: &[u8], most_bytes: usize) -> Result<(), usize> {
        loop {
            let body = self.left.min(bytes.len());
            self.left -= body;
            bytes = &bytes[body..];
            if bytes.is_empty() {
                return Ok(());
            }
            let part = (HEADER_BYTES - self.headed).min(bytes.len());
            self.header[self.headed..self.headed + part].copy_from_slice(&bytes[..part]);
            self.headed += part;
            bytes = &bytes[part..];
            if self.headed < HEADER_BYTES {
                return Ok(());
            }
            self.headed = 0;
            let [tag, length @ ..] = self.header;
            // The length counts itself; the driver refuses those that do not.
            self.left = (u32::from_be_bytes(length) as usize).saturating_sub(length.len());
            self.reply_bytes += HEADER_BYTES + self.left;
            if self.reply_bytes > most_bytes {
                return Err(self.reply_bytes);
            }
            if tag == READY {
                self.reply_bytes = 0;
            }
        }
    }
}

/// A socket that fails when the server sends more than is believed.
pub(super) struct Bounded<S> {
    socket: S,
    believed: Believed,
    messages: Messages,
}

impl<S> Bounded<S> {
    /// Wraps a socket; returns it with the handle on its limit.
    pub(super) fn new(socket: S) -> (Bounded<S>, Believed) {
        let believed = Believed::new();
        (Bounded { socket, believed: believed.clone(), messages: Messages::default() }, believed)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Bounded<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Bounded { socket, believed, messages } = self.get_mut();
        let before = into.filled().len();
        let read = Pin::new(socket).poll_read(cx, into);
        let most_bytes = believed.0.most_bytes.load(Ordering::Relaxed);
        match messages.follow(&into.filled()[before..], most_bytes) {
            Ok(()) => read,
            Err(announced) => Poll::Ready(Err(believed.pass(announced))),
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Bounded<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::Messages;

    /// A message of `bytes` bytes in all.
    fn message(tag: u8, bytes: u32) -> Vec<u8> {
        let mut message = vec![tag];
        message.extend_from_slice(&(bytes - 1).to_be_bytes());
        message.resize(bytes as usize, 0);
        message
    }

    #[test]
    fn a_reply_is_counted_from_one_end_to_the_next_however_it_is_split() {
        let replies = [message(b'2', 5), message(b'D', 60), message(b'C', 20), message(b'Z', 6)].concat().repeat(5);
        for size in 1..100 {
            let mut messages = Messages::default();
            assert!(replies.chunks(size).all(|piece| messages.follow(piece, 91) == Ok(())), "pieces of {size}");
            let mut messages = Messages::default();
            let refused = replies.chunks(size).find_map(|piece| messages.follow(piece, 90).err());
            assert_eq!(refused, Some(91), "pieces of {size}");
        }
    }

    #[test]
    fn a_message_is_refused_by_what_it_announces_and_many_by_their_sum() {
        assert_eq!(Messages::default().follow(b"D\xff\xff\xff\xff", 1000), Err(5 + 0xFFFF_FFFB));
        let mut messages = Messages::default();
        let row = message(b'D', 12);
        assert_eq!((0..100).position(|_| messages.follow(&row, 1000).is_err()), Some(83));
        // A length that does not even count itself is for the driver to refuse.
        assert_eq!(Messages::default().follow(b"D\0\0\0\0", 1000), Ok(()));
    }
}
