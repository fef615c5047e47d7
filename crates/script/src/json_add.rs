//! Numbers added within the text of a JSON object. A script that counts in records would take each apart into tables and write it again:
//! this goes over the text once, and copies what stays as it is.

use crate::exact::GAPS;
use crate::json::DEPTH;
use crate::json_write::{number, quote, string_at};
use mlua::ffi;
use std::borrow::Cow;
use std::ffi::c_int;

/// What is to be added under a key.
struct Change<'a> {
    key: &'a [u8],
    by: By<'a>,
}

enum By<'a> {
    Number(f64),
    /// To an object under this key; sorted.
    Object(Vec<Change<'a>>),
}

/// `add(text, changes)`: the text with the numbers added, or nil and what is wrong. No text is an empty object.
///
/// # Safety
/// Called by Lua, with a string or nil, and a table.
pub(crate) unsafe extern "C-unwind" fn add(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: Lua's; text and table are referenced from the stack as long as this runs, and so are the strings in the table. Should memory
    // run out, the error unwinds through frames that own nothing but vectors.
    unsafe {
        let text = if ffi::lua_type(state, 1) == ffi::LUA_TSTRING { string_at(state, 1) } else { b"{}" };
        ffi::lua_settop(state, 2);
        let added = changes(state, 0).and_then(|changes| added(text, &changes));
        let (words, count) = match &added {
            Ok(text) => (text.as_slice(), 1),
            Err(words) => {
                ffi::lua_pushnil(state);
                (words.as_bytes(), 2)
            }
        };
        ffi::lua_pushlstring(state, words.as_ptr().cast(), words.len());
        count
    }
}

/// The changes in the table on top of the stack, sorted.
///
/// # Safety
/// The state runs this.
unsafe fn changes<'a>(state: *mut ffi::lua_State, depth: u32) -> Result<Vec<Change<'a>>, String> {
    let mut found = Vec::new();
    // SAFETY: the caller's.
    unsafe {
        if depth >= DEPTH || ffi::lua_checkstack(state, 8) == 0 {
            return Err(format!("tables within tables, more than {DEPTH} deep"));
        }
        ffi::lua_pushnil(state);
        while ffi::lua_next(state, -2) != 0 {
            if ffi::lua_type(state, -2) != ffi::LUA_TSTRING {
                return Err("the keys of what is added must be strings".into());
            }
            let key = string_at(state, -2);
            let by = match ffi::lua_type(state, -1) {
                ffi::LUA_TNUMBER => match ffi::lua_tonumber(state, -1) {
                    by if by.abs() >= GAPS => {
                        return Err(format!(
                            "what is added to '{}' must be below 2^53, up to where Lua has all whole numbers",
                            key.escape_ascii()
                        ));
                    }
                    by => By::Number(by),
                },
                ffi::LUA_TTABLE => By::Object(changes(state, depth + 1)?),
                _ => return Err(format!("what is added to '{}' is not a number", key.escape_ascii())),
            };
            found.push(Change { key, by });
            ffi::lua_settop(state, -2);
        }
    }
    found.sort_unstable_by_key(|change| change.key);
    Ok(found)
}

fn added(text: &[u8], changes: &[Change<'_>]) -> Result<Vec<u8>, String> {
    let mut merge =
        Merge { text, at: 0, copied: 0, out: Vec::with_capacity(text.len() + 256), is_plain: !text.contains(&b'\\') };
    merge.space();
    merge.object(changes, 0)?;
    merge.space();
    if merge.at < text.len() {
        return Err(merge.wrong("there is more after the object"));
    }
    merge.copy_to(text.len());
    Ok(merge.out)
}

/// A text on its way to another.
struct Merge<'a> {
    text: &'a [u8],
    at: usize,
    /// How much of the text is in `out`, or was replaced there.
    copied: usize,
    out: Vec<u8>,
    /// No string has an escape: each ends at the next quote.
    is_plain: bool,
}

impl<'a> Merge<'a> {
    fn wrong(&self, what: &str) -> String {
        format!("{what}, at byte {}", self.at + 1)
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.text.get(self.at) {
            self.at += 1;
        }
    }

    fn next(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or_default()
    }

    /// Goes past this byte.
    fn pass(&mut self, byte: u8) -> Result<(), String> {
        self.space();
        if self.next() != byte {
            return Err(self.wrong(&format!("'{}' is expected", char::from(byte))));
        }
        self.at += 1;
        Ok(())
    }

    fn copy_to(&mut self, end: usize) {
        self.out.extend_from_slice(&self.text[self.copied..end]);
        self.copied = end;
    }

    /// Goes over an object, of which what is changed is in `changes`.
    fn object(&mut self, changes: &[Change<'_>], depth: u32) -> Result<(), String> {
        if depth >= DEPTH {
            return Err(self.wrong("objects within objects, more than 100 deep"));
        }
        self.pass(b'{')?;
        self.space();
        let mut left = changes.iter().peekable();
        let mut before: Option<Cow<'a, [u8]>> = None;
        while self.next() != b'}' {
            if before.is_some() {
                self.pass(b',')?;
                self.space();
            }
            if self.is_plain
                && let Some(passed) = self.pass_numbers(before.as_deref(), left.peek().map(|change| change.key))
            {
                before = Some(Cow::Borrowed(passed));
            }
            let start = self.at;
            let key = self.key()?;
            if before.as_ref().is_some_and(|before| *before >= key) {
                return Err(self.wrong("the keys are not in byte order, as json.encode and json.add write them"));
            }
            while let Some(new) = left.next_if(|change| change.key < &*key) {
                self.copy_to(start);
                write(new, &mut self.out)?;
                self.out.push(b',');
            }
            self.pass(b':')?;
            self.space();
            match left.next_if(|change| change.key == &*key) {
                None => self.skip()?,
                Some(Change { by: By::Number(by), .. }) => self.number(*by)?,
                Some(Change { by: By::Object(changes), .. }) => self.object(changes, depth + 1)?,
            }
            before = Some(key);
            self.space();
        }
        let mut is_first = before.is_none();
        for new in left {
            self.copy_to(self.at);
            if !std::mem::take(&mut is_first) {
                self.out.push(b',');
            }
            write(new, &mut self.out)?;
        }
        self.at += 1;
        Ok(())
    }

    /// Goes past entries that are whole numbers, stay as they are and are followed by others: most of a record of counts. Gives the last key
    /// it went past; at whatever is not as plain as that it stops.
    fn pass_numbers(&mut self, before: Option<&[u8]>, until: Option<&[u8]>) -> Option<&'a [u8]> {
        let text = self.text;
        let (mut last, mut passed) = (before.unwrap_or_default(), None);
        while text.get(self.at) == Some(&b'"') {
            let start = self.at + 1;
            let Some(length) = quote_in(&text[start..]) else { break };
            let (key, mut at) = (&text[start..start + length], start + length + 1);
            let is_first = passed.is_none() && before.is_none();
            if (!is_first && key <= last) || until.is_some_and(|until| key >= until) || text.get(at) != Some(&b':') {
                break;
            }
            at += 1;
            let digits = at;
            while text.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            if at == digits || text.get(at) != Some(&b',') || text.get(at + 1) != Some(&b'"') {
                break;
            }
            (last, passed, self.at) = (key, Some(key), at + 1);
        }
        passed
    }

    /// The key that comes next.
    fn key(&mut self) -> Result<Cow<'a, [u8]>, String> {
        if self.next() != b'"' {
            return Err(self.wrong("a key must be a string"));
        }
        let start = self.at;
        self.string()?;
        let inner = &self.text[start + 1..self.at - 1];
        if !inner.contains(&b'\\') {
            return Ok(Cow::Borrowed(inner));
        }
        // Escapes are rare: another reader takes them.
        let text: String =
            serde_json::from_slice(&self.text[start..self.at]).map_err(|_| self.wrong("this is no string"))?;
        Ok(Cow::Owned(text.into_bytes()))
    }

    /// Goes past a string.
    fn string(&mut self) -> Result<(), String> {
        let mut at = self.at + 1;
        loop {
            let rest = self.text.get(at..).unwrap_or_default();
            let Some(length) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')) else {
                return Err(self.wrong("a string is not closed"));
            };
            at += length + 1;
            if rest[length] == b'"' {
                self.at = at;
                return Ok(());
            }
            at += 1;
        }
    }

    /// Goes past a value that stays as it is.
    fn skip(&mut self) -> Result<(), String> {
        let mut open = 0;
        loop {
            match self.next() {
                b'"' => self.string()?,
                b'{' | b'[' => (open, self.at) = (open + 1, self.at + 1),
                b'}' | b']' if open > 0 => (open, self.at) = (open - 1, self.at + 1),
                b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' if open > 0 => self.at += 1,
                b'-' | b'0'..=b'9' | b'a'..=b'z' => {
                    let rest = &self.text[self.at..];
                    let length = rest
                        .iter()
                        .position(|byte| !matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'-' | b'+' | b'.' | b'E'));
                    self.at += length.unwrap_or(rest.len());
                }
                _ => return Err(self.wrong("a value is expected")),
            }
            if open == 0 {
                return Ok(());
            }
        }
    }

    /// Adds to the number that comes next.
    fn number(&mut self, by: f64) -> Result<(), String> {
        let start = self.at;
        let rest = &self.text[start..];
        let length = rest.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
        let digits = &rest[..length.unwrap_or(rest.len())];
        let digits = std::str::from_utf8(digits).unwrap_or_default();
        let value: Option<f64> = digits.parse().ok();
        let Some(value) = value else { return Err(self.wrong("what is added to is not a number")) };
        self.copy_to(start);
        let sum = value + by;
        if value.abs() < GAPS && sum.abs() < GAPS {
            number(sum, &mut self.out)?;
        } else if let Ok(whole) = digits.parse::<i128>() {
            // To the digit, where Lua's numbers have gaps.
            let sum = whole.checked_add(by as i128).filter(|_| by.fract() == 0.0);
            let Some(sum) = sum else {
                return Err(self.wrong("only a whole number can be added to a whole number beyond 2^53"));
            };
            self.out.extend_from_slice(sum.to_string().as_bytes());
        } else if is_whole(digits) {
            return Err(self.wrong("this whole number has too many digits to be added to"));
        } else {
            number(sum, &mut self.out)?;
        }
        self.at += digits.len();
        self.copied = self.at;
        Ok(())
    }
}

/// Whether it is written as a whole number.
fn is_whole(digits: &str) -> bool {
    digits.strip_prefix('-').unwrap_or(digits).bytes().all(|byte| byte.is_ascii_digit())
}

/// Where the first quote is, eight bytes at a time.
fn quote_in(text: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let (words, rest) = text.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let other = u64::from_le_bytes(*word) ^ (ONES * b'"' as u64);
        let quotes = other.wrapping_sub(ONES) & !other & (ONES << 7);
        if quotes != 0 {
            return Some(at * 8 + quotes.trailing_zeros() as usize / 8);
        }
    }
    rest.iter().position(|byte| *byte == b'"').map(|at| words.len() * 8 + at)
}

/// Writes what was not there.
fn write(change: &Change<'_>, out: &mut Vec<u8>) -> Result<(), String> {
    quote(change.key, out)?;
    out.push(b':');
    match &change.by {
        By::Number(by) => number(*by, out),
        By::Object(changes) => {
            out.push(b'{');
            for (at, change) in changes.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write(change, out)?;
            }
            out.push(b'}');
            Ok(())
        }
    }
}
