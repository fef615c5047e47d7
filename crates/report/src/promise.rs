//! What the stores of a group promise to keep, and who says so.

use analysis::Group;
use study::Durability;

/// `durability commit (loses nothing)` where kvtrial set the level; what the user's own servers say is told as their word. `None` for
/// baselines, which promise nothing.
pub fn promise(group: &Group<'_>) -> Option<String> {
    let level = group.durability?;
    let meaning = match level {
        Durability::None => "may lose all",
        Durability::Os => "survives a kill",
        Durability::Second => "may lose 1 s",
        Durability::Commit => "loses nothing",
    };
    let claimed = group.places.iter().filter(|place| place.cell.durability_is_claimed()).count();
    Some(match claimed {
        0 => format!("durability {level} ({meaning})"),
        all if all == group.places.len() => format!("durability {level}, as the server says"),
        _ => format!("durability {level} ({meaning}; named by a URL: as the server says)"),
    })
}

#[cfg(test)]
mod tests {
    use super::promise;
    use analysis::groups;
    use study::{Cell, Durability, DurabilitySource};

    fn cell(store: &str, source: Option<DurabilitySource>) -> Cell {
        let durability = Some(Durability::Commit);
        Cell { store: store.into(), class: "network".into(), durability, durability_source: source, ..Cell::default() }
    }

    #[test]
    fn what_the_users_server_says_of_itself_is_never_told_as_a_fact() {
        let url = "redis://db.example.org";
        let ours = cell("redis", Some(DurabilitySource::SetByKvtrial));
        let theirs = cell(url, Some(DurabilitySource::AsTheServerSays));
        // Written before the source was.
        let old = cell(url, None);
        let told = |cells: &[&Cell]| promise(&groups(cells)[0]).unwrap_or_default();
        assert_eq!(told(&[&ours]), "durability commit (loses nothing)");
        assert_eq!(told(&[&theirs]), "durability commit, as the server says");
        assert_eq!(told(&[&old]), "durability commit, as the server says");
        assert_eq!(told(&[&ours, &theirs]), "durability commit (loses nothing; named by a URL: as the server says)");
    }
}
