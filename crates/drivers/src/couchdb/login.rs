//! Logging in to a private server, and keeping everybody else out.

use super::USER;
use super::setup::ask;
use crate::shared::http::{Answered, Desk, Http, Method, Tickets, header};
use serde_json::json;
use store::{Endpoint, StoreError};

/// The path that gives cookies.
pub(super) static DESK: Desk = Desk {
    path: "/_session",
    body: |name, password| json!({ "name": name, "password": password }),
    ticket: cookie,
    header: header::COOKIE,
};

/// Returns `AuthSession=…` of `AuthSession=…; Path=/; HttpOnly`.
fn cookie(answered: &Answered) -> Option<String> {
    let set = answered.headers.get(header::SET_COOKIE)?.to_str().ok()?;
    set.split(';').next().filter(|cookie| cookie.starts_with("AuthSession=")).map(str::to_owned)
}

/// Logs in.
pub(super) async fn log_in(http: &mut Http, endpoint: &Endpoint, tickets: &Tickets) -> Result<(), StoreError> {
    match http.take_ticket(tickets).await.map_err(|error| StoreError::open(endpoint, error))? {
        None => Ok(()),
        Some(refusal) => Err(StoreError::open(endpoint, String::from_utf8_lossy(&refusal.body).trim())),
    }
}

/// Locks the database: only this user may read and write it. Only this user could make it, too.
pub(super) async fn lock(http: &mut Http, endpoint: &Endpoint, database: &str) -> Result<(), StoreError> {
    let only = json!({ "names": [USER], "roles": [] });
    let body = json!({ "admins": only, "members": only }).to_string().into_bytes();
    ask(http, endpoint, Method::PUT, &format!("{database}/_security"), body, &[200]).await.map(drop)
}
