//! Events that append to the values of their keys (the input of 2011).
//!
//! An event is `id, f1, f2, ...`, 64-bit integers: 16 bytes, the id and the exclusive or of the fields, both big-endian, are appended
//! to the value of the key that is the id in 8 bytes. A source is a CSV file (plain or `.gz`) or the generator (`gen:KEYS:SEED`).

mod csv;
mod generate;

pub use generate::Generator;

use crate::DataError;
use crate::sent::is_file;
use std::path::Path;

/// Bytes an event appends.
pub const RECORD_BYTES: usize = 16;
/// Bytes of a key.
pub const KEY_BYTES: usize = 8;
/// Generated events are all made when they are loaded, before any clock starts, if there are no more than these: 64 MiB of them.
const MADE_AT_ONCE: u64 = 4 << 20;
/// Keys that are sorted at once when all are visited in order: 64 MiB of them.
const SORTED_AT_ONCE: u64 = 8 << 20;

/// An event of the job append.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Names the key.
    pub id: u64,
    /// Exclusive or of the event's fields.
    pub fields: u64,
}

impl Event {
    /// Returns the key.
    #[inline]
    pub fn key(&self) -> [u8; KEY_BYTES] {
        self.id.to_be_bytes()
    }

    /// Returns the record that is appended for the event.
    #[inline]
    pub fn record(&self) -> [u8; RECORD_BYTES] {
        (u128::from(self.id) << 64 | u128::from(self.fields)).to_be_bytes()
    }
}

/// All events of an input.
pub struct Events {
    source: Source,
    source_name: String,
    digest: Option<String>,
}

enum Source {
    Generated {
        generator: Generator,
        /// All events, or none of them.
        made: Vec<Event>,
    },
    Read(csv::EventTable),
}

impl Source {
    fn generated(generator: Generator) -> Source {
        let all = if generator.events() <= MADE_AT_ONCE { generator.events() as usize } else { 0 };
        let mut made = vec![Event::default(); all];
        generator.fill(0, &mut made);
        Source::Generated { generator, made }
    }
}

impl Events {
    /// Reads or prepares the events of this name: `gen:KEYS:SEED`, or a CSV file.
    ///
    /// # Errors
    /// Names the file, line, column, field and remedy.
    pub fn load(source: &str) -> Result<Events, DataError> {
        let source_name = source.to_owned();
        if let Some(numbers) = source.strip_prefix("gen:") {
            let numbers: Option<Vec<u64>> = numbers.split(':').map(crate::count::whole).collect();
            return match numbers.as_deref() {
                Some(&[keys @ 1..=0x100_0000_0000, seed]) => {
                    let source = Source::generated(Generator::new(keys, seed));
                    Ok(Events { source, source_name, digest: None })
                }
                _ => Err(DataError::whole(
                    source,
                    "two numbers must follow gen:",
                    "write gen:KEYS:SEED, as in gen:1000000:42",
                )),
            };
        }
        if !is_file(Path::new(source)) {
            let remedy = "name a CSV file of events (id,field,...), or gen:KEYS:SEED";
            return Err(DataError::whole(source, "no such file", remedy));
        }
        let (table, digest) = csv::read(Path::new(source))?;
        Ok(Events { source: Source::Read(table), source_name, digest: Some(digest) })
    }

    /// Returns the name of the file or generator the events came from.
    pub fn source_name(&self) -> &str {
        &self.source_name
    }

    /// Returns the digest of the text, when the events were read.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// Returns the number of events.
    pub fn len(&self) -> u64 {
        match &self.source {
            Source::Generated { generator, .. } => generator.events(),
            Source::Read(table) => table.events.len() as u64,
        }
    }

    /// Returns whether there is none. There always is one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of different keys.
    pub fn keys(&self) -> u64 {
        match &self.source {
            Source::Generated { generator, .. } => generator.keys(),
            Source::Read(table) => table.ids.len() as u64,
        }
    }

    /// Events of the key that has most.
    pub fn most_events(&self) -> u64 {
        match &self.source {
            Source::Generated { generator, .. } => generator.most_events(),
            Source::Read(table) => table.most_events(),
        }
    }

    /// Returns the event of this index, below [`len`](Events::len).
    #[inline]
    pub fn event(&self, index: u64) -> Event {
        match &self.source {
            Source::Generated { generator, .. } => generator.event(index),
            Source::Read(table) => table.events[index as usize],
        }
    }

    /// Fills `out` with the events from index `first` on.
    pub fn fill(&self, first: u64, out: &mut [Event]) {
        match &self.source {
            Source::Generated { generator, made } if made.is_empty() => generator.fill(first, out),
            Source::Generated { made: all, .. } | Source::Read(csv::EventTable { events: all, .. }) => {
                out.copy_from_slice(&all[first as usize..first as usize + out.len()]);
            }
        }
    }

    /// Returns the id of key number `key`, below [`keys`](Events::keys).
    #[inline]
    pub fn id(&self, key: u64) -> u64 {
        match &self.source {
            Source::Generated { generator, .. } => generator.id(key),
            Source::Read(table) => table.ids[key as usize],
        }
    }

    /// Returns the number of the key with this id; `None`: there is no such key.
    #[inline]
    pub fn key_of(&self, id: u64) -> Option<u64> {
        match &self.source {
            Source::Generated { generator, .. } => generator.key_of(id),
            Source::Read(table) => table.ids.binary_search(&id).ok().map(|key| key as u64),
        }
    }

    /// Writes the whole value of key number `key` after all events to `out` (cleared first). `scratch` is any vector, reused.
    pub fn value(&self, key: u64, scratch: &mut Vec<(u64, u64)>, out: &mut Vec<u8>) {
        out.clear();
        match &self.source {
            Source::Generated { generator, .. } => {
                generator.events_of(key, scratch);
                let id = generator.id(key);
                scratch.iter().for_each(|&(_, fields)| out.extend_from_slice(&Event { id, fields }.record()));
            }
            Source::Read(table) => table.events_of(key).for_each(|event| out.extend_from_slice(&event.record())),
        }
    }

    /// Calls `visit` with the number and id of every key, in order of ids, which is the byte order of keys.
    pub fn each_key_in_order(&self, mut visit: impl FnMut(u64, u64)) {
        match &self.source {
            Source::Generated { generator, .. } => {
                // The ids are spread evenly: a part of their range has about as large a part of the keys.
                let parts = generator.keys().div_ceil(SORTED_AT_ONCE);
                let mut ids = Vec::with_capacity((generator.keys() / parts + generator.keys() / 64 + 64) as usize);
                for part in 0..parts {
                    let of_part = |id: u64| (u128::from(id) * u128::from(parts)) >> 64 == u128::from(part);
                    ids.clear();
                    ids.extend((0..generator.keys()).map(|key| generator.id(key)).filter(|&id| of_part(id)));
                    ids.sort_unstable();
                    for &id in &ids {
                        visit(generator.key_of(id).unwrap_or_default(), id);
                    }
                }
            }
            Source::Read(table) => (0..).zip(&table.ids).for_each(|(key, &id)| visit(key, id)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Events, SORTED_AT_ONCE};
    use crate::digest::LineDigest;

    fn values(events: &Events) -> String {
        let (mut digest, mut scratch, mut value) = (LineDigest::default(), Vec::new(), Vec::new());
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        events.each_key_in_order(|key, id| {
            events.value(key, &mut scratch, &mut value);
            digest.line(&[hex(&id.to_be_bytes()).as_bytes(), hex(&value).as_bytes()]);
        });
        digest.finish()
    }

    #[test]
    fn events_written_as_csv_and_read_back_have_the_same_values() {
        let generated = Events::load("gen:500:3").unwrap();
        let text: String = (0..generated.len())
            .map(|index| {
                let event = generated.event(index);
                format!("{},{},{}\n", event.id, event.fields ^ 0xFFFF, 0xFFFF)
            })
            .collect();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events.csv");
        std::fs::write(&path, text).unwrap();
        let read = Events::load(path.to_str().unwrap()).unwrap();
        assert_eq!((read.len(), read.keys(), read.most_events()), (generated.len(), 500, generated.most_events()));
        assert_eq!(values(&read), values(&generated));
        assert!(read.digest().is_some() && generated.digest().is_none());
    }

    #[test]
    fn keys_are_visited_in_order_each_once_also_in_parts() {
        for keys in [1, 5000] {
            let events = Events::load(&format!("gen:{keys}:9")).unwrap();
            let (mut last, mut count) = (None, 0);
            events.each_key_in_order(|key, id| {
                assert!(events.id(key) == id && last < Some(id));
                (last, count) = (Some(id), count + 1);
            });
            assert_eq!(count, keys);
        }
        const { assert!(SORTED_AT_ONCE > 1 << 20) };
    }

    #[test]
    fn a_source_that_is_none_is_answered_with_an_example() {
        for (source, words) in
            [("gen:10", "gen:KEYS:SEED"), ("gen:0:1", "gen:KEYS:SEED"), ("nothing.csv", "no such file")]
        {
            let error = Events::load(source).err().unwrap().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
