//! The files of a site.

use crate::board::{Board, boards};
use crate::collection::{Collection, Published, SiteError, plain};
use crate::key::short;
use crate::page::{ListingSubject, board_page, index_page, listing_page};
use crate::parallel::each_in_parallel;
use crate::versions::histories;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Writes the pages of a collection into a directory. A page that was there is replaced, other files stay.
///
/// # Errors
/// A page cannot be written.
pub fn write(collection: &Collection, out: &Path) -> Result<(), SiteError> {
    let boards = boards(collection);
    put(&out.join("index.html"), &index_page(collection, &boards, &histories(collection)))?;
    for board in &boards {
        put(&out.join("boards").join(format!("{}.html", board.id)), &board_page(board))?;
    }
    for (subject, name) in subjects(&boards) {
        let file = if subject == ListingSubject::Machine { short(&name) } else { plain(&name) };
        let own = of(&boards, subject, &name);
        let ids: BTreeSet<&str> = own.iter().map(|board| board.id.as_str()).collect();
        let whole: Vec<Board<'_>> =
            boards.iter().filter(|board| ids.contains(board.id.as_str())).map(Board::copy).collect();
        let page = listing_page(subject, &name, &whole, &own, &collection.jobs);
        put(&out.join(subject.directory()).join(format!("{file}.html")), &page)?;
    }
    let written =
        each_in_parallel(&collection.studies, |published| details(published, &out.join("studies").join(&published.id)));
    written.into_iter().collect()
}

/// Stores, jobs and machines with a page.
fn subjects(boards: &[Board<'_>]) -> Vec<(ListingSubject, String)> {
    let mut found = BTreeMap::new();
    for board in boards {
        found.insert((1, board.key.job.clone()), ListingSubject::Job);
        found.insert((2, board.key.machine.clone()), ListingSubject::Machine);
        for entry in &board.entries {
            found.insert((0, entry.cell.product.clone()), ListingSubject::Store);
        }
    }
    found.into_iter().map(|((_, name), subject)| (subject, name)).collect()
}

/// The boards of a store, a job or a machine.
fn of<'c>(boards: &[Board<'c>], subject: ListingSubject, name: &str) -> Vec<Board<'c>> {
    let shown = |board: &Board<'c>| {
        let kept = board.entries.iter().filter(|entry| match subject {
            ListingSubject::Store => entry.cell.product == name,
            ListingSubject::Job => board.key.job == name,
            ListingSubject::Machine => board.key.machine == name,
        });
        let entries: Vec<_> = kept.cloned().collect();
        (!entries.is_empty()).then(|| Board { entries, ..board.copy() })
    };
    boards.iter().filter_map(shown).collect()
}

/// The study's own report and files, made here from its trials: what else lies beside a stranger's study is not shown.
fn details(published: &Published, to: &Path) -> Result<(), SiteError> {
    let study = &published.study;
    let named = report::Named { label: published.id.clone(), study };
    put(&to.join("report.html"), &report::Report::new(vec![named]).html())?;
    put(&to.join("cells.csv"), &archive::cells_csv(study))?;
    // A published study is packed already: that it is this one was seen when it was read.
    let path = to.join(archive::PACKED);
    let failed = |source| SiteError::Write { path: path.display().to_string(), source };
    let packed = std::fs::read(published.directory.join(archive::PACKED))
        .or_else(|_| archive::pack_study(study))
        .map_err(failed)?;
    put_bytes(&path, &packed)
}

fn put(path: &Path, page: &str) -> Result<(), SiteError> {
    put_bytes(path, page.as_bytes())
}

fn put_bytes(path: &Path, bytes: &[u8]) -> Result<(), SiteError> {
    let failed = |source| SiteError::Write { path: path.display().to_string(), source };
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(failed)?;
    std::fs::write(path, bytes).map_err(failed)
}
