//! Listens, connects each client to the store, and writes the recording.

use crate::chunk::{Chunk, Happened};
use crate::conversation::Keeping;
use crate::copies::Copies;
use crate::relay::{Wire, relay};
use crate::taken::RecordedProtocol;
use crate::tape::{self, RecordingSum};
use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use store::tls::Trust;
use study::Address;
use trace::kvtrace::{KvtraceWriter, RecordedKeys, RecordedValues, RecordingHead};

/// What is to be recorded.
#[derive(Clone, Debug)]
pub struct RecordRequest {
    /// Where the store is.
    pub store: Address,
    /// Whose signature under its certificate is believed, where TLS is spoken to it.
    pub trust: Option<Trust>,
    /// Its port, where the address has none.
    pub usual_port: u16,
    /// What it speaks.
    pub protocol: RecordedProtocol,
    /// Where clients are to connect: HOST:PORT.
    pub listen: String,
    /// The file.
    pub out: PathBuf,
    /// What is kept of keys.
    pub keys: RecordedKeys,
    /// What is kept of values.
    pub values: RecordedValues,
}

/// Why nothing can be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Nobody answers there.
    #[error(
        "nothing can be reached at {0}: {1}; start the store first, or name where it is, and with TLS who signed its certificate (ca=FILE)"
    )]
    NoStore(String, io::Error),
    /// The address cannot be listened at.
    #[error("--listen {0}: {1}; name another HOST:PORT, or end the program that has it")]
    NoPort(String, io::Error),
    /// The file cannot be made.
    #[error("-o {0}: {1}; name a new file that can be written")]
    NoFile(String, io::Error),
}

/// A recording under way.
pub struct Recorder {
    address: SocketAddr,
    copies: Arc<Copies>,
    tape: JoinHandle<RecordingSum>,
}

impl Recorder {
    /// Begins: once this returns, clients can connect.
    ///
    /// # Errors
    /// The store cannot be reached, the address is taken, or the file cannot be made.
    pub fn begin(request: &RecordRequest) -> Result<Recorder, RecordError> {
        let RecordRequest { store, trust, usual_port, protocol, listen, out, keys, values } = request.clone();
        Wire::connect(&store, usual_port, trust.as_ref())
            .map_err(|error| RecordError::NoStore(store.to_string(), error))?;
        let listener = TcpListener::bind(&listen).map_err(|error| RecordError::NoPort(listen.clone(), error))?;
        let address = listener.local_addr().map_err(|error| RecordError::NoPort(listen, error))?;
        let no_file = |error| RecordError::NoFile(out.display().to_string(), error);
        let file = File::options().write(true).create_new(true).open(&out).map_err(no_file)?;
        let began_us = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64);
        let began = Instant::now();
        let writer = KvtraceWriter::begin(file, RecordingHead { keys, values, began_us }).map_err(no_file)?;
        let copies = Arc::new(Copies::default());
        let keeping = Keeping::new(protocol, keys, values);
        let received = Arc::clone(&copies);
        let tape = std::thread::spawn(move || tape::write(writer, keeping, &received));
        let copies_of_clients = Arc::clone(&copies);
        std::thread::spawn(move || {
            for (connection, client) in (1..).zip(listener.incoming()) {
                let Ok(client) = client else {
                    std::thread::sleep(Duration::from_millis(10)); // no descriptor is free: until one is
                    continue;
                };
                let (copies, store, trust) = (Arc::clone(&copies_of_clients), store.clone(), trust.clone());
                std::thread::spawn(move || {
                    let _ = client.set_nodelay(true);
                    let client = Wire::Tcp(client);
                    match Wire::connect(&store, usual_port, trust.as_ref()) {
                        // Its client sees an end, as it would have seen from the store.
                        Ok(store) => drop(relay(client, store, connection, began, &copies)),
                        Err(_) => client.reset(),
                    }
                });
            }
        });
        Ok(Recorder { address, copies, tape })
    }

    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends the recording. Connections that are open are passed on until this process ends.
    pub fn end(self) -> RecordingSum {
        self.copies.leave(Chunk { connection: 0, time_us: 0, what: Happened::End });
        self.tape.join().unwrap_or_else(|_| RecordingSum {
            failed: Some("the thread that writes it ended".into()),
            ..RecordingSum::default()
        })
    }
}
