//! The limits of what kvtrial believes of a server. The driver opens its socket itself, so nothing can stand between the two.
//!
//! A packet is refused by what it announces: the driver has a limit, which a connection gets when it is opened. The rows of an answer are
//! counted as they come; together they may be no larger than what the job can get.

use mysql_async::prelude::{FromRow, Protocol};
use mysql_async::{Conn, Error, Opts, OptsBuilder, QueryResult, Row, Value, from_row_opt};
use std::time::Duration;
use store::believed::too_large;

/// The most bytes believed of answers to single questions: settings, groups.
const ANSWER_BYTES: usize = 256 << 20;

/// The most bytes that are sent in one packet: the driver's limit holds for these, too. A longer parameter goes ahead of its statement, in pieces of
/// this size.
const SENT_BYTES: usize = (16 << 20) + (1 << 10);

/// The largest limit the driver takes.
const MOST_PACKET_BYTES: usize = 1 << 30;

/// The size of a packet's header, which is about the size of a number in the packet.
const HEADER_BYTES: usize = 4;
const NUMBER_BYTES: usize = 8;

/// The time a server may take to hear that its answer is not wanted.
const LEAVE_TIMEOUT: Duration = Duration::from_millis(100);

/// Returns the same options, for connections that believe no packet larger than this limit and the packets that the driver itself sends.
pub(super) fn packets_of(opts: &Opts, most_bytes: usize) -> Opts {
    OptsBuilder::from_opts(opts.clone()).max_allowed_packet(Some(most_packet_bytes(most_bytes))).into()
}

fn most_packet_bytes(most_bytes: usize) -> usize {
    most_bytes.clamp(SENT_BYTES, MOST_PACKET_BYTES)
}

/// Returns the words for an error that means a packet beyond the limit.
pub(super) fn broken_by(error: &Error, most_bytes: usize) -> Option<String> {
    // The driver hides the kind of this error.
    let is_packet = matches!(error, Error::Io(_)) && error.to_string().contains("max_allowed_packet");
    is_packet.then(|| too_large(format_args!("more than {}", most_packet_bytes(most_bytes)), most_bytes))
}

/// Returns the error for an answer that does not fit the question.
pub(super) fn nonsense(words: impl Into<String>) -> Error {
    let words: String = words.into();
    Error::Other(words.into())
}

/// The rows of an answer.
pub(super) struct Rows<'a, P: Protocol> {
    result: QueryResult<'a, 'static, P>,
    /// The bytes of the rows so far.
    bytes: usize,
    most_bytes: usize,
}

impl<'a, P: Protocol> Rows<'a, P> {
    pub(super) fn new(result: QueryResult<'a, 'static, P>, most_bytes: usize) -> Rows<'a, P> {
        Rows { result, bytes: 0, most_bytes }
    }

    /// Returns the next row, if there is one and it can be believed.
    pub(super) async fn next(&mut self) -> Result<Option<Row>, Error> {
        let row = self.result.next().await?;
        self.bytes += row.as_ref().map_or(0, size);
        if self.bytes > self.most_bytes {
            return Err(nonsense(too_large(self.bytes, self.most_bytes)));
        }
        Ok(row)
    }
}

/// Returns the approximate bytes of a row on the wire.
fn size(row: &Row) -> usize {
    let columns = (0..row.len()).map(|column| match row.as_ref(column) {
        Some(Value::Bytes(bytes)) => bytes.len(),
        _ => NUMBER_BYTES,
    });
    HEADER_BYTES + columns.sum::<usize>()
}

/// Returns all rows of an answer to a single question.
pub(super) async fn all<T: FromRow, P: Protocol>(result: QueryResult<'_, 'static, P>) -> Result<Vec<T>, Error> {
    let mut rows = Rows::new(result, ANSWER_BYTES);
    let mut all = Vec::new();
    while let Some(row) = rows.next().await? {
        all.push(from_row_opt(row).map_err(|_| nonsense("a row of other columns than were asked for"))?);
    }
    Ok(all)
}

/// Leaves a server in the middle of its answer. The driver reads an answer to its end before it says goodbye, and this answer may have none.
pub(super) fn leave(conn: Conn) {
    tokio::spawn(async { tokio::time::timeout(LEAVE_TIMEOUT, conn.disconnect()).await });
}
