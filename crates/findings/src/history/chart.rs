//! The smallest contradiction as a timeline: a row per client, a bar per operation.

use super::sentences::{HistoryVerdict, act, fault_name, outcome, sentence, span_s};
use crate::block::{FigureColumn, FigureTable, FigureText, Tone};
use crate::chart::{Chart, DataTable, slug};
use crate::identity::label;
use serde_json::{Value, json};
use study::{Cell, History, HistoryOperation, TrialRecord};
use words::units;

const NOTE: &str = "A row per client, a bar per operation on the same key, from when it was sent to when it was answered; beside it what it \
                    wrote or read. Blue bars write, orange bars read. Each operation took effect at some moment within its bar; there is no \
                    choice of moments in which every read sees the last write before it. A broken line marks what was done to a node.";

/// The share of the time that is left free to the right, for what is written beside the bars.
const ROOM: f64 = 0.35;

/// Returns a timeline for each store whose history contradicts itself.
pub(super) fn charts(seen: &[(&Cell, &TrialRecord, &History)], part: &str) -> Vec<Chart> {
    let drawn = seen.iter().filter(|(_, _, history)| !history.smallest.is_empty());
    let chart = |(cell, trial, history): &(&Cell, &TrialRecord, &History)| Chart {
        id: slug(&format!("histories {} {part}", label(cell))),
        title: format!("{}: the smallest contradiction, key {}", label(cell), history.smallest[0].key),
        note: NOTE.into(),
        description: sentence(cell, trial, history),
        height: 100 + 52 * rows(&history.smallest).len() as u32,
        option: option(trial, history),
        table: operations(history),
    };
    drawn.map(chart).collect()
}

/// The row of each operation: its client, and a row more where the client has several at a time.
fn rows(operations: &[HistoryOperation]) -> Vec<String> {
    let mut clients: Vec<u32> = operations.iter().map(|it| it.client).collect();
    clients.sort_unstable();
    clients.dedup();
    clients.into_iter().map(|client| format!("client {client}")).collect()
}

/// The side of its bar on which an operation's words stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Above,
    Below,
}

/// The share of the picture's width that the words of an operation take at most.
const WORDS: f64 = 0.2;

/// Returns where the words of each operation stand, so that those of two of one client, one soon after the other, do not meet.
fn sides(operations: &[HistoryOperation], drawn_s: f64) -> Vec<Side> {
    let mut sides: Vec<Side> = Vec::with_capacity(operations.len());
    for (at, it) in operations.iter().enumerate() {
        let near = |other: &usize| {
            let other = &operations[*other];
            other.client == it.client && (other.sent_s - it.sent_s).abs() < WORDS * drawn_s
        };
        let is_taken = (0..at).rev().find(near).is_some_and(|other| sides[other] == Side::Above);
        sides.push(if is_taken { Side::Below } else { Side::Above });
    }
    sides
}

fn option(trial: &TrialRecord, history: &History) -> Value {
    let all = &history.smallest;
    let (from_s, to_s) = span_s(all).unwrap_or_default();
    let width_s = (to_s - from_s).max(1e-6);
    let end_s = to_s + ROOM * width_s;
    let ms = |at_s: f64| (at_s - from_s) * 1e3;
    let bar = |it: &HistoryOperation| {
        let row = format!("client {}", it.client);
        // What was never answered goes on beyond the picture.
        let until_s = it.answered_s.unwrap_or(end_s);
        // A bar that is too short to be seen is a little longer.
        let shown_s = until_s.max(it.sent_s + width_s / 200.0);
        let colour = if it.writes { "$c0" } else { "$c1" };
        json!({ "type": "line", "name": if it.writes { "writes" } else { "reads" }, "showSymbol": false, "silent": true,
            "tooltip": { "show": false }, "data": [[ms(it.sent_s), row], [ms(shown_s), row]], "itemStyle": { "color": colour },
            "lineStyle": { "width": 12, "cap": "butt", "type": if it.answered_s.is_some() { "solid" } else { "dotted" } } })
    };
    // What it did stands above its beginning, or below it where the words of the same client's operation before would be in the way.
    let words = |(it, side): (&HistoryOperation, Side)| {
        let above_px = if side == Side::Above { -22 } else { 9 };
        json!({ "type": "scatter", "name": "", "symbolSize": 1, "silent": true, "tooltip": { "show": false },
            "data": [[ms(it.sent_s), format!("client {}", it.client)]], "itemStyle": { "color": "$ink" },
            "label": { "show": true, "formatter": act(it), "position": [0, above_px], "color": "$ink", "fontSize": 12 } })
    };
    let mut series: Vec<Value> =
        all.iter().map(bar).chain(all.iter().zip(sides(all, end_s - from_s)).map(words)).collect();
    let near = |at_s: f64| at_s >= from_s - width_s && at_s <= end_s;
    let mark = |at_s: f64, name: String| json!({ "xAxis": ms(at_s), "name": name });
    let marks: Vec<Value> = trial
        .faults
        .iter()
        .flat_map(|fault| {
            let begin = fault.at_s.filter(|&at_s| near(at_s)).map(|at_s| mark(at_s, fault_name(fault)));
            let end =
                fault.until_s.filter(|&at_s| near(at_s)).map(|at_s| mark(at_s, format!("end of {}", fault.planned)));
            begin.into_iter().chain(end)
        })
        .collect();
    let first_ms = trial.faults.iter().flat_map(|it| [it.at_s, it.until_s]).flatten().filter(|&at_s| near(at_s));
    let first_ms = first_ms.map(ms).fold(0.0, f64::min);
    if let Some(first) = series.first_mut()
        && !marks.is_empty()
    {
        first["markLine"] = json!({ "silent": true, "symbol": "none", "data": marks,
            "lineStyle": { "color": "$bad", "width": 1.2, "type": "dashed" },
            "label": { "show": true, "formatter": "{b}", "fontSize": 11 } });
    }
    let names: Vec<String> = rows(all).into_iter().rev().collect();
    json!({
        "grid": { "left": 84, "right": 24, "top": 40, "bottom": 46 },
        "legend": { "top": 4, "left": 8, "right": 8, "data": ["writes", "reads"] },
        "xAxis": { "type": "value", "min": first_ms, "max": ms(end_s), "name": "milliseconds since the first of these operations was sent",
            "nameLocation": "middle", "nameGap": 26, "axisLabel": { "showMaxLabel": false } },
        "yAxis": { "type": "category", "data": names, "axisTick": { "show": false }, "axisLine": { "show": false } },
        "series": series,
    })
}

/// The operations that are drawn.
fn operations(history: &History) -> DataTable {
    let (from_s, _) = span_s(&history.smallest).unwrap_or_default();
    let after = |at_s: f64| format!("+{}", units::duration(at_s - from_s));
    let rows = history.smallest.iter().map(|it| {
        let answered = it.answered_s.map_or("never".into(), after);
        [it.client.to_string(), it.key.to_string(), act(it), after(it.sent_s), answered]
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
