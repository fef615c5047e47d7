//! `kvtrial record`: a relay between an application and its store that writes what passes.

use crate::args::{KeepArgument, RecordArguments};
use crate::failure::{self, CommandFailure};
use crate::output::{note, shell_word};
use record::{RecordRequest, RecordedProtocol, Recorder, RecordingSum};
use std::time::Duration;
use store::Endpoint;
use store::tls::secured;
use study::{Address, Spec, Target, whole};
use trace::kvtrace::{RecordedKeys, RecordedValues};
use words::units;

/// Records until it is interrupted.
pub fn record(arguments: &RecordArguments) -> Result<u8, CommandFailure> {
    let request = request(arguments)?;
    let recorder = Recorder::begin(&request).map_err(CommandFailure::usage)?;
    let out = shell_word(&arguments.out.display().to_string());
    note(&format!(
        "Recording {} to {out}. Connect to {} instead; Ctrl-C ends it.",
        arguments.store,
        recorder.address()
    ));
    while !host::interrupt::requested() {
        std::thread::sleep(Duration::from_millis(50));
    }
    let sum = recorder.end();
    said(&sum).iter().for_each(|line| note(line));
    match sum.failed {
        Some(words) => Err(CommandFailure {
            message: format!(
                "{out} is not whole: {words}; everything passed all the same. Free some room, and record again"
            ),
            status: failure::VOID,
        }),
        None => {
            note(&format!("Replay it: kvtrial run replay --data {out} -s redis -s lmdb"));
            Ok(failure::GOOD)
        }
    }
}

fn request(arguments: &RecordArguments) -> Result<RecordRequest, CommandFailure> {
    let refuse = |problem: &str| {
        let remedy = "write redis://HOST:PORT, valkey://HOST:PORT, memcached://HOST:PORT, or redis-unix:///PATH";
        CommandFailure::usage(format!("{}: {problem}; {remedy}", arguments.store))
    };
    let spec: Spec = arguments.store.parse()?;
    let (protocol, usual_port) = match spec.name.as_str() {
        "redis" | "redis-unix" | "valkey" | "valkey-unix" => (RecordedProtocol::Resp, 6379),
        "memcached" | "memcached-unix" => (RecordedProtocol::Memcached, 11211),
        name => return Err(refuse(&format!("record does not understand what {name} speaks"))),
    };
    let Target::Server(authority) = &spec.target else { return Err(refuse("it is no address of a server")) };
    let [store] = &authority.addresses[..] else { return Err(refuse("record takes one server")) };
    let endpoints = secured(&spec, Endpoint::of(authority, usual_port)).map_err(CommandFailure::usage)?;
    let trust = endpoints.into_iter().find_map(|endpoint| endpoint.tls);
    let keeps = |what| arguments.keep.contains(&what);
    let listen = match arguments.listen.contains(':') {
        true => arguments.listen.clone(),
        false => format!("127.0.0.1:{}", arguments.listen), // a port alone
    };
    Ok(RecordRequest {
        store: Address::clone(store),
        trust,
        usual_port,
        protocol,
        listen,
        out: arguments.out.clone(),
        keys: if keeps(KeepArgument::Keys) { RecordedKeys::Kept } else { RecordedKeys::Hashed },
        values: if keeps(KeepArgument::Values) { RecordedValues::Kept } else { RecordedValues::Sizes },
    })
}

/// What was recorded, in words.
fn said(sum: &RecordingSum) -> Vec<String> {
    let mut lines = vec![format!(
        "Recorded: {} connections, {} commands, {} replies matched to them; {} passed to the store, {} back.",
        whole(sum.connections),
        whole(sum.commands),
        whole(sum.replies),
        units::bytes(sum.asked_bytes),
        units::bytes(sum.answered_bytes)
    )];
    if sum.not_understood_bytes > 0 {
        lines.push(format!(
            "{} from clients were not understood. They passed as they are; nothing behind them on their connections is in the recording.",
            units::bytes(sum.not_understood_bytes)
        ));
    }
    lines
}
