//! An input that may be of any size, bounded by the memory that is free: a job must never keep more of it than memory holds, or the system
//! ends kvtrial, or a store beside it.
//!
//! A packed file does not say how large it is, and how much a job keeps of a byte only the job knows. So what is free is looked at while the
//! input is read: it may halve, no more. A job that keeps nothing can read an input of any size.

use std::io::{self, BufRead, Read};

/// Bytes between two looks at what is free.
const STEP: u64 = 16 << 20;

/// What is free now, where that can be asked.
type Free = fn() -> Option<u64>;

/// Looks at what is free while an input is read or made.
pub struct MemoryWatch {
    free: Free,
    /// What was free at the beginning.
    at_first: Option<u64>,
    passed: u64,
    next_look: u64,
}

impl MemoryWatch {
    /// Makes a watch on an input that begins now.
    #[expect(clippy::new_without_default, reason = "what is free is asked now")]
    pub fn new() -> MemoryWatch {
        MemoryWatch::by(limits::memory::free_bytes)
    }

    fn by(free: Free) -> MemoryWatch {
        MemoryWatch { free, at_first: free(), passed: 0, next_look: STEP }
    }

    /// Counts this many bytes more of the input as read or made, whether they are kept or not.
    ///
    /// # Errors
    /// What was free at the beginning has halved.
    #[inline]
    pub fn pass(&mut self, bytes: usize) -> io::Result<()> {
        self.passed += bytes as u64;
        if self.passed < self.next_look { Ok(()) } else { self.look() }
    }

    #[cold]
    fn look(&mut self) -> io::Result<()> {
        self.next_look = self.passed + STEP;
        match (self.at_first, (self.free)()) {
            (Some(at_first), Some(now)) if now < at_first / 2 => {
                let [passed, at_first, now] = [self.passed, at_first, now].map(|bytes| bytes >> 20);
                let problem = format!(
                    "too large to be kept in memory: after {passed} MiB of its text {now} of {at_first} MiB that were free are left"
                );
                Err(io::Error::new(io::ErrorKind::OutOfMemory, problem))
            }
            _ => Ok(()),
        }
    }
}

/// A reader that ends with an error where the memory that was free at its beginning has halved.
pub(crate) struct Bounded<R> {
    inner: R,
    watch: MemoryWatch,
    /// Bytes taken since the last look.
    taken: usize,
}

impl<R: BufRead> Bounded<R> {
    pub(crate) fn new(inner: R) -> Bounded<R> {
        Bounded { inner, watch: MemoryWatch::new(), taken: 0 }
    }
}

impl<R: BufRead> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let bytes = available.len().min(buffer.len());
        buffer[..bytes].copy_from_slice(&available[..bytes]);
        self.consume(bytes);
        Ok(bytes)
    }
}

impl<R: BufRead> BufRead for Bounded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.watch.pass(std::mem::take(&mut self.taken))?;
        self.inner.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.taken += bytes;
        self.inner.consume(bytes);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Bounded, Free, MemoryWatch, STEP};
    use std::io::{self, BufRead, BufReader, Read};
    use std::sync::atomic::{AtomicU64, Ordering};

    static FREE: AtomicU64 = AtomicU64::new(8 << 30);

    fn by<R>(inner: R, free: Free) -> Bounded<R> {
        Bounded { inner, watch: MemoryWatch::by(free), taken: 0 }
    }

    #[test]
    fn an_input_without_end_is_read_until_what_was_free_has_halved() {
        let endless = || BufReader::new(io::repeat(b'x'));
        let mut line = Vec::new();
        // Each look finds a GiB less than the one before.
        let shrinking: Free = || Some(FREE.fetch_sub(1 << 30, Ordering::Relaxed));
        let error = by(endless(), shrinking).read_until(b'\n', &mut line).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
        assert!(error.to_string().contains("after 80 MiB of its text 3072 of 8192 MiB"), "{error}");
        assert_eq!(line.len() as u64, 5 * STEP);
    }

    #[test]
    fn what_is_not_kept_may_be_of_any_size_and_comes_through_unchanged() {
        let text: Vec<u8> = (0..3 * STEP as usize + 5).map(|at| at as u8).collect();
        let mut read = Vec::new();
        by(text.as_slice(), || Some(1 << 30)).read_to_end(&mut read).unwrap();
        assert!(read == text);
        assert_eq!(io::copy(&mut by(text.as_slice(), || None), &mut io::sink()).unwrap(), text.len() as u64);
    }
}
