//! The servers that do not answer, of several that were named.

use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};
use store::Endpoint;

/// The time a connection may take.
const PATIENCE: Duration = Duration::from_millis(500);

/// Returns the endpoints that do not answer. All are tried at the same time; none is returned where there is only one.
pub(crate) fn silent(endpoints: &[Endpoint]) -> Vec<String> {
    let places: Vec<(String, u16)> =
        endpoints.iter().filter_map(Endpoint::tcp).map(|(host, port)| (host.to_owned(), port)).collect();
    if places.len() < 2 {
        return Vec::new();
    }
    let (answers, heard) = channel();
    for (number, place) in places.iter().cloned().enumerate() {
        let answers = answers.clone();
        // Where the name alone takes too long to be found, nobody waits for it.
        let asking = move || {
            let mut found = place.to_socket_addrs().into_iter().flatten();
            if found.any(|address| TcpStream::connect_timeout(&address, PATIENCE).is_ok()) {
                let _ = answers.send(number); // fails only when nobody listens any more
            }
        };
        if thread::Builder::new().name("asks".into()).spawn(asking).is_err() {
            return Vec::new();
        }
    }
    drop(answers);
    let until = Instant::now() + 2 * PATIENCE;
    let mut silent = vec![true; places.len()];
    while let Ok(number) = heard.recv_timeout(until.saturating_duration_since(Instant::now())) {
        silent[number] = false;
    }
    let named = places.iter().zip(silent).filter(|(_, silent)| *silent);
    named.map(|((host, port), _)| format!("{host}:{port}")).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::silent;
    use std::net::TcpListener;
    use store::Endpoint;

    #[test]
    fn of_several_addresses_those_are_named_that_nobody_listens_at() {
        let listening = TcpListener::bind("127.0.0.1:0").unwrap();
        let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let there = Endpoint::loopback(listening.local_addr().unwrap().port());
        let port = free();
        let absent = Endpoint::loopback(port);
        assert_eq!(silent(&[there.clone(), absent.clone(), there.clone()]), [format!("127.0.0.1:{port}")]);
        assert!(silent(&[absent]).is_empty() && silent(&[there.clone(), there]).is_empty());
    }
}
