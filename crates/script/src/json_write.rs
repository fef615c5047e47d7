//! JSON of scripts, written: text from tables. Objects have their keys in byte order, so that the same table is the same text on every store.

use crate::exact;
use crate::json::DEPTH;
use mlua::ffi;
use std::ffi::c_int;
use std::slice;

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
            other => match exact::digits(state, -1) {
                Some(digits) => out.extend_from_slice(digits),
                None => return Err(format!("a {}", type_name(state, other))),
            },
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
    if number.abs() >= exact::GAPS {
        // With an exponent, so that it is read again as the number it is, and not as a whole number kept to the digit.
        out.extend_from_slice(format!("{number:e}").as_bytes());
        return Ok(());
    }
    if number.fract() != 0.0 {
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

/// Returns the string at this place.
///
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
