//! The file of a script, and what it can be known to need before it runs.

use jobkit::JobError;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A script's text.
#[derive(Debug)]
pub(crate) struct ScriptText {
    /// As errors and reports name it: the name of the file.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    pub(crate) digest: String,
    /// The verbs it names: `kv.get` is `get`.
    pub(crate) verbs: BTreeSet<String>,
    /// Whether its code names a time to live.
    pub(crate) names_ttl: bool,
}

/// A larger file is not a script.
const MOST_BYTES: u64 = 16 << 20;

impl ScriptText {
    /// Reads the file.
    pub(crate) fn read(path: &Path) -> Result<ScriptText, JobError> {
        let trouble = |words: String| JobError(format!("{}: {words}", path.display()));
        let facts = std::fs::metadata(path)
            .map_err(|error| trouble(format!("{error}. 'kvtrial new NAME' writes a first script")))?;
        if facts.is_dir() || facts.len() > MOST_BYTES {
            return Err(trouble("this is not a script; name a Lua file".into()));
        }
        let bytes = std::fs::read(path).map_err(|error| trouble(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| trouble("it is not UTF-8; scripts are text".into()))?;
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Ok(ScriptText::of(name, path, text))
    }

    /// Makes one of a text that was read elsewhere.
    pub(crate) fn of(name: String, path: PathBuf, text: String) -> ScriptText {
        let digest = data::digest::of_bytes(text.as_bytes());
        let (verbs, names_ttl) = (verbs(&text), names_ttl(&text));
        ScriptText { name, path, text, digest, verbs, names_ttl }
    }

    /// Returns what the script says of itself: its first comment.
    pub(crate) fn summary(&self) -> String {
        let first = self.text.lines().find(|line| !line.trim().is_empty() && !line.starts_with("#!"));
        let comment =
            first.and_then(|line| line.trim().strip_prefix("--")).map(|line| line.trim_start_matches('-').trim());
        comment.filter(|words| !words.is_empty() && !words.starts_with("[[")).unwrap_or("a script").to_owned()
    }

    /// Returns whether it sends what only the script can judge: commands, or statements of SQL.
    pub(crate) fn judges(&self) -> bool {
        self.uses("command") || self.uses("sql")
    }

    /// Returns whether it names this verb.
    pub(crate) fn uses(&self, verb: &str) -> bool {
        self.verbs.contains(verb)
    }
}

/// Whether the code, without comments, has the word `ttl` or `touch`.
fn names_ttl(text: &str) -> bool {
    let code = text.lines().map(|line| line.split("--").next().unwrap_or_default());
    let mut words = code.flat_map(|code| code.split(|letter: char| !letter.is_alphanumeric() && letter != '_'));
    words.any(|word| word == "ttl" || word == "touch")
}

/// The names behind `kv.` in the code, without comments.
fn verbs(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in text.lines() {
        let code = line.split("--").next().unwrap_or_default();
        for (at, _) in code.match_indices("kv.") {
            let whole =
                !code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_' || before == '.');
            let name: String =
                code[at + 3..].chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
            if whole && !name.is_empty() {
                found.insert(name);
            }
        }
    }
    found
}
