//! Test support: replies that are mutated, cut and mixed, fed to a codec in pieces of any size.
//!
//! Whatever comes, a codec must not panic, must take at least a byte and no more than there is for each reply, must not ask for more
//! than a reply needs, and must find the same replies however the bytes are split. What is held of an unfinished reply is bounded by the
//! transport, not here (`tests/endless.rs`).
#![allow(clippy::panic)]

use store::wire::{Codec, Decoded, Expect};
use store::{Operation, OwnedReply};

/// A request, and a good reply to it, written for what the codec expects.
pub type Sample = (Operation<'static>, fn(Expect) -> Vec<u8>);

/// The number of streams that are tried with each codec.
pub const STREAMS: u64 = 20_000;

/// The numbers that have broken readers of numbers.
const NUMBERS: [&[u8]; 12] = [
    b"0",
    b"-1",
    b"00",
    b"+1",
    b"1e3",
    b"65536",
    b"2147483648",
    b"4294967295",
    b"4294967296",
    b"9223372036854775807",
    b"18446744073709551616",
    b"99999999999999999999999",
];

/// The bytes that have a meaning in some protocol.
const TELLING: &[u8] = b"\r\n\t $*:+-0123459VAEHD\0\x01\xff";

/// Dice that throw the same numbers each time.
pub struct Dice(u64);

impl Dice {
    /// Makes dice that throw the numbers of this seed.
    pub fn of(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns a number below `end`; 0 when `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % end.max(1)
    }

    fn range(&mut self, len: usize) -> std::ops::Range<usize> {
        let start = self.below(len + 1);
        start..start + self.below((len - start + 1).min(24))
    }
}

/// Changes some bytes, none, or nearly all.
pub fn mutate(bytes: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..dice.below(4) {
        let at = dice.below(bytes.len());
        match dice.below(9) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << dice.below(8),
            1 if !bytes.is_empty() => bytes[at] = TELLING[dice.below(TELLING.len())],
            2 => {
                let range = dice.range(bytes.len());
                bytes.drain(range);
            }
            3 => {
                let copy = bytes[dice.range(bytes.len())].to_vec();
                bytes.splice(at..at, copy);
            }
            4 => bytes.truncate(at),
            5 => {
                let noise: Vec<u8> = (0..dice.below(12)).map(|_| dice.below(256) as u8).collect();
                bytes.splice(at..at, noise);
            }
            _ => {
                // A number in digits, or in four bytes, becomes another.
                let start = bytes.iter().skip(at).position(u8::is_ascii_digit).map_or(at, |found| at + found);
                let digits = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                if digits > 0 {
                    bytes.splice(start..start + digits, NUMBERS[dice.below(NUMBERS.len())].iter().copied());
                } else if let Some(four) = bytes.get_mut(at..at + 4) {
                    four.copy_from_slice(&[[0; 4], [255; 4], [0x7f, 255, 255, 255], [0, 16, 0, 0]][dice.below(4)]);
                }
            }
        }
    }
}

/// The way in which a stream ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// All replies were there.
    Answered,
    /// The last reply was not whole.
    Open,
    /// The bytes were not the protocol.
    Broken,
}

/// Feeds a stream in pieces that end at these places.
fn feed<C: Codec>(codec: &mut C, expects: &[Expect], stream: &[u8], ends: &[usize]) -> (Vec<OwnedReply>, End) {
    let (mut at, mut replies, mut expects) = (0, Vec::new(), expects.iter());
    let Some(mut expect) = expects.next() else { return (replies, End::Answered) };
    let mut needed = 0;
    for &end in ends {
        loop {
            let input = &stream[at..end];
            match codec.decode(*expect, input) {
                Decoded::Reply { reply, consumed } => {
                    assert!(consumed > 0 && consumed <= input.len(), "{consumed} of {} bytes taken", input.len());
                    assert!(consumed >= needed, "{needed} bytes were asked for, and {consumed} were enough");
                    assert!(reply.bytes_read() <= 2 * (stream.len() as u64 + 1000), "a reply holds more than came");
                    replies.push(reply.into());
                    (at, needed) = (at + consumed, 0);
                    match expects.next() {
                        Some(next) => expect = next,
                        None => return (replies, End::Answered),
                    }
                }
                Decoded::Incomplete { at_least } => {
                    assert!(at_least > 0, "nothing more is asked for, and no reply is there");
                    needed = needed.max(input.len().saturating_add(at_least));
                    break;
                }
                Decoded::Broken(words) => {
                    assert!(!words.is_empty());
                    return (replies, End::Broken);
                }
            }
        }
    }
    (replies, End::Open)
}

/// Tries streams of replies to these requests.
pub fn assault<C: Codec>(make: impl Fn() -> C, samples: &[Sample]) {
    let mut ended = [0; 3];
    for seed in 0..STREAMS {
        let mut dice = Dice::of(seed);
        let chosen: Vec<&Sample> = (0..1 + dice.below(5)).map(|_| &samples[dice.below(samples.len())]).collect();
        let (mut whole, mut split, mut stream) = (make(), make(), Vec::new());
        let mut expects = Vec::new();
        for (operation, reply) in chosen {
            let expect = whole.encode(operation, &mut Vec::new());
            assert_eq!(split.encode(operation, &mut Vec::new()), expect);
            stream.extend(reply(expect));
            expects.push(expect);
        }
        mutate(&mut stream, &mut dice);
        let mut ends: Vec<usize> = (0..dice.below(6)).map(|_| dice.below(stream.len() + 1)).collect();
        ends.extend(if dice.below(8) == 0 { 0..stream.len() } else { 0..0 });
        ends.push(stream.len());
        ends.sort_unstable();
        let at_once = feed(&mut whole, &expects, &stream, &[stream.len()]);
        let in_pieces = feed(&mut split, &expects, &stream, &ends);
        assert!(
            at_once == in_pieces,
            "seed {seed}: {expects:?} {}\nat once {at_once:?}\nin pieces {in_pieces:?}",
            stream.escape_ascii()
        );
        ended[at_once.1 as usize] += 1;
    }
    // Each end was met often: the streams are neither all right nor all nonsense.
    assert!(ended.iter().all(|count| *count > STREAMS / 50), "{ended:?}");
}
