//! What is varied: keys of the job, of the engine and of stores, and every combination of their values.

use crate::grid;
use crate::plan::PlannedStore;
use crate::planned_cell::PlannedCell;
use engine::{Arrivals, Settings};
use jobkit::{JobInfo, Params};
use std::collections::{BTreeMap, BTreeSet};
use study::{Sampled, Spec, Varied};

/// Most cells a study may have.
const MOST_CELLS: usize = 10_000;

/// Options of the engine that may be varied, with their ranges.
const ENGINE: [(&str, &str); 4] =
    [("clients", "1 to 100000"), ("pipeline", "1 to 100000"), ("threads", "1 to 4096"), ("rate", "a number above 0")];

/// Whose key it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Job,
    Engine,
    Store,
}

/// One varied key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// As the user named it, e.g. `clients` or `redis.io-threads`.
    pub key: String,
    owner: Owner,
    /// Its values, none twice.
    pub values: Vec<String>,
}

/// A `--vary` that cannot be done. Names the key, what there is, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--vary {key}: {problem}")]
pub struct VaryError {
    /// The key, with its value where that matters.
    pub key: String,
    /// What is wrong and what to write instead.
    pub problem: String,
}

fn wrong(key: impl Into<String>, problem: impl Into<String>) -> VaryError {
    VaryError { key: key.into(), problem: problem.into() }
}

/// Reads `KEY=VALUES`. A key is looked for among the job's parameters, then the engine's options, then the stores'; `NAME.KEY` is
/// the option of that store only (`redis.io-threads` also of `redis-unix`).
///
/// # Errors
/// A key that nothing has, a key named twice, or values that cannot be read or are out of range.
pub fn axes(job: &JobInfo, stores: &[PlannedStore], vary: &[(String, String)]) -> Result<Vec<Axis>, VaryError> {
    let mut axes: Vec<Axis> = Vec::new();
    for (key, text) in vary {
        let mut values = grid::values(text).map_err(|problem| wrong(key, problem))?;
        if axes.iter().any(|axis| axis.key == *key) {
            return Err(wrong(key, "it is varied twice; give all its values in one --vary"));
        }
        let owner = if job.params.iter().any(|param| param.name == key) {
            Owner::Job
        } else if ENGINE.iter().any(|(name, _)| name == key) {
            Owner::Engine
        } else if stores.iter().any(|store| option(key, store).is_some()) {
            Owner::Store
        } else {
            return Err(unknown(key, job, stores));
        };
        let param = job.params.iter().find(|param| param.name == key);
        let numeric = owner == Owner::Engine || param.is_some_and(|param| param.default.parse::<f64>().is_ok());
        let counts = numeric || stores.iter().any(|store| is_count(key, store));
        if let Some((value, meant)) = values.iter().filter(|_| counts).find_map(|it| Some((it, grid::meant_range(it)?)))
        {
            return Err(wrong(key, format!("'{value}' is not a number; a range is written --vary {key}={meant}")));
        }
        if numeric {
            values.iter_mut().for_each(|value| *value = data::count::plain(value));
        }
        let axis = Axis { key: key.clone(), owner, values };
        check(&axis, stores)?;
        axes.push(axis);
    }
    Ok(axes)
}

fn unknown(key: &str, job: &JobInfo, stores: &[PlannedStore]) -> VaryError {
    let names = |names: &mut dyn Iterator<Item = &'static str>| names.collect::<Vec<_>>().join(", ");
    let mut known = format!(
        "{} has {}; the engine has {}",
        job.name,
        names(&mut job.params.iter().map(|param| param.name)),
        names(&mut ENGINE.iter().map(|(name, _)| *name)),
    );
    let mut told = BTreeSet::new();
    for store in stores.iter().filter(|store| told.insert(store.info.name)) {
        let options = store.info.options.iter().map(|option| option.name);
        known += &format!("; {} has {}", store.info.name, names(&mut std::iter::once("durability").chain(options)));
    }
    let job_keys = job.params.iter().map(|param| param.name);
    let store_keys = stores.iter().flat_map(|store| store.info.options).map(|option| option.name);
    let all = job_keys.chain(ENGINE.iter().map(|(name, _)| *name)).chain(store_keys).chain(["durability"]);
    wrong(key, format!("nothing here has that key.{} {known}", study::did_you_mean(key, all)))
}

/// The name of the store's option that a key means, if the store has it.
fn option<'k>(key: &'k str, store: &PlannedStore) -> Option<&'k str> {
    let name = match key.split_once('.') {
        Some((owner, name)) if owner == store.info.name || owner == store.info.family => name,
        Some(_) => return None,
        None => key,
    };
    let durability = name == "durability" && store.info.durabilities.len() > 1;
    let layered = layers::find(store.info, name).is_some();
    (!store.baseline && (durability || layered || store.info.options.iter().any(|option| option.name == name)))
        .then_some(name)
}

/// Whether a key is an option of the store whose values, as far as they are known, are numbers.
fn is_count(key: &str, store: &PlannedStore) -> bool {
    let Some(name) = option(key, store) else { return false };
    let tried = store.info.options.iter().find(|option| option.name == name).and_then(|option| option.tunable);
    tried.is_some_and(|tried| tried.values.iter().all(|value| value.parse::<f64>().is_ok()))
}

/// Values that can be judged here: the engine's, and those of stores. The job judges its own when it is prepared.
fn check(axis: &Axis, stores: &[PlannedStore]) -> Result<(), VaryError> {
    for value in &axis.values {
        match axis.owner {
            Owner::Job => {}
            Owner::Engine => {
                let mut settings = Settings { arrivals: Arrivals::Fixed { ops_per_s: 1.0 }, ..Settings::default() };
                turn_engine(&mut settings, &axis.key, value)?;
            }
            Owner::Store => {
                let tried = stores.iter().filter_map(|store| taken(axis, value, store));
                let mut problems = Vec::new();
                let takers = tried.filter_map(|taken| taken.map_err(|problem| problems.push(problem)).ok()).count();
                if takers == 0 {
                    return Err(wrong(format!("{}={value}", axis.key), problems.join("; ")));
                }
            }
        }
    }
    Ok(())
}

/// The store's spec with this value; `None` when the store does not have the option.
fn taken(axis: &Axis, value: &str, store: &PlannedStore) -> Option<Result<Spec, String>> {
    let name = option(&axis.key, store)?;
    let mut spec = store.spec.clone();
    if name == "durability" {
        match value.parse() {
            Ok(level) => spec.durability = Some(level),
            Err(error) => return Some(Err(format!("{error}"))),
        }
    } else {
        spec.options.insert(name.to_owned(), value.to_owned());
    }
    Some(layers::check(store.info, &spec).map(|()| spec).map_err(|error| error.to_string()))
}

/// Returns the cell with every other value that a search may try of an option of its store, one at a time.
pub fn other_settings(cell: &PlannedCell) -> Vec<PlannedCell> {
    let open = cell.info.options.iter().filter(|option| option.asked(&cell.spec).is_none());
    let values = open.filter_map(|option| Some((option.name, option.tunable?.values)));
    let turned = values.flat_map(|(name, values)| values.iter().skip(1).map(move |value| (name, *value)));
    let with = |(name, value): (&str, &str)| {
        let mut spec = cell.spec.clone();
        spec.options.insert(name.into(), value.into());
        layers::check(cell.info, &spec).is_ok().then(|| PlannedCell { spec, ..cell.clone() })
    };
    turned.filter_map(with).collect()
}

fn turn_engine(settings: &mut Settings, key: &str, value: &str) -> Result<(), VaryError> {
    let range = ENGINE.iter().find(|(name, _)| *name == key).map_or("", |(_, range)| range);
    let refused = || wrong(format!("{key}={value}"), format!("use {range}"));
    let whole = |most: u32| {
        data::count::whole(value)
            .and_then(|n| u32::try_from(n).ok())
            .filter(|n| (1..=most).contains(n))
            .ok_or_else(refused)
    };
    match key {
        "clients" => settings.clients = whole(100_000)?,
        "pipeline" => settings.pipeline = whole(100_000)?,
        "threads" => settings.threads = Some(whole(4096)?),
        _ => {
            let rate = data::count::number(value).filter(|rate| rate.is_finite() && *rate > 0.0).ok_or_else(refused)?;
            settings.arrivals = match settings.arrivals {
                Arrivals::Poisson { .. } => Arrivals::Poisson { ops_per_s: rate },
                _ => Arrivals::Fixed { ops_per_s: rate },
            };
        }
    }
    Ok(())
}

/// The variation of a study: the axes, and the choice among all combinations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Variation {
    /// The keys.
    pub axes: Vec<Axis>,
    /// Values of each combination, by axis.
    pub combinations: Vec<Vec<usize>>,
    /// How many were drawn of how many, when not all.
    pub sampled: Option<Sampled>,
}

impl Variation {
    /// Varies nothing: one combination.
    pub fn none() -> Variation {
        Variation { combinations: vec![Vec::new()], ..Variation::default() }
    }

    /// Makes every combination of the values, the last key fastest; or `sample` of them, drawn by the seed and in that order.
    ///
    /// # Errors
    /// More combinations than a study may have.
    pub fn new(axes: Vec<Axis>, sample: Option<u32>, seed: u64) -> Result<Variation, VaryError> {
        let of = axes.iter().map(|axis| axis.values.len() as u64).fold(1, u64::saturating_mul);
        let wanted = sample.map_or(of, |sample| u64::from(sample).min(of));
        if wanted > MOST_CELLS as u64 {
            let keys: Vec<&str> = axes.iter().map(|axis| axis.key.as_str()).collect();
            let problem = format!(
                "{} combinations are more than {}; use --sample N for N of them",
                study::whole(wanted),
                study::whole(MOST_CELLS as u64)
            );
            return Err(wrong(keys.join(", "), problem));
        }
        let mut drawn: BTreeSet<u64> = BTreeSet::new();
        let mut random = data::splitmix::Rng::new(seed ^ 0x7361_6d70_6c65_0001);
        // Floyd's: every subset of that size is as likely.
        for last in of - wanted..of {
            let pick = random.below(last + 1);
            if !drawn.insert(pick) {
                drawn.insert(last);
            }
        }
        let digits = |mut number: u64| {
            let mut digits = vec![0; axes.len()];
            for (digit, axis) in digits.iter_mut().zip(&axes).rev() {
                let values = axis.values.len() as u64;
                *digit = (number % values) as usize;
                number /= values;
            }
            digits
        };
        let combinations = drawn.into_iter().map(digits).collect();
        let sampled = (wanted < of).then_some(Sampled { combinations: wanted, of });
        Ok(Variation { axes, combinations, sampled })
    }

    /// Returns the cells of every store over all combinations. A store has one cell for each combination of the keys it takes: a key it
    /// does not take does not multiply its trials. Baselines take the job's and the engine's keys.
    ///
    /// # Errors
    /// A value of the engine out of range.
    pub fn cells(
        &self,
        stores: &[PlannedStore],
        params: &Params,
        settings: Settings,
    ) -> Result<Vec<PlannedCell>, VaryError> {
        let mut cells: Vec<PlannedCell> = Vec::new();
        let mut seen = BTreeSet::new();
        for combination in &self.combinations {
            for store in stores {
                let cell = self.cell(combination, store, params, settings)?;
                if seen.insert((cell.spec.to_string(), cell.params.clone(), cell.varied.clone())) {
                    cells.push(cell);
                }
            }
        }
        match cells.len() {
            0..=MOST_CELLS => Ok(cells),
            more => Err(wrong(
                "",
                format!(
                    "{} cells are more than {}; use --sample N or fewer stores",
                    study::whole(more as u64),
                    study::whole(MOST_CELLS as u64)
                ),
            )),
        }
    }

    /// Returns the cell of one combination on one store.
    ///
    /// # Errors
    /// A value of the engine out of range.
    pub fn cell(
        &self,
        combination: &[usize],
        store: &PlannedStore,
        params: &Params,
        settings: Settings,
    ) -> Result<PlannedCell, VaryError> {
        let (mut params, mut settings, mut spec) = (params.clone(), settings, store.spec.clone());
        let mut varied = BTreeMap::new();
        for (axis, &at) in self.axes.iter().zip(combination) {
            let value = &axis.values[at];
            match axis.owner {
                Owner::Job => drop(params.insert(axis.key.clone(), value.clone())),
                Owner::Engine => turn_engine(&mut settings, &axis.key, value)?,
                Owner::Store => {
                    let here = PlannedStore { spec: spec.clone(), ..*store };
                    let Some(Ok(turned)) = taken(axis, value, &here) else { continue };
                    spec = turned;
                }
            }
            varied.insert(axis.key.clone(), value.clone());
        }
        settings.duration = crate::planned_cell::seconds(&params);
        Ok(PlannedCell { info: store.info, spec, baseline: store.baseline, params, settings, varied, change: None })
    }

    /// Returns the keys as the study states them, with the stores that do not take them.
    pub fn varied(&self, stores: &[PlannedStore]) -> Vec<Varied> {
        let not_taken = |axis: &Axis| match axis.owner {
            Owner::Store => {
                stores.iter().filter(|store| !store.baseline).filter_map(|store| refusal(axis, store)).collect()
            }
            _ => Vec::new(),
        };
        let varied =
            |axis: &Axis| Varied { key: axis.key.clone(), values: axis.values.clone(), not_taken: not_taken(axis) };
        self.axes.iter().map(varied).collect()
    }
}

/// Which values of an option a store does not take, in words.
fn refusal(axis: &Axis, store: &PlannedStore) -> Option<String> {
    let takes = |value: &&String| matches!(taken(axis, value, store), Some(Ok(_)));
    let refused: Vec<&str> = axis.values.iter().filter(|value| !takes(value)).map(String::as_str).collect();
    if option(&axis.key, store).is_none() {
        return Some(format!("{} does not have it", store.spec));
    }
    (!refused.is_empty()).then(|| format!("{} does not take {}", store.spec, refused.join(", ")))
}
