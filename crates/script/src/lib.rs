//! Jobs written as Lua scripts: `kvtrial run FILE.lua`.
//!
//! A script is straight code; each slot runs it as a coroutine that yields operations, so that `kv.get` looks like a call at any number
//! of clients. kvtrial remembers what the script wrote and checks every reply.
//!
//! * `source`, `machine`, `builtins`, `prelude.lua`: the file, the Lua state, and what scripts find in it.
//! * `coroutine`: resuming a client without a copy; the only place that handles Lua's stack.
//! * `history`, `entry`, `crowd`, `kind`, `counters`, `shared_map`: what was written, and what may be read; kept so that threads do not wait for each other.
//! * `clash`: what a script may not do, in words.
//! * `command`: where commands of Redis have their keys, and which a script may not send. `sql`: which statements it may not send.
//! * `fates`: what became of writes that failed, and of acknowledged ones.
//! * `scripted`, `trial`, `worker`, `replies`, `read_back`: the job.
//! * `rehearsal`: which keys a script uses, found without a store. `shares`: what processes tell each other that drive its clients together.
//! * `json`, `json_write`, `json_add`, `exact`: JSON to and from Lua's tables, numbers added within its text, and whole numbers Lua cannot hold.
//! * `pattern`, `strings`, `library.lua`: Lua's own functions that LuaJIT's could not be ended in, or not wait for a store.
//! * `watch`: what ends an endless loop.
//! * [`mod@reference`]: every verb, for the documentation.
//!
//! What never lives here: a store, timing, printing. No other crate knows mlua.

mod ask;
mod builtins;
mod clash;
mod command;
mod coroutine;
mod counters;
mod crowd;
mod entry;
mod exact;
mod examples;
mod fates;
mod hints;
mod history;
mod json;
mod json_add;
mod json_write;
mod kind;
mod lines;
mod machine;
mod mortal;
mod pattern;
mod plausibility;
mod read_back;
pub mod reference;
mod registry;
mod rehearsal;
mod replies;
mod scripted;
mod shared_map;
mod shares;
mod source;
mod sql;
mod standing;
mod strings;
mod trial;
mod watch;
mod worker;

pub use examples::{EXAMPLES, Example};
pub use registry::{ScriptFile, file, find, is_script, short, take};
