//! The search for the best setting, with real trials and within a budget of time.

use crate::budget::SearchTime;
use crate::effects::effects;
use crate::halving::{self, Halved, Played, SettingTrials, halve};
use crate::lab::{Lab, Tested};
use crate::sample;
use data::splitmix::Rng;
use engine::Settings;
use jobkit::Params;
use runner::{Axis, PlannedCell, PlannedStore, RunError, Variation, VaryError};
use stats::{Permutations, Statistic};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use study::{Quantity, Status, TrialRecord, Tune, TuneEffect, TunedKey, TunedSetting};

/// Share of the budget for the search; the rest is for comparing its best with the default.
const SEARCH_SHARE: f64 = 0.6;
/// Pairs of the final comparison: no more are needed, and the rank test of that many is exact.
const MOST_PAIRS: u32 = 20;
/// Trials of the default there must be time for: the first, two settings in the search, and two pairs behind it.
const TRIALS_NEEDED: f64 = 8.0;
/// Most settings that are tried.
const MOST_SETTINGS: usize = 512;

/// The figure to optimise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// Least time for the job.
    Makespan,
    /// Most operations per second.
    OpsPerS,
    /// Least 99th percentile of response time.
    P99,
    /// Least space by record.
    BytesPerRecord,
}

const OBJECTIVES: [(Objective, &str); 4] = [
    (Objective::Makespan, "makespan"),
    (Objective::OpsPerS, "ops_per_s"),
    (Objective::P99, "p99"),
    (Objective::BytesPerRecord, "bytes_per_record"),
];

impl Objective {
    /// Returns the word of `--objective`.
    pub fn name(self) -> &'static str {
        OBJECTIVES.iter().find(|(one, _)| *one == self).map_or("", |(_, name)| name)
    }

    /// Returns the score of a trial: above 0, more is better. `None` when it has no such figure.
    fn score(self, trial: &TrialRecord, records: Option<f64>) -> Option<f64> {
        let score = match self {
            Objective::Makespan => 1.0 / trial.makespan_s,
            // Of batches the records count: the smallest would have the most operations.
            Objective::OpsPerS => trial.ops_per_s * analysis::records_per_operation(trial).unwrap_or(1.0),
            Objective::P99 => 1.0 / analysis::Metric::P99.of_trial(trial)?,
            Objective::BytesPerRecord => 1.0 / bytes_per_record(trial, records)?,
        };
        (score.is_finite() && score > 0.0).then_some(score)
    }
}

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Objective, String> {
        let known: Vec<&str> = OBJECTIVES.iter().map(|(_, name)| *name).collect();
        let found = OBJECTIVES.iter().find(|(_, name)| *name == text);
        found.map(|(objective, _)| *objective).ok_or_else(|| format!("use {}", known.join(", ")))
    }
}

/// Bytes on disk, or where nothing is on disk the memory of the server, by record.
fn bytes_per_record(trial: &TrialRecord, records: Option<f64>) -> Option<f64> {
    let disk = trial.disk_bytes.filter(|bytes| *bytes > 0);
    let bytes = disk.or(trial.server.map(|server| server.peak_rss_bytes))?;
    records.filter(|records| *records > 0.0).map(|records| bytes as f64 / records)
}

/// The options of a search for a setting.
pub struct TuneOptions<'o> {
    /// The figure to optimise.
    pub objective: Objective,
    /// The time for it.
    pub budget: SearchTime,
    /// The store, private.
    pub store: &'o PlannedStore,
    /// The keys, each with its default first.
    pub axes: Vec<Axis>,
    /// Parameters of the job and settings of the engine that are not searched.
    pub params: &'o Params,
    /// As `params`.
    pub settings: Settings,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// A trial could not be run or recorded.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A value of the engine is out of range.
    #[error(transparent)]
    Vary(#[from] VaryError),
    /// Not enough time for anything.
    #[error(
        "--budget is too small: one trial of the default takes {trial_s:.1} s or more; give it {needed_s:.0}s or more"
    )]
    Budget {
        /// The time a trial takes.
        trial_s: f64,
        /// The budget that is needed.
        needed_s: f64,
    },
    /// The default itself is void.
    #[error("the default setting is void, so there is nothing to compare with: {0}")]
    Void(String),
    /// The user interrupted before the search was over.
    #[error("interrupted before the search was over")]
    Interrupted,
}

/// Searches the best setting. `stop` is the lab's flag: it is set when the budget is used up or `interrupted` is set.
///
/// # Errors
/// See [`TuneError`].
pub fn tune(
    lab: &mut Lab<'_>,
    options: &TuneOptions<'_>,
    stop: &AtomicBool,
    interrupted: &AtomicBool,
) -> Result<Tune, TuneError> {
    options
        .budget
        .watched(stop, interrupted, || Tuner { lab, options, cells: Vec::new(), settings: Vec::new() }.run(interrupted))
}

struct Tuner<'t, 'l, 'o> {
    lab: &'t mut Lab<'l>,
    options: &'t TuneOptions<'o>,
    /// Settings that are tried, by number: values of each key, and their cells.
    settings: Vec<Vec<usize>>,
    cells: Vec<PlannedCell>,
}

impl Tuner<'_, '_, '_> {
    fn run(mut self, interrupted: &AtomicBool) -> Result<Tune, TuneError> {
        let options = self.options;
        let seed = self.lab.plan().seed;
        let sizes: Vec<usize> = options.axes.iter().map(|axis| axis.values.len()).collect();
        let mut tune = Tune {
            objective: options.objective.name().into(),
            budget_s: options.budget.whole.as_secs_f64(),
            combinations: sizes.iter().fold(1, |all, count| all.saturating_mul(*count as u64)),
            space: options
                .axes
                .iter()
                .map(|axis| TunedKey { key: axis.key.clone(), values: axis.values.clone() })
                .collect(),
            ..Tune::default()
        };
        self.add(vec![0; sizes.len()])?;
        tune.default = self.cells[0].varied.clone();

        let begun = self.spent();
        let Some(probe) = self.lab.trial(&self.cells[0].clone(), "probe")? else {
            let trial_s = (self.spent() - begun).as_secs_f64();
            return Err(match interrupted.load(Ordering::Relaxed) {
                true => TuneError::Interrupted,
                false => TuneError::Budget { trial_s, needed_s: (trial_s * TRIALS_NEEDED).ceil() },
            });
        };
        if let Some(reason) = probe.verdict.reasons.iter().find(|reason| reason.kind.status() == Status::Void) {
            return Err(TuneError::Void(format!("{} ({})", reason.kind.name(), reason.example)));
        }
        let trial = self.spent() - begun;
        let search_until = options.budget.whole.mul_f64(SEARCH_SHARE);
        let affordable = halving::affordable(search_until.saturating_sub(self.spent()), trial);
        let needed = trial.mul_f64(TRIALS_NEEDED);
        if affordable < 2 || options.budget.whole < needed {
            return Err(TuneError::Budget { trial_s: trial.as_secs_f64(), needed_s: needed.as_secs_f64().ceil() });
        }
        for setting in sample::settings(&sizes, affordable.min(MOST_SETTINGS), seed).into_iter().skip(1) {
            self.add(setting)?;
        }
        self.lab.expected = (self.cells.len() * 3) as u32;
        let count = self.cells.len();
        let halved = halve(&mut self, count, search_until, seed)?;
        if interrupted.load(Ordering::Relaxed) {
            return Err(TuneError::Interrupted);
        }
        tune.rounds.clone_from(&halved.rounds);
        tune.effects = self.effects(&halved, &sizes, seed);
        // If nothing did better than the default, the nearest other shows by how much.
        let best = halved.ranking.iter().copied().find(|setting| *setting != 0);
        let default_won = halved.ranking.first() == Some(&0);
        if let Some(best) = best {
            tune.best = self.cells[if default_won { 0 } else { best }].varied.clone();
            self.compare(best, seed, &mut tune)?;
        } else {
            tune.best.clone_from(&tune.default);
        }
        tune.pareto = self.pareto();
        tune.used_s = self.spent().as_secs_f64();
        Ok(tune)
    }

    fn add(&mut self, setting: Vec<usize>) -> Result<(), VaryError> {
        let variation = Variation { axes: self.options.axes.clone(), ..Variation::default() };
        let options = self.options;
        self.cells.push(variation.cell(&setting, options.store, options.params, options.settings)?);
        self.settings.push(setting);
        Ok(())
    }

    fn score(&self, trial: &TrialRecord, setting: usize) -> Option<f64> {
        self.options.objective.score(trial, self.lab.records(&self.cells[setting]))
    }

    /// Main effects, from one score a setting: its first trial, before anything was chosen.
    fn effects(&self, halved: &Halved, sizes: &[usize], seed: u64) -> Vec<TuneEffect> {
        let first = |at: usize| halved.records[at].scores.first().map(|(_, score)| (self.settings[at].clone(), *score));
        let tried: Vec<(Vec<usize>, f64)> = (0..self.settings.len()).filter_map(first).collect();
        let found = effects(sizes, &tried, seed);
        let mut all = Vec::new();
        for (key, axis) in self.options.axes.iter().enumerate() {
            for (at, value) in axis.values.iter().enumerate().skip(1) {
                let factor = found.as_ref().map(|found| found[key][at - 1]);
                all.push(TuneEffect {
                    key: axis.key.clone(),
                    value: value.clone(),
                    ratio: factor.map(|it| Quantity {
                        value: it.value,
                        low: it.low,
                        high: it.high,
                        level: 0.95,
                        n: tried.len() as u32,
                    }),
                    separated: factor.is_some_and(|it| it.low > 1.0 || it.high < 1.0),
                });
            }
        }
        all
    }

    /// The default and another setting in turns, in random order within each pair, on trials of their own: what the search saw
    /// of its best is too good, because it was chosen for it.
    fn compare(&mut self, other: usize, seed: u64, tune: &mut Tune) -> Result<(), RunError> {
        let mut random = Rng::new(seed ^ 0x7061_6972_7300_0001);
        let mut scores: [Vec<f64>; 2] = Default::default();
        let begun = self.spent();
        for pair in 0..MOST_PAIRS {
            let spent = self.spent();
            let typical = if pair > 0 { (spent - begun) / pair } else { Duration::ZERO };
            if spent + typical > self.options.budget.whole {
                break;
            }
            let first = random.below(2) as usize;
            let mut both = [None, None];
            for side in [first, 1 - first] {
                let setting = [0, other][side];
                let cell = self.cells[setting].clone();
                let Some(record) = self.lab.trial(&cell, "comparison")? else { break };
                both[side] = self.score(&record, setting).filter(|_| record.verdict.is_ranked());
            }
            // Half a pair is none.
            if let [Some(default), Some(best)] = both {
                scores[0].push(default);
                scores[1].push(best);
            }
        }
        let [default, best] = &scores;
        // One procedure: 1 is outside the interval just when p is below 0.05.
        tune.gain = stats::rank_ratio(best, default, 0.95).map(|ratio| Quantity {
            value: ratio.value,
            low: ratio.low,
            high: ratio.high,
            level: ratio.level,
            n: ratio.n as u32,
        });
        tune.gain_p = stats::permutation_test(best, default, Statistic::Rank, Permutations::default());
        Ok(())
    }

    /// Settings that no other beats in throughput, p99 and space together; void ones are never among them.
    fn pareto(&self) -> Vec<TunedSetting> {
        let fixed_time = self.options.settings.duration.is_some() || runner::seconds(self.options.params).is_some();
        let all: Vec<TunedSetting> =
            self.cells.iter().filter_map(|cell| self.summary(cell)).filter(|it| !it.void).collect();
        let costs = |it: &TunedSetting| -> [f64; 3] {
            let value = |quantity: Option<Quantity>| quantity.map_or(f64::INFINITY, |quantity| quantity.value);
            let work =
                if fixed_time { it.rate().map_or(f64::INFINITY, |rate| -rate.value) } else { value(it.makespan_s) };
            [work, value(it.p99_ns), it.bytes_per_record.unwrap_or(0.0)]
        };
        let beaten = |it: &TunedSetting| {
            let own = costs(it);
            all.iter()
                .map(costs)
                .any(|other| other.iter().zip(&own).all(|(a, b)| a <= b) && other.iter().zip(&own).any(|(a, b)| a < b))
        };
        let mut front: Vec<TunedSetting> = all.iter().filter(|it| !beaten(it)).cloned().collect();
        front.sort_by(|a, b| costs(a)[0].total_cmp(&costs(b)[0]));
        front
    }

    fn summary(&self, cell: &PlannedCell) -> Option<TunedSetting> {
        let Tested { trials, .. } = self.lab.tested(cell)?;
        let records = self.lab.records(cell);
        let over = |figure: &dyn Fn(&TrialRecord) -> Option<f64>| {
            let figures: Vec<f64> = trials.iter().filter_map(figure).filter(|figure| figure.is_finite()).collect();
            stats::median_interval(&figures, 0.95).map(|it| Quantity {
                value: it.value,
                low: it.low,
                high: it.high,
                level: it.level,
                n: it.n as u32,
            })
        };
        Some(TunedSetting {
            setting: cell.varied.clone(),
            makespan_s: over(&|trial| Some(trial.makespan_s)),
            ops_per_s: over(&|trial| Some(trial.ops_per_s)),
            records_per_s: over(&|trial| Some(trial.ops_per_s * analysis::records_per_operation(trial)?)),
            p99_ns: over(&|trial| analysis::Metric::P99.of_trial(trial)),
            bytes_per_record: over(&|trial| bytes_per_record(trial, records)).map(|bytes| bytes.value),
            void: trials.iter().any(|trial| !trial.verdict.is_ranked()),
        })
        .filter(|_| !trials.is_empty())
    }
}

impl SettingTrials for Tuner<'_, '_, '_> {
    type Error = RunError;

    fn play(&mut self, setting: usize, round: usize) -> Result<Played, RunError> {
        let cell = self.cells[setting].clone();
        let Some(record) = self.lab.trial(&cell, &format!("round {}", round + 1))? else { return Ok(Played::Stopped) };
        let score = self.score(&record, setting).filter(|_| record.verdict.is_ranked());
        Ok(score.map_or(Played::Void, Played::Score))
    }

    fn spent(&self) -> Duration {
        self.options.budget.spent()
    }
}
