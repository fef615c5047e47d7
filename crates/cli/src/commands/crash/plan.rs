//! Which levels of which stores are crashed, and how; what cannot be is refused with the reason.

use crate::args::{CrashArguments, DiskArgument, MeansArgument, MomentArgument, NodesArgument};
use crate::commands::{fork_server, target};
use crate::failure::CommandFailure;
use jobkit::Stroke;
use runner::Blow;
use std::time::Duration;
use store::{Capabilities, Keeps, Opener, StoreInfo, Support};
use study::{CrashMeans, CrashMoment, DiskKind, Durability, Spec, StruckNodes, Target};

/// A level of a store.
pub(super) type PlannedCrash = (&'static StoreInfo, Spec);

/// Returns the levels of the stores that were named. Nothing starts where one of them cannot be crashed so: all that cannot are named.
pub(super) fn planned(arguments: &CrashArguments) -> Result<Vec<PlannedCrash>, CommandFailure> {
    needs_of_power(arguments)?;
    let mut planned = Vec::new();
    let mut problems: Vec<String> = Vec::new();
    for spec in target::specs(&arguments.stores, None, None)? {
        let info = match resolved(&spec, arguments) {
            Ok(info) => info,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        let levels = match (spec.durability, &spec.target) {
            (Some(level), _) => vec![Some(level)],
            (None, Target::Private) => info.levels_found().into_iter().map(Some).collect(),
            // What it has is read from it.
            (None, _) => vec![None],
        };
        planned.extend(levels.into_iter().map(|level| (info, Spec { durability: level, ..spec.clone() })));
    }
    if problems.is_empty() { Ok(planned) } else { Err(CommandFailure::usage(problems.join("\n"))) }
}

/// The adapter of a store that can be crashed so; else why not.
fn resolved(spec: &Spec, arguments: &CrashArguments) -> Result<&'static StoreInfo, String> {
    let info = match crash::proof::find(&spec.name) {
        Some(info) => info,
        None => target::resolve(spec).map_err(|failure| failure.message)?,
    };
    possible(info, spec, arguments).map_err(|problem| format!("{spec}: {problem}"))?;
    Ok(info)
}

/// Returns how crashes are made.
pub(super) fn blow(arguments: &CrashArguments) -> Blow {
    if let (Some(kill), Some(start)) = (&arguments.kill_command, &arguments.start_command) {
        return Blow::Commands { kill: kill.clone(), start: start.clone() };
    }
    let outage = arguments.outage;
    let stroke = match arguments.how {
        MeansArgument::Kill => Stroke::Kill,
        MeansArgument::Freeze => Stroke::Freeze(outage),
        MeansArgument::Power => {
            return Blow::Power {
                disk: disk(arguments).unwrap_or_default(),
                bytes: disk_bytes(arguments),
                server: fork_server::disk_server(),
            };
        }
    };
    Blow::Nodes { which: nodes(arguments), stroke, outage }
}

/// Returns the same, as a study has it.
pub(super) fn means(arguments: &CrashArguments) -> CrashMeans {
    match (blow(arguments), arguments.how) {
        (Blow::Commands { .. }, _) => CrashMeans::Command,
        (_, MeansArgument::Kill) => CrashMeans::Kill,
        (_, MeansArgument::Freeze) => CrashMeans::Freeze,
        (_, MeansArgument::Power) => CrashMeans::Power,
    }
}

/// Returns the conduct of the disk whose power is cut; `None`: no power is.
pub(super) fn disk(arguments: &CrashArguments) -> Option<DiskKind> {
    let kind = match arguments.disk {
        None | Some(DiskArgument::Honest) => DiskKind::Honest,
        Some(DiskArgument::Lies) => DiskKind::Lies,
        Some(DiskArgument::Tears) => DiskKind::Tears,
        Some(DiskArgument::Halts) => DiskKind::Halts,
        Some(DiskArgument::Recorded) => DiskKind::Recorded,
    };
    (arguments.how == MeansArgument::Power).then_some(kind)
}

/// Returns the size of that disk.
fn disk_bytes(arguments: &CrashArguments) -> u64 {
    arguments.disk_size.unwrap_or(runner::DISK_BYTES)
}

/// The longest time to a crash where nothing else is asked for; and of a power cut of a level that may lose a second, which has to come later.
const WITHIN: Duration = Duration::from_millis(500);
const WITHIN_SECONDS: Duration = Duration::from_secs(3);
/// The shortest of these.
const BEYOND_SECOND: Duration = Duration::from_millis(1200);

/// Returns the shortest and the longest time from the first acknowledgements to a crash of a level.
pub(super) fn times(arguments: &CrashArguments, level: Option<Durability>) -> (Duration, Duration) {
    let is_second = arguments.how == MeansArgument::Power && level == Some(Durability::Second);
    let longest = arguments.within.unwrap_or(if is_second { WITHIN_SECONDS } else { WITHIN });
    let earliest = if is_second && longest > BEYOND_SECOND { BEYOND_SECOND } else { Duration::ZERO };
    (earliest, longest)
}

/// Checks that power can be cut here, where it is to be: nothing else is done instead.
fn needs_of_power(arguments: &CrashArguments) -> Result<(), CommandFailure> {
    if arguments.how != MeansArgument::Power {
        let given = [("--disk", arguments.disk.is_some()), ("--disk-size", arguments.disk_size.is_some())];
        return match given.iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((name, _)) => {
                Err(CommandFailure::usage(format!("{name} is for --how power; leave it out, or cut the power")))
            }
        };
    }
    match runner::missing_for_power(disk(arguments).unwrap_or_default(), disk_bytes(arguments)) {
        None => Ok(()),
        Some(missing) => Err(CommandFailure::usage(format!(
            "--how power: {missing}; without it --how kill shows what a kill loses, which is less"
        ))),
    }
}

/// Returns how many nodes fail at once.
pub(super) fn nodes(arguments: &CrashArguments) -> StruckNodes {
    match arguments.nodes {
        NodesArgument::One => StruckNodes::One,
        NodesArgument::Majority => StruckNodes::Majority,
        NodesArgument::All => StruckNodes::All,
    }
}

/// Returns what the store is doing at the time of the crash.
pub(super) fn during(arguments: &CrashArguments) -> CrashMoment {
    match &arguments.during {
        MomentArgument::Write => CrashMoment::Write,
        MomentArgument::Checkpoint => CrashMoment::Checkpoint,
        MomentArgument::Compaction => CrashMoment::Compaction,
        MomentArgument::Recovery => CrashMoment::Recovery,
        MomentArgument::Rename => CrashMoment::Rename,
        MomentArgument::Log(text) => CrashMoment::Log(text.clone()),
    }
}

/// Why a store cannot be crashed so, and what to do.
fn possible(info: &StoreInfo, spec: &Spec, arguments: &CrashArguments) -> Result<(), String> {
    let is_private = spec.target == Target::Private;
    let has_commands = arguments.kill_command.is_some();
    let declared = layers::declared(info, spec);
    let is_embedded = matches!(info.opener, Opener::Embedded(_));
    if !is_private && !has_commands {
        return Err(format!(
            "kvtrial does not kill what it did not start; write {} for a private one of the same kind, or say how yours is killed and \
             started: --kill-command COMMAND --start-command COMMAND --yes",
            info.name
        ));
    }
    shareable(is_embedded, arguments)?;
    if has_commands && (is_private || is_embedded) {
        return Err("--kill-command is for a server of your own; name it by its URL".into());
    }
    let is_usual = (arguments.how, arguments.nodes, &arguments.during)
        == (MeansArgument::Kill, NodesArgument::All, &MomentArgument::Write);
    if has_commands && !is_usual {
        return Err(
            "with --kill-command kvtrial knows no other means, no nodes and no other moment; leave --how, --nodes and --during out".into(),
        );
    }
    if declared.keeps == Keeps::Nothing {
        return Err("it keeps nothing at all; name a store that does".into());
    }
    if arguments.how == MeansArgument::Power
        && (arguments.nodes != NodesArgument::All || arguments.during == MomentArgument::Recovery)
    {
        return Err(
            "a power cut takes all nodes, while clients write; leave --nodes and --during recovery out, or --how power"
                .into(),
        );
    }
    if is_embedded && arguments.how == MeansArgument::Freeze {
        return Err("its clients would be frozen with it; --how freeze is for servers".into());
    }
    let planned = layers::on_paper(info, spec, false).and_then(Result::ok).map(|plan| plan.nodes.len());
    if (is_embedded || planned == Some(1)) && arguments.nodes != NodesArgument::All {
        return Err("--nodes: it is one node, and no client could continue; leave --nodes out, or name several, as in etcd,nodes=3".into());
    }
    let nodes = planned.unwrap_or(1);
    let is_total = self::nodes(arguments).of(nodes) == nodes && arguments.how == MeansArgument::Kill;
    if arguments.during == MomentArgument::Recovery && !is_total {
        return Err("--during recovery kills all nodes; leave --nodes and --how out".into());
    }
    if let MomentArgument::Log(text) = &arguments.during
        && is_embedded
    {
        return Err(format!(
            "--during 'log {text}': it is a library, which has no log that kvtrial keeps; leave --during out"
        ));
    }
    can_be_told(&declared, &arguments.during)
}

/// Why several workers cannot write until such a crash, where they are to.
fn shareable(is_embedded: bool, arguments: &CrashArguments) -> Result<(), String> {
    let Some(workers) = arguments.sharing.workers else { return Ok(()) };
    let count = workers.count();
    if is_embedded {
        return Err("--workers: it is a library, in the process that is killed; name a server, such as redis".into());
    }
    if arguments.kill_command.is_some() {
        return Err("--workers is for stores that kvtrial starts; leave --kill-command or --workers out".into());
    }
    if !matches!(arguments.during, MomentArgument::Write | MomentArgument::Recovery) {
        return Err(
            "--workers: only in one process kvtrial knows when the store is at a checkpoint, compaction or rename; leave --during out, or --workers"
                .into(),
        );
    }
    if arguments.clients < count {
        return Err(format!(
            "--workers: {count} workers cannot share {} clients; use --clients {count} or more",
            arguments.clients
        ));
    }
    Ok(())
}

/// Whether a store has a command for what it is to do meanwhile.
fn can_be_told(declared: &Capabilities, during: &MomentArgument) -> Result<(), String> {
    let (what, support) = match during {
        // One that has no command for its upkeep may do it by itself.
        MomentArgument::Write | MomentArgument::Recovery | MomentArgument::Rename | MomentArgument::Log(_) => {
            return Ok(());
        }
        MomentArgument::Checkpoint => ("checkpoint", declared.checkpoint),
        MomentArgument::Compaction => ("compaction", declared.compaction),
    };
    match support {
        Support::Native => Ok(()),
        Support::Absent => Err(format!(
            "--during {what}: it has no command for it, so kvtrial cannot know when it makes one; leave --during out"
        )),
    }
}
