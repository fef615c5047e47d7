//! The job a script is.

use crate::command;
use crate::coroutine::Raised;
use crate::history::Sharing;
use crate::machine::{Declared, Machine, Surroundings, Survey, Texts};
use crate::registry::{self, KnownScript};
use crate::rehearsal;
use crate::shares;
use crate::sql;
use crate::trial::ScriptTrial;
use jobkit::{Job, JobError, JobRequest, Params, Trial, TrialSetup};
use jobs::expires::{BY_READER, MOMENT_BYTES};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError};
use store::{Capabilities, Counter, Keeps, OperationKind, OperationSet};

/// Units of a script in keybench's form, unless more or fewer are set.
const UNITS: &str = "20000";

/// The most of anything kvtrial sets: 30 years of seconds.
const MOST: f64 = 1e9;

/// Returns the parameters that kvtrial gives every script.
pub(crate) fn own_params(survey: &Survey) -> Vec<Declared> {
    let own = |name: &str, default: &str, help: &str| Declared {
        name: name.into(),
        default: default.into(),
        help: help.into(),
    };
    let seconds = own(
        "seconds",
        "0",
        "how long each timed phase lasts: its function is called again and again; 0: it is called once per client",
    );
    if !survey.bench {
        return vec![seconds];
    }
    let mut params = vec![
        own("units", UNITS, "calls of run, over all clients"),
        own("seconds", "0", "how long run is called; 0: until units are done"),
        own("users", "1000", "ctx.users"),
        own("items", "10000", "ctx.items"),
        own("batch", "1", "ctx.batch"),
    ];
    if let Some((name, first)) = &survey.sweep
        && !params.iter().any(|known| known.name == *name)
    {
        params.push(own(name, first, "what the workload itself would sweep, as in --vary"));
    }
    params
}

/// Returns a script that cannot be used: its error, with the calls that led to it.
pub(crate) fn refused(raised: &Raised) -> JobError {
    let mut words = raised.words.clone();
    for call in &raised.calls {
        words += &format!("\n  {call}");
    }
    JobError(words)
}

/// Returns a value as JSON: as it is where it is JSON, also with the moment of its end behind it, else as text.
pub(crate) fn render(_: &[u8], value: &[u8]) -> Result<String, String> {
    let alone = value.split_last_chunk::<MOMENT_BYTES>().map_or(value, |(value, _)| value);
    let json: serde_json::Value = match serde_json::from_slice(value).or_else(|_| serde_json::from_slice(alone)) {
        Ok(json) => json,
        Err(_) => String::from_utf8_lossy(value).into_owned().into(),
    };
    Ok(json.to_string())
}

/// A script with its data read.
struct Scripted {
    known: Arc<KnownScript>,
    survey: Survey,
    params: Params,
    data: Option<String>,
    texts: Arc<Texts>,
    /// Found out once.
    unit_operations: OnceLock<Option<u64>>,
    /// The same: why its clients cannot be shared, if they use each other's keys.
    crossing: OnceLock<Option<String>>,
}

pub(crate) fn prepare(request: &JobRequest) -> Result<Box<dyn Job>, JobError> {
    let known =
        registry::known(request.job).ok_or_else(|| JobError(format!("the script {} was not opened", request.job)))?;
    let mut scripted = Scripted {
        survey: Survey::default(),
        params: request.params.clone(),
        data: request.data.clone(),
        texts: Arc::default(),
        unit_operations: OnceLock::new(),
        crossing: OnceLock::new(),
        known,
    };
    for own in own_params(&scripted.known.survey) {
        let value = scripted.params.get(&own.name).map_or("", String::as_str);
        if own.default.parse::<f64>().is_ok()
            && !value.parse::<f64>().is_ok_and(|number| (0.0..=MOST).contains(&number))
        {
            return Err(JobError(format!("--set {}={value}: use a number from 0 to 1000000000", own.name)));
        }
    }
    let machine = Machine::new(scripted.surroundings(&Capabilities::BASIC, request.seed), None)
        .map_err(|raised| refused(&raised))?;
    scripted.survey = machine.survey().map_err(|raised| refused(&raised))?;
    Ok(Box::new(scripted))
}

impl Scripted {
    fn surroundings(&self, capabilities: &Capabilities, seed: u64) -> Surroundings {
        Surroundings {
            source: Arc::clone(&self.known.source),
            params: Some(self.params.clone()),
            data: self.data.clone(),
            texts: Arc::clone(&self.texts),
            seed,
            capabilities: capabilities.clone(),
        }
    }

    /// The published workloads of keybench have all threads write the same keys.
    fn sharing(&self) -> Sharing {
        match self.survey.shared.unwrap_or(self.survey.bench) {
            true => Sharing::Shared,
            false => Sharing::OneWriter,
        }
    }
}

impl Job for Scripted {
    fn input(&self) -> BTreeMap<String, serde_json::Value> {
        let source = &self.known.source;
        let mut facts = BTreeMap::from([
            ("script".into(), source.name.clone().into()),
            ("script_digest".into(), source.digest.clone().into()),
            ("script_text".into(), source.text.clone().into()),
        ]);
        let verified = match self.sharing() {
            Sharing::OneWriter => "every value read is the one last written",
            Sharing::Shared => {
                "every value read is one that some client wrote and none had surely replaced (kv.shared)"
            }
        };
        let verified = match (source.uses("command"), source.uses("sql")) {
            (false, false) => verified.to_owned(),
            (command, _) => format!(
                "{verified}; what kv.{} does is judged by the script alone, by kv.expect and its answer",
                if command { "command" } else { "sql" }
            ),
        };
        facts.insert("verified".into(), verified.into());
        let texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, text) in texts.iter() {
            facts.insert("name".into(), name.clone().into());
            facts.insert("lines".into(), text.len().into());
            facts.insert("bytes".into(), text.bytes().into());
            facts.insert("digest".into(), text.digest.clone().into());
        }
        facts
    }

    fn warnings(&self) -> Vec<String> {
        let name = &self.known.source.name;
        let mut sentences = Vec::new();
        if self.sharing() == Sharing::Shared {
            sentences.push(format!(
                "{name}: several clients write the same keys, so a value read is checked to be one that some client wrote and none had surely replaced"
            ));
        }
        if !self.survey.answers && !self.survey.bench {
            sentences.push(format!("{name} has no answer(): stores are compared by what they kept, not by a digest"));
        }
        sentences
    }

    fn suits(&self, store: &Capabilities) -> Result<Vec<&'static str>, JobError> {
        let source = &self.known.source;
        let needs = |verbs: &[&str], kind: OperationKind, what: &str| match verbs.iter().find(|verb| source.uses(verb))
        {
            Some(verb) if !store.has(kind) => {
                Err(JobError(format!("{} calls kv.{verb}, and this store has no {what}", source.name)))
            }
            _ => Ok(()),
        };
        needs(&["scan", "range"], OperationKind::Scan, "scans")?;
        needs(&["cas"], OperationKind::CompareAndSet, "compare-and-set")?;
        if source.uses("command") && !store.has(OperationKind::Command) {
            return Err(JobError(format!(
                "{} calls kv.command, and this store takes none; Redis and Valkey do, alone and in clusters ({})",
                source.name,
                command::STORES.join(", ")
            )));
        }
        if source.uses("sql") && !store.has(OperationKind::Sql) {
            return Err(JobError(format!(
                "{} calls kv.sql, and this store takes no SQL; PostgreSQL, MySQL and MariaDB, and SQLite do ({})",
                source.name,
                sql::STORES.join(", ")
            )));
        }
        needs(&["increment_field", "get_fields"], OperationKind::IncrementField, "records of counters")?;
        let mut emulated = Vec::new();
        if source.names_ttl && !store.has(OperationKind::PutTtl) {
            if ["scan", "range"].iter().any(|verb| source.uses(verb)) {
                return Err(JobError(format!(
                    "{} scans and has a time to live, and this store lets nothing expire: a scan would find what is over",
                    source.name
                )));
            }
            emulated.push(BY_READER);
        } else if source.uses("ttl") {
            needs(&["ttl"], OperationKind::TimeLeft, "way to say what a key has left of its time")?;
        }
        if source.uses("append") && !store.has(OperationKind::Append) {
            emulated.push("append");
        }
        if (source.uses("increment") || source.uses("get_counter")) && !store.has(OperationKind::Increment) {
            if self.sharing() == Sharing::Shared {
                return Err(JobError(format!(
                    "{} counts with several clients (kv.shared), and this store has no counters of its own: a get and a put would lose \
                     updates",
                    source.name
                )));
            }
            emulated.push("increment");
        }
        let narrow = |counter: &Counter| (counter.min, counter.max) != (i64::MIN, i64::MAX);
        if source.uses("increment") && store.counter.is_some_and(|counter| narrow(&counter)) {
            let surroundings = self.surroundings(store, 0);
            if let Some(words) = rehearsal::out_of_range(&surroundings, &self.survey, self.sharing()) {
                return Err(JobError(words));
            }
        }
        for (verbs, kind) in
            [(["get_many", "mget"], OperationKind::GetMany), (["put_many", "mput"], OperationKind::PutMany)]
        {
            if verbs.iter().any(|verb| source.uses(verb)) && !store.has(kind) {
                emulated.push(kind.name());
            }
        }
        Ok(emulated)
    }

    /// Its clients may read what others wrote in phases before, and use keys of their own within a phase.
    fn shareable(&self, setup: &TrialSetup) -> Result<(), JobError> {
        let source = &self.known.source;
        let refused = |why: String| Err(JobError(format!("{}: {why}; run it without --workers", source.name)));
        if self.sharing() == Sharing::Shared {
            return refused("several clients write the same keys (kv.shared), which only one process can judge".into());
        }
        if let Some((verb, what)) = shares::of_one_process(|verb| source.uses(verb)) {
            return refused(format!("it calls kv.{verb}, and only one process can judge {what}"));
        }
        if source.names_ttl {
            return refused("it names a time to live, and only one process can judge values that expire".into());
        }
        if setup.capabilities.keeps == Keeps::Nothing {
            return refused("this store keeps nothing, and only one process can stand in for it".into());
        }
        let surroundings = self.surroundings(&setup.capabilities, setup.seed);
        let crossing = self.crossing.get_or_init(|| {
            rehearsal::crossing(&surroundings, &self.survey, setup.slots)
                .map(|crossing| crossing.explain(&source.name).0)
        });
        crossing.clone().map_or(Ok(()), |words| Err(JobError(words)))
    }

    fn unit_operations(&self) -> Option<u64> {
        let capabilities = Capabilities { native: OperationSet::of(&OperationKind::ALL), ..Capabilities::BASIC };
        let rehearse =
            || rehearsal::unit_operations(&self.surroundings(&capabilities, 0), &self.survey, self.sharing());
        *self.unit_operations.get_or_init(rehearse)
    }

    fn trial(&self, setup: &TrialSetup) -> Box<dyn Trial + '_> {
        let surroundings = self.surroundings(&setup.capabilities, setup.seed);
        Box::new(ScriptTrial::new(surroundings, &self.survey, self.sharing(), setup))
    }
}
