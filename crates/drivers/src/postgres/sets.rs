//! Sets of ids in SQL: a table per set, asked by UNION and INTERSECT (`way=sql`); or numbers of an index that kvtrial keeps, as one array
//! per set, by the extension `intarray`, whose elements have 32 bits (`way=intarray`). One connection.

use super::setup::{enter, words};
use futures_util::TryStreamExt;
use ground::id_index::IdIndex;
use std::ops::Range;
use std::pin::pin;
use std::time::Duration;
use store::asynchronous::runtime;
use store::{Endpoint, KeepSets, SetCombination, SetKeeper, SetPlan, SetWay, StoreError};
use tokio::runtime::Runtime;
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

/// The server's ability to keep sets, in one of its ways.
pub(super) struct PostgresWay {
    pub endpoint: Endpoint,
    pub way: SetWay,
}

impl KeepSets for PostgresWay {
    fn way(&self) -> SetWay {
        self.way
    }

    fn set_keeper(&self, plan: SetPlan, patience: Duration) -> Result<Box<dyn SetKeeper>, StoreError> {
        Ok(Box::new(PostgresSets::open(&self.endpoint, self.way, plan, patience)?))
    }
}

/// Sets in a server.
struct PostgresSets {
    runtime: Runtime,
    client: Client,
    endpoint: Endpoint,
    patience: Duration,
    sets: usize,
    /// The arrays: the numbers of ids, and the numbers of each set until it is stored.
    arrays: Option<(IdIndex, Vec<Vec<i32>>)>,
}

impl PostgresSets {
    /// Makes empty sets.
    fn open(endpoint: &Endpoint, way: SetWay, plan: SetPlan, patience: Duration) -> Result<PostgresSets, StoreError> {
        let runtime = runtime()?;
        let (client, _) = runtime.block_on(enter(endpoint))?;
        let arrays = (way.name == super::INTARRAY.name).then(|| (IdIndex::new(plan.ids), vec![Vec::new(); plan.sets]));
        if arrays.as_ref().is_some_and(|(index, _)| i32::try_from(index.numbers()).is_err()) {
            let problem = "way=intarray: its elements have 32 bits, and the ids may need more; use way=sql";
            return Err(StoreError::Session(problem.into()));
        }
        let mut sets = PostgresSets { runtime, client, endpoint: endpoint.clone(), patience, sets: plan.sets, arrays };
        sets.forget()?;
        let tables: String = match sets.arrays {
            None => (0..plan.sets).map(|set| format!("CREATE TABLE kvtrial.set_{set} (id bigint NOT NULL);")).collect(),
            Some(_) => "CREATE EXTENSION IF NOT EXISTS intarray; \
                        CREATE TABLE kvtrial.set_arrays (s int PRIMARY KEY, ids int[] NOT NULL);"
                .into(),
        };
        sets.batch(&tables)?;
        Ok(sets)
    }

    fn wait<T>(&self, work: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, StoreError> {
        let done = self.runtime.block_on(async { tokio::time::timeout(self.patience, work).await });
        match done {
            Ok(result) => result.map_err(|error| StoreError::open(&self.endpoint, words(&error))),
            Err(_) => {
                let problem = format!("no answer within {} s", self.patience.as_secs_f32());
                Err(StoreError::open(&self.endpoint, problem))
            }
        }
    }

    fn batch(&self, sql: &str) -> Result<(), StoreError> {
        self.wait(self.client.batch_execute(sql))
    }

    /// Drops the tables.
    fn forget(&mut self) -> Result<(), StoreError> {
        let tables: String = (0..self.sets).map(|set| format!("DROP TABLE IF EXISTS kvtrial.set_{set};")).collect();
        self.batch(&format!("CREATE SCHEMA IF NOT EXISTS kvtrial; {tables} DROP TABLE IF EXISTS kvtrial.set_arrays;"))
    }

    /// Runs a query that returns one number.
    fn number(&self, sql: &str) -> Result<u64, StoreError> {
        let row = self.wait(self.client.query_one(sql, &[]))?;
        let number: i64 = row.try_get(0).map_err(|error| StoreError::open(&self.endpoint, words(&error)))?;
        Ok(number.unsigned_abs())
    }

    /// Returns the query for the ids (or numbers) of sets, as one column.
    fn query(&self, combination: SetCombination, sets: Range<usize>) -> String {
        if self.arrays.is_some() {
            return format!("SELECT unnest({})::bigint", array(combination, sets));
        }
        if sets.len() == 1 {
            return format!("SELECT DISTINCT id FROM kvtrial.set_{}", sets.start);
        }
        let each: Vec<String> = sets.map(|set| format!("SELECT id FROM kvtrial.set_{set}")).collect();
        each.join(match combination {
            SetCombination::Union => " UNION ",
            SetCombination::Intersection => " INTERSECT ",
        })
    }
}

/// Returns the expression for the array of the union or intersection of sets.
fn array(combination: SetCombination, sets: Range<usize>) -> String {
    let each: Vec<String> = sets.map(|set| format!("(SELECT ids FROM kvtrial.set_arrays WHERE s = {set})")).collect();
    let operator = match combination {
        SetCombination::Union => " | ",
        SetCombination::Intersection => " & ",
    };
    format!("({})", each.join(operator))
}

impl Drop for PostgresSets {
    fn drop(&mut self) {
        // A server that is gone has none.
        let _ = self.forget();
    }
}

impl SetKeeper for PostgresSets {
    fn add(&mut self, set: usize, ids: &[u64]) -> Result<(), StoreError> {
        if let Some((index, arrays)) = &mut self.arrays {
            return index.each_number(ids, |number| {
                arrays[set].push(number as i32); // fewer than 2^31: looked at when it was made
                Ok(())
            });
        }
        let ids: Vec<i64> = ids.iter().map(|id| id.cast_signed()).collect();
        let sql = format!("INSERT INTO kvtrial.set_{set} SELECT unnest($1::bigint[])");
        self.wait(self.client.execute(&sql, &[&ids])).map(|_| ())
    }

    fn settle(&mut self) -> Result<(), StoreError> {
        let Some((_, arrays)) = &mut self.arrays else {
            return self.batch(&(0..self.sets).map(|set| format!("ANALYZE kvtrial.set_{set};")).collect::<String>());
        };
        let arrays = std::mem::take(arrays);
        let sql = "INSERT INTO kvtrial.set_arrays VALUES ($1, uniq(sort($2)))";
        for (set, numbers) in arrays.iter().enumerate() {
            self.wait(self.client.execute(sql, &[&(set as i32), numbers]))?;
        }
        Ok(())
    }

    fn renew(&mut self) -> Result<(), StoreError> {
        (self.client, _) = self.runtime.block_on(enter(&self.endpoint))?;
        Ok(())
    }

    fn count(&mut self, combination: SetCombination, sets: Range<usize>) -> Result<u64, StoreError> {
        match self.arrays {
            Some(_) => self.number(&format!("SELECT icount({})::bigint", array(combination, sets))),
            None => self.number(&format!("SELECT count(*) FROM ({}) AS combined", self.query(combination, sets))),
        }
    }

    fn members(
        &mut self,
        combination: SetCombination,
        sets: Range<usize>,
        visit: &mut dyn FnMut(u64),
    ) -> Result<(), StoreError> {
        let (sql, index) = (self.query(combination, sets), self.arrays.as_ref().map(|(index, _)| index));
        self.wait(async {
            let none: [&(dyn ToSql + Sync); 0] = [];
            let mut rows = pin!(self.client.query_raw(&sql, none).await?);
            while let Some(row) = rows.try_next().await? {
                let id = row.try_get::<_, i64>(0)?.cast_unsigned();
                visit(index.map_or(id, |index| index.id(id as usize)));
            }
            Ok(())
        })
    }

    fn bytes(&mut self) -> Result<Option<u64>, StoreError> {
        let tables: Vec<String> = match self.arrays {
            None => (0..self.sets).map(|set| format!("pg_total_relation_size('kvtrial.set_{set}')")).collect(),
            Some(_) => vec!["pg_total_relation_size('kvtrial.set_arrays')".into()],
        };
        let bytes = self.number(&format!("SELECT ({})::bigint", tables.join(" + ")))?;
        Ok(Some(bytes + self.arrays.as_ref().map_or(0, |(index, _)| index.bytes())))
    }
}
