//! What a study and its workers say to each other besides what a trial is about.

use serde::{Deserialize, Serialize};

/// The version both sides must have.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The head of every message: a line of JSON, which every version of kvtrial can read. The body of the message follows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LetterHead {
    /// kvtrial's version.
    pub(crate) version: String,
    /// The study.
    pub(crate) study: String,
    /// Its trial, from 1; 0: none has begun.
    pub(crate) trial: u32,
    /// The digest of what is to be done in it.
    pub(crate) plan: String,
    /// What it says. Words that a version does not know are read as [`Say::Unknown`].
    pub(crate) say: Say,
}

/// What a message says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Say {
    /// To all: this study looks for workers.
    Call,
    /// To a study: a worker is free.
    Hello(Hello),
    /// To a worker: it is claimed by this study.
    Claim,
    /// To a study: the claim is accepted.
    Claimed,
    /// To either side: it will not be, and why.
    Refused(String),
    /// To a worker: a trial begins.
    Trial,
    /// A part of a message between kvtrial and the process of a trial; it is the body.
    Part,
    /// The last part of such a message.
    Whole,
    /// To a worker: the process of the trial is to be killed.
    Kill,
    /// To a study: the fork server is gone; the body says how.
    Gone,
    /// To a worker: the study needs it no longer.
    Release,
    /// To a study: the worker leaves, in order.
    Bye,
    /// It lives.
    #[default]
    Beat,
    /// Something this version does not know.
    #[serde(other)]
    Unknown,
}

/// What a worker says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Hello {
    /// Its name, for people.
    pub(crate) name: String,
    /// Processors it may use.
    pub(crate) cpus: u32,
    /// Which machine it is on: the same text for all processes that share processors and network.
    pub(crate) machine: String,
}

impl LetterHead {
    /// Makes a message of this head and a body.
    pub(crate) fn with(&self, body: &[u8]) -> Vec<u8> {
        let mut message = serde_json::to_vec(self).unwrap_or_default();
        message.push(b'\n');
        message.extend_from_slice(body);
        message
    }

    /// Takes a message apart; `None`: it is none of kvtrial's.
    pub(crate) fn read(message: &[u8]) -> Option<(LetterHead, &[u8])> {
        let end = message.iter().position(|byte| *byte == b'\n')?;
        let head = serde_json::from_slice(&message[..end]).ok()?;
        Some((head, &message[end + 1..]))
    }

    /// Returns why two versions do not work together, if they are not the same.
    pub(crate) fn other_version(&self) -> Option<String> {
        (self.version != VERSION).then(|| format!("it is kvtrial {}, this is kvtrial {VERSION}", self.version))
    }
}

#[cfg(test)]
mod tests {
    use super::{Hello, LetterHead, Say};

    #[test]
    fn a_message_is_its_head_and_any_bytes() {
        let hello = Hello { name: "a".into(), cpus: 4, machine: "m".into() };
        for say in [Say::Call, Say::Hello(hello), Say::Refused("no".into()), Say::Whole, Say::Beat] {
            let head = LetterHead { version: "1".into(), study: "s".into(), trial: 3, plan: "p".into(), say };
            let message = head.with(b"\n{}\0");
            assert_eq!(LetterHead::read(&message), Some((head, &b"\n{}\0"[..])));
        }
        assert_eq!(LetterHead::read(b"+OK"), None);
    }

    #[test]
    fn the_head_of_another_version_is_read_as_far_as_it_is_known() {
        let (head, _) =
            LetterHead::read(b"{\"version\":\"9.0.0\",\"study\":\"s\",\"say\":\"sing\",\"more\":1}\n").unwrap();
        assert_eq!((head.say.clone(), head.study.as_str()), (Say::Unknown, "s"));
        assert_eq!(head.other_version().unwrap(), format!("it is kvtrial 9.0.0, this is kvtrial {}", super::VERSION));
    }
}
