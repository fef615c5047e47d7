//! Lua's patterns, as Lua 5.1 has them, matched in steps that are counted: LuaJIT's own matcher cannot be interrupted, and some patterns
//! take longer than the world is old.

/// Captures a pattern may have, as in LuaJIT.
const CAPTURES: usize = 32;
/// Matches within matches, as in LuaJIT.
const DEPTH: u32 = 200;
/// Steps between two looks at whether it is to end.
const STEPS: usize = 1 << 15;

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatternFault {
    /// The pattern is wrong: in LuaJIT's words.
    Wrong(&'static str),
    /// It took too long, and is to end.
    Ended,
}

use PatternFault::Wrong;

/// The text, or the place, that a pair of parentheses holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capture {
    /// The bytes from here to before there.
    Text(usize, usize),
    /// `()`: the place itself.
    Place(usize),
    /// It is not closed yet.
    Open(usize),
}

/// A match: from where to before where.
pub(crate) type MatchPlace = Option<(usize, usize)>;

/// A text with a pattern to be found in it.
pub(crate) struct Matcher<'a, E> {
    text: &'a [u8],
    pattern: &'a [u8],
    captures: [Capture; CAPTURES],
    level: usize,
    depth: u32,
    steps: usize,
    /// Whether it is to end.
    is_over: E,
}

impl<'a, E: FnMut() -> bool> Matcher<'a, E> {
    pub(crate) fn new(text: &'a [u8], pattern: &'a [u8], is_over: E) -> Matcher<'a, E> {
        Matcher { text, pattern, captures: [Capture::Place(0); CAPTURES], level: 0, depth: 0, steps: 0, is_over }
    }

    /// Returns the captures of the last match.
    pub(crate) fn captures(&self) -> &[Capture] {
        &self.captures[..self.level]
    }

    /// Returns the first match from a place on. Anchored: only there.
    pub(crate) fn find(&mut self, from: usize, anchored: bool) -> Result<MatchPlace, PatternFault> {
        for start in from..=self.text.len() {
            (self.level, self.depth) = (0, 0);
            if let Some(end) = self.matches(start, 0)? {
                return Ok(Some((start, end)));
            }
            if anchored {
                break;
            }
        }
        Ok(None)
    }

    /// Returns the first place from `from` on where the pattern stands byte by byte.
    pub(crate) fn find_plain(&mut self, from: usize) -> Result<MatchPlace, PatternFault> {
        self.level = 0;
        let Some((&first, rest)) = self.pattern.split_first() else { return Ok(Some((from, from))) };
        let mut at = from;
        while let Some(ahead) = self.text[at..].iter().position(|byte| *byte == first) {
            let start = at + ahead;
            let same = self.text[start + 1..].iter().zip(rest).take_while(|(one, other)| one == other).count();
            if same == rest.len() {
                return Ok(Some((start, start + self.pattern.len())));
            }
            self.spend(same + ahead / 16 + 1)?;
            at = start + 1;
        }
        Ok(None)
    }

    /// Counts steps, and looks from time to time whether it is to end.
    #[inline]
    fn spend(&mut self, steps: usize) -> Result<(), PatternFault> {
        self.steps += steps;
        if self.steps < STEPS {
            return Ok(());
        }
        self.steps = 0;
        if (self.is_over)() { Err(PatternFault::Ended) } else { Ok(()) }
    }

    /// The end of a match at `at` of the pattern from `p` on.
    fn matches(&mut self, at: usize, p: usize) -> Result<Option<usize>, PatternFault> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Wrong("pattern too complex"));
        }
        let end = self.matches_here(at, p);
        self.depth -= 1;
        end
    }

    fn matches_here(&mut self, mut at: usize, mut p: usize) -> Result<Option<usize>, PatternFault> {
        loop {
            self.spend(1)?;
            let Some(&item) = self.pattern.get(p) else { return Ok(Some(at)) };
            let second = self.pattern.get(p + 1).copied();
            match (item, second) {
                (b'(', Some(b')')) => return self.opens(Capture::Place(at), at, p + 2),
                (b'(', _) => return self.opens(Capture::Open(at), at, p + 1),
                (b')', _) => return self.closes(at, p + 1),
                (b'$', None) => return Ok((at == self.text.len()).then_some(at)),
                (b'%', Some(b'b')) => match self.balanced(at, p + 2)? {
                    Some(end) => (at, p) = (end, p + 4),
                    None => return Ok(None),
                },
                (b'%', Some(b'f')) => {
                    p += 2;
                    if self.pattern.get(p) != Some(&b'[') {
                        return Err(Wrong("missing '[' after '%f' in pattern"));
                    }
                    let end = self.item_end(p)?;
                    let before = at.checked_sub(1).map_or(0, |before| self.text[before]);
                    let here = self.text.get(at).copied().unwrap_or(0);
                    if self.in_set(before, p, end) || !self.in_set(here, p, end) {
                        return Ok(None);
                    }
                    p = end;
                }
                (b'%', Some(digit @ b'0'..=b'9')) => {
                    let Some(same) = self.captured(digit)? else { return Ok(None) };
                    self.spend(same.len())?;
                    if !self.text[at..].starts_with(same) {
                        return Ok(None);
                    }
                    (at, p) = (at + same.len(), p + 2);
                }
                _ => {
                    let end = self.item_end(p)?;
                    let first = self.fits(at, p, end);
                    match self.pattern.get(end) {
                        Some(b'?') => {
                            if first && let Some(found) = self.matches(at + 1, end + 1)? {
                                return Ok(Some(found));
                            }
                            p = end + 1;
                        }
                        Some(b'*') => return self.longest(at, p, end),
                        Some(b'+') => return if first { self.longest(at + 1, p, end) } else { Ok(None) },
                        Some(b'-') => return self.shortest(at, p, end),
                        _ if first => (at, p) = (at + 1, end),
                        _ => return Ok(None),
                    }
                }
            }
        }
    }

    /// As many as there are, then fewer.
    fn longest(&mut self, from: usize, p: usize, end: usize) -> Result<Option<usize>, PatternFault> {
        let mut at = from;
        while self.fits(at, p, end) {
            at += 1;
        }
        self.spend(at - from)?;
        loop {
            if let Some(found) = self.matches(at, end + 1)? {
                return Ok(Some(found));
            }
            if at == from {
                return Ok(None);
            }
            at -= 1;
        }
    }

    /// As few as will do.
    fn shortest(&mut self, mut at: usize, p: usize, end: usize) -> Result<Option<usize>, PatternFault> {
        loop {
            if let Some(found) = self.matches(at, end + 1)? {
                return Ok(Some(found));
            }
            if !self.fits(at, p, end) {
                return Ok(None);
            }
            at += 1;
        }
    }

    fn opens(&mut self, capture: Capture, at: usize, p: usize) -> Result<Option<usize>, PatternFault> {
        if self.level >= CAPTURES {
            return Err(Wrong("too many captures"));
        }
        self.captures[self.level] = capture;
        self.level += 1;
        let end = self.matches(at, p)?;
        if end.is_none() {
            self.level -= 1;
        }
        Ok(end)
    }

    fn closes(&mut self, at: usize, p: usize) -> Result<Option<usize>, PatternFault> {
        let open = self.captures[..self.level].iter().rposition(|capture| matches!(capture, Capture::Open(_)));
        let Some(open) = open else { return Err(Wrong("invalid pattern capture")) };
        let before = self.captures[open];
        if let Capture::Open(start) = before {
            self.captures[open] = Capture::Text(start, at);
        }
        let end = self.matches(at, p)?;
        if end.is_none() {
            self.captures[open] = before;
        }
        Ok(end)
    }

    /// What `%1` stands for; a place stands for nothing.
    fn captured(&self, digit: u8) -> Result<Option<&'a [u8]>, PatternFault> {
        let number = usize::from(digit - b'0').checked_sub(1);
        match number.and_then(|number| self.captures().get(number)) {
            Some(&Capture::Text(start, end)) => Ok(Some(&self.text[start..end])),
            Some(Capture::Place(_)) => Ok(None),
            _ => Err(Wrong("invalid capture index")),
        }
    }

    /// `%bxy`: the end of what is between balanced x and y.
    fn balanced(&mut self, at: usize, p: usize) -> Result<Option<usize>, PatternFault> {
        let (Some(&open), Some(&close)) = (self.pattern.get(p), self.pattern.get(p + 1)) else {
            return Err(Wrong("unbalanced pattern"));
        };
        if self.text.get(at) != Some(&open) {
            return Ok(None);
        }
        let mut left = 1;
        for (ahead, &byte) in self.text[at + 1..].iter().enumerate() {
            if byte == close {
                left -= 1;
                if left == 0 {
                    self.spend(ahead)?;
                    return Ok(Some(at + ahead + 2));
                }
            } else if byte == open {
                left += 1;
            }
        }
        self.spend(self.text.len() - at)?;
        Ok(None)
    }

    /// Where the item of the pattern ends that begins at `p`.
    fn item_end(&self, p: usize) -> Result<usize, PatternFault> {
        match self.pattern[p] {
            b'%' if p + 1 >= self.pattern.len() => Err(Wrong("malformed pattern (ends with '%')")),
            b'%' => Ok(p + 2),
            b'[' => {
                let mut end = p + 1 + usize::from(self.pattern.get(p + 1) == Some(&b'^'));
                loop {
                    let Some(&byte) = self.pattern.get(end) else {
                        return Err(Wrong("malformed pattern (missing ']')"));
                    };
                    end += 1;
                    if byte == b'%' && end < self.pattern.len() {
                        end += 1;
                    }
                    if self.pattern.get(end) == Some(&b']') {
                        return Ok(end + 1);
                    }
                }
            }
            _ => Ok(p + 1),
        }
    }

    /// Whether the byte at `at` is what the item from `p` to before `end` stands for.
    #[inline]
    fn fits(&self, at: usize, p: usize, end: usize) -> bool {
        let Some(&byte) = self.text.get(at) else { return false };
        match self.pattern[p] {
            b'.' => true,
            b'%' => is_of(byte, self.pattern[p + 1]),
            b'[' => self.in_set(byte, p, end),
            same => same == byte,
        }
    }

    /// Whether a byte is in the set from `[` at `p` to before `end`.
    fn in_set(&self, byte: u8, p: usize, end: usize) -> bool {
        let inner = &self.pattern[p + 1..end - 1];
        let (inner, within) = inner.strip_prefix(b"^").map_or((inner, true), |rest| (rest, false));
        let mut at = 0;
        while at < inner.len() {
            let fits = match (inner[at], inner.get(at + 1), inner.get(at + 2)) {
                (b'%', Some(&class), _) => {
                    at += 1;
                    is_of(byte, class)
                }
                (low, Some(b'-'), Some(&high)) => {
                    at += 2;
                    (low..=high).contains(&byte)
                }
                (same, ..) => same == byte,
            };
            if fits {
                return within;
            }
            at += 1;
        }
        !within
    }
}

/// Whether a byte is of the class that a letter names: `%a`, `%D`; any other character stands for itself.
fn is_of(byte: u8, class: u8) -> bool {
    let is = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'g' => byte.is_ascii_graphic(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => matches!(byte, b' ' | 9..=13),
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return byte == class,
    };
    is == class.is_ascii_lowercase()
}
