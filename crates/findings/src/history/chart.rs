//! The smallest contradiction as a timeline: a row per client, a bar per operation.

use super::Origin;
use super::sentences::{HistoryVerdict, act, ending, key_name, outcome, overlooked, sentence, span_s};
use crate::block::{FigureColumn, FigureTable, FigureText, Tone};
use crate::chart::{Chart, DataTable, slug};
use crate::faults::apart;
use crate::identity::label;
use serde_json::{Value, json};
use study::{Cell, FaultRecord, History, HistoryOperation, TrialRecord};
use words::units;

const NOTE: &str = "A row per client, a bar per operation on the same key, from when it was sent to when it was answered; at it what it \
                    wrote or read. Each operation took effect at some moment within its bar; there is no choice of moments in which every \
                    read sees the last write before it. Shaded: what happened to a node meanwhile.";

/// The share of the time that is left free on both sides, for what is written at the bars.
const ROOM: f64 = 0.08;

/// The span from which on the axis has the time of the trial, in seconds: a fault is asked for by that.
const SECONDS_FROM_S: f64 = 0.2;

/// Returns a timeline for each store whose history contradicts itself.
pub(super) fn charts(seen: &[(&Cell, &TrialRecord, &History)], part: &str) -> Vec<Chart> {
    let drawn = seen.iter().filter(|(_, _, history)| !history.smallest.is_empty());
    let chart = |(cell, trial, history): &(&Cell, &TrialRecord, &History)| {
        timeline(&format!("{} {part}", label(cell)), &label(cell), history, &trial.faults, Origin::FirstPhase)
    };
    drawn.map(chart).collect()
}

/// Returns the timeline of the smallest contradiction of a store with this name; the place is the chart's own.
pub(crate) fn timeline(place: &str, name: &str, history: &History, faults: &[FaultRecord], origin: Origin) -> Chart {
    let what = match overlooked(history) {
        Some(_) => "a stale read",
        None => "the smallest contradiction",
    };
    Chart {
        id: slug(&format!("histories {place}")),
        title: format!("{name}: {what}, {}", key_name(history.smallest[0].key, origin)),
        note: NOTE.into(),
        description: sentence(name, faults, history),
        height: 120 + 58 * rows(&history.smallest, origin).len() as u32,
        option: option(faults, history, origin),
        table: operations(history),
    }
}

/// The rows, one per client, in the order in which they are first heard of.
fn rows(operations: &[HistoryOperation], origin: Origin) -> Vec<String> {
    let mut clients: Vec<u32> = Vec::new();
    for it in operations {
        if !clients.contains(&it.client) {
            clients.push(it.client);
        }
    }
    clients.into_iter().map(|client| origin.client(client)).collect()
}

/// The axis of time.
struct Axis {
    from_s: f64,
    to_s: f64,
    zero_s: f64,
    unit_s: f64,
    name: &'static str,
}

impl Axis {
    fn of(operations: &[HistoryOperation], origin: Origin) -> Axis {
        let (first_s, last_s) = span_s(operations).unwrap_or_default();
        let span_s = (last_s - first_s).max(1e-6);
        let (from_s, to_s) = (first_s - ROOM * span_s, last_s + ROOM * span_s);
        match span_s >= SECONDS_FROM_S {
            true => Axis { from_s, to_s, zero_s: 0.0, unit_s: 1.0, name: origin.axis() },
            false => {
                let name = "milliseconds since the first of these operations was sent";
                Axis { from_s, to_s, zero_s: first_s, unit_s: 1e-3, name }
            }
        }
    }

    fn at(&self, at_s: f64) -> f64 {
        (at_s - self.zero_s) / self.unit_s
    }

    fn share(&self, at_s: f64) -> f64 {
        (at_s - self.from_s) / (self.to_s - self.from_s)
    }
}

impl Origin {
    fn axis(self) -> &'static str {
        match self {
            Origin::FirstPhase => "seconds since the first timed phase began",
            Origin::Crash { .. } => "seconds since the crash",
        }
    }
}

/// The side of its bar on which an operation's words stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Above,
    Below,
}

/// The share of the picture's width that the words of an operation take at most.
const WORDS: f64 = 0.45;

/// Returns where the words of each operation stand, so that those of two of one client, one soon after the other, do not meet.
fn sides(operations: &[HistoryOperation], axis: &Axis) -> Vec<Side> {
    let mut sides: Vec<Side> = Vec::with_capacity(operations.len());
    for (at, it) in operations.iter().enumerate() {
        let near = |other: &usize| {
            let other = &operations[*other];
            other.client == it.client && (axis.share(other.sent_s) - axis.share(it.sent_s)).abs() < WORDS
        };
        let is_taken = (0..at).rev().find(near).is_some_and(|other| sides[other] == Side::Above);
        sides.push(if is_taken { Side::Below } else { Side::Above });
    }
    sides
}

/// The kinds of bars, as the legend has them.
fn kind(it: &HistoryOperation, wrong: Option<&HistoryOperation>) -> (&'static str, &'static str) {
    match (it.act.writes(), wrong == Some(it)) {
        (_, true) => ("stale read", "$bad"),
        (true, _) => ("write", "$c0"),
        (false, _) => ("read", "$c1"),
    }
}

fn option(faults: &[FaultRecord], history: &History, origin: Origin) -> Value {
    let all = &history.smallest;
    let axis = Axis::of(all, origin);
    let wrong = overlooked(history);
    let wrong_read = wrong.as_ref().map(|it| it.read);
    let bar = |it: &HistoryOperation| {
        let row = origin.client(it.client);
        // What was never answered goes on beyond the picture.
        let until_s = it.answered_s.unwrap_or(axis.to_s);
        // A bar that is too short to be seen is a little longer.
        let shown_s = until_s.max(it.sent_s + (axis.to_s - axis.from_s) / 150.0);
        let (name, colour) = kind(it, wrong_read);
        json!({ "type": "line", "name": name, "showSymbol": false, "silent": true, "symbol": "roundRect",
            "tooltip": { "show": false }, "data": [[axis.at(it.sent_s), row], [axis.at(shown_s), row]], "itemStyle": { "color": colour },
            "lineStyle": { "width": 12, "cap": "butt", "type": if it.answered_s.is_some() { "solid" } else { "dotted" } } })
    };
    // What it did stands above its beginning, or below it where the words of the same client's operation before would be in the way; in the
    // right half it ends there.
    let words = |(it, side): (&HistoryOperation, Side)| {
        let above_px = if side == Side::Above { -22 } else { 9 };
        let is_right = axis.share(it.sent_s) > 0.5;
        let (_, colour) = kind(it, wrong_read);
        let said = match &wrong {
            Some(wrong) if wrong.read == it => format!("{}: {}", act(it), wrong.late()),
            _ => format!("{}{}", act(it), ending(it)),
        };
        json!({ "type": "scatter", "name": "", "symbolSize": 1, "silent": true, "tooltip": { "show": false },
            "data": [[axis.at(it.sent_s), origin.client(it.client)]], "itemStyle": { "color": "$ink" },
            "label": { "show": true, "formatter": said, "position": [if is_right { 4 } else { 0 }, above_px],
                "align": if is_right { "right" } else { "left" }, "color": if colour == "$bad" { "$bad" } else { "$ink" }, "fontSize": 12 } })
    };
    let mut series: Vec<Value> = all.iter().map(bar).chain(all.iter().zip(sides(all, &axis)).map(words)).collect();
    let areas = areas(faults, &axis);
    if let Some(first) = series.first_mut()
        && !areas.is_empty()
    {
        first["markArea"] = json!({ "silent": true, "itemStyle": { "color": "$stall" }, "data": areas,
            "label": { "show": true, "position": "insideBottom", "color": "$ink", "fontSize": 11 } });
    }
    let names: Vec<String> = rows(all, origin).into_iter().rev().collect();
    let mut legend: Vec<&str> = all.iter().map(|it| kind(it, wrong_read).0).collect();
    legend.sort_unstable_by_key(|name| std::cmp::Reverse(*name));
    legend.dedup();
    json!({
        "grid": { "left": 64, "right": 14, "top": 40, "bottom": 46 },
        "legend": { "top": 4, "left": 8, "right": 8, "data": legend },
        "xAxis": { "type": "value", "min": axis.at(axis.from_s), "max": axis.at(axis.to_s), "name": axis.name,
            "nameLocation": "middle", "nameGap": 26, "axisLabel": { "showMinLabel": false, "showMaxLabel": false } },
        "yAxis": { "type": "category", "data": names, "axisTick": { "show": false }, "axisLine": { "show": false } },
        "series": series,
    })
}

/// The times in which something was done to a node, as far as they are within the picture.
fn areas(faults: &[FaultRecord], axis: &Axis) -> Vec<Value> {
    let area = |fault: &FaultRecord| {
        let (from_s, to_s) = (fault.at_s?.max(axis.from_s), fault.until_s.unwrap_or(axis.to_s).min(axis.to_s));
        let name = doing(fault);
        (from_s < to_s).then(|| json!([{ "xAxis": axis.at(from_s), "name": name }, { "xAxis": axis.at(to_s) }]))
    };
    faults.iter().filter_map(area).collect()
}

/// What happened to which node: `node2 was frozen`.
fn doing(fault: &FaultRecord) -> String {
    let is = |act: &str| fault.planned.split_whitespace().any(|word| word == act);
    let words = [
        ("freeze", "was frozen"),
        ("cut", "was cut off"),
        ("kill", "was down (killed)"),
        ("stop", "was down (stopped)"),
        ("restart", "started again"),
        ("add", "joined"),
    ];
    let node = if fault.node.is_empty() { "the server" } else { &fault.node };
    if is("clock") {
        return format!("{node} was {}", apart(&fault.planned));
    }
    let done = words.into_iter().find(|(act, _)| is(act)).map_or(&fault.planned[..], |(_, words)| words);
    format!("{node} {done}")
}

/// The operations that are drawn.
fn operations(history: &History) -> DataTable {
    let (from_s, _) = span_s(&history.smallest).unwrap_or_default();
    let after = |at_s: f64| format!("+{}", units::duration(at_s - from_s));
    let rows = history.smallest.iter().map(|it| {
        let answered = it.answered_s.map_or("never".into(), after);
        [it.client.to_string(), it.key.to_string(), act(it).to_string(), after(it.sent_s), answered]
    });
    DataTable::of(["Client", "Key", "Operation", "Sent", "Answered"], rows)
}

fn columns() -> [FigureColumn; 10] {
    [
        FigureColumn::words("STORE").headed("Store"),
        FigureColumn::figures("TRIALS").headed("Trials").meaning("whose history was recorded"),
        FigureColumn::figures("LINEAR")
            .headed("Linearizable")
            .meaning("trials in which one copy of the data could have answered so"),
        FigureColumn::figures("OPS")
            .headed("Operations")
            .meaning("reads and writes of one key that were recorded")
            .spare(4),
        FigureColumn::figures("KEYS").headed("Keys").spare(1),
        FigureColumn::figures("WRONG").headed("Keys not linearizable"),
        FigureColumn::figures("STALE")
            .headed("Stale reads")
            .meaning("a newer version had been acknowledged before they were sent"),
        FigureColumn::figures("OLDEST").headed("Oldest").meaning("longest time for which it had been acknowledged"),
        FigureColumn::figures("BACK")
            .headed("Back in time")
            .meaning("reads of a version older than one the same client had read")
            .spare(3),
        FigureColumn::figures("OWN")
            .headed("Own writes missed")
            .meaning("reads of a version older than one the same client had written")
            .spare(2),
    ]
}

/// Returns a row for each store whose history was recorded: all its trials together.
pub(super) fn table(cells: &[&Cell]) -> FigureTable {
    let row = |cell: &&Cell| {
        let all: Vec<&History> = cell.trials.iter().filter_map(|trial| trial.history.as_ref()).collect();
        let checked = all.iter().filter(|it| outcome(it) != HistoryVerdict::NotChecked).count();
        let right = all.iter().filter(|it| outcome(it) == HistoryVerdict::Linearizable).count();
        let sum = |of: fn(&History) -> u64| units::whole(all.iter().map(|it| of(it)).sum());
        let oldest = all.iter().filter_map(|it| it.oldest_stale_s).reduce(f64::max);
        let linearizable = match (all.len(), checked) {
            (0, _) => return None,
            (_, 0) => "not checked".into(),
            _ => format!("{right} of {checked}"),
        };
        let is_bad = right < checked;
        let tone = if is_bad { Tone::Bad } else { Tone::Plain };
        let figures = vec![
            all.len().to_string(),
            linearizable,
            sum(|it| it.operations),
            sum(|it| it.keys),
            sum(|it| it.contradicted_keys),
            sum(|it| it.stale_reads),
            oldest.map_or("–".into(), units::duration),
            sum(|it| it.backward_reads),
            sum(|it| it.own_writes_missed),
        ];
        let name = FigureText::toned(label(cell), Tone::Plain);
        Some(std::iter::once(name).chain(figures.into_iter().map(|it| FigureText::toned(it, tone))).collect())
    };
    FigureTable {
        title: "What clients saw, over all trials of a store".into(),
        columns: columns().into(),
        rows: cells.iter().filter_map(row).collect(),
        ..FigureTable::default()
    }
}
