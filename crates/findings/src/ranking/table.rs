//! The table of stores, for every medium: each column is declared once, with what stands in it.

use super::footnotes::{Emulations, details, short_name};
use crate::block::{Breadth, ColumnRole, FigureColumn, FigureTable, FigureText, Tone};
use crate::identity::label;
use crate::view::Grouped;
use crate::{faults, figures, latency};
use analysis::{Group, Metric, Rank, RankedCell, Unit, baseline, cost, meets_all, spread};
use study::{BudgetLayer, Cell, Class, Meets, Quantity, Status, Study};
use words::{Batches, shown_rate, units};

/// What a row says is taken from.
struct Standing<'a> {
    ranked: RankedCell<'a>,
    group: &'a Group<'a>,
    part: &'a Grouped<'a>,
    null: Option<&'a Cell>,
    ram: Option<&'a Cell>,
    emulations: &'a Emulations,
    batches: Option<Batches>,
}

/// Whether a table has a column.
enum Presence {
    Always,
    /// Where a row says something there; one of a baseline only where there is no store.
    Said,
    Never,
}

type Column = (Presence, FigureColumn, fn(&Standing<'_>, &Cell) -> FigureText);

/// Returns the table of a study: a row for each cell, part by part, group by group, best first.
pub fn table(study: &Study, grouped: &[Grouped<'_>]) -> FigureTable {
    let (emulations, batches) = (Emulations::of(study), Batches::of(study));
    let emulations = &emulations;
    let mut all: Vec<Standing<'_>> = Vec::new();
    for part in grouped {
        let [null, ram] = [BudgetLayer::Generator, BudgetLayer::Client].map(|layer| baseline(part.cells(), layer));
        for group in &part.groups {
            let of = |ranked: &_| Standing { ranked: *ranked, group, part, null, ram, emulations, batches };
            all.extend(group.cells.iter().map(of));
        }
    }
    let (stores, baselines): (Vec<_>, Vec<_>) = (0..all.len()).partition(|at| !all[*at].is_of_baseline());
    let asked = if stores.is_empty() { baselines } else { stores };
    let mut table = FigureTable {
        title: "Every cell of the study, best first within its class and durability level".into(),
        rows: vec![Vec::new(); all.len()],
        ..FigureTable::default()
    };
    for (presence, column, text) in columns(study, &all, batches) {
        let texts: Vec<FigureText> = all.iter().map(|it| it.dimmed(text(it, it.ranked.cell))).collect();
        let says = |at: &usize| !["", "-"].contains(&texts[*at].text.as_str());
        if matches!(presence, Presence::Always) || matches!(presence, Presence::Said) && asked.iter().any(says) {
            table.columns.push(column);
            table.rows.iter_mut().zip(texts).for_each(|(row, text)| row.push(text));
        }
    }
    if study.cells.iter().any(|cell| cell.makespan_s.is_some()) {
        table.signs = signs(study, &all);
    } else {
        table.columns.iter_mut().for_each(|column| column.meaning = "".into());
    }
    table
}

/// The columns in their order.
fn columns(study: &Study, all: &[Standing<'_>], batches: Option<Batches>) -> [Column; 21] {
    use Breadth::{Narrow, Wide, Widest};
    use Presence::{Always, Never, Said};
    let (words, figures) = (|title| FigureColumn::words(title), |title| FigureColumn::figures(title));
    let has = |is: fn(&Cell) -> bool| study.cells.iter().any(is);
    let (rate, p50, p99) = match batches {
        None => ("op/s", "p50", "p99"),
        Some(Batches::Documents) => ("documents/s", "p50 of a batch", "p99 of a batch"),
        Some(Batches::Events) => ("events/s", "p50 of a put", "p99 of a put"),
        Some(Batches::Records) => ("records/s", "p50 of a batch", "p99 of a batch"),
    };
    let time = || if all_were_given_the_same_time(all) { Never } else { Always };
    let (of_time, of_interval) = of_time(study);
    let failed = latency::any(&study.cells);
    let is_by_rate = has(|cell| Metric::ranking(cell) == Metric::OpsPerS);
    let by_rate = is_by_rate.then(|| "ranks the stores, as every trial was given the same time".to_owned());
    let of_rate = batches.map(Batches::meaning).into_iter().chain(by_rate).collect::<Vec<_>>().join("; ");
    let sent = if has(|cell| cell.units_per_s.is_some()) { "units" } else { "operations" };
    let cost_is = if is_by_rate { "time per operation" } else { "time" };
    [
        (Always, words("").headed("place"), |it, _| it.ranked.rank.text().into()),
        (Always, words("STORE").role(ColumnRole::Names).only(Narrow), |it, cell| {
            short_name(cell, &it.emulations.mark(cell)).into()
        }),
        (Always, words("store").role(ColumnRole::Specs).only(Wide), |it, cell| {
            details(cell, it.group).into_iter().fold(label(cell).into(), FigureText::detailed)
        }),
        (Said, words("parameters").only(Widest), |it, _| it.part.label().into()),
        (time(), figures("TIME").headed("time").meaning(of_time), |_, cell| quantity(cell, Metric::Makespan)),
        (time(), words("").only(Narrow).meaning(of_interval).spare(3), |_, cell| {
            FigureText::toned(cell.makespan_s.and_then(interval).unwrap_or_default(), Tone::Faint)
        }),
        (
            Said,
            figures("OFFERED").headed("offered/s").meaning(format!(
                "{sent} per second that were sent, at --rate; the rates beside it are those answered"
            )),
            |_, cell| FigureText::quantity(cell.offered_per_s, Unit::PerSecond),
        ),
        (Always, figures(batches.map_or("OP/S", Batches::title)).headed(rate).meaning(of_rate), |it, cell| {
            FigureText::quantity(shown_rate(cell, it.batches), Unit::PerSecond)
        }),
        (
            Said,
            figures("UNITS/S").headed("units/s").meaning("calls of run per second; each does several operations"),
            |_, cell| quantity(cell, Metric::UnitsPerS),
        ),
        (Said, figures("read back/s").only(Widest), |_, cell| {
            FigureText::quantity(cell.read_back_per_s, Unit::PerSecond)
        }),
        (Said, figures(p50).only(Widest), |_, cell| quantity(cell, Metric::P50)),
        (Said, figures("P99").headed(p99).meaning(of_p99(study, failed)), |_, cell| quantity(cell, Metric::P99)),
        (
            if failed { Said } else { Never },
            figures("FAILED")
                .headed("failed")
                .meaning("share of the operations that failed: they have no time, and count as slower than all"),
            |_, cell| quantity(cell, Metric::Failed),
        ),
        (Said, figures("vs null").meaning(format!("{cost_is} as a multiple of that of null")).spare(2), |it, cell| {
            times(cost(cell, it.null))
        }),
        (
            Said,
            figures("vs ram").meaning(format!("{cost_is} as a multiple of that of ram, a map in memory")).spare(1),
            |it, cell| times(cost(cell, it.ram)),
        ),
        (Always, words("VERDICT").headed("verdict"), |_, cell| verdict(cell)),
        (
            Said,
            words("MEETS").headed("meets").meaning("of the needs asked for, how many the trials show to be met"),
            |_, cell| meets(cell),
        ),
        (Said, figures("hits, misses").only(Widest), |_, cell| counters(cell, [cell.hits, cell.misses])),
        (Said, figures("errors, retries").only(Widest), |_, cell| counters(cell, [cell.errors, cell.retries])),
        (Said, figures("CPU client, server").only(Widest), |_, cell| {
            pair([cell.client_cpu_s, cell.server_cpu_s], Unit::Seconds)
        }),
        (Said, figures("memory, disk").only(Widest), |_, cell| {
            pair([cell.server_rss_bytes, cell.disk_bytes], Unit::Bytes)
        }),
    ]
}

impl Standing<'_> {
    fn is_of_baseline(&self) -> bool {
        self.group.class == Some(Class::Baseline)
    }

    /// Returns the text of a cell that is not to be believed as one to be passed over.
    fn dimmed(&self, text: FigureText) -> FigureText {
        let is_dim = text.tone == Tone::Plain && !self.ranked.cell.verdict.is_ranked();
        FigureText { tone: if is_dim { Tone::Faint } else { text.tone }, ..text }
    }
}

fn quantity(cell: &Cell, metric: Metric) -> FigureText {
    FigureText::quantity(metric.of_cell(cell), metric.unit())
}

/// `±4.2%`; where the interval is wider than the figure, its ends.
fn interval(figure: Quantity) -> Option<String> {
    let share = spread(&figure)?;
    Some(match share {
        1.0.. => format!("{}..{}", units::duration(figure.low), units::duration(figure.high)),
        0.1.. => format!("±{:.0}%", share * 100.0),
        _ => format!("±{:.1}%", share * 100.0),
    })
}

fn times(ratio: Option<f64>) -> FigureText {
    ratio.map_or("-".into(), units::ratio).into()
}

fn counters(cell: &Cell, [one, other]: [u64; 2]) -> FigureText {
    let was_run = cell.verdict.status != Status::NotRun;
    if was_run { FigureText::from(one.to_string()).detailed(other.to_string()) } else { "-".into() }
}

fn pair(figures: [Option<Quantity>; 2], unit: Unit) -> FigureText {
    let [one, other] = figures.map(|it| it.map_or("-".into(), |it| figures::plain(it.value, unit)));
    if one == "-" && other == "-" { "-".into() } else { FigureText::from(one).detailed(other) }
}

/// The verdict with its first reason; all of them stand beneath.
fn verdict(cell: &Cell) -> FigureText {
    let tone = match cell.verdict.status {
        Status::Valid => Tone::Good,
        Status::Degraded | Status::NotRun => Tone::Warning,
        Status::Void => Tone::Bad,
    };
    let why = cell.verdict.reasons.first().map(|reason| reason.kind.name().replace('_', " "));
    FigureText::toned(cell.verdict.status.to_string(), tone).noted(why.unwrap_or_default())
}

/// How many of its needs a cell was shown to meet: `2 of 3`.
fn meets(cell: &Cell) -> FigureText {
    let met = cell.meets.iter().filter(|one| one.meets == Meets::Met).count();
    let tone = match meets_all(&cell.meets) {
        Meets::Met => Tone::Good,
        Meets::Missed => Tone::Bad,
        Meets::NotShown => Tone::Warning,
    };
    let all = cell.meets.len();
    if all == 0 { "".into() } else { FigureText::toned(format!("{met} of {all}"), tone) }
}

/// Times whose largest is no more than this many times the smallest are the same where the time was given.
const SAME_TIME: f64 = 1.02;

/// Whether the rate is what counts, as all stores took the time that was given: then it says nothing.
fn all_were_given_the_same_time(all: &[Standing<'_>]) -> bool {
    let compared = || all.iter().filter(|it| !it.is_of_baseline());
    let times_s = compared().filter_map(|it| it.ranked.cell.makespan_s).map(|it| it.value).collect::<Vec<f64>>();
    let (least_s, most_s) = (stats::quantile(&times_s, 0.0), stats::quantile(&times_s, 1.0));
    compared().all(|it| it.group.metric != Metric::Makespan)
        && least_s.zip(most_s).is_some_and(|(least_s, most_s)| most_s <= SAME_TIME * least_s)
}

/// What the times are, and their intervals.
fn of_time(study: &Study) -> (&'static str, String) {
    let times = || study.cells.iter().filter_map(|cell| cell.makespan_s);
    let levels: Vec<f64> = times().map(|time| time.level).collect();
    let percent = |share: f64| format!("{:.1}", share * 100.0).trim_end_matches(".0").to_owned() + " %";
    match (stats::quantile(&levels, 0.0), stats::quantile(&levels, 1.0)) {
        (Some(least), Some(most)) if most > 0.0 => {
            let level = if least < most { format!("{} to {}", percent(least), percent(most)) } else { percent(most) };
            let is_of_few = times().any(|time| time.n < 6);
            let why = if is_of_few { ", from the fastest to the slowest; 6 trials give 95 %" } else { "" };
            ("median of the trials", format!(" ± its {level} interval{why}"))
        }
        _ => ("of single trials, which have no interval", String::new()),
    }
}

fn of_p99(study: &Study, failed: bool) -> String {
    let of_all = if failed { "of all operations asked for " } else { "" };
    let is_open = study.cells.iter().any(|cell| cell.latency_ns.send_lag.n > 0);
    let due = if is_open { " after they were due" } else { "" };
    let ranks = study.cells.iter().any(|cell| Metric::ranking(cell) == Metric::P99);
    let ranks = if ranks { "; ranks the stores, as the rate was the same for all" } else { "" };
    format!("{of_all}99 of 100 operations were answered within this time{due}{ranks}")
}

/// Words and signs in the table, and what they mean, as far as this study has them.
fn signs(study: &Study, all: &[Standing<'_>]) -> Vec<(&'static str, String)> {
    let has = |status| study.cells.iter().any(|cell| cell.verdict.status == status);
    let fault = "under a curve: here a node was made to fail, or started again";
    let tied = all.iter().find_map(|it| if let Rank::Tied(at) = it.ranked.rank { Some(at) } else { None });
    let tied = tied.map(|at| format!("{at}= is shared: these trials cannot separate them; listed by their medians"));
    let said = |is_there: bool, meaning: &str| is_there.then(|| meaning.to_owned());
    let signs = [
        ("^", said(study.cells.iter().any(faults::was_done), fault)),
        ("=", tied),
        ("degraded", said(has(Status::Degraded), "all answers were right, but the times may be distorted")),
        ("void", said(has(Status::Void), "not to be trusted, so never ranked")),
        ("not run", said(has(Status::NotRun), "no counted trial was finished, so nothing is known")),
    ];
    signs.into_iter().filter_map(|(sign, meaning)| Some((sign, meaning?))).collect()
}
