//! What is asked of a database as a whole: compaction, and a view that counts and sums.

use super::document::{id_of, quoted};
use super::setup::{CouchDb, ask};
use crate::shared::http::{Http, Method, in_url};
use serde::Deserialize;
use std::time::Duration;
use store::asynchronous::brief;
use store::{COUNT_PATIENCE, FieldPath, Holding, Reduction, ReductionGroup, SWEEP_PATIENCE, StoreError, Sweep, Swept};
use study::Target;

/// The pause between two questions whether compaction still runs, or between two requests for an index that is being built.
const PAUSE: Duration = Duration::from_millis(100);

/// The largest number that JavaScript counts to without rounding.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// What is said of a database.
#[derive(Deserialize)]
struct Database {
    #[serde(default)]
    compact_running: bool,
}

/// What is said of all documents: how many there are, whatever range was asked for, and those of the range.
#[derive(Deserialize)]
struct Documents {
    total_rows: u64,
    rows: Vec<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Rows {
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    key: String,
    value: Stats,
}

/// What the reduce function `_stats` gives.
#[derive(Deserialize)]
struct Stats {
    sum: f64,
    count: f64,
}

#[derive(Deserialize)]
struct Revision {
    #[serde(alias = "_rev")]
    rev: String,
}

/// What `_all_docs` says of an `_id` that it was asked for.
#[derive(Deserialize)]
struct Found {
    rows: Vec<Known>,
}

#[derive(Deserialize)]
struct Known {
    /// Not there where it has never been.
    value: Option<Latest>,
}

#[derive(Deserialize)]
struct Latest {
    rev: String,
    #[serde(default)]
    deleted: bool,
}

/// What `_bulk_docs` says of a document.
#[derive(Deserialize)]
struct Ended {
    #[serde(default)]
    id: String,
    error: Option<String>,
}

/// Looks for documents in one request, which returns their revisions, and deletes the documents that are there in another request.
pub(super) fn sweep(couch: &CouchDb, sweep: Sweep, keys: &[&[u8]]) -> Result<Swept, StoreError> {
    let (endpoint, database) = (&couch.endpoint, &couch.database);
    let nonsense = |error: serde_json::Error| StoreError::open(endpoint, error);
    let ids: Vec<String> = keys.iter().map(|key| id_of(key)).collect();
    brief(endpoint, SWEEP_PATIENCE, async {
        let mut http = couch.open().await?;
        let asked = serde_json::json!({ "keys": ids }).to_string().into_bytes();
        let found = ask(&mut http, endpoint, Method::POST, &format!("{database}/_all_docs"), asked, &[200]).await?;
        let found: Found = serde_json::from_slice(&found).map_err(nonsense)?;
        if found.rows.len() != ids.len() {
            let problem = format!("{} keys were asked for, {} answered", ids.len(), found.rows.len());
            return Err(StoreError::open(endpoint, problem));
        }
        let (mut swept, mut ends) = (Swept::default(), Vec::new());
        for (place, (id, known)) in ids.iter().zip(found.rows).enumerate() {
            if let Some(latest) = known.value.filter(|latest| !latest.deleted) {
                swept.count(place);
                ends.push(serde_json::json!({ "_id": id, "_rev": latest.rev, "_deleted": true }));
            }
        }
        if sweep == Sweep::Look || ends.is_empty() {
            return Ok(swept);
        }
        let body = serde_json::json!({ "docs": ends }).to_string().into_bytes();
        let said = ask(&mut http, endpoint, Method::POST, &format!("{database}/_bulk_docs"), body, &[201, 202]).await?;
        let said: Vec<Ended> = serde_json::from_slice(&said).map_err(nonsense)?;
        match said.into_iter().find_map(|one| one.error.map(|error| (one.id, error))) {
            None => Ok(swept),
            Some((id, error)) => Err(StoreError::open(endpoint, format!("deleting {id}: {error}"))),
        }
    })
}

/// The names of views are documents too, but no records.
const VIEWS: &str = "_all_docs?startkey=%22_design/%22&endkey=%22_design0%22";

/// Counts all documents but those that describe views.
pub(super) fn holding(couch: &CouchDb) -> Result<Holding, StoreError> {
    let (endpoint, path) = (&couch.endpoint, format!("{}/{VIEWS}", couch.database));
    let all = brief(endpoint, COUNT_PATIENCE, async {
        ask(&mut couch.open().await?, endpoint, Method::GET, &path, Vec::new(), &[200]).await
    })?;
    let all: Documents = serde_json::from_slice(&all).map_err(|error| StoreError::open(endpoint, error))?;
    Ok(Holding { keys: all.total_rows.checked_sub(all.rows.len() as u64), ..Holding::default() })
}

/// Rewrites the database's file and waits for the end.
pub(super) fn compact(couch: &CouchDb, patience: Duration) -> Result<(), StoreError> {
    let (endpoint, database) = (&couch.endpoint, &couch.database);
    brief(endpoint, patience, async {
        let mut http = couch.open().await?;
        ask(&mut http, endpoint, Method::POST, &format!("{database}/_compact"), Vec::new(), &[200, 202]).await?;
        loop {
            let said = ask(&mut http, endpoint, Method::GET, database, Vec::new(), &[200]).await?;
            let said: Database = serde_json::from_slice(&said).map_err(|error| StoreError::open(endpoint, error))?;
            if !said.compact_running {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
    })
}

/// Makes a view with the reduce function `_stats`, and reads the view. A private database keeps the view, so that its index is part of the size on
/// disk; from the user's database the view is removed.
pub(super) fn reduce(
    couch: &CouchDb,
    reduction: &Reduction,
    patience: Duration,
) -> Result<Vec<ReductionGroup>, StoreError> {
    let (endpoint, database) = (&couch.endpoint, &couch.database);
    let path = format!("{database}/_design/{}", in_url(format!("kvtrial-{}-{}", reduction.group, reduction.sum)));
    let rows = brief(endpoint, patience, async {
        let mut http = couch.open().await?;
        // 409: it is there already, and what it does is in its name.
        ask(&mut http, endpoint, Method::PUT, &path, design(reduction).into_bytes(), &[201, 202, 409]).await?;
        let rows = view(&mut http, couch, &path).await?;
        if matches!(couch.target, Target::Server(_)) {
            let said = ask(&mut http, endpoint, Method::GET, &path, Vec::new(), &[200]).await?;
            let said: Revision = serde_json::from_slice(&said).map_err(|error| StoreError::open(endpoint, error))?;
            let gone = format!("{path}?rev={}", in_url(&said.rev));
            ask(&mut http, endpoint, Method::DELETE, &gone, Vec::new(), &[200, 202]).await?;
            let cleanup = format!("{database}/_view_cleanup");
            ask(&mut http, endpoint, Method::POST, &cleanup, Vec::new(), &[200, 202]).await?;
        }
        Ok(rows)
    })?;
    let group = |row: Row| match (row.value.count, row.value.sum) {
        (count, sum) if (0.0..EXACT).contains(&count) && sum.abs() < EXACT && sum.fract() == 0.0 => {
            Ok(ReductionGroup { key: row.key, count: count as u64, sum: sum as i64 })
        }
        (_, sum) => {
            Err(StoreError::open(endpoint, format!("the sum of group {} is {sum}, which is not exact", row.key)))
        }
    };
    rows.into_iter().map(group).collect()
}

/// Reads the view. While a large index is being built, a CouchDB may answer that it took too long, and goes on building.
async fn view(http: &mut Http, couch: &CouchDb, design: &str) -> Result<Vec<Row>, StoreError> {
    let path = format!("{design}/_view/groups?group=true");
    loop {
        let answered = http.ask(Method::GET, &path, Vec::new()).await;
        let answered = answered.map_err(|error| StoreError::open(&couch.endpoint, error))?;
        match answered.status {
            200 => {
                return serde_json::from_slice::<Rows>(&answered.body)
                    .map(|found| found.rows)
                    .map_err(|error| StoreError::open(&couch.endpoint, error));
            }
            500..600 if String::from_utf8_lossy(&answered.body).contains("timeout") => tokio::time::sleep(PAUSE).await,
            status => {
                let words = String::from_utf8_lossy(&answered.body).into_owned();
                return Err(StoreError::open(&couch.endpoint, format!("HTTP {status} to {path}: {}", words.trim())));
            }
        }
    }
}

/// Returns the design document: the values are JSON in a string, so the map function reads them first.
fn design(reduction: &Reduction) -> String {
    let field = |path: &FieldPath| {
        path.names().iter().fold("value".to_owned(), |text, name| format!("{text}[{}]", quoted(name)))
    };
    let map = format!(
        "function (doc) {{ if (typeof doc.v === 'string') {{ var value = JSON.parse(doc.v); emit({}, {}); }} }}",
        field(&reduction.group),
        field(&reduction.sum)
    );
    let groups = serde_json::json!({ "map": map, "reduce": "_stats" });
    serde_json::json!({ "language": "javascript", "views": { "groups": groups } }).to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::design;
    use store::{FieldPath, Reduction};

    #[test]
    fn the_map_function_reads_the_fields_asked_for() {
        let reduction =
            Reduction { group: FieldPath::parse("origin.iata-code").unwrap(), sum: FieldPath::parse("n").unwrap() };
        let text = design(&reduction);
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        let map = document["views"]["groups"]["map"].as_str().unwrap();
        assert!(map.contains(r#"emit(value["origin"]["iata-code"], value["n"])"#), "{map}");
        assert_eq!(document["views"]["groups"]["reduce"], "_stats");
    }
}
