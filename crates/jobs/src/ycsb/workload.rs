//! What a run does: proportions, distribution, sizes; from the letters A to F, and settings over them.

use super::key::{KeyNames, MAX_KEYS, MOST_HASHED};
use super::value::MIN_BYTES;
use data::splitmix::mix;
use jobkit::{JobError, ParamInfo, Params};

/// The parameters as `kvtrial jobs` lists them.
pub static PARAMS: &[ParamInfo] = &[
    param(
        "workload",
        "A",
        "A, B, C, D, E, F",
        "the core workload: A update heavy, B read mostly, C read only, D read latest, E short ranges, F read-modify-write",
    ),
    param("records", "10000", "1 to 1000000000000000", "keys loaded before the run"),
    param(
        "operations",
        "100000",
        "1 or more",
        "operations of the run; a read-modify-write is one, and sends two requests",
    ),
    param("seconds", "0", "0 to 1000000000", "run this long instead; 0: by operations"),
    param("most_operations", "0", "0 or more", "with seconds=: the most operations of the run; 0: any number"),
    param(
        "load",
        "rising",
        "rising, scattered, hashed",
        "order in which keys are loaded; those inserted in the run rise. hashed: a hash of its number is the name of each key, so that \
         all lie far apart",
    ),
    param(
        "ttl",
        "none",
        "none, or a time such as 500ms, 2s, 30m",
        "time to live of every value; a client that misses one whose time is over puts it again",
    ),
    param("value", "1000", "16 to 67108864", "bytes of every value (the fields of YCSB in one)"),
    param(
        "distribution",
        "workload",
        "zipfian, uniform, latest",
        "which keys are asked for; default as the workload has it",
    ),
    param("theta", "0.99", "0 to 10", "exponent of the Zipf law"),
    param("scan_min", "1", "1 to 100000", "shortest scan"),
    param("scan_max", "100", "1 to 100000", "longest scan; lengths are uniform from scan_min"),
    param("read", "workload", "0 or more", "share of reads; shares are divided by their sum"),
    param("update", "workload", "0 or more", "share of updates"),
    param("insert", "workload", "0 or more", "share of inserts"),
    param("scan", "workload", "0 or more", "share of scans"),
    param("rmw", "workload", "0 or more", "share of read-modify-writes"),
];

const fn param(name: &'static str, default: &'static str, values: &'static str, help: &'static str) -> ParamInfo {
    ParamInfo { name, default, values, tunable: &[], help }
}

/// An operation of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads a key.
    Read,
    /// Replaces a value.
    Update,
    /// Adds a key.
    Insert,
    /// Reads a range of keys.
    Scan,
    /// Reads a key, then replaces its value.
    ReadModifyWrite,
}

const KINDS: [(Kind, &str); 5] = [
    (Kind::Read, "read"),
    (Kind::Update, "update"),
    (Kind::Insert, "insert"),
    (Kind::Scan, "scan"),
    (Kind::ReadModifyWrite, "rmw"),
];

/// The distribution of the keys asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Zipf's law, hot keys spread over the key space.
    Zipfian,
    /// All alike.
    Uniform,
    /// Zipf's law over the distance from the newest key.
    Latest,
}

impl Distribution {
    fn parse(word: &str) -> Option<Distribution> {
        match word {
            "zipfian" => Some(Distribution::Zipfian),
            "uniform" => Some(Distribution::Uniform),
            "latest" => Some(Distribution::Latest),
            _ => None,
        }
    }
}

const LONGEST_SCAN: u64 = 100_000;
const DRAWS: u64 = 1 << 53;

/// Draws the kind of operation number i: a function of seed and i alone, so that all stores and any number of clients
/// get the same operations in all.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// Of 2^53 draws: one below the limit of a kind is of that kind, or of one before it.
    limits: [u64; 5],
    only: Option<Kind>,
    salt: u64,
}

impl Mix {
    fn new(shares: [f64; 5], seed: u64) -> Mix {
        let total: f64 = shares.iter().sum();
        let mut sum = 0.0;
        let mut limits = shares.map(|share| {
            sum += share;
            (sum / total * DRAWS as f64) as u64
        });
        // Rounding must leave no draw behind the last kind that has a share.
        let last = shares.iter().rposition(|share| *share > 0.0).unwrap_or(0);
        limits[last..].fill(DRAWS);
        let mut some = KINDS.iter().zip(shares).filter(|(_, share)| *share > 0.0).map(|(kind, _)| kind.0);
        let (first, second) = (some.next(), some.next());
        Mix { limits, only: if second.is_none() { first } else { None }, salt: mix(seed ^ 0x3A1D) }
    }

    /// Returns the kind of operation number `number`.
    #[inline]
    pub fn kind(&self, number: u64) -> Kind {
        if let Some(only) = self.only {
            return only;
        }
        let draw = mix(number ^ self.salt) >> 11;
        let [read, update, insert, scan, _] = self.limits;
        // Read mostly: the first comparison decides most draws.
        match () {
            () if draw < read => Kind::Read,
            () if draw < update => Kind::Update,
            () if draw < insert => Kind::Insert,
            () if draw < scan => Kind::Scan,
            () => Kind::ReadModifyWrite,
        }
    }

    /// Returns whether nothing is ever written.
    pub fn only_reads(&self) -> bool {
        self.only == Some(Kind::Read)
    }

    /// Returns whether this kind occurs.
    pub fn has(&self, kind: Kind) -> bool {
        let at = kind as usize;
        self.limits[at] > if at == 0 { 0 } else { self.limits[at - 1] }
    }

    /// Returns how many of the first `operations` are of that kind.
    pub fn count(&self, kind: Kind, operations: u64) -> u64 {
        match self.only {
            Some(only) if only == kind => operations,
            Some(_) => 0,
            None if self.has(kind) => (0..operations).filter(|&number| self.kind(number) == kind).count() as u64,
            None => 0,
        }
    }
}

/// The end of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RunLength {
    /// After this many operations.
    Operations(u64),
    /// After this many seconds, or operations where they are done before.
    Seconds {
        /// Seconds.
        s: f64,
        /// The most operations; `None`: as many as there is time for.
        most: Option<u64>,
    },
}

impl RunLength {
    /// Returns the number of the operation that is the first not done; a run by time alone has no such number.
    pub fn last(&self) -> u64 {
        match self {
            RunLength::Operations(operations) => *operations,
            RunLength::Seconds { most, .. } => most.unwrap_or(u64::MAX),
        }
    }
}

/// The order in which keys are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadOrder {
    /// Keys in the order they sort.
    Rising,
    /// Neighbours far apart.
    Scattered,
    /// By the number of the key, of which a hash is its name: what is loaded and what is inserted in the run lies far apart.
    Hashed,
}

impl LoadOrder {
    /// Returns how ids become keys.
    pub fn names(self) -> KeyNames {
        match self {
            LoadOrder::Rising | LoadOrder::Scattered => KeyNames::InOrder,
            LoadOrder::Hashed => KeyNames::Hashed,
        }
    }
}

/// Everything a run is made of.
#[derive(Clone, Debug)]
pub struct Workload {
    /// `workload A`, or `own mix` when a share was set.
    pub name: String,
    /// Keys to load.
    pub records: u64,
    /// The order in which keys are loaded.
    pub load: LoadOrder,
    /// The end of the run.
    pub end: RunLength,
    /// Bytes of every value.
    pub value_bytes: usize,
    /// The time to live of every value.
    pub ttl_ms: Option<u64>,
    /// The distribution of the keys asked for.
    pub distribution: Distribution,
    /// Exponent of the Zipf law.
    pub theta: f64,
    /// Shortest scan.
    pub scan_min: u32,
    /// Longest scan.
    pub scan_max: u32,
    /// The mix of operations.
    pub mix: Mix,
}

impl Workload {
    /// Reads and checks the parameters.
    ///
    /// # Errors
    /// Names the parameter, its value, and what is possible.
    pub fn parse(params: &Params, seed: u64) -> Result<Workload, JobError> {
        let text = |name: &str| params.get(name).map_or("", String::as_str);
        let wrong =
            |name: &str, possible: &str| JobError(format!("{name}={} is not possible; use {possible}", text(name)));
        let number = |name: &str, least: f64, most: f64| {
            let info = PARAMS.iter().find(|param| param.name == name);
            let possible = info.map_or("a number", |param| param.values);
            let parsed = text(name).replace('_', "").parse::<f64>().ok();
            parsed.filter(|number| (least..=most).contains(number)).ok_or_else(|| wrong(name, possible))
        };
        let whole = |name: &str, least: u64, most: u64| {
            let info = PARAMS.iter().find(|param| param.name == name);
            let possible = info.map_or("a whole number", |param| param.values);
            let parsed = text(name).replace('_', "").parse::<u64>().ok();
            parsed.filter(|number| (least..=most).contains(number)).ok_or_else(|| wrong(name, possible))
        };
        let (letter, shares, distribution) = match text("workload") {
            "A" | "a" => ('A', [0.5, 0.5, 0.0, 0.0, 0.0], Distribution::Zipfian),
            "B" | "b" => ('B', [0.95, 0.05, 0.0, 0.0, 0.0], Distribution::Zipfian),
            "C" | "c" => ('C', [1.0, 0.0, 0.0, 0.0, 0.0], Distribution::Zipfian),
            "D" | "d" => ('D', [0.95, 0.0, 0.05, 0.0, 0.0], Distribution::Latest),
            "E" | "e" => ('E', [0.0, 0.0, 0.05, 0.95, 0.0], Distribution::Zipfian),
            "F" | "f" => ('F', [0.5, 0.0, 0.0, 0.0, 0.5], Distribution::Zipfian),
            _ => return Err(wrong("workload", "A, B, C, D, E or F")),
        };
        let (mut shares, mut name) = (shares, format!("workload {letter}"));
        for (at, (_, share)) in KINDS.iter().enumerate() {
            if text(share) != "workload" {
                shares[at] = number(share, 0.0, 1e9)?;
                name = "own mix".into();
            }
        }
        if shares.iter().sum::<f64>() <= 0.0 {
            return Err(JobError("the shares of all operations are 0; set at least one, as in read=1".into()));
        }
        let distribution = match text("distribution") {
            "workload" => distribution,
            word => Distribution::parse(word).ok_or_else(|| wrong("distribution", "zipfian, uniform or latest"))?,
        };
        let seconds = number("seconds", 0.0, 1e9)?;
        let operations = whole("operations", 1, u64::MAX / 4)?;
        let most = whole("most_operations", 0, u64::MAX / 4)?;
        let end = match (seconds > 0.0, most) {
            (true, most) => RunLength::Seconds { s: seconds, most: (most > 0).then_some(most) },
            (false, 0) => RunLength::Operations(operations),
            (false, _) => {
                return Err(JobError(format!(
                    "most_operations={most} is for a run of some seconds; add seconds=, or use operations={most}"
                )));
            }
        };
        let load = match text("load") {
            "rising" => LoadOrder::Rising,
            "scattered" => LoadOrder::Scattered,
            "hashed" => LoadOrder::Hashed,
            _ => return Err(wrong("load", "rising, scattered or hashed")),
        };
        let scans = shares[Kind::Scan as usize] > 0.0;
        if load == LoadOrder::Hashed && scans {
            return Err(JobError(
                "load=hashed cannot have scans, which are verified by the order of keys; use load=scattered, or scan=0"
                    .into(),
            ));
        }
        let (scan_min, scan_max) = (whole("scan_min", 1, LONGEST_SCAN)?, whole("scan_max", 1, LONGEST_SCAN)?);
        if scan_min > scan_max {
            return Err(JobError(format!("scan_min={scan_min} is above scan_max={scan_max}; exchange them")));
        }
        let ttl_ms = match text("ttl") {
            "none" | "" => None,
            ttl => Some(
                data::count::milliseconds(ttl)
                    .filter(|ms| *ms > 0)
                    .ok_or_else(|| wrong("ttl", "none, or a time above 0 such as 500ms, 2s or 30m"))?,
            ),
        };
        if ttl_ms.is_some() && (scans || shares[Kind::Insert as usize] > 0.0) {
            return Err(JobError(format!(
                "ttl={} goes with reads, updates and read-modify-writes; use workload=A, B, C or F, or set insert=0 and scan=0",
                text("ttl")
            )));
        }
        let most_keys = if load == LoadOrder::Hashed { MOST_HASHED } else { MAX_KEYS };
        let records = whole("records", 1, MAX_KEYS)?;
        let mix = Mix::new(shares, seed);
        if let RunLength::Operations(operations) = end
            && records + mix.count(Kind::Insert, operations) > most_keys
        {
            return Err(JobError(format!(
                "records and inserts exceed {} keys; set fewer operations or records",
                study::whole(most_keys)
            )));
        }
        Ok(Workload {
            name,
            records,
            load,
            end,
            ttl_ms,
            value_bytes: whole("value", MIN_BYTES as u64, 64 << 20)? as usize,
            distribution,
            theta: number("theta", 0.0, 10.0)?,
            scan_min: scan_min as u32,
            scan_max: scan_max as u32,
            mix,
        })
    }

    /// Returns the number of keys the run will insert, when that is known before.
    pub fn inserts(&self) -> Option<u64> {
        match self.end {
            RunLength::Operations(operations) => Some(self.mix.count(Kind::Insert, operations)),
            RunLength::Seconds { .. } if !self.mix.has(Kind::Insert) => Some(0),
            RunLength::Seconds { .. } => None,
        }
    }

    /// Returns the number of requests the run will send, when that is known before.
    pub fn requests(&self) -> Option<u64> {
        match self.end {
            RunLength::Operations(operations) => Some(operations + self.mix.count(Kind::ReadModifyWrite, operations)),
            RunLength::Seconds { .. } => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
