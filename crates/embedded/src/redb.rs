//! redb, a copy-on-write B+tree in Rust.
//!
//! Durability, by redb's documentation and source. `commit` is its own default, `Durability::Immediate`: all pages and the
//! header are written and flushed before a commit returns. `os` is the same commit over a file whose flush does nothing: every
//! write has reached the operating system when the commit returns, so it outlives a kill of the process; a crash of the system
//! may corrupt the file. `none` is `Durability::None`: commits stay in this process's memory until a flushed one follows.
//!
//! There is one writer at a time; readers never wait.

use crate::shared::embedded;
use ground::{built, driver};
use store::{BUILT_IN, Capabilities, Opener, StoreInfo, Support};
use study::{Class, Durability};

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "redb",
    family: "redb",
    transport: None,
    driver: driver!("redb"),
    class: Class::Embedded,
    kind: "B+tree",
    summary: "copy-on-write B+tree in Rust, one writer",
    durabilities: &[Durability::Os, Durability::Commit, Durability::None],
    options: &[],
    install: BUILT_IN,
    licence: "MIT OR Apache-2.0",
    declares: |_| CAPABILITIES,
    probe: built!("redb", probe engine::probe),
    opener: Opener::Embedded(built!("redb", engine::open)),
}];

const CAPABILITIES: Capabilities = Capabilities { compaction: Support::Native, ..embedded::CAPABILITIES };

#[cfg(feature = "redb")]
mod engine {
    use crate::shared::embedded::{Fault, place};
    use crate::shared::transactional::{Engine, Handle, More, ReadView, Shared, Space, WriteView, held, swept};
    use redb::backends::FileBackend;
    use redb::{
        BackendError, Database, ReadTransaction, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition,
        WriteTransaction,
    };
    use std::fs::OpenOptions;
    use std::ops::Bound;
    use std::path::Path;
    use std::sync::{Arc, Mutex, PoisonError};
    use std::time::Duration;
    use store::immediate::Immediate;
    use store::{
        Availability, Capabilities, Compact, Facts, Holding, Maintenance, Session, SessionPlan, Store, StoreError,
        Sweep, Swept, Threading,
    };
    use study::{Durability, Spec};

    /// The version of redb that this adapter was written for and is built with, as Cargo.lock has it (a test compares them).
    pub const VERSION: &str = "4.4.0";

    /// The size of the cache: redb's own default.
    const CACHE_BYTES: usize = 1 << 30;

    fn definition(space: Space) -> TableDefinition<'static, &'static [u8], &'static [u8]> {
        TableDefinition::new(space.name())
    }

    pub fn probe() -> Availability {
        Availability::Found(format!("redb {VERSION}"))
    }

    pub fn open(spec: &Spec, directory: &Path) -> Result<Box<dyn Store>, StoreError> {
        let durability = super::STORES[0].durability(spec)?;
        let path = place(directory, "redb")?;
        let shared = Redb::open(&path, durability)
            .and_then(Shared::new)
            .map_err(|Fault(words)| StoreError::open(path.display(), words))?;
        let capabilities = Capabilities { durability, ..super::CAPABILITIES };
        Ok(Box::new(RedbStore { shared: Mutex::new(Arc::new(shared)), capabilities }))
    }

    struct RedbStore {
        /// The lock held while sessions are opened, and while the file is compacted, which needs the database to itself.
        shared: Mutex<Arc<Shared<Redb>>>,
        capabilities: Capabilities,
    }

    impl Store for RedbStore {
        fn capabilities(&self) -> &Capabilities {
            &self.capabilities
        }

        fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
            let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            Immediate::session(plan, || Ok(Handle::new(Arc::clone(&shared), &self.capabilities)))
        }

        fn threading(&self) -> Threading {
            Threading::PerClient
        }

        fn facts(&self) -> Result<Facts, StoreError> {
            let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            shared.engine.facts(self.capabilities.durability)
        }

        fn holding(&self) -> Result<Holding, StoreError> {
            let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            held(&shared.engine)
        }

        fn sweep(&self, sweep: Sweep, keys: &[&[u8]]) -> Result<Option<Swept>, StoreError> {
            let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            swept(&shared, &self.capabilities, sweep, keys).map(Some)
        }
        fn maintenance(&self) -> Maintenance<'_> {
            Maintenance { compaction: Some(self), ..Maintenance::default() }
        }
    }

    impl Compact for RedbStore {
        fn compact(&self, _: Duration) -> Result<(), StoreError> {
            let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(alone) = Arc::get_mut(&mut shared) else {
                return Err(StoreError::Session("redb compacts only while no session is open".into()));
            };
            // Each round moves what the last one made room for; `false` says that nothing was left to do.
            while alone.engine.database.compact().map_err(|error| StoreError::Session(format!("redb: {error}")))? {}
            Ok(())
        }
    }

    struct Redb {
        database: Database,
        durability: redb::Durability,
    }

    impl Redb {
        fn open(path: &Path, durability: Durability) -> Result<Redb, Fault> {
            let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
            let file = FileBackend::new(file)?;
            let mut builder = Database::builder();
            builder.set_cache_size(CACHE_BYTES);
            let database = match durability {
                Durability::Os => builder.create_with_backend(Unflushed(file))?,
                _ => builder.create_with_backend(file)?,
            };
            let txn = database.begin_write()?;
            for space in Space::ALL {
                txn.open_table(definition(space))?;
            }
            txn.commit()?;
            let durability = match durability {
                Durability::None => redb::Durability::None,
                _ => redb::Durability::Immediate,
            };
            Ok(Redb { database, durability })
        }
    }

    impl Engine for Redb {
        type Reader<'e> = Reader;
        type Writer<'e> = Writer;

        fn facts(&self, durability: Durability) -> Result<Facts, StoreError> {
            let commit = match durability {
                Durability::None => "Durability::None",
                Durability::Commit => "Durability::Immediate",
                Durability::Os | Durability::Second => "Durability::Immediate, file never flushed",
            };
            let config = [("commit", commit.to_owned()), ("cache_bytes", CACHE_BYTES.to_string())];
            let config = config.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            let level = if durability == Durability::None { "None" } else { "Immediate" };
            let mut set_up = vec![
                format!("let database = redb::Database::builder().set_cache_size({CACHE_BYTES}).create(path)?;"),
                format!("transaction.set_durability(redb::Durability::{level})?; // each write transaction"),
            ];
            if matches!(durability, Durability::Os | Durability::Second) {
                set_up[0] = format!(
                    "let database = redb::Database::builder().set_cache_size({CACHE_BYTES}).create_with_backend(backend)?; // its sync_data does nothing"
                );
            }
            Ok(Facts { product: "redb".into(), version: VERSION.into(), config, set_up })
        }

        fn reader(&self) -> Result<Reader, Fault> {
            Ok(Reader(self.database.begin_read()?))
        }

        fn writer(&self, _: &[u8]) -> Result<Writer, Fault> {
            let mut txn = self.database.begin_write()?;
            txn.set_durability(self.durability)?;
            Ok(Writer(txn))
        }

        fn put_many(&self, pairs: &[(&[u8], &[u8])]) -> Result<(), Fault> {
            let writer = self.writer(b"")?;
            {
                let mut table = writer.0.open_table(definition(Space::Values))?;
                for (key, value) in pairs {
                    table.insert(*key, *value)?;
                }
            }
            writer.commit()
        }
    }

    pub struct Reader(ReadTransaction);

    pub struct Writer(WriteTransaction);

    fn scan(
        table: &impl ReadableTable<&'static [u8], &'static [u8]>,
        start: &[u8],
        row: impl FnMut(&[u8], &[u8]) -> More,
    ) -> Result<(), Fault> {
        let mut row = row;
        for entry in table.range::<&[u8]>((Bound::Included(start), Bound::Unbounded))? {
            let (key, value) = entry?;
            if row(key.value(), value.value()) == More::No {
                break;
            }
        }
        Ok(())
    }

    impl ReadView for Reader {
        fn get<T>(&self, space: Space, key: &[u8], found: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Fault> {
            Ok(self.0.open_table(definition(space))?.get(key)?.map(|value| found(value.value())))
        }

        fn scan(&self, space: Space, start: &[u8], row: impl FnMut(&[u8], &[u8]) -> More) -> Result<(), Fault> {
            scan(&self.0.open_table(definition(space))?, start, row)
        }
    }

    impl ReadView for Writer {
        fn get<T>(&self, space: Space, key: &[u8], found: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Fault> {
            Ok(self.0.open_table(definition(space))?.get(key)?.map(|value| found(value.value())))
        }

        fn scan(&self, space: Space, start: &[u8], row: impl FnMut(&[u8], &[u8]) -> More) -> Result<(), Fault> {
            scan(&self.0.open_table(definition(space))?, start, row)
        }
    }

    impl WriteView for Writer {
        fn put(&mut self, space: Space, key: &[u8], value: &[u8]) -> Result<(), Fault> {
            self.0.open_table(definition(space))?.insert(key, value)?;
            Ok(())
        }

        fn delete(&mut self, space: Space, key: &[u8]) -> Result<bool, Fault> {
            Ok(self.0.open_table(definition(space))?.remove(key)?.is_some())
        }

        fn commit(self) -> Result<(), Fault> {
            Ok(self.0.commit()?)
        }
    }

    /// A file that is written but never flushed.
    #[derive(Debug)]
    struct Unflushed(FileBackend);

    impl StorageBackend for Unflushed {
        fn len(&self) -> std::io::Result<u64> {
            self.0.len()
        }

        fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
            self.0.read(offset, out)
        }

        fn set_len(&self, len: u64) -> std::io::Result<()> {
            self.0.set_len(len)
        }

        fn sync_data(&self) -> std::io::Result<()> {
            Ok(())
        }

        fn write(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
            self.0.write(offset, data)
        }

        fn close(&self) -> std::io::Result<()> {
            self.0.close()
        }

        fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
            self.0.try_lock_range(start, end)
        }

        fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
            self.0.try_lock_shared_range(start, end)
        }

        fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
            self.0.lock_range(start, end)
        }

        fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
            self.0.lock_shared_range(start, end)
        }

        fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
            self.0.unlock_range(start, end)
        }

        fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
            self.0.query_lock_range(start, end)
        }
    }
}
