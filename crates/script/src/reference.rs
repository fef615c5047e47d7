//! What a script can call, for the reference of the documentation and for hints.

/// A function scripts have.
#[derive(Clone, Copy, Debug)]
pub struct Verb {
    /// The call, with its arguments.
    pub call: &'static str,
    /// The result of the call.
    pub gives: &'static str,
    /// A sentence on what the call does.
    pub does: &'static str,
}

const fn verb(call: &'static str, gives: &'static str, does: &'static str) -> Verb {
    Verb { call, gives, does }
}

/// Everything in `kv`.
pub const VERBS: &[Verb] = &[
    verb("kv.get(key)", "string or nil", "Reads a value; nil: there is none."),
    verb("kv.put(key, value)", "nothing", "Stores a value, replacing any."),
    verb(
        "kv.put(key, value, {ttl = s})",
        "nothing",
        "Stores a value that is gone after s seconds (0.5 is half a second). Where a store lets nothing expire, the moment is kept in the value and the reader compares it.",
    ),
    verb(
        "kv.touch(key, ttl)",
        "true or false",
        "Starts the time to live of a key again, in seconds; false: there was none.",
    ),
    verb(
        "kv.ttl(key)",
        "number or nil",
        "What a key has left of its time to live, in seconds, as exactly as the store counts; nil: it has none, or there is no such key. Not on stores that let values expire and do not say when.",
    ),
    verb("kv.delete(key)", "true or false", "Removes a key, of a value or a counter; false: there was none."),
    verb(
        "kv.append(key, value)",
        "nothing",
        "Adds bytes at the end of a value. Emulated by get and put where a store has no append.",
    ),
    verb(
        "kv.increment(key, by)",
        "number",
        "Adds to a counter (by: 1) and gives the new count. Counters are keys of their own: read them with get_counter. Emulated where a store has none.",
    ),
    verb("kv.get_counter(key)", "number or nil", "Reads a counter."),
    verb("kv.increment_field(key, field, by)", "number", "Adds to one counter of a record of counters."),
    verb("kv.get_fields(key)", "table", "Reads a record of counters: numbers by field."),
    verb(
        "kv.cas(key, expected, value)",
        "true or false",
        "Stores the value if the key still holds what is expected (nil: nothing). Two requests: a read, then the write.",
    ),
    verb(
        "kv.get_many(keys)",
        "table",
        "Reads several keys in one request: found[i] is the value of keys[i], or nil. One by one where a store has no such request.",
    ),
    verb(
        "kv.put_many(pairs)",
        "nothing",
        "Stores several pairs in one request: {key = value, ...} or a list of {key =, value =}. One by one where a store has no such request.",
    ),
    verb(
        "kv.scan(start, limit)",
        "list of {key =, value =}",
        "Reads up to limit pairs in byte order of keys, from start on.",
    ),
    verb(
        "kv.scan(lo, hi, each, limit)",
        "number of rows",
        "Calls each(key, value) for every pair from lo to before hi, at most limit; a true result stops it.",
    ),
    verb(
        "kv.command(name, ...)",
        "what the server answers, or nil and its words",
        "Sends a command of Redis or Valkey, pipelined as all else. kvtrial does not verify it: kv.expect and answer() judge. Needs a store that speaks RESP.",
    ),
    verb(
        "kv.sql(statement, ...)",
        "list of rows, or the number of rows changed, or nil and the words",
        "Runs a statement of SQL, its parameters in the place of ?. Rows are tables by column. kvtrial does not verify it: kv.expect and answer() judge. Needs PostgreSQL, MySQL or SQLite.",
    ),
    verb("kv.range(lo, hi, limit)", "list of {key =, val =}", "The pairs from lo to before hi, at most limit."),
    verb("kv.del(key)", "true or false", "As kv.delete; keybench's word."),
    verb("kv.mget(keys)", "list", "As kv.get_many; keybench's word."),
    verb("kv.mput(pairs)", "nothing", "As kv.put_many; keybench's word."),
    verb("kv.mdel(keys)", "number", "Deletes several keys, one by one; how many were there."),
    verb(
        "kv.expect(truth, why)",
        "truth",
        "Demands that something is true of the store's answers. If it is false the trial is void, with these words.",
    ),
    verb(
        "kv.say(...)",
        "nothing",
        "A line of the answer, its fields separated by tabs. The lines are sorted; their digest must be equal on every store.",
    ),
    verb(
        "kv.keys()",
        "iterator",
        "The keys this script has written and not deleted, in byte order, as kvtrial remembers them.",
    ),
    verb(
        "kv.param(name, default, help)",
        "number or string",
        "Declares a parameter, at the top level: --set name=value, --vary name=values.",
    ),
    verb("kv.data", "string or nil", "The name --data gave."),
    verb(
        "kv.lines(kv.data)",
        "data",
        "The lines of --data, plain or .gz; data:all(), data:share(client), data:at(i), data.count.",
    ),
    verb("kv.json(kv.data)", "data", "The same, each line decoded from JSON."),
    verb("kv.csv(kv.data)", "data", "The same, each line a table by the names in the first line."),
    verb(
        "kv.random(low, high)",
        "number",
        "A whole number from low to high, or from 1 to the one given, or from 0 to below 1. Each client has its own sequence, fixed by --seed.",
    ),
    verb("kv.zipf(n, s)", "number", "A number from 1 to n; number k comes 1/k^s times as often as 1 (s: 0.99)."),
    verb(
        "kv.shared(true)",
        "nothing",
        "Several clients write the same keys. A read must then be a value that some client wrote and none had surely replaced.",
    ),
    verb(
        "kv.like(job)",
        "nothing",
        "The script does the work of this job of kvtrial's, in another way: it has its presets (--preset). At the top level.",
    ),
];

/// Returns the reference in Markdown.
pub fn markdown() -> String {
    let mut text = String::from("| call | gives | |\n|---|---|---|\n");
    for Verb { call, gives, does } in VERBS {
        text += &format!("| `{call}` | {gives} | {does} |\n");
    }
    text
}
