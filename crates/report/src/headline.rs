//! The head of the page: what the findings say first.

use findings::{Block, Finding, Sentence, Tone};
use study::{Status, Study};
use words::units::whole;

/// Takes the headlines out of the findings of a report on this many studies, most important first.
pub(crate) fn headlines(study: &Study, studies: usize, findings: &mut Vec<Finding>) -> Vec<String> {
    let taken = findings::take(findings, |block| matches!(block, Block::Headline(_))).into_iter().flatten();
    let sentence = |block| if let Block::Headline(it) = block { Some(it) } else { None };
    let mut said: Vec<Sentence> = taken.filter_map(sentence).collect();
    // How to read the others comes last.
    said.sort_by_key(|it| it.tone == Tone::Faint);
    let overlaid = (studies > 1).then(|| {
        format!(
            "{studies} studies overlaid. Their trials did not alternate, so a change of the machine in between looks like a \
             difference between the stores; kvtrial compare tests one."
        )
    });
    let said: Vec<String> = said.into_iter().map(|it| it.text).chain(overlaid).collect();
    if said.is_empty() { vec![no_result(study)] } else { said }
}

fn no_result(study: &Study) -> String {
    let void = study.cells.iter().filter(|cell| cell.verdict.status == Status::Void).count();
    match void {
        0 if study.cells.is_empty() && study.crash.is_none() => "This study has no cells.".into(),
        0 if !study.cells.is_empty() && study.cells.iter().all(|cell| cell.baseline && !cell.trials.is_empty()) => {
            "Only baselines were measured: there is no store to rank.".into()
        }
        0 => "No result: no store of this study has been measured yet.".into(),
        n => format!(
            "No result that can be trusted: {} of {} cells are void.",
            whole(n as u64),
            whole(study.cells.len() as u64)
        ),
    }
}
