//! Where the time per operation goes: generator, client, wire, store.
//!
//! A layer is what the time per operation grew by when the layer was added, everything else being equal:
//!
//! | layer | difference |
//! |---|---|
//! | generator | `null`: kvtrial's loop and the job, with nothing kept |
//! | client | `ram` beyond `null`: the job's work on kept values, and a map in the client's own process |
//! | wire | `echo` beyond `ram`: client codec, system calls, socket, and a minimal server's side of them |
//! | store | the cell beyond `echo` (an embedded store: beyond `ram`) |
//!
//! Time per operation is the makespan divided by the operations. With several operations in flight, or several client threads, layers overlap in
//! time; a layer is then what it adds to the whole, not what one operation spends in it.

use crate::metric::quantity;
use study::{Budget, BudgetLayer, BudgetPart, Cell, Measure, Quantity, SlowBaseline, Study};

/// Operations of cells that do the same work may differ by this share, e.g. by lost races of compare-and-set.
const SAME_WORK: f64 = 0.01;

/// Layers, the cell they end at, and its time per operation.
type Step<'a> = (Vec<BudgetLayer>, &'a str, Quantity);

/// Fills in the budget of every cell that has one. Call it when cells are summarised and all trials are in.
pub fn fill_budgets(study: &mut Study) {
    let all: Vec<&Cell> = study.cells.iter().collect();
    let budgets: Vec<Option<Budget>> = all.iter().map(|cell| budget(cell, &all)).collect();
    for (cell, budget) in study.cells.iter_mut().zip(budgets) {
        cell.budget = budget;
    }
}

/// Returns the budget of a cell, from the baselines among `cells` that did the same work with the same parameters.
///
/// `None` for `null`, for void cells, without a baseline, and under open loop, where the schedule decides what time an
/// operation takes. A layer whose baseline is missing, or was slower than what stands above it, is given together with the next one.
///
/// Intervals: of a difference of two medians by the MOVER method (Zou & Donner, *Construction of confidence limits about effect
/// measures*, Statistics in Medicine 27, 2008), from the two medians' own intervals; the level claimed is the lower of the
/// two. Bars: the parts, which add up to the cell's own time. Cost: microseconds.
pub fn budget(cell: &Cell, cells: &[&Cell]) -> Option<Budget> {
    if cell.params.contains_key("rate") {
        return None;
    }
    let whole = per_operation(cell)?;
    let own = own_layer(cell);
    let mut layers = Vec::new();
    let mut steps: Vec<Step<'_>> = Vec::new();
    for layer in BudgetLayer::ALL.into_iter().filter(|layer| *layer < own) {
        if layer == BudgetLayer::Wire && !has_servers(cell) {
            continue;
        }
        layers.push(layer);
        if let Some(base) = cells.iter().copied().find(|base| is_baseline_of(base, layer, cell))
            && let Some(time) = per_operation(base)
        {
            steps.push((std::mem::take(&mut layers), &base.store, time));
        }
    }
    if steps.is_empty() {
        return None;
    }
    layers.push(own);
    steps.push((layers, &cell.store, whole));
    let too_slow = leave_out_slow(&mut steps);
    Some(Budget {
        time_per_operation_ns: whole,
        parts: parts(steps),
        too_slow,
        client_cpu_per_operation_ns: cpu_per_operation(cell, |trial| Some(trial.client_cpu_s)),
        server_cpu_per_operation_ns: cpu_per_operation(cell, |trial| trial.server.map(|server| server.cpu_s)),
    })
}

/// Takes out the baselines that took longer than what stands above them, the cell or another baseline: no part can be more than the
/// whole, nor less than nothing. By their medians, which are the figures shown: by however little a baseline was slower, it shows
/// nothing of what lies above it. Their layers go to the next part.
fn leave_out_slow(steps: &mut Vec<Step<'_>>) -> Vec<SlowBaseline> {
    let mut slow = Vec::new();
    let Some(mut above) = steps.last().map(|step| step.2) else { return slow };
    for at in (0..steps.len() - 1).rev() {
        let time = steps[at].2;
        if time.value > above.value {
            let (mut layers, store, time_per_operation_ns) = steps.remove(at);
            layers.append(&mut steps[at].0);
            steps[at].0 = layers;
            slow.push(SlowBaseline { store: store.to_owned(), time_per_operation_ns });
        } else {
            above = time;
        }
    }
    slow.reverse();
    slow
}

/// The layer a cell's own part is: a baseline's is the one it stands for.
fn own_layer(cell: &Cell) -> BudgetLayer {
    cell.layer().unwrap_or(BudgetLayer::Store)
}

/// None of the steps takes less than the one below it.
fn parts(steps: Vec<Step<'_>>) -> Vec<BudgetPart> {
    let mut parts = Vec::new();
    let mut below: Option<(&str, Quantity)> = None;
    for (layers, store, time) in steps {
        let time_ns = below.map_or(time, |(_, base)| difference(time, base));
        parts.push(BudgetPart {
            layers,
            of: store.to_owned(),
            beyond: below.map(|(store, _)| store.to_owned()),
            time_ns,
            separated: time_ns.low > 0.0,
            bar_ns: time_ns.value,
        });
        below = Some((store, time));
    }
    parts
}

/// `a - b` with its interval.
fn difference(a: Quantity, b: Quantity) -> Quantity {
    let value = a.value - b.value;
    let below = (a.value - a.low).hypot(b.high - b.value);
    let above = (a.high - a.value).hypot(b.value - b.low);
    Quantity { value, low: value - below, high: value + above, level: a.level.min(b.level), n: a.n.min(b.n) }
}

/// Whether a wire lies between the client and the store.
fn has_servers(cell: &Cell) -> bool {
    cell.class.has_servers()
}

/// Whether `base` is the baseline of that layer for the cell: of the same job with the same parameters, reached in the same way where
/// the layer is a wire, and with the same work done.
fn is_baseline_of(base: &Cell, layer: BudgetLayer, cell: &Cell) -> bool {
    let same_wire = layer != BudgetLayer::Wire || (base.transport().is_some() && base.transport() == cell.transport());
    if base.layer() != Some(layer)
        || !same_wire
        || !base.verdict.is_ranked()
        || base.job != cell.job
        || base.params != cell.params
    {
        return false;
    }
    match (operations(base), operations(cell)) {
        // Within a fixed time the faster store does more of the same.
        _ if cell.measure == Measure::Rate => true,
        (Some(some), Some(others)) => (some / others - 1.0).abs() < SAME_WORK,
        _ => false,
    }
}

fn operations(cell: &Cell) -> Option<f64> {
    let counted: Vec<f64> = cell.counted().map(|trial| trial.operations as f64).collect();
    stats::median(&counted).filter(|operations| *operations > 0.0)
}

/// Time per operation over the counted trials, nanoseconds.
fn per_operation(cell: &Cell) -> Option<Quantity> {
    let ranked = cell.verdict.is_ranked().then_some(cell)?;
    median(
        ranked
            .counted()
            .filter(|trial| trial.operations > 0 && trial.makespan_s > 0.0)
            .map(|trial| 1e9 * trial.makespan_s / trial.operations as f64),
    )
}

fn cpu_per_operation(cell: &Cell, cpu_s: impl Fn(&study::TrialRecord) -> Option<f64>) -> Option<Quantity> {
    let trials = cell.counted().filter(|trial| trial.operations > 0);
    median(trials.filter_map(|trial| Some(1e9 * cpu_s(trial)? / trial.operations as f64)))
}

fn median(figures: impl Iterator<Item = f64>) -> Option<Quantity> {
    quantity(&figures.filter(|figure| figure.is_finite()).collect::<Vec<_>>())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use study::{BudgetLayer, Cell, Class, Reason, ReasonKind, Transport, TrialRecord, Verdict};

    /// A cell of 1,000 operations whose trials took these nanoseconds each.
    fn cell(store: &str, class: Class, ns: &[f64]) -> Cell {
        let trial = |(at, ns): (usize, &f64)| TrialRecord {
            order: at as u32 + 1,
            operations: 1000,
            makespan_s: ns * 1e-6,
            ..TrialRecord::default()
        };
        Cell {
            job: "fans".into(),
            store: store.into(),
            class,
            baseline: class == Class::Baseline,
            trials: ns.iter().enumerate().map(trial).collect(),
            verdict: study::Verdict::of([]),
            ..Cell::default()
        }
    }

    fn baselines() -> Vec<Cell> {
        vec![
            cell("null", Class::Baseline, &[100.0, 101.0, 99.0]),
            cell("ram", Class::Baseline, &[1700.0, 1690.0, 1710.0]),
            cell("echo-unix", Class::Baseline, &[8000.0, 8100.0, 7900.0]),
            cell("echo", Class::Baseline, &[12_000.0, 12_100.0, 11_900.0]),
        ]
    }

    /// The budget among these cells.
    fn budget(cell: &Cell, cells: &[Cell]) -> Option<study::Budget> {
        super::budget(cell, &cells.iter().collect::<Vec<_>>())
    }

    fn bars(budget: &study::Budget) -> Vec<(String, f64, bool)> {
        budget.parts.iter().map(|part| (part.name(), part.bar_ns.round(), part.separated)).collect()
    }

    #[test]
    fn a_network_store_has_four_layers_that_add_up_to_its_time() {
        let redis = cell("redis-unix,durability=os", Class::Network, &[10_500.0, 10_400.0, 10_600.0]);
        let found = budget(&redis, &baselines()).unwrap();
        assert_eq!(
            bars(&found),
            [
                ("generator".into(), 100.0, true),
                ("client".into(), 1600.0, true),
                ("wire".into(), 6300.0, true),
                ("store".into(), 2500.0, true)
            ]
        );
        assert_eq!((found.parts[2].of.as_str(), found.parts[2].beyond.as_deref()), ("echo-unix", Some("ram")));
        let sum: f64 = found.parts.iter().map(|part| part.bar_ns).sum();
        assert!((sum - found.time_per_operation_ns.value).abs() < 1e-6);
        // Two independent intervals of ±100 ns make one of ±141 ns, and the level is theirs.
        let store = found.parts[3].time_ns;
        assert!((store.high - store.value - 100.0 * 2f64.sqrt()).abs() < 1e-6 && store.level == 0.75, "{store:?}");
    }

    #[test]
    fn an_embedded_store_has_no_wire_and_a_baseline_ends_at_its_own_layer() {
        let lmdb = cell("lmdb", Class::Embedded, &[6900.0, 6900.0, 6900.0]);
        let names = |cell: &Cell| -> Option<Vec<String>> {
            Some(budget(cell, &baselines())?.parts.iter().map(|part| part.name()).collect())
        };
        assert_eq!(names(&lmdb).unwrap(), ["generator", "client", "store"]);
        assert_eq!(names(&baselines()[1]).unwrap(), ["generator", "client"]);
        assert_eq!(names(&baselines()[0]), None);
    }

    #[test]
    fn a_baseline_is_found_by_what_its_cell_says_it_measures_not_by_its_name() {
        let says = |cell: Cell, layer, transport| Cell { layer, transport, ..cell };
        let unix = Some(Transport::Unix);
        let local = says(cell("local-shop", Class::Network, &[10_500.0, 10_400.0, 10_600.0]), None, unix);
        let found = [
            says(cell("least-over-tcp", Class::Baseline, &[9000.0]), Some(BudgetLayer::Wire), Some(Transport::Tcp)),
            says(cell("least", Class::Baseline, &[8000.0]), Some(BudgetLayer::Wire), unix),
            says(cell("shelf", Class::Baseline, &[1700.0]), Some(BudgetLayer::Client), None),
            says(cell("idle", Class::Baseline, &[100.0]), Some(BudgetLayer::Generator), None),
        ];
        let budget = budget(&local, &found).unwrap();
        let of: Vec<&str> = budget.parts.iter().map(|part| part.of.as_str()).collect();
        assert_eq!(of, ["idle", "shelf", "least", "local-shop"]);
    }

    #[test]
    fn an_echo_baseline_is_made_of_generator_client_and_wire() {
        let found = budget(&baselines()[3], &baselines()).unwrap();
        assert_eq!(
            found.parts.iter().map(|part| part.layers.clone()).collect::<Vec<_>>().concat(),
            BudgetLayer::ALL[..3]
        );
    }

    #[test]
    fn a_missing_baseline_leaves_two_layers_together() {
        let far = cell("redis://10.0.0.5:6379", Class::Network, &[90_000.0, 91_000.0]);
        let found = budget(&far, &baselines()).unwrap();
        assert_eq!(found.parts.last().unwrap().name(), "wire + store");
        let mut few = baselines();
        few[1].verdict = Verdict::of([Reason { kind: ReasonKind::Refused, count: 1, example: String::new() }]);
        let found = budget(&cell("lmdb", Class::Embedded, &[6900.0, 6800.0]), &few).unwrap();
        assert_eq!(found.parts.last().unwrap().name(), "client + store");
        assert!(budget(&far, &few[2..]).is_none() && budget(&far, &[]).is_none());
    }

    #[test]
    fn a_layer_within_the_noise_has_no_shown_effect_and_no_bar_is_negative() {
        for (median, layers) in [(8000.0, 4), (8010.0, 4), (7990.0, 3), (7999.9, 3)] {
            let quick = cell("memcached-unix", Class::Network, &[median, 8050.0, 7800.0]);
            let found = budget(&quick, &baselines()).unwrap();
            assert_eq!(found.parts.len(), layers, "{median}");
            let store = found.parts.last().unwrap();
            // By however little the baseline was slower, wire and store are one part.
            assert_eq!(store.separated, layers == 3, "{store:?}");
            assert_eq!(found.too_slow.is_empty(), layers == 4, "{median}");
            assert!(found.parts.iter().all(|part| part.bar_ns >= 0.0));
            let sum: f64 = found.parts.iter().map(|part| part.bar_ns).sum();
            assert!((sum - median).abs() < 1e-6);
        }
    }

    /// Names and lengths of the parts, and the baselines that were too slow.
    fn split(found: &study::Budget) -> (Vec<(String, f64)>, Vec<&str>) {
        let parts = found.parts.iter().map(|part| (part.name(), part.time_ns.value.round())).collect();
        (parts, found.too_slow.iter().map(|base| base.store.as_str()).collect())
    }

    #[test]
    fn a_baseline_slower_than_the_store_splits_nothing_and_no_part_exceeds_the_whole() {
        // As it was once printed: "an operation takes 33.4 µs: ... 203 µs wire".
        let redis = cell("redis-unix", Class::Network, &[33_400.0, 33_300.0, 33_500.0]);
        let mut slow = baselines();
        slow[2] = cell("echo-unix", Class::Baseline, &[203_000.0, 20_000.0, 400_000.0]);
        let found = budget(&redis, &slow).unwrap();
        let expected = vec![("generator".into(), 100.0), ("client".into(), 1600.0), ("wire + store".into(), 31_700.0)];
        assert_eq!(split(&found), (expected, vec!["echo-unix"]));
        assert_eq!(found.too_slow[0].time_per_operation_ns.value, 203_000.0);
        assert!(found.parts.iter().all(|part| part.time_ns.value <= found.time_per_operation_ns.value));

        // A client in one thread that is slower than many of them before the store.
        slow[1] = cell("ram", Class::Baseline, &[50_000.0, 50_100.0, 50_200.0]);
        let found = budget(&redis, &slow).unwrap();
        let expected = vec![("generator".into(), 100.0), ("client + wire + store".into(), 33_300.0)];
        assert_eq!(split(&found), (expected, vec!["ram", "echo-unix"]));

        // A baseline slower than the next one, though not than the store.
        let mut middle = baselines();
        middle[1] = cell("ram", Class::Baseline, &[9_000.0, 9_010.0, 9_020.0]);
        let found = budget(&cell("redis-unix", Class::Network, &[10_500.0, 10_400.0, 10_600.0]), &middle).unwrap();
        let expected = vec![("generator".into(), 100.0), ("client + wire".into(), 7900.0), ("store".into(), 2500.0)];
        assert_eq!(split(&found), (expected, vec!["ram"]));

        slow[0] = cell("null", Class::Baseline, &[90_000.0, 90_000.0]);
        let found = budget(&redis, &slow).unwrap();
        let expected = vec![("generator + client + wire + store".into(), 33_400.0)];
        assert_eq!(split(&found), (expected, vec!["null", "ram", "echo-unix"]));
    }

    #[test]
    fn cells_that_did_other_work_or_kept_a_schedule_have_no_budget() {
        let mut other = cell("lmdb", Class::Embedded, &[6900.0]);
        other.trials[0].operations = 2000;
        assert!(budget(&other, &baselines()).is_none());
        let mut paced = cell("lmdb", Class::Embedded, &[6900.0]);
        paced.params.insert("rate".into(), "1000".into());
        assert!(budget(&paced, &baselines()).is_none());
    }
}
