//! Text from outside: what a server says, what stands in data, what somebody typed.

use std::borrow::Cow;
use std::fmt::Write;

/// Returns the text with every character that would not be seen, but would do something to the reader, written out as `\u001b`: control
/// characters (but the end of a line and the tab) and those that turn the direction of writing. In a JSON string the same is an escape, so
/// that a document stays one.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if is_hidden(letter) {
            // Writing to a string does not fail. All of them have four digits at most.
            let _ = write!(out, "\\u{:04x}", u32::from(letter));
        } else {
            out.push(letter);
        }
    }
    Cow::Owned(out)
}

/// Returns whether a character does something instead of being seen.
pub fn is_hidden(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => true,
        other => other.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn what_would_act_is_written_out_and_everything_else_stays() {
        let plain = "page 1\tβ 漢 👩‍💻\nline 2";
        assert_eq!(visible(plain), plain);
        assert_eq!(
            visible("\x1b]0;mine\x07\x1b[2J\r\u{9b}5m\x7f\0"),
            "\\u001b]0;mine\\u0007\\u001b[2J\\u000d\\u009b5m\\u007f\\u0000"
        );
        assert_eq!(visible("abc\u{202e}txt.exe\u{2066}\u{200f}\u{feff}"), "abc\\u202etxt.exe\\u2066\\u200f\\ufeff");
    }
}
