//! JSON of scripts, read: tables from text. It goes straight to Lua's stack: a script that keeps records as JSON does little else.

use crate::exact;
use mlua::ffi;
use std::ffi::c_int;
use std::{ptr, slice};

/// Tables within tables.
pub(crate) const DEPTH: u32 = 100;

/// What is wrong with a text.
struct Wrong {
    what: &'static str,
    at: usize,
}

/// `decode(text)`: the value, or nil and what is wrong.
///
/// # Safety
/// Called by Lua, with a string.
pub(crate) unsafe extern "C-unwind" fn decode(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: Lua's; the string is referenced from the stack as long as this runs. Should memory run out, the error unwinds through
    // frames that own nothing but vectors.
    unsafe {
        let mut length = 0;
        let start = ffi::lua_tolstring(state, 1, &raw mut length);
        let text = if start.is_null() { &[][..] } else { slice::from_raw_parts(start.cast::<u8>(), length) };
        let mut reader = Reader { state, text, at: 0 };
        let read = reader.value(0).and_then(|()| {
            reader.space();
            if reader.at < text.len() { Err(reader.wrong("there is more after the value")) } else { Ok(()) }
        });
        match read {
            Ok(()) => 1,
            Err(Wrong { what, at }) => {
                let words = format!("{what}, at byte {}", at + 1);
                ffi::lua_settop(state, 1);
                ffi::lua_pushnil(state);
                ffi::lua_pushlstring(state, words.as_ptr().cast(), words.len());
                2
            }
        }
    }
}

struct Reader<'a> {
    state: *mut ffi::lua_State,
    text: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn wrong(&self, what: &'static str) -> Wrong {
        Wrong { what, at: self.at }
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.text.get(self.at) {
            self.at += 1;
        }
    }

    /// Goes past this byte, if it comes next.
    fn passes(&mut self, byte: u8) -> bool {
        self.space();
        let is_next = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// Pushes the next value.
    ///
    /// # Safety
    /// The state runs this.
    unsafe fn value(&mut self, depth: u32) -> Result<(), Wrong> {
        self.space();
        // SAFETY: the caller's; the stack has room, which is seen to for each level.
        unsafe {
            match self.text.get(self.at) {
                Some(b'{') => return self.object(depth),
                Some(b'[') => return self.list(depth),
                Some(b'"') => return self.string(),
                Some(b'-' | b'0'..=b'9') => return self.number(),
                _ => {}
            }
            let rest = &self.text[self.at..];
            let length = if rest.starts_with(b"true") {
                ffi::lua_pushboolean(self.state, 1);
                4
            } else if rest.starts_with(b"false") {
                ffi::lua_pushboolean(self.state, 0);
                5
            } else if rest.starts_with(b"null") {
                ffi::lua_pushlightuserdata(self.state, ptr::null_mut());
                4
            } else {
                return Err(self.wrong(if rest.is_empty() {
                    "the text ends too early"
                } else {
                    "a value is expected"
                }));
            };
            self.at += length;
        }
        Ok(())
    }

    /// # Safety
    /// As of [`value`](Reader::value).
    unsafe fn object(&mut self, depth: u32) -> Result<(), Wrong> {
        self.at += 1;
        // SAFETY: the caller's.
        unsafe {
            self.open(depth)?;
            if self.passes(b'}') {
                return Ok(());
            }
            loop {
                self.space();
                if self.text.get(self.at) != Some(&b'"') {
                    return Err(self.wrong("key must be a string"));
                }
                self.string()?;
                if !self.passes(b':') {
                    return Err(self.wrong("':' is expected"));
                }
                self.value(depth + 1)?;
                ffi::lua_rawset(self.state, -3);
                if self.passes(b'}') {
                    return Ok(());
                }
                if !self.passes(b',') {
                    return Err(self.wrong("',' or '}' is expected"));
                }
            }
        }
    }

    /// # Safety
    /// As of [`value`](Reader::value).
    unsafe fn list(&mut self, depth: u32) -> Result<(), Wrong> {
        self.at += 1;
        // SAFETY: the caller's.
        unsafe {
            self.open(depth)?;
            if self.passes(b']') {
                return Ok(());
            }
            let mut index = 0;
            loop {
                self.value(depth + 1)?;
                index += 1;
                ffi::lua_rawseti(self.state, -2, index);
                if self.passes(b']') {
                    return Ok(());
                }
                if !self.passes(b',') {
                    return Err(self.wrong("',' or ']' is expected"));
                }
            }
        }
    }

    /// Pushes an empty table.
    ///
    /// # Safety
    /// As of [`value`](Reader::value).
    unsafe fn open(&self, depth: u32) -> Result<(), Wrong> {
        if depth >= DEPTH {
            return Err(self.wrong("tables within tables, more than 100 deep"));
        }
        // SAFETY: the caller's.
        unsafe {
            if ffi::lua_checkstack(self.state, 8) == 0 {
                return Err(self.wrong("tables within tables, too deep"));
            }
            ffi::lua_createtable(self.state, 0, 0);
        }
        Ok(())
    }

    /// # Safety
    /// As of [`value`](Reader::value).
    unsafe fn string(&mut self) -> Result<(), Wrong> {
        let start = self.at + 1;
        let length = self.text[start..].iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
        let end = start + length.ok_or_else(|| self.wrong("a string is not closed"))?;
        if self.text[end] == b'"' {
            self.at = end + 1;
            // SAFETY: the caller's.
            unsafe { ffi::lua_pushlstring(self.state, self.text[start..end].as_ptr().cast(), end - start) };
            return Ok(());
        }
        // Escapes are rare: another reader takes them.
        let mut stream = serde_json::Deserializer::from_slice(&self.text[self.at..]).into_iter::<String>();
        let Some(Ok(text)) = stream.next() else { return Err(self.wrong("this is no string")) };
        self.at += stream.byte_offset();
        // SAFETY: the caller's.
        unsafe { ffi::lua_pushlstring(self.state, text.as_ptr().cast(), text.len()) };
        Ok(())
    }

    /// # Safety
    /// As of [`value`](Reader::value).
    unsafe fn number(&mut self) -> Result<(), Wrong> {
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
        let digits = &rest[..length.unwrap_or(rest.len())];
        let leads = digits.strip_prefix(b"-").unwrap_or(digits);
        let plain = digits.len() < 16 && digits.iter().all(u8::is_ascii_digit);
        let number: Option<f64> = if plain {
            Some(digits.iter().fold(0.0, |sum, digit| sum * 10.0 + f64::from(digit - b'0')))
        } else {
            std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok())
        };
        let valid = leads == b"0" || !leads.starts_with(b"0") || leads.starts_with(b"0.") || leads.starts_with(b"0e");
        let Some(number) = number.filter(|_| valid) else { return Err(self.wrong("this is not a number")) };
        if !number.is_finite() && !exact::is_needed(digits) {
            return Err(self.wrong("this number is larger than any of Lua's"));
        }
        self.at += digits.len();
        // SAFETY: the caller's; room is made for each level.
        unsafe {
            match exact::is_needed(digits) {
                true => exact::push(self.state, digits),
                false => ffi::lua_pushnumber(self.state, number),
            }
        }
        Ok(())
    }
}
