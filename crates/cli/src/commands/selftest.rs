//! `kvtrial selftest`: proves the instrument on this machine; and what `run` attaches to every study of it.

use super::{fork_server, target};
use crate::failure::{self, CommandFailure};
use crate::output::{note, print};
use clap::Args;
use selftest::aa::{Pairs, REPEATS};
use selftest::crashes::{CrashProofs, HONEST_CUTS, HONEST_KILLS, MOST_CRASHES, PowerProofs};
use selftest::{Identity, Scope};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use study::{DiskKind, Proof, Selftest, Tolerance};

/// Options of `selftest`.
#[derive(Debug, Args)]
pub struct SelftestArguments {
    /// Only the proofs that take about a second, as `run` makes them
    #[arg(long)]
    pub quick: bool,
    /// Compare this store with itself over many restarts, and with itself slowed down by 5 %: how often is there a false alarm,
    /// how often is the slowdown found? Takes minutes
    #[arg(long, value_name = "SPEC")]
    pub aa: Option<String>,
    /// Pairs for --aa
    #[arg(long, value_name = "N", default_value_t = 200, requires = "aa", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub pairs: u32,
    /// Trials of each store in a pair, for --aa
    #[arg(long, value_name = "N", default_value_t = REPEATS, requires = "aa", value_parser = clap::value_parser!(u32).range(4..=100))]
    pub repeats: u32,
    /// Kill stores with known faults until each is found out, and one without a fault 1,000 times; cut their power, too, where that is possible (root,
    /// /dev/fuse). Takes some 20 minutes
    #[arg(long)]
    pub crash: bool,
    /// Seed of the pairs, for --aa, and of the kills, for --crash
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Write the result as JSON to this file too
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Where private stores keep their data [default: the system's temporary directory]
    #[arg(long, value_name = "DIR")]
    pub base: Option<PathBuf>,
}

/// Makes the proofs, prints them, and keeps the result for the studies that follow.
pub fn selftest(arguments: &SelftestArguments) -> Result<u8, CommandFailure> {
    let identity = identity();
    let pairs = arguments.aa.as_deref().map(|spec| pairs(spec, arguments)).transpose()?;
    let scope = if arguments.quick { Scope::Quick } else { Scope::Full };
    let mut unprinted = Ok(());
    let mut hear = |proof: &Proof| {
        host::interrupt::progress();
        if !arguments.json && unprinted.is_ok() {
            unprinted = print(&line(proof));
        }
    };
    let stop = host::interrupt::flag();
    let Some(mut result) = selftest::run(scope, &identity, stop, &mut hear) else { return Ok(failure::INTERRUPTED) };
    if let Some(pairs) = pairs {
        let mut progress = |done: u32, of: u32| {
            if done.is_multiple_of(10) || done == of {
                note(&format!("kvtrial: {done} of {of} pairs"));
            }
        };
        let Some(proofs) = pairs.prove(stop, &mut progress).map_err(CommandFailure::usage)? else {
            return Ok(failure::INTERRUPTED);
        };
        for proof in proofs {
            hear(&proof);
            result.passed &= proof.passed;
            result.elapsed_s += proof.elapsed_s;
            result.proofs.push(proof);
        }
    }
    if arguments.crash {
        let base = target::base(arguments.base.as_deref())?;
        let execution = fork_server::execution();
        let proofs = CrashProofs {
            base: &base,
            seed: arguments.seed,
            honest_kills: HONEST_KILLS,
            execution: &execution,
            power: power(),
            progress: &|made, of| {
                if of > MOST_CRASHES && made.is_multiple_of(100) {
                    note(&format!("kvtrial: {made} of {of} crashes of a store without a fault"));
                }
            },
        };
        let whole = proofs.prove(stop, &mut |proof| {
            hear(&proof);
            result.passed &= proof.passed;
            result.elapsed_s += proof.elapsed_s;
            result.proofs.push(proof);
        });
        if !whole.map_err(CommandFailure::of)? {
            return Ok(failure::INTERRUPTED);
        }
    }
    unprinted?;
    let json = archive::json(&result)?;
    if arguments.json {
        print(&json)?;
    } else {
        print(&format!("{} in {:.1} s\n", summary(&result), result.elapsed_s))?;
    }
    if let Some(path) = &arguments.out {
        archive::write_file(path, |file| file.write_all(json.as_bytes()))
            .map_err(|error| CommandFailure::usage(format!("--out {}: {error}", path.display())))?;
    }
    remember(&result);
    Ok(if result.passed { failure::GOOD } else { failure::VOID })
}

/// What power cuts take; said where they cannot be had.
fn power() -> Option<PowerProofs> {
    if let Some(missing) = runner::missing_for_power(DiskKind::Honest, runner::DISK_BYTES) {
        note(&format!("kvtrial: kills only: {missing}"));
        return None;
    }
    Some(PowerProofs { server: fork_server::disk_server(), honest_cuts: HONEST_CUTS })
}

/// Returns what a study says of the instrument: the latest result of this build on this machine, or the quick proofs, made now. The table
/// names proofs that do not hold.
pub fn for_study() -> Option<Selftest> {
    let identity = identity();
    if let Some(known) = selftest::recall(&identity) {
        return Some(known);
    }
    if std::io::stderr().is_terminal() {
        note("kvtrial: checking itself on this machine, once; 'kvtrial selftest' proves more");
    }
    let made = selftest::run(Scope::Quick, &identity, host::interrupt::flag(), &mut |_| {})?;
    remember(&made);
    Some(made)
}

fn identity() -> Identity {
    Identity::here(env!("CARGO_PKG_VERSION"))
}

fn remember(result: &Selftest) {
    if let Err(error) = selftest::remember(result) {
        note(&format!(
            "kvtrial: the result is not kept for later studies: {error}; set XDG_CACHE_HOME to a directory of yours"
        ));
    }
}

fn pairs(spec: &str, arguments: &SelftestArguments) -> Result<Pairs, CommandFailure> {
    let specs = target::specs(&[spec.to_owned()], None, None)?;
    let [spec] = specs.as_slice() else { return Err(CommandFailure::usage("--aa takes one store")) };
    if spec.target != study::Target::Private {
        return Err(CommandFailure::usage(format!(
            "--aa {spec}: every trial needs a fresh store; use '{}'",
            spec.name
        )));
    }
    Ok(Pairs {
        info: target::resolve(spec)?,
        spec: spec.clone(),
        pairs: arguments.pairs,
        repeats: arguments.repeats,
        slowdown: 0.05,
        base: target::base(arguments.base.as_deref())?,
        seed: arguments.seed,
        execution: fork_server::execution(),
    })
}

/// `14 of 14 proofs hold`.
fn summary(result: &Selftest) -> String {
    format!("{} of {} proofs hold", result.holding(), result.proofs.len())
}

/// One proof: `holds   stall_p99  1.003 (0.98 to 1.02) of the true p99`, with its claim beneath when it does not hold.
fn line(proof: &Proof) -> String {
    let measured = proof.measured.map_or("not measured".into(), number);
    let interval = proof.interval.map(|it| {
        format!(", {:.0} % interval {} to {}, n = {}", it.level * 100.0, number(it.low), number(it.high), it.n)
    });
    let mut text = format!(
        "{:6} {:18} {measured} {}, bound {}{}\n",
        if proof.passed { "holds" } else { "FAILS" },
        proof.name,
        proof.unit,
        bound(&proof.bound),
        interval.unwrap_or_default()
    );
    if !proof.passed {
        text += &format!("       claimed: {}\n", proof.claim);
    }
    if !proof.problem.is_empty() {
        text += &format!("       {}\n", proof.problem);
    }
    text
}

fn bound(bound: &Tolerance) -> String {
    match (bound.low, bound.high) {
        (Some(low), Some(high)) => format!("{} to {}", number(low), number(high)),
        (Some(low), None) => format!("{} or more", number(low)),
        (None, Some(high)) => format!("{} or less", number(high)),
        (None, None) => "none".into(),
    }
}

/// Four digits behind the point at most, no trailing zeros.
fn number(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
