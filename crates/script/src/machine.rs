//! A Lua state with what scripts find there, for the clients of one thread in one phase.

use crate::coroutine::{Coroutine, Raised};
use crate::json;
use crate::lines::{DataText, csv_fields};
use crate::source::ScriptText;
use crate::standing::TrialState;
use crate::{hints, watch};
use job::Params;
use mlua::{Function, Lua, LuaOptions, StdLib, Table};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use store::{Capabilities, OperationKind};
use study::ReasonKind;

/// Memory a machine may take.
pub(crate) const MEMORY_BYTES: usize = 512 << 20;
const PRELUDE: &str = include_str!("prelude.lua");

/// A parameter a script declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    pub(crate) name: String,
    pub(crate) default: String,
    pub(crate) help: String,
}

/// What a script is, as it says itself.
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
    pub(crate) params: Vec<Declared>,
}

/// Data read so far, by name.
pub(crate) type Texts = Mutex<BTreeMap<String, Arc<DataText>>>;

/// What a machine is made from.
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

/// The state.
pub(crate) struct Machine {
    lua: Lua,
    open: Function,
    known: Rc<Known>,
}

/// What the functions scripts call know.
struct Known {
    surroundings: Surroundings,
    standing: Option<Arc<TrialState>>,
    declared: RefCell<Vec<Declared>>,
    shared: Cell<Option<bool>>,
    top: Cell<bool>,
    units: Cell<u64>,
    keys: RefCell<Option<Vec<Box<[u8]>>>>,
    open: RefCell<Vec<(String, Arc<DataText>)>>,
    zipf: RefCell<Option<(u64, f64, data::zipf::Zipf)>>,
}

impl Machine {
    /// A machine with the script loaded and nothing run.
    ///
    /// # Errors
    /// The script cannot be read as Lua.
    pub(crate) fn new(surroundings: Surroundings, standing: Option<Arc<TrialState>>) -> Result<Machine, Raised> {
        let known = Rc::new(Known {
            surroundings,
            standing,
            declared: RefCell::default(),
            shared: Cell::new(None),
            top: Cell::new(true),
            units: Cell::new(0),
            keys: RefCell::default(),
            open: RefCell::default(),
            zipf: RefCell::default(),
        });
        Machine::with(known).map_err(raised)
    }

    fn with(known: Rc<Known>) -> mlua::Result<Machine> {
        let libraries = StdLib::STRING | StdLib::TABLE | StdLib::MATH | StdLib::BIT | StdLib::JIT;
        // Panics are not caught by pcall: the functions here do not panic, and a pcall of Lua's own lets calls to the store through.
        let lua = Lua::new_with(libraries, LuaOptions::new().catch_rust_panics(false))?;
        let source = &known.surroundings.source;
        let text = source
            .text
            .strip_prefix("#!")
            .map_or(source.text.as_str(), |rest| rest.find('\n').map_or("", |end| &rest[end..]));
        let chunk =
            lua.load(text).set_name(format!("@{}", source.name)).set_mode(mlua::ChunkMode::Text).into_function()?;
        let host = host(&lua, &known)?;
        let open: Function = lua.load(PRELUDE).set_name("=kvtrial").call((host, chunk))?;
        Ok(Machine { lua, open, known })
    }

    /// Asks the script what it is.
    ///
    /// # Errors
    /// Its top level failed.
    pub(crate) fn survey(&self) -> Result<Survey, Raised> {
        let found: Table = self.at_top(|| self.open.call((1, 1)))?;
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
            params: self.known.declared.borrow().clone(),
        })
    }

    /// A client's coroutine in a phase; `None`: it has nothing to do there.
    ///
    /// # Errors
    /// The top level failed.
    pub(crate) fn open(&self, number: u32, clients: u32, phase: &str) -> Result<Option<Coroutine>, Raised> {
        self.known.top.set(true);
        let act: Option<Function> = self.at_top(|| self.open.call((number, clients, phase)))?;
        let Some(act) = act else { return Ok(None) };
        let thread = self.lua.create_thread(act).map_err(raised)?;
        let coroutine = Coroutine::of(&thread);
        self.lua.set_named_registry_value(&format!("client {number}"), thread).map_err(raised)?;
        Ok(Some(coroutine))
    }

    /// Runs the top level of the script, within bounds.
    fn at_top<T>(&self, act: impl FnOnce() -> mlua::Result<T>) -> Result<T, Raised> {
        let state = self.state();
        watch::bound(state);
        self.limit();
        let done = act();
        self.unlimit();
        watch::calm(state);
        done.map_err(raised)
    }

    /// The memory of scripts is bounded from now on.
    #[inline]
    pub(crate) fn limit(&self) {
        let _ = self.lua.set_memory_limit(MEMORY_BYTES); // fails only for a state made elsewhere
    }

    /// kvtrial's own allocations, on the script's behalf, are not.
    #[inline]
    pub(crate) fn unlimit(&self) {
        let _ = self.lua.set_memory_limit(0);
    }

    /// The main state, for the watch.
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

/// An error of mlua in a script's words.
fn raised(error: mlua::Error) -> Raised {
    let text = match &error {
        mlua::Error::CallbackError { cause, .. } => cause.to_string(),
        other => other.to_string(),
    };
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let words = first.strip_prefix("runtime error: ").or_else(|| first.strip_prefix("syntax error: ")).unwrap_or(first);
    let own = |line: &&str| {
        !line.is_empty() && !line.starts_with("[C]") && !line.starts_with("kvtrial:") && *line != "stack traceback:"
    };
    let calls: Vec<String> = lines.map(str::trim).filter(own).map(|line| line.replacen(": in", " in", 1)).collect();
    let place =
        calls.first().and_then(|call| call.split(" in ").next()).filter(|_| words.starts_with("attempt to yield"));
    let words = place.map_or_else(|| words.to_owned(), |place| format!("{place}: {words}"));
    Raised { words: hints::explain(&words), calls }
}

/// A value, or nil and what is wrong: how the functions of the prelude are answered.
fn answered<T>(result: Result<T, String>) -> (Option<T>, Option<String>) {
    match result {
        Ok(value) => (Some(value), None),
        Err(words) => (None, Some(words)),
    }
}

/// The functions and facts the prelude stands on.
fn host(lua: &Lua, known: &Rc<Known>) -> mlua::Result<Table> {
    let host = lua.create_table()?;
    facts(lua, &host, known)?;
    reading(lua, &host, known)?;
    let it = Rc::clone(known);
    host.set("top", lua.create_function(move |_, ()| Ok(it.top.get()))?)?;
    let it = Rc::clone(known);
    host.set(
        "below",
        lua.create_function(move |_, ()| {
            it.top.set(false);
            Ok(())
        })?,
    )?;
    let it = Rc::clone(known);
    host.set(
        "shared",
        lua.create_function(move |_, truth: bool| {
            it.shared.set(Some(truth));
            Ok(())
        })?,
    )?;
    let it = Rc::clone(known);
    host.set(
        "unit",
        lua.create_function(move |_, ()| {
            it.units.set(it.units.get() + 1);
            Ok(())
        })?,
    )?;
    let it = Rc::clone(known);
    host.set(
        "param",
        lua.create_function(move |_, (name, default, help)| Ok(answered(it.param(name, default, help))))?,
    )?;
    let it = Rc::clone(known);
    host.set(
        "say",
        lua.create_function(move |_, line: mlua::String| {
            it.standing.iter().for_each(|standing| standing.say(&line.as_bytes()));
            Ok(())
        })?,
    )?;
    let it = Rc::clone(known);
    host.set(
        "unexpected",
        lua.create_function(move |_, why: String| {
            it.standing.iter().for_each(|standing| standing.fail(ReasonKind::NotAsExpected, why.clone()));
            Ok(())
        })?,
    )?;
    let it = Rc::clone(known);
    host.set("key", lua.create_function(move |lua, at: usize| it.key(lua, at))?)?;
    host.set("meant", lua.create_function(|_, name: String| Ok(hints::verb(&name)))?)?;
    host.set(
        "owner",
        lua.create_function(|_, (key, clients): (mlua::String, u64)| {
            Ok(jobs::fingerprint::fingerprint(&key.as_bytes()) % clients.max(1) + 1)
        })?,
    )?;
    let it = Rc::clone(known);
    host.set(
        "zipf",
        lua.create_function(move |_, (n, exponent, a, b): (u64, f64, f64, f64)| Ok(it.zipf(n, exponent, a, b)))?,
    )?;
    Ok(host)
}

/// What does not change.
fn facts(lua: &Lua, host: &Table, known: &Known) -> mlua::Result<()> {
    let Surroundings { params, data, seed, capabilities, .. } = &known.surroundings;
    let native = lua.create_table()?;
    for (name, kind) in [
        ("append", OperationKind::Append),
        ("increment", OperationKind::Increment),
        ("get_many", OperationKind::GetMany),
        ("put_many", OperationKind::PutMany),
    ] {
        native.set(name, capabilities.has(kind))?;
    }
    host.set("native", native)?;
    host.set("data", if params.is_none() { Some(String::new()) } else { data.clone() })?;
    host.set("seed", (*seed % (1 << 31)) as f64)?;
    host.set("lax", capabilities.keeps == store::Keeps::Nothing)?;
    let number = |name: &str| params.as_ref().and_then(|params| params.get(name)?.parse::<f64>().ok()).unwrap_or(0.0);
    let seconds = number("seconds");
    host.set("again", seconds > 0.0)?;
    host.set("units", if seconds > 0.0 { f64::INFINITY } else { number("units") })?;
    let context = lua.create_table()?;
    for (name, value) in params.iter().flatten() {
        context.set(name.as_str(), value.as_str())?;
    }
    host.set("context", context)?;
    host.set("null", mlua::LightUserData(std::ptr::null_mut()))
}

/// Reading data and JSON.
fn reading(lua: &Lua, host: &Table, known: &Rc<Known>) -> mlua::Result<()> {
    let it = Rc::clone(known);
    host.set("open", lua.create_function(move |_, source: String| Ok(answered(it.open(&source))))?)?;
    let it = Rc::clone(known);
    host.set("count", lua.create_function(move |_, id: usize| Ok(it.text(id, DataText::len)))?)?;
    let it = Rc::clone(known);
    let name = move |_: &Lua, id: usize| Ok(it.open.borrow().get(id).map(|(name, _)| name.clone()));
    host.set("source", lua.create_function(name)?)?;
    let it = Rc::clone(known);
    host.set(
        "line",
        lua.create_function(move |lua, (id, number): (usize, usize)| {
            let open = it.open.borrow();
            open.get(id).and_then(|(_, text)| text.line(number)).map(|line| lua.create_string(line)).transpose()
        })?,
    )?;
    host.set(
        "csv",
        lua.create_function(|lua, line: mlua::String| match csv_fields(&line.as_bytes()) {
            Ok(fields) => {
                let fields: mlua::Result<Vec<_>> = fields.iter().map(|field| lua.create_string(field)).collect();
                Ok((Some(fields?), None))
            }
            Err(words) => Ok((None, Some(words))),
        })?,
    )?;
    // SAFETY: both take what they are given from Lua's stack and leave their results there, as Lua's own functions do.
    unsafe {
        host.set("decode", lua.create_c_function(json::decode)?)?;
        host.set("encode", lua.create_c_function(json::encode)?)
    }
}

impl Known {
    /// A parameter's value; only the top level declares any.
    fn param(&self, name: String, default: String, help: String) -> Result<String, String> {
        if self.top.get() && !self.declared.borrow().iter().any(|known| known.name == name) {
            self.declared.borrow_mut().push(Declared { name: name.clone(), default: default.clone(), help });
        }
        match &self.surroundings.params {
            None => Ok(default),
            Some(params) => params.get(&name).cloned().ok_or_else(|| {
                "it was not declared at the top level, where kvtrial looks for parameters before it runs anything"
                    .into()
            }),
        }
    }

    /// Opens data: what the user named, or what is shipped with kvtrial.
    fn open(&self, source: &str) -> Result<usize, String> {
        let text = if self.surroundings.params.is_none() {
            Arc::new(DataText::default())
        } else if self.surroundings.data.as_deref() == Some(source) || data::fans::shipped(source).is_some() {
            let mut texts = self.surroundings.texts.lock().unwrap_or_else(PoisonError::into_inner);
            match texts.get(source) {
                Some(text) => Arc::clone(text),
                None => {
                    let text = Arc::new(DataText::load(source)?);
                    texts.insert(source.into(), Arc::clone(&text));
                    text
                }
            }
        } else {
            return Err(format!("'{source}' is not what --data names: a script reads kv.data and no other file"));
        };
        let mut open = self.open.borrow_mut();
        open.push((source.into(), text));
        Ok(open.len() - 1)
    }

    fn text<T>(&self, id: usize, ask: impl FnOnce(&DataText) -> T) -> Option<T> {
        self.open.borrow().get(id).map(|(_, text)| ask(text))
    }

    /// The key at a place, from 1, among those that are there when the first is asked for.
    fn key(&self, lua: &Lua, at: usize) -> mlua::Result<Option<mlua::String>> {
        let Some(standing) = &self.standing else { return Ok(None) };
        let mut keys = self.keys.borrow_mut();
        if at == 1 || keys.is_none() {
            *keys = Some(standing.ledger.keys(crate::ledger::Which::There));
        }
        let key = keys.as_ref().and_then(|keys| keys.get(at.checked_sub(1)?));
        key.map(|key| lua.create_string(key)).transpose()
    }

    /// A number from 1 to n, small ones the more often.
    fn zipf(&self, n: u64, exponent: f64, a: f64, b: f64) -> u64 {
        let mut kept = self.zipf.borrow_mut();
        if !kept.as_ref().is_some_and(|(known, s, _)| *known == n && *s == exponent) {
            *kept = Some((n, exponent, data::zipf::Zipf::new(n.max(1), exponent.clamp(0.0, 10.0))));
        }
        let Some((_, _, zipf)) = kept.as_ref() else { return 1 };
        let mut random = data::wyrand::WyRand::new((a * 2_147_483_562.0) as u64, (b * 2_147_483_562.0) as u64);
        zipf.draw(&mut random) + 1
    }
}
