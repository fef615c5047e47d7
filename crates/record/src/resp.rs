//! Commands and replies of RESP, versions 2 and 3.

use crate::taken::{RepliesDue, Taken, TakenWord, line, number};
use trace::kvtrace::ReplyShape;
use trace::{CommandWords, WordPart};

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
    let unasked = [&b"SUBSCRIBE"[..], b"PSUBSCRIBE", b"SSUBSCRIBE", b"MONITOR", b"SYNC", b"PSYNC"];
    if unasked.iter().any(|other| other.eq_ignore_ascii_case(name)) || is(0, b"CLIENT") && is(1, b"REPLY") {
        return RepliesDue::Unmatched;
    }
    RepliesDue::One
}

/// Takes a reply.
pub(crate) fn reply(bytes: &[u8]) -> Taken<Option<ReplyShape>> {
    let mut shape = None;
    let (mut at, mut left) = (0, 1_u64);
    while left > 0 {
        left -= 1;
        let Some((head, head_bytes)) = line(&bytes[at..]) else { return Taken::Begun };
        let Some((&kind, text)) = head.split_first() else { return Taken::NotUnderstood };
        at += head_bytes;
        let count = || number::<i64>(text);
        let seen = match kind {
            b'+' => ReplyShape::Status,
            b'-' => ReplyShape::Error,
            b':' | b',' | b'(' | b'#' => ReplyShape::Number,
            b'_' => ReplyShape::Missing,
            b'$' | b'=' | b'!' => {
                let Some(length) = count() else { return Taken::NotUnderstood };
                if let Ok(length) = usize::try_from(length) {
                    if bytes.len() < at + length + 2 {
                        return Taken::Begun;
                    }
                    at += length + 2;
                }
                match kind {
                    _ if length < 0 => ReplyShape::Missing,
                    b'!' => ReplyShape::Error,
                    _ => ReplyShape::Value,
                }
            }
            b'*' | b'~' | b'>' | b'%' | b'|' => {
                let Some(items) = count().filter(|&items| items <= 1 << 30) else { return Taken::NotUnderstood };
                let each = if matches!(kind, b'%' | b'|') { 2 } else { 1 };
                left += each * u64::try_from(items).unwrap_or(0);
                match (kind, items) {
                    // What comes unasked, or describes the reply behind it.
                    (b'>', _) if shape.is_none() => {
                        shape = Some(None);
                        continue;
                    }
                    (b'|', _) => {
                        left += 1;
                        continue;
                    }
                    (_, ..0) => ReplyShape::Missing,
                    _ => ReplyShape::Many,
                }
            }
            _ => return Taken::NotUnderstood,
        };
        shape = shape.or(Some(Some(seen)));
    }
    Taken::Whole(at, shape.flatten())
}

impl TakenWord {
    /// Returns a word that is plain.
    pub(crate) fn plain(at: std::ops::Range<usize>) -> TakenWord {
        TakenWord { at, part: WordPart::Plain }
    }
}
