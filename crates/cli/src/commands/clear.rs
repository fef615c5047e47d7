//! `kvtrial clear`: deletes what a run left in user-owned stores.

use super::plan::plan;
use super::preset;
use crate::args::{Arguments, ClearArguments, Command};
use crate::failure::{self, CommandFailure};
use crate::output::{self, print};
use archive::{StudyDir, read_study};
use clap::Parser;
use runner::{Plan, place_of};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use study::{Left, Spec, Study, Target};

/// Deletes what a study says was left, and takes it out of the study.
pub fn clear(arguments: &ClearArguments) -> Result<u8, CommandFailure> {
    let directory = &arguments.study;
    let study = read_study(directory)?;
    if study.left.is_empty() {
        print(&format!("{}: this run left nothing in your own stores\n", directory.display()))?;
        return Ok(failure::GOOD);
    }
    let (wanted, others) = wanted(&study, &arguments.stores)?;
    let plan = planned_again(&study, &wanted, &arguments.stores)?;
    let mut lines = String::new();
    let (still, outcome) = match delete(&plan, &wanted, host::interrupt::flag(), &mut |line| lines += line) {
        Ok(still) => (still, Ok(())),
        Err((failure, still)) => (still, Err(failure)),
    };
    let is_done = still.is_empty();
    keep(directory, others.into_iter().chain(still).collect())?;
    print(&lines)?;
    outcome?;
    Ok(if is_done { failure::GOOD } else { failure::INTERRUPTED })
}

/// What is to be cleared: all that is left, or what is left in the stores that are named; and the rest.
fn wanted(study: &Study, stores: &[String]) -> Result<(Vec<Left>, Vec<Left>), CommandFailure> {
    let specs = stores.iter().map(|text| text.parse::<Spec>()).collect::<Result<Vec<_>, _>>()?;
    let places: Vec<String> = specs.iter().map(place_of).collect();
    if let Some(stranger) = places.iter().find(|place| !study.left.iter().any(|left| left.store == **place)) {
        let known: Vec<&str> = study.left.iter().map(|left| left.store.as_str()).collect();
        return Err(CommandFailure::usage(format!(
            "this run left nothing in {stranger}; it did in {}",
            known.join(", ")
        )));
    }
    Ok(study.left.iter().cloned().partition(|left| places.is_empty() || places.contains(&left.store)))
}

/// Writes down what is still there, in the study and in its page if it has one.
fn keep(directory: &Path, left: Vec<Left>) -> Result<(), CommandFailure> {
    let study = StudyDir::change(directory, |study| study.left = left)?;
    if directory.join(super::report_files::PAGE).exists() {
        super::report_files::write(directory, &study)
    } else {
        Ok(())
    }
}

/// Deletes what a run of this plan left. `hear` gets a line for each store; returned is what is still there.
///
/// # Errors
/// A store could not be reached, or refused; with what is still there then.
pub fn delete(
    plan: &Plan,
    left: &[Left],
    stop: &AtomicBool,
    hear: &mut dyn FnMut(&str),
) -> Result<Vec<Left>, (CommandFailure, Vec<Left>)> {
    let mut still = left.to_vec();
    let mut progress = terminal::ProgressView::new(output::error_colour());
    let total = left.len() as u32;
    for (order, place) in (1..).zip(left) {
        let mut phase = String::new();
        let mut show = |under_way: &runner::UnderWay, moment: measure::Progress| {
            if phase != under_way.name {
                phase.clone_from(&under_way.name);
                progress.trial_started(order, total, &place.store, &phase);
            }
            let share = under_way.operations.map(|planned| moment.operations as f64 / planned.max(1) as f64);
            let (operations, errors, elapsed) = (moment.operations, moment.errors, moment.elapsed);
            progress.update(&terminal::Moment {
                operations,
                share,
                errors,
                p99_ns: moment.p99_ns,
                elapsed,
                ..terminal::Moment::default()
            });
            host::interrupt::progress();
        };
        let cleared = runner::clear(plan, place, stop, &mut show);
        progress.finish();
        match cleared {
            Ok(runner::Cleared::All { deleted }) => {
                still.retain(|other| other.store != place.store);
                let keys = if deleted == 1 { "1 key".to_owned() } else { format!("{} keys", study::whole(deleted)) };
                hear(&format!("{}: {keys} of this run deleted\n", place.store));
            }
            Ok(runner::Cleared::Some) => {}
            Err(error) => return Err((CommandFailure::of(error), still)),
        }
    }
    Ok(still)
}

/// The plan of the study, from its command line, for the stores that are to be cleared.
fn planned_again(study: &Study, wanted: &[Left], stores: &[String]) -> Result<Plan, CommandFailure> {
    let unreadable =
        |problem| CommandFailure::usage(format!("the study's command line cannot be read again: {problem}"));
    let parsed = Arguments::try_parse_from(&study.command).map_err(|error| unreadable(error.to_string()))?;
    let Command::Run(mut run) = parsed.command else { return Err(unreadable("it is not that of kvtrial run".into())) };
    let mut specs = Vec::new();
    for text in &run.stores {
        let spec: Spec = text.parse()?;
        let place = place_of(&spec);
        if spec.target == Target::Private {
            specs.push(text.clone()); // --host and --port say where it is
        } else if wanted.iter().any(|left| left.store == place) {
            specs.push(with_password(text, &spec, stores)?);
        }
    }
    run.stores = specs;
    run.no_baselines = true;
    preset::apply(&mut run)?;
    plan(&run)
}

/// The text of a spec of the study's, with the password of the one that is named on the command line.
fn with_password(text: &str, spec: &Spec, stores: &[String]) -> Result<String, CommandFailure> {
    let place = place_of(spec);
    for given in stores {
        let named: Spec = given.parse()?;
        if place_of(&named) == place {
            // What the study's has beyond it says what the store is.
            let more = spec.options.iter().filter(|(key, _)| !named.options.contains_key(*key));
            return Ok(more.fold(given.clone(), |full, (key, value)| format!("{full},{key}={value}")));
        }
    }
    // Without a password it is asked for, as no study holds any.
    Ok(text.to_owned())
}
