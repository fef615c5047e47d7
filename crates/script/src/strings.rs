//! Lua's functions that look for patterns: `string.find`, `match`, `gmatch` and the parts `string.gsub` is made of. They replace LuaJIT's, which
//! nothing can end.

use crate::pattern::{Capture, MatchPlace, Matcher, PatternFault};
use crate::watch;
use mlua::ffi;
use mlua::{Lua, Table};
use std::ffi::c_int;
use std::slice;

/// Puts them in the place of LuaJIT's own, and into `host` what `string.gsub` is made of.
pub(crate) fn replace(lua: &Lua, host: &Table) -> mlua::Result<()> {
    let string: Table = lua.globals().get("string")?;
    // SAFETY: all take what they are given from Lua's stack and leave their results there, as Lua's own functions do.
    unsafe {
        string.set("find", lua.create_c_function(find)?)?;
        string.set("match", lua.create_c_function(match_once)?)?;
        string.set("gmatch", lua.create_c_function(gmatch)?)?;
        host.set("next_match", lua.create_c_function(next_match)?)?;
        host.set("replaced", lua.create_c_function(replaced)?)
    }
}

/// What a function ends with: results on the stack, or an error.
type Ended = Result<c_int, PatternFault>;

/// Returns to Lua, where nothing is left to be dropped: an error unwinds from here.
///
/// # Safety
/// Called last in a function that Lua called.
unsafe fn end(state: *mut ffi::lua_State, ended: Ended) -> c_int {
    let words = match ended {
        Ok(results) => return results,
        Err(PatternFault::Wrong(words)) => words,
        Err(PatternFault::Ended) => watch::ENDED,
    };
    // SAFETY: the caller's; `words` is not Rust's to drop.
    unsafe {
        ffi::luaL_where(state, 1);
        ffi::lua_pushlstring(state, words.as_ptr().cast(), words.len());
        ffi::lua_concat(state, 2);
        ffi::lua_error(state)
    }
}

/// The string that must be at this place, as Lua's own functions ask for one; it stays while it is on the stack.
///
/// # Safety
/// Called in a function that Lua called.
unsafe fn text<'a>(state: *mut ffi::lua_State, at: c_int) -> &'a [u8] {
    let mut length = 0;
    // SAFETY: the caller's; what is no string ends in an error of Lua.
    unsafe {
        let start = ffi::luaL_checklstring(state, at, &raw mut length);
        slice::from_raw_parts(start.cast(), length)
    }
}

/// Where to begin: Lua counts from 1, or from the end below 0.
///
/// # Safety
/// As of [`text`].
unsafe fn start(state: *mut ffi::lua_State, at: c_int, length: usize) -> usize {
    // SAFETY: the caller's.
    let start = unsafe { ffi::luaL_optinteger(state, at, 1) } as i64;
    let from = if start < 0 { length as i64 + start } else { start - 1 };
    from.clamp(0, length as i64) as usize
}

/// A matcher that ends when the watch says so.
fn matcher<'a>(
    state: *mut ffi::lua_State,
    text: &'a [u8],
    pattern: &'a [u8],
) -> Matcher<'a, impl FnMut() -> bool + use<'a>> {
    Matcher::new(text, pattern, move || watch::is_to_end(state.cast()))
}

/// The pattern without `^`, and whether it had one.
fn anchored(pattern: &[u8]) -> (&[u8], bool) {
    pattern.strip_prefix(b"^").map_or((pattern, false), |rest| (rest, true))
}

/// Pushes what the pattern captured, or all that matched.
///
/// # Safety
/// As of [`text`].
unsafe fn push_captures(
    state: *mut ffi::lua_State,
    text: &[u8],
    captures: &[Capture],
    whole: Option<(usize, usize)>,
) -> Ended {
    // SAFETY: the caller's; at most 32 values and a few, for which room is made.
    unsafe {
        ffi::luaL_checkstack(state, captures.len() as c_int + 4, c"too many captures".as_ptr());
        if let (true, Some((start, end))) = (captures.is_empty(), whole) {
            push(state, &text[start..end]);
            return Ok(1);
        }
        for capture in captures {
            match *capture {
                Capture::Text(start, end) => push(state, &text[start..end]),
                Capture::Place(at) => ffi::lua_pushnumber(state, at as f64 + 1.0),
                Capture::Open(_) => return Err(PatternFault::Wrong("unfinished capture")),
            }
        }
    }
    Ok(captures.len() as c_int)
}

/// # Safety
/// As of [`text`]; there is room.
unsafe fn push(state: *mut ffi::lua_State, bytes: &[u8]) {
    // SAFETY: the caller's.
    unsafe { ffi::lua_pushlstring(state, bytes.as_ptr().cast(), bytes.len()) };
}

/// # Safety
/// As of [`text`].
unsafe fn push_place(state: *mut ffi::lua_State, place: usize) {
    // SAFETY: the caller's.
    unsafe { ffi::lua_pushnumber(state, place as f64) };
}

/// `string.find(s, pattern, init, plain)`
unsafe extern "C-unwind" fn find(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: Lua's; the strings are on the stack as long as this runs, and nothing here has to be dropped when an error unwinds.
    unsafe {
        let (text, pattern) = (text(state, 1), text(state, 2));
        let from = start(state, 3, text.len());
        let plain = ffi::lua_toboolean(state, 4) != 0 || !pattern.iter().any(|byte| b"^$*+?.([%-".contains(byte));
        let (item, is_anchored) = if plain { (pattern, false) } else { anchored(pattern) };
        let mut matcher = matcher(state, text, item);
        let found = if plain { matcher.find_plain(from) } else { matcher.find(from, is_anchored) };
        let ended = found.and_then(|found| {
            let Some((start, behind)) = found else {
                ffi::lua_pushnil(state);
                return Ok(1);
            };
            push_place(state, start + 1);
            push_place(state, behind);
            push_captures(state, text, matcher.captures(), None).map(|count| count + 2)
        });
        end(state, ended)
    }
}

/// `string.match(s, pattern, init)`
unsafe extern "C-unwind" fn match_once(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: as of `find`.
    unsafe {
        let (text, pattern) = (text(state, 1), text(state, 2));
        let from = start(state, 3, text.len());
        let (item, is_anchored) = anchored(pattern);
        let mut matcher = matcher(state, text, item);
        let ended = matcher.find(from, is_anchored).and_then(|found| {
            if found.is_none() {
                ffi::lua_pushnil(state);
                return Ok(1);
            }
            push_captures(state, text, matcher.captures(), found)
        });
        end(state, ended)
    }
}

/// `string.gmatch(s, pattern)`: a function with the two strings and the place where it continues.
unsafe extern "C-unwind" fn gmatch(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: as of `find`.
    unsafe {
        let _ = (text(state, 1), text(state, 2));
        ffi::lua_settop(state, 2);
        push_place(state, 0);
        ffi::lua_pushcclosure(state, gmatch_next, 3);
        1
    }
}

/// What `gmatch` gives.
unsafe extern "C-unwind" fn gmatch_next(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: as of `find`; the function itself holds the strings.
    unsafe {
        let (string, pattern) = (text(state, ffi::lua_upvalueindex(1)), text(state, ffi::lua_upvalueindex(2)));
        let from = ffi::lua_tonumber(state, ffi::lua_upvalueindex(3)) as usize;
        let mut matcher = matcher(state, string, pattern);
        let ended = matcher.find(from, false).and_then(|found| {
            let next = found.map_or(string.len() + 1, |(start, behind)| behind + usize::from(behind == start));
            push_place(state, next);
            ffi::lua_replace(state, ffi::lua_upvalueindex(3));
            if found.is_none() { Ok(0) } else { push_captures(state, string, matcher.captures(), found) }
        });
        end(state, ended)
    }
}

/// `next_match(s, pattern, from)`: the next match from a place on: its start, the place behind its end, and its captures; or nil. Where the
/// pattern begins with `^`: only there.
unsafe extern "C-unwind" fn next_match(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: as of `find`.
    unsafe {
        let (text, pattern) = (text(state, 1), text(state, 2));
        let from = (ffi::lua_tonumber(state, 3) as usize).saturating_sub(1);
        let (item, is_anchored) = anchored(pattern);
        let mut matcher = matcher(state, text, item);
        let ended = matcher.find(from, is_anchored).and_then(|found| {
            let Some((start, behind)) = found else {
                ffi::lua_pushnil(state);
                return Ok(1);
            };
            push_place(state, start + 1);
            push_place(state, behind + 1);
            push_captures(state, text, matcher.captures(), found).map(|count| count + 2)
        });
        end(state, ended)
    }
}

/// `replaced(s, pattern, by, most)`: `string.gsub` with a string, in which `%1` stands for a capture.
unsafe extern "C-unwind" fn replaced(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: as of `find`; what has to be dropped is, before an error is raised.
    unsafe {
        let (text, pattern, by) = (text(state, 1), text(state, 2), text(state, 3));
        let most = ffi::lua_tonumber(state, 4);
        let made = all_replaced(state, text, pattern, by, most);
        let ended = made.map(|(whole, count)| {
            push(state, &whole);
            ffi::lua_pushnumber(state, count as f64);
            2
        });
        end(state, ended)
    }
}

/// The text with what matches replaced, and how often.
fn all_replaced(
    state: *mut ffi::lua_State,
    text: &[u8],
    pattern: &[u8],
    by: &[u8],
    most: f64,
) -> Result<(Vec<u8>, u64), PatternFault> {
    let (item, is_anchored) = anchored(pattern);
    let mut matcher = matcher(state, text, item);
    let (mut whole, mut count, mut copied, mut from) = (Vec::with_capacity(text.len()), 0u64, 0, 0);
    while (count as f64) < most && from <= text.len() {
        let found: MatchPlace = matcher.find(from, is_anchored)?;
        let Some((start, behind)) = found else { break };
        whole.extend_from_slice(&text[copied..start]);
        replacement(&mut whole, by, text, (start, behind), matcher.captures())?;
        (count, copied, from) = (count + 1, behind, behind + usize::from(behind == start));
        if is_anchored {
            break;
        }
        if whole.len() > crate::machine::MEMORY_BYTES {
            return Err(PatternFault::Wrong("not enough memory"));
        }
    }
    whole.extend_from_slice(&text[copied..]);
    Ok((whole, count))
}

/// Adds what stands for a match.
fn replacement(
    whole: &mut Vec<u8>,
    by: &[u8],
    text: &[u8],
    (start, behind): (usize, usize),
    captures: &[Capture],
) -> Result<(), PatternFault> {
    let mut bytes = by.iter();
    while let Some(&byte) = bytes.next() {
        let digit = if byte == b'%' { bytes.next().copied().unwrap_or(0) } else { byte };
        if byte != b'%' || !digit.is_ascii_digit() {
            whole.push(digit);
            continue;
        }
        let number = usize::from(digit - b'0');
        match number.checked_sub(1).map(|at| captures.get(at)) {
            None => whole.extend_from_slice(&text[start..behind]),
            Some(None) if number == 1 && captures.is_empty() => whole.extend_from_slice(&text[start..behind]),
            Some(Some(&Capture::Text(start, end))) => whole.extend_from_slice(&text[start..end]),
            Some(Some(&Capture::Place(at))) => whole.extend_from_slice((at + 1).to_string().as_bytes()),
            Some(Some(Capture::Open(_))) => return Err(PatternFault::Wrong("unfinished capture")),
            Some(None) => return Err(PatternFault::Wrong("invalid capture index")),
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use mlua::{Lua, LuaOptions, StdLib};

    /// Every function on texts and patterns made at random; its results, or the error.
    const TRY: &str = r#"
        local seed = ...
        local function draw(n) seed = (seed * 16807) % 2147483647 return seed % n + 1 end
        local items = { 'a', 'b', '.', '%a', '%d', '%s', '%w', '%W', '%p', '[ab]', '[^a]', '[a-c%d]', '[]]', '[^]b]', '[%]]', '%%', '%.',
          'x', '%z', '(', ')', '()', '(a)', '%1', '%2', '%bab', '%b()', '%f[%a]', '%f[^b]', '^', '$', '[', '%', '%f', '%b', '[a', '-' }
        local repeats = { '', '', '', '', '*', '+', '-', '?' }
        local letters = { 'a', 'b', 'c', '1', ' ', '.', '(', ')', ']', 'x', '%', '\0' }
        local by = { '<%0>', '%1', '[%1%2]', '%%', 'z', { a = 'A', b = false }, function(one, two) return two or one and '{' .. one .. '}' end }
        local said = {}
        local function note(...)
          local parts = {}
          for at = 1, select('#', ...) do parts[at] = tostring((select(at, ...))):gsub('^.-:%d+: ', '') end
          said[#said + 1] = table.concat(parts, '|')
        end
        for _ = 1, 4000 do
          local text, pattern = {}, { draw(6) == 1 and '^' or '' }
          for at = 1, draw(12) - 1 do text[at] = letters[draw(#letters)] end
          for at = 1, draw(5) do pattern[at + 1] = items[draw(#items)] .. repeats[draw(#repeats)] end
          if draw(8) == 1 then pattern[#pattern + 1] = '$' end
          text, pattern = table.concat(text), table.concat(pattern)
          local from = draw(8) - 4
          note(text, pattern, from)
          note(pcall(string.find, text, pattern, from))
          note(pcall(string.find, text, pattern, from, true))
          note(pcall(string.match, text, pattern, from))
          note(pcall(string.gsub, text, pattern, by[draw(#by)], draw(5) - 1))
          note(pcall(string.gsub, text, pattern, by[draw(#by)]))
          note(pcall(function()
            local all = {}
            for one, two in text:gmatch(pattern) do all[#all + 1] = one .. tostring(two) end
            return table.concat(all, ',')
          end))
        end
        local list = {}
        for at = 1, 500 do list[at] = draw(1000) end
        table.sort(list)
        note(unpack(list))
        table.sort(list, function(one, other) return one > other end)
        note(unpack(list))
        return table.concat(said, '\n')
    "#;

    fn said(lua: &Lua, seed: u32) -> Vec<String> {
        let said: mlua::String = lua.load(TRY).call(seed).unwrap();
        String::from_utf8_lossy(&said.as_bytes()).split('\n').map(str::to_owned).collect()
    }

    #[test]
    fn patterns_find_what_those_of_luajit_find() {
        let lua = || Lua::new_with(StdLib::STRING | StdLib::TABLE | StdLib::MATH, LuaOptions::new()).unwrap();
        let (ours, theirs) = (lua(), lua());
        let host = ours.create_table().unwrap();
        super::replace(&ours, &host).unwrap();
        crate::exact::install(&ours, &host).unwrap();
        ours.load(include_str!("library.lua")).call::<()>(host).unwrap();
        for seed in 1..=5 {
            let (ours, theirs) = (said(&ours, seed), said(&theirs, seed));
            for at in 0..theirs.len() {
                assert_eq!(ours[at], theirs[at], "{:?}", &ours[at.saturating_sub(6)..at]);
            }
        }
    }
}
