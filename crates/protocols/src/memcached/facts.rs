//! What a server says of itself.

use super::meta::Meta;
use std::collections::BTreeMap;
use store::wire::{Talk, ascii};
use store::{Endpoint, Facts, StoreError};

/// The settings that matter for speed and safety.
const SETTINGS: [&str; 9] = [
    "hashpower_init",
    "maxbytes",
    "maxconns",
    "evictions",
    "item_size_max",
    "num_threads",
    "growth_factor",
    "chunk_size",
    "lru_crawler",
];

/// Asks a server for its version and settings, by commands of both protocols.
pub(super) fn facts(endpoint: &Endpoint) -> Result<Facts, StoreError> {
    let mut talk = Talk::open(endpoint, Meta::new())?;
    let version = talk.ask(b"version\r\n", |input| {
        let Some(end) = ascii::line_end(input, 1000) else { return Ok(None) };
        let line = String::from_utf8_lossy(&input[..end]).into_owned();
        match line.strip_prefix("VERSION ") {
            Some(version) => Ok(Some(version.to_owned())),
            None if line == "ERROR" => Ok(Some("unknown".to_owned())),
            None => Err(format!("not a memcached: it says {line}")),
        }
    })?;
    // A relative may not know the question, and may hang up on it: then nothing is known of its settings.
    let settings = talk.ask(b"stats settings\r\n", |input| {
        let whole = input.ends_with(b"END\r\n") || input.ends_with(b"ERROR\r\n");
        Ok(whole.then(|| String::from_utf8_lossy(input).into_owned()))
    });
    let settings = settings.unwrap_or_default();
    let config: BTreeMap<String, String> = settings
        .lines()
        .filter_map(|line| line.strip_prefix("STAT ")?.split_once(' '))
        .filter(|(name, _)| SETTINGS.contains(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let set_up = command_line(&config).into_iter().collect();
    Ok(Facts { product: "memcached".into(), version, config, set_up })
}

/// The command that starts a server with these settings; `None` where not all of them are known.
fn command_line(settings: &BTreeMap<String, String>) -> Option<String> {
    let number = |name: &str| settings.get(name)?.parse::<u64>().ok();
    let [memory, item] = ["maxbytes", "item_size_max"].map(number);
    let [clients, threads, power] = ["maxconns", "num_threads", "hashpower_init"].map(number);
    let mut line = format!("memcached -m {} -I {} -c {} -t {}", memory? >> 20, item?, clients?, threads?);
    line += &format!(" -f {} -n {}", settings.get("growth_factor")?, settings.get("chunk_size")?);
    if let Some(power) = power.filter(|power| *power > 0) {
        line += &format!(" -o hashpower={power}");
    }
    if settings.get("evictions").is_some_and(|evictions| evictions == "off") {
        line += " -M";
    }
    Some(line)
}
