//! What the stores that share a ranking have in common: the heading of their list.

use crate::{level_in_words, promise};
use analysis::{Group, Precision, Replication};
use study::Class;

/// Returns `Network: stores on a server · durability none (may lose all)`.
pub fn group_heading(group: &Group<'_>) -> String {
    let class = group.class.map_or("All stores", class_heading);
    let class = match group.replication {
        None => class,
        Some(Replication::None) => "Distributed: several servers, one copy of each value",
        Some(Replication::Several) => "Distributed: several servers, several copies of each value",
    };
    let class = match group.precision {
        Precision::Exact => class.to_owned(),
        Precision::Estimate => format!("{class} · estimates"),
    };
    match promise(group) {
        Some(promise) if group.class != Some(Class::Baseline) => format!("{class} · {promise}"),
        _ => class,
    }
}

/// Returns the heading of a class in a list of stores.
pub fn class_heading(class: Class) -> &'static str {
    match class {
        Class::Baseline => "Baselines: what client and job cost without a store",
        Class::Library => "Libraries: data structures in kvtrial's own memory",
        Class::Embedded => "Embedded: in the client's process",
        Class::Network => "Network: stores on a server",
        Class::Distributed => "Distributed: stores on several servers",
    }
}

/// Returns `embedded stores with durability os`, `stores on a server with durability commit (as the server says)`.
pub fn group_noun(group: &Group<'_>) -> String {
    let class = match group.class {
        Some(Class::Baseline) => "baselines",
        Some(Class::Library) => "libraries",
        Some(Class::Embedded) => "embedded stores",
        Some(Class::Network) => "stores on a server",
        Some(Class::Distributed) => match group.replication {
            None => "distributed stores",
            Some(Replication::None) => "distributed stores without replicas",
            Some(Replication::Several) => "distributed stores with replicas",
        },
        None => "stores",
    };
    let class = match group.precision {
        Precision::Exact => class.to_owned(),
        Precision::Estimate => format!("{class} that estimate"),
    };
    match level_in_words(group) {
        Some(level) => format!("{class} with {level}"),
        None => class,
    }
}
