//! What differs between two studies, or between cells of one.

mod crashes;
mod decisions;
mod runs;
mod sentences;

use crate::block::{Block, Sentence, Tone};
use crate::finding::FindingPart;
use analysis::{Alone, Difference, Source, Weight};
pub use crashes::{of_crashes, sentence as crash_sentence};
pub use decisions::{decision_judgement, sentence as decision_sentence};
pub use runs::of_runs;
pub use sentences::{judgement, obstacle, sentence};

/// A comparison in words and tables.
#[derive(Clone, Debug)]
pub struct ComparisonText {
    /// The studies, and what they are of.
    pub sources: Vec<Sentence>,
    /// What became of decisions, and where needs differ.
    pub decisions: Vec<Sentence>,
    /// What was found of each pair: the finding as a headline, in what else the two are not alike, the figures of both.
    pub pairs: Vec<FindingPart>,
    /// What stands in no pair.
    pub missing: Vec<Sentence>,
    /// What may have distorted figures.
    pub doubts: Vec<Sentence>,
    /// The rulings of the gates.
    pub rulings: Vec<Sentence>,
    /// How to read it.
    pub legend: Vec<Sentence>,
}

impl ComparisonText {
    /// Returns what was found, a sentence each: of decisions, of the pairs, of the cells that could not be compared, of the gates.
    pub fn sentences(&self) -> Vec<String> {
        let blocks = self.pairs.iter().flat_map(|pair| &pair.blocks);
        let headlines = blocks.filter_map(|block| if let Block::Headline(it) = block { Some(it) } else { None });
        self.decisions
            .iter()
            .chain(headlines)
            .chain(&self.missing)
            .chain(&self.rulings)
            .map(|it| it.text.clone())
            .collect()
    }
}

/// A study and facts on it, as far as they are known.
fn source(source: &Source, facts: &[&str]) -> Sentence {
    let facts: Vec<&str> = facts.iter().copied().filter(|fact| !fact.is_empty()).collect();
    Sentence::toned(format!("{}: {}", source.name, facts.join(" · ")), Tone::Faint)
}

fn alone(alone: &Alone) -> Sentence {
    Sentence::toned(format!("Only {} has {}.", alone.source, alone.cell), Tone::Warning)
}

/// In what else two are not alike; where they are not compared, that was said of what forbids it.
fn differences(all: &[Difference], is_compared: bool) -> impl Iterator<Item = Block> {
    all.iter().map(move |difference| {
        let (word, tone) = match difference.weight() {
            Weight::Listed => ("note", Tone::Faint),
            Weight::Across | Weight::Forbids => ("NOT ALIKE", Tone::Warning),
        };
        let said = format!("{word}: {}.", sentences::difference(difference));
        Block::Sentence(Sentence::toned(said, if is_compared { tone } else { Tone::Detail }))
    })
}
