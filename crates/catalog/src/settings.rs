//! The names of the levels of durability in the settings of servers and engines that have a word of their own for a level.

use study::Durability::{self, Commit, None as Nothing, Os, Second};

const REDIS: &[(Durability, &str)] = &[
    (Nothing, "appendonly no"),
    (Os, "appendonly yes, appendfsync no"),
    (Second, "appendonly yes, appendfsync everysec"),
    (Commit, "appendonly yes, appendfsync always"),
];
const INNODB: &[(Durability, &str)] = &[
    (Nothing, "innodb_flush_log_at_trx_commit=0"),
    (Second, "innodb_flush_log_at_trx_commit=2"),
    (Commit, "innodb_flush_log_at_trx_commit=1"),
];
const POSTGRES: &[(Durability, &str)] = &[
    (Nothing, "fsync=off, synchronous_commit=off"),
    (Os, "fsync=off, synchronous_commit=on"),
    (Second, "fsync=on, synchronous_commit=off"),
    (Commit, "fsync=on, synchronous_commit=on"),
];
const MONGODB: &[(Durability, &str)] = &[(Second, "write concern j: false"), (Commit, "write concern j: true")];
const SQLITE: &[(Durability, &str)] = &[(Os, "synchronous OFF or NORMAL"), (Commit, "synchronous FULL")];
const CASSANDRA: &[(Durability, &str)] = &[
    (Nothing, "commitlog_sync periodic, every 10 s"),
    (Second, "commitlog_sync periodic, every second"),
    (Commit, "commitlog_sync batch"),
];
const NATS: &[(Durability, &str)] = &[(Os, "any sync_interval")];

/// Returns the setting by which the store of this name expresses the level: a private store gets this setting, and a server of the user's has it
/// where it keeps the level.
pub fn setting_of(store: &str, level: Durability) -> Option<&'static str> {
    let settings = match store.trim_end_matches("-unix") {
        "redis" | "valkey" | "redis-cluster" | "valkey-cluster" => REDIS,
        "mysql" | "mysql-memcached" | "handlersocket" => INNODB,
        "postgres" => POSTGRES,
        "mongodb" => MONGODB,
        "sqlite" => SQLITE,
        "cassandra" => CASSANDRA,
        "nats" => NATS,
        _ => return None,
    };
    settings.iter().find(|(known, _)| *known == level).map(|(_, setting)| *setting)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::setting_of;
    use study::Durability;

    #[test]
    fn every_level_of_redis_has_the_settings_that_redis_itself_has_for_it() {
        let levels = crate::find("redis").unwrap().durabilities.iter();
        let settings: Vec<&str> = levels.map(|level| setting_of("redis-unix", *level).unwrap()).collect();
        let fsync = |when: &str| format!("appendonly yes, appendfsync {when}");
        assert_eq!(settings, ["appendonly no".to_owned(), fsync("no"), fsync("everysec"), fsync("always")]);
    }

    #[test]
    fn a_store_has_a_setting_for_levels_it_has_and_for_no_other() {
        for store in crate::all() {
            for level in [Durability::None, Durability::Os, Durability::Second, Durability::Commit] {
                let has = store.durabilities.contains(&level);
                assert!(has || setting_of(store.name, level).is_none(), "{} {level}", store.name);
            }
        }
    }
}
