//! Whether the trials of a cell show that it meets a need.

use super::{DiskBound, Need, NeedKind};
use crate::metric::quantity;
use crate::{Better, Metric, baseline};
use study::{
    BudgetLayer, Cell, Durability, DurabilitySource, Meets, NeedShown, Promise, Quantity, ReasonKind, Status, Study,
    TrialRecord,
};

/// The chance that a store whose typical figure is the bound itself is said to meet the need; and as much that it is said to miss it.
pub const ALPHA: f64 = 0.05;
/// A rate is kept where this share of it was offered and answered.
const RATE_KEPT: f64 = 0.99;

/// Fills in what each cell of a study shows of its needs. Call it when cells are summarised and all trials are in. Needs that cannot be read,
/// of later builds, are left out.
pub fn fill_needs(study: &mut Study) {
    let needs: Vec<Need> = study.needs.iter().filter_map(|text| text.parse().ok()).collect();
    let all: Vec<&Cell> = study.cells.iter().collect();
    let judged = |cell: &&Cell| match cell.baseline {
        true => Vec::new(),
        false => needs.iter().map(|need| shown(need, cell, &all)).collect(),
    };
    let judged: Vec<Vec<NeedShown>> = all.iter().map(judged).collect();
    study.cells.iter_mut().zip(judged).for_each(|(cell, judged)| cell.meets = judged);
}

/// Returns whether a cell was shown to meet all needs, or to miss one.
pub fn meets_all(shown: &[NeedShown]) -> Meets {
    let has = |ruling| shown.iter().any(|one| one.meets == ruling);
    match (has(Meets::Missed), has(Meets::NotShown)) {
        (true, _) => Meets::Missed,
        (false, true) => Meets::NotShown,
        (false, false) => Meets::Met,
    }
}

/// Returns what a cell shows of a need. `cells` are those of its study: of embedded stores memory is counted from the baseline `null`.
///
/// A figure meets a bound where [`stats::side`] shows its trials to lie on the right side of it with a p-value below 0.05, so it takes three
/// trials; figures that are counts (durability, records, lost writes) need one.
pub fn shown(need: &Need, cell: &Cell, cells: &[&Cell]) -> NeedShown {
    shown_at(need, cell, cells, ALPHA)
}

/// Returns the same at another level of significance: for one of several looks.
pub fn shown_at(need: &Need, cell: &Cell, cells: &[&Cell], alpha: f64) -> NeedShown {
    let ruling = ruling(need, cell, cells, alpha);
    NeedShown { need: need.text.clone(), ..ruling }
}

fn ruling(need: &Need, cell: &Cell, cells: &[&Cell], alpha: f64) -> NeedShown {
    match cell.verdict.status {
        Status::NotRun => return not_shown("it was not run"),
        Status::Void => return void(need, cell),
        Status::Valid | Status::Degraded => {}
    }
    match need.kind {
        NeedKind::Rate(bound) => rate(cell, bound, alpha),
        NeedKind::Below(metric, bound) => match metric.of_cell(cell) {
            Some(seen) => held(seen, &metric.samples(cell), bound, metric, alpha),
            None => not_shown(format!("there is no {metric}")),
        },
        NeedKind::Memory(bound) => match memory(cell, cells) {
            Ok((figures, because)) => {
                NeedShown { because: because.into(), ..of_figures(&figures, bound, Metric::ServerRss, alpha) }
            }
            Err(why) => not_shown(why),
        },
        NeedKind::Disk(space) => disk(cell, space, alpha),
        NeedKind::Durability(level) => durability(cell, level),
        NeedKind::NoLoss => loss(cell),
        NeedKind::Items(items) => match cell.records() {
            Some(records) if records >= items => met(format!("held {records} records")),
            Some(records) => not_shown(extrapolated(cell, records, items)),
            None => not_shown("the job does not say how many records it leaves"),
        },
    }
}

/// How far a store was measured, and what the end of its growth would come to if it went on so.
fn extrapolated(cell: &Cell, records: u64, items: u64) -> String {
    let mut said = format!("measured up to {} records", study::whole(records));
    let Some(growth) = cell.growth.filter(|growth| growth.last_tenth_per_s > 0.0) else { return said };
    let more = items.saturating_sub(records) as f64;
    said += &format!(
        "; the others would take {:.0} s at the {:.0}/s of its last tenth, if that lasts",
        more / growth.last_tenth_per_s,
        growth.last_tenth_per_s
    );
    let bytes: Vec<f64> = cell.counted().filter_map(|trial| trial.disk_bytes).map(|bytes| bytes as f64).collect();
    if let Some(bytes) = stats::median(&bytes).filter(|bytes| *bytes > 0.0) {
        said += &format!(
            ", and all {:.1} GB on disk, if each takes as much",
            bytes / records.max(1) as f64 * items as f64 / 1e9
        );
    }
    said
}

/// A void cell shows nothing, but that a rate was too much for it.
fn void(need: &Need, cell: &Cell) -> NeedShown {
    let mut kinds = cell.verdict.reasons.iter().map(|reason| reason.kind);
    match need.kind {
        NeedKind::Rate(_) if kinds.any(|kind| kind == ReasonKind::NotSent) => {
            NeedShown { seen: Metric::rate_of(cell), ..missed("it fell behind the rate that was offered") }
        }
        _ => not_shown("the cell is void"),
    }
}

/// The rate, of an open loop as far as it was offered and answered, else the highest of this number of clients.
fn rate(cell: &Cell, bound: f64, alpha: f64) -> NeedShown {
    let Some(seen) = Metric::rate_of(cell) else { return not_shown("there is no rate") };
    let metric = if cell.units_per_s.is_some() { Metric::UnitsPerS } else { Metric::OpsPerS };
    let Some(asked) = cell.params.get("rate").and_then(|rate| rate.parse::<f64>().ok()) else {
        let because = "closed loop: as fast as replies came".into();
        return NeedShown { because, ..held(seen, &metric.samples(cell), bound, metric, alpha) };
    };
    let shown = |meets, because: String| NeedShown { meets, seen: Some(seen), because, ..NeedShown::default() };
    if asked < bound * RATE_KEPT {
        return shown(Meets::NotShown, format!("offered {asked} per second only"));
    }
    // Random arrivals are sometimes fewer than the rate asks for; what was due must have been sent and answered.
    let offered: Vec<Option<f64>> = cell.counted().map(|trial| trial.offered_per_s).collect();
    let answered: Vec<Option<f64>> = cell.counted().map(|trial| metric.of_trial(trial)).collect();
    let was_offered = !cell.verdict.reasons.iter().any(|reason| reason.kind == ReasonKind::RateNotOffered);
    let kept = offered
        .iter()
        .zip(&answered)
        .all(|pair| matches!(pair, (Some(offered), Some(answered)) if *answered >= offered * RATE_KEPT));
    match (was_offered, kept) {
        (false, _) => shown(Meets::NotShown, "the rate was not offered".into()),
        (true, true) => shown(Meets::Met, "what was due was sent and answered".into()),
        (true, false) => shown(Meets::Missed, "less was answered than was due".into()),
    }
}

/// The memory of each trial, and what it is of.
fn memory(cell: &Cell, cells: &[&Cell]) -> Result<(Vec<f64>, &'static str), &'static str> {
    if cell.class.has_servers() {
        let figures = Metric::ServerRss.samples(cell);
        return match figures.is_empty() {
            true => Err("the server's memory cannot be seen from here"),
            false => Ok((figures, "peak resident memory of the server")),
        };
    }
    let alike = |other: &&Cell| other.job == cell.job && other.params == cell.params;
    let alike: Vec<&Cell> = cells.iter().copied().filter(alike).collect();
    let own = baseline(&alike, BudgetLayer::Generator);
    let own = own
        .and_then(|null| stats::median(&client_bytes(null)))
        .ok_or("without the baseline null nobody knows what of the memory is the store's")?;
    let beyond = |bytes: f64| (bytes - own).max(1.0);
    Ok((
        client_bytes(cell).into_iter().map(beyond).collect(),
        "peak resident memory beyond that of the same job on null",
    ))
}

fn client_bytes(cell: &Cell) -> Vec<f64> {
    cell.counted().map(|trial| trial.client_rss_bytes as f64).filter(|bytes| *bytes > 0.0).collect()
}

fn disk(cell: &Cell, space: DiskBound, alpha: f64) -> NeedShown {
    let bytes: Option<Vec<f64>> =
        cell.counted().map(|trial: &TrialRecord| trial.disk_bytes.map(|bytes| bytes as f64)).collect();
    let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) else {
        return not_shown("its disk cannot be seen from here");
    };
    let logical = cell.logical_bytes as f64;
    match space {
        DiskBound::Bytes(bound) => of_figures(&bytes, bound, Metric::Disk, alpha),
        DiskBound::Times(_) if logical == 0.0 => not_shown("the job does not say how many bytes it leaves"),
        DiskBound::Times(bound) => {
            let ruling = of_figures(&bytes, bound * logical, Metric::Disk, alpha);
            let times = |it: Quantity| Quantity {
                value: it.value / logical,
                low: it.low / logical,
                high: it.high / logical,
                ..it
            };
            NeedShown { seen: ruling.seen.map(times), ..ruling }
        }
    }
}

fn durability(cell: &Cell, level: Durability) -> NeedShown {
    let Some(own) = cell.durability else { return not_shown("its level is not known") };
    let shown = cell.durability_shown.as_ref();
    if own < level {
        return missed(format!("its level is {own}"));
    }
    match (shown, cell.durability_source()) {
        (Some(shown), _) if shown.promise == Promise::Broken => {
            missed(format!("{own}: kills showed that it loses what it promises to keep"))
        }
        (Some(shown), _) => met(format!("{own}: kept in {} kills", shown.cuts)),
        (None, Some(DurabilitySource::SetByKvtrial)) => met(format!("{own}: set by kvtrial, not tried by kills")),
        (None, Some(DurabilitySource::AsTheServerSays)) => {
            met(format!("{own}: as the server says, not tried by kills"))
        }
        (None, _) => not_shown(format!("nobody but the user says that its level is {own}")),
    }
}

fn loss(cell: &Cell) -> NeedShown {
    if !cell.counted().any(|trial| !trial.faults.is_empty()) {
        return not_shown("no node failed: add --fault");
    }
    let Some(lost) = cell.lost_writes else { return not_shown("not every trial knows what was lost") };
    let ruling =
        if lost.high > 0.0 { missed("acknowledged writes were lost") } else { met("no acknowledged write was lost") };
    NeedShown { seen: Some(lost), ..ruling }
}

/// What figures of trials without a quantity of their own show.
fn of_figures(figures: &[f64], bound: f64, metric: Metric, alpha: f64) -> NeedShown {
    quantity(figures)
        .map_or_else(|| not_shown("there is no such figure"), |seen| held(seen, figures, bound, metric, alpha))
}

/// Holds the figures of trials against a bound.
fn held(seen: Quantity, figures: &[f64], bound: f64, metric: Metric, alpha: f64) -> NeedShown {
    let is_better = |log_ratio: f64| match metric.better() {
        Better::Lower => log_ratio < 0.0,
        Better::Higher => log_ratio > 0.0,
    };
    let margin = match metric.better() {
        Better::Lower => bound / seen.value,
        Better::Higher => seen.value / bound,
    };
    let margin = Some(margin).filter(|margin| margin.is_finite() && seen.value.is_finite());
    let ruling = |meets, because: &str| NeedShown {
        meets,
        seen: Some(seen),
        margin,
        because: because.into(),
        ..NeedShown::default()
    };
    // A share of none has no logarithm, and is below every bound.
    if metric == Metric::Failed && figures.iter().all(|share| *share == 0.0) && !figures.is_empty() {
        return ruling(Meets::Met, "");
    }
    if figures.len() < stats::FEWEST_TRIALS {
        return ruling(Meets::NotShown, "too few trials to tell");
    }
    let least = figures.iter().copied().fold(f64::INFINITY, f64::min).max(f64::MIN_POSITIVE);
    let figures: Vec<f64> = figures.iter().map(|figure| figure.max(least)).collect();
    match stats::side(&figures, bound, metric.step(seen.value)) {
        Some(side) if side.p < alpha && is_better(side.log_ratio) => ruling(Meets::Met, ""),
        Some(side) if side.p < alpha => ruling(Meets::Missed, ""),
        _ => ruling(Meets::NotShown, "the trials differ too much to tell"),
    }
}

fn met(because: impl Into<String>) -> NeedShown {
    NeedShown { meets: Meets::Met, because: because.into(), ..NeedShown::default() }
}

fn missed(because: impl Into<String>) -> NeedShown {
    NeedShown { meets: Meets::Missed, because: because.into(), ..NeedShown::default() }
}

fn not_shown(because: impl Into<String>) -> NeedShown {
    NeedShown { because: because.into(), ..NeedShown::default() }
}
