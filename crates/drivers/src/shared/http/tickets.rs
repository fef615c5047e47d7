//! Logins that are made once: a server takes name and password, and gives a ticket (a token, a cookie) that requests then carry.
//!
//! A ticket ends some minutes after its last use, and with the server. A request that is refused for its ticket has done nothing: it is
//! sent again with a new one.

use super::{Answered, Http, HttpError, Method};
use hyper::header::HeaderName;
use std::sync::{Arc, Mutex, PoisonError};
use store::Endpoint;

/// The path where a server gives tickets, and the form of the tickets.
pub(crate) struct Desk {
    /// The path that takes name and password.
    pub(crate) path: &'static str,
    /// The form in which name and password are written.
    pub(crate) body: fn(&str, &str) -> serde_json::Value,
    /// The function that finds the ticket in the answer.
    pub(crate) ticket: fn(&Answered) -> Option<String>,
    /// The header that carries the ticket in requests.
    pub(crate) header: HeaderName,
}

/// The name, the password and the latest ticket, for all connections to a server.
pub(crate) struct Tickets {
    desk: &'static Desk,
    user: String,
    password: String,
    last: Mutex<Option<String>>,
}

impl Tickets {
    /// Makes tickets for the login of the endpoint; `None` when the endpoint has none.
    pub(crate) fn of(endpoint: &Endpoint, desk: &'static Desk) -> Option<Arc<Tickets>> {
        let user = endpoint.user.clone()?;
        let password = endpoint.password.as_ref().map(|secret| secret.reveal().to_owned()).unwrap_or_default();
        Some(Arc::new(Tickets { desk, user, password, last: Mutex::default() }))
    }

    /// Returns the header that a request carries.
    pub(super) fn carried(&self) -> Option<(HeaderName, String)> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        last.map(|ticket| (self.desk.header.clone(), ticket))
    }

    /// Returns name and password as the server takes them.
    pub(crate) fn names(&self) -> serde_json::Value {
        (self.desk.body)(&self.user, &self.password)
    }
}

impl Http {
    /// Asks for a ticket, which this and later connections then carry; `Some` is the server's answer when it gave none.
    pub(crate) async fn take_ticket(&mut self, tickets: &Tickets) -> Result<Option<Answered>, HttpError> {
        self.login = None;
        let names = tickets.names().to_string().into_bytes();
        let answered = self.ask_once(Method::POST, tickets.desk.path, names).await?;
        match (tickets.desk.ticket)(&answered).filter(|_| answered.status == 200) {
            Some(ticket) => {
                *tickets.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(ticket);
                self.login = tickets.carried();
                Ok(None)
            }
            None => Ok(Some(answered)),
        }
    }
}
