//! `--workers`: from its options to an execution by several workers.

use super::fork_server;
use crate::args::{SharingArguments, WorkersArgument};
use crate::failure::CommandFailure;
use data::sent::FileToSend;
use jobkit::TrialSetup;
use runner::{Execution, Fleet, Histories, LocalFleet, Plan, PlannedCell};
use store::Opener;
use study::Target;
#[cfg(feature = "workers")]
use {
    crate::args::NatsFileArguments,
    crate::failure,
    crate::output::note,
    crate::password,
    fleet::{
        FleetNews, NatsAddress, NatsFiles, NatsFleet, NatsServer, NatsSpec, ReachedBy, ServerPlace, WantedWorkers,
    },
};

/// Lets several workers carry out a plan, where that is asked for; waits until they are there. `others` are cells that a search may come to
/// besides those of its plan.
///
/// # Errors
/// The plan cannot be shared, or the workers are not there.
pub fn share(plan: &mut Plan, others: &[PlannedCell], arguments: &SharingArguments) -> Result<(), CommandFailure> {
    let Some(workers) = arguments.workers else { return Ok(()) };
    check(plan, others, workers.count())?;
    let is_private = plan.cells.iter().any(|cell| cell.spec.target == Target::Private);
    let servers = if is_private { Servers::Private } else { Servers::Users };
    // As it is now, whatever becomes of it while workers are waited for.
    let file = if matches!(workers, WorkersArgument::Joining(_)) { plan.file_to_send()? } else { None };
    file.iter().for_each(FileToSend::keep);
    plan.execution = Execution::Fleet(fleet(workers, servers, arguments)?.sending(file));
    Ok(())
}

/// Returns where crashes of stores that kvtrial starts are carried out; waits until the workers are there.
///
/// # Errors
/// They are not there.
pub fn of_crashes(arguments: &SharingArguments) -> Result<Execution, CommandFailure> {
    match arguments.workers {
        None => Ok(fork_server::execution()),
        Some(workers) => Ok(Execution::Fleet(fleet(workers, Servers::Private, arguments)?)),
    }
}

/// Whose servers the workers have to reach.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Servers {
    /// Some that kvtrial starts.
    Private,
    /// The user's.
    Users,
}

fn fleet(workers: WorkersArgument, servers: Servers, arguments: &SharingArguments) -> Result<Fleet, CommandFailure> {
    match workers {
        WorkersArgument::Local(count) => {
            if arguments.nats.is_some() || arguments.bind.is_some() {
                return Err(CommandFailure::usage(format!(
                    "--workers local:{count} needs no NATS; leave --nats and --bind out, or write --workers {count} for workers that join"
                )));
            }
            Ok(Fleet::new(Box::new(LocalFleet::new(count, fork_server::line())), fork_server::line()))
        }
        WorkersArgument::Joining(count) => joining(count, servers, arguments),
    }
}

/// Refuses what several workers cannot share, with the setting that works.
fn check(plan: &Plan, others: &[PlannedCell], count: u32) -> Result<(), CommandFailure> {
    let refused = |words: String| Err(CommandFailure::usage(format!("--workers: {words}")));
    if plan.faults.is_any() {
        return refused("--fault is for one process, which judges what all clients saw; leave one of them out".into());
    }
    if plan.histories != Histories::WithFaults {
        return refused("--history is of what all clients saw, in one process; leave one of them out".into());
    }
    for cell in plan.cells.iter().chain(others) {
        if matches!(cell.info.opener, Opener::Embedded(_)) {
            return refused(format!(
                "{} is a library: each worker would have a store of its own; name a server that all reach, such as -s redis://HOST:6379",
                cell.spec
            ));
        }
        let clients = cell.settings.clients;
        if clients < count {
            return refused(format!(
                "{count} workers cannot share {clients} {}; use --clients {count} or more",
                if clients == 1 { "client" } else { "clients" }
            ));
        }
        let capabilities = layers::declared(cell.info, &cell.spec);
        let setup = TrialSetup::alone(cell.settings.slots(), capabilities, plan.seed);
        let job = plan.job_cache.job(&cell.params)?;
        if let Err(problem) = job.shareable(&setup) {
            return refused(format!("{}: {problem}", plan.job.name));
        }
    }
    Ok(())
}

#[cfg(not(feature = "workers"))]
fn joining(count: u32, _: Servers, _: &SharingArguments) -> Result<Fleet, CommandFailure> {
    Err(CommandFailure::usage(format!(
        "this build reaches no other machines: build with --features workers, or full; or write --workers local:{count}"
    )))
}

/// Claims workers that have joined over NATS.
#[cfg(feature = "workers")]
fn joining(count: u32, servers: Servers, arguments: &SharingArguments) -> Result<Fleet, CommandFailure> {
    let reached_by = match servers {
        Servers::Private => ReachedBy::ThisMachine,
        Servers::Users => ReachedBy::Anybody,
    };
    let wanted = WantedWorkers { workers: count, within: arguments.join_within, reached_by };
    let mut nats = match &arguments.nats {
        Some(url) => {
            let address = address(url, &arguments.files)?;
            NatsFleet::connect(&address, wanted, tell)?
        }
        None => {
            let place = arguments.bind.map_or(ServerPlace::Everywhere, |(ip, port)| ServerPlace::At(ip, port));
            NatsFleet::own(NatsServer::start(place)?, wanted, tell)?
        }
    };
    nats.await_workers(&mut || !host::interrupt::requested()).map_err(|words| match host::interrupt::requested() {
        true => {
            CommandFailure { message: "interrupted while waiting for workers".into(), status: failure::INTERRUPTED }
        }
        false => CommandFailure::usage(words),
    })?;
    Ok(Fleet::new(Box::new(nats), fork_server::line()))
}

/// Returns the address of NATS that a user wrote, with its password in its place.
#[cfg(feature = "workers")]
pub fn address(url: &str, files: &NatsFileArguments) -> Result<NatsAddress, CommandFailure> {
    let mut spec = NatsSpec::read(url)?;
    password::settle(spec.spec())?;
    let files = NatsFiles {
        key: files.nats_key.clone(),
        authorities: files.nats_ca.clone(),
        certificate: files.nats_cert.clone().zip(files.nats_cert_key.clone()),
    };
    Ok(NatsAddress::new(&spec, files)?)
}

#[cfg(feature = "workers")]
fn tell(news: FleetNews) {
    match news {
        FleetNews::Waiting { joined, of, line } => {
            note(&format!("kvtrial: {joined} of {of} workers are there. On each other machine run:\n  {line}"));
        }
        FleetNews::Joined { name, joined, of } => {
            note(&format!("kvtrial: worker {name} has joined ({joined} of {of})"))
        }
        FleetNews::Refused { name, why } => note(&format!("kvtrial: worker {name} is refused: {why}")),
    }
}
