//! The page of a store, a job or a machine: the boards it stands on.

use super::answers::{JobLines, cards};
use super::facts::{ASKED, Choices};
use super::results::results;
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

/// Returns the page of a store, a job or a machine: the boards it stands on, whole, and of these the results that are its own.
pub(crate) fn listing_page(
    subject: ListingSubject,
    name: &str,
    boards: &[Board<'_>],
    own: &[Board<'_>],
    jobs: &JobLines,
) -> String {
    let choices = Choices::of(boards);
    let results_count: usize = own.iter().map(|board| board.entries.len()).sum();
    let first = own.iter().flat_map(Board::leaders).count();
    let content = html! {
        header {
            h1 { (name) }
            p.headline {
                @match subject {
                    ListingSubject::Store => { "First, alone or with others, in " (first) " of " (words::counted(boards.len() as u64, "list")) "." }
                    ListingSubject::Job | ListingSubject::Machine => {
                        (words::counted(results_count as u64, "result")) " in " (words::counted(boards.len() as u64, "list")) "."
                    }
                }
            }
        }
        section aria-labelledby="lists-title" {
            h2 id="lists-title" { "Lists" }
            (choices.form("ask", &ASKED, "lists"))
            (cards(boards, &choices, "ask", Depth::Below, jobs))
        }
        section aria-labelledby="results-title" {
            h2 id="results-title" { "Results" }
            (results(own, &choices, Depth::Below))
        }
    };
    page(name, Depth::Below, &content)
}
