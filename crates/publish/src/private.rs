//! What is nobody's business: names of people and machines, passwords, tokens. A study is looked through text by text.

use crate::objection::Objection;
use serde_json::Value;
use std::net::Ipv4Addr;
use study::Study;

/// Names that belong to the person who publishes, and to nobody else.
#[derive(Clone, Debug, Default)]
pub struct OwnNames {
    /// The name of the user.
    pub user: String,
    /// The name of the machine.
    pub host: String,
    /// The home directory.
    pub home: String,
}

/// Names that say nothing of anybody.
const COMMON: [&str; 16] = [
    "root",
    "admin",
    "administrator",
    "user",
    "ubuntu",
    "debian",
    "fedora",
    "centos",
    "alpine",
    "runner",
    "vagrant",
    "docker",
    "test",
    "localhost",
    "localdomain",
    "kvtrial",
];
/// Shorter names are parts of words.
const SHORTEST_NAME: usize = 4;
/// What tokens of well-known services begin with, and how long they are at least.
const TOKENS: [(&str, usize); 12] = [
    ("ghp_", 30),
    ("gho_", 30),
    ("ghs_", 30),
    ("ghr_", 30),
    ("github_pat_", 30),
    ("glpat-", 20),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("AKIA", 20),
    ("eyJhbGciOi", 40),
    ("sk-", 40),
    ("-----BEGIN ", 20),
];
/// Fields whose numbers with dots are versions.
const VERSIONS: [&str; 4] = ["version", "product", "kernel", "build"];

impl OwnNames {
    /// Returns the names of this user and this machine.
    pub fn here() -> OwnNames {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        let user = if variable("USER").is_empty() { variable("LOGNAME") } else { variable("USER") };
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_else(|_| variable("HOSTNAME"));
        OwnNames { user, host: host.trim().to_owned(), home: variable("HOME") }
    }
}

/// Returns everything private in a study that its figures do not need.
pub(crate) fn found(study: &Study, own: &OwnNames) -> Vec<Objection> {
    let Ok(value) = serde_json::to_value(study) else { return Vec::new() };
    let mut found = Vec::new();
    texts("", &value, &mut |place, text| {
        if let Some(what) = private(place, text, own) {
            found.push(Objection::Private { place: place.to_owned(), what });
        }
    });
    found
}

/// Calls a function for each text of a value, with its path; names of fields are texts of what they are in.
fn texts(place: &str, value: &Value, each: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(text) => each(place, text),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| texts(&format!("{place}[{at}]"), item, each))
        }
        Value::Object(fields) => {
            for (name, item) in fields {
                each(place, name);
                let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
                texts(&place, item, each);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What is private in a text.
fn private(place: &str, text: &str, own: &OwnNames) -> Option<String> {
    let field = place.rsplit(['.', '[']).find(|part| !part.ends_with(']')).unwrap_or_default();
    if home(text).is_some() {
        return Some("the path of a home directory".into());
    }
    for (name, what) in [(&own.user, "the name of a user"), (&own.host, "the name of a machine")] {
        let counts = name.len() >= SHORTEST_NAME && !COMMON.contains(&name.to_ascii_lowercase().as_str());
        if counts && words_of(text).any(|word| word == name) {
            return Some(format!("{what} ({name})"));
        }
    }
    if let Some((begin, _)) = TOKENS.iter().find(|(begin, least)| holds_token(text, begin, *least)) {
        return Some(format!("what looks like a token or a key ({begin}...)"));
    }
    // Measures of the kernel have names such as `spec_store_bypass`.
    let is_secret = !place.starts_with("host.") && study::names_secret(field) && is_secret_value(text);
    if is_secret || holds_password(field, text) {
        return Some("what looks like a password".into());
    }
    let is_version = VERSIONS.iter().any(|name| field.contains(name));
    let address = (!is_version).then(|| addresses(text).find(|address| !is_nobodys(*address))).flatten();
    address.map(|address| format!("the address of a machine ({address})"))
}

/// Returns where the path of a home directory begins in a text, and where it ends.
pub(crate) fn home(text: &str) -> Option<(usize, usize)> {
    let is_name = |c: char| c.is_alphanumeric() || "._-".contains(c);
    let begins = |at: usize| !text[..at].ends_with(|c: char| is_name(c) || c == '/');
    let end_of_name = |from: usize| text[from..].find(|c| !is_name(c)).map_or(text.len(), |end| from + end);
    for above in ["/home/", "/Users/", "/root"] {
        for (at, _) in text.match_indices(above) {
            let end = end_of_name(at + above.len());
            let is_whole = if above.ends_with('/') { end > at + above.len() } else { end == at + above.len() };
            if begins(at) && is_whole {
                return Some((at, end));
            }
        }
    }
    None
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || "_-".contains(c)))
}

/// Whether a word of a text begins so and is long enough for a token.
fn holds_token(text: &str, begin: &str, least: usize) -> bool {
    text.match_indices(begin).any(|(at, _)| {
        let starts_word = !text[..at].ends_with(|c: char| c.is_alphanumeric());
        let rest = &text[at..];
        let end = rest.find(|c: char| c.is_whitespace() || "\"',;".contains(c)).unwrap_or(rest.len());
        starts_word && (end >= least || begin.contains(' ') && rest.contains("KEY"))
    })
}

/// Whether a spec or an address has a password in it. Other texts have words that only look like specs.
fn holds_password(field: &str, text: &str) -> bool {
    let is_spec = ["command", "store"].contains(&field);
    let mut parts = text.split_whitespace().filter(|part| is_spec || part.contains("://"));
    parts.any(|part| study::redact(part) != part)
}

/// Whether the value of a secret setting is one: switches and numbers are none.
fn is_secret_value(text: &str) -> bool {
    let switches =
        ["", "***", "yes", "no", "on", "off", "true", "false", "none", "optional", "default", "disabled", "enabled"];
    !switches.contains(&text.to_ascii_lowercase().as_str()) && text.parse::<f64>().is_err()
}

/// IPv4 addresses in a text.
fn addresses(text: &str) -> impl Iterator<Item = Ipv4Addr> {
    let numbers = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'));
    numbers.filter_map(|word| word.trim_matches('.').parse().ok())
}

/// Whether an address is that of no machine in particular.
fn is_nobodys(address: Ipv4Addr) -> bool {
    address.is_loopback() || address.is_unspecified() || address.is_broadcast() || address.is_documentation()
}

#[cfg(test)]
mod tests {
    use super::{OwnNames, private};

    #[test]
    fn what_is_private_is_found_and_what_only_looks_so_is_not() {
        let own = OwnNames { user: "annika".into(), host: "tulip7".into(), home: String::new() };
        for (field, text, what) in [
            ("directory", "/home/ann/x", "home directory"),
            ("example", "cannot open '/Users/ann/db': no such file", "home directory"),
            ("example", "trial of annika failed", "user (annika)"),
            ("example", "tulip7: connection refused", "machine (tulip7)"),
            ("command", "redis://:tulip@h:1", "password"),
            ("requirepass", "tulip", "password"),
            ("bind", "10.1.2.3", "address"),
            ("example", "connect to 192.168.1.7:6379 failed", "address"),
            ("example", "ghp_0123456789abcdefghijABCDEFGHIJ012345", "token"),
            ("x", "-----BEGIN RSA PRIVATE KEY-----", "key"),
        ] {
            let found = private(field, text, &own).unwrap_or_default();
            assert!(found.contains(what), "{field} {text}: {found}");
        }
        for (field, text) in [
            ("directory", "/tmp/kvtrial-1"),
            ("directory", "/rootless/x"),
            ("example", "pages/home/x"),
            ("example", "annikas"),
            ("bind", "127.0.0.1"),
            ("store_version", "8.0.33.1"),
            ("authentication", "no"),
            ("requirepass", ""),
            ("host.mitigations.spec_store_bypass", "Vulnerable"),
            ("store", "redis,requirepass=***"),
            ("claim", "a stall of 1.2.3 seconds"),
            ("digest", "sha256:9c6e0f1a52c4b7d8e90a1b2c3d4e5f60718293a4b5c6d7e8f9010203040506af"),
        ] {
            assert_eq!(private(field, text, &own), None, "{field} {text}");
        }
    }
}
