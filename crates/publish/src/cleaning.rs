//! What is left out of a study before it is published: none of it changes a figure.

use crate::private::{OwnNames, home};
use crate::recipe;
use serde_json::Value;
use study::Study;

/// Returns the study as it is published: homes are written `~`, and the command is without what only says where files lie.
pub fn cleaned(study: &Study, own: &OwnNames) -> Study {
    let mut clean = study.clone();
    clean.command = recipe::without_places(&study.command);
    // Of the user's own stores nothing is published, so nothing is left to clear there.
    clean.left.clear();
    let rewritten = serde_json::to_value(&clean).map(|value| rewritten(value, own));
    rewritten.and_then(serde_json::from_value).unwrap_or(clean)
}

fn rewritten(value: Value, own: &OwnNames) -> Value {
    match value {
        Value::String(text) => Value::String(without_homes(text, own)),
        Value::Array(items) => items.into_iter().map(|item| rewritten(item, own)).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, item)| (without_homes(name, own), rewritten(item, own))).collect()
        }
        other => other,
    }
}

fn without_homes(mut text: String, own: &OwnNames) -> String {
    if own.home.len() > 1 {
        text = text.replace(&format!("{}/", own.home.trim_end_matches('/')), "~/");
    }
    while let Some((begin, end)) = home(&text) {
        text.replace_range(begin..end, "~");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::without_homes;
    use crate::private::OwnNames;

    #[test]
    fn a_home_is_written_as_a_tilde_and_all_else_stays() {
        let own = OwnNames { home: "/var/people/ann".into(), ..OwnNames::default() };
        for (text, clean) in [
            ("/home/ann/x and /home/bob", "~/x and ~"),
            ("/var/people/ann/data", "~/data"),
            ("/root/db", "~/db"),
            ("/tmp/home/x", "/tmp/home/x"),
        ] {
            assert_eq!(without_homes(text.into(), &own), clean);
        }
    }
}
