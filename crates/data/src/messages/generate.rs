//! The generator of messages: words by Zipf-Mandelbrot popularity (400,000 types, exponent 5/4), lengths like those of real short
//! messages, and a word's own successors 40 % of the time, so that bigrams repeat as they do in speech.

use crate::splitmix::{Rng, mix};
use crate::weights::{WeightTable, quantile, zipf};

const TYPES: u64 = 400_000;
const SHIFT: u64 = 6;
const SUCCESSORS: u64 = 40;
const FOLLOW_PERMILLE: u64 = 400;

/// Cumulative share in millionths, words.
const LENGTHS: [(u64, u64); 8] =
    [(0, 1), (50_000, 6), (250_000, 12), (500_000, 18), (750_000, 23), (950_000, 27), (990_000, 31), (1_000_000, 36)];

/// Makes message after message.
pub struct Generator {
    rng: Rng,
    words: WeightTable,
    successors: WeightTable,
}

impl Generator {
    /// Makes the stream of this seed.
    pub fn new(seed: u64) -> Generator {
        Generator {
            rng: Rng::new(seed),
            words: WeightTable::new(zipf(TYPES, SHIFT, 5)),
            successors: WeightTable::new(zipf(SUCCESSORS, 0, 4)),
        }
    }

    /// Appends the next message to `out`: words `w000`, `w001`, ... in hexadecimal, separated by blanks.
    pub fn message(&mut self, out: &mut Vec<u8>) {
        let mut last = None;
        for _ in 0..quantile(&LENGTHS, &mut self.rng) {
            let word = match last {
                Some(word) if self.rng.below(1000) < FOLLOW_PERMILLE => {
                    let successor = self.successors.draw(&mut self.rng) as u64;
                    let mut own = Rng::new(mix(word * 1_000_003 + successor));
                    self.words.draw(&mut own) as u64
                }
                _ => self.words.draw(&mut self.rng) as u64,
            };
            if last.is_some() {
                out.push(b' ');
            }
            out.push(b'w');
            let digits = if word < 0x1000 { 3 } else { (64 - word.leading_zeros()).div_ceil(4) };
            out.extend((0..digits).rev().map(|digit| b"0123456789abcdef"[(word >> (4 * digit) & 15) as usize]));
            last = Some(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Generator;
    use crate::digest;

    #[test]
    fn the_messages_are_byte_for_byte_those_of_the_reference() {
        // Known from an independent implementation in Python: 5,000 messages, seed 42.
        let (mut generator, mut text) = (Generator::new(42), Vec::new());
        for _ in 0..5000 {
            generator.message(&mut text);
            text.push(b'\n');
        }
        assert!(text.starts_with(b"w005 w014 w005 w004 w003 w087 w057 w008 w027 w2e3 w002 w0cb w007 w52d w1ab wc5b"));
        let expected = "sha256:f88f3d57ec2a9dc43684038209c381f0931c39864c4d88af607fffe958838df5";
        assert_eq!((text.len(), digest::of_bytes(&text)), (437_529, expected.to_owned()));
    }
}
