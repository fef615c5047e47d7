//! What each kind of reason means, and what to do about it.

use study::ReasonKind;

/// Returns the meaning of a kind, in a few plain words, and what to do about it where nothing more is known; [`remedy`](crate::remedy)
/// knows more.
pub fn advice(kind: ReasonKind) -> (&'static str, &'static str) {
    match kind {
        ReasonKind::WrongValue => (
            "wrong values read",
            "the store or its client corrupts data: run `kvtrial check` on this store and report what it finds",
        ),
        ReasonKind::WrongKey => (
            "another key's value read",
            "replies are mixed up: run `kvtrial check` on this store and report what it finds",
        ),
        ReasonKind::StaleValue => (
            "stale values read",
            "an acknowledged write was not seen: look for a replica, a cache, or delayed writes in front of the store",
        ),
        ReasonKind::UnexpectedMiss => (
            "keys that must exist were missing",
            "the store was restarted without its data, evicts, or expires: read its log, give it more memory, or turn eviction off",
        ),
        ReasonKind::ExpiredEarly => (
            "values gone before their time to live was over",
            "the store evicts, lost its data, or its clock runs ahead: read its log, and give it more memory",
        ),
        ReasonKind::ExpiredLate => (
            "values still there after their time to live",
            "the store looks at its clock more rarely than it says, or answers from a replica or cache: read its settings for expiry",
        ),
        ReasonKind::NeverExpired => (
            "values that never expired",
            "the time to live was not kept: does the server know it, and is its sweep of expired keys turned on?",
        ),
        ReasonKind::UnexpectedHit => {
            ("keys that must not exist were found", "the store was not empty: give it an empty database or directory")
        }
        ReasonKind::WrongNumber => {
            ("wrong counts", "increments were lost or doubled: look for retries or other writers on the same counters")
        }
        ReasonKind::WrongReply => {
            ("replies of the wrong type", "the keys hold something else: give the store an empty database")
        }
        ReasonKind::Refused => (
            "operations refused",
            "the store says why: correct that, often its memory limit, its value size limit, or that it is read-only",
        ),
        ReasonKind::NotConnected => (
            "operations never sent, for lack of a connection",
            "is the server up, and does it accept that many connections? Read its log",
        ),
        ReasonKind::Unknown => (
            "operations that may have happened, as the store says",
            "it got no answer from its own nodes, or met an internal error: read its log, and check their load and time limits",
        ),
        ReasonKind::ConnectionLost => {
            ("connections lost", "read the server's log, and look at its limits on clients and idle time")
        }
        ReasonKind::Protocol => (
            "replies that are not the protocol",
            "is something else listening there, or another version? Run `kvtrial check` on this store",
        ),
        ReasonKind::Deadline => (
            "operations without a reply in time",
            "the store froze or is far too slow: read its log, or raise --deadline",
        ),
        ReasonKind::LostUpdates => (
            "updates lost",
            "after a fault a higher durability= or more replicas may keep them; without one the store dropped writes it had acknowledged",
        ),
        ReasonKind::ForeignData => {
            ("data the job never wrote", "the store was not empty or has other writers: give it an empty database")
        }
        ReasonKind::WrongAnswer => {
            ("wrong answers", "the data in the store is not what the job makes: run `kvtrial check` on this store")
        }
        ReasonKind::NotSent => (
            "operations (in a script: units) due but never sent",
            "the rate asked for is too high for this store or client: lower --rate",
        ),
        ReasonKind::WorkerDied => (
            "worker process died",
            "an embedded store ended its process, or memory ran out: give it more disk and memory, or report it to its author",
        ),
        ReasonKind::WorkerLost => (
            "a worker was lost",
            "it, its machine or the way to it failed: see there, start `kvtrial worker` again, and run the trial once more",
        ),
        ReasonKind::WorkerDisagrees => (
            "a worker's own counts disagree",
            "run the same kvtrial on every machine; if it is the same, report it with the words above",
        ),
        ReasonKind::ServerDied => ("server died", "read its log; it may have run out of memory or disk"),
        ReasonKind::NotStarted => {
            ("store could not be started", "`kvtrial stores` shows what is found and how to install what is not")
        }
        ReasonKind::SettingNotInEffect => {
            ("setting not in effect", "the server did not take it: check its version and its configuration file")
        }
        ReasonKind::Evicted => (
            "keys dropped by the store itself",
            "it needed room, or let them expire: give it more memory, or turn eviction and expiry off",
        ),
        ReasonKind::FailedInFault => (
            "not read back after a fault you asked for",
            "whether acknowledged writes were lost is unknown: give the store replicas, or start the node again before the end",
        ),
        ReasonKind::FaultNotDone => (
            "a fault you asked for was not done",
            "restart a node only after it was killed or stopped, and let the trial last longer than its faults: --set seconds=",
        ),
        ReasonKind::ScriptFailed => (
            "the script failed",
            "correct the script at the line that is named; 'kvtrial jobs FILE.lua' tries it on ram",
        ),
        ReasonKind::NotAsExpected => (
            "what the script expects was not true",
            "the store's answers are not what kv.expect asks for, or the script asks for too much",
        ),
        ReasonKind::NothingMeasured => (
            "nothing was asked of the store while the clock ran",
            "in a script, call verbs of kv in run(client); in another job, set more records or operations, or seconds= and --rate higher",
        ),
        ReasonKind::ClientSaturated => {
            ("client at its limit", "kvtrial itself may be what was measured: give it more threads, or more processors")
        }
        ReasonKind::ClientDelayed => (
            "client threads waited for a processor",
            "client and server, or others, share processors: use fewer --threads, more processors, or a quieter machine",
        ),
        ReasonKind::ScheduleLag => {
            ("sent late by the client", "this machine cannot keep the schedule: lower --rate or free processors")
        }
        ReasonKind::StartSpread => (
            "workers began apart",
            "make the trial longer (--set seconds=, or more records), or bring the machines closer together",
        ),
        ReasonKind::RateNotOffered => (
            "the rate asked for was not offered",
            "what was due waited for a free client or a processor: use more --clients or --pipeline, a lower --rate, or a quieter machine",
        ),
        ReasonKind::Steal => {
            ("processor time taken by other virtual machines", "repeat at a quieter time or on a machine of your own")
        }
        ReasonKind::OtherLoad => ("other processes were busy", "stop them and repeat"),
        ReasonKind::Throttled => (
            "processor time was withheld",
            "raise the CPU quota of the container or service, or let the machine cool, and repeat",
        ),
        ReasonKind::SlowReadBack => (
            "read back far slower than everything before",
            "the store may put off work until the first read, and the timed rate does not include that work",
        ),
        ReasonKind::NoTrial => ("no counted trial was finished", "resume the study: the same command with --resume"),
        ReasonKind::Interrupted => ("interrupted before it ran", "resume the study: the same command with --resume"),
        ReasonKind::StudyStopped => {
            ("the study stopped before it ran", "fix what stopped it, then resume: the same command with --resume")
        }
        ReasonKind::KeysFound => (
            "keys of the job were already in the store",
            "they may be yours: give it an empty database, or --overwrite to delete those keys",
        ),
        ReasonKind::Unsuited => {
            ("the job cannot be done on this store", "`kvtrial stores` shows what each store can do")
        }
    }
}

/// Says what it means that a reason of this kind was met once.
pub(crate) fn once(kind: ReasonKind) -> &'static str {
    match kind {
        ReasonKind::WrongValue => "a wrong value was read",
        ReasonKind::WrongKey => "another key's value was read",
        ReasonKind::StaleValue => "a stale value was read",
        ReasonKind::UnexpectedMiss => "a key that must exist was missing",
        ReasonKind::ExpiredEarly => "a value was gone before its time to live was over",
        ReasonKind::ExpiredLate => "a value was still there after its time to live",
        ReasonKind::NeverExpired => "a value never expired",
        ReasonKind::UnexpectedHit => "a key that must not exist was found",
        ReasonKind::WrongNumber => "a wrong count",
        ReasonKind::WrongReply => "a reply of the wrong type",
        ReasonKind::Refused => "an operation was refused",
        ReasonKind::NotConnected => "an operation was never sent, for lack of a connection",
        ReasonKind::Unknown => "an operation may have happened, as the store says",
        ReasonKind::ConnectionLost => "a connection was lost",
        ReasonKind::Protocol => "a reply that is not the protocol",
        ReasonKind::Deadline => "an operation without a reply in time",
        ReasonKind::LostUpdates => "an update was lost",
        ReasonKind::ForeignData => "data the job never wrote",
        ReasonKind::WrongAnswer => "a wrong answer",
        ReasonKind::NotSent => "an operation (in a script: a unit) was due but never sent",
        ReasonKind::SettingNotInEffect => "a setting is not in effect",
        ReasonKind::Evicted => "a key was dropped by the store itself",
        ReasonKind::KeysFound => "a key of the job was already in the store",
        other => advice(other).0,
    }
}
