//! A decision in words.

use crate::needs;
use crate::ranking::verdict::ahead;
use analysis::Metric;
use study::{Cell, Class, Decision, Meets, Quantity, RaceEnd, RejectionKind, StoreChoice, Study};
use words::{class_heading, units};

/// From this many others on, those that are as good are a list behind the first.
const MANY: usize = 3;

/// Returns ` It meets both needs.`, or nothing.
fn sentence(who: &str, what: &str) -> String {
    if what.is_empty() { String::new() } else { format!(" {who} {what}.") }
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
            let said: Vec<String> = [meets, lead.unwrap_or_default()].into_iter().filter(|it| !it.is_empty()).collect();
            format!("{of}{take} {first}.{}", sentence("It", &said.join(" and ")))
        }
        [_, others @ ..] if others.len() >= MANY => {
            let others = others.join(", ");
            format!("{of}{take} {first}.{} As good, as far as this shows: {others}.", sentence("It", &meets))
        }
        [.., last] => {
            let others = decision.take[..decision.take.len() - 1].join(", ");
            let why = match decision.ended {
                RaceEnd::Alike | RaceEnd::Decided => "they hardly differ",
                RaceEnd::Budget => "no difference between them is shown in this time",
                RaceEnd::Interrupted => "no difference between them was shown when it was interrupted",
            };
            format!("{of}{take} {others} or {last}: {why}.{}", sentence("Each", &meets))
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

/// Says what no race of this kind shows.
pub(super) fn never_shown(study: &Study) -> String {
    let clients = study.cells.iter().find_map(|cell| cell.params.get("clients"));
    let clients = match clients.map_or("1", String::as_str) {
        "1" => "more than 1 client".to_owned(),
        clients => format!("more than {clients} clients"),
    };
    format!("Not tried: power cuts, {clients}, more data than this.")
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
