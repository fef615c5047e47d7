//! What was probably meant.

use crate::reference::VERBS;

/// What another verb, or another client's word for one, is called here.
const ELSEWHERE: [(&str, &str); 14] = [
    ("set", "put"),
    ("write", "put"),
    ("insert", "put"),
    ("update", "put"),
    ("read", "get"),
    ("fetch", "get"),
    ("remove", "delete"),
    ("unset", "delete"),
    ("incr", "increment"),
    ("add", "increment"),
    ("multi_get", "get_many"),
    ("multi_put", "put_many"),
    ("compare_and_set", "cas"),
    ("assert", "expect"),
];

/// Returns ` Did you mean kv.get?`, or the verbs there are.
pub(crate) fn verb(name: &str) -> String {
    if let Some((_, ours)) = ELSEWHERE.iter().find(|(theirs, _)| *theirs == name.to_lowercase()) {
        return format!(" Did you mean kv.{ours}?");
    }
    let names: Vec<&str> = VERBS.iter().filter_map(|verb| verb.call.split('(').next()?.strip_prefix("kv.")).collect();
    match study::did_you_mean(name, names.iter().copied()) {
        meant if meant.is_empty() => format!(" There are: kv.{}", names.join(", kv.")),
        meant => meant.replace("mean ", "mean kv."),
    }
}

/// Returns an error of Lua, with what it comes from where its words do not say.
pub(crate) fn explain(words: &str) -> String {
    if words.contains("attempt to yield") {
        return format!(
            "{words}. A verb of kv waits for the store's reply: it cannot be called at the top level, nor in the function given to \
             table.sort or string.gsub. Fetch the values first"
        );
    }
    if words.contains("not enough memory") {
        return format!("{words}: a script may take {} MiB per thread", crate::machine::MEMORY_BYTES >> 20);
    }
    let called = words.split("attempt to call global '").nth(1).and_then(|rest| rest.split('\'').next());
    match called {
        Some(name) => {
            let meant = verb(name);
            if meant.contains("Did you mean") { format!("{words}.{meant}") } else { words.to_owned() }
        }
        None => words.to_owned(),
    }
}
