//! LMDB, through the `heed` crate, which compiles LMDB in.
//!
//! Durability, by LMDB's own documentation of its flags (lmdb.h): without flags every commit is flushed to disk (`commit`).
//! With `MDB_NOSYNC` a commit is written to the file but not flushed: the operating system has it, so it outlives a kill of
//! the process; a crash of the system can lose it and, where the file system reorders writes, corrupt the database (`os`).
//! LMDB has no cheaper mode that would lose data with the process, so there is no `none`.
//!
//! The map is 1 TiB of address space over a sparse file, so it never has to grow under open transactions; where the system
//! does not grant that much, less is asked for, and a full map is a refused write (`MDB_MAP_FULL`).
//! LMDB refuses empty keys, and keys over 511 bytes. There is one writer at a time; readers never wait.

use crate::shared::embedded;
use ground::{built, driver};
use store::{BUILT_IN, Capabilities, Opener, StoreInfo};
use study::{Class, Durability};

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "lmdb",
    family: "lmdb",
    transport: None,
    driver: driver!("lmdb"),
    class: Class::Embedded,
    kind: "B+tree",
    summary: "memory-mapped B+tree, copy-on-write, one writer",
    durabilities: &[Durability::Os, Durability::Commit],
    options: &[],
    install: BUILT_IN,
    licence: "OpenLDAP Public License",
    declares: |_| CAPABILITIES,
    probe: built!("lmdb", probe engine::probe),
    opener: Opener::Embedded(built!("lmdb", engine::open)),
}];

/// The capabilities of LMDB as it is compiled in; the longest key is read back when the environment is opened.
const CAPABILITIES: Capabilities = Capabilities { min_key_bytes: 1, max_key_bytes: 511, ..embedded::CAPABILITIES };

#[cfg(feature = "lmdb")]
mod engine {
    use crate::shared::embedded::{Fault, place};
    use crate::shared::transactional::{Engine, More, Opened, ReadView, Space, WriteView};
    use heed::types::Bytes;
    use heed::{CommitOrAbort, Env, EnvFlags, EnvOpenOptions, RoTxn, RwTxn};
    use std::ops::Bound;
    use std::path::Path;
    use store::{Availability, Capabilities, Facts, Store, StoreError};
    use study::{Durability, Spec};

    /// The sizes of the map to try, in bytes: 1 TiB, 64 GiB, 4 GiB.
    const MAP_BYTES: [usize; 3] = [1 << 40, 64 << 30, 4 << 30];

    /// The number of read transactions that may be open at once: one per thread.
    const MAX_READERS: u32 = 4096;

    type Table = heed::Database<'static, Bytes, Bytes>;

    pub fn probe() -> Availability {
        Availability::Found(format!("LMDB {}", version()))
    }

    fn version() -> String {
        let version = heed::lmdb_version();
        format!("{}.{}.{}", version.major, version.minor, version.patch)
    }

    pub fn open(spec: &Spec, directory: &Path) -> Result<Box<dyn Store>, StoreError> {
        let durability = super::STORES[0].durability(spec)?;
        let path = place(directory, "lmdb")?;
        std::fs::create_dir_all(&path).map_err(|source| StoreError::Io { path: path.clone(), source })?;
        let mut trouble = StoreError::open(path.display(), "no map size to try");
        for map_bytes in MAP_BYTES {
            match Lmdb::open(&path, map_bytes, durability) {
                Ok(engine) => {
                    let capabilities =
                        Capabilities { max_key_bytes: engine.env.max_key_size(), durability, ..super::CAPABILITIES };
                    return Opened::store(Ok(engine), &path, capabilities);
                }
                Err(error) => trouble = StoreError::open(path.display(), error),
            }
        }
        Err(trouble)
    }

    struct Lmdb {
        /// By the number of their space. They name the environment, and are dropped with it.
        tables: [Table; 3],
        env: Env,
    }

    impl Lmdb {
        fn open(path: &Path, map_bytes: usize, durability: Durability) -> heed::Result<Lmdb> {
            let mut options = EnvOpenOptions::new();
            options.map_size(map_bytes).max_dbs(Space::ALL.len() as u32).max_readers(MAX_READERS);
            if durability == Durability::Os {
                // SAFETY: NO_SYNC is unsafe because a crash of the system can corrupt the file; that is what `os` says.
                unsafe { options.flags(EnvFlags::NO_SYNC) };
            }
            // SAFETY: the file is memory-mapped, so nobody else may truncate or rewrite it; it is kvtrial's own, by its name.
            let env = unsafe { options.open(path)? };
            let txn = env.write_txn()?;
            let created = env.create_databases_and_commit(txn, |opener, txn| -> heed::Result<_> {
                let [values, counters, fields] =
                    Space::ALL.map(|space| opener.create_database::<Bytes, Bytes>(txn, Some(space.name())));
                Ok(CommitOrAbort::<_, ()>::Commit([values?, counters?, fields?]))
            })?;
            let tables = created.unwrap_commit().map(|table| {
                // SAFETY: only the lifetime changes. A table holds no reference but the number of its environment, which it
                // checks at every use; `Lmdb` keeps that environment open as long as it has the table, and never lends it out.
                unsafe { std::mem::transmute::<heed::Database<'_, Bytes, Bytes>, Table>(table) }
            });
            Ok(Lmdb { tables, env })
        }

        fn table(&self, space: Space) -> &Table {
            &self.tables[space as usize]
        }
    }

    impl Engine for Lmdb {
        type Reader<'e> = Reader<'e>;
        type Writer<'e> = Writer<'e>;

        fn facts(&self, _: Durability) -> Result<Facts, StoreError> {
            let env = &self.env;
            let flags = env.flags().map_err(|error| StoreError::open("lmdb", error))?;
            let config = [
                ("flags", flags.map_or("unknown".into(), |flags| format!("{flags:?}"))),
                ("map_bytes", env.info().map_size.to_string()),
                ("page_bytes", env.unnamed_database_stat().page_size.to_string()),
                ("max_readers", env.max_readers().to_string()),
            ];
            let config = config.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            let no_sync = flags.is_some_and(|flags| flags.contains(EnvFlags::NO_SYNC));
            let set_up = vec![
                format!("mdb_env_set_mapsize(env, {});", env.info().map_size),
                format!("mdb_env_set_maxreaders(env, {});", env.max_readers()),
                format!("mdb_env_open(env, directory, {}, 0600);", if no_sync { "MDB_NOSYNC" } else { "0" }),
            ];
            Ok(Facts { product: "LMDB".into(), version: version(), config, set_up })
        }

        fn flush(&self, durability: Durability) -> Result<(), StoreError> {
            match durability {
                Durability::Commit => self.env.force_sync().map_err(|error| StoreError::Session(error.to_string())),
                _ => Ok(()),
            }
        }

        fn reader(&self) -> Result<Reader<'_>, Fault> {
            Ok(Reader { engine: self, txn: self.env.read_txn()? })
        }

        fn writer(&self, _: &[u8]) -> Result<Writer<'_>, Fault> {
            Ok(Writer { engine: self, txn: self.env.write_txn()? })
        }
    }

    pub struct Reader<'e> {
        engine: &'e Lmdb,
        txn: RoTxn<'e, heed::WithTls>,
    }

    pub struct Writer<'e> {
        engine: &'e Lmdb,
        txn: RwTxn<'e>,
    }

    fn scan(table: &Table, txn: &RoTxn<'_>, start: &[u8], row: impl FnMut(&[u8], &[u8]) -> More) -> Result<(), Fault> {
        let mut row = row;
        // LMDB cannot seek an empty key; it comes before all keys there are.
        let from = if start.is_empty() { Bound::Unbounded } else { Bound::Included(start) };
        for entry in table.range(txn, &(from, Bound::Unbounded))? {
            let (key, value) = entry?;
            if row(key, value) == More::No {
                break;
            }
        }
        Ok(())
    }

    impl ReadView for Reader<'_> {
        fn get<T>(&self, space: Space, key: &[u8], found: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Fault> {
            Ok(self.engine.table(space).get(&self.txn, key)?.map(found))
        }

        fn scan(&self, space: Space, start: &[u8], row: impl FnMut(&[u8], &[u8]) -> More) -> Result<(), Fault> {
            scan(self.engine.table(space), &self.txn, start, row)
        }
    }

    impl ReadView for Writer<'_> {
        fn get<T>(&self, space: Space, key: &[u8], found: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Fault> {
            Ok(self.engine.table(space).get(&self.txn, key)?.map(found))
        }

        fn scan(&self, space: Space, start: &[u8], row: impl FnMut(&[u8], &[u8]) -> More) -> Result<(), Fault> {
            scan(self.engine.table(space), &self.txn, start, row)
        }
    }

    impl WriteView for Writer<'_> {
        fn put(&mut self, space: Space, key: &[u8], value: &[u8]) -> Result<(), Fault> {
            Ok(self.engine.table(space).put(&mut self.txn, key, value)?)
        }

        fn delete(&mut self, space: Space, key: &[u8]) -> Result<bool, Fault> {
            Ok(self.engine.table(space).delete(&mut self.txn, key)?)
        }

        fn commit(self) -> Result<(), Fault> {
            Ok(self.txn.commit()?)
        }
    }

    #[cfg(test)]
    #[allow(clippy::unwrap_used)]
    mod tests {
        use super::super::CAPABILITIES;
        use super::{Durability, Lmdb};
        use crate::shared::transactional::{Handle, Shared};
        use std::sync::Arc;
        use store::immediate::SyncStore;
        use store::{Failure, Operation, Reply};

        #[test]
        fn a_full_map_refuses_writes_and_goes_on() {
            let directory = tempfile::tempdir().unwrap();
            let engine = Lmdb::open(directory.path(), 256 << 10, Durability::Os).unwrap();
            let shared = Arc::new(Shared::new(engine).unwrap());
            let mut handle = Handle::new(shared, &CAPABILITIES);
            let value = [7; 10_000];
            let mut stored = 0u32;
            loop {
                match handle.execute(&Operation::Put { key: &stored.to_be_bytes(), value: &value }) {
                    Reply::Done => stored += 1,
                    Reply::Failed(Failure::Refused(words)) => {
                        assert!(words.contains("MDB_MAP_FULL"), "{words}");
                        break;
                    }
                    other => panic!("{other:?}"),
                }
                assert!(stored < 100, "256 KiB cannot hold that much");
            }
            assert!(stored > 5, "{stored}");
            for key in 0..stored {
                assert_eq!(handle.execute(&Operation::Get { key: &key.to_be_bytes() }), Reply::Value(&value));
            }
            assert_eq!(handle.execute(&Operation::Put { key: &[0; 4], value: b"small" }), Reply::Done);
        }
    }
}
