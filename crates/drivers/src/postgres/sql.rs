//! Statements that scripts write: their parameters, and the values of their rows.

use super::client::Link;
use std::cell::RefCell;
use std::collections::HashMap;
use std::error::Error as StdError;
use std::fmt::Write as _;
use std::pin::pin;
use store::SqlValue;
use store::asynchronous::{BufferedReply, ReplyBuffer};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{Format, FromSql, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Error, RowStream, Statement};

/// The most statements of scripts that a connection keeps prepared.
const MOST_PREPARED: usize = 256;

/// The statements of scripts that a connection has prepared, by their text.
#[derive(Default)]
pub(super) struct Scripted(RefCell<HashMap<Box<[u8]>, Statement>>);

impl Scripted {
    fn find(&self, text: &[u8]) -> Option<Statement> {
        self.0.borrow().get(text).cloned()
    }

    fn keep(&self, text: &[u8], statement: &Statement) {
        let known = &mut *self.0.borrow_mut();
        if known.len() == MOST_PREPARED {
            known.clear(); // what is in use is held where it is used
        }
        known.insert(text.into(), statement.clone());
    }

    fn forget(&self, text: &[u8]) {
        self.0.borrow_mut().remove(text);
    }
}

impl Link {
    /// Runs a statement, which gives rows or the number of rows it changed. What the server refuses is an answer, too.
    pub(super) async fn sql(
        &self,
        text: &[u8],
        values: &[SqlValue<'_>],
        out: &mut ReplyBuffer,
    ) -> Result<BufferedReply, Error> {
        match self.run_sql(text, values, out).await {
            Err(error) if is_answer(&error) => {
                if error.code() == Some(&SqlState::FEATURE_NOT_SUPPORTED) {
                    // The rows of a statement that was prepared before its table changed.
                    self.scripted.forget(text);
                }
                out.sql.refused(super::setup::words(&error));
            }
            // A parameter or a column that has no form here: nothing was sent, or the rows were read to their end. A broken connection is no answer.
            Err(error) if error.to_string().contains("serializing") => {
                out.sql.refused(error.source().map_or_else(|| error.to_string(), ToString::to_string));
            }
            done => done?,
        }
        Ok(BufferedReply::Sql)
    }

    async fn run_sql(&self, text: &[u8], values: &[SqlValue<'_>], out: &mut ReplyBuffer) -> Result<(), Error> {
        let statement = match self.scripted.find(text) {
            Some(statement) => statement,
            None => {
                let statement = self.client.prepare(&numbered(&String::from_utf8_lossy(text))).await?;
                self.scripted.keep(text, &statement);
                statement
            }
        };
        if statement.params().len() != values.len() {
            let (due, given) = (statement.params().len(), values.len());
            out.sql.refused(format_args!("the statement has {due} parameters and was given {given}"));
            return Ok(());
        }
        let params = values.iter().map(|value| Param(*value));
        let mut rows = pin!(self.client.query_raw(&statement, params).await?);
        if statement.columns().is_empty() {
            while next(&mut rows).await?.is_some() {}
            out.sql.changed(rows.rows_affected().unwrap_or(0));
            return Ok(());
        }
        out.sql.begin(statement.columns().iter().map(|column| column.name()));
        let mut unread = None;
        while let Some(row) = next(&mut rows).await? {
            for column in 0..row.len() {
                match row.try_get::<_, Option<Found<'_>>>(column) {
                    Ok(None) => out.sql.push(SqlValue::Nil),
                    Ok(Some(Found::Value(value))) => out.sql.push(value),
                    Ok(Some(Found::Digits(digits))) => out.sql.push(SqlValue::Decimal(&digits)),
                    // The rows are read to their end: others may wait behind them on this connection.
                    Err(error) => unread = Some(error),
                }
            }
        }
        unread.map_or(Ok(()), Err)
    }
}

async fn next(rows: &mut std::pin::Pin<&mut RowStream>) -> Result<Option<tokio_postgres::Row>, Error> {
    futures_util::future::poll_fn(|context| futures_util::Stream::poll_next(rows.as_mut(), context)).await.transpose()
}

/// Returns whether the server says that it did not carry out the statement, and goes on.
fn is_answer(error: &Error) -> bool {
    error.code().is_some_and(|code| {
        let ends = code.code().starts_with("57P") || code.code().starts_with("08");
        let unknown = *code == SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN;
        !ends && !unknown && !super::client::undone(error)
    })
}

/// Returns the statement with `$1`, `$2`, … where it has `?`, as other stores have it. A statement that has `$1` is left as it is, and so is
/// what stands in quotes or in comments.
fn numbered(text: &str) -> String {
    if text.contains("$1") || !text.contains('?') {
        return text.to_owned();
    }
    let (mut out, mut number, mut rest) = (String::with_capacity(text.len() + 8), 0, text);
    while let Some(letter) = rest.chars().next() {
        let end = |open: &str, close: &str| {
            rest.strip_prefix(open)
                .map(|inner| inner.find(close).map_or(rest.len(), |at| open.len() + at + close.len()))
        };
        let quoted = end("'", "'").or_else(|| end("\"", "\"")).or_else(|| end("--", "\n")).or_else(|| end("/*", "*/"));
        let length = quoted.or_else(|| end("$$", "$$")).unwrap_or(letter.len_utf8());
        if letter == '?' {
            number += 1;
            // Writing to a string cannot fail.
            let _ = write!(out, "${number}");
        } else {
            out.push_str(&rest[..length]);
        }
        rest = &rest[length..];
    }
    out
}

/// A parameter. Whatever type the server expects, it reads the value from text; bytes go as they are.
#[derive(Debug)]
struct Param<'a>(SqlValue<'a>);

impl ToSql for Param<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self.0 {
            SqlValue::Nil => return Ok(IsNull::Yes),
            SqlValue::Truth(truth) => out.extend_from_slice(if truth { b"true" } else { b"false" }),
            SqlValue::Number(number) => write!(out, "{number}")?,
            SqlValue::Real(number) => write!(out, "{number:?}")?,
            SqlValue::Decimal(digits) => out.extend_from_slice(digits.as_bytes()),
            SqlValue::Text(bytes) if *ty != Type::BYTEA && bytes.contains(&0) => {
                return Err(
                    format!("a parameter has a byte of 0, which {ty} cannot hold. Use a column of bytea").into()
                );
            }
            SqlValue::Text(bytes) => out.extend_from_slice(bytes),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, ty: &Type) -> Format {
        if *ty == Type::BYTEA { Format::Binary } else { Format::Text }
    }

    to_sql_checked!();
}

/// A value of a row.
enum Found<'a> {
    Value(SqlValue<'a>),
    /// A number in decimal.
    Digits(String),
}

impl<'a> FromSql<'a> for Found<'a> {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Found<'a>, Box<dyn StdError + Sync + Send>> {
        Ok(Found::Value(match *ty {
            Type::BOOL => SqlValue::Truth(bool::from_sql(ty, raw)?),
            Type::INT2 => SqlValue::Number(i16::from_sql(ty, raw)?.into()),
            Type::INT4 => SqlValue::Number(i32::from_sql(ty, raw)?.into()),
            Type::INT8 => SqlValue::Number(i64::from_sql(ty, raw)?),
            Type::OID => SqlValue::Number(u32::from_sql(ty, raw)?.into()),
            Type::FLOAT4 => return Ok(Found::Digits(format!("{:?}", f32::from_sql(ty, raw)?))),
            Type::FLOAT8 => SqlValue::Real(f64::from_sql(ty, raw)?),
            Type::NUMERIC => return Ok(Found::Digits(decimal(raw).ok_or("a numeric that is cut off")?)),
            // Its first byte is the version of the form.
            Type::JSONB => SqlValue::Text(raw.get(1..).unwrap_or_default()),
            Type::VOID => SqlValue::Nil,
            _ if reads_as_it_is(ty) => SqlValue::Text(raw),
            _ => {
                return Err(format!(
                    "kvtrial does not read columns of type {ty}. Have the server write it: column::text"
                )
                .into());
            }
        }))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

fn reads_as_it_is(ty: &Type) -> bool {
    matches!(
        *ty,
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN | Type::BYTEA | Type::JSON | Type::XML
    )
}

/// Returns a numeric in decimal. It is sent as four numbers of 16 bits (digits, weight of the first, sign, decimals) and its digits to the
/// base of 10,000: `numeric_send` in PostgreSQL's `numeric.c`.
fn decimal(raw: &[u8]) -> Option<String> {
    let mut words = raw.chunks_exact(2).map(|pair| i16::from_be_bytes([pair[0], pair[1]]));
    let (count, weight, sign, decimals) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let digits: Vec<i16> = words.collect();
    if digits.len() != usize::try_from(count).ok()? {
        return None;
    }
    let mut out = match sign.cast_unsigned() {
        0x0000 => String::new(),
        0x4000 => "-".into(),
        0xD000 => return Some("inf".into()),
        0xF000 => return Some("-inf".into()),
        _ => return Some("nan".into()),
    };
    let digit = |place: i16| usize::try_from(place).ok().and_then(|at| digits.get(at)).copied().unwrap_or(0);
    // Writing to a string cannot fail.
    let _ = write!(out, "{}", if weight < 0 { 0 } else { digit(0) });
    for place in 1..=weight {
        let _ = write!(out, "{:04}", digit(place));
    }
    let decimals = usize::try_from(decimals).ok()?;
    if decimals > 0 {
        let whole = out.len() + 1;
        out.push('.');
        let mut place = weight;
        while out.len() < whole + decimals {
            place = place.checked_add(1)?;
            let _ = write!(out, "{:04}", digit(place));
        }
        out.truncate(whole + decimals);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::{decimal, numbered};

    #[test]
    fn question_marks_become_numbers_but_in_quotes_and_comments() {
        let cases = [
            ("SELECT 1", "SELECT 1"),
            ("SELECT ? + ?", "SELECT $1 + $2"),
            ("SELECT $1, doc ? 'key'", "SELECT $1, doc ? 'key'"),
            ("SELECT '?', \"a?\", ? -- ?\n, ?", "SELECT '?', \"a?\", $1 -- ?\n, $2"),
            ("/* ? */ SELECT $$?$$, 'it''s ?', ?", "/* ? */ SELECT $$?$$, 'it''s ?', $1"),
            ("SELECT 'ü?' || ?", "SELECT 'ü?' || $1"),
            ("SELECT '?", "SELECT '?"),
        ];
        for (text, due) in cases {
            assert_eq!(numbered(text), due);
        }
    }

    #[test]
    fn a_numeric_is_read_digit_by_digit() {
        let sent = |words: &[i16]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
        let cases: [(&[i16], &str); 8] = [
            (&[0, 0, 0, 0], "0"),
            (&[1, 0, 0, 0, 7], "7"),
            (&[2, 1, 0x4000, 0, 12, 34], "-120034"),
            (&[1, 1, 0, 0, 5], "50000"),
            (&[2, 0, 0, 2, 3, 1400], "3.14"),
            (&[1, -1, 0, 4, 12], "0.0012"),
            (&[1, -2, 0, 6, 1200], "0.000012"),
            (&[0, 0, 0xD000_u16 as i16, 0], "inf"),
        ];
        for (words, due) in cases {
            assert_eq!(decimal(&sent(words)).as_deref(), Some(due), "{words:?}");
        }
        assert_eq!(decimal(&sent(&[2, 0, 0, 0, 1])), None);
        assert_eq!(decimal(&[0, 1]), None);
    }
}
