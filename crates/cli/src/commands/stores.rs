//! `kvtrial stores`: every store, found or not; by name, with what it does and takes.

use super::{shown, target};
use crate::args::StoresArguments;
use crate::failure::{self, CommandFailure};
use crate::output::{print, print_painted};
use selftest::ShownLevels;
use store::{Availability, OperationKind, OperationSet, OptionInfo, StoreInfo};
use study::{Durability, Spec};
use terminal::{LevelShown, Presence, StoreRow};

/// Prints the list.
pub fn stores(arguments: &StoresArguments) -> Result<u8, CommandFailure> {
    let shown = shown::known();
    let mut plugins = Vec::new();
    let mut named = Vec::new();
    for name in &arguments.names {
        match target::spec(name) {
            Ok(spec) if spec.name == study::PLUGIN && spec != Spec::private(study::PLUGIN) => {
                let info = target::known(&spec)?;
                let presence = Presence::Found(info.summary.into());
                plugins.push(StoreRow { presence, ..row(info, &spec, &shown) });
            }
            _ => named.push(target::adapter(name)?.name),
        }
    }
    // What is not asked for is not looked for: some programs take a tenth of a second to say their version.
    let is_asked = |info: &&StoreInfo| arguments.names.is_empty() || named.contains(&info.name);
    let asked = ::catalog::all().filter(is_asked).map(|info| row(info, &Spec::private(info.name), &shown));
    let rows: Vec<StoreRow> = asked.chain(plugins).collect();
    match arguments {
        StoresArguments { json: true, .. } => print(&archive::json(&rows)?),
        StoresArguments { long: false, names, .. } if names.is_empty() => {
            print_painted(&|colour| terminal::stores_list(&rows, colour))
        }
        _ => print_painted(&|colour| terminal::stores_table(&rows, &operations(), colour)),
    }?;
    Ok(failure::GOOD)
}

/// Operations that any store has.
fn operations() -> Vec<&'static str> {
    let all = ::catalog::all().map(|info| layers::declared(info, &Spec::private(info.name)).native);
    words::distinct(all.flat_map(OperationSet::kinds).map(OperationKind::name))
}

fn row(info: &StoreInfo, spec: &Spec, shown: &ShownLevels) -> StoreRow {
    let declared = layers::declared(info, spec);
    StoreRow {
        name: info.name.into(),
        family: info.family.into(),
        transport: info.transport,
        class: info.class,
        kind: info.kind.into(),
        summary: info.summary.into(),
        presence: match info.probe() {
            Availability::Found(product) => Presence::Found(product),
            Availability::NotFound(what) => Presence::NotFound(what),
            Availability::NotBuilt(feature) => Presence::NotBuilt(feature.into()),
        },
        durability_settings: info.levels_found().iter().filter_map(|level| setting(info, *level)).collect(),
        shown: info.levels_found().iter().filter_map(|level| level_shown(info, *level, shown)).collect(),
        durabilities: info.levels_found().iter().map(|level| level.name().into()).collect(),
        options: info.options.iter().map(option).collect(),
        options_mean: info.options.iter().map(meaning).collect(),
        native: Some(declared.native.kinds().map(|kind| kind.name().into()).collect()),
        max_key_bytes: u64::try_from(declared.max_key_bytes).ok(),
        max_value_bytes: u64::try_from(declared.max_value_bytes).ok(),
        open_to_all: info.is_open_to_all(),
        install: info.install.into(),
        licence: info.licence.into(),
    }
}

/// `second: appendonly yes, appendfsync everysec`.
fn setting(info: &StoreInfo, level: Durability) -> Option<String> {
    Some(format!("{level}: {}", ::catalog::setting_of(info.name, level)?))
}

fn level_shown(info: &StoreInfo, level: Durability, shown: &ShownLevels) -> Option<LevelShown> {
    let latest = shown.latest(info.family, level)?;
    Some(LevelShown { level, version: latest.started.store_version.clone(), shown: latest.shown.clone() })
}

/// Returns what an option means; of the one for the version also which versions are here.
fn meaning(option: &OptionInfo) -> String {
    let versions = option.versions.0;
    let here: Vec<&str> = versions.iter().filter(|it| it.program().is_some()).map(|it| it.version).collect();
    match (versions, here.as_slice()) {
        ([], _) => option.meaning(),
        (_, []) => format!("{}; none of them is fetched yet", option.meaning()),
        (_, here) => format!("{}; fetched: {}", option.meaning(), here.join(", ")),
    }
}

/// `name=first|second`, the default first; `name=default` where any text goes.
fn option(option: &OptionInfo) -> String {
    match option.values {
        [] => format!("{}={}", option.name, option.usual.unwrap_or_default()),
        values => format!("{}={}", option.name, values.join(" | ")),
    }
}
