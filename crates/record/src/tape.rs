//! The thread that writes the recording, from the copies that the relay sends. It is beside the way of the bytes: where it cannot write, they
//! pass all the same.

use crate::chunk::{Chunk, Happened};
use crate::conversation::{Conversation, Keeping};
use crate::copies::Copies;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::time::{Duration, Instant};
use trace::kvtrace::{KvtraceWriter, Recorded};

/// What was recorded is in the file after this time at the latest.
const FLUSHED_AFTER: Duration = Duration::from_millis(500);

/// The tape comes for copies after this time at the latest.
const TAKEN_AFTER: Duration = Duration::from_millis(20);

/// What was recorded in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingSum {
    /// Connections of clients.
    pub connections: u64,
    /// Commands.
    pub commands: u64,
    /// RepliesDue that belong to a command.
    pub replies: u64,
    /// Bytes from clients that were not understood.
    pub not_understood_bytes: u64,
    /// Bytes of commands, and of replies.
    pub asked_bytes: u64,
    /// Bytes from the store.
    pub answered_bytes: u64,
    /// Why the recording ends before its time, if it does.
    pub failed: Option<String>,
}

/// Writes until the recording ends.
pub(crate) fn write(writer: KvtraceWriter<File>, keeping: Keeping, copies: &Copies) -> RecordingSum {
    let mut tape = Tape { writer, keeping, open: BTreeMap::new(), sum: RecordingSum::default() };
    let (mut chunks, mut flushed, mut is_over) = (Vec::new(), Instant::now(), false);
    while !is_over {
        copies.take(&mut chunks, TAKEN_AFTER);
        for chunk in chunks.drain(..) {
            is_over |= matches!(chunk.what, Happened::End);
            let written = tape.take(chunk);
            tape.note(written);
        }
        if flushed.elapsed() >= FLUSHED_AFTER && tape.sum.failed.is_none() {
            flushed = Instant::now();
            let written = tape.writer.flush();
            tape.note(written);
        }
    }
    copies.end();
    let Tape { writer, mut sum, .. } = tape;
    if sum.failed.is_none()
        && let Err(error) = writer.end()
    {
        sum.failed = Some(error.to_string());
    }
    sum
}

struct Tape {
    writer: KvtraceWriter<File>,
    keeping: Keeping,
    /// Connections that are open.
    open: BTreeMap<u32, Conversation>,
    sum: RecordingSum,
}

impl Tape {
    fn take(&mut self, Chunk { connection, time_us, what }: Chunk) -> io::Result<()> {
        let Tape { writer, keeping, open, sum } = self;
        let mut written = Ok(());
        match &what {
            Happened::Asked(bytes) => sum.asked_bytes += bytes.len() as u64,
            Happened::Answered(bytes) => sum.answered_bytes += bytes.len() as u64,
            Happened::Opened | Happened::Closed | Happened::End => {}
        }
        let mut each = |recorded: &Recorded<'_>| {
            match recorded {
                Recorded::Opened => sum.connections += 1,
                Recorded::Closed => {}
                Recorded::Command(_) => sum.commands += 1,
                Recorded::Reply(_) => sum.replies += 1,
                Recorded::NotUnderstood(bytes) => sum.not_understood_bytes += bytes,
            }
            if sum.failed.is_none() && written.is_ok() {
                written = writer.push(time_us, connection, recorded);
            }
        };
        match what {
            Happened::Opened => {
                open.insert(connection, Conversation::default());
                each(&Recorded::Opened);
            }
            Happened::Asked(bytes) => {
                if let Some(conversation) = open.get_mut(&connection) {
                    conversation.ask(&bytes, time_us, keeping, &mut each);
                }
            }
            Happened::Answered(bytes) => {
                if let Some(conversation) = open.get_mut(&connection) {
                    conversation.answer(&bytes, time_us, keeping, &mut each);
                }
            }
            Happened::Closed => {
                open.remove(&connection);
                each(&Recorded::Closed);
            }
            Happened::End => {}
        }
        written
    }

    /// Notes that something could not be written: from then on nothing is.
    fn note(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.sum.failed = Some(error.to_string());
        }
    }
}
