//! What a row cannot hold: what was really measured, what was emulated, what time went into.

use crate::comparison::{Place, Rank, baseline, time_per_operation};
use crate::units;
use study::Cell;

/// The store as the table names it: the spec without the durability its heading states, and the product where the name does not say
/// it, e.g. `mongodb (FerretDB 1.24)`.
pub(crate) fn store_label(cell: &Cell) -> String {
    let parts: Vec<&str> = cell.store.split(',').filter(|part| !part.starts_with("durability=")).collect();
    let spec = parts.join(",");
    let product = cell.product.trim();
    let letters = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect()
    };
    let name = letters(spec.split([',', ':', '-']).next().unwrap_or_default());
    if product.is_empty() || letters(product).contains(&name) {
        return spec;
    }
    let version = short_version(&cell.store_version);
    format!("{spec} ({product}{}{version})", if version.is_empty() { "" } else { " " })
}

/// `10.11.6` of `10.11.6-MariaDB-0+deb12u1`.
fn short_version(version: &str) -> &str {
    version.split(['-', '+', ' ', '~']).find(|part| part.starts_with(|c: char| c.is_ascii_digit())).unwrap_or_default()
}

/// What was measured: `Redis 7.0.15 (redis, redis-unix), LMDB 0.9.24 (lmdb)`.
pub(crate) fn products(cells: &[&Cell]) -> Option<String> {
    let mut products: Vec<(String, Vec<&str>)> = Vec::new();
    for cell in cells.iter().filter(|cell| !cell.baseline && !cell.product.is_empty()) {
        let product = format!("{} {}", cell.product, cell.store_version).trim_end().to_owned();
        let name = cell.store.split(',').next().unwrap_or_default();
        match products.iter_mut().find(|known| known.0 == product) {
            Some(known) if !known.1.contains(&name) => known.1.push(name),
            Some(_) => {}
            None => products.push((product, vec![name])),
        }
    }
    let all: Vec<String> =
        products.iter().map(|(product, names)| format!("{product} ({})", names.join(", "))).collect();
    (!all.is_empty()).then(|| format!("Measured: {}.", all.join(", ")))
}

/// Numbers of the footnotes that tell of emulated operations, one a distinct set.
pub(crate) struct Emulations(Vec<Vec<String>>);

impl Emulations {
    pub(crate) fn of(cells: &[&Cell]) -> Emulations {
        let mut sets: Vec<Vec<String>> = Vec::new();
        for cell in cells.iter().filter(|cell| !cell.emulated.is_empty()) {
            if !sets.contains(&cell.emulated) {
                sets.push(cell.emulated.clone());
            }
        }
        Emulations(sets)
    }

    /// ` [1]`, or nothing.
    pub(crate) fn mark(&self, cell: &Cell) -> String {
        let at = self.0.iter().position(|set| *set == cell.emulated);
        at.map(|at| format!(" [{}]", at + 1)).unwrap_or_default()
    }

    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        self.0.iter().enumerate().map(|(at, set)| {
            let (verb, pronoun) = if set.len() == 1 { ("is", "it") } else { ("are", "them") };
            let operations = set.join(", ");
            format!(
                "[{}] {operations} {verb} emulated with other operations: the store does not have {pronoun}.",
                at + 1
            )
        })
    }
}

/// What an operation's time went into, for the fastest network store, or the fastest embedded one: only when the null, ram and store
/// cells are valid, did the same number of operations, and each took longer than the one before.
pub(crate) fn cost_sentence(cells: &[&Cell], places: &[&Place<'_>]) -> Option<String> {
    let best = |class: &str| {
        places.iter().find(|place| place.cell.class == class && place.rank == Rank::At(1)).map(|place| place.cell)
    };
    let cell = best("network").or_else(|| best("embedded"))?;
    let (null_s, null_operations) = time_per_operation(baseline(cells, "null")?)?;
    let (ram_s, ram_operations) = time_per_operation(baseline(cells, "ram")?)?;
    let (store_s, operations) = time_per_operation(cell)?;
    let same = |other: f64| (other / operations - 1.0).abs() < 0.01;
    if !same(null_operations) || !same(ram_operations) || null_s >= ram_s || ram_s >= store_s {
        return None;
    }
    Some(format!(
        "Of {} an operation on {}, {} are client and job with nothing kept (null), {} more the work on values kept in \
         memory (ram), {} the store and the way to it.",
        units::duration(store_s),
        store_label(cell),
        units::duration(null_s),
        units::duration(ram_s - null_s),
        units::duration(store_s - ram_s),
    ))
}
