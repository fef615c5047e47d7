//! What stores still held after crashes, in sentences.

use study::{Crash, CrashCase, CrashFindings, CrashMeans, DiskKind, Durability, Promise};
use words::{cuts, units};

/// Stores named in one sentence; of more their number is said.
const MOST_NAMES: usize = 6;

/// Returns what the crashes of a study show, a broken promise first: `redis-unix broke its promise of durability os: in 20 kills 161 of
/// 99,021 acknowledged writes were lost, the oldest 36.0 ms old.`
pub fn headlines(crash: &Crash) -> Vec<String> {
    let of = |promise: Promise| crash.cases.iter().filter(move |case| case.promise == promise);
    let mut sentences: Vec<String> = of(Promise::Broken).map(|case| broken(case, crash.means)).collect();
    let promises = |case: &&CrashCase| case.promises();
    sentences.extend(kept(&of(Promise::Kept).filter(promises).collect::<Vec<_>>(), crash.means));
    sentences.extend(unprovable(crash));
    sentences.extend(of(Promise::Kept).filter(|case| !promises(case)).map(|case| unpromised(case, crash.means)));
    let mut add = |promise: Promise, say: fn(String) -> String| {
        let cases: Vec<&CrashCase> = of(promise).collect();
        sentences.extend((!cases.is_empty()).then(|| say(levels(&cases))));
    };
    add(Promise::NotShown, |levels| format!("Nothing is shown about {levels}."));
    add(Promise::NothingToShow, |levels| {
        format!("There is nothing to show about {levels}: a store whose only level is none promises nothing.")
    });
    sentences
}

fn broken(case: &CrashCase, means: CrashMeans) -> String {
    let level = case.level.unwrap_or(Durability::None);
    let harm = harm(case).join("; ");
    format!("{} broke its promise of durability {level}: in {} {harm}.", case.store, cuts(means, case.measured()))
}

/// What a level promises never to do, and how often it was done.
fn harm(case: &CrashCase) -> Vec<String> {
    let found = case.found();
    let counted = |count: u64, one: &str, several: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{} {several}", units::whole(count))),
    };
    let keeps = case.promises();
    let mut harm: Vec<String> = lost(&found).filter(|_| keeps).into_iter().collect();
    harm.extend(counted(found.torn, "value was torn", "values were torn"));
    harm.extend(counted(found.resurrected, "deleted key came back", "deleted keys came back").filter(|_| keeps));
    harm.extend(counted(
        found.invented,
        "value appeared that was never written",
        "values appeared that were never written",
    ));
    let stuck = case.not_started() as u64;
    harm.extend(counted(stuck, "time it did not start again", "times it did not start again").filter(|_| keeps));
    harm
}

/// `161 of 99,021 acknowledged writes were lost, the oldest 36.0 ms old`; `None` where nothing was.
fn lost(found: &CrashFindings) -> Option<String> {
    let was = match found.lost {
        0 => return None,
        1 => "was",
        _ => "were",
    };
    let (lost, of) = (units::whole(found.lost), units::whole(found.acknowledged));
    Some(format!("{lost} of {of} acknowledged writes {was} lost{}", age(found)))
}

/// How old the oldest of the lost writes was, to follow a sentence.
fn age(found: &CrashFindings) -> String {
    match found.oldest_lost_s {
        None => String::new(),
        Some(age_s) if age_s > 0.0 => format!(", the oldest {} old", units::duration(age_s)),
        Some(_) => ", all acknowledged at the very moment of the crash".to_owned(),
    }
}

/// `sqlite (os, commit) and redis-unix (os) kept what they promise in 20 kills each.`
fn kept(cases: &[&CrashCase], means: CrashMeans) -> Option<String> {
    let made = |case: &&CrashCase| case.measured();
    let (fewest, most) = (cases.iter().map(made).min()?, cases.iter().map(made).max()?);
    let (keep, each) =
        if cases.len() == 1 { ("kept what it promises", "") } else { ("kept what they promise", " each") };
    let at_least = if fewest < most { format!("{fewest} to ") } else { String::new() };
    Some(format!("{} {keep} in {at_least}{}{each}.", levels(cases), cuts(means, most)))
}

/// `redis-unix (none) promised nothing, and lost 121,538 of 553,694 acknowledged writes in 20 kills, the oldest 501 ms old.`
fn unpromised(case: &CrashCase, means: CrashMeans) -> String {
    let (found, cuts) = (case.found(), cuts(means, case.measured()));
    let lost = match found.lost {
        0 => format!("lost none of {} acknowledged writes in {cuts}", units::whole(found.acknowledged)),
        lost => {
            let of = units::whole(found.acknowledged);
            format!("lost {} of {of} acknowledged writes in {cuts}{}", units::whole(lost), age(&found))
        }
    };
    let what = if means == CrashMeans::Power { "promised nothing of a power cut" } else { "promised nothing" };
    let stuck = match case.not_started() {
        0 => String::new(),
        1 => "; 1 time it did not start again".into(),
        times => format!("; {times} times it did not start again"),
    };
    format!("{} {what}, and {lost}{stuck}.", levels(&[case]))
}

/// Which of the promises that were kept only a power cut could break: those of levels that sync.
fn unprovable(crash: &Crash) -> Option<String> {
    let syncs = |case: &&CrashCase| {
        matches!(case.level, Some(Durability::Second | Durability::Commit)) && case.promise == Promise::Kept
    };
    let mut levels: Vec<Durability> = crash.cases.iter().filter(syncs).filter_map(|case| case.level).collect();
    levels.sort_unstable();
    levels.dedup();
    let named = levels.iter().map(|level| level.name()).collect::<Vec<_>>().join(" and ");
    (crash.means == CrashMeans::Kill && !levels.is_empty()).then(|| {
        format!(
            "A kill cannot show the whole promise of {named}: what was written and not yet synced survives a kill in the system's memory, \
             and is lost in a power cut."
        )
    })
}

/// Returns `kept`, `broken`; of a level that promises nothing `none made`, unless what it holds is garbage.
pub fn outcome(case: &CrashCase) -> &'static str {
    match case.promise {
        Promise::Kept if !case.promises() => "none made",
        promise => promise.name(),
    }
}

/// `sqlite (os, commit) and redis-unix (os)`; of many `44 levels of 23 stores`.
fn levels(cases: &[&CrashCase]) -> String {
    let mut stores: Vec<(&str, Vec<&str>)> = Vec::new();
    for case in cases {
        let level = case.level.map_or("no level", Durability::name);
        match stores.iter_mut().find(|(store, _)| *store == case.store) {
            Some((_, levels)) => levels.push(level),
            None => stores.push((&case.store, vec![level])),
        }
    }
    if stores.len() > MOST_NAMES {
        return format!("{} levels of {} stores", cases.len(), stores.len());
    }
    let named: Vec<String> = stores.iter().map(|(store, levels)| format!("{store} ({})", levels.join(", "))).collect();
    match named.as_slice() {
        [some @ .., last] if !some.is_empty() => format!("{} and {last}", some.join(", ")),
        some => some.concat(),
    }
}

/// Returns notes that a row of figures has no room for: what was wrong at a level, with examples, and losses that the level allows.
pub fn notes(case: &CrashCase) -> Vec<String> {
    let found = case.found();
    let mut notes = super::blows::circumstances(case);
    let counts = [
        (found.torn, "torn"),
        (found.resurrected, "resurrected"),
        (found.invented, "invented"),
        (found.holes, "lost although a later write of the same client is there"),
    ];
    let counts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if !counts.is_empty() {
        notes.push(counts.join(", "));
    }
    if case.promise == Promise::Broken {
        notes.extend(found.examples.iter().take(2).cloned());
    }
    if let Some((cut, words)) = case.cuts.iter().find_map(|cut| Some((cut.cut, cut.not_started.as_ref()?))) {
        notes.push(format!("after cut {cut} it did not start again: {words}"));
    }
    if !case.problem.is_empty() {
        notes.push(case.problem.clone());
    }
    let allows = case.promise == Promise::Kept && case.promises();
    if let Some(lost) = lost(&found).filter(|_| allows) {
        notes.push(format!("{lost}, which its level allows"));
    }
    notes
}

/// Returns what the cuts of a kept promise cannot rule out, a sentence for each number of cuts.
pub fn ruled_out(crash: &Crash) -> Vec<String> {
    let mut kept: Vec<(usize, f64)> =
        crash.cases.iter().filter_map(|case| Some((case.measured(), case.not_ruled_out?))).collect();
    kept.sort_by_key(|(cuts, _)| *cuts);
    kept.dedup_by_key(|(cuts, _)| *cuts);
    let sentence = |(count, share): (usize, f64)| {
        format!(
            "A promise kept in {} may still break in up to {} of all {} (at 95 %).",
            cuts(crash.means, count),
            percent(share),
            crashes(crash.means)
        )
    };
    kept.into_iter().map(sentence).collect()
}

/// Returns `78 %`, `0.30 %`: two significant digits, as what cannot be ruled out is never nothing.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = (1.0 - percent.log10().floor()).max(0.0) as usize;
    format!("{percent:.decimals$} %")
}

/// What many of these crashes are called.
fn crashes(means: CrashMeans) -> &'static str {
    match means {
        CrashMeans::Power => "power cuts",
        CrashMeans::Kill | CrashMeans::Freeze | CrashMeans::Command => "kills",
    }
}

/// Returns what this kind of crash does not show.
pub fn beyond(crash: &Crash) -> &'static str {
    match crash.means {
        CrashMeans::Kill => {
            "A kill ends the process at once; what the system holds survives it. A power cut is harder, and is not shown here."
        }
        CrashMeans::Freeze => {
            "Frozen processes themselves lose nothing; what counts is what clients were told meanwhile."
        }
        CrashMeans::Power if crash.disk == Some(DiskKind::Recorded) => {
            "No disk lost its power: what was synced is taken for durable, and a file system or a disk may lose more. As root kvtrial cuts the power of a disk."
        }
        CrashMeans::Power => {
            "The disk is kvtrial's own, below ext4; another file system, or a disk with faults of its own, may lose more."
        }
        CrashMeans::Command => "Only you know what the command ended; kvtrial read what was left.",
    }
}

#[cfg(test)]
mod tests {
    use super::{headlines, notes, outcome, ruled_out};
    use study::{Crash, CrashCase, CrashCut, CrashFindings, CrashMeans, Durability, PowerCut, Promise};

    fn case(store: &str, level: Durability, promise: Promise, found: CrashFindings) -> CrashCase {
        let cut = CrashCut { found, ..CrashCut::default() };
        let cuts = vec![cut, CrashCut::default()];
        CrashCase { store: store.into(), level: Some(level), promise, cuts, ..CrashCase::default() }
    }

    fn found(lost: u64) -> CrashFindings {
        let oldest_lost_s = (lost > 0).then_some(0.036);
        CrashFindings { acknowledged: 99_021, lost, oldest_lost_s, ..CrashFindings::default() }
    }

    #[test]
    fn a_broken_promise_comes_first_then_what_was_kept_then_what_is_not_shown() {
        let torn = CrashFindings { torn: 1, invented: 2, ..found(5) };
        let cases = vec![
            case("sqlite", Durability::Os, Promise::Kept, found(0)),
            case("redis", Durability::Os, Promise::Broken, found(161)),
            case("lmdb", Durability::Commit, Promise::NotShown, CrashFindings::default()),
            case("sqlite", Durability::Commit, Promise::Kept, found(0)),
            case("redis", Durability::None, Promise::Broken, torn),
        ];
        assert_eq!(
            headlines(&Crash { cases, ..Crash::default() }),
            [
                "redis broke its promise of durability os: in 2 kills 161 of 99,021 acknowledged writes were lost, the oldest 36.0 ms old.",
                "redis broke its promise of durability none: in 2 kills 1 value was torn; 2 values appeared that were never written.",
                "sqlite (os, commit) kept what they promise in 2 kills each.",
                "A kill cannot show the whole promise of commit: what was written and not yet synced survives a kill in the system's memory, \
                 and is lost in a power cut.",
                "Nothing is shown about lmdb (commit).",
            ]
        );
    }

    #[test]
    fn a_level_that_promises_nothing_is_said_to_have_lost_what_it_lost_and_to_have_kept_nothing() {
        let cases = vec![
            case("redis", Durability::None, Promise::Kept, found(12_538)),
            case("tkrzw", Durability::None, Promise::Kept, found(0)),
            case("redis", Durability::Second, Promise::Kept, found(0)),
        ];
        assert_eq!(
            headlines(&Crash { cases, ..Crash::default() }),
            [
                "redis (second) kept what it promises in 2 kills.",
                "A kill cannot show the whole promise of second: what was written and not yet synced survives a kill in the system's memory, \
                 and is lost in a power cut.",
                "redis (none) promised nothing, and lost 12,538 of 99,021 acknowledged writes in 2 kills, the oldest 36.0 ms old.",
                "tkrzw (none) promised nothing, and lost none of 99,021 acknowledged writes in 2 kills.",
            ]
        );
        let said = |level| outcome(&case("redis", level, Promise::Kept, found(9)));
        assert_eq!([said(Durability::None), said(Durability::Os)], ["none made", "kept"]);
    }

    #[test]
    fn in_power_cuts_os_is_said_to_promise_nothing_and_commit_to_have_been_kept() {
        let cut_off = |level, found| {
            let mut case = case("redis", level, Promise::Kept, found);
            case.cuts.iter_mut().for_each(|cut| cut.power = Some(PowerCut::default()));
            case
        };
        let mut stuck = cut_off(Durability::Os, found(12_538));
        stuck.cuts[1].not_started = Some("the file is empty".into());
        let crash = Crash {
            means: CrashMeans::Power,
            cases: vec![stuck, cut_off(Durability::Commit, found(0))],
            ..Crash::default()
        };
        assert_eq!(
            headlines(&crash),
            [
                "redis (commit) kept what it promises in 2 power cuts.",
                "redis (os) promised nothing of a power cut, and lost 12,538 of 99,021 acknowledged writes in 2 power cuts, the oldest 36.0 ms old; \
                 1 time it did not start again.",
            ]
        );
        assert_eq!([outcome(&crash.cases[0]), outcome(&crash.cases[1])], ["none made", "kept"]);
    }

    #[test]
    fn of_many_stores_that_keep_their_promise_the_number_is_said() {
        let cases: Vec<CrashCase> =
            (0..8).map(|at| case(&format!("store{at}"), Durability::Os, Promise::Kept, found(0))).collect();
        let said = headlines(&Crash { cases, ..Crash::default() });
        assert_eq!(said, ["8 levels of 8 stores kept what they promise in 2 kills each."]);
    }

    #[test]
    fn what_a_level_may_lose_is_said_and_not_held_against_it() {
        let said = notes(&case("redis", Durability::Second, Promise::Kept, found(161)));
        assert_eq!(
            said,
            ["161 of 99,021 acknowledged writes were lost, the oldest 36.0 ms old, which its level allows"]
        );
        assert_eq!(notes(&case("redis", Durability::Os, Promise::Kept, found(0))), [""; 0]);
    }

    #[test]
    fn a_write_lost_as_its_acknowledgement_came_has_no_age() {
        let found = CrashFindings { oldest_lost_s: Some(0.0), ..found(9) };
        assert_eq!(
            headlines(&Crash {
                cases: vec![case("redis", Durability::Os, Promise::Broken, found)],
                ..Crash::default()
            }),
            [
                "redis broke its promise of durability os: in 2 kills 9 of 99,021 acknowledged writes were lost, all acknowledged at the very \
              moment of the crash."
            ]
        );
    }

    #[test]
    fn what_the_cuts_cannot_rule_out_is_said_once_for_each_number_of_them() {
        let mut one = case("redis", Durability::Os, Promise::Kept, found(0));
        one.not_ruled_out = Some(0.776);
        let other = CrashCase { cuts: vec![CrashCut::default(); 20], not_ruled_out: Some(0.139), ..one.clone() };
        let many = CrashCase { cuts: vec![CrashCut::default(); 983], not_ruled_out: Some(0.003_043), ..one.clone() };
        let crash = Crash { cases: vec![many, other, one.clone(), one], ..Crash::default() };
        assert_eq!(
            ruled_out(&crash),
            [
                "A promise kept in 2 kills may still break in up to 78 % of all kills (at 95 %).",
                "A promise kept in 20 kills may still break in up to 14 % of all kills (at 95 %).",
                "A promise kept in 983 kills may still break in up to 0.30 % of all kills (at 95 %).",
            ]
        );
    }
}
