//! The name of a store in a row, and what a row cannot hold: what was really measured, what was emulated, what time went into.

use analysis::Group;
use study::{Cell, Class, Durability, Study};
use words::units;

/// Returns the notes on the table of a study.
pub fn footnotes(study: &Study) -> Vec<String> {
    let cells: Vec<&Cell> = study.cells.iter().collect();
    let emulations = Emulations::of(study);
    emulations.notes().chain(burning(&cells)).chain(products(&cells)).chain(instrument(study)).collect()
}

/// The spec without the durability its heading states.
fn spec(cell: &Cell) -> String {
    // A cache has less than what is asked of the store beneath it.
    let stated = |part: &str| {
        part.strip_prefix("durability=").is_some_and(|asked| cell.durability.is_none_or(|level| level.name() == asked))
    };
    let parts: Vec<&str> = cell.store.split(',').filter(|part| !stated(part)).collect();
    parts.join(",")
}

/// Returns the store where there is little room: its spec, a mark, and the product where the name does not say it, e.g. `mongodb [1]
/// (FerretDB 1.24)`.
pub(super) fn short_name(cell: &Cell, mark: &str) -> String {
    let label = spec(cell) + mark;
    if cell.product.is_empty() || says_its_product(cell) {
        return label;
    }
    format!("{label} ({})", product(cell).replace(' ', "\u{a0}"))
}

/// Returns what else there is to say of a store: its product, its class and what it promises, what it was helped with.
pub(super) fn details(cell: &Cell, group: &Group<'_>) -> Vec<String> {
    let says = |level: Durability| match (level, cell.durability_source().and_then(words::whose_word)) {
        (_, Some(whose)) => format!(", {whose}"),
        (Durability::None, None) => String::new(),
        _ => format!(", {}", words::shown_in_words(cell.durability_shown.as_ref())),
    };
    let level = group.durability.map_or(String::new(), |level| format!(", {level}{}", says(level)));
    let emulated = if cell.emulated.is_empty() { "" } else { "emulated: " };
    let product = if cell.product.is_empty() { "" } else { &cell.store_version };
    let details = [
        format!("{} {product}", cell.product),
        format!("{}{level}", group.class.map_or("", Class::name)),
        format!("{emulated}{}", cell.emulated.join(", ")),
    ];
    details.into_iter().filter(|it| !it.trim().is_empty()).collect()
}

/// Whether the name of the store is (part of) the name of the product: `tyrant` and Tokyo Tyrant, not `mongodb` and FerretDB.
fn says_its_product(cell: &Cell) -> bool {
    let letters = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect()
    };
    letters(&cell.product).contains(&letters(cell.store.split([',', ':', '-']).next().unwrap_or_default()))
}

/// `MariaDB 10.11.6`.
fn product(cell: &Cell) -> String {
    format!("{} {}", cell.product, short_version(&cell.store_version)).trim_end().to_owned()
}

/// `10.11.6` of `10.11.6-MariaDB-0+deb12u1`.
fn short_version(version: &str) -> &str {
    version.split(['-', '+', ' ', '~']).find(|part| part.starts_with(|c: char| c.is_ascii_digit())).unwrap_or_default()
}

/// Names what was measured: `Redis 7.0.15, LMDB 0.9.24, FerretDB 1.24.0 (mongodb)`.
fn products(cells: &[&Cell]) -> Option<String> {
    let name = |cell: &&Cell| if says_its_product(cell) { String::new() } else { format!(" ({})", cell.store) };
    let measured = cells.iter().filter(|cell| !cell.baseline && !cell.product.is_empty());
    let products = words::distinct(measured.map(|cell| product(cell) + &name(cell)));
    (!products.is_empty()).then(|| format!("Measured: {}.", products.join(", ")))
}

/// Says which stores were made slower on purpose.
fn burning(cells: &[&Cell]) -> Option<String> {
    let burns = |cell: &&&Cell| cell.store.split(',').any(|part| part.starts_with("burn="));
    let mut slowed: Vec<String> = cells.iter().filter(burns).map(|cell| cell.store.clone()).collect();
    slowed.dedup();
    (!slowed.is_empty()).then(|| {
        format!("Slowed down by kvtrial on purpose (burn=), not the store's own speed: {}.", slowed.join("; "))
    })
}

/// Says whether the instrument was proved right on this machine: `Instrument checked here on 2026-11-21: 16 of 16 proofs hold.`
fn instrument(study: &Study) -> Option<String> {
    let checked = study.selftest.as_ref()?;
    let day = checked.checked_at.split('T').next().unwrap_or_default();
    let (holding, all) = (checked.holding(), checked.proofs.len());
    let failed: Vec<&str> =
        checked.proofs.iter().filter(|proof| !proof.passed).map(|proof| proof.name.as_str()).collect();
    Some(match failed.as_slice() {
        [] => format!("Instrument checked on this machine ({day}): {holding} of {all} proofs hold."),
        failed => format!(
            "Instrument checked on this machine ({day}): {holding} of {all} proofs hold, not {}. Make the machine quieter and \
             run kvtrial selftest.",
            failed.join(", ")
        ),
    })
}

/// Numbers of the footnotes on emulated operations, one per distinct set.
pub(super) struct Emulations(Vec<Vec<String>>);

impl Emulations {
    pub(super) fn of(study: &Study) -> Emulations {
        let sets = study.cells.iter().map(|cell| &cell.emulated).filter(|set| !set.is_empty());
        Emulations(words::distinct(sets.cloned()))
    }

    /// Returns ` [1]`, or nothing.
    pub(super) fn mark(&self, cell: &Cell) -> String {
        let at = self.0.iter().position(|set| *set == cell.emulated);
        at.map(|at| format!(" [{}]", at + 1)).unwrap_or_default()
    }

    fn notes(&self) -> impl Iterator<Item = String> {
        self.0.iter().enumerate().map(|(at, set)| {
            // `reduce by scan` says how, `append` alone does not.
            let lacks: Vec<&str> = set.iter().map(|name| name.split(" by ").next().unwrap_or(name)).collect();
            let ways: Vec<&str> = set.iter().filter_map(|name| Some(name.split_once(" by ")?.1)).collect();
            let instead = if ways.len() == set.len() {
                format!("by {}", ways.join(" and by "))
            } else {
                "with other operations".into()
            };
            format!("[{}] The store does not have {}: done {instead} instead.", at + 1, lacks.join(", "))
        })
    }
}

/// Returns how fast stores read back what they were given, beside the timed rate; one sentence for all.
pub fn read_back(cells: &[&Cell], noun: &str) -> Option<String> {
    let known = |cell: &&&Cell| cell.verdict.is_ranked() && !cell.baseline;
    let rate = |cell: &&Cell| {
        let rate = units::count(cell.read_back_per_s?.value);
        Some(format!("{}\u{a0}{rate}", cell.store))
    };
    let rates: Vec<String> = cells.iter().filter(known).filter_map(rate).collect();
    (!rates.is_empty()).then(|| format!("Read back after the clock, {noun} per second: {}.", rates.join(", ")))
}
