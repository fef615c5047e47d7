//! Memory in huge pages that only grows: blocks of a power of two of bytes, given back to be given out again.
//!
//! A random access to memory in 4 KiB pages also misses the processor's table of pages, and in a virtual machine that costs more
//! than the access. Address space is reserved in chunks; a page is real when it is first touched, so nothing ever stops to grow.

use std::ptr::NonNull;

/// The smallest block: a cache line.
const SMALLEST: usize = 64;
/// Address space reserved at once; larger blocks are reserved alone.
const CHUNK: usize = 64 << 20;
const LARGE: usize = 1 << 20;
const HUGE_PAGE: usize = 2 << 20;
/// Classes of blocks that come from chunks: 2^6 to 2^20 bytes.
const CLASSES: usize = LARGE.trailing_zeros() as usize + 1;

/// Returns the size of the block that holds `bytes` bytes.
#[inline]
pub fn block_bytes(bytes: usize) -> usize {
    bytes.next_power_of_two().max(SMALLEST)
}

/// A free block, which points to the next one of its class.
struct Free {
    next: Option<NonNull<Free>>,
}

/// A source of blocks; all of them are gone when it is dropped.
pub struct Arena {
    /// Reserved address space: start and bytes.
    reserved: Vec<(NonNull<u8>, usize)>,
    /// The unused part of the last chunk.
    rest: NonNull<u8>,
    rest_bytes: usize,
    free: [Option<NonNull<Free>>; CLASSES],
}

// SAFETY: the memory belongs to the arena alone, on whatever thread it is.
unsafe impl Send for Arena {}

impl Default for Arena {
    fn default() -> Arena {
        Arena { reserved: Vec::new(), rest: NonNull::dangling(), rest_bytes: 0, free: [None; CLASSES] }
    }
}

impl Arena {
    /// Gives out a block of `bytes` bytes, which must be a [`block_bytes`], aligned to a cache line and to its size up to the size of a huge page. A
    /// block that was not given out before is zero.
    #[inline]
    pub fn take(&mut self, bytes: usize) -> NonNull<u8> {
        debug_assert_eq!(bytes, block_bytes(bytes));
        if bytes > LARGE {
            return self.reserve(bytes);
        }
        let class = bytes.trailing_zeros() as usize;
        if let Some(block) = self.free[class] {
            // SAFETY: a block in the list is nobody else's and begins with a `Free`.
            self.free[class] = unsafe { block.as_ref() }.next;
            return block.cast();
        }
        // Blocks of several sizes come from one chunk: the start is moved up to a multiple of the size.
        let gap = self.rest.as_ptr().align_offset(bytes);
        if self.rest_bytes < gap + bytes {
            self.rest = self.reserve(CHUNK);
            self.rest_bytes = CHUNK;
            return self.cut(0, bytes);
        }
        self.cut(gap, bytes)
    }

    #[inline]
    fn cut(&mut self, gap: usize, bytes: usize) -> NonNull<u8> {
        // SAFETY: gap and block lie within what is left of the chunk.
        unsafe {
            let block = self.rest.add(gap);
            self.rest = block.add(bytes);
            self.rest_bytes -= gap + bytes;
            block
        }
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// The block is one that [`take`](Arena::take) gave out for that number of bytes, and nothing uses it any more.
    #[inline]
    pub unsafe fn give_back(&mut self, block: NonNull<u8>, bytes: usize) {
        if bytes > LARGE {
            self.release(block);
            return;
        }
        let class = bytes.trailing_zeros() as usize;
        let free: NonNull<Free> = block.cast();
        // SAFETY: the block has at least a cache line, is aligned to one, and is nobody's now.
        unsafe { free.write(Free { next: self.free[class] }) };
        self.free[class] = Some(free);
    }

    #[cold]
    fn reserve(&mut self, bytes: usize) -> NonNull<u8> {
        let whole = bytes + HUGE_PAGE; // so that a multiple of a huge page lies within
        // SAFETY: a new private mapping touches no other memory.
        let start = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            libc::mmap(std::ptr::null_mut(), whole, protection, flags, -1, 0)
        };
        let Some(start) = NonNull::new(start.cast::<u8>()).filter(|_| start != libc::MAP_FAILED) else {
            std::alloc::handle_alloc_error(std::alloc::Layout::new::<[u8; CHUNK]>());
        };
        // SAFETY: the offset is below a huge page, by which the mapping is longer; advice changes no content.
        let aligned = unsafe {
            let aligned = start.add(start.as_ptr().align_offset(HUGE_PAGE));
            libc::madvise(aligned.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE);
            aligned
        };
        self.reserved.push((start, whole));
        aligned
    }

    #[cold]
    fn release(&mut self, block: NonNull<u8>) {
        let owner =
            |&(start, bytes): &(NonNull<u8>, usize)| block >= start && block.addr().get() < start.addr().get() + bytes;
        if let Some(at) = self.reserved.iter().position(owner) {
            let (start, bytes) = self.reserved.swap_remove(at);
            // SAFETY: the mapping holds this block alone, and nothing uses it any more.
            unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for &(start, bytes) in &self.reserved {
            // SAFETY: these are whole mappings of ours, and the blocks in them end with the arena.
            unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Arena, LARGE, block_bytes};

    #[test]
    fn blocks_are_aligned_apart_zero_at_first_and_used_again() {
        let mut arena = Arena::default();
        let sizes: Vec<usize> = (0..2000).map(|at| block_bytes(at * 37 % 5000)).chain([LARGE, 2 * LARGE]).collect();
        let mut blocks: Vec<_> = sizes.iter().map(|&bytes| (arena.take(bytes), bytes)).collect();
        for &(block, bytes) in &blocks {
            assert!(bytes >= 64 && block.addr().get() % bytes.min(LARGE) == 0);
            // SAFETY: the arena gave these bytes and nobody else has them.
            let bytes = unsafe { std::slice::from_raw_parts_mut(block.as_ptr(), bytes) };
            assert!(bytes.iter().all(|&byte| byte == 0), "another block was written over");
            bytes.fill(1);
        }
        let (last, bytes) = blocks.swap_remove(7);
        // SAFETY: it was given for these bytes, and is not used any more.
        unsafe { arena.give_back(last, bytes) };
        assert_eq!(arena.take(bytes), last);
    }
}
