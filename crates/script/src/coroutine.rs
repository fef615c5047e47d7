//! A client's coroutine, resumed by hand: what it yielded stays on its own stack until it is answered, so operations borrow a script's
//! strings where Lua has them, and nothing is copied or allocated on the way to the store.

use mlua::ffi;
use std::ffi::{c_int, c_void};
use std::{ptr, slice};
use store::{AnswerTree, SqlValue, TreePart};

/// A coroutine of a machine. It must not be used once its machine is gone: who holds both drops the machine last, and nothing here
/// does anything when dropped.
pub(crate) struct Coroutine {
    state: *mut ffi::lua_State,
    /// The machine's own state, on which words about this one are made: the stack of one that failed may be full.
    main: *mut ffi::lua_State,
    /// Values on its stack that the next resumption hands over.
    given: c_int,
}

/// The outcome of a resumption.
pub(crate) enum Resumed {
    /// It asks for something; see the values.
    Asks,
    /// Its function returned.
    Returned,
    /// It failed: see [`raised`](Coroutine::raised), once memory is no longer bounded.
    Failed,
}

/// An error of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Raised {
    /// What is wrong, with file and line.
    pub(crate) words: String,
    /// The calls that led there, innermost first.
    pub(crate) calls: Vec<String>,
}

impl Coroutine {
    /// Makes a new coroutine with its function on its stack, as mlua makes them.
    pub(crate) fn of(thread: &mlua::Thread, main: *mut c_void) -> Coroutine {
        Coroutine { state: thread.state(), main: main.cast(), given: 0 }
    }

    /// Goes on until it asks for something or ends.
    pub(crate) fn resume(&mut self) -> Resumed {
        let mut count = 0;
        let given = std::mem::take(&mut self.given);
        // SAFETY: the state is that of a coroutine which its machine keeps alive, is not running (only this resumes it), and has
        // `given` values above what it was left with. Errors of Lua end inside `lua_resume`.
        let status = unsafe { ffi::lua_resume(self.state, ptr::null_mut(), given, &raw mut count) };
        match status {
            ffi::LUA_YIELD => Resumed::Asks,
            ffi::LUA_OK => Resumed::Returned,
            _ => Resumed::Failed,
        }
    }

    /// Returns the error of a coroutine that failed.
    pub(crate) fn raised(&self) -> Raised {
        let calls = self.calls();
        Raised { words: placed(&self.error(), &calls), calls }
    }

    /// Forgets what it asked for.
    pub(crate) fn clear(&mut self) {
        // SAFETY: the coroutine is suspended in a yield; what is on its stack then is what it yielded.
        unsafe { ffi::lua_settop(self.state, 0) };
        self.given = 0;
    }

    /// Returns the last place.
    #[inline]
    pub(crate) fn top(&self) -> c_int {
        // SAFETY: the state is alive and not running.
        unsafe { ffi::lua_gettop(self.state) }
    }

    /// Returns the number at this place, from 1.
    #[inline]
    pub(crate) fn number(&self, at: c_int) -> f64 {
        // SAFETY: the state is alive and not running; a place beyond the top is no number, and gives 0.
        unsafe { ffi::lua_tonumber(self.state, at) }
    }

    /// Returns the bytes of the string at this place; they stay where they are until [`clear`](Coroutine::clear). Anything else is empty.
    #[inline]
    pub(crate) fn bytes(&self, at: c_int) -> &[u8] {
        // SAFETY: as above. A string that is referenced from the stack is neither moved nor freed, and `clear`, which takes it from
        // there, needs `&mut self`.
        unsafe { string_at(self.state, at) }
    }

    /// Returns whether there is nothing, or nil.
    pub(crate) fn is_nil(&self, at: c_int) -> bool {
        // SAFETY: as above.
        unsafe { ffi::lua_type(self.state, at) <= ffi::LUA_TNIL }
    }

    /// Returns the parameter of a statement at this place. Whole numbers are sent as such.
    pub(crate) fn sql_value(&self, at: c_int) -> SqlValue<'_> {
        // SAFETY: as above.
        match unsafe { ffi::lua_type(self.state, at) } {
            ffi::LUA_TSTRING => SqlValue::Text(self.bytes(at)),
            // SAFETY: as above.
            ffi::LUA_TBOOLEAN => SqlValue::Truth(unsafe { ffi::lua_toboolean(self.state, at) } != 0),
            ffi::LUA_TNUMBER => match self.number(at) {
                whole if whole.fract() == 0.0 && whole.abs() < GAPS as f64 => SqlValue::Number(whole as i64),
                number => SqlValue::Real(number),
            },
            _ => SqlValue::Nil,
        }
    }

    /// Calls with the strings of the list at this place, in order. They stay where they are while the list is on the stack, and the
    /// script, which is suspended, cannot take them from it.
    pub(crate) fn list<'a>(&'a self, at: c_int, mut each: impl FnMut(&'a [u8])) {
        // SAFETY: as above; there is room for one more value (Lua keeps 20 free), raw reads call no metamethod and raise nothing.
        unsafe {
            if ffi::lua_type(self.state, at) != ffi::LUA_TTABLE {
                return;
            }
            for index in 1..=ffi::lua_objlen(self.state, at) {
                ffi::lua_rawgeti(self.state, at, index as ffi::lua_Integer);
                each(string_at(self.state, -1));
                ffi::lua_settop(self.state, -2);
            }
        }
    }

    /// Gives it a string.
    #[inline]
    pub(crate) fn give(&mut self, bytes: &[u8]) {
        // SAFETY: as above; no limit of memory is in effect outside `resume`, so that this fails only where Rust's own allocation
        // would.
        unsafe { ffi::lua_pushlstring(self.state, bytes.as_ptr().cast(), bytes.len()) };
        self.given += 1;
    }

    /// Gives it nil.
    pub(crate) fn give_nil(&mut self) {
        // SAFETY: as above.
        unsafe { ffi::lua_pushnil(self.state) };
        self.given += 1;
    }

    /// Gives it a number.
    pub(crate) fn give_number(&mut self, number: f64) {
        // SAFETY: as above.
        unsafe { ffi::lua_pushnumber(self.state, number) };
        self.given += 1;
    }

    /// Gives it true or false.
    pub(crate) fn give_truth(&mut self, truth: bool) {
        // SAFETY: as above.
        unsafe { ffi::lua_pushboolean(self.state, c_int::from(truth)) };
        self.given += 1;
    }

    /// Gives it an empty list with room for this many.
    pub(crate) fn give_list(&mut self, room: usize) {
        // SAFETY: as above.
        unsafe { ffi::lua_createtable(self.state, room.min(1 << 20) as c_int, 0) };
        self.given += 1;
    }

    /// Puts a string into the list given last.
    pub(crate) fn put_in_list(&mut self, index: usize, bytes: &[u8]) {
        // SAFETY: as above; the list is on top.
        unsafe {
            ffi::lua_pushlstring(self.state, bytes.as_ptr().cast(), bytes.len());
            ffi::lua_rawseti(self.state, -2, index as ffi::lua_Integer);
        }
    }

    /// Gives it the answer to a command: the error of one that failed as nil and its words, a list as a table, in which nothing is false.
    pub(crate) fn give_tree(&mut self, tree: AnswerTree<'_>) {
        let mut parts = tree.parts();
        match parts.next() {
            None | Some(TreePart::Nil) => self.give_nil(),
            Some(TreePart::Error(words)) => {
                self.give_nil();
                self.give(words);
            }
            // SAFETY: as above.
            Some(first) => unsafe {
                push_part(self.state, first, &mut parts);
                self.given += 1;
            },
        }
    }

    /// Returns where it is: `orders.lua:9`, if it is anywhere.
    pub(crate) fn place(&self) -> Option<String> {
        place_of(&self.calls()).map(str::to_owned)
    }

    /// Calls under way, innermost first, without those of kvtrial's own.
    pub(crate) fn calls(&self) -> Vec<String> {
        // SAFETY: as above; the traceback is made on the machine's own stack, which is not running either, and taken from it again.
        let text = unsafe {
            ffi::luaL_traceback(self.main, self.state, ptr::null(), 0);
            let text = String::from_utf8_lossy(string_at(self.main, -1)).into_owned();
            ffi::lua_settop(self.main, -2);
            text
        };
        calls_of(text.lines().skip(1))
    }

    /// The error on top of its stack in words.
    fn error(&self) -> String {
        // SAFETY: as above; a coroutine that failed has its error on top.
        unsafe {
            match ffi::lua_type(self.state, -1) {
                ffi::LUA_TSTRING | ffi::LUA_TNUMBER => String::from_utf8_lossy(string_at(self.state, -1)).into_owned(),
                _ => "an error was raised that is not text".into(),
            }
        }
    }

    /// Returns the state that runs, for the watch.
    pub(crate) fn state(&self) -> *mut c_void {
        self.state.cast()
    }
}

/// Returns the calls of a traceback, without those of kvtrial's own.
pub(crate) fn calls_of<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let own = |line: &&str| {
        !["[C]", "kvtrial:", "stack traceback:"].iter().any(|other| line.starts_with(other)) && !line.is_empty()
    };
    let shown = |line: &str| {
        line.replacen(": in", " in", 1)
            .replace("upvalue 'act'", "the phase")
            .replace("upvalue 'chunk'", "the top level")
            .replace('\t', " ")
    };
    lines.map(str::trim).filter(own).map(shown).collect()
}

/// Returns an error's words with the place in the script where they have none of their own: errors that a function of Lua's own raises
/// after a tail call, and those within kvtrial's part of the machine.
pub(crate) fn placed(words: &str, calls: &[String]) -> String {
    let words: &str = &study::cut(words);
    let own = words.strip_prefix("kvtrial:").and_then(|rest| rest.split_once(": ")).map(|(_, rest)| rest);
    let bare = ["attempt to yield", "stack overflow"].iter().any(|begin| words.starts_with(begin));
    match place_of(calls) {
        Some(place) if own.is_some() || bare => format!("{place}: {}", own.unwrap_or(words)),
        _ => own.unwrap_or(words).to_owned(),
    }
}

/// The innermost call that has a line: `orders.lua:9`.
fn place_of(calls: &[String]) -> Option<&str> {
    let mut places = calls.iter().filter_map(|call| call.split(" in ").next());
    places.find(|place| place.ends_with(|last: char| last.is_ascii_digit()) && place.contains(':'))
}

/// Whole numbers from here on have gaps in Lua: they are given in decimal.
const GAPS: u64 = 1 << 53;

/// Pushes a value with those within, of which none is nil: a list counts its values.
///
/// # Safety
/// The state must be alive and not running.
unsafe fn push_part<'a>(
    state: *mut ffi::lua_State,
    part: TreePart<'a>,
    parts: &mut impl Iterator<Item = TreePart<'a>>,
) {
    // SAFETY: the caller's. A table, its key and the value are the most that each level of nesting needs; no limit of memory is in effect.
    unsafe {
        ffi::lua_checkstack(state, 4);
        match part {
            TreePart::Nil => ffi::lua_pushboolean(state, 0),
            TreePart::Truth(truth) => ffi::lua_pushboolean(state, c_int::from(truth)),
            TreePart::Number(number) if number.unsigned_abs() < GAPS => ffi::lua_pushnumber(state, number as f64),
            TreePart::Number(number) => push_string(state, number.to_string().as_bytes()),
            TreePart::Decimal(digits) => {
                match std::str::from_utf8(digits).ok().and_then(|text| text.parse::<f64>().ok()) {
                    Some(number) if !number.is_nan() => ffi::lua_pushnumber(state, number),
                    _ => push_string(state, digits),
                }
            }
            TreePart::Text(bytes) => push_string(state, bytes),
            TreePart::Error(words) => {
                ffi::lua_createtable(state, 0, 1);
                push_string(state, b"err");
                push_string(state, words);
                ffi::lua_rawset(state, -3);
            }
            TreePart::List(count) => {
                ffi::lua_createtable(state, count.min(1 << 20) as c_int, 0);
                for index in 1..=count {
                    let value = parts.next().unwrap_or(TreePart::Nil);
                    push_part(state, value, parts);
                    ffi::lua_rawseti(state, -2, index as ffi::lua_Integer);
                }
            }
            TreePart::Map(count) => {
                ffi::lua_createtable(state, 0, count.min(1 << 20) as c_int);
                for _ in 0..count {
                    let key = parts.next().unwrap_or(TreePart::Nil);
                    push_part(state, key, parts);
                    match parts.next() {
                        None | Some(TreePart::Nil) => ffi::lua_pushnil(state),
                        Some(value) => push_part(state, value, parts),
                    }
                    ffi::lua_rawset(state, -3);
                }
            }
        }
    }
}

/// Pushes a string.
///
/// # Safety
/// As of [`push_part`].
unsafe fn push_string(state: *mut ffi::lua_State, bytes: &[u8]) {
    // SAFETY: the caller's.
    unsafe { ffi::lua_pushlstring(state, bytes.as_ptr().cast(), bytes.len()) };
}

/// The bytes of the string at this place, empty if it is none.
///
/// # Safety
/// The state must be alive and not running, and the string must stay referenced as long as the bytes are used.
unsafe fn string_at<'a>(state: *mut ffi::lua_State, at: c_int) -> &'a [u8] {
    let mut length = 0;
    // SAFETY: the caller's.
    unsafe {
        if ffi::lua_type(state, at) != ffi::LUA_TSTRING {
            return &[];
        }
        let start = ffi::lua_tolstring(state, at, &raw mut length);
        if start.is_null() { &[] } else { slice::from_raw_parts(start.cast(), length) }
    }
}
