//! Commands and replies of RESP, versions 2 and 3.

use crate::taken::{Pushed, RepliesDue, Taken, TakenWord, line, number};
use trace::kvtrace::ReplyShape;
use trace::{CommandWords, ReplyDigest, WordPart};

/// The longest line, and the most words and bytes of a word: what is more is nothing that a server takes.
const MOST_LINE_BYTES: usize = 64 << 10;
const MOST_WORDS: usize = 1 << 20;
const MOST_WORD_BYTES: usize = 1 << 30;

/// Takes a command: an array of strings, or words in a line.
pub(crate) fn command(bytes: &[u8], words: &mut Vec<TakenWord>) -> Taken<RepliesDue> {
    match bytes.first() {
        None => Taken::Begun,
        Some(b'*') => array(bytes, words),
        Some(_) => inline(bytes, words),
    }
}

fn array(bytes: &[u8], words: &mut Vec<TakenWord>) -> Taken<RepliesDue> {
    let Some((head, mut at)) = line(bytes) else { return begun(bytes) };
    let Some(count) = number::<usize>(&head[1..]).filter(|&count| count <= MOST_WORDS) else {
        return Taken::NotUnderstood;
    };
    let mut known = None;
    for place in 0..count {
        let Some((head, head_bytes)) = line(&bytes[at..]) else { return begun(&bytes[at..]) };
        let (Some(b'$'), Some(length)) = (head.first(), number::<usize>(head.get(1..).unwrap_or_default())) else {
            return Taken::NotUnderstood;
        };
        if length > MOST_WORD_BYTES {
            return Taken::NotUnderstood;
        }
        let start = at + head_bytes;
        let Some(ending) = bytes.get(start + length..start + length + 2) else { return Taken::Begun };
        if ending != b"\r\n" {
            return Taken::NotUnderstood;
        }
        let name = *known.get_or_insert_with(|| CommandWords::of(&bytes[start..start + length]));
        words.push(TakenWord { at: start..start + length, part: name.part(place) });
        at = start + length + 2;
    }
    Taken::Whole(at, replies(bytes, words))
}

fn begun<T>(line: &[u8]) -> Taken<T> {
    if line.len() > MOST_LINE_BYTES { Taken::NotUnderstood } else { Taken::Begun }
}

fn inline(bytes: &[u8], words: &mut Vec<TakenWord>) -> Taken<RepliesDue> {
    let Some((text, length)) = line(bytes) else { return begun(bytes) };
    if text.iter().any(|byte| !(b' '..0x7f).contains(byte) && *byte != b'\t') {
        return Taken::NotUnderstood;
    }
    let mut at = 0;
    for word in text.split(u8::is_ascii_whitespace) {
        let place = words.len();
        if !word.is_empty() {
            let name = words.first().map_or(word, |first| &bytes[first.at.clone()]);
            words.push(TakenWord { at: at..at + word.len(), part: CommandWords::of(name).part(place) });
        }
        at += word.len() + 1;
    }
    Taken::Whole(length, replies(bytes, words))
}

fn replies(bytes: &[u8], words: &[TakenWord]) -> RepliesDue {
    // An empty line, or an empty array, is no command.
    let Some(name) = words.first() else { return RepliesDue::None };
    let is = |place: usize, word: &[u8]| {
        words.get(place).is_some_and(|taken| bytes[taken.at.clone()].eq_ignore_ascii_case(word))
    };
    let name = &bytes[name.at.clone()];
    let is_one_of = |names: &[&[u8]]| names.iter().any(|other| other.eq_ignore_ascii_case(name));
    if is_one_of(&[b"SUBSCRIBE", b"PSUBSCRIBE", b"SSUBSCRIBE", b"UNSUBSCRIBE", b"PUNSUBSCRIBE", b"SUNSUBSCRIBE"]) {
        // Without a channel: all there are, nobody here knows how many.
        return match words.len() {
            1 => RepliesDue::Unmatched,
            all => RepliesDue::Acknowledgements(all as u32 - 1),
        };
    }
    let unasked: &[&[u8]] = &[b"MONITOR", b"SYNC", b"PSYNC"];
    if is_one_of(unasked) || is(0, b"CLIENT") && is(1, b"REPLY") {
        return RepliesDue::Unmatched;
    }
    RepliesDue::One
}

/// Takes a reply; attributes that describe it come before it.
pub(crate) fn reply(bytes: &[u8]) -> Taken<Option<ReplyShape>> {
    let mut at = 0;
    loop {
        let Some((head, head_bytes)) = line(&bytes[at..]) else { return Taken::Begun };
        let (values, start) = match head.first() {
            Some(b'|') => match count_of(head) {
                Some(pairs) => (2 * pairs.unsigned_abs(), at + head_bytes),
                None => return Taken::NotUnderstood,
            },
            _ => (1, at),
        };
        match (walk(bytes, start, values), head.first()) {
            (Taken::Whole(end, ()), Some(b'|')) => at = end,
            (Taken::Whole(end, ()), _) => return Taken::Whole(end, shape(head)),
            (Taken::Begun, _) => return Taken::Begun,
            (Taken::NotUnderstood, _) => return Taken::NotUnderstood,
        }
    }
}

/// Returns what a whole reply to a connection with subscriptions is: a list, or what comes unasked in version 3, that begins with such a word.
pub(crate) fn pushed(reply: &[u8]) -> Pushed {
    let word = || {
        let (head, head_bytes) = line(reply)?;
        let (_, length_bytes) = line(&reply[head_bytes..])?;
        let (word, _) = line(&reply[head_bytes + length_bytes..])?;
        matches!(head.first(), Some(b'*' | b'>')).then_some(word)
    };
    match word() {
        Some(b"message" | b"pmessage" | b"smessage") => Pushed::Message,
        Some(b"subscribe" | b"psubscribe" | b"ssubscribe" | b"unsubscribe" | b"punsubscribe" | b"sunsubscribe") => {
            Pushed::Acknowledgement
        }
        _ => Pushed::Nothing,
    }
}

/// The shape of the reply that begins with this line; `None`: it comes unasked.
fn shape(head: &[u8]) -> Option<ReplyShape> {
    let is_missing = count_of(head).is_some_and(|count| count < 0);
    Some(match head.first() {
        Some(b'>') => return None,
        Some(b'+') => ReplyShape::Status,
        Some(b'-' | b'!') => ReplyShape::Error,
        Some(b':' | b',' | b'(' | b'#') => ReplyShape::Number,
        Some(b'$' | b'=') if !is_missing => ReplyShape::Value,
        Some(b'*' | b'~' | b'%') if !is_missing => ReplyShape::Many,
        _ => ReplyShape::Missing,
    })
}

/// The count or length that a line has.
fn count_of(head: &[u8]) -> Option<i64> {
    number(head.get(1..)?).filter(|&count: &i64| count <= 1 << 30)
}

/// Goes over this many values, with all that is in them; returns where they end.
fn walk(bytes: &[u8], mut at: usize, mut values: u64) -> Taken<()> {
    while values > 0 {
        values -= 1;
        let Some((head, head_bytes)) = line(&bytes[at..]) else { return Taken::Begun };
        at += head_bytes;
        let Some(&kind) = head.first() else { return Taken::NotUnderstood };
        let count = match kind {
            b'+' | b'-' | b':' | b',' | b'(' | b'#' | b'_' => continue,
            b'$' | b'=' | b'!' | b'*' | b'~' | b'>' | b'%' | b'|' => count_of(head),
            _ => None,
        };
        let Some(count) = count else { return Taken::NotUnderstood };
        let Ok(count) = usize::try_from(count) else { continue }; // there is nothing
        match kind {
            b'$' | b'=' | b'!' => {
                at += count + 2;
                if at > bytes.len() {
                    return Taken::Begun;
                }
            }
            b'%' => values += 2 * count as u64,
            b'|' => values += 2 * count as u64 + 1,
            _ => values += count as u64,
        }
    }
    Taken::Whole(at, ())
}

/// Returns the digest of a whole reply, which does not depend on the version of the protocol.
pub(crate) fn digest(reply: &[u8]) -> u64 {
    let mut digest = ReplyDigest::default();
    let mut at = 0;
    while let Some((head, head_bytes)) = line(&reply[at..]) {
        at += head_bytes;
        let Some((&kind, text)) = head.split_first() else { break };
        let count = number::<i64>(text).unwrap_or(0);
        match kind {
            b'_' => digest.nil(),
            b'$' | b'=' | b'!' | b'*' | b'~' | b'>' if count < 0 => digest.nil(),
            b':' => digest.number(count),
            b'#' => digest.number((text == b"t").into()),
            b'-' => digest.error(text),
            b'$' | b'=' | b'!' => {
                let length = usize::try_from(count).unwrap_or(0);
                let bytes = reply.get(at..at + length).unwrap_or_default();
                match kind {
                    b'!' => digest.error(bytes),
                    b'=' => digest.text(bytes.get(4..).unwrap_or_default()),
                    _ => digest.text(bytes),
                }
                at += length + 2;
            }
            b'*' | b'~' | b'>' => digest.list(count.unsigned_abs()),
            b'%' => digest.list(2 * count.unsigned_abs()),
            _ => digest.text(text),
        }
        if at >= reply.len() {
            break;
        }
    }
    digest.finish()
}

impl TakenWord {
    /// Returns a word that is plain.
    pub(crate) fn plain(at: std::ops::Range<usize>) -> TakenWord {
        TakenWord { at, part: WordPart::Plain }
    }
}

#[cfg(test)]
mod tests {
    use super::{digest, reply};
    use crate::taken::Taken;
    use trace::kvtrace::ReplyShape;

    #[test]
    fn the_digest_is_of_what_a_reply_says_whatever_the_version_of_the_protocol() {
        for (two, three) in [
            (&b"$-1\r\n"[..], &b"_\r\n"[..]),
            (b"*-1\r\n", b"_\r\n"),
            (b"$3\r\n1.5\r\n", b",1.5\r\n"),
            (b":1\r\n", b"#t\r\n"),
            (b"*4\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n$-1\r\n", b"%2\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n_\r\n"),
            (b"*1\r\n*2\r\n+x\r\n-ERR y\r\n", b"~1\r\n*2\r\n$1\r\nx\r\n!5\r\nERR y\r\n"),
            (b"$2\r\nhi\r\n", b"=6\r\ntxt:hi\r\n"),
        ] {
            assert_eq!(digest(two), digest(three), "{}", two.escape_ascii());
            for whole in [two, three] {
                assert!(matches!(reply(whole), Taken::Whole(bytes, Some(_)) if bytes == whole.len()));
                assert!((0..whole.len()).all(|end| reply(&whole[..end]) == Taken::Begun), "{}", whole.escape_ascii());
            }
        }
        let different =
            [&b"+a\r\n"[..], b"-a\r\n", b"+b\r\n", b":1\r\n", b"*1\r\n:1\r\n", b"_\r\n", b"*0\r\n", b"$0\r\n\r\n"];
        let digests: std::collections::BTreeSet<u64> = different.iter().map(|one| digest(one)).collect();
        assert_eq!(digests.len(), different.len());
        assert_eq!(reply(b">2\r\n+message\r\n+x\r\n+OK\r\n"), Taken::Whole(18, None), "what comes unasked");
        assert_eq!(reply(b"|1\r\n+k\r\n+v\r\n:5\r\n"), Taken::Whole(16, Some(ReplyShape::Number)));
    }
}
