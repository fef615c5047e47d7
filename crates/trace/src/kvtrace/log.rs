//! The commands of a recording, each as it was, with what is known of its reply.

use super::{KvtraceReader, Recorded, RecordedReply, RecordedValues, RecordedWord};
use data::DataError;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::path::Path;

/// Commands in the order they were made.
#[derive(Debug, Default)]
pub struct CommandLog {
    bytes: Vec<u8>,
    /// Where each word ends in the bytes.
    ends: Vec<usize>,
    commands: Vec<LoggedCommand>,
}

/// A command.
#[derive(Clone, Debug)]
pub struct LoggedCommand {
    /// The connection it came over.
    pub connection: u32,
    words: Range<usize>,
    /// Its reply, where it is known.
    pub reply: Option<RecordedReply>,
}

impl CommandLog {
    /// Reads a recording.
    ///
    /// # Errors
    /// It cannot be read, or its values were not kept.
    pub fn read(path: &Path, most: u64) -> Result<CommandLog, DataError> {
        let mut reader = KvtraceReader::open(path)?;
        if reader.head().values != RecordedValues::Kept {
            let problem = "its values were not kept, so its commands cannot be sent as they were";
            return Err(DataError::whole(path.display(), problem, "record with --keep values"));
        }
        let mut log = CommandLog::default();
        let mut waiting: BTreeMap<u32, VecDeque<usize>> = BTreeMap::new();
        while (log.commands.len() as u64) < most
            && reader.block(|_, connection, recorded| {
                match recorded {
                    Recorded::Command(words) if (log.commands.len() as u64) < most => {
                        waiting.entry(connection).or_default().push_back(log.commands.len());
                        log.add(connection, &words);
                    }
                    Recorded::Reply(reply) => {
                        let command = waiting.get_mut(&connection).and_then(VecDeque::pop_front);
                        if let Some(command) = command.and_then(|command| log.commands.get_mut(command)) {
                            command.reply = Some(reply);
                        }
                    }
                    _ => {}
                }
                Ok(())
            })?
        {}
        Ok(log)
    }

    fn add(&mut self, connection: u32, words: &[RecordedWord<'_>]) {
        let start = self.ends.len();
        for word in words {
            match *word {
                RecordedWord::Plain(bytes) | RecordedWord::Key(bytes) | RecordedWord::Value(bytes) => {
                    self.bytes.extend_from_slice(bytes);
                }
                RecordedWord::Sized { .. } => {} // a password, which is sent to nobody
            }
            self.ends.push(self.bytes.len());
        }
        self.commands.push(LoggedCommand { connection, words: start..self.ends.len(), reply: None });
    }

    /// Returns the commands.
    pub fn commands(&self) -> &[LoggedCommand] {
        &self.commands
    }

    /// Returns the words of a command.
    pub fn words(&self, command: &LoggedCommand) -> impl Iterator<Item = &[u8]> {
        command.words.clone().map(|at| {
            let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
            &self.bytes[start..self.ends[at]]
        })
    }

    /// Returns the name of a command.
    pub fn name(&self, command: &LoggedCommand) -> &[u8] {
        self.words(command).next().unwrap_or_default()
    }
}
