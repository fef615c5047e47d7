//! A Lua state with what scripts find there, for the clients of one thread in one phase.

use crate::ask;
use crate::builtins::ScriptHost;
use crate::clash::Counting;
use crate::coroutine::{Coroutine, Raised, calls_of, placed};
use crate::lines::DataText;
use crate::source::ScriptText;
use crate::standing::TrialState;
use crate::watch::LoopWatch;
use crate::{builtins, exact, hints, strings, watch};
use jobkit::Params;
use jobs::expires::Expires;
use mlua::{FromLuaMulti, Function, IntoLuaMulti, Lua, LuaOptions, MultiValue, StdLib, Table, ThreadStatus};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use store::{Capabilities, OperationKind};

/// Memory a machine may take.
pub(crate) const MEMORY_BYTES: usize = 512 << 20;
const LIBRARY: &str = include_str!("library.lua");

/// A parameter a script declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    pub(crate) name: String,
    pub(crate) default: String,
    pub(crate) help: String,
}

/// The description of a script, as the script gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Survey {
    pub(crate) phases: Vec<String>,
    pub(crate) answers: bool,
    /// It has the form of keybench.
    pub(crate) bench: bool,
    pub(crate) batched: bool,
    /// The parameter keybench would sweep, with its first value.
    pub(crate) sweep: Option<(String, String)>,
    pub(crate) shared: Option<bool>,
    /// The job that is compiled in and does the same work.
    pub(crate) like: Option<String>,
    pub(crate) params: Vec<Declared>,
}

/// The time for which a client's function is called in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lasts {
    /// Once.
    Once,
    /// Again and again: time ends the phase.
    AsLongAsThereIsTime,
}

/// Data read so far, by name.
pub(crate) type Texts = Mutex<BTreeMap<String, Arc<DataText>>>;

/// The surroundings a machine is made from.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) source: Arc<ScriptText>,
    /// `None`: only what the script is is asked; nothing is read.
    pub(crate) params: Option<Params>,
    pub(crate) data: Option<String>,
    pub(crate) texts: Arc<Texts>,
    pub(crate) seed: u64,
    pub(crate) capabilities: Capabilities,
}

impl Surroundings {
    /// Returns whether timed phases last a time that was set, their functions called again and again.
    pub(crate) fn lasts(&self) -> bool {
        self.number("seconds") > 0.0
    }

    /// Returns how the script counts.
    pub(crate) fn counting(&self) -> Counting {
        match self.source.uses("increment") && !self.capabilities.has(OperationKind::Increment) {
            true => Counting::ByGetAndPut,
            false => Counting::ByStore,
        }
    }

    /// Returns how values expire; `None`: the script names no time to live.
    pub(crate) fn expires(&self) -> Option<Expires> {
        self.source.names_ttl.then(|| Expires::of(&self.capabilities))
    }

    /// Returns a parameter as a number; 0 where it is none.
    pub(crate) fn number(&self, name: &str) -> f64 {
        self.params.as_ref().and_then(|params| params.get(name)?.parse().ok()).unwrap_or(0.0)
    }
}

/// The state.
pub(crate) struct Machine {
    lua: Lua,
    open: Function,
    known: Rc<ScriptHost>,
    /// The watch of a machine outside any trial.
    own_watch: Option<LoopWatch>,
}

impl Machine {
    /// Makes a machine with the script loaded and nothing run.
    ///
    /// # Errors
    /// The script cannot be read as Lua.
    pub(crate) fn new(surroundings: Surroundings, standing: Option<Arc<TrialState>>) -> Result<Machine, Raised> {
        let known = Rc::new(ScriptHost::new(surroundings, standing));
        Machine::with(known).map_err(raised)
    }

    fn with(known: Rc<ScriptHost>) -> mlua::Result<Machine> {
        let libraries = StdLib::STRING | StdLib::TABLE | StdLib::MATH | StdLib::BIT | StdLib::JIT;
        // With this option mlua leaves Lua's own pcall as it is, through which a call to the store can wait; its own is a function in C.
        let lua = Lua::new_with(libraries, LuaOptions::new().catch_rust_panics(true))?;
        let source = &known.surroundings.source;
        let text = source
            .text
            .strip_prefix("#!")
            .map_or(source.text.as_str(), |rest| rest.find('\n').map_or("", |end| &rest[end..]));
        let chunk =
            lua.load(text).set_name(format!("@{}", source.name)).set_mode(mlua::ChunkMode::Text).into_function()?;
        let host = builtins::host(&lua, &known)?;
        strings::replace(&lua, &host)?;
        exact::install(&lua, &host)?;
        exact::define(&lua, lua.load(LIBRARY).set_name("=kvtrial").call(&host)?)?;
        let open: Function = lua.load(ask::PRELUDE).set_name("=kvtrial").call((host, chunk))?;
        let own_watch = known.standing.is_none().then(LoopWatch::default);
        let machine = Machine { lua, open, known, own_watch };
        if let Some(watch) = machine.watch() {
            watch.add(&machine.known.pulse, machine.state());
        }
        Ok(machine)
    }

    /// What ends it when it computes for too long.
    fn watch(&self) -> Option<&LoopWatch> {
        self.known.standing.as_ref().map(|standing| &standing.watch).or(self.own_watch.as_ref())
    }

    /// Notes that Lua begins to run, or has stopped.
    #[inline]
    pub(crate) fn beat(&self) {
        self.known.pulse.beat();
    }

    /// Asks the script what it is.
    ///
    /// # Errors
    /// Its top level failed.
    pub(crate) fn survey(&self) -> Result<Survey, Raised> {
        let found: Table = self.at_top((1, 1))?;
        self.read_survey(&found).map_err(raised)
    }

    fn read_survey(&self, found: &Table) -> mlua::Result<Survey> {
        let bench: Option<String> = found.get("bench")?;
        let sweep: Option<String> = found.get("sweep")?;
        let first: Option<String> = found.get("sweep_default")?;
        Ok(Survey {
            phases: found.get("phases")?,
            answers: found.get("answer")?,
            bench: bench.is_some(),
            batched: found.get("batched")?,
            sweep: sweep.zip(first),
            shared: self.known.shared.get(),
            like: self.known.like.borrow().clone(),
            params: self.known.declared.borrow().clone(),
        })
    }

    /// Returns a client's coroutine in a phase; `None`: it has nothing to do there.
    ///
    /// # Errors
    /// The top level failed.
    pub(crate) fn open(
        &self,
        number: u32,
        clients: u32,
        phase: &str,
        lasts: Lasts,
    ) -> Result<Option<Coroutine>, Raised> {
        self.known.top.set(true);
        let again = lasts == Lasts::AsLongAsThereIsTime;
        let act: Option<Function> = self.at_top((number, clients, phase, again))?;
        let Some(act) = act else { return Ok(None) };
        let thread = self.lua.create_thread(act).map_err(raised)?;
        let coroutine = Coroutine::of(&thread, self.state());
        self.lua.set_named_registry_value(&format!("client {number}"), thread).map_err(raised)?;
        Ok(Some(coroutine))
    }

    /// Runs the top level of the script, within bounds: in a coroutine of its own, so that a verb called there is found even within `pcall`.
    fn at_top<T: FromLuaMulti>(&self, client: impl IntoLuaMulti) -> Result<T, Raised> {
        let thread = self.lua.create_thread(self.open.clone()).map_err(raised)?;
        self.limit();
        self.beat();
        let done = thread.resume::<MultiValue>(client);
        self.beat();
        self.unlimit();
        watch::calm(self.state());
        let values = done.map_err(raised)?;
        if thread.status() == ThreadStatus::Resumable {
            let calls = Coroutine::of(&thread, self.state()).calls();
            return Err(Raised { words: hints::explain(&placed("attempt to yield", &calls)), calls });
        }
        T::from_lua_multi(values, &self.lua).map_err(raised)
    }

    /// Bounds the memory of scripts from now on.
    #[inline]
    pub(crate) fn limit(&self) {
        let _ = self.lua.set_memory_limit(MEMORY_BYTES); // fails only for a state made elsewhere
    }

    /// Lifts the bound on memory: kvtrial's own allocations, on the script's behalf, are not bounded.
    #[inline]
    pub(crate) fn unlimit(&self) {
        let _ = self.lua.set_memory_limit(0);
    }

    /// Returns the main state, for the watch.
    pub(crate) fn state(&self) -> *mut c_void {
        let mut found = std::ptr::null_mut();
        // SAFETY: the closure only notes the state.
        let _ = unsafe { self.lua.exec_raw::<()>((), |state| found = state.cast()) };
        found
    }

    /// Units of work done so far.
    pub(crate) fn units(&self) -> u64 {
        self.known.units.get()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Some(watch) = self.watch() {
            watch.remove(&self.known.pulse);
        }
    }
}

/// An error of mlua in a script's words.
fn raised(error: mlua::Error) -> Raised {
    let text = match &error {
        mlua::Error::CallbackError { cause, .. } => cause.to_string(),
        other => other.to_string(),
    };
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let words = first.strip_prefix("runtime error: ").or_else(|| first.strip_prefix("syntax error: ")).unwrap_or(first);
    let calls = calls_of(lines);
    Raised { words: hints::explain(&placed(words, &calls)), calls }
}
