//! Commands of Redis and memcached: what they ask of values, and which of their words are keys and values.

use crate::trace::RequestKind;

/// The part that a word has in a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordPart {
    /// The name of the command, an option, a number: known words, which say nothing of anybody's data.
    Plain,
    /// A key.
    Key,
    /// A value, or anything that could be one.
    Value,
    /// What is never kept: a password.
    Secret,
}

/// Which words of a command are keys; all others behind the name are plain, but the values.
#[derive(Clone, Copy)]
enum KeyWords {
    /// The first behind the name; `value` has the place of the value, if there is one.
    First { value: Option<usize> },
    /// The first behind the name; what follows is data: fields, members, elements.
    FirstThenData,
    /// All behind the name.
    All,
    /// Every other one, each with a value behind it.
    Pairs,
    /// None, and what follows is plain.
    None,
}

use KeyWords::{All, First, FirstThenData, Pairs};
use RequestKind::{Delete, Get, Set, Touch};

/// Commands by name: what they ask of values, whether a write is of another kind than a set, and their keys.
const COMMANDS: &[(&[&[u8]], Option<(RequestKind, bool)>, KeyWords)] = &[
    (&[b"GET", b"GETS", b"GETEX", b"MG"], Some((Get, false)), First { value: None }),
    (&[b"MGET"], Some((Get, false)), All),
    (&[b"GAT", b"GATS"], Some((Get, false)), First { value: None }),
    (&[b"SET"], Some((Set, false)), First { value: Some(2) }),
    (&[b"SETEX", b"PSETEX"], Some((Set, false)), First { value: Some(3) }),
    (&[b"MS"], Some((Set, false)), First { value: Some(2) }),
    (&[b"MSET"], Some((Set, false)), Pairs),
    (&[b"MSETNX"], Some((Set, true)), Pairs),
    (
        &[b"GETSET", b"SETNX", b"APPEND", b"ADD", b"REPLACE", b"CAS", b"PREPEND"],
        Some((Set, true)),
        First { value: Some(2) },
    ),
    (&[b"INCR", b"DECR", b"INCRBY", b"DECRBY", b"INCRBYFLOAT", b"MA"], Some((Set, true)), First { value: None }),
    (&[b"DEL", b"UNLINK"], Some((Delete, false)), All),
    (&[b"GETDEL", b"DELETE", b"MD"], Some((Delete, false)), First { value: None }),
    (&[b"EXPIRE", b"PEXPIRE", b"EXPIREAT", b"PEXPIREAT", b"PERSIST"], Some((Touch, false)), First { value: None }),
    (&[b"EXISTS", b"TOUCH", b"WATCH", b"SUNION", b"SINTER", b"SDIFF"], None, All),
    (
        &[
            b"TTL",
            b"PTTL",
            b"EXPIRETIME",
            b"PEXPIRETIME",
            b"TYPE",
            b"STRLEN",
            b"GETRANGE",
            b"GETBIT",
            b"SETBIT",
            b"BITCOUNT",
            b"HGETALL",
            b"HKEYS",
            b"HVALS",
            b"HLEN",
            b"LLEN",
            b"LPOP",
            b"RPOP",
            b"LRANGE",
            b"LTRIM",
            b"LINDEX",
            b"SMEMBERS",
            b"SCARD",
            b"SPOP",
            b"SRANDMEMBER",
            b"ZCARD",
            b"ZRANGE",
            b"ZREVRANGE",
            b"XLEN",
            b"DUMP",
        ],
        None,
        First { value: None },
    ),
    (
        &[
            b"HSET",
            b"HMSET",
            b"HSETNX",
            b"HGET",
            b"HMGET",
            b"HDEL",
            b"HEXISTS",
            b"HINCRBY",
            b"LPUSH",
            b"RPUSH",
            b"LPUSHX",
            b"RPUSHX",
            b"LSET",
            b"LREM",
            b"SADD",
            b"SREM",
            b"SISMEMBER",
            b"SMISMEMBER",
            b"ZADD",
            b"ZREM",
            b"ZSCORE",
            b"ZRANK",
            b"ZREVRANK",
            b"ZINCRBY",
            b"ZRANGEBYSCORE",
            b"ZCOUNT",
            b"SETRANGE",
            b"XADD",
            b"PFADD",
            b"GEOADD",
        ],
        None,
        FirstThenData,
    ),
    (
        &[
            b"PING",
            b"SELECT",
            b"MULTI",
            b"EXEC",
            b"DISCARD",
            b"UNWATCH",
            b"DBSIZE",
            b"INFO",
            b"COMMAND",
            b"CLIENT",
            b"CONFIG",
            b"READONLY",
            b"RESET",
            b"QUIT",
            b"TIME",
            b"FLUSHDB",
            b"FLUSHALL",
            b"VERSION",
            b"STATS",
            b"FLUSH_ALL",
            b"VERBOSITY",
            b"MN",
        ],
        None,
        KeyWords::None,
    ),
];

fn known(name: &[u8]) -> Option<(Option<(RequestKind, bool)>, KeyWords)> {
    let row = COMMANDS.iter().find(|(names, ..)| names.iter().any(|known| known.eq_ignore_ascii_case(name)))?;
    Some((row.1, row.2))
}

/// Returns what a command asks of values, and whether a write is of another kind than a set; `None`: nothing, or nobody knows.
pub fn asks(name: &[u8]) -> Option<(RequestKind, bool)> {
    known(name).and_then(|(asks, _)| asks)
}

/// What is known of the words of a command of Redis.
#[derive(Clone, Copy)]
pub struct CommandWords {
    keys: Option<KeyWords>,
    is_login: bool,
}

impl CommandWords {
    /// Returns what is known of the words of a command with this name.
    pub fn of(name: &[u8]) -> CommandWords {
        let is_login =
            [&b"AUTH"[..], b"HELLO", b"ACL", b"MIGRATE"].iter().any(|login| login.eq_ignore_ascii_case(name));
        CommandWords { keys: known(name).map(|(_, keys)| keys), is_login }
    }

    /// Returns whether a command of this name is known.
    pub fn is_known(self) -> bool {
        self.keys.is_some() || self.is_login
    }

    /// Returns the part of the word at a place, the name being at 0. What is not known could be data.
    pub fn part(self, at: usize) -> WordPart {
        match (at, self.keys) {
            (0, _) => WordPart::Plain,
            _ if self.is_login => WordPart::Secret,
            (_, None) => WordPart::Value,
            (1, Some(First { .. } | FirstThenData)) => WordPart::Key,
            (at, Some(First { value })) if value == Some(at) => WordPart::Value,
            (_, Some(First { .. } | KeyWords::None)) => WordPart::Plain,
            (_, Some(FirstThenData)) => WordPart::Value,
            (_, Some(All)) => WordPart::Key,
            (at, Some(Pairs)) => [WordPart::Value, WordPart::Key][at % 2],
        }
    }
}

/// How a reply may differ from the recorded one without meaning anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyRule {
    /// Not at all.
    Same,
    /// In the order of what is in it, which nobody promises.
    SameShape,
    /// In anything: time, chance, or the server itself is in it.
    Any,
    /// The command is not sent: it changes the connection, blocks it, or ends the server.
    NotSent,
}

/// Commands by rule; of any other the reply must be the same.
const RULES: &[(ReplyRule, &[&[u8]])] = &[
    (
        ReplyRule::SameShape,
        &[
            b"KEYS",
            b"SMEMBERS",
            b"HGETALL",
            b"HKEYS",
            b"HVALS",
            b"SUNION",
            b"SINTER",
            b"SDIFF",
            b"TTL",
            b"PTTL",
            b"EXPIRETIME",
            b"PEXPIRETIME",
            b"DUMP",
            b"XADD",
        ],
    ),
    (
        ReplyRule::Any,
        &[
            b"TIME",
            b"RANDOMKEY",
            b"SPOP",
            b"SRANDMEMBER",
            b"HRANDFIELD",
            b"ZRANDMEMBER",
            b"SCAN",
            b"SSCAN",
            b"HSCAN",
            b"ZSCAN",
            b"INFO",
            b"COMMAND",
            b"CONFIG",
            b"MEMORY",
            b"OBJECT",
            b"LASTSAVE",
            b"SLOWLOG",
            b"LATENCY",
            b"DEBUG",
            b"DBSIZE",
            b"LOLWUT",
            b"ROLE",
            b"MODULE",
        ],
    ),
    (
        ReplyRule::NotSent,
        &[
            b"SELECT",
            b"AUTH",
            b"HELLO",
            b"CLIENT",
            b"MULTI",
            b"EXEC",
            b"DISCARD",
            b"WATCH",
            b"UNWATCH",
            b"SUBSCRIBE",
            b"PSUBSCRIBE",
            b"SSUBSCRIBE",
            b"UNSUBSCRIBE",
            b"PUNSUBSCRIBE",
            b"SUNSUBSCRIBE",
            b"MONITOR",
            b"QUIT",
            b"RESET",
            b"BLPOP",
            b"BRPOP",
            b"BLMOVE",
            b"BLMPOP",
            b"BRPOPLPUSH",
            b"BZPOPMIN",
            b"BZPOPMAX",
            b"BZMPOP",
            b"WAIT",
            b"WAITAOF",
            b"SHUTDOWN",
            b"SYNC",
            b"PSYNC",
            b"REPLICAOF",
            b"SLAVEOF",
            b"FAILOVER",
            b"READONLY",
            b"READWRITE",
            b"ASKING",
            b"ACL",
            b"MIGRATE",
            b"SWAPDB",
            b"CLUSTER",
        ],
    ),
];

/// Returns how the reply to a command may differ.
pub fn reply_rule(name: &[u8]) -> ReplyRule {
    let of = |names: &[&[u8]]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    RULES.iter().find(|(_, names)| of(names)).map_or(ReplyRule::Same, |(rule, _)| *rule)
}
