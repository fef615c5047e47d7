//! The word that was probably meant.

/// How far a mistyped word may be from the one meant, as a share of the longer one: two letters of five.
const FARTHEST: f64 = 0.4;

/// Finds the known word that was probably meant: the one fewest letters away, an exchange of two neighbours counted once. `None` when no
/// word is near.
///
/// ```
/// # use kvtrial_study as study;
/// assert_eq!(study::near("rediss", ["null", "redis", "redis-unix"]), Some("redis"));
/// assert_eq!(study::near("durabilty", ["durability", "threads"]), Some("durability"));
/// assert_eq!(study::near("cassandra", ["null", "redis"]), None);
/// ```
pub fn near<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let distance = |known: &str| strsim::damerau_levenshtein(&word, known);
    let all = known.into_iter().map(|known| (distance(known), known));
    let within = |(distance, known): &(usize, &str)| {
        *distance as f64 <= FARTHEST * word.chars().count().max(known.chars().count()) as f64
    };
    all.filter(within).min_by_key(|(distance, _)| *distance).map(|(_, known)| known)
}

/// Returns the words most like this one, at most `most`, the nearest first: the one that was [probably meant](near) if there is one, then
/// those that begin alike. Empty when no word is near.
///
/// ```
/// # use kvtrial_study as study;
/// assert_eq!(study::nearest("reddis", ["null", "redis-unix", "redis", "riak", "lmdb"], 3), ["redis", "redis-unix", "riak"]);
/// assert!(study::nearest("cassandra", ["null", "redis"], 3).is_empty());
/// ```
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let mut known: Vec<&str> = known.into_iter().collect();
    let Some(meant) = near(word, known.iter().copied()) else { return Vec::new() };
    let word = word.to_lowercase();
    let likeness = |known: &str| if known == meant { f64::INFINITY } else { strsim::jaro_winkler(&word, known) };
    known.sort_by(|one, other| likeness(other).total_cmp(&likeness(one)));
    known.truncate(most);
    known
}

/// Returns the same as a question to put behind an error: ` Did you mean redis?`, or nothing.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    near(word, known).map_or(String::new(), |known| format!(" Did you mean {known}?"))
}
