//! The files of a site.

use crate::board::{Board, boards};
use crate::collection::{Collection, Published, SiteError, plain};
use crate::key::short;
use crate::page::{ListingSubject, board_page, index_page, listing_page};
use crate::versions::histories;
use std::collections::BTreeMap;
use std::path::Path;

/// Files of a study that are put beside its page, where they are there.
const FILES: [&str; 2] = ["study.json", "cells.csv"];

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
        let page = listing_page(subject, &name, &of(&boards, subject, &name));
        put(&out.join(subject.directory()).join(format!("{file}.html")), &page)?;
    }
    collection.studies.iter().try_for_each(|published| copy(published, &out.join("studies").join(&published.id)))
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
        (!entries.is_empty()).then(|| Board { key: board.key.clone(), id: board.id.clone(), entries, ..*board })
    };
    boards.iter().filter_map(shown).collect()
}

/// The study's own report and files.
fn copy(published: &Published, to: &Path) -> Result<(), SiteError> {
    let report = published.directory.join("report.html");
    let page = std::fs::read_to_string(&report).unwrap_or_else(|_| {
        report::Report::new(vec![report::Named { label: published.id.clone(), study: &published.study }]).html()
    });
    put(&to.join("report.html"), &page)?;
    for name in FILES {
        if let Ok(file) = std::fs::read(published.directory.join(name)) {
            put_bytes(&to.join(name), &file)?;
        }
    }
    Ok(())
}

fn put(path: &Path, page: &str) -> Result<(), SiteError> {
    put_bytes(path, page.as_bytes())
}

fn put_bytes(path: &Path, bytes: &[u8]) -> Result<(), SiteError> {
    let failed = |source| SiteError::Write { path: path.display().to_string(), source };
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(failed)?;
    std::fs::write(path, bytes).map_err(failed)
}
