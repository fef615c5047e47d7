//! JSON of scripts: tables from text, text from tables. Objects are written with their keys in byte order, so that the same table is the
//! same text on every store.

use mlua::{Lua, LightUserData, Table, Value};
use serde_json::Value as Json;

/// Tables within tables.
const DEPTH: usize = 100;

/// The table, string, number or truth that a text stands for.
///
/// # Errors
/// What is wrong with the text, and where.
pub(crate) fn decode(lua: &Lua, text: &[u8]) -> Result<Value, String> {
    let json: Json = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    from_json(lua, json).map_err(|error| error.to_string())
}

/// `json.null`: what stands for null in tables, where nil cannot.
pub(crate) const NULL: Value = Value::LightUserData(LightUserData(std::ptr::null_mut()));

fn from_json(lua: &Lua, json: Json) -> mlua::Result<Value> {
    Ok(match json {
        Json::Null => NULL,
        Json::Bool(truth) => Value::Boolean(truth),
        Json::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
        Json::String(text) => Value::String(lua.create_string(text)?),
        Json::Array(items) => {
            let table = lua.create_table_with_capacity(items.len(), 0)?;
            for (at, item) in items.into_iter().enumerate() {
                table.raw_set(at + 1, from_json(lua, item)?)?;
            }
            Value::Table(table)
        }
        Json::Object(fields) => {
            let table = lua.create_table_with_capacity(0, fields.len())?;
            for (name, item) in fields {
                table.raw_set(name, from_json(lua, item)?)?;
            }
            Value::Table(table)
        }
    })
}

/// The text of a value.
///
/// # Errors
/// What cannot be written.
pub(crate) fn encode(value: &Value) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    write(value, &mut out, 0)?;
    Ok(out)
}

fn write(value: &Value, out: &mut Vec<u8>, depth: usize) -> Result<(), String> {
    if depth > DEPTH {
        return Err(format!("tables within tables, more than {DEPTH} deep"));
    }
    match value {
        Value::Nil => out.extend_from_slice(b"null"),
        value if *value == NULL => out.extend_from_slice(b"null"),
        Value::Boolean(truth) => out.extend_from_slice(if *truth { b"true" } else { b"false" }),
        Value::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Number(number) if !number.is_finite() => return Err(format!("the number {number}")),
        Value::Number(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
            out.extend_from_slice((*number as i64).to_string().as_bytes());
        }
        Value::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::String(text) => quote(&text.as_bytes(), out)?,
        Value::Table(table) => return write_table(table, out, depth),
        other => return Err(format!("a {}", other.type_name())),
    }
    Ok(())
}

fn quote(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "a string that is not UTF-8".to_owned())?;
    serde_json::to_writer(out, text).map_err(|error| error.to_string())
}

/// A table with the keys 1 to n is a list, every other one an object; so is an empty one.
fn write_table(table: &Table, out: &mut Vec<u8>, depth: usize) -> Result<(), String> {
    let length = table.raw_len();
    let mut fields = Vec::new();
    let mut items = 0;
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair.map_err(|error| error.to_string())?;
        match key {
            Value::Integer(at) if at >= 1 && at as usize <= length => items += 1,
            Value::Number(at) if at >= 1.0 && at <= length as f64 => items += 1,
            Value::String(name) => fields.push((name.as_bytes().to_vec(), value)),
            other => return Err(format!("a table with a {} as key", other.type_name())),
        }
    }
    if items > 0 && !fields.is_empty() {
        return Err("a table with both numbers and names as keys".into());
    }
    if items > 0 {
        out.push(b'[');
        for at in 1..=length {
            if at > 1 {
                out.push(b',');
            }
            let item: Value = table.raw_get(at).map_err(|error| error.to_string())?;
            write(&item, out, depth + 1)?;
        }
        out.push(b']');
        return Ok(());
    }
    fields.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    out.push(b'{');
    for (at, (name, value)) in fields.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        quote(name, out)?;
        out.push(b':');
        write(value, out, depth + 1)?;
    }
    out.push(b'}');
    Ok(())
}
