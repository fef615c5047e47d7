//! Whole numbers of JSON that Lua's numbers cannot hold: from 2^53 on two of them would become one. They are kept as their digits, a value
//! of its own that `library.lua` gives its meaning; the same digits are the same value.

use mlua::ffi;
use mlua::{Lua, Table};
use std::ffi::{CStr, c_int};
use std::slice;

/// From here on Lua's numbers have gaps.
pub(crate) const GAPS: f64 = 9_007_199_254_740_992.0;

/// Names in the registry: what the values can do, and those there are.
const KIND: &CStr = c"kvtrial whole number";
const ALL: &CStr = c"kvtrial whole numbers";

/// Installs `digits(value)`, for `library.lua`.
pub(crate) fn install(lua: &Lua, host: &Table) -> mlua::Result<()> {
    // SAFETY: it takes what it is given from Lua's stack and leaves its result there, as Lua's own functions do.
    host.set("digits", unsafe { lua.create_c_function(give_digits)? })
}

/// Says what the values can do.
pub(crate) fn define(lua: &Lua, meta: Table) -> mlua::Result<()> {
    let (all, weak) = (lua.create_table()?, lua.create_table()?);
    weak.set("__mode", "v")?;
    all.set_metatable(Some(weak))?;
    lua.set_named_registry_value(&KIND.to_string_lossy(), meta)?;
    lua.set_named_registry_value(&ALL.to_string_lossy(), all)
}

/// Returns whether digits are of a whole number that Lua's numbers may not hold.
pub(crate) fn is_needed(digits: &[u8]) -> bool {
    let plain = digits.strip_prefix(b"-").unwrap_or(digits);
    if plain.len() < 16 || !plain.iter().all(u8::is_ascii_digit) {
        return false;
    }
    plain.len() > 16 || plain >= b"9007199254740992".as_slice()
}

/// Pushes the whole number of these digits.
///
/// # Safety
/// The state runs this, and its stack has room for four more values.
pub(crate) unsafe fn push(state: *mut ffi::lua_State, digits: &[u8]) {
    // SAFETY: the caller's; the value has room for the digits, which are copied into it before anything else sees it.
    unsafe {
        ffi::lua_getfield(state, ffi::LUA_REGISTRYINDEX, ALL.as_ptr());
        ffi::lua_pushlstring(state, digits.as_ptr().cast(), digits.len());
        ffi::lua_rawget(state, -2);
        if ffi::lua_type(state, -1) != ffi::LUA_TUSERDATA {
            ffi::lua_settop(state, -2);
            let place = ffi::lua_newuserdata(state, digits.len()).cast::<u8>();
            place.copy_from_nonoverlapping(digits.as_ptr(), digits.len());
            ffi::lua_getfield(state, ffi::LUA_REGISTRYINDEX, KIND.as_ptr());
            ffi::lua_setmetatable(state, -2);
            ffi::lua_pushlstring(state, digits.as_ptr().cast(), digits.len());
            ffi::lua_pushvalue(state, -2);
            ffi::lua_rawset(state, -4);
        }
        ffi::lua_remove(state, -2);
    }
}

/// Returns the digits of the value at this place, if it is such a number; they stay while it is on the stack.
///
/// # Safety
/// The state runs this, and its stack has room for two more values.
pub(crate) unsafe fn digits<'a>(state: *mut ffi::lua_State, at: c_int) -> Option<&'a [u8]> {
    // SAFETY: the caller's; a value of this kind holds its digits and nothing else.
    unsafe {
        if ffi::lua_type(state, at) != ffi::LUA_TUSERDATA || ffi::lua_getmetatable(state, at) == 0 {
            return None;
        }
        ffi::lua_getfield(state, ffi::LUA_REGISTRYINDEX, KIND.as_ptr());
        let same = ffi::lua_rawequal(state, -1, -2) != 0;
        ffi::lua_settop(state, -3);
        let (start, length) = (ffi::lua_touserdata(state, at).cast::<u8>(), ffi::lua_objlen(state, at));
        same.then(|| slice::from_raw_parts(start, length))
    }
}

/// `digits(value)`: the digits of such a number, else nil.
unsafe extern "C-unwind" fn give_digits(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: Lua's.
    unsafe {
        ffi::lua_settop(state, 1);
        match digits(state, 1) {
            Some(found) => _ = ffi::lua_pushlstring(state, found.as_ptr().cast(), found.len()),
            None => ffi::lua_pushnil(state),
        }
        1
    }
}
