//! The commands of Redis and Valkey, as scripts send them: where a command has its keys, and which commands a script may not send.

use std::iter::StepBy;
use std::ops::Range;

/// The stores that take commands.
pub(crate) const STORES: [&str; 6] =
    ["redis", "redis-unix", "valkey", "valkey-unix", "redis-cluster", "valkey-cluster"];

/// The longest name of a command that is looked up.
const LONGEST_NAME: usize = 20;

/// The name of a command in capitals.
struct Name {
    letters: [u8; LONGEST_NAME],
    length: usize,
}

impl Name {
    fn of(words: &[&[u8]]) -> Name {
        let name = words.first().copied().unwrap_or_default();
        let mut letters = [0; LONGEST_NAME];
        let length = name.len().min(LONGEST_NAME);
        for (letter, byte) in letters.iter_mut().zip(name) {
            *letter = byte.to_ascii_uppercase();
        }
        Name { letters, length }
    }

    fn bytes(&self) -> &[u8] {
        &self.letters[..self.length]
    }
}

/// The places of keys among the words of a command.
pub(crate) struct KeyPlaces {
    /// A key before the others.
    target: Option<usize>,
    others: StepBy<Range<usize>>,
}

impl Iterator for KeyPlaces {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.target.take().or_else(|| self.others.next())
    }
}

/// Returns the places of a command's keys. The first is the one by which a cluster finds the node.
pub(crate) fn places(words: &[&[u8]]) -> KeyPlaces {
    let count = words.len();
    let none = KeyPlaces { target: None, others: (0..0).step_by(1) };
    let each =
        |from: usize, end: usize, step: usize| KeyPlaces { target: None, others: (from..end.min(count)).step_by(step) };
    // Keys behind their number.
    let counted = |at: usize, target: Option<usize>| {
        let number = words.get(at).and_then(|word| std::str::from_utf8(word).ok()?.parse::<usize>().ok()).unwrap_or(0);
        KeyPlaces { target, others: (at + 1..(at + 1).saturating_add(number).min(count)).step_by(1) }
    };
    match Name::of(words).bytes() {
        b"GET" | b"SET" => each(1, 2, 1),
        b"PING" | b"ECHO" | b"TIME" | b"INFO" | b"DBSIZE" | b"KEYS" | b"SCAN" | b"RANDOMKEY" | b"FUNCTION"
        | b"SCRIPT" | b"PUBLISH" | b"SPUBLISH" | b"PUBSUB" | b"COMMAND" | b"LASTSAVE" | b"ROLE" | b"LOLWUT"
        | b"SLOWLOG" | b"LATENCY" => none,
        b"MGET" | b"DEL" | b"UNLINK" | b"EXISTS" | b"TOUCH" | b"SINTER" | b"SUNION" | b"SDIFF" | b"SINTERSTORE"
        | b"SUNIONSTORE" | b"SDIFFSTORE" | b"PFCOUNT" | b"PFMERGE" => each(1, count, 1),
        b"MSET" | b"MSETNX" => each(1, count, 2),
        b"RENAME" | b"RENAMENX" | b"SMOVE" | b"COPY" | b"LMOVE" | b"RPOPLPUSH" | b"GEOSEARCHSTORE" | b"ZRANGESTORE"
        | b"LCS" => each(1, 3, 1),
        b"OBJECT" | b"XGROUP" | b"XINFO" | b"MEMORY" => each(2, 3, 1),
        b"BITOP" => each(2, count, 1),
        b"EVAL" | b"EVALSHA" | b"EVAL_RO" | b"EVALSHA_RO" | b"FCALL" | b"FCALL_RO" => counted(2, None),
        b"ZUNION" | b"ZINTER" | b"ZDIFF" | b"ZINTERCARD" | b"SINTERCARD" | b"LMPOP" | b"ZMPOP" => counted(1, None),
        b"ZUNIONSTORE" | b"ZINTERSTORE" | b"ZDIFFSTORE" => counted(2, Some(1)),
        b"XREAD" | b"XREADGROUP" => match words.iter().position(|word| word.eq_ignore_ascii_case(b"STREAMS")) {
            Some(at) => each(at + 1, at + 1 + (count - at - 1) / 2, 1),
            None => none,
        },
        _ => each(1, 2, 1),
    }
}

/// Returns whether it depends on the words behind the name whether a script may send a command.
pub(crate) fn has_forms(words: &[&[u8]]) -> bool {
    matches!(Name::of(words).bytes(), b"XREAD" | b"XREADGROUP" | b"SCRIPT" | b"FUNCTION")
}

const ENDS: &str = "this command ends or changes the server that kvtrial measures. Give settings of a private server with its name: -s redis,NAME=VALUE";
const ALL_DATA: &str = "this command removes what others keep in the server, too. DEL and UNLINK remove single keys, and kvtrial clears those a script names itself";
const SCRIPTS: &str = "this command takes away the scripts or functions of others in the server, kvtrial's own among them. FUNCTION LOAD REPLACE and FUNCTION DELETE change one library";

/// Returns why a script may not send a command, with the remedy; `None`: it may.
pub(crate) fn refusal(words: &[&[u8]]) -> Option<&'static str> {
    let name = Name::of(words);
    let second = words.get(1).copied().unwrap_or_default();
    let is_second = |forms: &[&str]| forms.iter().any(|form| second.eq_ignore_ascii_case(form.as_bytes()));
    Some(match name.bytes() {
        b"" => "the name of the command is empty. Write it first, as in kv.command('ZADD', key, score, member)",
        b"BLPOP" => "BLPOP blocks the connection, and all that is pipelined behind it. Use LPOP, and ask again",
        b"BRPOP" => "BRPOP blocks the connection, and all that is pipelined behind it. Use RPOP, and ask again",
        b"BLMOVE" => "BLMOVE blocks the connection, and all that is pipelined behind it. Use LMOVE, and ask again",
        b"BRPOPLPUSH" => {
            "BRPOPLPUSH blocks the connection, and all that is pipelined behind it. Use LMOVE, and ask again"
        }
        b"BLMPOP" => "BLMPOP blocks the connection, and all that is pipelined behind it. Use LMPOP, and ask again",
        b"BZPOPMIN" => {
            "BZPOPMIN blocks the connection, and all that is pipelined behind it. Use ZPOPMIN, and ask again"
        }
        b"BZPOPMAX" => {
            "BZPOPMAX blocks the connection, and all that is pipelined behind it. Use ZPOPMAX, and ask again"
        }
        b"BZMPOP" => "BZMPOP blocks the connection, and all that is pipelined behind it. Use ZMPOP, and ask again",
        b"WAIT" | b"WAITAOF" => {
            "this command blocks the connection, and all that is pipelined behind it. Have each write wait for replicas: -s redis-cluster,replicas=1,wait=1"
        }
        b"SUBSCRIBE" | b"PSUBSCRIBE" | b"SSUBSCRIBE" | b"UNSUBSCRIBE" | b"PUNSUBSCRIBE" | b"SUNSUBSCRIBE"
        | b"MONITOR" => {
            "this command makes the connection one of messages, which are no replies. Use a stream: XADD and XREAD"
        }
        b"MULTI" | b"EXEC" | b"DISCARD" | b"WATCH" | b"UNWATCH" => {
            "a transaction is of a connection, which other clients may share. Use EVAL or FCALL: what they do is one step"
        }
        b"QUIT" | b"RESET" | b"HELLO" | b"AUTH" | b"SELECT" | b"CLIENT" | b"READONLY" | b"READWRITE" | b"ASKING"
        | b"PSYNC" | b"SYNC" | b"REPLCONF" => {
            "this command changes the connection, which is kvtrial's. Name user, password and database in the address: -s redis://USER@HOST/DATABASE"
        }
        b"FLUSHALL" | b"FLUSHDB" | b"SWAPDB" | b"MOVE" => ALL_DATA,
        b"SHUTDOWN" | b"DEBUG" | b"REPLICAOF" | b"SLAVEOF" | b"FAILOVER" | b"SAVE" | b"BGSAVE" | b"BGREWRITEAOF"
        | b"CONFIG" | b"CLUSTER" | b"MODULE" | b"ACL" | b"MIGRATE" | b"RESTORE-ASKING" | b"PFDEBUG" => ENDS,
        b"SCRIPT" if is_second(&["FLUSH", "KILL", "DEBUG"]) => SCRIPTS,
        b"FUNCTION" if is_second(&["FLUSH", "KILL", "RESTORE"]) => SCRIPTS,
        // Behind GROUP are two names, which may be any.
        b"XREAD" if blocks(words.get(1..)) => "XREAD with BLOCK blocks the connection. Leave BLOCK out, and ask again",
        b"XREADGROUP" if blocks(words.get(4..)) => {
            "XREADGROUP with BLOCK blocks the connection. Leave BLOCK out, and ask again"
        }
        _ => return None,
    })
}

/// Returns whether the options of a reading of streams say that it waits.
fn blocks(options: Option<&[&[u8]]>) -> bool {
    let mut options = options.unwrap_or_default().iter().take_while(|word| !word.eq_ignore_ascii_case(b"STREAMS"));
    options.any(|word| word.eq_ignore_ascii_case(b"BLOCK"))
}

#[cfg(test)]
mod tests {
    use super::{has_forms, places, refusal};

    fn words(line: &str) -> Vec<&[u8]> {
        line.split(' ').map(str::as_bytes).collect()
    }

    #[test]
    fn the_keys_of_a_command_are_where_its_form_has_them() {
        let cases: [(&str, &[usize]); 17] = [
            ("GET k", &[1]),
            ("zadd k 1 m", &[1]),
            ("PING", &[]),
            ("LPOP", &[]),
            ("MGET a b c", &[1, 2, 3]),
            ("MSET a 1 b 2", &[1, 3]),
            ("LMOVE a b LEFT RIGHT", &[1, 2]),
            ("OBJECT ENCODING k", &[2]),
            ("XGROUP CREATE k g 0", &[2]),
            ("EVAL code 2 a b x", &[3, 4]),
            ("fcall f 0 x", &[]),
            ("EVAL code 99 a", &[3]),
            ("ZUNIONSTORE d 2 a b", &[1, 3, 4]),
            ("ZINTER 2 a b WITHSCORES", &[2, 3]),
            ("XREAD COUNT 1 STREAMS a b 0 0", &[4, 5]),
            ("XREADGROUP GROUP g c streams a >", &[5]),
            ("XREAD COUNT 1", &[]),
        ];
        for (line, due) in cases {
            assert_eq!(places(&words(line)).collect::<Vec<_>>(), due, "{line}");
        }
    }

    #[test]
    fn what_blocks_or_ends_or_changes_the_connection_is_refused_by_name_with_a_remedy() {
        for line in "BLPOP BRPOP BLMOVE BLMPOP BZPOPMIN BZPOPMAX BZMPOP SUBSCRIBE PSUBSCRIBE SSUBSCRIBE MONITOR MULTI EXEC WATCH \
                     DISCARD WAIT SHUTDOWN quit RESET HELLO AUTH SELECT CLIENT REPLICAOF SLAVEOF DEBUG FLUSHALL FLUSHDB SAVE CONFIG CLUSTER"
            .split_whitespace()
        {
            assert!(refusal(&words(line)).is_some_and(|why| why.contains(". ")), "{line}");
        }
        for line in [
            "XREAD BLOCK 0 STREAMS a 0",
            "xreadgroup GROUP g c COUNT 1 block 5 STREAMS a >",
            "SCRIPT FLUSH",
            "function flush",
        ] {
            assert!(has_forms(&words(line)) && refusal(&words(line)).is_some(), "{line}");
        }
        for line in
            ["GET k", "XREAD STREAMS block 0", "XREADGROUP GROUP BLOCK c STREAMS a >", "FUNCTION LOAD x", "LPOP k"]
        {
            assert_eq!(refusal(&words(line)), None, "{line}");
        }
    }
}
