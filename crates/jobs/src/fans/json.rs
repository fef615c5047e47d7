//! Page names as they stand in a record, and the scan for quotes that finds them there.

use data::names::Names;

/// All page names as JSON: `"name":`, with a hash of each name's end.
pub struct JsonNames {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    tails: Vec<u32>,
}

impl JsonNames {
    /// Makes the names of a data set.
    pub fn new(names: &Names) -> JsonNames {
        let mut json = JsonNames { bytes: Vec::new(), ends: Vec::new(), tails: Vec::new() };
        for name in names.iter() {
            json.bytes.push(b'"');
            let start = json.bytes.len();
            escape(name, &mut json.bytes);
            json.tails.push(tail_hash(&json.bytes, start, json.bytes.len()));
            json.bytes.extend_from_slice(b"\":");
            json.ends.push(json.bytes.len() as u32);
        }
        json.bytes.shrink_to_fit();
        json
    }

    /// Returns `"name":` of a page.
    #[inline]
    pub fn field(&self, page: u32) -> &[u8] {
        let page = page as usize;
        let start = if page == 0 { 0 } else { self.ends[page - 1] as usize };
        &self.bytes[start..self.ends[page] as usize]
    }

    /// Returns the escaped name of a page, without quotes.
    #[inline]
    pub fn name(&self, page: u32) -> &[u8] {
        let field = self.field(page);
        &field[1..field.len() - 2]
    }

    /// Returns `tail_hash` of a page's escaped name.
    #[inline]
    pub fn tail(&self, page: u32) -> u32 {
        self.tails[page as usize]
    }
}

/// Returns a hash of length and last eight bytes of `bytes[start..end]`; there must be a byte or more before and in it. Names differ in
/// their ends (URLs, numbered things), and eight bytes are one load.
#[inline]
pub fn tail_hash(bytes: &[u8], start: usize, end: usize) -> u32 {
    let length = end - start;
    let mut word = [0; 8];
    let tail = if end >= 8 {
        word.copy_from_slice(&bytes[end - 8..end]);
        u64::from_le_bytes(word)
    } else {
        word[8 - end..].copy_from_slice(&bytes[..end]);
        u64::from_le_bytes(word)
    };
    // A name shorter than eight bytes: what stands before it is shifted out.
    let tail = tail >> (64 - 8 * length.clamp(1, 8));
    ((tail ^ (length as u64) << 56).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
}

/// Appends `name` with quotes and backslashes escaped. Names hold no control characters (the reader refuses them).
pub fn escape(name: &[u8], out: &mut Vec<u8>) {
    for &byte in name {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
}

/// Appends `count` in decimal.
#[inline]
pub fn decimal(mut count: u32, out: &mut Vec<u8>) {
    let mut digits = [0; 10];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (count % 10) as u8;
        count /= 10;
        if count == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Returns how many decimal digits `count` has.
pub fn digits(count: u32) -> usize {
    count.checked_ilog10().unwrap_or(0) as usize + 1
}

/// Finds quotes, 64 bytes at a time.
pub struct Quotes<'a> {
    bytes: &'a [u8],
    block: usize,
    mask: u64,
}

impl<'a> Quotes<'a> {
    /// Quotes from `start` on.
    #[inline]
    pub fn from(bytes: &'a [u8], start: usize) -> Quotes<'a> {
        let block = start & !63;
        let mask = if block < bytes.len() { quote_mask(bytes, block) & (u64::MAX << (start & 63)) } else { 0 };
        Quotes { bytes, block, mask }
    }

    /// Returns the next quote.
    #[inline]
    pub fn any(&mut self) -> Option<usize> {
        while self.mask == 0 {
            self.block += 64;
            if self.block >= self.bytes.len() {
                self.block = self.bytes.len();
                return None;
            }
            self.mask = quote_mask(self.bytes, self.block);
        }
        let at = self.block + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        Some(at)
    }

    /// Returns the next quote that no backslash escapes.
    #[inline]
    pub fn closing(&mut self) -> Option<usize> {
        loop {
            let at = self.any()?;
            if at == 0 || self.bytes[at - 1] != b'\\' {
                return Some(at);
            }
            let backslashes = self.bytes[..at].iter().rev().take_while(|&&byte| byte == b'\\').count();
            if backslashes % 2 == 0 {
                return Some(at);
            }
        }
    }
}

/// Bit i is set when `bytes[block + i]` is a quote.
#[inline]
fn quote_mask(bytes: &[u8], block: usize) -> u64 {
    match bytes[block..].first_chunk::<64>() {
        Some(chunk) => mask_of(chunk),
        None => {
            let mut padded = [0; 64];
            let rest = &bytes[block..];
            padded[..rest.len()].copy_from_slice(rest);
            mask_of(&padded)
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn mask_of(chunk: &[u8; 64]) -> u64 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    let mut mask = 0;
    for part in 0..4 {
        // SAFETY: SSE2 is part of x86-64; the load needs no alignment and reads 16 bytes at part * 16 of the 64.
        let bits = unsafe {
            let bytes = _mm_loadu_si128(chunk.as_ptr().add(part * 16).cast());
            _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'"' as i8)))
        };
        mask |= u64::from(bits as u16) << (part * 16);
    }
    mask
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn mask_of(chunk: &[u8; 64]) -> u64 {
    chunk.iter().enumerate().fold(0, |mask, (at, &byte)| mask | u64::from(byte == b'"') << at)
}

#[cfg(test)]
mod tests {
    use super::{Quotes, decimal, digits};

    #[test]
    fn quotes_are_found_wherever_they_stand_and_escaped_ones_are_distinct() {
        for length in [1, 15, 63, 64, 65, 128, 200] {
            for at in 0..length {
                let mut bytes = vec![b'x'; length];
                bytes[at] = b'"';
                for start in 0..=length {
                    let found = Quotes::from(&bytes, start).any();
                    assert_eq!(found, (start <= at).then_some(at), "{length} {at} {start}");
                }
            }
        }
        let text = br#"a\"b\\"c\\\"d""#;
        let mut quotes = Quotes::from(text, 0);
        assert_eq!([quotes.closing(), quotes.closing(), quotes.closing()], [Some(6), Some(13), None]);
    }

    #[test]
    fn decimals_are_written_as_by_format() {
        for count in [0, 1, 9, 10, 99, 100, 12_345, u32::MAX] {
            let mut out = Vec::new();
            decimal(count, &mut out);
            assert_eq!(out, count.to_string().into_bytes());
            assert_eq!(out.len(), digits(count));
        }
    }
}
