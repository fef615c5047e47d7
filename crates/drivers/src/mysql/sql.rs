//! Statements that scripts write: their parameters, and the values of their rows.

use super::bounded::Rows;
use super::client::{Link, refuses};
use mysql_async::consts::ColumnType;
use mysql_async::prelude::Queryable;
use mysql_async::{BinaryProtocol, Error, Params, Value};
use store::SqlValue;
use store::asynchronous::{BufferedReply, ReplyBuffer};

impl Link {
    /// Runs a statement, which gives rows or the number of rows it changed. What the server refuses is an answer, too.
    pub(super) async fn sql(
        &mut self,
        text: &[u8],
        values: &[SqlValue<'_>],
        out: &mut ReplyBuffer,
    ) -> Result<BufferedReply, Error> {
        let text = String::from_utf8_lossy(text);
        match self.run_sql(&text, values, out).await {
            Err(Error::Server(error)) if refuses(error.code) => {
                out.sql.refused(format_args!("{} ({})", error.message, error.code));
            }
            done => done?,
        }
        Ok(BufferedReply::Sql)
    }

    async fn run_sql(&mut self, text: &str, values: &[SqlValue<'_>], out: &mut ReplyBuffer) -> Result<(), Error> {
        // The driver keeps the statements it has prepared last.
        let statement = self.conn.prep(text).await?;
        if usize::from(statement.num_params()) != values.len() {
            let (due, given) = (statement.num_params(), values.len());
            out.sql.refused(format_args!("the statement has {due} parameters and was given {given}"));
            return Ok(());
        }
        let params = match values.is_empty() {
            true => Params::Empty,
            false => Params::Positional(values.iter().map(param).collect()),
        };
        let result = self.conn.exec_iter(&statement, params).await?;
        let columns = result.columns().filter(|columns| !columns.is_empty());
        let Some(columns) = columns else {
            out.sql.changed(result.affected_rows());
            return result.drop_result().await;
        };
        out.sql.begin(columns.iter().map(|column| text_of(column.name_ref())));
        let mut rows: Rows<'_, BinaryProtocol> = Rows::new(result, self.most_bytes);
        while let Some(row) = rows.next().await? {
            for (at, column) in columns.iter().enumerate() {
                push(row.as_ref(at).unwrap_or(&Value::NULL), column.column_type(), out);
            }
        }
        Ok(())
    }
}

fn text_of(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or("?")
}

fn param(value: &SqlValue<'_>) -> Value {
    match *value {
        SqlValue::Nil => Value::NULL,
        SqlValue::Truth(truth) => Value::Int(truth.into()),
        SqlValue::Number(number) => Value::Int(number),
        SqlValue::Real(number) => Value::Double(number),
        SqlValue::Decimal(digits) => Value::Bytes(digits.into()),
        SqlValue::Text(bytes) => Value::Bytes(bytes.into()),
    }
}

/// Writes a value of a row. Moments are text as the server writes them.
fn push(value: &Value, kind: ColumnType, out: &mut ReplyBuffer) {
    let decimal = matches!(kind, ColumnType::MYSQL_TYPE_NEWDECIMAL | ColumnType::MYSQL_TYPE_DECIMAL);
    let sql = &mut out.sql;
    match value {
        Value::NULL => sql.push(SqlValue::Nil),
        Value::Bytes(bytes) if decimal => sql.push(SqlValue::Decimal(text_of(bytes))),
        Value::Bytes(bytes) => sql.push(SqlValue::Text(bytes)),
        Value::Int(number) => sql.push(SqlValue::Number(*number)),
        Value::UInt(number) => match i64::try_from(*number) {
            Ok(number) => sql.push(SqlValue::Number(number)),
            Err(_) => sql.push(SqlValue::Decimal(&number.to_string())),
        },
        Value::Float(number) => sql.push(SqlValue::Decimal(&format!("{number:?}"))),
        Value::Double(number) => sql.push(SqlValue::Real(*number)),
        moment @ (Value::Date(..) | Value::Time(..)) => {
            sql.push(SqlValue::Text(moment.as_sql(true).trim_matches('\'').as_bytes()));
        }
    }
}
