//! The page of a store, a job or a machine: the boards it stands on.

use super::index::table;
use super::{Depth, page};
use crate::board::Board;
use maud::html;

/// What a page is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListingSubject {
    /// A product.
    Store,
    /// A job.
    Job,
    /// A machine.
    Machine,
}

impl ListingSubject {
    /// Returns the directory of its pages.
    pub(crate) fn directory(self) -> &'static str {
        match self {
            ListingSubject::Store => "stores",
            ListingSubject::Job => "jobs",
            ListingSubject::Machine => "machines",
        }
    }
}

/// Returns the page of a store, a job or a machine, with the results on these boards; those of one store are its own only.
pub(crate) fn listing_page(subject: ListingSubject, name: &str, boards: &[Board<'_>]) -> String {
    let results: usize = boards.iter().map(|board| board.entries.len()).sum();
    let first = boards.iter().flat_map(Board::leaders).count();
    let content = html! {
        header {
            h1 { (name) }
            p.headline {
                @match subject {
                    ListingSubject::Store => { "First, alone or with others, in " (first) " of " (boards.len()) " lists." }
                    ListingSubject::Job | ListingSubject::Machine => { (results) " results in " (boards.len()) " lists." }
                }
            }
        }
        section { h2 { "Results" } (table(boards, Depth::Below)) }
    };
    page(name, Depth::Below, &content)
}
