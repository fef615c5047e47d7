//! What the stores of a group promise to keep, and who says so.

use crate::units;
use analysis::Group;
use study::{Cell, CrashMeans, Durability, DurabilitySource, Promise, ShownPromise, ShownWhere};

/// Returns `durability commit (loses nothing, shown here in kills)` where kvtrial set the level, with who says that it holds; what
/// user-owned servers say is quoted as their claim. `None` for baselines, which promise nothing.
pub fn promise(group: &Group<'_>) -> Option<String> {
    let level = group.durability?;
    let meaning = match level {
        Durability::None => "may lose all",
        Durability::Os => "survives a kill",
        Durability::Second => "may lose 1 s",
        Durability::Commit => "loses nothing",
    };
    Some(match Claim::of(group) {
        Claim::None => format!("durability {level} ({meaning}{})", warrant(group, level)),
        Claim::All(whose) => format!("durability {level}, {whose}"),
        Claim::Some(whose) => {
            format!("durability {level} ({meaning}{}; named by a URL: {whose})", warrant(group, level))
        }
    })
}

/// Returns `durability commit (as the server says)`: the level of a group within a sentence. `None` for baselines.
pub fn level_in_words(group: &Group<'_>) -> Option<String> {
    let level = group.durability?;
    Some(match Claim::of(group) {
        Claim::None => format!("durability {level}"),
        Claim::All(whose) => format!("durability {level} ({whose})"),
        Claim::Some(whose) => format!("durability {level} (where named by a URL: {whose})"),
    })
}

/// Who says that a level holds: `, shown here`, `, shown here for 2 of 5`, `, broken here by 1 of 5`, `, as claimed`; nothing of a level that
/// promises nothing.
fn warrant(group: &Group<'_>, level: Durability) -> String {
    if level == Durability::None {
        return String::new();
    }
    let cells: Vec<&Cell> =
        group.cells.iter().map(|ranked| ranked.cell).filter(|cell| !cell.durability_is_claimed()).collect();
    let of = |promise: Promise| -> Vec<&ShownPromise> {
        cells.iter().filter_map(|cell| cell.durability_shown.as_ref()).filter(|it| it.promise == promise).collect()
    };
    let (kept, broken) = (of(Promise::Kept), of(Promise::Broken));
    match (kept.as_slice(), broken.as_slice()) {
        ([], []) => ", as claimed".into(),
        (kept, []) if kept.len() == cells.len() => format!(", shown {}{}", places(kept), by(level, kept)),
        (kept, []) => format!(", shown {}{} for {} of {}", places(kept), by(level, kept), kept.len(), cells.len()),
        (_, broken) if cells.len() == 1 => format!(", broken {}", places(broken)),
        (_, broken) => format!(", broken {} by {} of {}", places(broken), broken.len(), cells.len()),
    }
}

/// ` in kills` of a level that syncs, where nothing else was done: the system's memory survives a kill, and not a power cut.
fn by(level: Durability, shown: &[&ShownPromise]) -> &'static str {
    let only_kills = shown.iter().all(|it| it.means == CrashMeans::Kill);
    if only_kills && matches!(level, Durability::Second | Durability::Commit) { " in kills" } else { "" }
}

/// `here`, `elsewhere`, `here and elsewhere`.
fn places(shown: &[&ShownPromise]) -> &'static str {
    let is = |place| shown.iter().any(|it| it.place == place);
    match (is(ShownWhere::Here), is(ShownWhere::Elsewhere)) {
        (true, true) => "here and elsewhere",
        (false, true) => "elsewhere",
        _ => "here",
    }
}

/// Returns the results of crashes at a level: `shown here in 20 kills, 2026-11-25`, `broken here in 20 kills, 2026-11-25`; where there
/// were none `as the store says`.
pub fn shown_in_words(shown: Option<&ShownPromise>) -> String {
    let Some(shown) = shown else { return "as the store says".into() };
    let verb = if shown.promise == Promise::Broken { "broken" } else { "shown" };
    let place = places(&[shown]);
    format!("{verb} {place} in {}, {}", cuts(shown.means, shown.cuts as usize), shown.day)
}

/// Returns which stores crashes have shown to keep their promise, and which not: `Shown by crashes: redis-unix (os, here in 20 kills,
/// 2026-11-25).`
pub fn shown_sentences(cells: &[&Cell]) -> Vec<String> {
    let of = |promise: Promise| {
        let mut named: Vec<String> = Vec::new();
        for cell in cells {
            let (Some(level), Some(shown)) = (cell.durability, &cell.durability_shown) else { continue };
            let (place, cuts) = (places(&[shown]), cuts(shown.means, shown.cuts as usize));
            let name = format!("{} ({level}: {place} in {cuts}, {})", store(cell), shown.day);
            if shown.promise == promise && !named.contains(&name) {
                named.push(name);
            }
        }
        named.join(", ")
    };
    let sentence = |(promise, words): (Promise, &str)| {
        Some(of(promise)).filter(|it| !it.is_empty()).map(|it| format!("{words}: {it}."))
    };
    [(Promise::Broken, "Broken in crashes, whatever the store says"), (Promise::Kept, "Shown by crashes")]
        .into_iter()
        .filter_map(sentence)
        .collect()
}

/// The spec without the level.
fn store(cell: &Cell) -> String {
    cell.store.split(',').filter(|part| !part.starts_with("durability=")).collect::<Vec<_>>().join(",")
}

/// Returns who vouches for a level that kvtrial has not set; `None` where kvtrial has set it.
pub fn whose_word(source: DurabilitySource) -> Option<&'static str> {
    match source {
        DurabilitySource::SetByKvtrial => None,
        DurabilitySource::AsTheServerSays => Some("as the server says"),
        DurabilitySource::AsTheUserSays => Some("as you say, which the server does not show"),
        DurabilitySource::Assumed => Some("assumed, as no server has said"),
    }
}

/// For how many stores of a group the level is only claimed, and by whom.
enum Claim {
    None,
    Some(String),
    All(String),
}

impl Claim {
    fn of(group: &Group<'_>) -> Claim {
        let sources = group.cells.iter().filter_map(|ranked| ranked.cell.durability_source());
        let words: Vec<&str> = sources.filter_map(whose_word).collect();
        let (claimed, mut distinct) = (words.len(), words);
        distinct.sort_unstable();
        distinct.dedup();
        match claimed {
            0 => Claim::None,
            all if all == group.cells.len() => Claim::All(distinct.join(", or ")),
            _ => Claim::Some(distinct.join(", or ")),
        }
    }
}

/// Returns `20 kills`.
pub fn cuts(means: CrashMeans, count: usize) -> String {
    let noun = match means {
        CrashMeans::Kill => "kill",
        CrashMeans::Freeze => "freeze",
        CrashMeans::Command => "crash",
        CrashMeans::Power => "power cut",
    };
    match (count, means) {
        (1, _) => format!("1 {noun}"),
        (_, CrashMeans::Command) => format!("{} crashes", units::whole(count as u64)),
        _ => format!("{} {noun}s", units::whole(count as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::{level_in_words, promise, shown_in_words, shown_sentences};
    use analysis::groups;
    use study::{Cell, Class, Durability, DurabilitySource, Promise, ShownPromise, ShownWhere};

    fn cell(store: &str, source: Option<DurabilitySource>) -> Cell {
        let durability = Some(Durability::Commit);
        Cell { store: store.into(), class: Class::Network, durability, durability_source: source, ..Cell::default() }
    }

    #[test]
    fn what_a_user_owned_server_says_of_itself_is_never_stated_as_a_fact() {
        let url = "redis://db.example.org";
        let ours = cell("redis", Some(DurabilitySource::SetByKvtrial));
        let theirs = cell(url, Some(DurabilitySource::AsTheServerSays));
        // Studies of earlier versions do not record the source.
        let old = cell(url, None);
        let said = |cells: &[&Cell]| promise(&groups(cells)[0]).unwrap_or_default();
        assert_eq!(said(&[&ours]), "durability commit (loses nothing, as claimed)");
        assert_eq!(said(&[&theirs]), "durability commit, as the server says");
        assert_eq!(said(&[&old]), "durability commit, as the server says");
        assert_eq!(
            said(&[&ours, &theirs]),
            "durability commit (loses nothing, as claimed; named by a URL: as the server says)"
        );
        let words = |cells: &[&Cell]| level_in_words(&groups(cells)[0]).unwrap_or_default();
        assert_eq!(words(&[&ours]), "durability commit");
        assert_eq!(words(&[&theirs]), "durability commit (as the server says)");
        assert_eq!(words(&[&ours, &old]), "durability commit (where named by a URL: as the server says)");
    }

    #[test]
    fn a_level_that_no_server_has_said_is_not_put_into_its_mouth() {
        let url = "redis://db.example.org";
        let assumed = cell(url, Some(DurabilitySource::Assumed));
        let stated = cell(url, Some(DurabilitySource::AsTheUserSays));
        let said = |cells: &[&Cell]| promise(&groups(cells)[0]).unwrap_or_default();
        assert_eq!(said(&[&assumed]), "durability commit, assumed, as no server has said");
        assert_eq!(said(&[&stated]), "durability commit, as you say, which the server does not show");
        let theirs = cell(url, Some(DurabilitySource::AsTheServerSays));
        assert_eq!(
            said(&[&assumed, &theirs]),
            "durability commit, as the server says, or assumed, as no server has said"
        );
    }

    #[test]
    fn beside_a_level_stands_who_says_that_it_holds() {
        let shown = |store: &str, promise, place| {
            let shown = ShownPromise { promise, place, cuts: 20, day: "2026-11-25".into(), ..ShownPromise::default() };
            Cell { durability_shown: Some(shown), ..cell(store, Some(DurabilitySource::SetByKvtrial)) }
        };
        let here = shown("redis", Promise::Kept, ShownWhere::Here);
        let elsewhere = shown("etcd", Promise::Kept, ShownWhere::Elsewhere);
        let broken = shown("postgres,durability=commit", Promise::Broken, ShownWhere::Here);
        let silent = cell("mysql", Some(DurabilitySource::SetByKvtrial));
        let said = |cells: &[&Cell]| promise(&groups(cells)[0]).unwrap_or_default();
        assert_eq!(said(&[&here]), "durability commit (loses nothing, shown here in kills)");
        assert_eq!(said(&[&here, &elsewhere]), "durability commit (loses nothing, shown here and elsewhere in kills)");
        assert_eq!(
            said(&[&elsewhere, &silent]),
            "durability commit (loses nothing, shown elsewhere in kills for 1 of 2)"
        );
        assert_eq!(said(&[&here, &broken, &silent]), "durability commit (loses nothing, broken here by 1 of 3)");
        assert_eq!(said(&[&silent, &silent]), "durability commit (loses nothing, as claimed)");
        let none = Cell { durability: Some(Durability::None), ..silent.clone() };
        assert_eq!(said(&[&none]), "durability none (may lose all)");
        assert_eq!(shown_in_words(broken.durability_shown.as_ref()), "broken here in 20 kills, 2026-11-25");
        assert_eq!(shown_in_words(None), "as the store says");
        assert_eq!(
            shown_sentences(&[&here, &here, &broken, &silent]),
            [
                "Broken in crashes, whatever the store says: postgres (commit: here in 20 kills, 2026-11-25).",
                "Shown by crashes: redis (commit: here in 20 kills, 2026-11-25).",
            ]
        );
    }
}
