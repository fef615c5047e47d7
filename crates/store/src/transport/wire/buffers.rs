//! Byte buffers lent to connections while they hold something.
//!
//! Requests not yet sent and replies not yet whole live in buffers that grow as large as the values. A connection has one only
//! while it needs it, so memory follows the bytes in flight and not the number of connections, and the buffer used last, still in
//! the processor's cache, is the next one taken. Nothing is allocated once the largest values have been seen.

/// The idle buffers, the one used last on top.
#[derive(Default)]
pub(super) struct Buffers {
    idle: Vec<Vec<u8>>,
}

impl Buffers {
    /// Makes room for the idle buffers of this many connections.
    pub fn of(connections: usize) -> Buffers {
        Buffers { idle: Vec::with_capacity(2 * connections) }
    }

    /// Lends `buffer` memory, when it has none.
    #[inline]
    pub fn lend(&mut self, buffer: &mut Vec<u8>) {
        if buffer.capacity() == 0 {
            *buffer = self.idle.pop().unwrap_or_else(|| Vec::with_capacity(4 << 10));
        }
    }

    /// Takes the memory of `buffer` back; its contents are forgotten.
    #[inline]
    pub fn take_back(&mut self, buffer: &mut Vec<u8>) {
        let mut memory = std::mem::take(buffer);
        if memory.capacity() > 0 {
            memory.clear();
            self.idle.push(memory);
        }
    }
}
