//! Named durability levels, the same words for every store.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The promise of what survives a crash of the store or of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Everything may be lost when the process ends.
    None,
    /// Acknowledged writes survive a kill of the process, not a power cut.
    Os,
    /// At most one second of acknowledged writes is lost in a power cut.
    Second,
    /// Nothing acknowledged is lost.
    Commit,
}

impl Durability {
    /// Returns the word used in specs, reports and `study.json`.
    pub fn name(self) -> &'static str {
        match self {
            Durability::None => "none",
            Durability::Os => "os",
            Durability::Second => "second",
            Durability::Commit => "commit",
        }
    }

    /// Returns the level that servers and engines have another word for, such as `everysec`.
    pub fn meant(word: &str) -> Option<Durability> {
        Some(match word.to_ascii_lowercase().as_str() {
            "everysec" | "every-second" | "everysecond" | "1s" => Durability::Second,
            "always" | "fsync" | "sync" | "full" => Durability::Commit,
            "off" | "never" | "memory" => Durability::None,
            "normal" | "async" | "kill" => Durability::Os,
            _ => return None,
        })
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The source of a durability level. Only crashes show that a level holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DurabilitySource {
    /// kvtrial configured the store for it, and read the setting back where the store can be asked.
    SetByKvtrial,
    /// The user's own server, named by a URL, says so. kvtrial has not shown it.
    AsTheServerSays,
    /// The user says so of a server of theirs that does not say it.
    AsTheUserSays,
    /// Nobody says it: the server refused to, has no way to, or was never reached. The level is the usual one of such a server.
    Assumed,
}

impl DurabilitySource {
    /// Returns the word of `study.json` and of reports.
    pub fn name(self) -> &'static str {
        match self {
            DurabilitySource::SetByKvtrial => "set_by_kvtrial",
            DurabilitySource::AsTheServerSays => "as_the_server_says",
            DurabilitySource::AsTheUserSays => "as_the_user_says",
            DurabilitySource::Assumed => "assumed",
        }
    }
}

/// A word that is not a durability level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown durability '{0}': use none, os, second or commit{meant}", meant = meant(.0))]
pub struct UnknownDurability(pub String);

/// The level that a word of other programs means, to follow a message.
fn meant(word: &str) -> String {
    Durability::meant(word).map(|level| format!("; '{word}' is {level} here")).unwrap_or_default()
}

impl FromStr for Durability {
    type Err = UnknownDurability;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "none" => Ok(Durability::None),
            "os" => Ok(Durability::Os),
            "second" => Ok(Durability::Second),
            "commit" => Ok(Durability::Commit),
            other => Err(UnknownDurability(other.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Durability;

    #[test]
    fn a_level_asked_for_by_a_word_of_the_server_s_is_answered_with_its_name_here() {
        let said = |word: &str| word.parse::<Durability>().map_err(|error| error.to_string());
        assert_eq!(
            said("everysec"),
            Err("unknown durability 'everysec': use none, os, second or commit; 'everysec' is second here".into())
        );
        assert_eq!(said("always").err().unwrap_or_default().rsplit("; ").next(), Some("'always' is commit here"));
        assert_eq!(said("x"), Err("unknown durability 'x': use none, os, second or commit".into()));
        assert_eq!(said("second"), Ok(Durability::Second));
    }
}
