//! Values with a time to live: each has a lease of its own, granted before the put.
//!
//! etcd counts leases in seconds, and raises one that is shorter than its elections may take. A lease ends by itself, also one whose key was
//! put again or deleted since.

use super::{BASE64, Client, Stored, Transaction, nonsense, range};
use crate::shared::http::HttpTrouble;
use base64::Engine;
use serde::Deserialize;
use store::LASTS;

#[derive(Deserialize)]
struct Granted {
    #[serde(rename = "ID")]
    id: String,
    #[serde(rename = "TTL")]
    seconds: String,
}

#[derive(Deserialize)]
struct Lease {
    /// -1: its time is over, or there is none.
    #[serde(rename = "TTL")]
    seconds: Option<String>,
}

impl Client {
    /// Stores a value that is gone after a time.
    pub(super) async fn put_ttl(&mut self, key: &[u8], value: &[u8], ttl_ms: u64) -> Result<(), HttpTrouble> {
        let lease = self.grant(ttl_ms).await?;
        let body =
            format!(r#"{{"key":"{}","value":"{}","lease":"{lease}"}}"#, BASE64.encode(key), BASE64.encode(value));
        self.ask::<Stored>("/v3/kv/put", body).await.map(drop)
    }

    /// Gives a key a new lease, and returns whether there is such a key.
    pub(super) async fn touch(&mut self, key: &[u8], ttl_ms: u64) -> Result<bool, HttpTrouble> {
        let lease = self.grant(ttl_ms).await?;
        let key = BASE64.encode(key);
        let body = format!(
            r#"{{"compare":[{{"key":"{key}","target":"VERSION","result":"GREATER","version":"0"}}],"success":[{{"request_put":{{"key":"{key}","ignore_value":true,"lease":"{lease}"}}}}]}}"#
        );
        let is_there = self.ask::<Transaction>("/v3/kv/txn", body).await?.succeeded;
        if !is_there {
            self.ask::<Stored>("/v3/lease/revoke", format!(r#"{{"ID":"{lease}"}}"#)).await?;
        }
        Ok(is_there)
    }

    /// Returns the milliseconds that the lease of a key has left, whole seconds; `None`: there is no such key.
    pub(super) async fn time_left(&mut self, key: &[u8]) -> Result<Option<i64>, HttpTrouble> {
        let Some(pair) = self.range(&range(key)).await?.pop() else { return Ok(None) };
        if matches!(pair.lease.as_str(), "" | "0") {
            return Ok(Some(LASTS));
        }
        let lease: Lease = self.ask("/v3/lease/timetolive", format!(r#"{{"ID":"{}"}}"#, pair.lease)).await?;
        let seconds = lease.seconds.unwrap_or_default();
        let seconds: i64 = if seconds.is_empty() { 0 } else { seconds.parse().map_err(nonsense)? };
        Ok((seconds >= 0).then(|| seconds.saturating_mul(1000)))
    }

    /// Returns a new lease.
    async fn grant(&mut self, ttl_ms: u64) -> Result<String, HttpTrouble> {
        let seconds = ttl_ms.div_ceil(1000).to_string();
        let granted: Granted = self.ask("/v3/lease/grant", format!(r#"{{"TTL":"{seconds}"}}"#)).await?;
        if granted.seconds == seconds {
            return Ok(granted.id);
        }
        self.ask::<Stored>("/v3/lease/revoke", format!(r#"{{"ID":"{}"}}"#, granted.id)).await?;
        let words =
            format!("ttl={seconds}s: the server makes {} s of it; use {}s or more", granted.seconds, granted.seconds);
        Err(HttpTrouble::Refused(words))
    }
}
