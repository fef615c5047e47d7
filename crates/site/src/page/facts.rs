//! What results are filtered by.

use crate::board::{Board, BoardEntry};
use crate::work::{ReadShare, WorkSize};
use maud::{Markup, html};
use publish::StudyMark;
use study::{Promise, ShownPromise};

/// How many facts there are.
const COUNT: usize = 9;

/// The facts that results are filtered by, each with the words before its choices.
const FACTS: [(&str, &str); COUNT] = [
    ("job", "Job"),
    ("store", "Store"),
    ("class", "Class"),
    ("durability", "Durability"),
    ("reads", "What it does most"),
    ("size", "Size"),
    ("shown", "Who says what survives"),
    ("machine", "Machine"),
    ("mark", "Made again?"),
];
/// What the work is asked about, by place in [`FACTS`]: job, reads, size, durability, class, machine.
pub(super) const ASKED: [usize; 6] = [4, 5, 3, 2, 0, 7];
/// Everything.
pub(super) const ALL: [usize; COUNT] = [0, 1, 2, 3, 4, 5, 6, 7, 8];

/// The values that each fact has anywhere.
pub(super) struct Choices([Vec<String>; COUNT]);

impl Choices {
    pub(super) fn of(boards: &[Board<'_>]) -> Choices {
        let mut all: [Vec<String>; COUNT] = Default::default();
        for board in boards {
            for entry in &board.entries {
                for (known, value) in all.iter_mut().zip(words(board, entry)) {
                    known.push(value);
                }
            }
        }
        for values in &mut all {
            values.sort();
            values.dedup();
        }
        order(&mut all[3], &["none", "os", "second", "commit"]);
        order(&mut all[4], &ReadShare::ALL.map(ReadShare::word));
        order(&mut all[5], &WorkSize::ALL.map(WorkSize::word));
        order(&mut all[8], &[StudyMark::Reproduced, StudyMark::AsSubmitted, StudyMark::Differs].map(StudyMark::words));
        Choices(all)
    }

    /// Returns whether there are several machines: with one only, it need not be said of each list.
    pub(super) fn has_machines(&self) -> bool {
        self.0[7].len() > 1
    }

    /// The facts of a result, as the places of their values.
    pub(super) fn places(&self, board: &Board<'_>, entry: &BoardEntry<'_>) -> [usize; COUNT] {
        let words = words(board, entry);
        std::array::from_fn(|at| self.0[at].iter().position(|value| *value == words[at]).unwrap_or_default())
    }

    /// Returns a form that filters these things by these facts; what has one value only is not asked.
    pub(super) fn form(&self, id: &str, facts: &[usize], noun: &str) -> Markup {
        html! {
            form.filters id=(id) data-noun=(noun) {
                @for &at in facts {
                    @let (name, title) = FACTS[at];
                    @if self.0[at].len() > 1 {
                        label for=(format!("{id}-{name}")) {
                            (title)
                            select id=(format!("{id}-{name}")) data-fact=(at) {
                                option value="" { "any" }
                                @for (value, word) in self.0[at].iter().enumerate() {
                                    option value=(value) { @if word.is_empty() { "not known" } @else { (word) } }
                                }
                            }
                        }
                    }
                }
                p.count role="status" {}
            }
        }
    }
}

/// The facts of a result, in the order of [`FACTS`].
fn words(board: &Board<'_>, entry: &BoardEntry<'_>) -> [String; COUNT] {
    [
        board.key.job.clone(),
        entry.cell.product.clone(),
        board.key.class.clone(),
        board.key.durability.clone(),
        board.work.reads.word().to_owned(),
        board.work.size.word().to_owned(),
        shown_word(entry.cell.durability_shown.as_ref()).to_owned(),
        board.key.machine.clone(),
        entry.published.verification.mark.words().to_owned(),
    ]
}

/// Returns whether crashes have shown a level.
pub(super) fn shown_word(shown: Option<&ShownPromise>) -> &'static str {
    match shown.map(|shown| shown.promise) {
        Some(Promise::Kept) => "shown by crashes",
        Some(Promise::Broken) => "broken by crashes",
        _ => "as the store says",
    }
}

fn order(values: &mut [String], words: &[&str]) {
    values.sort_by_key(|value| words.iter().position(|word| word == value));
}
