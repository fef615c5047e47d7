//! Two studies of crashes against each other, in plain words.

use super::sentences::{across, p, percent, unlike};
use super::{ComparisonText, alone, differences, source};
use crate::block::{Block, FigureColumn, FigureTable, Sentence, Tone};
use crate::finding::FindingPart;
use analysis::{CrashComparison, CrashPair, CrashSide, CrashTest, Obstacle, PromiseShift};
use study::{Promise, Quantity};
use words::units;

/// Returns what a comparison of crashes found.
pub fn of_crashes(comparison: &CrashComparison) -> ComparisonText {
    let sources = comparison.sources.iter();
    ComparisonText {
        sources: sources.map(|it| source(it, &[&it.input, &it.started_at])).collect(),
        decisions: Vec::new(),
        pairs: comparison.pairs.iter().map(part).collect(),
        missing: comparison.alone.iter().map(alone).collect(),
        doubts: Vec::new(),
        rulings: Vec::new(),
        legend: legend(&comparison.pairs),
    }
}

fn part(pair: &CrashPair) -> FindingPart {
    let is_compared = pair.obstacle.is_none();
    let tone = match pair.shift {
        _ if !is_compared => Tone::Warning,
        PromiseShift::Regression => Tone::Bad,
        PromiseShift::NotShown => Tone::Warning,
        PromiseShift::Repaired => Tone::Good,
        PromiseShift::Same => Tone::Strong,
    };
    let mut blocks = vec![Block::headline(sentence(pair) + ".", tone)];
    if is_compared {
        let columns = vec![FigureColumn::words(""), FigureColumn::words("before → after")];
        let rows = figures(pair).into_iter().map(|(word, figure)| vec![word.into(), figure.into()]).collect();
        blocks.push(Block::Table(FigureTable { title: pair.title(), columns, rows, ..FigureTable::default() }));
    }
    blocks.extend(problems(pair).map(Block::warning));
    blocks.extend(differences(&pair.differences, is_compared));
    FindingPart { label: pair.title(), blocks }
}

/// Returns the change of a promise, or why the two levels are not compared: `redis,durability=os: REGRESSION: after broke its promise,
/// before kept it`.
pub fn sentence(pair: &CrashPair) -> String {
    let heading = if pair.cell.is_empty() { String::new() } else { format!("{}: ", pair.cell) };
    let (a, b) = (&pair.a.name, &pair.b.name);
    let said = match (pair.obstacle, pair.shift) {
        (Some(Obstacle::Across), _) => return format!("{}: {}", pair.title(), across(&pair.differences)),
        (Some(_), _) => return format!("{}: {}", pair.title(), unlike(&pair.differences)),
        (None, PromiseShift::Regression) => format!("REGRESSION: {b} broke its promise, {a} kept it"),
        (None, PromiseShift::Repaired) => format!("{b} kept its promise, {a} broke it"),
        (None, PromiseShift::NotShown) => not_shown(pair),
        (None, PromiseShift::Same) => match pair.b.promise {
            Promise::Broken => format!("{b} broke its promise, as {a} did{}", how_often(pair)),
            Promise::NothingToShow => "nothing to show: a store whose only level is none keeps nothing".into(),
            Promise::Kept | Promise::NotShown => format!("{b} kept its promise, as {a} did"),
        },
    };
    heading + &said
}

/// `, more often`, where the data show it.
fn how_often(pair: &CrashPair) -> &'static str {
    let share = |side: &CrashSide| side.broken_share.map_or(0.0, |share| share.value);
    match pair.breaks.filter(CrashTest::is_separated) {
        Some(_) if share(&pair.b) > share(&pair.a) => ", and more often",
        Some(_) => ", but less often",
        None => "",
    }
}

fn not_shown(pair: &CrashPair) -> String {
    let silent = |side: &&CrashSide| side.promise != Promise::Kept && side.promise != Promise::Broken;
    let names: Vec<&str> = [&pair.a, &pair.b].into_iter().filter(silent).map(|side| side.name.as_str()).collect();
    format!("nothing is shown of its promise by {}", names.join(" and by "))
}

/// The figures of a pair, before and after: a word, and the figure of each side.
fn figures(pair: &CrashPair) -> Vec<(&'static str, String)> {
    let (a, b) = (&pair.a, &pair.b);
    let mut figures = vec![("promise", format!("{} → {}", a.promise.name(), b.promise.name()))];
    if a.cuts + b.cuts == 0 {
        return figures;
    }
    let breaks = format!("{} → {}", broken(a), broken(b));
    figures.push(("broken in", breaks + &pair.breaks.map_or(String::new(), |test| format!(": {}", tested(&test)))));
    let lossy = |side: &CrashSide| format!("{} of {} crashes", side.lossy, side.cuts);
    let lost = |side: &CrashSide| format!("{} of {}", units::whole(side.lost), units::whole(side.acknowledged));
    let is_own = (a.lossy, b.lossy) != (a.broken, b.broken);
    let test = pair.losses.filter(|_| is_own).map_or(String::new(), |test| format!(": {}", tested(&test)));
    figures.push(("lost in", format!("{} → {}{test}", lossy(a), lossy(b))));
    figures.push(("lost writes", format!("{} → {}", lost(a), lost(b))));
    if a.lost + b.lost > 0 {
        let oldest = |side: &CrashSide| side.oldest_lost_s.map_or("none".into(), units::duration);
        figures.push(("oldest lost", format!("{} → {}", oldest(a), oldest(b))));
    }
    figures.push(("recovery", recovery(pair)));
    figures
}

/// `3 of 20 crashes (5.2 % to 36 %)`; `0 of 20 crashes (up to 14 %)`.
fn broken(side: &CrashSide) -> String {
    let share = match side.broken_share {
        None => String::new(),
        Some(share) if side.broken == 0 => format!(" (up to {})", percent(share.high)),
        Some(share) => format!(" ({} to {})", percent(share.low), percent(share.high)),
    };
    format!("{} of {} crashes{share}", side.broken, side.cuts)
}

/// What a test shows, and how many crashes would show more.
fn tested(test: &CrashTest) -> String {
    let p = p(test.p_holm);
    match test.cuts_needed {
        _ if test.is_separated() => format!("more than chance ({p})"),
        Some(cuts) => format!("too few crashes to separate the two ({p}); crash both with --cuts {cuts} or more"),
        None => format!("no difference is shown ({p})"),
    }
}

/// `1.10 ms → 1.30 ms (medians, n 20 and 20; second 1.10 to 1.31 times the first, at 95 %)`.
fn recovery(pair: &CrashPair) -> String {
    let median = |side: &CrashSide| side.recovery_s.map_or("none".into(), |it| units::duration(it.value));
    let n = |side: &CrashSide| side.recovery_s.map_or(0, |it| it.n);
    let ratio = |ratio: Quantity| {
        let level = percent(ratio.level);
        format!("; the second {:.2} to {:.2} times the first, at {level}", ratio.low, ratio.high)
    };
    let ratio = pair.recovery_ratio.filter(|it| it.level > 0.0).map_or(String::new(), ratio);
    let (a, b) = (&pair.a, &pair.b);
    format!("{} → {} (medians, n {} and {}{ratio})", median(a), median(b), n(a), n(b))
}

/// Why crashes of a side are missing: `after: the server died`.
fn problems(pair: &CrashPair) -> impl Iterator<Item = String> {
    let sides = [&pair.a, &pair.b].into_iter().filter(|side| !side.problem.is_empty());
    sides.map(|side| format!("{}: {}", side.name, side.problem))
}

/// How to read it: as far as anything was compared, and any crash broke a promise.
fn legend(pairs: &[CrashPair]) -> Vec<Sentence> {
    if pairs.iter().all(|pair| pair.obstacle.is_some()) {
        return Vec::new();
    }
    let tests = pairs.iter().filter(|pair| pair.breaks.or(pair.losses).is_some()).count();
    let corrected = if tests > 1 { format!(", corrected for {tests} comparisons (Holm)") } else { String::new() };
    let lines = [
        "in brackets: the share of all crashes that may break the promise, at 95 %".to_owned(),
        format!("p: chance alone would show such a difference this often (Fisher's exact test{corrected})"),
        "one crash that breaks a promise shows that it is not kept; p says whether the first study kept it any better"
            .into(),
    ];
    let said = lines.into_iter().take(if tests == 0 { 1 } else { 3 });
    said.map(|line| Sentence::toned(line, Tone::Faint)).collect()
}
