//! Logging in: etcd takes a name and a password once and gives a token, which each request then carries.

use super::USER;
use crate::shared::http::{Desk, Http, HttpError, Method, Tickets, header};
use serde::Deserialize;
use serde_json::json;
use store::{Endpoint, StoreError};

/// The path that gives tokens.
pub(super) static DESK: Desk = Desk {
    path: "/v3/auth/authenticate",
    body: |name, password| json!({ "name": name, "password": password }),
    ticket: |answered| serde_json::from_slice::<Authenticated>(&answered.body).ok().map(|answer| answer.token),
    header: header::AUTHORIZATION,
};

/// The answer of a server that asks for a login to a request without one.
pub(super) const NONE: &str = "user name is empty";

/// The answer of a server that asks for no login to a login.
const NOT_ASKED: &str = "authentication is not enabled";

/// The owner of a server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// A server that this run has started for itself.
    Private,
    /// A server of the user's.
    Users,
}

#[derive(Deserialize)]
struct Authenticated {
    token: String,
}

#[derive(Deserialize)]
struct Listed {
    #[serde(default)]
    users: Vec<String>,
}

/// Logs in. A private server that was just started does not ask for a password: kvtrial makes it ask first.
pub(super) async fn log_in(
    http: &mut Http,
    endpoint: &Endpoint,
    tickets: &Tickets,
    whose: Whose,
) -> Result<(), StoreError> {
    let failed = |error: HttpError| StoreError::open(endpoint, error);
    let Some(refusal) = http.take_ticket(tickets).await.map_err(failed)? else { return Ok(()) };
    let words = String::from_utf8_lossy(&refusal.body);
    match (words.contains(NOT_ASKED), whose) {
        (false, _) => Err(StoreError::open(endpoint, words.trim())),
        (true, Whose::Users) => {
            Err(StoreError::open(endpoint, "it does not ask for a password; leave user and password out"))
        }
        (true, Whose::Private) => {
            lock(http, tickets).await.map_err(failed)?;
            if let Some(refusal) = http.take_ticket(tickets).await.map_err(failed)? {
                return Err(StoreError::open(endpoint, String::from_utf8_lossy(&refusal.body).trim()));
            }
            is_ours_alone(http, endpoint).await
        }
    }
}

/// Makes the server ask for a password from now on. Steps that an earlier attempt has done already are refused the second time, which does
/// no harm: the login that follows shows whether everything is done.
async fn lock(http: &mut Http, tickets: &Tickets) -> Result<(), HttpError> {
    for (path, body) in [
        ("/v3/auth/user/add", tickets.names()),
        ("/v3/auth/role/add", json!({ "name": USER })),
        ("/v3/auth/user/grant", json!({ "user": USER, "role": USER })),
        ("/v3/auth/enable", json!({})),
    ] {
        http.ask(Method::POST, path, body.to_string().into_bytes()).await?;
    }
    Ok(())
}

/// Checks that no stranger has made a user in the moment before the server asked for a password.
async fn is_ours_alone(http: &mut Http, endpoint: &Endpoint) -> Result<(), StoreError> {
    let answered = http.ask(Method::POST, "/v3/auth/user/list", b"{}".to_vec()).await;
    let answered = answered.map_err(|error| StoreError::open(endpoint, error))?;
    let listed: Listed = serde_json::from_slice(&answered.body).map_err(|error| StoreError::open(endpoint, error))?;
    match listed.users.as_slice() {
        [only] if only == USER => Ok(()),
        users => Err(StoreError::open(endpoint, format!("its users are {users:?}, but there should only be {USER}"))),
    }
}
