//! Logins that are made once: a server takes name and password, and gives a ticket (a token, a cookie) that requests then carry.
//!
//! A ticket ends some minutes after its last use, and with the server. A request that is refused for its ticket has done nothing: it is
//! sent again with a new one.

use super::{Answered, Http, HttpError, Method};
use hyper::header::HeaderName;
use std::sync::{Arc, Mutex, PoisonError};
use store::Endpoint;

/// Where a server gives tickets, and what they look like.
pub(crate) struct Desk {
    /// Name and password go here.
    pub(crate) path: &'static str,
    /// How they are written.
    pub(crate) body: fn(&str, &str) -> serde_json::Value,
    /// The ticket in its answer.
    pub(crate) ticket: fn(&Answered) -> Option<String>,
    /// The header requests carry it in.
    pub(crate) header: HeaderName,
}

/// Name, password and the ticket they last came to, for all connections to a server.
pub(crate) struct Tickets {
    desk: &'static Desk,
    user: String,
    password: String,
    last: Mutex<Option<String>>,
}

impl Tickets {
    /// For the login of the endpoint; `None` when it has none.
    pub(crate) fn of(endpoint: &Endpoint, desk: &'static Desk) -> Option<Arc<Tickets>> {
        let user = endpoint.user.clone()?;
        let password = endpoint.password.as_ref().map(|secret| secret.reveal().to_owned()).unwrap_or_default();
        Some(Arc::new(Tickets { desk, user, password, last: Mutex::default() }))
    }

    /// What a request carries.
    pub(super) fn carried(&self) -> Option<(HeaderName, String)> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        last.map(|ticket| (self.desk.header.clone(), ticket))
    }

    /// Name and password as the server takes them.
    pub(crate) fn names(&self) -> serde_json::Value {
        (self.desk.body)(&self.user, &self.password)
    }
}

impl Http {
    /// Asks for a ticket, which this and later connections then carry; `Some` is what the server said instead of giving one.
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
