//! The echo baselines: the smallest server a store could be, kvtrial's own, behind a socket like the store's. Its cell says what
//! the wire costs; what a store costs beyond it is the store's. It can do what Redis can, so that a job does the same work on both.

use crate::redis::{self, Login, Resp};
use std::sync::OnceLock;
use store::wire::{self, Talk};
use store::{
    Availability, BUILT_IN, Capabilities, CommandLine, Deployment, Endpoint, Facts, Opener, OperationKind, Place,
    ServerPlan, Session, SessionPlan, Store, StoreError, StoreInfo, Threading,
};
use study::{Class, Durability, Spec, Transport};

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[
    StoreInfo {
        name: "echo",
        summary: "a minimal server over TCP: what the wire costs",
        opener: Opener::Server { plan: |spec, place| plan(spec, place, Transport::Tcp), connect, usual_port: 6377 },
        ..COMMON
    },
    StoreInfo {
        name: "echo-unix",
        transport: Some(Transport::Unix),
        summary: "a minimal server over a unix socket: what the wire costs",
        opener: Opener::Server { plan: |spec, place| plan(spec, place, Transport::Unix), connect, usual_port: 6377 },
        ..COMMON
    },
];

const COMMON: StoreInfo = StoreInfo {
    name: "echo",
    family: "echo",
    transport: Some(Transport::Tcp),
    driver: None,
    class: Class::Baseline,
    kind: "echo",
    summary: "",
    durabilities: &[Durability::None],
    options: &[],
    install: BUILT_IN,
    licence: "MIT OR Apache-2.0",
    declares: |_| CAPABILITIES,
    probe,
    opener: Opener::Server { plan: |spec, place| plan(spec, place, Transport::Tcp), connect, usual_port: 6377 },
};

static PROGRAM: OnceLock<CommandLine> = OnceLock::new();

/// Sets the program that is the echo server: the one that calls this, with arguments of its own. The program then gets `--port N` or `--socket PATH`.
/// Until then the echo stores are not found. The first call counts.
pub fn served_by(program: CommandLine) {
    let _ = PROGRAM.set(program);
}

fn probe() -> Availability {
    match PROGRAM.get() {
        Some(_) => Availability::Found(concat!("echo ", env!("CARGO_PKG_VERSION")).into()),
        None => Availability::NotFound("the program kvtrial, which is its own echo server".into()),
    }
}

fn plan(spec: &Spec, place: &mut Place, transport: Transport) -> Result<Deployment, StoreError> {
    let program = PROGRAM.get().cloned().ok_or_else(|| StoreError::NotFound {
        store: spec.name.clone(),
        what: "the program kvtrial, which is its own echo server".into(),
        install: "cargo install --path crates/cli".into(),
    })?;
    let (run, endpoint) = match transport {
        Transport::Tcp => {
            let port = place.port()?;
            (program.arg("--port").arg(port.to_string()), Endpoint::loopback(port))
        }
        Transport::Unix => {
            let socket = place.directory.join("echo.sock");
            (program.arg("--socket").arg(&socket), Endpoint::unix(socket))
        }
    };
    // It keeps nothing that could be lost.
    Ok(ServerPlan { stop_signal: libc::SIGKILL, ..ServerPlan::new(run, endpoint) }.into())
}

fn connect(_: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    let endpoint = store::only(nodes)?;
    Talk::open(endpoint, Resp::new(Login::of(endpoint)))?;
    Ok(Box::new(Echo { endpoint: endpoint.clone() }))
}

/// The capabilities of Redis, but for commands: nothing would answer them.
const CAPABILITIES: Capabilities =
    Capabilities { native: redis::CAPABILITIES.native.without(&OperationKind::OWN), ..redis::CAPABILITIES };

struct Echo {
    endpoint: Endpoint,
}

impl Store for Echo {
    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        let login = Login::of(&self.endpoint);
        wire::session(&self.endpoint, plan, move || Resp::new(login.clone()))
    }

    fn threading(&self) -> Threading {
        Threading::Shared
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let config = [("protocol".to_owned(), "RESP2".to_owned()), ("threads".to_owned(), "1".to_owned())].into();
        Ok(Facts { product: "echo".into(), version: env!("CARGO_PKG_VERSION").into(), config, ..Facts::default() })
    }
}
