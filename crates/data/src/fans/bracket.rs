//! The later format: `193839: { fanof:['cheese','beer'] }`. Names stand in single or double quotes and may hold
//! spaces and the escapes `\'`, `\"`, `\\`, `\/`, `\n`-like controls (refused later as page names) and `\uXXXX`.

use super::FanSet;
use crate::{DataError, Spot};

/// Reads one line into the set.
pub(super) fn profile(set: &mut FanSet, number: u64, line: &str) -> Result<(), DataError> {
    let mut cursor = Cursor { line, at: 0, number };
    let result = cursor.profile(set);
    result.map_err(|problem| match problem {
        Problem::Syntax { at, expected } => set.error(
            Spot::of(number, line.as_bytes(), at),
            format!("expected {expected}, found {}", cursor.found(at)),
            "write one profile per line, as in 193839: { fanof:['cheese','beer'] }",
        ),
        Problem::Data(error) => error,
    })
}

enum Problem {
    Syntax { at: usize, expected: &'static str },
    Data(DataError),
}

struct Cursor<'a> {
    line: &'a str,
    at: usize,
    number: u64,
}

impl Cursor<'_> {
    fn profile(&mut self, set: &mut FanSet) -> Result<(), Problem> {
        self.word("the profile's number or name")?;
        self.take(':', "':' after the profile")?;
        self.take('{', "'{'")?;
        let at = self.skip_spaces();
        if self.word("fanof")? != "fanof" {
            return Err(Problem::Syntax { at, expected: "fanof" });
        }
        self.take(':', "':' behind fanof")?;
        self.take('[', "'[' before the pages")?;
        if !self.eat(']') {
            loop {
                let at = self.skip_spaces();
                let page = self.quoted("a page name in quotes")?;
                if page.is_empty() {
                    return Err(Problem::Syntax { at, expected: "a page name that is not empty" });
                }
                let spot = Spot::of(self.number, self.line.as_bytes(), at);
                set.mention(page.as_bytes(), || spot).map_err(Problem::Data)?;
                if self.eat(']') {
                    break;
                }
                self.take(',', "',' or ']' after a page name")?;
            }
        }
        self.take('}', "'}' at the end of the profile")?;
        self.eat(',');
        let at = self.skip_spaces();
        if at < self.line.len() {
            return Err(Problem::Syntax { at, expected: "the end of the line" });
        }
        set.end_profile();
        Ok(())
    }

    fn skip_spaces(&mut self) -> usize {
        let rest = &self.line[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.at
    }

    fn eat(&mut self, wanted: char) -> bool {
        self.skip_spaces();
        let found = self.line[self.at..].starts_with(wanted);
        self.at += if found { wanted.len_utf8() } else { 0 };
        found
    }

    fn take(&mut self, wanted: char, expected: &'static str) -> Result<(), Problem> {
        if self.eat(wanted) { Ok(()) } else { Err(Problem::Syntax { at: self.at, expected }) }
    }

    /// A bare or quoted word.
    fn word(&mut self, expected: &'static str) -> Result<String, Problem> {
        let at = self.skip_spaces();
        let rest = &self.line[at..];
        if rest.starts_with(['\'', '"']) {
            return self.quoted(expected);
        }
        let end = rest.find(|c: char| c.is_whitespace() || ":{}[],'\"".contains(c)).unwrap_or(rest.len());
        if end == 0 {
            return Err(Problem::Syntax { at, expected });
        }
        self.at += end;
        Ok(rest[..end].to_owned())
    }

    fn quoted(&mut self, expected: &'static str) -> Result<String, Problem> {
        let at = self.skip_spaces();
        let mut chars = self.line[at..].char_indices();
        let Some((_, quote @ ('\'' | '"'))) = chars.next() else { return Err(Problem::Syntax { at, expected }) };
        let mut text = String::new();
        while let Some((offset, c)) = chars.next() {
            match c {
                c if c == quote => {
                    self.at = at + offset + 1;
                    return Ok(text);
                }
                '\\' => {
                    let bad = Problem::Syntax {
                        at: at + offset,
                        expected: r#"one of the escapes \' \" \\ \/ \n \r \t \b \f \uXXXX"#,
                    };
                    match chars.next().map(|(_, c)| c) {
                        Some('u') => match unicode(&mut chars) {
                            Some(c) => text.push(c),
                            None => return Err(bad),
                        },
                        Some(c) => match simple_escape(c) {
                            Some(c) => text.push(c),
                            None => return Err(bad),
                        },
                        None => return Err(bad),
                    }
                }
                c => text.push(c),
            }
        }
        Err(Problem::Syntax { at: self.line.len(), expected: "the closing quote" })
    }

    fn found(&self, at: usize) -> String {
        match self.line[at..].chars().next() {
            Some(c) => format!("'{}'", c.escape_default()),
            None => "the end of the line".into(),
        }
    }
}

fn simple_escape(c: char) -> Option<char> {
    Some(match c {
        '\'' | '"' | '\\' | '/' => c,
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'b' => '\u{8}',
        'f' => '\u{c}',
        _ => return None,
    })
}

/// The four hex digits behind `\u`, and the second half of a surrogate pair.
fn unicode(chars: &mut std::str::CharIndices<'_>) -> Option<char> {
    let mut unit = || (0..4).try_fold(0, |unit, _| Some(unit * 16 + chars.next()?.1.to_digit(16)?));
    let first = unit()?;
    if !(0xD800..0xDC00).contains(&first) {
        return char::from_u32(first);
    }
    if (chars.next()?.1, chars.next()?.1) != ('\\', 'u') {
        return None;
    }
    let mut unit = || (0..4).try_fold(0, |unit, _| Some(unit * 16 + chars.next()?.1.to_digit(16)?));
    let second = unit()?;
    let low = second.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
    char::from_u32(0x10000 + ((first - 0xD800) << 10) + low)
}
