//! JSON of scripts: tables from text, text from tables. Objects are written with their keys in byte order, so that the same table is the
//! same text on every store.
//!
//! Both go straight to and from Lua's stack: a script that keeps records as JSON does little else.

use mlua::ffi;
use std::ffi::c_int;
use std::{ptr, slice};

/// Tables within tables.
const DEPTH: u32 = 100;

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
        let number = if plain {
            Some(digits.iter().fold(0.0, |sum, digit| sum * 10.0 + f64::from(digit - b'0')))
        } else {
            std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok())
        };
        let valid = leads == b"0" || !leads.starts_with(b"0") || leads.starts_with(b"0.") || leads.starts_with(b"0e");
        let Some(number) = number.filter(|_| valid) else { return Err(self.wrong("this is not a number")) };
        self.at += digits.len();
        // SAFETY: the caller's.
        unsafe { ffi::lua_pushnumber(self.state, number) };
        Ok(())
    }
}

/// `encode(value)`: the text, or nil and what cannot be written.
///
/// # Safety
/// Called by Lua, with a value.
pub(crate) unsafe extern "C-unwind" fn encode(state: *mut ffi::lua_State) -> c_int {
    let mut out = Vec::with_capacity(256);
    // SAFETY: Lua's.
    let written = unsafe {
        if ffi::lua_gettop(state) == 0 {
            ffi::lua_pushnil(state);
        }
        write(state, &mut out, 0)
    };
    // SAFETY: as above.
    unsafe {
        match written {
            Ok(()) => {
                ffi::lua_pushlstring(state, out.as_ptr().cast(), out.len());
                1
            }
            Err(words) => {
                ffi::lua_pushnil(state);
                ffi::lua_pushlstring(state, words.as_ptr().cast(), words.len());
                2
            }
        }
    }
}

/// Writes the value on top of the stack, and leaves it there.
///
/// # Safety
/// The state runs this.
unsafe fn write(state: *mut ffi::lua_State, out: &mut Vec<u8>, depth: u32) -> Result<(), String> {
    // SAFETY: the caller's.
    unsafe {
        match ffi::lua_type(state, -1) {
            ffi::LUA_TNIL => out.extend_from_slice(b"null"),
            ffi::LUA_TLIGHTUSERDATA if ffi::lua_touserdata(state, -1).is_null() => out.extend_from_slice(b"null"),
            ffi::LUA_TBOOLEAN => {
                out.extend_from_slice(if ffi::lua_toboolean(state, -1) != 0 { b"true" } else { b"false" });
            }
            ffi::LUA_TNUMBER => number(ffi::lua_tonumber(state, -1), out)?,
            ffi::LUA_TSTRING => quote(string_at(state, -1), out)?,
            ffi::LUA_TTABLE => return table(state, out, depth),
            other => return Err(format!("a {}", type_name(state, other))),
        }
    }
    Ok(())
}

/// A table with the keys 1 to n is a list, every other one an object; so is an empty one.
///
/// # Safety
/// As of [`write`].
unsafe fn table(state: *mut ffi::lua_State, out: &mut Vec<u8>, depth: u32) -> Result<(), String> {
    if depth >= DEPTH {
        return Err(format!("tables within tables, more than {DEPTH} deep,"));
    }
    // SAFETY: the caller's. Keys stay where they are: the table holds them.
    unsafe {
        if ffi::lua_checkstack(state, 8) == 0 {
            return Err("tables within tables, too deep,".into());
        }
        let length = ffi::lua_objlen(state, -1);
        let mut names: Vec<&[u8]> = Vec::new();
        let mut items = 0;
        ffi::lua_pushnil(state);
        while ffi::lua_next(state, -2) != 0 {
            match ffi::lua_type(state, -2) {
                ffi::LUA_TSTRING => names.push(string_at(state, -2)),
                ffi::LUA_TNUMBER if (1.0..=length as f64).contains(&ffi::lua_tonumber(state, -2)) => items += 1,
                other => {
                    let words = format!("a table with a {} as key", type_name(state, other));
                    ffi::lua_settop(state, -3);
                    return Err(words);
                }
            }
            ffi::lua_settop(state, -2);
        }
        if items > 0 && !names.is_empty() {
            return Err("a table with both numbers and names as keys".into());
        }
        if items > 0 {
            out.push(b'[');
            for index in 1..=length {
                if index > 1 {
                    out.push(b',');
                }
                ffi::lua_rawgeti(state, -1, index as ffi::lua_Integer);
                let written = write(state, out, depth + 1);
                ffi::lua_settop(state, -2);
                written?;
            }
            out.push(b']');
            return Ok(());
        }
        names.sort_unstable();
        out.push(b'{');
        for (at, name) in names.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            quote(name, out)?;
            out.push(b':');
            ffi::lua_pushlstring(state, name.as_ptr().cast(), name.len());
            ffi::lua_rawget(state, -2);
            let written = write(state, out, depth + 1);
            ffi::lua_settop(state, -2);
            written?;
        }
        out.push(b'}');
    }
    Ok(())
}

pub(crate) fn number(number: f64, out: &mut Vec<u8>) -> Result<(), String> {
    if !number.is_finite() {
        return Err(format!("the number {number}"));
    }
    if number.fract() != 0.0 || number.abs() >= 1e15 {
        out.extend_from_slice(number.to_string().as_bytes());
        return Ok(());
    }
    let mut digits = [0u8; 16];
    let (mut left, mut at) = (number.abs() as u64, digits.len());
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    if number < 0.0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
    Ok(())
}

pub(crate) fn quote(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    if bytes.iter().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
        out.push(b'"');
        out.extend_from_slice(bytes);
        out.push(b'"');
        return Ok(());
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "a string that is not UTF-8".to_owned())?;
    serde_json::to_writer(out, text).map_err(|error| error.to_string())
}

/// # Safety
/// There is a string at this place.
pub(crate) unsafe fn string_at<'a>(state: *mut ffi::lua_State, at: c_int) -> &'a [u8] {
    let mut length = 0;
    // SAFETY: the caller's.
    unsafe {
        let start = ffi::lua_tolstring(state, at, &raw mut length);
        slice::from_raw_parts(start.cast(), length)
    }
}

/// # Safety
/// The state is alive.
unsafe fn type_name(state: *mut ffi::lua_State, kind: c_int) -> String {
    // SAFETY: the names of types are static strings.
    unsafe { std::ffi::CStr::from_ptr(ffi::lua_typename(state, kind)) }.to_string_lossy().into_owned()
}
