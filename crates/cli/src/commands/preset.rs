//! `--preset`: a job as its author ran it.

use super::target;
use crate::args::RunArguments;
use crate::failure::CommandFailure;
use crate::output::note;
use jobkit::{JobInfo, Preset};
use store::Availability;
use study::{PresetRecord, Spec};

/// Fills in what the preset says and the user did not.
pub fn apply(arguments: &mut RunArguments) -> Result<Option<PresetRecord>, CommandFailure> {
    let Some(name) = arguments.preset.clone() else { return Ok(None) };
    let Ok(job) = target::job(&arguments.job) else { return Ok(None) };
    let preset = find(job, &name)?;
    let scale = arguments.scale;
    let mut overridden = Vec::new();
    let mut given = |option: &str, is_given: bool| {
        if is_given {
            overridden.push(option.to_owned());
        }
        is_given
    };
    if !given("--data", arguments.data.is_some()) {
        arguments.data = preset.data.map(|data| data.text(scale));
    }
    if !given("-s", !arguments.stores.is_empty()) {
        arguments.stores = available(preset.stores);
    }
    // What the user has set is not varied.
    let is_set = |key: &str| match key {
        "clients" => arguments.clients.is_some(),
        "pipeline" => arguments.pipeline.is_some(),
        _ => arguments.set.iter().any(|(set, _)| set == key),
    };
    if !given("--vary", !arguments.vary.is_empty()) {
        let varied = preset.vary.iter().filter(|(key, _)| !is_set(key));
        arguments.vary = varied.map(|(key, values)| ((*key).to_owned(), (*values).to_owned())).collect();
    }
    if !given("--clients", arguments.clients.is_some()) {
        arguments.clients = Some(preset.clients);
    }
    if !given("--pipeline", arguments.pipeline.is_some()) {
        arguments.pipeline = Some(preset.pipeline);
    }
    if !given("--time-one-in", arguments.time_one_in.is_some()) {
        arguments.time_one_in = preset.time_one_in;
    }
    if !given("--repeats", arguments.repeats.is_some() || arguments.quick) {
        arguments.repeats = Some(preset.repeats);
    }
    if !given("--warmups", arguments.warmups.is_some()) {
        arguments.warmups = Some(preset.warmups);
    }
    for (key, _) in preset.params {
        given(&format!("--set {key}"), arguments.set.iter().any(|(set, _)| set == key));
    }
    // Later settings win: the preset's come first.
    let mut set: Vec<_> = preset.params.iter().map(|(key, value)| ((*key).to_owned(), value.text(scale))).collect();
    set.append(&mut arguments.set);
    arguments.set = set;
    let record = preset.record(scale, overridden);
    for scaled in &record.scaled {
        note(&format!(
            "kvtrial: scaled by {}: {} {} instead of {}",
            record.scale,
            study::whole(scaled.here),
            scaled.what,
            study::whole(scaled.original)
        ));
    }
    Ok(Some(record))
}

fn find(job: &'static JobInfo, name: &str) -> Result<&'static Preset, CommandFailure> {
    job.extras.presets.iter().find(|preset| preset.name == name).ok_or_else(|| {
        let known: Vec<&str> = job.extras.presets.iter().map(|preset| preset.name).collect();
        CommandFailure::usage(match known.as_slice() {
            [] => format!("{} has no presets; 'kvtrial jobs' shows which jobs have", job.name),
            _ => format!("{} has no preset '{name}'; it has {}", job.name, known.join(", ")),
        })
    })
}

/// Those of the preset's stores that can be had here; the others are said to be left out.
fn available(specs: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for &text in specs {
        let name = text.parse::<Spec>().map_or_else(|_| text.to_owned(), |spec| spec.name);
        match catalog::find(&name).map(|info| (info.probe(), info.install)) {
            Some((Availability::Found(_), _)) => found.push(text.to_owned()),
            Some((Availability::NotFound(what), install)) => {
                note(&format!("kvtrial: {text} is left out: {what} not found; install it with: {install}"));
            }
            Some((Availability::NotBuilt(feature), _)) => {
                note(&format!(
                    "kvtrial: {text} is left out: build it with: cargo build --release --features {feature}"
                ));
            }
            None => note(&format!("kvtrial: {text} is left out: this version does not have it")),
        }
    }
    found
}
