//! Project Voldemort in its protocol `pb0`: one server, or several that are one store. The client routes, as Voldemort's own does.
//!
//! A private store is started from a Voldemort you have built (`bin/voldemort-server.sh` on PATH, or named by `program=` or
//! `KVTRIAL_VOLDEMORT`); its own Java classes run, with Berkeley DB Java Edition as their engine.
//!
//! | level | settings | what a crash loses |
//! |---|---|---|
//! | `none` (the server's default) | `bdb.write.transactions=false` | what Berkeley DB has in its buffers, when the process is killed |
//! | `os` | `bdb.write.transactions=true` | nothing when the process is killed; anything at a power cut |
//!
//! There is no `commit`: with `bdb.flush.transactions=true` as well, a power cut takes writes that were acknowledged (`docs/durability.md`).
//!
//! Each key has a version, a vector clock: how many of its writes each node has mastered. So a put takes two requests, as `put(key, value)`
//! of Voldemort's client does: it asks for the version, then stores the next one. Where another client has put between the two, Voldemort
//! says that the version is obsolete, and both requests are sent again (`resent`). That would be a compare-and-set, but for keys that are
//! not there: Voldemort 1.3.0 looks whether there is one and then puts, without a lock in between, so that of several clients that create
//! a key more than one may hear that it did (seen). So compare-and-set is not native.
//!
//! Of several servers a key is on `replication=` ones: those of its partition and of the next ones on the ring. A read asks
//! `required-reads=` of them and takes the latest version. A put goes to the first node that answers, which masters the write, then to the
//! others; all that answer within half a second are waited for (`preferred-writes` is `replication-factor`), and it counts when
//! `required-writes=` have it. A node that has not answered is asked only every second, unless there are too few others. Nothing repairs
//! what a node has missed: there is no hinted handoff and no read repair here. Two versions of which none is later (siblings) are refused to
//! a reader, not merged, and counted; a put covers both.
//!
//! Voldemort listens on all addresses and has no option for that. A private one refuses, by a policy of Java's security manager, all
//! connections that do not come from 127.0.0.1. Java has no security manager from release 24 on.

#[cfg(feature = "voldemort")]
mod client;
#[cfg(feature = "voldemort")]
mod clock;
#[cfg(feature = "voldemort")]
mod cluster;
mod home;
#[cfg(feature = "voldemort")]
mod layout;
#[cfg(feature = "voldemort")]
mod line;
mod metadata;
#[cfg(feature = "voldemort")]
mod protocol;
#[cfg(feature = "voldemort")]
mod ring;
mod server;
#[cfg(feature = "voldemort")]
mod setup;
#[cfg(feature = "voldemort")]
mod trouble;

use ground::jvm::HEAP;
use ground::{built, driver};
use metadata::Copies;
use store::{Capabilities, Deletes, Number, Opener, OperationKind, OperationSet, OptionInfo, StoreError, StoreInfo};
use study::{Class, Durability, Spec, Transport};

const INSTALL: &str = "build Voldemort 1.3.0 from its source (no package has it) and put bin/voldemort-server.sh on PATH, or \
                       name it in KVTRIAL_VOLDEMORT or by program=PATH";
const USUAL_PORT: u16 = 6666;
const DURABILITIES: &[Durability] = &[Durability::None, Durability::Os];

/// The store of private servers, and of your servers when the URL names none.
const STORE: &str = "kvtrial";

/// kvtrial's own limit of a value: there is none but the heap, where a value lies several times while it is written.
const MAX_VALUE_BYTES: usize = 4 << 20;

/// The most nodes of a private store.
const MOST_NODES: u64 = 8;

const NODES: Number = OptionInfo::text("nodes", "servers that are one store, 1 to 8").usual("1").within(1..=MOST_NODES);
const REPLICATION: Number = OptionInfo::text("replication", "nodes that hold a key, 1 to nodes")
    .otherwise("3, as far as there are that many")
    .within(1..=MOST_NODES);
const REQUIRED_READS: Number =
    OptionInfo::text("required-reads", "nodes that answer before a read counts, 1 to replication")
        .otherwise("a majority")
        .within(1..=MOST_NODES);
const REQUIRED_WRITES: Number =
    OptionInfo::text("required-writes", "nodes that have a write before it counts, 1 to replication")
        .otherwise("a majority")
        .within(1..=MOST_NODES);
const SERVER_PROGRAM: OptionInfo =
    OptionInfo::text("program", "Voldemort's bin/voldemort-server.sh").otherwise("the one on PATH");
const OPTIONS: &[OptionInfo] =
    &[NODES.info, REPLICATION.info, REQUIRED_READS.info, REQUIRED_WRITES.info, HEAP.info, SERVER_PROGRAM];

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "voldemort",
    family: "voldemort",
    transport: Some(Transport::Tcp),
    driver: driver!("voldemort"),
    class: Class::Network,
    kind: "ring",
    summary: "Project Voldemort, one server or several, by its protocol pb0",
    durabilities: DURABILITIES,
    options: OPTIONS,
    install: INSTALL,
    licence: "Apache-2.0",
    declares: |spec| capabilities(level(spec), copies(spec).map_or(1, |copies| copies.replication)),
    probe: home::probe,
    opener: Opener::Server { plan: server::plan, connect: built!("voldemort", setup::connect), usual_port: USUAL_PORT },
}];

const CAPABILITIES: Capabilities = Capabilities {
    native: OperationSet::BASIC.and(&[OperationKind::GetMany]),
    max_value_bytes: MAX_VALUE_BYTES,
    ..Capabilities::BASIC
};

/// Returns the capabilities: with several copies each node says for itself whether it had the key, so two clients may get that answer from two nodes.
fn capabilities(durability: Durability, replication: usize) -> Capabilities {
    let deletes = if replication > 1 { Deletes::AfterALook } else { Deletes::OneIsTold };
    Capabilities { durability, deletes, ..CAPABILITIES }
}

fn level(spec: &Spec) -> Durability {
    spec.durability.unwrap_or(DURABILITIES[0])
}

/// Returns how a private store is copied.
fn copies(spec: &Spec) -> Result<Copies, StoreError> {
    let up_to = |option: Number, most: usize| option.up_to(most as u64).asked(spec);
    let nodes = NODES.read(spec)?;
    let replication = up_to(REPLICATION, nodes)?.unwrap_or(nodes.min(3));
    let majority = replication / 2 + 1;
    Ok(Copies {
        replication,
        required_reads: up_to(REQUIRED_READS, replication)?.unwrap_or(majority),
        required_writes: up_to(REQUIRED_WRITES, replication)?.unwrap_or(majority),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::copies;
    use study::Spec;

    fn of(text: &str) -> Result<[usize; 3], String> {
        let copies = copies(&text.parse::<Spec>().unwrap()).map_err(|error| error.to_string())?;
        Ok([copies.replication, copies.required_reads, copies.required_writes])
    }

    #[test]
    fn a_majority_is_required_unless_something_else_is_said() {
        assert_eq!(of("voldemort"), Ok([1, 1, 1]));
        assert_eq!(of("voldemort,nodes=3"), Ok([3, 2, 2]));
        assert_eq!(of("voldemort,nodes=8"), Ok([3, 2, 2]));
        assert_eq!(of("voldemort,nodes=2"), Ok([2, 2, 2]));
        assert_eq!(of("voldemort,nodes=3,replication=2,required-reads=1,required-writes=2"), Ok([2, 1, 2]));
    }

    #[test]
    fn more_copies_than_nodes_or_more_answers_than_copies_are_refused_with_what_is_possible() {
        let words = of("voldemort,nodes=3,replication=4").unwrap_err();
        assert!(words.contains("replication=4 is not possible; use a number from 1 to 3"), "{words}");
        let words = of("voldemort,nodes=3,replication=2,required-reads=3").unwrap_err();
        assert!(words.contains("required-reads=3 is not possible; use a number from 1 to 2"), "{words}");
        assert!(of("voldemort,nodes=9").unwrap_err().contains("from 1 to 8"));
    }
}
