//! The few members of a JSON object that kvtrial reads an answer for; the rest of the object is skipped.

/// Returns the values of the members of these names, as they stand in the text; `None` where a member is absent. Returns `None` for all when the text
/// is not an object.
pub(super) fn members<'a, const N: usize>(object: &'a [u8], names: [&str; N]) -> Option<[Option<&'a [u8]>; N]> {
    let mut found = [None; N];
    let mut rest = blank(object).strip_prefix(b"{")?;
    rest = blank(rest);
    if let Some(behind) = rest.strip_prefix(b"}") {
        return blank(behind).is_empty().then_some(found);
    }
    loop {
        let (name, behind) = split(rest, string_end(rest)?)?;
        let value = blank(blank(behind).strip_prefix(b":")?);
        let (value, behind) = split(value, value_end(value)?)?;
        if let Some(place) = names.iter().position(|wanted| text(name) == Some(wanted.as_bytes())) {
            found[place] = Some(value);
        }
        match blank(behind) {
            [b',', more @ ..] => rest = blank(more),
            [b'}', behind @ ..] => return blank(behind).is_empty().then_some(found),
            _ => return None,
        }
    }
}

/// Returns the text between the quotes of a string, as it stands there.
pub(super) fn text(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

fn split(bytes: &[u8], at: usize) -> Option<(&[u8], &[u8])> {
    bytes.split_at_checked(at)
}

fn blank(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii_start()
}

/// Returns the end of the string that begins here.
fn string_end(bytes: &[u8]) -> Option<usize> {
    if bytes.first() != Some(&b'"') {
        return None;
    }
    let mut at = 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Returns the end of the value that begins here.
fn value_end(bytes: &[u8]) -> Option<usize> {
    let mut depth = 0_u32;
    let mut at = 0;
    loop {
        match bytes.get(at)? {
            b'"' => at += string_end(&bytes[at..])?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' if depth > 0 => {
                depth -= 1;
                at += 1;
            }
            b',' | b':' if depth > 0 => {
                at += 1;
                continue;
            }
            byte if depth > 0 || is_scalar(*byte) => at += 1,
            _ => return None,
        }
        let is_whole = bytes.get(at).is_none_or(|next| !is_scalar(*next) || !is_scalar(bytes[at - 1]));
        if depth == 0 && is_whole {
            return Some(at);
        }
    }
}

/// Returns whether this is a byte of a number or a word.
fn is_scalar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

#[cfg(test)]
mod tests {
    use super::{members, text};

    #[test]
    fn members_are_found_among_others_and_as_they_stand() {
        let object = br#" {"a" : {"seq":[1,"}"]}, "seq":12,"text":"q\"}","x":null,"e":"","neg":-1.5e3} "#;
        let [seq, quoted, none, empty, whole, number] =
            members(object, ["seq", "text", "data", "e", "a", "neg"]).unwrap_or_default();
        assert_eq!(seq, Some(&b"12"[..]));
        assert_eq!(quoted.and_then(text), Some(&br#"q\"}"#[..]));
        assert_eq!((none, empty.and_then(text)), (None, Some(&b""[..])));
        assert_eq!((whole, number), (Some(&br#"{"seq":[1,"}"]}"#[..]), Some(&b"-1.5e3"[..])));
        assert_eq!(members(b"{}", ["a"]), Some([None]));
        assert_eq!(members(br#"{"stream":"KV_b", "seq":2}"#, ["seq"]), Some([Some(&b"2"[..])]));
    }

    #[test]
    fn what_is_no_object_or_is_cut_has_no_members() {
        let whole = br#"{"stream":"KV_b","seq":2,"list":[{"a":1}]}"#;
        for end in 0..whole.len() {
            assert_eq!(members(&whole[..end], ["seq"]), None, "{end}");
        }
        for wrong in ["[]", "12", "{1:2}", r#"{"a"}"#, r#"{"a":}"#, r#"{"a":1}x"#, r#"{"a":1,}"#, r#"{"a" 1}"#] {
            assert_eq!(members(wrong.as_bytes(), ["a"]), None, "{wrong}");
        }
    }
}
