//! What to run and what came out: plain data, serialisable, the same in memory, in `study.json` and in a report.
//!
//! Here live the spec of a store, the plan of a study, trials, cells, verdicts and their reasons, answers, host facts,
//! quantities, and the histograms that latencies are counted in. What never lives here: I/O, a clock, a random source, statistics, or
//! knowledge of any store or job (but of the words in which systems and servers refuse: [`remedy_of_refusal`]).

mod account;
mod answer;
mod archived;
mod budget;
mod cell;
mod choice;
mod class;
mod crash;
mod distribution;
mod durability;
mod fault;
mod growth;
mod head_of_line;
mod histogram;
mod history;
mod host;
mod latency;
mod left;
mod measure;
mod near;
mod need;
mod node;
mod power;
mod preset;
mod quantity;
mod redact;
mod remedies;
mod search;
mod selftest;
mod shown;
mod spec;
mod study_file;
mod timestamp;
mod transport;
mod trial;
mod varied;
mod verdict;
mod visible;
mod whole;
mod worker_use;

pub use account::WriteAccount;
pub use answer::Answer;
pub use budget::{Budget, BudgetLayer, BudgetPart, SlowBaseline};
pub use cell::{Cell, CellKey, PhaseSummary};
pub use choice::{Alternative, Decision, MoreData, RaceEnd, Rejection, RejectionKind, StoreChoice};
pub use class::Class;
pub use crash::{
    ClientSurvival, Crash, CrashCase, CrashCut, CrashFindings, CrashMeans, CrashMoment, CrashWriter, KeptFiles,
    LOST_AGES_S, Promise, StruckNodes,
};
pub use distribution::{LatencyDistribution, LatencyDistributions};
pub use durability::{Durability, DurabilitySource, UnknownDurability};
pub use fault::FaultFigures;
pub use growth::{CurvePoint, GetTimes, GrowthFacts, Stall};
pub use head_of_line::HeadOfLine;
pub use histogram::{Histogram, MAX_BITS, SUB_BITS};
pub use history::{History, HistoryAct, HistoryFlaw, HistoryOperation};
pub use host::{HostFacts, Judged, Noise};
pub use latency::{AskedPercentiles, Latencies, LatencySummary, PERCENTILES};
pub use left::{Left, LeftCount};
pub use measure::Measure;
pub use near::{did_you_mean, near, nearest};
pub use need::{Meets, NeedShown};
pub use node::{DarkTime, FaultRecord, NodeUse, Role, Takeover};
pub use power::{DiskKind, KeptSectors, PowerCut};
pub use preset::{Original, OriginalMeasure, PresetRecord, Scaled};
pub use quantity::Quantity;
pub use redact::{names_secret, redact};
pub use remedies::{remedy_of_greeting, remedy_of_limit, remedy_of_opening, remedy_of_refusal};
pub use search::{
    MoreClients, RateCount, RateLimit, RatePoint, RateSearch, Tune, TuneEffect, TuneRound, TunedKey, TunedSetting,
};
pub use selftest::{Proof, Selftest, Tolerance};
pub use shown::{ShownPromise, ShownWhere};
pub use spec::{Address, Authority, LIBRARY, PLUGIN, Secret, Spec, SpecError, Target, VERSION};
pub use study_file::{SCHEMA, Study};
pub use timestamp::rfc3339;
pub use transport::Transport;
pub use trial::{FailedCounts, PhaseRecord, ReadBackFigures, SeriesPoint, ServerUse, TrialRecord};
pub use varied::{Sampled, TrialOrder, Varied};
pub use verdict::{Reason, ReasonKind, Status, Verdict, cut};
pub use visible::{is_hidden, visible};
pub use whole::whole;
pub use worker_use::WorkerUse;
