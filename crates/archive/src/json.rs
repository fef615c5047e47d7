//! JSON that is safe to look at: what a terminal would obey, and what would reverse the direction of a line, is escaped in its strings.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};
use std::io::{self, Write};

/// A layout whose strings are [`study::visible`]: any reader of JSON gets the same characters back.
pub(crate) struct Visible<F>(pub F);

/// Writes a value on one line.
///
/// # Errors
/// What the writer says.
pub fn write_json(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    write_with(out, value, Visible(CompactFormatter))
}

/// Returns a value over several lines, with a final newline.
///
/// # Errors
/// The value has no JSON form (a map whose keys are not text).
pub fn json(value: &impl Serialize) -> io::Result<String> {
    let mut text = Vec::new();
    write_with(&mut text, value, Visible(PrettyFormatter::new()))?;
    text.push(b'\n');
    String::from_utf8(text).map_err(io::Error::other)
}

pub(crate) fn write_with(out: &mut impl Write, value: &impl Serialize, layout: impl Formatter) -> io::Result<()> {
    Ok(value.serialize(&mut Serializer::with_formatter(out, layout))?)
}

/// Functions that pass everything on to the layout within.
macro_rules! within {
    ($($name:ident($($given:ident: $type:ty)?)),* $(,)?) => {
        $(fn $name<W: ?Sized + Write>(&mut self, writer: &mut W $(, $given: $type)?) -> io::Result<()> {
            self.0.$name(writer $(, $given)?)
        })*
    };
}

/// The layout within, except for the contents of strings.
impl<F: Formatter> Formatter for Visible<F> {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        self.0.write_string_fragment(writer, &study::visible(fragment))
    }

    within! {
        begin_array(), end_array(), begin_array_value(first: bool), end_array_value(),
        begin_object(), end_object(), begin_object_key(first: bool), end_object_key(),
        begin_object_value(), end_object_value(),
    }
}

/// Parses JSON. Everything of a study goes this one way: its text is checked once and not string by string, and the code for its types
/// is compiled for one kind of input only, which takes the compiler long enough.
pub(crate) fn parse<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    match std::str::from_utf8(json) {
        Ok(text) => serde_json::from_str(text),
        Err(error) => {
            let line = 1 + json[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
            Err(serde::de::Error::custom(format_args!("bytes that are not UTF-8 in line {line}")))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{json, write_json};

    #[test]
    fn what_would_act_is_an_escape_and_reads_back_as_it_was() {
        let said = "\u{1b}]0;x\u{7} \u{7f}\u{9b}2J \u{202e}txt\u{2066}\u{200f}\u{feff} \"β\"\\n\n漢";
        let value = serde_json::json!({ said: [said, 1, {"a": null}], "empty": [] });
        let mut compact = Vec::new();
        write_json(&mut compact, &value).unwrap();
        let compact = String::from_utf8(compact).unwrap();
        let pretty = json(&value).unwrap();
        for text in [&compact, &pretty] {
            assert_eq!(study::visible(text), *text);
            assert_eq!(serde_json::from_str::<serde_json::Value>(text).unwrap(), value);
        }
        let plain = serde_json::json!({"a": [1, {"b": "c"}], "d": {}});
        assert_eq!(json(&plain).unwrap(), serde_json::to_string_pretty(&plain).unwrap() + "\n");
    }
}
