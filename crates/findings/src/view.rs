//! What findings look at: a study, its cells in the groups that may be ranked, and how each store is distinguished.

use crate::block::Block;
use crate::chart::Chart;
use crate::finding::FindingPart;
use crate::identity::Identities;
use analysis::{Group, Part};
use study::{Cell, Study};
use words::Batches;

/// Field of a cell of several studies that names its own; never written to a file.
pub const STUDY: &str = "report_study";

/// Points of all curves over time together: what keeps the page of a large study small.
const MOST_POINTS: usize = 24_000;
/// Points of one curve, and the least that still show a stall.
const POINTS_OF_A_CURVE: std::ops::RangeInclusive<usize> = 24..=300;

/// Cells with the same parameters, in the groups that may be ranked. Ranking tests every pair of them, so it is done once.
pub struct Grouped<'a> {
    /// The cells.
    pub part: Part<'a>,
    /// The same in groups.
    pub groups: Vec<Group<'a>>,
}

impl<'a> Grouped<'a> {
    /// Ranks all cells of a study.
    pub fn all(study: &'a Study) -> Vec<Grouped<'a>> {
        analysis::ranking(study).into_iter().map(|(part, groups)| Grouped { part, groups }).collect()
    }

    /// Returns the cells.
    pub fn cells(&self) -> &[&'a Cell] {
        &self.part.cells
    }

    /// Returns what distinguishes its cells from those of other parts; empty where nothing varies.
    pub fn label(&self) -> &str {
        &self.part.label
    }
}

/// What findings look at.
pub struct View<'a> {
    /// The study, with summaries.
    pub study: &'a Study,
    /// Its cells, without the steps of a search: ranking one against the next says nothing.
    pub parts: Vec<&'a Grouped<'a>>,
    /// How stores are distinguished.
    pub identities: Identities,
    /// What its operations carry.
    pub batches: Option<Batches>,
    /// Points one curve may have.
    pub points: usize,
    /// Whether charts are wanted.
    pub pictures: Pictures,
}

/// What a medium does with charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pictures {
    /// It draws them.
    Drawn,
    /// It has none, so that none need be made.
    LeftOut,
}

impl<'a> View<'a> {
    /// Makes the view of a study whose cells were ranked.
    pub fn of(study: &'a Study, grouped: &'a [Grouped<'a>]) -> View<'a> {
        let step = |it: &&Grouped<'_>| {
            let rates =
                !study.rate_search.is_empty() && it.part.cells.iter().all(|cell| cell.params.contains_key("rate"));
            study.tune.is_some() || rates
        };
        let curves = study.cells.iter().filter(|cell| !cell.baseline).count().max(1);
        View {
            study,
            parts: grouped.iter().filter(|it| !step(it)).collect(),
            identities: Identities::of(study),
            batches: Batches::of(study),
            pictures: Pictures::Drawn,
            points: (MOST_POINTS / curves).clamp(*POINTS_OF_A_CURVE.start(), *POINTS_OF_A_CURVE.end()),
        }
    }

    /// Returns the same for a medium without pictures.
    pub fn without_pictures(self) -> View<'a> {
        View { pictures: Pictures::LeftOut, ..self }
    }

    /// Returns whether the study is a search, which says itself what came of its cells.
    pub(crate) fn is_search(&self) -> bool {
        self.study.tune.is_some() || !self.study.rate_search.is_empty()
    }

    /// Returns these charts, where they are wanted.
    pub(crate) fn charts<C: IntoIterator<Item = Chart>>(&self, make: impl FnOnce() -> C) -> Vec<Block> {
        match self.pictures {
            Pictures::Drawn => make().into_iter().map(Block::Chart).collect(),
            Pictures::LeftOut => Vec::new(),
        }
    }

    /// Returns what a subject says of each part.
    pub(crate) fn by_part(&self, blocks: impl Fn(&Grouped<'_>) -> Vec<Block>) -> Vec<FindingPart> {
        self.parts.iter().map(|it| FindingPart { label: it.part.label.clone(), blocks: blocks(it) }).collect()
    }

    /// Returns the sentence on what an operation is, where it may be a batch.
    pub(crate) fn operation(&self) -> String {
        self.batches.map_or(String::new(), Batches::operation)
    }
}
