//! What a script can call of kvtrial's own: the functions and facts the prelude stands on.

use crate::command;
use crate::hints;
use crate::lines::{DataText, csv_fields};
use crate::machine::{Declared, Surroundings};
use crate::sql;
use crate::standing::TrialState;
use crate::watch::LuaPulse;
use crate::{json, json_add, json_write};
use jobs::expires::Expires;
use mlua::{Lua, Table, Variadic};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, PoisonError};
use store::{Expiry, OperationKind};
use study::ReasonKind;

/// The things known to the functions scripts call.
pub(crate) struct ScriptHost {
    pub(crate) surroundings: Surroundings,
    pub(crate) standing: Option<Arc<TrialState>>,
    pub(crate) declared: RefCell<Vec<Declared>>,
    pub(crate) shared: Cell<Option<bool>>,
    /// The job that is compiled in and does the same work.
    pub(crate) like: RefCell<Option<String>>,
    pub(crate) top: Cell<bool>,
    pub(crate) units: Cell<u64>,
    pub(crate) pulse: Arc<LuaPulse>,
    keys: RefCell<Option<Vec<Box<[u8]>>>>,
    open: RefCell<Vec<(String, Arc<DataText>)>>,
    zipf: RefCell<Option<(u64, f64, data::zipf::Zipf)>>,
}

/// A value, or nil and what is wrong: how the functions of the prelude are answered.
fn answered<T>(result: Result<T, String>) -> (Option<T>, Option<String>) {
    match result {
        Ok(value) => (Some(value), None),
        Err(words) => (None, Some(words)),
    }
}

/// Returns why a script may not send a command; true: that depends on the words behind the name, of which there were none.
fn refusal(words: &[mlua::String]) -> (bool, Option<&'static str>) {
    let bytes: Vec<_> = words.iter().map(mlua::String::as_bytes).collect();
    let words: Vec<&[u8]> = bytes.iter().map(|bytes| &**bytes).collect();
    (command::has_forms(&words), command::refusal(&words))
}

/// Returns why a script may not send a statement of SQL.
fn sql_refusal(text: &mlua::String) -> Option<&'static str> {
    sql::refusal(&text.to_string_lossy())
}

/// Returns the functions and facts the prelude stands on.
pub(crate) fn host(lua: &Lua, known: &Rc<ScriptHost>) -> mlua::Result<Table> {
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
        "like",
        lua.create_function(move |_, job: String| {
            let known = jobs::find(&job).is_some();
            it.like.replace(known.then_some(job));
            Ok(known)
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
    let gave_up = move |_: &Lua, ()| Ok(it.standing.as_ref().is_some_and(|standing| standing.has_given_up()));
    host.set("gave_up", lua.create_function(gave_up)?)?;
    let it = Rc::clone(known);
    host.set("key", lua.create_function(move |lua, at: usize| it.key(lua, at))?)?;
    host.set("refusal", lua.create_function(|_, words: Variadic<mlua::String>| Ok(refusal(&words)))?)?;
    host.set("sql_refusal", lua.create_function(|_, text: mlua::String| Ok(sql_refusal(&text)))?)?;
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
fn facts(lua: &Lua, host: &Table, known: &ScriptHost) -> mlua::Result<()> {
    let Surroundings { params, data, seed, capabilities, .. } = &known.surroundings;
    let native = lua.create_table()?;
    let by_reader = known.surroundings.expires() == Some(Expires::ByReader);
    for (name, kind) in [
        ("append", OperationKind::Append),
        ("increment", OperationKind::Increment),
        ("get_many", OperationKind::GetMany),
        ("put_many", OperationKind::PutMany),
    ] {
        // A moment in the value is put there one by one.
        native.set(name, capabilities.has(kind) && (!by_reader || kind == OperationKind::Increment))?;
    }
    native.set("touch", capabilities.has(OperationKind::Touch))?;
    let ttl = lua.create_table()?;
    let Expiry { grain_ms, least_ms, most_ms, .. } = match known.surroundings.expires() {
        Some(Expires::InStore(expiry)) => expiry,
        _ => Expiry::IN_MS,
    };
    ttl.set("grain_ms", grain_ms as f64)?;
    ttl.set("least_ms", least_ms as f64)?;
    ttl.set("most_ms", most_ms as f64)?;
    host.set("ttl", ttl)?;
    host.set("native", native)?;
    host.set("data", if params.is_none() { Some(String::new()) } else { data.clone() })?;
    host.set("seed", (*seed % (1 << 31)) as f64)?;
    host.set("lax", capabilities.keeps == store::Keeps::Nothing)?;
    let lasts = known.surroundings.lasts();
    host.set("again", lasts)?;
    host.set("units", if lasts { f64::INFINITY } else { known.surroundings.number("units") })?;
    let context = lua.create_table()?;
    for (name, value) in params.iter().flatten() {
        context.set(name.as_str(), value.as_str())?;
    }
    host.set("context", context)?;
    host.set("null", mlua::LightUserData(std::ptr::null_mut()))
}

/// Reading data and JSON.
fn reading(lua: &Lua, host: &Table, known: &Rc<ScriptHost>) -> mlua::Result<()> {
    let it = Rc::clone(known);
    host.set("open", lua.create_function(move |_, source: String| Ok(answered(it.open(&source))))?)?;
    let it = Rc::clone(known);
    host.set("count", lua.create_function(move |_, id: usize| Ok(it.text(id, DataText::len)))?)?;
    let it = Rc::clone(known);
    host.set("records", lua.create_function(move |_, id: usize| Ok(it.text(id, DataText::records)))?)?;
    let it = Rc::clone(known);
    let line_of = move |_: &Lua, (id, record): (usize, usize)| Ok(it.text(id, |text| text.line_of(record)));
    host.set("line_of", lua.create_function(line_of)?)?;
    host.set(
        "separator",
        lua.create_function(|_, header: mlua::String| Ok(data::docs::separator(&header.as_bytes())))?,
    )?;
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
        lua.create_function(|lua, (line, separator): (mlua::String, u8)| {
            match csv_fields(&line.as_bytes(), separator) {
                Ok(fields) => {
                    let fields: mlua::Result<Vec<_>> = fields.iter().map(|field| lua.create_string(field)).collect();
                    Ok((Some(fields?), None))
                }
                Err(words) => Ok((None, Some(words))),
            }
        })?,
    )?;
    // SAFETY: all take what they are given from Lua's stack and leave their results there, as Lua's own functions do.
    unsafe {
        host.set("add", lua.create_c_function(json_add::add)?)?;
        host.set("decode", lua.create_c_function(json::decode)?)?;
        host.set("encode", lua.create_c_function(json_write::encode)?)
    }
}

impl ScriptHost {
    pub(crate) fn new(surroundings: Surroundings, standing: Option<Arc<TrialState>>) -> ScriptHost {
        ScriptHost {
            surroundings,
            standing,
            declared: RefCell::default(),
            shared: Cell::new(None),
            like: RefCell::default(),
            top: Cell::new(true),
            units: Cell::new(0),
            pulse: Arc::default(),
            keys: RefCell::default(),
            open: RefCell::default(),
            zipf: RefCell::default(),
        }
    }

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
                    // Reading is no work of the script's, however long it takes.
                    self.pulse.beat();
                    let text = DataText::load(source);
                    self.pulse.beat();
                    let text = Arc::new(text?);
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
            *keys = Some(standing.ledger.keys(crate::history::Which::There));
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
