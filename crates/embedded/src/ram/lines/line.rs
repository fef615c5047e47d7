//! A record in a cache line: key and value in the line while both fit, in a block of memory beyond that.

use super::arena::{Arena, block_bytes};
use std::borrow::Cow;
use std::ptr::NonNull;

/// The number of key and value bytes that a line holds.
const ROOM: usize = 56;
/// The number of key bytes that a line holds when the value is elsewhere.
const KEY_ROOM: usize = 40;

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Form {
    /// An empty line: zero, as new memory is.
    Empty = 0,
    /// A line with key and value in it.
    Whole,
    /// A line with the first bytes of the key; the others and the value are in a block.
    Spilled,
}

/// A record.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Line {
    pub(super) form: Form,
    /// The number of value bytes of a whole line.
    value_bytes: u8,
    /// The bits of the hash that rule out most other keys.
    pub(super) tag: u16,
    key_bytes: u32,
    body: Body,
}

#[derive(Clone, Copy)]
#[repr(C)]
union Body {
    /// Key and value.
    whole: [u8; ROOM],
    spilled: Spilled,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Spilled {
    key: [u8; KEY_ROOM],
    /// The rest of the key, and the value; of [`block_bytes`] of `bytes`.
    block: NonNull<u8>,
    bytes: usize,
}

impl Spilled {
    fn rest(&self) -> &[u8] {
        // SAFETY: the block holds that many bytes, and is the line's as long as the line is.
        unsafe { std::slice::from_raw_parts(self.block.as_ptr(), self.bytes) }
    }
}

impl Line {
    pub(super) const EMPTY: Line =
        Line { form: Form::Empty, value_bytes: 0, tag: 0, key_bytes: 0, body: Body { whole: [0; ROOM] } };

    #[inline]
    fn whole(&self) -> &[u8; ROOM] {
        // SAFETY: asked of whole lines only; any bytes are bytes.
        unsafe { &self.body.whole }
    }

    #[inline]
    fn spilled(&self) -> &Spilled {
        // SAFETY: asked of spilled lines only, whose body was written as such.
        unsafe { &self.body.spilled }
    }

    #[inline]
    pub(super) fn has_key(&self, key: &[u8]) -> bool {
        if self.key_bytes as usize != key.len() {
            return false;
        }
        // Whole or spilled, the key's first bytes are at the start of the body; eight bytes are compared without a call.
        // SAFETY: the line is in use, so its body was written from the start on, over as many bytes as the key or `KEY_ROOM` has.
        let body = unsafe { &self.body.whole };
        match key.len() {
            8 => body[..8] == key[..8],
            bytes if bytes <= KEY_ROOM || self.form == Form::Whole => &body[..bytes] == key,
            // The block is another line of memory: it is not looked at without need, not even to compare no bytes.
            _ => body[..KEY_ROOM] == key[..KEY_ROOM] && self.spilled().rest().starts_with(&key[KEY_ROOM..]),
        }
    }

    #[inline]
    pub(super) fn value(&self) -> &[u8] {
        let key_bytes = self.key_bytes as usize;
        match self.form {
            Form::Whole => &self.whole()[key_bytes..key_bytes + usize::from(self.value_bytes)],
            _ => &self.spilled().rest()[key_bytes.saturating_sub(KEY_ROOM)..],
        }
    }

    /// Returns the value when it is a number of eight bytes.
    #[inline]
    pub(super) fn number_mut(&mut self) -> Option<&mut [u8; 8]> {
        let key_bytes = self.key_bytes as usize;
        match self.form {
            Form::Empty => None,
            Form::Whole => {
                // SAFETY: the line is whole.
                let whole = unsafe { &mut self.body.whole };
                whole[key_bytes..].first_chunk_mut().filter(|_| self.value_bytes == 8)
            }
            Form::Spilled => {
                // SAFETY: the line is spilled; its block holds that many bytes and is the line's, which is borrowed.
                let rest = unsafe {
                    let Spilled { block, bytes, .. } = self.body.spilled;
                    std::slice::from_raw_parts_mut(block.as_ptr(), bytes)
                };
                (&mut rest[key_bytes.saturating_sub(KEY_ROOM)..]).try_into().ok()
            }
        }
    }

    /// Returns the key, put together where part of it is in the block.
    pub(super) fn key(&self) -> Cow<'_, [u8]> {
        let key_bytes = self.key_bytes as usize;
        match self.form {
            Form::Whole => Cow::Borrowed(&self.whole()[..key_bytes]),
            _ if key_bytes <= KEY_ROOM => Cow::Borrowed(&self.spilled().key[..key_bytes]),
            _ => Cow::Owned([&self.spilled().key[..], &self.spilled().rest()[..key_bytes - KEY_ROOM]].concat()),
        }
    }

    /// Returns the place where the next bytes of a spilled value go.
    #[inline]
    pub(super) fn end(&self) -> Option<*const u8> {
        let spilled = (self.form == Form::Spilled).then(|| self.spilled())?;
        Some(spilled.block.as_ptr().wrapping_add(spilled.bytes))
    }

    /// Writes a record of the value's two parts to an empty line.
    pub(super) fn fill(&mut self, tag: u16, key: &[u8], parts: [&[u8]; 2], blocks: &mut Arena) {
        let value_bytes = parts[0].len() + parts[1].len();
        (self.tag, self.key_bytes) = (tag, key.len() as u32);
        if key.len() + value_bytes <= ROOM {
            let mut whole = [0; ROOM];
            write(&mut whole, [key, parts[0], parts[1]]);
            (self.form, self.value_bytes, self.body) = (Form::Whole, value_bytes as u8, Body { whole });
            return;
        }
        let (first, rest) = key.split_at(key.len().min(KEY_ROOM));
        let bytes = rest.len() + value_bytes;
        let block = blocks.take(block_bytes(bytes));
        // SAFETY: the block has at least that many bytes, which are given to nobody else; they are zero or were written before.
        write(unsafe { std::slice::from_raw_parts_mut(block.as_ptr(), bytes) }, [rest, parts[0], parts[1]]);
        let mut key = [0; KEY_ROOM];
        key[..first.len()].copy_from_slice(first);
        (self.form, self.body) = (Form::Spilled, Body { spilled: Spilled { key, block, bytes } });
    }

    /// Adds bytes to the value.
    #[inline]
    pub(super) fn append(&mut self, key: &[u8], value: &[u8], blocks: &mut Arena) {
        if self.form == Form::Whole {
            let end = self.key_bytes as usize + usize::from(self.value_bytes);
            if end + value.len() <= ROOM {
                // SAFETY: the line is whole.
                let whole = unsafe { &mut self.body.whole };
                whole[end..end + value.len()].copy_from_slice(value);
                self.value_bytes += value.len() as u8;
                return;
            }
            let line = *self;
            return self.fill(line.tag, key, [line.value(), value], blocks);
        }
        // SAFETY: a line in use that is not whole is spilled.
        let spilled = unsafe { &mut self.body.spilled };
        let bytes = spilled.bytes + value.len();
        let (old, new) = (block_bytes(spilled.bytes), block_bytes(bytes));
        if old != new {
            let block = blocks.take(new);
            // SAFETY: both blocks are at least as long as the old content, and different; nothing uses the old one afterwards.
            unsafe {
                std::ptr::copy_nonoverlapping(spilled.block.as_ptr(), block.as_ptr(), spilled.bytes);
                blocks.give_back(spilled.block, old);
            }
            spilled.block = block;
        }
        // SAFETY: the block is long enough for the old content and the new behind it.
        unsafe {
            std::ptr::copy_nonoverlapping(value.as_ptr(), spilled.block.as_ptr().add(spilled.bytes), value.len());
        }
        spilled.bytes = bytes;
    }

    /// Gives back the block that the record has beyond its line.
    #[inline]
    pub(super) fn release(&self, blocks: &mut Arena) {
        if self.form == Form::Spilled {
            let Spilled { block, bytes, .. } = *self.spilled();
            // SAFETY: the block was taken for that many bytes, and its line is about to be written over.
            unsafe { blocks.give_back(block, block_bytes(bytes)) };
        }
    }
}

fn write(out: &mut [u8], parts: [&[u8]; 3]) {
    let mut at = 0;
    for part in parts {
        out[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
}
