//! What stores still held after crashes.

pub mod blows;
mod chart;
mod seen;
mod sentences;
mod table;

use crate::block::{Block, Tone};
use crate::finding::{Arrangement, Finding, FindingPart};
use crate::view::View;
pub use sentences::outcome;
use sentences::{headlines, ruled_out};
use study::{Crash, CrashCase, CrashMeans, CrashMoment, Promise, StruckNodes};

/// Says what stores still held after the crashes of a study.
pub fn find(view: &View<'_>) -> Option<Finding> {
    let crash = view.study.crash.as_ref()?;
    Some(Finding {
        id: "crashes",
        title: "Crashes",
        intro: intro(crash.means).into(),
        charts: Arrangement::Below,
        parts: FindingPart::whole(blocks(crash, view)),
    })
}

fn intro(means: CrashMeans) -> &'static str {
    match means {
        CrashMeans::Power => {
            "Clients wrote while the power was cut at a moment chosen by the seed; then the store was started on what was left, and every key was \
             read."
        }
        CrashMeans::Kill | CrashMeans::Freeze | CrashMeans::Command => {
            "Clients wrote while everything was killed at a moment chosen by the seed; then the store was started on what was left, and every \
             key was read."
        }
    }
}

/// The table is there without charts, too: it says why there are none.
fn blocks(crash: &Crash, view: &View<'_>) -> Vec<Block> {
    let mut blocks = heads(crash);
    if (crash.means, crash.nodes, &crash.during)
        != (CrashMeans::default(), StruckNodes::default(), &CrashMoment::default())
    {
        blocks.push(Block::plain(blows::how(crash)));
    }
    blocks.push(Block::Table(table::table(crash)));
    blocks.extend(crash.cases.iter().flat_map(notes).chain(ruled_out(crash)).map(Block::plain));
    blocks.extend(seen::blocks(crash));
    blocks.push(Block::faint(sentences::beyond(crash)));
    blocks.extend(view.charts(|| [seen::charts(crash), chart::charts(crash)].concat()));
    blocks
}

/// Broken promises first.
fn heads(crash: &Crash) -> Vec<Block> {
    let broken = crash.cases.iter().filter(|case| case.promise == Promise::Broken).count();
    let tone = |at: usize| match at {
        broken_one if broken_one < broken => Tone::Bad,
        0 => Tone::Strong,
        _ => Tone::Plain,
    };
    headlines(crash).into_iter().enumerate().map(|(at, sentence)| Block::headline(sentence, tone(at))).collect()
}

/// What was wrong at a level, and where the files of its crashes are.
fn notes(case: &CrashCase) -> Vec<String> {
    let name = case.name();
    let kept = case.cuts.iter().filter_map(|cut| cut.kept.as_ref());
    let kept = kept.map(|kept| format!("its files are in {}. Open them:\n{}", kept.directory, kept.open));
    sentences::notes(case).into_iter().chain(kept).map(|note| format!("{name}: {note}")).collect()
}
