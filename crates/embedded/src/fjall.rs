//! fjall, a log-structured merge tree in Rust.
//!
//! Durability, by fjall's documentation of its persist modes. `os`: each write is handed to the operating system
//! (`PersistMode::Buffer`, its default). `commit`: each write is flushed with `fdatasync` (`PersistMode::SyncData`). `none`: the
//! journal stays in this process's buffer until it is full (`manual_journal_persist`). At every level fjall itself flushes the
//! tables it writes in the background.
//!
//! Puts run side by side. What must read before it writes (append, increment, compare-and-set, delete, which says whether there
//! was a key) holds a lock of the adapter that keeps all other writers out for that one operation, the same as fjall's own
//! single-writer transactions do, without their copy of the changes. Put-many is one of fjall's atomic batches.
//! fjall refuses empty keys, and keys over 65,535 bytes.

use crate::shared::embedded;
use ground::{built, driver};
use store::{BUILT_IN, Capabilities, Opener, StoreInfo};
use study::{Class, Durability};

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "fjall",
    family: "fjall",
    transport: None,
    driver: driver!("fjall"),
    class: Class::Embedded,
    kind: "LSM",
    summary: "log-structured merge tree in Rust",
    durabilities: &[Durability::Os, Durability::Commit, Durability::None],
    options: &[],
    install: BUILT_IN,
    licence: "MIT OR Apache-2.0",
    declares: |_| CAPABILITIES,
    probe: built!("fjall", probe engine::probe),
    opener: Opener::Embedded(built!("fjall", engine::open)),
}];

const CAPABILITIES: Capabilities = Capabilities { min_key_bytes: 1, max_key_bytes: 65_535, ..embedded::CAPABILITIES };

#[cfg(feature = "fjall")]
mod engine {
    use crate::shared::embedded::{Fault, place};
    use crate::shared::transactional::{Engine, More, Opened, ReadView, Space, WriteView};
    use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
    use std::path::Path;
    use std::sync::{PoisonError, RwLock, RwLockWriteGuard};
    use store::{Availability, Capabilities, Facts, Store, StoreError};
    use study::{Durability, Spec};

    /// The version of fjall that this adapter was written for and is built with, as Cargo.lock has it (a test compares them).
    pub const VERSION: &str = "3.1.13";

    pub fn probe() -> Availability {
        Availability::Found(format!("fjall {VERSION}"))
    }

    pub fn open(spec: &Spec, directory: &Path) -> Result<Box<dyn Store>, StoreError> {
        let durability = super::STORES[0].durability(spec)?;
        let path = place(directory, "fjall")?;
        Opened::store(Fjall::open(&path, durability), &path, Capabilities { durability, ..super::CAPABILITIES })
    }

    struct Fjall {
        /// By the number of their space.
        keyspaces: [Keyspace; 3],
        database: Database,
        durability: Durability,
        /// Held shared by plain writes, alone by those that read first.
        writers: RwLock<()>,
    }

    impl Fjall {
        fn open(path: &Path, durability: Durability) -> Result<Fjall, Fault> {
            let by_hand = durability == Durability::None;
            let database = Database::builder(path).manual_journal_persist(by_hand).open()?;
            let keyspace = |space: Space| {
                database.keyspace(space.name(), || KeyspaceCreateOptions::default().manual_journal_persist(by_hand))
            };
            let [values, counters, fields] = Space::ALL.map(keyspace);
            let keyspaces = [values?, counters?, fields?];
            Ok(Fjall { keyspaces, database, durability, writers: RwLock::new(()) })
        }

        fn keyspace(&self, space: Space) -> &Keyspace {
            &self.keyspaces[space as usize]
        }

        /// Ends a write that is in the journal: the levels below `commit` have nothing left to do.
        fn persist(&self) -> Result<(), Fault> {
            match self.durability {
                Durability::Commit => Ok(self.database.persist(PersistMode::SyncData)?),
                _ => Ok(()),
            }
        }
    }

    impl Drop for Fjall {
        fn drop(&mut self) {
            // At `none` the end of the journal is still in this process: an orderly end hands it over. A failure loses what
            // that level may lose.
            let _ = self.database.persist(PersistMode::Buffer);
        }
    }

    impl Engine for Fjall {
        type Reader<'e> = &'e Fjall;
        type Writer<'e> = Writer<'e>;

        fn facts(&self, durability: Durability) -> Result<Facts, StoreError> {
            let persist = match durability {
                Durability::None => "when the buffer is full (manual_journal_persist)",
                Durability::Commit => "every write, PersistMode::SyncData",
                Durability::Os | Durability::Second => "every write, PersistMode::Buffer",
            };
            let database = &self.database;
            let config = [
                ("journal", persist.to_owned()),
                ("cache_bytes", database.cache_capacity().to_string()),
                ("journals", database.journal_count().to_string()),
            ];
            let config = config.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            let by_hand = durability == Durability::None;
            let mut set_up = vec![
                format!(
                    "let database = fjall::Database::builder(path).cache_size({}).manual_journal_persist({by_hand}).open()?;",
                    database.cache_capacity()
                ),
                format!(
                    "let keyspace = database.keyspace(name, || KeyspaceCreateOptions::default().manual_journal_persist({by_hand}))?;"
                ),
            ];
            if durability == Durability::Commit {
                set_up.push("database.persist(PersistMode::SyncData)?; // after each write".into());
            }
            Ok(Facts { product: "fjall".into(), version: VERSION.into(), config, set_up })
        }

        fn reader(&self) -> Result<&Fjall, Fault> {
            Ok(self)
        }

        fn writer(&self, _: &[u8]) -> Result<Writer<'_>, Fault> {
            Ok(Writer { engine: self, alone: self.writers.write().unwrap_or_else(PoisonError::into_inner) })
        }

        fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
            {
                let _beside = self.writers.read().unwrap_or_else(PoisonError::into_inner);
                self.keyspace(Space::Values).insert(key, value)?;
            }
            self.persist()
        }

        fn put_many(&self, pairs: &[(&[u8], &[u8])]) -> Result<(), Fault> {
            let mut batch = self.database.batch();
            for (key, value) in pairs {
                batch.insert(self.keyspace(Space::Values), *key, *value);
            }
            {
                let _beside = self.writers.read().unwrap_or_else(PoisonError::into_inner);
                batch.commit()?;
            }
            self.persist()
        }
    }

    impl ReadView for &Fjall {
        fn get<T>(&self, space: Space, key: &[u8], found: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Fault> {
            Ok(self.keyspace(space).get(key)?.map(|value| found(&value)))
        }

        fn scan(&self, space: Space, start: &[u8], row: impl FnMut(&[u8], &[u8]) -> More) -> Result<(), Fault> {
            let mut row = row;
            for entry in self.keyspace(space).range(start..) {
                let (key, value) = entry.into_inner()?;
                if row(&key, &value) == More::No {
                    break;
                }
            }
            Ok(())
        }
    }

    pub struct Writer<'e> {
        engine: &'e Fjall,
        alone: RwLockWriteGuard<'e, ()>,
    }

    impl ReadView for Writer<'_> {
        fn get<T>(&self, space: Space, key: &[u8], found: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Fault> {
            self.engine.get(space, key, found)
        }

        fn scan(&self, space: Space, start: &[u8], row: impl FnMut(&[u8], &[u8]) -> More) -> Result<(), Fault> {
            self.engine.scan(space, start, row)
        }
    }

    /// Each operation but the deletion of counters writes one key through it, as its last act: there is nothing to undo.
    impl WriteView for Writer<'_> {
        fn put(&mut self, space: Space, key: &[u8], value: &[u8]) -> Result<(), Fault> {
            Ok(self.engine.keyspace(space).insert(key, value)?)
        }

        fn delete(&mut self, space: Space, key: &[u8]) -> Result<bool, Fault> {
            let keyspace = self.engine.keyspace(space);
            if !keyspace.contains_key(key)? {
                return Ok(false);
            }
            keyspace.remove(key)?;
            Ok(true)
        }

        fn commit(self) -> Result<(), Fault> {
            drop(self.alone);
            self.engine.persist()
        }
    }
}
