//! Commands and replies of memcached's text protocol, with its meta commands.

use crate::taken::{RepliesDue, Taken, TakenWord, line, number};
use trace::WordPart;
use trace::kvtrace::ReplyShape;

/// The longest line: memcached takes 64 KiB for a get of many keys.
const MOST_LINE_BYTES: usize = 256 << 10;
/// The most bytes of a value.
const MOST_VALUE_BYTES: usize = 1 << 30;

/// Takes a command: a line, and a block of data behind that of a write.
pub(crate) fn command(bytes: &[u8], words: &mut Vec<TakenWord>) -> Taken<RepliesDue> {
    let Some((text, length)) = line(bytes) else {
        return if bytes.len() > MOST_LINE_BYTES { Taken::NotUnderstood } else { Taken::Begun };
    };
    let mut at = 0;
    for word in text.split(|&byte| byte == b' ') {
        if !word.is_empty() {
            words.push(TakenWord::plain(at..at + word.len()));
        }
        at += word.len() + 1;
    }
    let word = |place: usize| words.get(place).map(|word| &bytes[word.at.clone()]);
    let count = words.len();
    let (keys, data, has_data) = match word(0) {
        Some(b"get" | b"gets") => (1..count, None, false),
        Some(b"gat" | b"gats") => (2..count, None, false),
        Some(b"set" | b"add" | b"replace" | b"append" | b"prepend" | b"cas") => (1..2, word(4).and_then(number), true),
        Some(b"ms") => (1..2, word(2).and_then(number), true),
        Some(b"delete" | b"incr" | b"decr" | b"touch" | b"mg" | b"md" | b"ma" | b"me") => (1..2, None, false),
        Some(
            b"mn" | b"version" | b"stats" | b"flush_all" | b"verbosity" | b"quit" | b"cache_memlimit" | b"lru"
            | b"slabs" | b"shutdown",
        ) => (0..0, None, false),
        _ => return Taken::NotUnderstood,
    };
    let is_quiet = match word(0) {
        Some(b"quit") => RepliesDue::None,
        Some(b"stats") => RepliesDue::Unmatched,
        // Quiet: what is as expected has no reply.
        Some([b'm', _]) if (2..count).any(|place| word(place) == Some(b"q")) => RepliesDue::Quiet,
        _ if count > 1 && word(count - 1) == Some(b"noreply") => RepliesDue::None,
        _ => RepliesDue::One,
    };
    for place in keys {
        if let Some(word) = words.get_mut(place) {
            word.part = WordPart::Key;
        }
    }
    if !has_data {
        return Taken::Whole(length, is_quiet);
    }
    // The server refuses such a line, and reads on behind it.
    let Some(data): Option<usize> = data else { return Taken::NotUnderstood };
    if data > MOST_VALUE_BYTES {
        return Taken::NotUnderstood;
    }
    match bytes.get(length + data..length + data + 2) {
        None => Taken::Begun,
        Some(b"\r\n") => {
            words.push(TakenWord { at: length..length + data, part: WordPart::Value });
            Taken::Whole(length + data + 2, is_quiet)
        }
        Some(_) => Taken::NotUnderstood,
    }
}

/// Takes a reply to the command of this name.
pub(crate) fn reply(bytes: &[u8], to: &[u8]) -> Taken<Option<ReplyShape>> {
    let (mut at, mut values) = (0, 0);
    loop {
        let Some((text, length)) = line(&bytes[at..]) else { return Taken::Begun };
        at += length;
        let mut words = text.split(|&byte| byte == b' ');
        let first = words.next().unwrap_or_default();
        let data = match first {
            b"VALUE" => words.nth(2).and_then(number::<usize>),
            b"VA" => words.next().and_then(number::<usize>),
            _ => None,
        };
        if let (b"VALUE" | b"VA", None) = (first, data) {
            return Taken::NotUnderstood;
        }
        if let Some(data) = data {
            let Some(ending) = bytes.get(at + data..at + data + 2) else { return Taken::Begun };
            if ending != b"\r\n" {
                return Taken::NotUnderstood;
            }
            at += data + 2;
            values += 1;
            if first == b"VALUE" {
                continue; // until END
            }
        }
        let is_get = matches!(to, b"get" | b"gets" | b"gat" | b"gats");
        let shape = match first {
            b"VA" => ReplyShape::Value,
            b"END" if is_get => [ReplyShape::Missing, ReplyShape::Value, ReplyShape::Many][values.min(2)],
            b"NOT_FOUND" | b"EN" | b"NF" => ReplyShape::Missing,
            b"ERROR" | b"CLIENT_ERROR" | b"SERVER_ERROR" => ReplyShape::Error,
            _ if !first.is_empty() && first.iter().all(u8::is_ascii_digit) => ReplyShape::Number,
            _ => ReplyShape::Status,
        };
        return Taken::Whole(at, Some(shape));
    }
}
