//! What a worker does for a crash: its clients write until it is killed, or it reads what is left.

use crate::message::{ClientsBegun, CrashTask, CrashTurn, FromWorker, LedgerPlace, OpenedStore, Refusal, Upkeep};
use crate::worker::bench::{Bench, Link};
use crate::worker::history::told;
use crash::{AckLedger, After, Endurance, Reading};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::{Store, StoreError, needed};
use study::{Address, Spec, Target};

/// How often a worker that waits for its end looks whether it is to end by itself.
const LOOK: Duration = Duration::from_millis(5);

/// Writes, or reads everything. `opening` is how long it took to open the store.
pub(crate) fn carry_out(
    store: &dyn Store,
    task: &CrashTask,
    opening: Duration,
    bench: &Bench<'_>,
    link: &mut dyn Link,
) -> Result<(), Refusal> {
    let refused = |error: StoreError| Refusal::Store(error.to_string());
    let facts = task.location.facts(store).map_err(refused)?;
    link.say(FromWorker::Opened(OpenedStore::of(&task.spec, facts, store.capabilities())));
    let ledger = match &task.ledger {
        LedgerPlace::Shared(path) => AckLedger::open(path, task.clients, task.capacity),
        LedgerPlace::Own { first } => AckLedger::create_of(*first..first + task.clients, task.capacity),
    };
    let ledger = ledger.map_err(|error| Refusal::Store(format!("the ledger cannot be opened: {error}")))?;
    let is_users = task.spec.target != Target::Private;
    match task.turn {
        CrashTurn::Write { endurance, reading, upkeep } => {
            if is_users
                && let Some(left) = crash::left_over(store, &ledger, task.set(), task.deadline).map_err(refused)?
            {
                return Err(Refusal::Unsuited(format!("{left}{}", deletion(&task.spec))));
            }
            let clients = Clients { endurance, reading };
            let write = || write(store, task, &ledger, clients, upkeep, bench.stop);
            match task.ledger {
                LedgerPlace::Shared(_) => write().map_err(refused),
                LedgerPlace::Own { .. } => write_and_send(&ledger, write, link).map_err(refused),
            }
        }
        CrashTurn::Open => {
            while !bench.stop.load(Ordering::Relaxed) {
                std::thread::sleep(LOOK);
            }
            Ok(())
        }
        CrashTurn::Read { crash_at_ns, late, reading } => {
            let after = crash::read(store, &ledger, task.set(), crash_at_ns, late, task.deadline).map_err(refused)?;
            if is_users {
                crash::clear(store, &ledger, task.set(), task.deadline).map_err(refused)?;
            }
            let history = (reading == Reading::Between).then(|| Box::new(history(&ledger, &after, crash_at_ns)));
            link.say(FromWorker::CrashRead { opening, found: Box::new(after.found), history });
            Ok(())
        }
    }
}

/// The line that deletes the keys of earlier crashes from a Redis or Valkey of one server; a store without such a line has none.
fn deletion(spec: &Spec) -> String {
    let (true, Target::Server(place)) =
        (["redis", "valkey"].contains(&spec.name.trim_end_matches("-unix")), &spec.target)
    else {
        return String::new();
    };
    let mut line = "redis-cli".to_owned();
    match place.addresses.first() {
        Some(Address::Tcp { host, port }) => line += &format!(" -h {host} -p {}", port.unwrap_or(6379)),
        Some(Address::Unix(path)) => line += &format!(" -s '{}'", path.display()),
        None => {}
    }
    line.extend(place.user.iter().map(|user| format!(" --user {user}")));
    line.extend(place.database.iter().map(|number| format!(" -n {number}")));
    let password = if place.password.is_some() { " (its password in REDISCLI_AUTH)" } else { "" };
    format!("{password}:\n{line} --scan --pattern '{}*' | xargs {line} unlink", crash::PREFIX)
}

/// What clients do besides writing.
#[derive(Clone, Copy)]
struct Clients {
    endurance: Endurance,
    reading: Reading,
}

/// Checks what clients saw; its times are on a clock that begins with the crash.
fn history(ledger: &AckLedger, after: &After, crash_at_ns: u64) -> study::History {
    match history::check(&mut crash::history(ledger, &after.glances)) {
        Ok(check) => told(&check, |at_ns| (i128::from(at_ns) - i128::from(crash_at_ns)) as f64 / 1e9),
        Err(why) => study::History { problem: why.to_string(), ..study::History::default() },
    }
}

/// Lets the clients write; meanwhile the store is kept busy with its upkeep.
fn write(
    store: &dyn Store,
    task: &CrashTask,
    ledger: &AckLedger,
    Clients { endurance, reading }: Clients,
    upkeep: Option<Upkeep>,
    stop: &AtomicBool,
) -> Result<(), StoreError> {
    let Some(upkeep) = upkeep else { return crash::write(store, ledger, task.set(), endurance, reading, stop) };
    // Where it refuses, nobody writes on.
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let kept_up = scope.spawn(|| {
            let done = keep_up(store, ledger, upkeep, task.deadline, &over);
            over.store(true, Ordering::Relaxed);
            done
        });
        let watch = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                over.fetch_or(stop.load(Ordering::Relaxed), Ordering::Relaxed);
                std::thread::sleep(LOOK);
            }
        });
        let written = crash::write(store, ledger, task.set(), endurance, reading, &over);
        over.store(true, Ordering::Relaxed);
        let kept_up = kept_up.join().unwrap_or(Ok(()));
        drop(watch.join());
        kept_up.and(written)
    })
}

/// Writes, says when clients have begun, and sends the ledger when nobody writes any more.
fn write_and_send(
    ledger: &AckLedger,
    write: impl FnOnce() -> Result<(), StoreError> + Send,
    link: &mut dyn Link,
) -> Result<(), StoreError> {
    let written = std::thread::scope(|scope| {
        let writes = scope.spawn(write);
        let (mut some, mut all) = (false, false);
        while !writes.is_finished() {
            if !some && ledger.any_began() {
                some = true;
                link.say(FromWorker::Began(ClientsBegun::Some));
            }
            if !all && ledger.all_began() {
                all = true;
                link.say(FromWorker::Began(ClientsBegun::All));
            }
            std::thread::sleep(LOOK);
        }
        writes.join().unwrap_or_else(|_| Err(StoreError::Session("a writing thread panicked".into())))
    });
    let mut parcels = 0;
    for parcel in ledger.parcels() {
        parcels += 1;
        link.say(FromWorker::Ledger(Box::new(parcel)));
    }
    link.say(FromWorker::LedgerSent { parcels });
    written
}

fn keep_up(
    store: &dyn Store,
    ledger: &AckLedger,
    upkeep: Upkeep,
    patience: Duration,
    over: &AtomicBool,
) -> Result<(), StoreError> {
    while !over.load(Ordering::Relaxed) {
        ledger.turn_upkeep();
        match upkeep {
            Upkeep::Checkpoint => {
                needed(store.maintenance().checkpoint, "command for a checkpoint")?.checkpoint(patience)
            }
            Upkeep::Compaction => needed(store.maintenance().compaction, "compaction")?.compact(patience),
        }?;
        ledger.turn_upkeep();
    }
    Ok(())
}
