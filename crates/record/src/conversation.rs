//! A connection as the tape sees it: what was asked and answered, taken apart as the bytes come.

use crate::anonymous::Anonymous;
use crate::taken::{Pushed, RecordedProtocol, RepliesDue, Taken, TakenWord};
use std::collections::VecDeque;
use trace::WordPart;
use trace::kvtrace::{Recorded, RecordedKeys, RecordedReply, RecordedValues, RecordedWord, ReplyShape};

/// Bytes of a value that are packed, to see how well they can be.
const SAMPLE_BYTES: usize = 4096;
/// One value in this many is.
const SAMPLE_ONE_IN: u64 = 16;
/// The most bytes of a name that is remembered for its reply.
const NAME_BYTES: usize = 8;

/// What is kept of what passes.
pub(crate) struct Keeping {
    pub(crate) protocol: RecordedProtocol,
    pub(crate) keys: RecordedKeys,
    pub(crate) values: RecordedValues,
    pub(crate) anonymous: Anonymous,
    values_seen: u64,
}

impl Keeping {
    pub(crate) fn new(protocol: RecordedProtocol, keys: RecordedKeys, values: RecordedValues) -> Keeping {
        Keeping { protocol, keys, values, anonymous: Anonymous::default(), values_seen: 0 }
    }

    /// The percentage that a value can be packed to; 0 where it is not looked at.
    fn packs_to_percent(&mut self, value: &[u8]) -> u8 {
        self.values_seen += 1;
        if value.is_empty() || self.values_seen % SAMPLE_ONE_IN != 1 {
            return 0;
        }
        let sample = &value[..value.len().min(SAMPLE_BYTES)];
        (lz4_flex::block::compress(sample).len() * 100 / sample.len()).clamp(1, 100) as u8
    }
}

/// A command that has no reply yet.
struct Waiting {
    asked_us: u64,
    name: [u8; NAME_BYTES],
    replies: RepliesDue,
}

/// What a reply is that comes while quiet commands wait.
enum Loud {
    /// That to the next command which is not quiet: the quiet ones had none.
    Next,
    /// That to a quiet one, which is not recorded.
    Not,
    /// Nobody knows.
    Unknown,
}

/// A connection.
#[derive(Default)]
pub(crate) struct Conversation {
    asked: Unread,
    answered: Unread,
    /// The last may be one behind which nobody knows which reply is to which command.
    waiting: VecDeque<Waiting>,
    /// Such a one was asked.
    is_unmatched: bool,
    /// A subscription was asked for: messages may come unasked.
    is_subscribed: bool,
    /// Everything before it was answered.
    is_over: bool,
    /// Bytes came that are no command: nothing behind them is taken apart.
    is_lost: bool,
    words: Vec<TakenWord>,
}

/// Bytes that were not taken yet.
#[derive(Default)]
struct Unread {
    bytes: Vec<u8>,
    taken: usize,
}

impl Unread {
    fn add(&mut self, bytes: &[u8]) {
        if self.taken == self.bytes.len() {
            self.bytes.clear();
            self.taken = 0;
        } else if self.taken > 1 << 20 {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }
}

impl Conversation {
    /// Takes what the client sent.
    pub(crate) fn ask(
        &mut self,
        bytes: &[u8],
        time_us: u64,
        keeping: &mut Keeping,
        each: &mut dyn FnMut(&Recorded<'_>),
    ) {
        if self.is_lost {
            return each(&Recorded::NotUnderstood(bytes.len() as u64));
        }
        self.asked.add(bytes);
        loop {
            let rest = self.asked.rest();
            if rest.is_empty() {
                return;
            }
            match keeping.protocol.command(rest, &mut self.words) {
                Taken::Begun => return,
                Taken::NotUnderstood => {
                    each(&Recorded::NotUnderstood(rest.len() as u64));
                    self.is_lost = true;
                    self.asked = Unread::default();
                    self.wait_for(Waiting { asked_us: time_us, name: [0; NAME_BYTES], replies: RepliesDue::Unmatched });
                    return;
                }
                Taken::Whole(length, replies) => {
                    if let Some(first) = self.words.first() {
                        let mut name = [0; NAME_BYTES];
                        let shown = rest[first.at.clone()].iter().take(NAME_BYTES);
                        name.iter_mut().zip(shown).for_each(|(to, from)| *to = *from);
                        record(rest, &self.words, keeping, each);
                        self.asked.taken += length;
                        self.wait_for(Waiting { asked_us: time_us, name, replies });
                    } else {
                        self.asked.taken += length;
                    }
                }
            }
        }
    }

    fn wait_for(&mut self, command: Waiting) {
        let is_quiet = command.replies == RepliesDue::Quiet;
        // One stands for all quiet ones that follow each other.
        let stands = self.waiting.back().is_some_and(|last| last.replies == RepliesDue::Quiet) && is_quiet;
        if command.replies == RepliesDue::None || stands || self.is_unmatched {
            return;
        }
        self.is_unmatched = command.replies == RepliesDue::Unmatched;
        self.is_subscribed |= matches!(command.replies, RepliesDue::Acknowledgements(_));
        self.waiting.push_back(command);
    }

    /// Nothing that the store sends from now on is looked at.
    fn stop_matching(&mut self) {
        (self.is_unmatched, self.is_over) = (true, true);
        self.waiting.clear();
        self.answered = Unread::default();
    }

    /// Finds out whether a reply that comes while quiet commands wait is to one of them: `mn` alone is answered by `MN`, whatever came before it.
    fn loud(&mut self, is_end: bool) -> Loud {
        let next = self.waiting.iter().position(|waiting| waiting.replies != RepliesDue::Quiet);
        let is_clear = next.is_none_or(|next| self.waiting[next].name.starts_with(b"mn\0"));
        match next.filter(|_| is_end) {
            _ if !is_clear => Loud::Unknown,
            None => Loud::Not,
            Some(next) => {
                self.waiting.drain(..next);
                Loud::Next
            }
        }
    }

    /// Takes what the store sent.
    pub(crate) fn answer(
        &mut self,
        bytes: &[u8],
        time_us: u64,
        keeping: &Keeping,
        each: &mut dyn FnMut(&Recorded<'_>),
    ) {
        if self.is_over {
            return;
        }
        self.answered.add(bytes);
        loop {
            let rest = self.answered.rest();
            if rest.is_empty() {
                return;
            }
            // Without a command: what comes unasked, or the store says why it closes the connection.
            let (name, replies) = self
                .waiting
                .front()
                .map_or(([0; NAME_BYTES], RepliesDue::None), |waiting| (waiting.name, waiting.replies));
            if replies == RepliesDue::Unmatched {
                return self.stop_matching();
            }
            let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
            let (length, shape) = match keeping.protocol.reply(rest, name) {
                Taken::Begun => return,
                Taken::NotUnderstood => return self.stop_matching(),
                Taken::Whole(length, shape) => (length, shape),
            };
            let pushed = if self.is_subscribed { keeping.protocol.pushed(&rest[..length]) } else { Pushed::Nothing };
            if pushed == Pushed::Message {
                self.answered.taken += length;
                continue;
            }
            if let (Pushed::Acknowledgement, Some(waiting)) = (pushed, self.waiting.front_mut())
                && let RepliesDue::Acknowledgements(due @ 2..) = &mut waiting.replies
            {
                *due -= 1;
                self.answered.taken += length;
                continue;
            }
            if replies == RepliesDue::Quiet {
                let is_end = rest.starts_with(b"MN\r\n");
                match self.loud(is_end) {
                    Loud::Next => continue,
                    Loud::Not => self.answered.taken += length,
                    Loud::Unknown => return self.stop_matching(),
                }
                continue;
            }
            let shape = if pushed == Pushed::Acknowledgement { Some(ReplyShape::Many) } else { shape };
            if let Some(shape) = shape {
                let Some(Waiting { asked_us, .. }) = self.waiting.pop_front() else { return self.stop_matching() };
                each(&Recorded::Reply(RecordedReply {
                    took_us: time_us.saturating_sub(asked_us),
                    shape,
                    bytes: length as u64,
                    digest: keeping.protocol.digest(&rest[..length]),
                }));
            }
            self.answered.taken += length;
        }
    }
}

/// Records a command.
fn record(bytes: &[u8], words: &[TakenWord], keeping: &mut Keeping, each: &mut dyn FnMut(&Recorded<'_>)) {
    let mut hashed: Vec<Vec<u8>> = Vec::new();
    if keeping.keys == RecordedKeys::Hashed {
        for word in words.iter().filter(|word| word.part == WordPart::Key) {
            let mut key = Vec::with_capacity(word.at.len());
            keeping.anonymous.key(&bytes[word.at.clone()], &mut key);
            hashed.push(key);
        }
    }
    let mut hashed = hashed.iter();
    let recorded = words.iter().map(|word| {
        let bytes = &bytes[word.at.clone()];
        match (word.part, keeping.values) {
            (WordPart::Plain, _) => RecordedWord::Plain(bytes),
            (WordPart::Key, _) => RecordedWord::Key(hashed.next().map_or(bytes, Vec::as_slice)),
            (WordPart::Value, RecordedValues::Kept) => RecordedWord::Value(bytes),
            (WordPart::Value, RecordedValues::Sizes) => {
                RecordedWord::Sized { bytes: bytes.len() as u64, packs_to_percent: keeping.packs_to_percent(bytes) }
            }
            (WordPart::Secret, _) => RecordedWord::Sized { bytes: 0, packs_to_percent: 0 },
        }
    });
    each(&Recorded::Command(recorded.collect()));
}
