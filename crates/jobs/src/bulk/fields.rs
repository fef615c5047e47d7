//! What stands in a document where a field is missing or is not what it must be: words for the user.

/// Returns why a field is not what is due there, in words: `the document has no field 'a.b'. Did you mean a.c?`, `the field 'n' is 1.5`.
pub fn found(document: &[u8], path: &[String]) -> String {
    let whole: serde_json::Value = serde_json::from_slice(document).unwrap_or_default();
    let mut at = &whole;
    for (depth, name) in path.iter().enumerate() {
        let Some(inner) = at.get(name) else {
            let there: Vec<String> = at.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
            let before = path[..depth].iter().fold(String::new(), |before, name| before + name + ".");
            return format!("the document has no field '{before}{name}'.{}", offered(&before, name, &there));
        };
        at = inner;
    }
    let text = at.to_string();
    let short: String = text.chars().take(MOST_SHOWN).collect();
    format!("the field '{}' is {short}{}", path.join("."), if short.len() < text.len() { "..." } else { "" })
}

/// Characters of a value that are shown.
const MOST_SHOWN: usize = 40;
/// Names that are shown.
const MOST_NAMES: usize = 12;

/// The field that was probably meant, or those there are.
fn offered(before: &str, name: &str, there: &[String]) -> String {
    match study::near(name, there.iter().map(String::as_str)) {
        Some(near) => format!(" Did you mean {before}{near}?"),
        None if there.is_empty() => String::new(),
        None => {
            let listed: Vec<&str> = there.iter().take(MOST_NAMES).map(String::as_str).collect();
            format!(" It has {}{}", listed.join(", "), if there.len() > MOST_NAMES { ", ..." } else { "" })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::found;

    #[test]
    fn what_is_there_instead_of_a_field_is_said_in_words() {
        let said = |path: &str| {
            let document = br#"{"country": "CH", "people": 1.5, "place": {"lat": [1, 2], "name": "a name that is longer than forty letters by far"}}"#;
            found(document, &path.split('.').map(str::to_owned).collect::<Vec<_>>())
        };
        assert_eq!(said("county"), "the document has no field 'county'. Did you mean country?");
        assert_eq!(said("place.nme"), "the document has no field 'place.nme'. Did you mean place.name?");
        assert_eq!(said("zip"), "the document has no field 'zip'. It has country, people, place");
        assert_eq!(said("people.n"), "the document has no field 'people.n'.");
        assert_eq!(said("people"), "the field 'people' is 1.5");
        assert_eq!(said("place.lat"), "the field 'place.lat' is [1,2]");
        assert!(said("place.name").ends_with("than forty letter..."), "{}", said("place.name"));
    }
}
