//! Do all stores agree?

use analysis::Precision;
use study::Cell;

/// Returns a sentence about the answers of the cells of one part: the digest, and on how many stores it is equal. `None` when no store
/// gave one. Where operations failed in a fault the answer is of what took effect, and is compared with none.
pub(crate) fn agreement(cells: &[&Cell]) -> Option<String> {
    let (whole, partial): (Vec<&Cell>, Vec<&Cell>) = cells.iter().copied().partition(|cell| cell.is_comparable());
    let answered: Vec<&Cell> = whole.iter().copied().filter(|cell| !cell.answer.digest.is_empty()).collect();
    let mut digests: Vec<(&str, Vec<&str>)> = Vec::new();
    for cell in &answered {
        match digests.iter_mut().find(|known| known.0 == cell.answer.digest) {
            Some(known) => known.1.push(&cell.store),
            None => digests.push((&cell.answer.digest, vec![&cell.store])),
        }
    }
    digests.sort_by_key(|(_, stores)| std::cmp::Reverse(stores.len()));
    let silent: Vec<&Cell> = whole.iter().copied().filter(|cell| cell.answer.digest.is_empty()).collect();
    let mut text = match digests.as_slice() {
        [] if partial.is_empty() => return None,
        [] => "No answers are compared".into(),
        [(digest, stores)] if stores.len() == 1 => {
            format!("Answer {} on {}, with no other store to compare with", short(digest), stores[0])
        }
        [(digest, stores)] => format!(
            "Answer {}, equal on {n} of {n} stores",
            short(digest),
            n = words::units::whole(stores.len() as u64)
        ),
        several => {
            let each: Vec<String> =
                several.iter().map(|(digest, stores)| format!("{} on {}", short(digest), stores.join(", "))).collect();
            format!("THE STORES DISAGREE. Answer {}", each.join("; "))
        }
    };
    let (nothing, failed): (Vec<&Cell>, Vec<&Cell>) = silent.into_iter().partition(|cell| cell.baseline);
    let estimates = |cell: &&Cell| Precision::of(cell) == Precision::Estimate;
    let (estimated, failed): (Vec<&Cell>, Vec<&Cell>) = failed.into_iter().partition(estimates);
    let names = |cells: &[&Cell]| cells.iter().map(|cell| cell.store.as_str()).collect::<Vec<_>>().join(", ");
    if !partial.is_empty() {
        let which = if digests.is_empty() { "," } else { "; not comparable," };
        text += &format!("{which} as operations failed: {}", names(&partial));
    }
    if !estimated.is_empty() {
        text += &format!("; estimates from {}", names(&estimated));
    }
    if !failed.is_empty() {
        text += &format!("; none from {}", names(&failed));
    }
    if !nothing.is_empty() {
        text += &format!(" ({} keeps nothing)", names(&nothing));
    }
    Some(text + ".")
}

/// `sha256:9c6e0f1a…`: enough to compare by eye; all of it is in `study.json`.
fn short(digest: &str) -> String {
    let (kind, hex) = digest.split_once(':').unwrap_or(("", digest));
    match hex.char_indices().nth(16) {
        Some((end, _)) if hex.len() > 20 => format!("{kind}:{}…", &hex[..end]),
        _ => digest.to_owned(),
    }
}

/// Returns whether the answers of these cells are all the same.
pub(crate) fn all_agree(cells: &[&Cell]) -> bool {
    let whole = cells.iter().filter(|cell| cell.is_comparable());
    let mut digests = whole.map(|cell| &cell.answer.digest).filter(|digest| !digest.is_empty());
    digests.next().is_none_or(|first| digests.all(|digest| digest == first))
}
