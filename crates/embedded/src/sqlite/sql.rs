//! Statements that scripts write: their parameters, and the values of their rows.

use super::engine::Handle;
use crate::shared::embedded::{EmbeddedReply, Fault};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{CachedStatement, ToSql};
use store::SqlValue;

impl Handle {
    /// Runs a statement, which gives rows or the number of rows it changed. What SQLite refuses is an answer, too.
    pub(super) fn sql(&mut self, text: &[u8], values: &[SqlValue<'_>]) -> EmbeddedReply {
        if let Err(Fault(words)) = self.run_sql(&String::from_utf8_lossy(text), values) {
            self.buffers.sql.refused(words);
        }
        EmbeddedReply::Sql
    }

    fn run_sql(&mut self, text: &str, values: &[SqlValue<'_>]) -> Result<(), Fault> {
        let mut statement = self.connection.prepare_cached(text)?;
        let (due, given) = (statement.parameter_count(), values.len());
        if due != given {
            return Err(Fault(format!("the statement has {due} parameters and was given {given}")));
        }
        for (at, value) in values.iter().enumerate() {
            statement.raw_bind_parameter(at + 1, Param(*value))?;
        }
        // What may write waits for its turn in this process; SQLite would have it wait by sleeping.
        let _turn = (!statement.readonly()).then(|| self.file.turn());
        let out = &mut self.buffers.sql;
        if statement.column_count() == 0 {
            let changed = statement.raw_execute()?;
            out.changed(changed as u64);
            return Ok(());
        }
        out.begin(statement.column_names());
        rows(&mut statement, |value| out.push(value))
    }
}

fn rows(statement: &mut CachedStatement<'_>, mut push: impl FnMut(SqlValue<'_>)) -> Result<(), Fault> {
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        for column in 0..columns {
            push(match row.get_ref(column)? {
                ValueRef::Null => SqlValue::Nil,
                ValueRef::Integer(number) => SqlValue::Number(number),
                ValueRef::Real(number) => SqlValue::Real(number),
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => SqlValue::Text(bytes),
            });
        }
    }
    Ok(())
}

/// A parameter: text where it is UTF-8, else bytes.
struct Param<'a>(SqlValue<'a>);

impl ToSql for Param<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let borrowed = |value| Ok(ToSqlOutput::Borrowed(value));
        match self.0 {
            SqlValue::Nil => Ok(ToSqlOutput::Owned(Value::Null)),
            SqlValue::Truth(truth) => Ok(ToSqlOutput::Owned(Value::Integer(truth.into()))),
            SqlValue::Number(number) => Ok(ToSqlOutput::Owned(Value::Integer(number))),
            SqlValue::Real(number) => Ok(ToSqlOutput::Owned(Value::Real(number))),
            SqlValue::Decimal(digits) => borrowed(ValueRef::Text(digits.as_bytes())),
            SqlValue::Text(bytes) if std::str::from_utf8(bytes).is_ok() => borrowed(ValueRef::Text(bytes)),
            SqlValue::Text(bytes) => borrowed(ValueRef::Blob(bytes)),
        }
    }
}
