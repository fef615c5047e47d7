//! From `-s`, `--host` and `--port` to adapters.

use super::offer::offer;
use crate::args;
use crate::failure::CommandFailure;
use crate::password;
use engine::Settings;
use jobkit::{JobInfo, Params};
use runner::{KeysFound, PlannedStore, Request, Rounds};
use std::path::{Path, PathBuf};
use store::StoreInfo;
use study::{Address, Authority, Class, Spec, Target};

/// Stores that are offered instead of one that there is not.
const OFFERED: usize = 3;

/// Returns the adapter of that name.
pub fn adapter(name: &str) -> Result<&'static StoreInfo, CommandFailure> {
    catalog::find(name).ok_or_else(|| {
        let meant = match study::nearest(name, catalog::all().map(|info| info.name), OFFERED).as_slice() {
            _ if name.ends_with(".so") => format!(" A library of yours is {}:{name}.", study::PLUGIN),
            [] => String::new(),
            [meant] => format!(" Did you mean {meant}?"),
            [some @ .., last] => format!(" Did you mean {} or {last}?", some.join(", ")),
        };
        CommandFailure::usage(format!(
            "there is no store '{name}'.{meant} 'kvtrial stores' lists all {}",
            catalog::all().count()
        ))
    })
}

/// Returns the adapter a spec names, whether or not its program is on this machine.
pub fn known(spec: &Spec) -> Result<&'static StoreInfo, CommandFailure> {
    let info = catalog::of(spec)?.map_or_else(|| adapter(&spec.name), Ok)?;
    layers::check(info, spec)?;
    Ok(info)
}

/// Returns the adapter a spec names, if it can be had on this machine; a program that can be fetched is offered.
pub fn resolve(spec: &Spec) -> Result<&'static StoreInfo, CommandFailure> {
    let info = known(spec)?;
    offer(info, spec)?;
    host::present(info, spec)?;
    Ok(info)
}

/// Returns the job of that name.
pub fn job(name: &str) -> Result<&'static JobInfo, CommandFailure> {
    script::find(name).map_err(|error| CommandFailure::usage(error.to_string()))?.ok_or_else(|| {
        let known: Vec<&str> = jobs::all().map(|job| job.name).collect();
        let meant = study::did_you_mean(name, known.iter().copied());
        CommandFailure::usage(format!(
            "there is no job '{name}'.{meant} There are: {}, and any script: FILE.lua",
            known.join(", ")
        ))
    })
}

/// Returns the parameters of a job as they are set. One that the job does not have may be an option of the command or of a store.
pub fn params(job: &JobInfo, set: &[(String, String)]) -> Result<Params, CommandFailure> {
    jobs::params(job, set).map_err(|error| {
        let is_unknown = |(name, _): &&(String, String)| !job.params.iter().any(|param| param.name == name);
        let form = set.iter().find(is_unknown).and_then(|(name, value)| args::right_form(name, value));
        let form = form.map_or_else(String::new, |form| format!(". Write {form}"));
        CommandFailure::usage(format!("{error}{form}"))
    })
}

/// Returns what a search asks of these stores: one trial per cell and round, with these parameters set.
pub fn search(
    job: &'static JobInfo,
    stores: Vec<PlannedStore>,
    set: &[(String, String)],
    arguments: &args::SearchArguments,
) -> Result<Request, CommandFailure> {
    let params = params(job, set)?;
    let settings = Settings {
        clients: arguments.clients,
        pipeline: arguments.pipeline,
        deadline: arguments.deadline,
        seed: arguments.seed,
        duration: runner::seconds(&params),
        ..Settings::default()
    };
    Ok(Request {
        job,
        data: arguments.data.clone(),
        params,
        stores,
        settings,
        rounds: Rounds::ONCE,
        seed: arguments.seed,
        base: base(arguments.base.as_deref())?,
        keys_found: KeysFound::Refuse,
        execution: super::fork_server::execution(),
    })
}

/// Returns where private stores keep their data: `--base`, else the system's temporary directory. A directory that is not there is made
/// where its parent is, and that is said; a path without a parent was mistyped.
pub fn base(named: Option<&Path>) -> Result<PathBuf, CommandFailure> {
    let Some(path) = named else { return Ok(host::default_base()) };
    fresh("--base ", path)?;
    if !path.exists() {
        let failed = |error| {
            CommandFailure::usage(format!("--base {}: {error}; name a directory you may write to", path.display()))
        };
        std::fs::create_dir(path).map_err(failed)?;
    }
    Ok(path.to_owned())
}

/// Checks the user's own directory of an embedded store, as [`base`] does.
pub fn own_path(info: &StoreInfo, spec: &Spec) -> Result<(), CommandFailure> {
    match &spec.target {
        Target::Path(path) if info.class == Class::Embedded => fresh(&format!("-s {}:", info.name), path),
        _ => Ok(()),
    }
}

/// Says that a directory will be made. Its parents are never made: where they are missing the path was probably mistyped.
fn fresh(what: &str, path: &Path) -> Result<(), CommandFailure> {
    let shown = path.display();
    if path.exists() {
        return Ok(());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if parent.is_dir() {
        crate::output::note(&format!("kvtrial: {what}{shown} was not there and is made"));
        return Ok(());
    }
    Err(CommandFailure::usage(format!(
        "{what}{shown}: there is no directory {}; correct the path, or make it first with: mkdir -p {}",
        parent.display(),
        parent.display()
    )))
}

/// Reads a spec, with its password wherever that is.
pub fn spec(text: &str) -> Result<Spec, CommandFailure> {
    let mut spec: Spec = text.parse()?;
    password::settle(&mut spec)?;
    Ok(spec)
}

/// Reads specs; `--host` and `--port` turn the one private spec into the user's own server.
pub fn specs(texts: &[String], host: Option<&str>, port: Option<u16>) -> Result<Vec<Spec>, CommandFailure> {
    let mut specs = texts.iter().map(|text| spec(text)).collect::<Result<Vec<_>, _>>()?;
    if host.is_some() || port.is_some() {
        let [spec] = specs.as_mut_slice() else {
            return Err(CommandFailure::usage(
                "--host and --port need exactly one -s; write the others as URLs, such as redis://HOST:PORT",
            ));
        };
        if spec.target != Target::Private {
            return Err(CommandFailure::usage(format!(
                "--host and --port contradict '{spec}', which names its place itself"
            )));
        }
        let host = host.unwrap_or("127.0.0.1").to_owned();
        let addresses = vec![Address::Tcp { host, port }];
        spec.target = Target::Server(Authority { addresses, user: None, password: None, database: None });
    }
    Ok(specs)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{resolve, specs};

    #[test]
    fn host_and_port_work_as_people_type_them() {
        let found = specs(&["redis".into()], Some("localhost"), Some(6379)).unwrap();
        assert_eq!(found[0].to_string(), "redis://localhost:6379");
        assert!(
            specs(&["redis".into(), "ram".into()], Some("h"), None).unwrap_err().message.contains("exactly one -s")
        );
        assert!(specs(&["redis://a:1".into()], None, Some(2)).unwrap_err().message.contains("contradict"));
    }

    #[test]
    fn an_unknown_store_is_answered_with_the_three_nearest() {
        let error = resolve(&"reddis".parse().unwrap()).err().unwrap();
        let words = &error.message;
        let offered = words.contains("there is no store 'reddis'. Did you mean redis, redis-")
            && words.contains("'kvtrial stores' lists all");
        assert!(
            offered && words.matches("redis").count() <= 3 + 1 && !words.contains("lmdb") && error.status == 2,
            "{words}"
        );
        let words = resolve(&"qqqqqq".parse().unwrap()).err().unwrap().message;
        assert!(words.starts_with("there is no store 'qqqqqq'. 'kvtrial stores' lists all"), "{words}");
    }
}
