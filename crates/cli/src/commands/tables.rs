//! What a study shows on a terminal: the same when it was just run and when it is read again.

use study::{Durability, Spec, Study, Target};
use terminal::Colour;

/// Returns every table of a study: what a search found, or its cells; its crashes.
pub fn text(study: &Study, colour: Colour) -> String {
    match &study.tune {
        Some(_) => terminal::tune_text(study, colour),
        None if !study.rate_search.is_empty() => terminal::rate_search(study, colour),
        None if study.cells.is_empty() && study.crash.is_some() => terminal::crash_text(study, colour),
        None => {
            let level = levelled(study).map(|words| format!("\n{}", terminal::sentence(&words, colour)));
            terminal::study_table(study, colour) + &level.unwrap_or_default()
        }
    }
}

/// How to give stores of different levels the same one, where they have one in common; `None` where the user chose several of one store.
fn levelled(study: &Study) -> Option<String> {
    let mut kept: Vec<(Spec, Durability, &'static [Durability])> = Vec::new();
    for cell in study.cells.iter().filter(|cell| !cell.baseline && cell.verdict.is_ranked()) {
        let spec: Spec = cell.store.parse().ok()?;
        let (level, info) = (cell.durability?, catalog::of(&spec).ok()??);
        if spec.target != Target::Private {
            return None;
        }
        if !kept.iter().any(|(known, ..)| *known == spec) {
            kept.push((spec, level, info.durabilities));
        }
    }
    let chosen_twice = |(spec, level, _): &(Spec, Durability, _)| {
        kept.iter().any(|(other, of_other, _)| other.name == spec.name && of_other != level)
    };
    if kept.iter().any(chosen_twice) || kept.iter().all(|(_, level, _)| *level == kept[0].1) {
        return None;
    }
    // The strongest that one of them keeps already and all of them have.
    let has_all = |level: &Durability| kept.iter().all(|(.., levels)| levels.contains(level));
    let level = kept.iter().map(|(_, level, _)| *level).filter(has_all).max()?;
    let others = kept.iter().filter(|(_, own, _)| *own != level);
    let flags: Vec<String> =
        others.map(|(spec, ..)| format!("-s\u{a0}{}", spec.clone().with_durability(level))).collect();
    Some(format!("To rank them together give all of them the same durability: {}.", flags.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::levelled;
    use study::{Cell, Durability, Study, Verdict};

    #[test]
    fn stores_of_different_levels_are_given_one_they_all_have() {
        let cell = |store: &str, level| Cell {
            store: store.into(),
            durability: Some(level),
            verdict: Verdict::of([]),
            ..Cell::default()
        };
        let said = |cells: Vec<Cell>| levelled(&Study { cells, ..Study::default() });
        let (sqlite, redis) = (cell("sqlite", Durability::Os), cell("redis", Durability::None));
        let committed = cell("postgres", Durability::Commit);
        let words = said(vec![sqlite.clone(), committed]).unwrap_or_default();
        assert!(words.ends_with("the same durability: -s\u{a0}sqlite,durability=commit."), "{words}");
        assert_eq!(said(vec![sqlite.clone(), cell("lmdb", Durability::Os)]), None, "they are alike");
        let twice = vec![redis.clone(), cell("redis,durability=commit", Durability::Commit)];
        assert_eq!(said(twice), None, "the levels are what is compared");
        assert_eq!(said(vec![sqlite, cell("memcached", Durability::None)]), None, "they have none in common");
    }
}
