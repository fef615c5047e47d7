//! The connection to NATS, on a thread of its own: it hears, answers what time it is, and beats the heart, whatever the others do.

use crate::address::NatsAddress;
use crate::clocks::{ROUND_TRIPS, RoundTrip, reading};
use crate::error::FleetError;
use crate::life::BEAT;
use async_nats::{Client, ConnectErrorKind, Event, ServerError};
use futures_util::StreamExt;
use measure::monotonic_ns;
use runner::ClockReading;
use std::io::ErrorKind;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle};
use tokio::sync::Notify;

/// How long connecting, or handing over a message, may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long the answer to what time it is may take.
const CLOCK_PATIENCE: Duration = Duration::from_secs(1);

/// Something that was published.
pub(crate) struct Letter {
    pub(crate) subject: String,
    pub(crate) bytes: Vec<u8>,
}

/// A connection to NATS. It comes back by itself when it breaks.
pub(crate) struct Post {
    client: Client,
    handle: Handle,
    heart: Arc<Mutex<Option<(String, Vec<u8>)>>>,
    state: Arc<Mutex<State>>,
    over: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

/// How the connection is.
#[derive(Clone, Debug, Default)]
struct State {
    broken_since: Option<Instant>,
    refused: Option<String>,
}

impl Post {
    /// Connects as `name`.
    ///
    /// # Errors
    /// Nobody answers, or we are not let in.
    pub(crate) fn connect(address: &NatsAddress, name: &str) -> Result<Post, FleetError> {
        // Where several are compiled in rustls asks which to use; the first answer counts, and all are this one.
        let _ = async_nats::rustls::crypto::ring::default_provider().install_default();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let over = Arc::new(Notify::new());
        let ended = Arc::clone(&over);
        let thread = std::thread::Builder::new().name("nats".into());
        let thread = thread.spawn(move || runtime.block_on(ended.notified()))?;
        let state = Arc::new(Mutex::new(State::default()));
        let watched = Arc::clone(&state);
        let options = address
            .options()
            .name(name)
            .connection_timeout(PATIENCE)
            .ping_interval(Duration::from_secs(2))
            .event_callback(move |event| {
                note(&event, &mut locked(&watched));
                std::future::ready(())
            });
        let connected = handle.block_on(options.connect(address.servers()));
        let client = match connected {
            Ok(client) => client,
            Err(error) => {
                over.notify_one();
                let _ = thread.join();
                return Err(refusal(address, &error));
            }
        };
        let heart = Arc::new(Mutex::new(None));
        handle.spawn(beat(client.clone(), Arc::clone(&heart)));
        Ok(Post { client, handle, heart, state, over, thread: Some(thread) })
    }

    /// Hands what is published there to `heard`, made into something of its own.
    ///
    /// # Errors
    /// The connection is gone.
    pub(crate) fn hear<T: Send + 'static>(
        &self,
        subject: String,
        heard: &Sender<T>,
        make: fn(Letter) -> T,
    ) -> Result<(), FleetError> {
        let mut letters = self.handle.block_on(self.client.subscribe(subject)).map_err(std::io::Error::other)?;
        let heard = heard.clone();
        self.handle.spawn(async move {
            while let Some(message) = letters.next().await {
                let letter = Letter { subject: message.subject.to_string(), bytes: message.payload.to_vec() };
                if heard.send(make(letter)).is_err() {
                    return; // nobody listens any more
                }
            }
        });
        Ok(())
    }

    /// Answers every question there with what the clock shows.
    ///
    /// # Errors
    /// The connection is gone.
    pub(crate) fn tell_time(&self, subject: String) -> Result<(), FleetError> {
        let mut questions = self.handle.block_on(self.client.subscribe(subject)).map_err(std::io::Error::other)?;
        let client = self.client.clone();
        self.handle.spawn(async move {
            while let Some(question) = questions.next().await {
                if let Some(reply) = question.reply {
                    let now = monotonic_ns().to_string();
                    let _ = client.publish(reply, now.into()).await; // who asked asks again
                }
            }
        });
        Ok(())
    }

    /// Reads the clock behind a subject, many times; `None`: it does not answer.
    pub(crate) fn read_clock(&self, subject: &str) -> Option<ClockReading> {
        let trips = self.handle.block_on(async {
            let mut trips = Vec::with_capacity(ROUND_TRIPS);
            for _ in 0..ROUND_TRIPS {
                let asked_ns = monotonic_ns();
                let asked = self.client.request(subject.to_owned(), Vec::new().into());
                let Ok(Ok(answer)) = tokio::time::timeout(CLOCK_PATIENCE, asked).await else { break };
                let answered_ns = monotonic_ns();
                let shown = std::str::from_utf8(&answer.payload).ok().and_then(|text| text.parse().ok());
                trips.extend(shown.map(|theirs_ns| RoundTrip { asked_ns, theirs_ns, answered_ns }));
            }
            trips
        });
        reading(&trips)
    }

    /// Publishes a message. Where the connection is broken it goes out when that is back.
    pub(crate) fn publish(&self, subject: String, message: Vec<u8>) {
        let published = self.client.publish(subject, message.into());
        // One that cannot be handed over is missed by whom it was for, and that is noticed there.
        let _ = self.handle.block_on(async { tokio::time::timeout(PATIENCE, published).await });
    }

    /// Sees to it that what was published is out.
    pub(crate) fn flush(&self) {
        let _ = self.handle.block_on(async { tokio::time::timeout(CLOCK_PATIENCE, self.client.flush()).await });
    }

    /// Beats from now on with this message there; `None`: no longer.
    pub(crate) fn beat(&self, heart: Option<(String, Vec<u8>)>) {
        *locked(&self.heart) = heart;
    }

    /// Returns since when the connection has been broken, if it is.
    pub(crate) fn broken_since(&self) -> Option<Instant> {
        locked(&self.state).broken_since
    }

    /// Returns why the server does not let us in again, if that is so.
    pub(crate) fn refused(&self) -> Option<String> {
        locked(&self.state).refused.clone()
    }
}

impl Drop for Post {
    fn drop(&mut self) {
        self.over.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic in it has been reported there
        }
    }
}

async fn beat(client: Client, heart: Arc<Mutex<Option<(String, Vec<u8>)>>>) {
    let mut beats = tokio::time::interval(BEAT);
    beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        beats.tick().await;
        let beating = locked(&heart).clone();
        // Beats are not kept for later: the other side would take old ones for signs of life.
        if let Some((subject, message)) = beating
            && client.connection_state() == async_nats::connection::State::Connected
        {
            let _ = client.publish(subject, message.into()).await;
        }
    }
}

fn note(event: &Event, state: &mut State) {
    match event {
        Event::Connected => *state = State::default(),
        Event::Disconnected | Event::Closed => _ = state.broken_since.get_or_insert_with(Instant::now),
        Event::ServerError(ServerError::AuthorizationViolation) => {
            state.refused = Some("authorization violation".into())
        }
        Event::ClientError(error) if error.to_string().contains("authorization") => {
            state.refused = Some(error.to_string());
        }
        _ => {}
    }
}

fn refusal(address: &NatsAddress, error: &async_nats::ConnectError) -> FleetError {
    let (place, problem) = (address.place(), error.to_string());
    match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            FleetError::Refused { place, problem }
        }
        ConnectErrorKind::Tls => FleetError::NotBelieved { place, problem },
        _ if is_of_tls(error) => FleetError::NotBelieved { place, problem },
        _ => FleetError::Unreachable { place, problem },
    }
}

/// Whether it comes from TLS, which says invalid data where it does not believe or understand the other side.
fn is_of_tls(error: &dyn std::error::Error) -> bool {
    let mut causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(|io| io.kind() == ErrorKind::InvalidData))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
