//! Java's property files: `name=value`, `name: value` or `name value`, comments, continued lines, escapes.

/// A property and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// The line of the property, from 1.
    pub line: usize,
    /// The name of the property.
    pub name: String,
    /// The value of the property, without white space around it; empty where there is none.
    pub value: String,
}

/// Returns the properties of a text, in its order.
pub fn read(text: &str) -> Vec<Property> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, first)) = lines.next() {
        let mut whole = first.trim().to_owned();
        if whole.is_empty() || whole.starts_with(['#', '!']) {
            continue;
        }
        while goes_on(&whole) {
            whole.pop();
            let Some((_, more)) = lines.next() else { break };
            whole += more.trim();
        }
        let (name, value) = split(&whole);
        found.push(Property { line: at + 1, name: unescaped(name), value: unescaped(value) });
    }
    found
}

/// Whether a line ends in a backslash that is not itself escaped.
fn goes_on(line: &str) -> bool {
    let bare = line.trim_end_matches('\\');
    !(line.len() - bare.len()).is_multiple_of(2)
}

/// The name ends at the first white space, `=` or `:` that no backslash stands before; the value begins behind one `=` or `:` and the
/// white space around it.
fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line.find(|sign: char| {
        let ends = !escaped && (sign.is_whitespace() || sign == '=' || sign == ':');
        escaped = sign == '\\' && !escaped;
        ends
    });
    let (name, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = rest.trim_start();
    (name, rest.strip_prefix(['=', ':']).unwrap_or(rest).trim())
}

/// `\u00e4`, `\t`, `\n`, `\r`, `\f`; of any other escape the sign itself. What is no escape stays as it is.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(sign) = rest.next() {
        if sign != '\\' {
            out.push(sign);
            continue;
        }
        match rest.next() {
            Some('u') => {
                let hex: String = rest.clone().take(4).collect();
                let read =
                    u32::from_str_radix(&hex, 16).ok().filter(|_| hex.chars().count() == 4).and_then(char::from_u32);
                match read {
                    Some(read) => {
                        out.push(read);
                        rest.nth(3);
                    }
                    None => out.push('u'),
                }
            }
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('f') => out.push('\u{c}'),
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Property, read};

    fn properties(text: &str) -> Vec<(usize, String, String)> {
        let listed = read(text).into_iter();
        listed.map(|Property { line, name, value }| (line, name, value)).collect()
    }

    #[test]
    fn a_property_file_is_read_as_java_reads_it() {
        let text =
            "# c\n! c\n\n a=1\nb : 2\nc   3\nd\t=\t4 5\ne=\\\n   6\\\n   7\nf\\ g=h\\=i\\\\\nj=\\u00e4\\t.\nk:=l\r\n";
        let expected = [
            (4, "a", "1"),
            (5, "b", "2"),
            (6, "c", "3"),
            (7, "d", "4 5"),
            (8, "e", "67"),
            (11, "f g", "h=i\\"),
            (12, "j", "ä\t."),
            (13, "k", "=l"),
        ];
        assert_eq!(properties(text), expected.map(|(line, name, value)| (line, name.to_owned(), value.to_owned())));
    }

    #[test]
    fn a_name_alone_has_an_empty_value() {
        for text in ["#\na", "#\na=", "#\na :\n", "#\na=\\"] {
            assert_eq!(properties(text), [(2, "a".to_owned(), String::new())], "{text}");
        }
    }
}
