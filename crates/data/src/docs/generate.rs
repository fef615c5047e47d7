//! The generator of documents: 100 to 512 bytes, mean 256, integers only, so every port of it gives the same bytes.
//!
//! A document is `{"type":"g003","user":"u01036","time":1230768007,"n":34419,"text":"..."}`: one of 240 types and one of 50,000
//! users by Zipf-Mandelbrot's law, a time that rises by 7, a number below 100,000, and text of 20,000 invented words that fills
//! it to its size.

use crate::splitmix::{Rng, mix};
use crate::weights::{WeightTable, quantile, zipf};
use std::collections::HashSet;
use std::fmt::Write;

/// Cumulative share in millionths, size of the document in bytes.
const SIZES: [(u64, u64); 9] = [
    (0, 100),
    (50_000, 128),
    (250_000, 190),
    (500_000, 240),
    (750_000, 305),
    (900_000, 385),
    (950_000, 430),
    (990_000, 490),
    (1_000_000, 512),
];

const WORDS: usize = 20_000;
const CONSONANTS: &[u8; 18] = b"bcdfghjklmnprstvwz";
const VOWELS: &[u8; 5] = b"aeiou";

fn words() -> Vec<String> {
    let (mut words, mut seen) = (Vec::with_capacity(WORDS), HashSet::with_capacity(WORDS));
    for number in 0u64.. {
        if words.len() == WORDS {
            break;
        }
        let mut rng = Rng::new(mix(number));
        let syllables = 1 + rng.below(2) + u64::from(words.len() > 200) + u64::from(words.len() > 4000);
        let mut word = String::new();
        for _ in 0..syllables {
            word.push(char::from(CONSONANTS[rng.below(18) as usize]));
            word.push(char::from(VOWELS[rng.below(5) as usize]));
        }
        if rng.below(2) == 0 {
            word.push(char::from(CONSONANTS[rng.below(18) as usize]));
        }
        if seen.insert(word.clone()) {
            words.push(word);
        }
    }
    words
}

/// Makes document after document.
pub struct Generator {
    rng: Rng,
    number: u64,
    words: Vec<String>,
    word: WeightTable,
    kind: WeightTable,
    user: WeightTable,
}

impl Generator {
    /// Makes the stream of this seed.
    pub fn new(seed: u64) -> Generator {
        let words = words();
        Generator {
            rng: Rng::new(seed),
            number: 0,
            word: WeightTable::new(zipf(words.len() as u64, 4, 5)),
            words,
            kind: WeightTable::new(zipf(240, 3, 4)),
            user: WeightTable::new(zipf(50_000, 20, 3)),
        }
    }

    /// Writes the next document.
    pub fn document(&mut self, out: &mut String) {
        self.number += 1;
        let size = quantile(&SIZES, &mut self.rng) as usize;
        let (kind, user) = (self.kind.draw(&mut self.rng), self.user.draw(&mut self.rng));
        let (n, time) = (self.rng.below(100_000), 1_230_768_000 + 7 * self.number);
        out.clear();
        let _ = write!(out, "{{\"type\":\"g{kind:03}\",\"user\":\"u{user:05}\",\"time\":{time},\"n\":{n},\"text\":\"");
        // Words and the spaces between them fill it up to the last two bytes, the last word cut short.
        let text_end = size.saturating_sub(2);
        let mut first = true;
        let mut left = text_end as i64 - out.len() as i64;
        while left > 0 {
            let word = &self.words[self.word.draw(&mut self.rng)];
            let word = &word[..word.len().min(left as usize)];
            if !std::mem::take(&mut first) {
                out.push(' ');
            }
            out.push_str(word);
            left -= word.len() as i64 + 1;
        }
        while out.len() < text_end {
            out.push('.');
        }
        out.push_str("\"}");
    }
}
