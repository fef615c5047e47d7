//! The stores of this build as `kvtrial stores --long` and `kvtrial stores NAME` show them, with all that is to be known of each.

use crate::layout::{Colour, Column, Row, Side, Style, Table, WIDTH, columns as columns_of_terminal, paragraph};
use serde::Serialize;
use study::{Class, Durability, ShownPromise, Transport};
use words::units;

/// The presence of a store: whether it can be had on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "status", content = "what", rename_all = "snake_case")]
pub enum Presence {
    /// It can: product and version, e.g. `Redis 7.0.15`.
    Found(String),
    /// It cannot: what was looked for.
    NotFound(String),
    /// Its driver is not in this build: the cargo feature that adds it.
    NotBuilt(String),
}

/// The findings of crashes about a level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LevelShown {
    /// The level.
    pub level: Durability,
    /// The version it was shown of.
    pub version: String,
    /// What was shown.
    #[serde(flatten)]
    pub shown: ShownPromise,
}

/// One store. A list of them is what `kvtrial stores --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoreRow {
    /// Name in specs.
    pub name: String,
    /// The name it shares with the stores that differ from it in `transport` only.
    pub family: String,
    /// How a private one is reached; `None` in this process.
    pub transport: Option<Transport>,
    /// `baseline`, `embedded`, `network` or `distributed`.
    pub class: Class,
    /// One word for what it is: `SQL`, `LSM`, `cache`.
    pub kind: String,
    /// One line: what it is.
    pub summary: String,
    /// Whether it can be had.
    pub presence: Presence,
    /// Durability levels it has, its default first.
    pub durabilities: Vec<String>,
    /// What the store calls these levels in its own settings, where it has a word for them: `second: appendfsync everysec`.
    pub durability_settings: Vec<String>,
    /// What crashes have shown of these levels, the latest of each.
    pub shown: Vec<LevelShown>,
    /// Options its spec may carry, `name=default`.
    pub options: Vec<String>,
    /// What each of them means.
    pub options_mean: Vec<String>,
    /// Operations it has itself; `None` when that is known only once the store is open.
    pub native: Option<Vec<String>>,
    /// Longest key; `None` when known only once the store is open.
    pub max_key_bytes: Option<u64>,
    /// Longest value; `None` when known only once the store is open.
    pub max_value_bytes: Option<u64>,
    /// Whether any user of this machine can connect to a private one: it listens on a port and asks for no password.
    pub open_to_all: bool,
    /// How to get it.
    pub install: String,
    /// Licence of what is measured.
    pub licence: String,
}

const COLUMNS: [Column<'static>; 5] = [
    Column { title: "STORE", side: Side::Left, gap: 3 },
    Column { title: "FOUND", side: Side::Left, gap: 2 },
    Column { title: "DURABILITY", side: Side::Left, gap: 2 },
    Column { title: "KEY", side: Side::Right, gap: 2 },
    Column { title: "VALUE", side: Side::Right, gap: 2 },
];
const FOUND: usize = 1;
const WITHOUT_LIMITS: usize = 3;

/// Writes a table of at most 80 columns, by class: what is found with its version, and for the others what to do to have it; below each its
/// options, with what they mean, its operations, its licence.
///
/// `known` are the operations that stores may have: those a store lacks are named.
pub fn stores_table(stores: &[StoreRow], known: &[&str], colour: Colour) -> String {
    let limits = stores.iter().any(|store| store.max_key_bytes.or(store.max_value_bytes).is_some());
    let columns = &COLUMNS[..if limits { COLUMNS.len() } else { WITHOUT_LIMITS }];
    let folded = fold_twins(stores);
    let rows: Vec<Row> = folded.iter().map(row).collect();
    // What is found may be broken anywhere before a limit goes.
    let spare: &[usize] = if limits && columns_of_terminal() < WIDTH { &[4, 3] } else { &[] };
    let table = Table::fit_without(columns, FOUND, spare, rows.iter());
    let mut text = table.titles(colour);
    for class in Class::ALL {
        let of_class: Vec<(&StoreRow, &Row)> =
            folded.iter().map(|listed| listed.store).zip(&rows).filter(|(store, _)| store.class == class).collect();
        if of_class.is_empty() {
            continue;
        }
        text.push('\n');
        text += &paragraph(words::class_heading(class), 1, 3, Style::Bold, colour);
        for (store, row) in of_class {
            text += &table.row(row, colour);
            text += &notes(store, known, colour);
        }
    }
    let found = stores.iter().filter(|store| matches!(store.presence, Presence::Found(_))).count();
    text.push('\n');
    text += &paragraph(
        &format!(
            "{found} of {} found. The first durability level is the default; choose another with -s STORE,durability=LEVEL.{}{}",
            stores.len(),
            if limits { " KEY and VALUE: the longest the store takes." } else { "" },
            folded.iter().find_map(ListedStore::explained).unwrap_or_default(),
        ),
        1,
        1,
        Style::Dim,
        colour,
    );
    text
}

/// A store that has a row, or two twins that share one.
pub(crate) struct ListedStore<'a> {
    pub store: &'a StoreRow,
    /// The same store over a unix socket, where `store` is reached over TCP.
    pub unix: Option<&'a StoreRow>,
}

impl ListedStore<'_> {
    /// Returns `redis[-unix]`: two names in one where the one begins with the other.
    pub fn name(&self) -> String {
        let name = &self.store.name;
        match self.unix.map(|unix| (unix, unix.name.strip_prefix(name))) {
            None => name.clone(),
            Some((_, Some(rest))) => format!("{name}[{rest}]"),
            Some((unix, None)) => format!("{name}, {}", unix.name),
        }
    }

    /// Returns `redis*`: the same, where there is little room.
    pub fn short_name(&self) -> String {
        format!("{}{}", self.store.name, if self.unix.is_some() { "*" } else { "" })
    }

    pub fn explained(&self) -> Option<String> {
        let unix = self.unix?;
        Some(format!(" {}: {} over TCP, {} over a unix socket.", self.name(), self.store.name, unix.name))
    }
}

/// Folds two stores that differ only in how they are reached into one row.
pub(crate) fn fold_twins(stores: &[StoreRow]) -> Vec<ListedStore<'_>> {
    let twins = |tcp: &StoreRow, unix: &StoreRow| {
        let over_tcp = StoreRow {
            name: tcp.name.clone(),
            transport: tcp.transport,
            summary: tcp.summary.clone(),
            open_to_all: tcp.open_to_all,
            ..unix.clone()
        };
        (tcp.transport, unix.transport) == (Some(Transport::Tcp), Some(Transport::Unix)) && over_tcp == *tcp
    };
    let has_a_row = |store: &&StoreRow| !stores.iter().any(|tcp| twins(tcp, store));
    let listed = |store| ListedStore { store, unix: stores.iter().find(|unix| twins(store, unix)) };
    stores.iter().filter(has_a_row).map(listed).collect()
}

fn row(listed: &ListedStore<'_>) -> Row {
    let store = listed.store;
    let (found, style) = match &store.presence {
        Presence::Found(product) => (product.clone(), Style::Good),
        Presence::NotFound(_) => ("not found".into(), Style::Warning),
        Presence::NotBuilt(_) => ("not in this build".into(), Style::Warning),
    };
    let limit = |limit: Option<u64>| (limit.map_or_else(|| "-".into(), units::bytes), Style::Plain);
    vec![
        (listed.name(), Style::Bold),
        (found, style),
        (store.durabilities.join(" "), Style::Plain),
        limit(store.max_key_bytes),
        limit(store.max_value_bytes),
    ]
}

/// The operations a store has itself, or those it lacks where they are fewer.
fn operations(native: &[String], known: &[&str]) -> String {
    let lacks: Vec<&str> = known.iter().copied().filter(|name| !native.iter().any(|has| has == name)).collect();
    match lacks.len() {
        0 => "every operation".into(),
        few if few < native.len() => format!("every operation but {}", lacks.join(", ")),
        _ => native.join(", "),
    }
}

fn notes(store: &StoreRow, known: &[&str], colour: Colour) -> String {
    let mut text = String::new();
    let mut note = |line: String| text += &paragraph(&line, 5, 7, Style::Plain, colour);
    note(store.summary.clone());
    match &store.presence {
        Presence::Found(_) => {}
        Presence::NotFound(looked_for) => {
            note(format!("→ {} (looked for {looked_for})", store.install));
        }
        Presence::NotBuilt(feature) => {
            note(format!("→ build kvtrial with --features {feature}, then {}", store.install));
        }
    }
    let shown = |it: &LevelShown| format!("{} {} ({})", it.level, words::shown_in_words(Some(&it.shown)), it.version);
    let mut levels: Vec<String> = store.shown.iter().map(shown).collect();
    let is_shown = |name: &str| store.shown.iter().any(|it| it.level.name() == name);
    let said: Vec<&str> =
        store.durabilities.iter().map(String::as_str).filter(|name| *name != "none" && !is_shown(name)).collect();
    if !said.is_empty() {
        levels.push(format!("{} as the store says", said.join(", ")));
    }
    if !levels.is_empty() {
        note(format!("durability: {}", levels.join("; ")));
    }
    if !store.durability_settings.is_empty() {
        let said: Vec<String> = store.durability_settings.iter().map(|it| it.replacen(": ", " is ", 1)).collect();
        note(format!("in its own settings {}", said.join("; ")));
    }
    for (option, meaning) in store.options.iter().zip(&store.options_mean) {
        note(format!("{option}: {meaning}"));
    }
    if store.open_to_all {
        note("over TCP any user of this machine can connect: it asks for no password".into());
    }
    if let Some(native) = &store.native {
        note(format!("{} · licence {}", operations(native, known), store.licence));
    }
    text
}
