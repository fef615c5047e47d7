//! What a running server says of itself.

use super::item::{Found, Item, item};
use super::resp::{Login, Resp, SCRIPT, Script, is_login, request};
use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use store::wire::{CONNECT_TIMEOUT, Talk};
use store::{Endpoint, Facts, Holding, LevelKnown, StoreError};
use study::Durability;

/// The settings that matter for speed and safety.
const SETTINGS: [&str; 12] = [
    "appendonly",
    "appendfsync",
    "save",
    "maxmemory",
    "maxmemory-policy",
    "io-threads",
    "databases",
    "hz",
    "lazyfree-lazy-user-del",
    "activerehashing",
    "hash-max-listpack-entries",
    "proto-max-bulk-len",
];

/// Returns `appendonly` and `appendfsync` of a level.
pub(crate) fn append_only_file(level: Durability) -> (&'static str, &'static str) {
    match level {
        Durability::None => ("no", "everysec"),
        Durability::Os => ("yes", "no"),
        Durability::Second => ("yes", "everysec"),
        Durability::Commit => ("yes", "always"),
    }
}

/// The facts that a server states about itself.
pub(crate) struct Server {
    pub facts: Facts,
    /// The level in effect; `None` when the server does not show its configuration.
    pub durability: Option<Durability>,
    /// Whether the server keeps scripts.
    pub script: Script,
}

/// The knowledge of a server before it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// A Redis or a Valkey, which have everything that is asked for.
    Product,
    /// A server that speaks RESP. It may lack anything for which it gives no answer.
    Nothing,
}

impl Server {
    /// Returns whether the server shows its level.
    pub fn level_known(&self) -> LevelKnown {
        if self.durability.is_some() { LevelKnown::Known } else { LevelKnown::Unknown }
    }

    /// Connects, logs in and asks.
    pub fn ask(endpoint: &Endpoint, known: Known) -> Result<Server, StoreError> {
        let mut line = Line { endpoint, known, talk: None };
        let mut config = BTreeMap::new();
        let info = match line.ask(b"INFO", &[])? {
            CommandReply::Texts(texts) => texts.concat(),
            CommandReply::Refused(words) => {
                config.insert("INFO".into(), words);
                String::new()
            }
        };
        for setting in SETTINGS {
            match line.ask(b"CONFIG", &[b"GET", setting.as_bytes()])? {
                CommandReply::Texts(texts) => {
                    config.extend(texts.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())));
                }
                CommandReply::Refused(words) => {
                    config.insert("CONFIG GET".into(), words);
                    break;
                }
            }
        }
        let stated = SETTINGS.iter().filter_map(|setting| Some((setting, config.get(*setting)?)));
        let set_up =
            stated.map(|(name, value)| format!("{name} {}", if value.is_empty() { "\"\"" } else { value })).collect();
        let script = match known {
            Known::Product => Script::Loaded,
            Known::Nothing => match line.ask(b"SCRIPT", &[b"LOAD", SCRIPT.as_bytes()])? {
                CommandReply::Texts(_) => Script::Loaded,
                CommandReply::Refused(_) => Script::Left,
            },
        };
        if let Some(allocator) = field(&info, "mem_allocator") {
            config.insert("mem_allocator".into(), allocator.into());
        }
        let (product, version) = product(&info);
        let durability = level(&config);
        Ok(Server {
            facts: Facts { product: product.into(), version: version.into(), config, set_up },
            durability,
            script,
        })
    }
}

/// A conversation that survives when the server hangs up at a command it does not know.
struct Line<'a> {
    endpoint: &'a Endpoint,
    known: Known,
    talk: Option<Talk>,
}

impl Line<'_> {
    /// Asks a command. A refusal is an answer, unless it says that nothing will be answered before a login.
    fn ask(&mut self, command: &[u8], args: &[&[u8]]) -> Result<CommandReply, StoreError> {
        let mut talk = match self.talk.take() {
            Some(talk) => talk,
            None => Talk::open(self.endpoint, Resp::new(Login::of(self.endpoint).with(Script::Left)))?,
        };
        match ask(&mut talk, command, args) {
            Ok(CommandReply::Refused(words))
                if self.known == Known::Product && command == b"INFO" || is_login(words.as_bytes()) =>
            {
                Err(StoreError::open(self.endpoint, words))
            }
            Ok(answer) => {
                self.talk = Some(talk);
                Ok(answer)
            }
            Err(error) if self.known == Known::Product => Err(error),
            // Not RESP, hung up, or silent: the operations will show what of it is to be had.
            Err(error) => Ok(CommandReply::Refused(error.to_string())),
        }
    }
}

/// Returns the number of keys that the server says it holds. A server without DBSIZE does not say.
pub(crate) fn holding(endpoint: &Endpoint) -> Result<Holding, StoreError> {
    let mut talk = Talk::open(endpoint, Resp::new(Login::of(endpoint)))?;
    let mut holding = Holding::default();
    if let CommandReply::Texts(texts) = ask(&mut talk, b"DBSIZE", &[])? {
        holding.keys = texts.first().and_then(|number| number.parse().ok());
    }
    if let CommandReply::Texts(texts) = ask(&mut talk, b"INFO", &[b"stats"])? {
        let info = texts.concat();
        let count = |name: &str| field(&info, name).and_then(|number| number.trim().parse().ok()).unwrap_or(0);
        (holding.evicted, holding.expired) = (count("evicted_keys"), count("expired_keys"));
    }
    Ok(holding)
}

/// Returns the number of commands that a server has carried out since it was started. Redis and Valkey count each; others that speak RESP may
/// have a way of their own.
pub(crate) fn commands_done(endpoint: &Endpoint) -> Result<Option<u64>, StoreError> {
    let mut talk = Talk::open(endpoint, Resp::new(Login::of(endpoint)))?;
    let CommandReply::Texts(texts) = ask(&mut talk, b"INFO", &[])? else { return Ok(None) };
    let info = texts.concat();
    let counts = matches!(product(&info).0, "Redis" | "Valkey") && field(&info, "redis_build_id").is_some();
    Ok(field(&info, "total_commands_processed").filter(|_| counts).and_then(|number| number.trim().parse().ok()))
}

/// Returns the server's time of day.
pub(crate) fn time_of_day(endpoint: &Endpoint) -> Result<SystemTime, StoreError> {
    let said = answer(endpoint, b"TIME", &[])?;
    match said.iter().map(|number| number.parse::<u64>()).collect::<Result<Vec<_>, _>>().as_deref() {
        Ok([seconds, us]) => Ok(UNIX_EPOCH + Duration::from_secs(*seconds) + Duration::from_micros(*us)),
        _ => Err(StoreError::open(endpoint, format!("it said what is no time: {}", said.concat()))),
    }
}

/// The pause between two questions whether the server has written its log again.
const LOOK: Duration = Duration::from_millis(1);

/// Lets the server rewrite its log, in a process of its own, and waits until that process has ended.
pub(crate) fn rewrite_log(endpoint: &Endpoint, patience: Duration) -> Result<(), StoreError> {
    let begun = Instant::now();
    match answer(endpoint, b"BGREWRITEAOF", &[]) {
        // One it has begun of its own accord.
        Err(error) if error.to_string().contains("in progress") => {}
        asked => drop(asked?),
    }
    loop {
        let said = answer(endpoint, b"INFO", &[b"persistence"])?.concat();
        let is_over =
            ["aof_rewrite_in_progress", "aof_rewrite_scheduled"].iter().all(|name| field(&said, name) == Some("0"));
        if is_over {
            return Ok(());
        }
        if begun.elapsed() > patience {
            return Err(StoreError::open(
                endpoint,
                format!("it did not write its log again within {} s", patience.as_secs()),
            ));
        }
        std::thread::sleep(LOOK);
    }
}

/// Returns the product and its version; relatives of Redis also state the Redis version they resemble.
fn product(info: &str) -> (&'static str, &str) {
    [("Valkey", "valkey_version"), ("Dragonfly", "dragonfly_version"), ("Redis", "redis_version")]
        .into_iter()
        .find_map(|(product, name)| field(info, name).map(|version| (product, version)))
        .unwrap_or(("a server that speaks RESP", "unknown version"))
}

fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

fn level(config: &BTreeMap<String, String>) -> Option<Durability> {
    Some(match (config.get("appendonly")?.as_str(), config.get("appendfsync")?.as_str()) {
        ("yes", "always") => Durability::Commit,
        ("yes", "everysec") => Durability::Second,
        ("yes", _) => Durability::Os,
        _ => Durability::None,
    })
}

/// Returns the answer of a relative of Redis that keeps no scripts to a command.
pub(crate) fn answer(endpoint: &Endpoint, command: &[u8], args: &[&[u8]]) -> Result<Vec<String>, StoreError> {
    let mut talk = Talk::open(endpoint, Resp::new(Login::of(endpoint).with(Script::Left)))?;
    match ask(&mut talk, command, args)? {
        CommandReply::Texts(texts) => Ok(texts),
        CommandReply::Refused(words) => Err(StoreError::open(endpoint, words)),
    }
}

pub(crate) enum CommandReply {
    Texts(Vec<String>),
    Refused(String),
}

pub(crate) fn ask(talk: &mut Talk, command: &[u8], args: &[&[u8]]) -> Result<CommandReply, StoreError> {
    ask_until(talk, Instant::now() + CONNECT_TIMEOUT, command, args)
}

/// Returns the same answer of a server that has to give it before a deadline.
pub(crate) fn ask_until(
    talk: &mut Talk,
    deadline: Instant,
    command: &[u8],
    args: &[&[u8]],
) -> Result<CommandReply, StoreError> {
    let mut bytes = Vec::new();
    request(&mut bytes, command, args);
    talk.ask_until(deadline, &bytes, |input| {
        let (mut left, mut at) = (1, 0);
        let mut texts = Vec::new();
        while left > 0 {
            let (item, end) = match item(input, at) {
                Found::Item { item, end } => (item, end),
                Found::Incomplete { .. } => return Ok(None),
                Found::Broken(problem) => return Err(format!("this is not RESP: expected {problem}")),
            };
            (left, at) = (left - 1, end);
            match item {
                Item::Bulk(text) | Item::Line(text) => texts.push(String::from_utf8_lossy(text).into_owned()),
                Item::Number(number) => texts.push(number.to_string()),
                Item::Array(items) if items <= 10_000 => left += items,
                Item::Error(words) => {
                    return Ok(Some(CommandReply::Refused(String::from_utf8_lossy(words).into_owned())));
                }
                other => return Err(format!("strings and integers were expected, not {other:?}")),
            }
        }
        if at == input.len() {
            Ok(Some(CommandReply::Texts(texts)))
        } else {
            Err("more arrived than was asked for".into())
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{append_only_file, level, product};
    use std::collections::BTreeMap;
    use study::Durability;

    #[test]
    fn a_level_is_read_back_from_the_settings_it_is_made_with() {
        for asked in [Durability::None, Durability::Os, Durability::Second, Durability::Commit] {
            let (appendonly, appendfsync) = append_only_file(asked);
            let config = [("appendonly", appendonly), ("appendfsync", appendfsync)];
            let config: BTreeMap<_, _> = config.map(|(name, value)| (name.into(), value.into())).into();
            assert_eq!(level(&config), Some(asked));
        }
        assert_eq!(level(&BTreeMap::new()), None);
    }

    #[test]
    fn the_product_is_named_as_the_server_names_itself() {
        assert_eq!(product("# Server\r\nredis_version:7.0.15\r\n"), ("Redis", "7.0.15"));
        assert_eq!(
            product("redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1\r\n"),
            ("Valkey", "8.1.1")
        );
    }
}
