//! Scripts that were named so far: a job of each, for the life of the process, like the jobs that are compiled in.

use crate::machine::{Declared, Machine, Surroundings, Survey};
use crate::scripted;
use crate::source::ScriptText;
use jobkit::{Holds, JobError, JobExtras, JobInfo, ParamInfo, Preset, QueryInfo};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use store::Capabilities;

/// A script with what it says of itself.
pub(crate) struct KnownScript {
    pub(crate) source: Arc<ScriptText>,
    pub(crate) survey: Survey,
    info: &'static JobInfo,
}

static KNOWN: Mutex<Vec<Arc<KnownScript>>> = Mutex::new(Vec::new());

/// Returns whether a job of this name is a script.
pub fn is_script(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("lua"))
}

/// Returns the job of that name: one that is compiled in, or the script in that file. `None`: there is none.
///
/// # Errors
/// The script cannot be read, or its top level fails: with file and line.
pub fn find(name: &str) -> Result<Option<&'static JobInfo>, JobError> {
    match jobs::find(name) {
        Some(info) => Ok(Some(info)),
        None if is_script(name) => open(Path::new(name)).map(Some),
        None => Ok(None),
    }
}

/// A script on its way to another process, which needs no file of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptFile {
    name: String,
    path: PathBuf,
    text: String,
    digest: String,
}

/// Returns the script behind a job, to be sent; `None`: it is compiled in.
pub fn file(info: &JobInfo) -> Option<ScriptFile> {
    let known = known(info.name)?;
    let ScriptText { name, path, text, digest, .. } = &*known.source;
    Some(ScriptFile { name: name.clone(), path: path.clone(), text: text.clone(), digest: digest.clone() })
}

/// Returns the job of a script that was sent.
///
/// # Errors
/// It is not what was sent, or its top level fails.
pub fn take(file: &ScriptFile) -> Result<&'static JobInfo, JobError> {
    let source = ScriptText::of(file.name.clone(), file.path.clone(), file.text.clone());
    if source.digest != file.digest {
        return Err(JobError(format!("{}: its text has changed on the way here", file.name)));
    }
    keep(Arc::new(source))
}

/// Returns settings with which a script that is repeated many times is repeated a few.
pub fn short(info: &JobInfo) -> Vec<(String, String)> {
    match known(info.name) {
        Some(known) if known.survey.bench => vec![("units".into(), "100".into())],
        _ => Vec::new(),
    }
}

/// Returns the script behind a job.
pub(crate) fn known(name: &str) -> Option<Arc<KnownScript>> {
    let all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().rev().find(|known| known.info.name == name).cloned()
}

fn open(path: &Path) -> Result<&'static JobInfo, JobError> {
    keep(Arc::new(ScriptText::read(path)?))
}

/// Returns the job of a script, which is looked at where it is new.
fn keep(source: Arc<ScriptText>) -> Result<&'static JobInfo, JobError> {
    {
        let all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |known: &&Arc<KnownScript>| known.source.path == source.path && known.source.digest == source.digest;
        if let Some(known) = all.iter().rev().find(same) {
            return Ok(known.info);
        }
    }
    let surroundings = Surroundings {
        source: Arc::clone(&source),
        params: None,
        data: None,
        texts: Arc::default(),
        seed: 0,
        capabilities: Capabilities::BASIC,
    };
    let survey = Machine::new(surroundings, None)
        .and_then(|machine| machine.survey())
        .map_err(|raised| scripted::refused(&raised))?;
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    // Two files of one name, in one process, have the names of their places.
    let taken = all.iter().any(|known| known.info.name == source.name);
    let name = if taken { source.path.display().to_string() } else { source.name.clone() };
    let info = info(name, &source, &survey)?;
    all.push(Arc::new(KnownScript { source, survey, info }));
    Ok(info)
}

/// The job as it is listed. It lives as long as the process, of which it is one or few.
fn info(name: String, source: &ScriptText, survey: &Survey) -> Result<&'static JobInfo, JobError> {
    let mut params = Vec::new();
    for declared in &survey.params {
        params.push(param(declared, "as the script has it")?);
    }
    for own in scripted::own_params(survey) {
        if survey.params.iter().any(|declared| declared.name == own.name) {
            return Err(JobError(format!(
                "{}: kv.param('{}'): kvtrial has a parameter of this name itself",
                source.name, own.name
            )));
        }
        params.push(param(&own, "a number")?);
    }
    let input = if source.uses("data") {
        "--data FILE: text, JSON lines or CSV, as the script reads it; also .gz"
    } else {
        "none"
    };
    let params: &'static [ParamInfo] = params.leak();
    Ok(Box::leak(Box::new(JobInfo {
        name: name.leak(),
        summary: source.summary().leak(),
        input,
        records: "keys",
        params,
        prepare: scripted::prepare,
        extras: JobExtras {
            query: Some(QueryInfo { key: "KEY", holds: Holds::Values, render: scripted::render }),
            presets: presets(survey, params),
            ..JobExtras::NONE
        },
    })))
}

/// The presets of the job the script is like, with those of their settings that the script has, too.
fn presets(survey: &Survey, params: &[ParamInfo]) -> &'static [Preset] {
    let Some(job) = survey.like.as_deref().and_then(jobs::find) else { return &[] };
    let own = |preset: &Preset| {
        let has = |key: &str| params.iter().any(|param| param.name == key);
        let mut differences = preset.differences.to_vec();
        differences.push("Here the work is that of a script, which decides itself how clients share it.");
        let set: Vec<_> = preset.params.iter().copied().filter(|(key, _)| has(key)).collect();
        let vary: Vec<_> = preset.vary.iter().copied().filter(|(key, _)| has(key) || OPTIONS.contains(key)).collect();
        Preset { params: set.leak(), vary: vary.leak(), differences: differences.leak(), ..*preset }
    };
    job.extras.presets.iter().map(own).collect::<Vec<Preset>>().leak()
}

/// Options of kvtrial's own, which no script may declare.
const OPTIONS: [&str; 5] = ["clients", "pipeline", "threads", "rate", "durability"];

fn param(declared: &Declared, values: &'static str) -> Result<ParamInfo, JobError> {
    if OPTIONS.contains(&declared.name.as_str()) {
        return Err(JobError(format!(
            "kv.param('{0}'): {0} is an option of kvtrial's own; use another name",
            declared.name
        )));
    }
    Ok(ParamInfo {
        name: declared.name.clone().leak(),
        default: declared.default.clone().leak(),
        values,
        tunable: &[],
        help: declared.help.clone().leak(),
    })
}
