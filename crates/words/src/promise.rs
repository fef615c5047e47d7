//! What the stores of a group promise to keep, and who says so.

use analysis::Group;
use study::Durability;

/// `durability commit (loses nothing)` where kvtrial set the level; what user-owned servers say is quoted as their claim. `None` for
/// baselines, which promise nothing.
pub fn promise(group: &Group<'_>) -> Option<String> {
    let level = group.durability?;
    let meaning = match level {
        Durability::None => "may lose all",
        Durability::Os => "survives a kill",
        Durability::Second => "may lose 1 s",
        Durability::Commit => "loses nothing",
    };
    Some(match Claim::of(group) {
        Claim::None => format!("durability {level} ({meaning})"),
        Claim::All => format!("durability {level}, as the server says"),
        Claim::Some => format!("durability {level} ({meaning}; named by a URL: as the server says)"),
    })
}

/// `durability commit (as the server says)`: the level of a group within a sentence. `None` for baselines.
pub fn level_in_words(group: &Group<'_>) -> Option<String> {
    let level = group.durability?;
    Some(match Claim::of(group) {
        Claim::None => format!("durability {level}"),
        Claim::All => format!("durability {level} (as the server says)"),
        Claim::Some => format!("durability {level} (where named by a URL: as the server says)"),
    })
}

/// For how many stores of a group the level is only their own claim.
enum Claim {
    None,
    Some,
    All,
}

impl Claim {
    fn of(group: &Group<'_>) -> Claim {
        match group.cells.iter().filter(|ranked| ranked.cell.durability_is_claimed()).count() {
            0 => Claim::None,
            all if all == group.cells.len() => Claim::All,
            _ => Claim::Some,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{level_in_words, promise};
    use analysis::groups;
    use study::{Cell, Durability, DurabilitySource};

    fn cell(store: &str, source: Option<DurabilitySource>) -> Cell {
        let durability = Some(Durability::Commit);
        Cell { store: store.into(), class: "network".into(), durability, durability_source: source, ..Cell::default() }
    }

    #[test]
    fn what_a_user_owned_server_says_of_itself_is_never_stated_as_a_fact() {
        let url = "redis://db.example.org";
        let ours = cell("redis", Some(DurabilitySource::SetByKvtrial));
        let theirs = cell(url, Some(DurabilitySource::AsTheServerSays));
        // Studies of earlier versions do not record the source.
        let old = cell(url, None);
        let said = |cells: &[&Cell]| promise(&groups(cells)[0]).unwrap_or_default();
        assert_eq!(said(&[&ours]), "durability commit (loses nothing)");
        assert_eq!(said(&[&theirs]), "durability commit, as the server says");
        assert_eq!(said(&[&old]), "durability commit, as the server says");
        assert_eq!(said(&[&ours, &theirs]), "durability commit (loses nothing; named by a URL: as the server says)");
        let words = |cells: &[&Cell]| level_in_words(&groups(cells)[0]).unwrap_or_default();
        assert_eq!(words(&[&ours]), "durability commit");
        assert_eq!(words(&[&theirs]), "durability commit (as the server says)");
        assert_eq!(words(&[&ours, &old]), "durability commit (where named by a URL: as the server says)");
    }
}
