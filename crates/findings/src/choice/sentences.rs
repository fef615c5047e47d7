//! A decision in words.

use super::LOST;
use crate::figures;
use crate::needs;
use crate::ranking::verdict::ahead;
use analysis::{Metric, Unit};
use study::{
    Cell, Class, Decision, Durability, Meets, MoreData, Promise, Quantity, RaceEnd, RejectionKind, StoreChoice, Study,
};
use words::{class_heading, units};

/// From this many others on, those that are as good are a list behind the first.
const MANY: usize = 3;

/// Returns ` It meets both needs and is faster.`, or nothing.
fn sentence(who: &str, what: &[&str]) -> String {
    let what: Vec<&str> = what.iter().copied().filter(|it| !it.is_empty()).collect();
    match what.as_slice() {
        [] => String::new(),
        [one] => format!(" {who} {one}."),
        [firsts @ .., last] => format!(" {who} {} and {last}.", firsts.join(", ")),
    }
}

/// Says what kills of a store have shown, as the end of a sentence about it.
fn kept(study: &Study, store: &str) -> String {
    let cell = cells(study, [&store.to_owned()]).into_iter().next();
    let shown = cell.and_then(|cell| Some((cell.durability?, cell.durability_shown.as_ref()?)));
    let Some((level, shown)) = shown.filter(|(_, shown)| shown.promise == Promise::Kept) else { return String::new() };
    let kills = words::counted(u64::from(shown.cuts), "kill");
    match level {
        Durability::Second => format!("lost nothing older than a second in {kills}"),
        _ => format!("kept every acknowledged write in {kills}"),
    }
}

/// Says which store to take, what it meets, and how far it is ahead of the next.
pub(super) fn take(study: &Study, decision: &Decision) -> String {
    let of = decision.class.map_or(String::new(), |class| match decision.durability {
        Some(level) => format!("{}, durability {level}: ", class_name(class)),
        None => format!("{}: ", class_name(class)),
    });
    let need_count = study.needs.len();
    let Some(first) = decision.take.first() else {
        let cells = cells(study, decision.out.iter().map(|it| &it.store).chain(&decision.not_shown));
        return match (cells.is_empty(), need_count) {
            (false, 1..) => needs::verdict(&cells),
            _ => format!("{of}no store could be measured."),
        };
    };
    let meets = match need_count {
        0 => String::new(),
        1 => format!("meets {}", study.needs[0]),
        2 => "meets both needs".into(),
        count => format!("meets all {} needs", units::whole(count as u64)),
    };
    let metric = metric(study, first);
    let next = decision.also.first().and_then(|next| Some((next, next.times.as_ref()?)));
    let lead = next.map(|(next, times): (_, &Quantity)| ahead(metric, "is", &next.store, times));
    let take = if of.is_empty() { "Take" } else { "take" };
    match decision.take.as_slice() {
        [_] => {
            let said = [&meets, lead.as_deref().unwrap_or_default(), &kept(study, first)];
            format!("{of}{take} {first}.{}", sentence("It", &said))
        }
        [_, others @ ..] if others.len() >= MANY => {
            let others = others.join(", ");
            let said = sentence("It", &[&meets, &kept(study, first)]);
            format!("{of}{take} {first}.{said} As good, as far as this shows: {others}.")
        }
        [.., last] => {
            let others = decision.take[..decision.take.len() - 1].join(", ");
            let why = match decision.ended {
                RaceEnd::Alike | RaceEnd::Decided => "they hardly differ",
                RaceEnd::Budget => "no difference between them is shown in this time",
                RaceEnd::Interrupted => "no difference between them was shown when it was interrupted",
            };
            format!("{of}{take} {others} or {last}: {why}.{}", sentence("Each", &[&meets]))
        }
        [] => String::new(),
    }
}

/// Says how the first is set up, in lines to be copied.
pub(super) fn set_up(decision: &Decision) -> Option<String> {
    let first = decision.take.first()?;
    (!decision.set_up.is_empty()).then(|| format!("Set {first} up as it was measured:\n{}", decision.set_up.join("\n")))
}

/// Says which others are good enough, and what choosing them costs.
pub(super) fn also(study: &Study, decision: &Decision) -> Option<String> {
    let metric = metric(study, decision.take.first()?);
    let what = if metric == Metric::P99 { "p99" } else { "time" };
    let each: Vec<String> = decision
        .also
        .iter()
        .map(|other| match other.times {
            Some(times) => format!("{} ({} the {what})", other.store, units::ratio(times.value)),
            None => other.store.clone(),
        })
        .collect();
    let head = if study.needs.is_empty() { "Behind" } else { "Also good enough" };
    (!each.is_empty()).then(|| format!("{head}: {}.", each.join(", ")))
}

/// Says which are not, each with its reason.
pub(super) fn out(study: &Study, decision: &Decision) -> Option<String> {
    let each = decision.out.iter().map(|it| {
        let why = match it.kind {
            RejectionKind::Missed => {
                let cells = cells(study, [&it.store]);
                cells.first().map_or_else(|| it.because.clone(), |cell| needs::whys(cell, Meets::Missed))
            }
            RejectionKind::Void if it.because.is_empty() => "void".into(),
            RejectionKind::Void => format!("void: {}", it.because.replace('_', " ")),
            RejectionKind::NotRun => "not run".into(),
            RejectionKind::Lost => LOST.into(),
        };
        format!("{} ({why})", it.store)
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| format!("Not: {}.", each.join(", ")))
}

/// Says of which stores nothing is shown.
pub(super) fn not_shown(study: &Study, decision: &Decision) -> Option<String> {
    let cells = cells(study, &decision.not_shown);
    let each: Vec<String> = cells
        .iter()
        .map(|cell| match (cell.was_run(), cell.meets.is_empty()) {
            (false, _) => format!("{} (no trial of it was finished in this time)", cell.store),
            (true, true) => cell.store.clone(),
            (true, false) => format!("{} ({})", cell.store, needs::whys(cell, Meets::NotShown)),
        })
        .collect();
    let more = if needs::has_figures(&cells) { " A longer --budget may tell." } else { "" };
    (!each.is_empty()).then(|| format!("Not shown of: {}.{more}", each.join(", ")))
}

/// Says what other settings of the best have shown.
pub(super) fn settings(decision: &Decision) -> Option<String> {
    decision.take.first()?;
    let tried = match decision.settings_tried {
        0 => return None,
        count => words::counted(u64::from(count), "other setting"),
    };
    Some(match &decision.setting {
        Some(setting) => {
            format!("Of {tried} of the best, tried one at a time, {setting} is ahead of them as they come.")
        }
        None => format!("{tried} of the best, tried one at a time: none is shown to be ahead of them as they come."),
    })
}

/// Says what the first to take did with more data.
pub(super) fn more_data(study: &Study, decision: &Decision) -> Option<String> {
    let (first, more) = (decision.take.first()?, decision.more_data.as_ref()?);
    let MoreData { times, param, value, because } = more;
    if *times == 0 {
        return Some(format!("More data was not tried: {because}."));
    }
    let value = value.parse().map_or_else(|_| value.clone(), units::whole);
    let head = format!("{times} times the data ({param}={value})");
    if !because.is_empty() {
        return Some(format!("{head} was not tried: {because}."));
    }
    let is_it = |cell: &&Cell| cell.store == *first && cell.varied.contains_key(param);
    let cell = study.cells.iter().find(is_it)?;
    if !cell.verdict.is_ranked() {
        let reason = cell.verdict.reasons.first().map_or(String::new(), |reason| reason.kind.name().replace('_', " "));
        return Some(format!("With {head} {first} was void: {reason}."));
    }
    let metric = Metric::ranking(cell);
    let figure = |cell: &Cell| Some(figures::value(metric.of_cell(cell)?.value, metric.unit()));
    let what = match metric.unit() {
        Unit::PerSecond => "rate",
        Unit::Seconds => "time",
        _ => metric.name(),
    };
    let (now, before) = (figure(cell)?, figure(cells(study, [first]).first()?)?);
    Some(format!("With {head}, in one trial: {what} {now}, against {before}."))
}

/// Says what was not tried.
pub(super) fn never_shown(study: &Study, choice: &StoreChoice) -> String {
    let clients = study.cells.iter().find_map(|cell| cell.params.get("clients"));
    let clients = match clients.map_or("1", String::as_str) {
        "1" => "more than 1 client".to_owned(),
        clients => format!("more than {clients} clients"),
    };
    let taken: Vec<&Decision> = choice.decisions.iter().filter(|decision| !decision.take.is_empty()).collect();
    let is_killed = |decision: &&Decision| !kept(study, &decision.take[0]).is_empty();
    let has_more = |decision: &&Decision| decision.more_data.as_ref().is_some_and(|more| more.because.is_empty());
    let mut all = vec!["power cuts"];
    if !taken.iter().all(is_killed) {
        all.push("kills");
    }
    all.push(&clients);
    if !taken.iter().all(has_more) {
        all.push("more data than this");
    }
    if taken.iter().all(|decision| decision.settings_tried == 0) {
        all.push("other settings");
    }
    format!("Not tried: {}.", all.join(", "))
}

/// Says what it took.
pub(super) fn effort(choice: &StoreChoice) -> String {
    let trials = units::whole(u64::from(choice.trials));
    let [used, budget] = [choice.used_s, choice.budget_s].map(units::duration);
    format!("{trials} trials in {used} of {budget}.")
}

fn class_name(class: Class) -> String {
    class_heading(class).split(':').next().unwrap_or_default().to_owned()
}

fn metric(study: &Study, store: &str) -> Metric {
    study.cells.iter().find(|cell| cell.store == store).map_or(Metric::Makespan, Metric::ranking)
}

fn cells<'s, 'n>(study: &'s Study, names: impl IntoIterator<Item = &'n String>) -> Vec<&'s Cell> {
    let find = |name: &String| study.cells.iter().find(|cell| cell.store == *name && !cell.baseline);
    names.into_iter().filter_map(find).collect()
}
