//! `kvtrial compare`: two studies, two cells, a saved baseline, or one study with itself.

mod crashes;
mod decisions;
mod operand;

use crate::args::{CompareArguments, ComparisonFormat, NoisyGate};
use crate::failure::{self, CommandFailure};
use crate::output::{print, print_painted};
use analysis::{
    Across, Allowed, Alone, Candidates, ComparedCell, Comparison, Gate, Matched, Metric, Noisy, Ruling, Source,
    Threshold, Unlike, VoidCell,
};
use decisions::Guard;
use operand::Operand;
use std::io::Write;
use std::path::PathBuf;
use study::{Cell, Study};

/// Most pairs of cells of one study that are compared: those of as many cells as are put in an order.
const MOST_PAIRS: usize = analysis::MOST_RANKED * (analysis::MOST_RANKED - 1) / 2;

/// Compares and returns the exit status.
pub fn compare(arguments: &CompareArguments) -> Result<u8, CommandFailure> {
    if let Some(name) = &arguments.save_baseline {
        return save(name, &arguments.operands);
    }
    let (guard, figures) = Guard::of(&arguments.fail_if);
    let gates = figures.into_iter().map(str::parse).collect::<Result<Vec<Gate>, _>>()?;
    let operands = operands(arguments)?;
    if crashes::are_compared(&operands)? {
        return crashes::compare(&operands, arguments);
    }
    let (comparison, absent) = match operands.as_slice() {
        [one] => {
            guard.refuse_one()?;
            within(one, &gates, arguments)?
        }
        [a, b] => {
            let (mut comparison, absent) = between(a, b, &gates, arguments)?;
            let undecided = guard.decide(&mut comparison, a, b, allowed(arguments).unlike)?;
            (comparison, undecided.or(absent))
        }
        _ => return Err(CommandFailure::usage(USAGE)),
    };
    if arguments.format == ComparisonFormat::Html {
        html(&comparison, &gates, operands, arguments)?;
    } else {
        write(&comparison, &gates, arguments)?;
    }
    if let Some(problem) = absent {
        return Err(CommandFailure::usage(problem));
    }
    status(&comparison, &gates, noisy(arguments))
}

const USAGE: &str = "compare what? Name two studies (before after), two cells (study:redis study:memcached), one study, or \
                     --baseline NAME and a study";

fn operands(arguments: &CompareArguments) -> Result<Vec<Operand>, CommandFailure> {
    let mut operands = Vec::new();
    if let Some(name) = &arguments.baseline {
        if arguments.operands.len() != 1 {
            return Err(CommandFailure::usage("--baseline takes the place of A: name one study or cell beside it"));
        }
        operands.push(Operand::baseline(name)?);
    }
    for text in &arguments.operands {
        operands.push(Operand::read(text)?);
    }
    operand::tell_apart(&mut operands);
    Ok(operands)
}

fn save(name: &str, operands: &[String]) -> Result<u8, CommandFailure> {
    let [text] = operands else {
        return Err(CommandFailure::usage("--save-baseline NAME keeps one study: name its directory"));
    };
    let operand = Operand::read(text)?;
    if operand.selector.is_some() {
        return Err(CommandFailure::usage("--save-baseline keeps a whole study: leave the cell out"));
    }
    let path = operand::baseline_path(name)?;
    let replaced = archive::read_study(&path).ok().map(|old| format!(", in place of the one begun {}", old.started_at));
    archive::save_study(&path, &operand.study)?;
    print(&format!("Baseline {name}: {}{}\n", path.display(), replaced.unwrap_or_default()))?;
    Ok(failure::GOOD)
}

/// All cells of one study that may be ranked together.
fn within(
    one: &Operand,
    gates: &[Gate],
    arguments: &CompareArguments,
) -> Result<(Comparison, Option<String>), CommandFailure> {
    if let Some(selector) = &one.selector {
        return Err(CommandFailure::usage(format!(
            "'{selector}' is one cell: name another to compare it with, or leave it out to compare all cells of {}",
            one.source.path
        )));
    }
    if let Some(gate) = gates.iter().find(|gate| matches!(gate.threshold, Threshold::Ratio(_))) {
        return Err(CommandFailure::usage(format!(
            "--fail-if '{gate}' is relative to another cell: name two studies, or --baseline NAME, or write a bound \
             with a unit, such as 'p99 > 2ms'"
        )));
    }
    let study = &one.study;
    let across = if arguments.across { Across::Compare } else { Across::Refuse };
    let mut pairs = analysis::within(study, across);
    if pairs.len() > MOST_PAIRS {
        if gates.is_empty() {
            return Err(CommandFailure::usage(format!(
                "{} has {} pairs of cells, more than can be proved to differ ({}): name two cells (DIR:STORE DIR:STORE)",
                one.source.path,
                words::units::whole(pairs.len() as u64),
                words::units::whole(MOST_PAIRS as u64)
            )));
        }
        pairs.clear();
    }
    let names = analysis::CellNames::of(study);
    let candidates: Vec<Candidates<'_>> = pairs
        .iter()
        .map(|(a, b)| Candidates {
            cell: String::new(),
            a: ComparedCell { name: names.of_cell(a), study, cell: a },
            b: ComparedCell { name: names.of_cell(b), study, cell: b },
            named: Vec::new(),
        })
        .collect();
    let all: Vec<&Cell> = study.cells.iter().collect();
    let mut ranked_by: Vec<Metric> = all.iter().map(|cell| Metric::ranking(cell)).collect();
    ranked_by.sort_unstable();
    ranked_by.dedup();
    let metrics = metrics(arguments, ranked_by)?;
    let measured = study.cells.iter().filter(|cell| !cell.baseline);
    let measured: Vec<(String, &Cell)> = measured.map(|cell| (names.of_cell(cell), cell)).collect();
    let void = study.cells.iter().filter(|cell| !cell.verdict.is_ranked()).map(|cell| VoidCell {
        cell: names.of_cell(cell),
        status: cell.verdict.status,
        reasons: cell.verdict.reasons.clone(),
    });
    let comparison = Comparison {
        kvtrial: env!("CARGO_PKG_VERSION").into(),
        sources: vec![one.source.clone()],
        pairs: analysis::compare(&candidates, &metrics, allowed(arguments)),
        void: void.collect(),
        judgements: analysis::judge_cells(gates, &measured),
        ..Comparison::default()
    };
    let nothing = comparison.pairs.is_empty() && gates.is_empty();
    let problem = nothing.then(|| {
        format!(
            "{} has no two cells that may be ranked together: name two cells (DIR:STORE DIR:STORE), or add --across to \
             compare classes and durability levels with each other",
            one.source.path
        )
    });
    Ok((comparison, problem))
}

/// Two studies, or cells of them.
fn between(
    a: &Operand,
    b: &Operand,
    gates: &[Gate],
    arguments: &CompareArguments,
) -> Result<(Comparison, Option<String>), CommandFailure> {
    let same_study = a.source.path == b.source.path;
    let matched = matched(a, b, same_study)?;
    let named = operand::named(a).into_iter().chain(operand::named(b)).collect::<Vec<_>>();
    let (names_a, names_b) = (analysis::CellNames::of(&a.study), analysis::CellNames::of(&b.study));
    let candidates: Vec<Candidates<'_>> = matched
        .pairs
        .iter()
        .map(|(first, second)| {
            let (name_a, name_b) = (names_a.of_cell(first), names_b.of_cell(second));
            let (cell, name_a, name_b) = match (same_study, first.store == second.store && first.job == second.job) {
                (true, _) => (String::new(), name_a, name_b),
                (false, true) => (name_b, a.source.name.clone(), b.source.name.clone()),
                (false, false) => {
                    (String::new(), format!("{name_a} in {}", a.source.name), format!("{name_b} in {}", b.source.name))
                }
            };
            Candidates {
                cell,
                a: ComparedCell { name: name_a, study: &a.study, cell: first },
                b: ComparedCell { name: name_b, study: &b.study, cell: second },
                named: named.clone(),
            }
        })
        .collect();
    let cells: Vec<&Cell> = matched.pairs.iter().flat_map(|(first, second)| [*first, *second]).collect();
    let mut metrics = metrics(arguments, analysis::metrics_of(&cells))?;
    metrics.extend(gates.iter().map(|gate| gate.metric));
    metrics.sort_unstable();
    metrics.dedup();
    let pairs = analysis::compare(&candidates, &metrics, allowed(arguments));
    let judgements = analysis::judge(gates, &pairs);
    let alone = |operand: &Operand, cells: &[&Cell]| -> Vec<Alone> {
        let name = |cell: &&Cell| Alone {
            source: operand.source.name.clone(),
            cell: analysis::cell_name(&operand.study, cell),
        };
        cells.iter().map(name).collect()
    };
    let lost = !gates.is_empty() && !matched.only_a.is_empty();
    let sources = if same_study { vec![b.source.clone()] } else { vec![a.source.clone(), b.source.clone()] };
    let comparison = Comparison {
        kvtrial: env!("CARGO_PKG_VERSION").into(),
        sources,
        pairs,
        alone: [alone(a, &matched.only_a), alone(b, &matched.only_b)].concat(),
        judgements,
        ..Comparison::default()
    };
    let problem = if matched.pairs.is_empty() {
        Some(format!(
            "{} and {} have no cell in common: name the cells, as in {}:STORE {}:STORE",
            a.source.path, b.source.path, a.source.path, b.source.path
        ))
    } else if lost {
        Some(format!(
            "--fail-if cannot judge what {} lacks: {}. Measure the same cells, or name those to compare",
            b.source.path,
            matched.only_a.iter().map(|cell| analysis::cell_name(&a.study, cell)).collect::<Vec<_>>().join(", ")
        ))
    } else {
        None
    };
    Ok((comparison, problem))
}

fn matched<'a>(a: &'a Operand, b: &'a Operand, same_study: bool) -> Result<Matched<'a>, CommandFailure> {
    let select = |operand: &'a Operand, selector: &str| -> Result<Vec<&'a Cell>, CommandFailure> {
        analysis::select(&operand.study, selector)
            .map_err(|error| CommandFailure::usage(format!("{}: {error}", operand.source.path)))
    };
    match (&a.selector, &b.selector) {
        (None, None) if same_study => Err(CommandFailure::usage(
            "A and B are the same study: name two of its cells (DIR:redis DIR:memcached), or the study once to compare all",
        )),
        (None, None) => Ok(analysis::same_cells(&a.study, &b.study)),
        (Some(of_a), Some(of_b)) => Ok(analysis::by_parameters(select(a, of_a)?, select(b, of_b)?)),
        (Some(both), None) | (None, Some(both)) => Ok(analysis::by_parameters(select(a, both)?, select(b, both)?)),
    }
}

fn allowed(arguments: &CompareArguments) -> Allowed {
    Allowed {
        across: if arguments.across { Across::Compare } else { Across::Refuse },
        unlike: if arguments.anyway { Unlike::Compare } else { Unlike::Refuse },
    }
}

/// The metrics asked for, or these.
fn metrics(arguments: &CompareArguments, default: Vec<Metric>) -> Result<Vec<Metric>, CommandFailure> {
    let mut metrics = if arguments.metrics.is_empty() { default } else { Vec::new() };
    for name in &arguments.metrics {
        match Metric::named(name) {
            _ if name == "all" => metrics.extend(Metric::ALL),
            Some(metric) => metrics.push(metric),
            None => {
                let all: Vec<&str> = Metric::ALL.iter().map(|metric| metric.name()).collect();
                return Err(CommandFailure::usage(format!("--metric {name}: there are {}, all", all.join(", "))));
            }
        }
    }
    metrics.sort_unstable();
    metrics.dedup();
    Ok(metrics)
}

/// The page of what was compared, with what was found at its top; the text is printed too.
fn html(
    comparison: &Comparison,
    gates: &[Gate],
    operands: Vec<Operand>,
    arguments: &CompareArguments,
) -> Result<(), CommandFailure> {
    let mut studies: Vec<(Source, Study)> = Vec::new();
    for operand in operands {
        let mut study = operand.study;
        if let Some(selector) = &operand.selector {
            let named: Vec<_> = analysis::select(&study, selector)
                .map_err(|error| CommandFailure::usage(format!("{}: {error}", operand.source.path)))?
                .into_iter()
                .map(Cell::key)
                .collect();
            study.cells.retain(|cell| named.contains(&cell.key()) || cell.baseline);
        }
        match studies.iter_mut().find(|(source, _)| source.path == operand.source.path) {
            // Two cells of one study.
            Some((_, known)) => {
                study.cells.retain(|cell| !known.cells.iter().any(|other| other.key() == cell.key()));
                known.cells.append(&mut study.cells);
            }
            None => studies.push((operand.source, study)),
        }
    }
    let named = studies.iter().map(|(source, study)| report::Named { label: source.name.clone(), study }).collect();
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from("kvtrial-comparison"));
    let found = findings::comparison::of_runs(comparison, gates).sentences();
    super::report_files::write_report(&out, &report::Report::new(named).with_comparison(found))?;
    print_painted(&|colour| ::terminal::comparison_text(comparison, gates, colour))?;
    print(&format!("Report: {}\n", out.join(super::report_files::PAGE).display()))
}

fn write(comparison: &Comparison, gates: &[Gate], arguments: &CompareArguments) -> Result<(), CommandFailure> {
    let formatted = |format| match format {
        // A directory, written by `html`.
        ComparisonFormat::Html => Ok(String::new()),
        ComparisonFormat::Text => {
            Ok(study::visible(&::terminal::comparison_text(comparison, gates, ::terminal::Colour::Never)).into_owned())
        }
        ComparisonFormat::Markdown => Ok(::terminal::comparison_markdown(comparison, gates)),
        ComparisonFormat::Junit => Ok(::terminal::comparison_junit(comparison, gates, noisy(arguments))),
        ComparisonFormat::Json => archive::json(comparison),
    };
    deliver(arguments, &formatted, &|colour| ::terminal::comparison_text(comparison, gates, colour))
}

/// Prints what was found in its format; beside a file the text is printed all the same.
fn deliver(
    arguments: &CompareArguments,
    formatted: &dyn Fn(ComparisonFormat) -> std::io::Result<String>,
    text: &dyn Fn(::terminal::Colour) -> String,
) -> Result<(), CommandFailure> {
    match &arguments.out {
        Some(path) => {
            let document = formatted(arguments.format)?;
            archive::write_file(path, |file| file.write_all(document.as_bytes())).map_err(|error| {
                CommandFailure::usage(format!(
                    "--out {}: {error}. Name a file you may write, in a directory that exists",
                    path.display()
                ))
            })?;
            print_painted(text)
        }
        None if arguments.format == ComparisonFormat::Text => print_painted(text),
        None => print(&formatted(arguments.format)?),
    }
}

fn noisy(arguments: &CompareArguments) -> Noisy {
    match arguments.noisy {
        NoisyGate::Pass => Noisy::Pass,
        NoisyGate::Fail => Noisy::Fail,
    }
}

/// A gate that fails comes first, then one that could not be decided, then cells that are void or were not run.
fn status(comparison: &Comparison, gates: &[Gate], noisy: Noisy) -> Result<u8, CommandFailure> {
    let judged = &comparison.judgements;
    if judged.iter().any(|judgement| judgement.outcome.fails(noisy)) {
        return Ok(failure::REGRESSION);
    }
    if let Some(repeats) = judged.iter().find_map(|judgement| match judgement.outcome {
        Ruling::TooFew { repeats_needed } => Some(repeats_needed),
        _ => None,
    }) {
        return Err(CommandFailure::usage(format!(
            "--fail-if cannot decide with these few trials: measure with --repeats {repeats} or more"
        )));
    }
    if gates.is_empty() && !judged.is_empty() {
        return Ok(failure::GOOD); // decisions alone were asked about
    }
    let void = comparison.pairs.iter().flat_map(|pair| [&pair.verdict_a, &pair.verdict_b]).any(|it| !it.is_ranked());
    let void = void || !comparison.void.is_empty();
    if void {
        return Ok(failure::VOID);
    }
    if comparison.pairs.iter().any(|pair| pair.obstacle.is_some()) {
        return Ok(failure::USAGE); // what and why was printed with the pair
    }
    for gate in gates {
        let mut own = judged.iter().filter(|judgement| judgement.gate == gate.text);
        if own.all(|judgement| matches!(judgement.outcome, Ruling::NotApplicable { .. })) {
            return Err(CommandFailure::usage(format!(
                "--fail-if '{gate}': no cell has a figure for {}; embedded stores have no server, and a store of your own \
                 shows neither its memory nor its disk",
                gate.metric
            )));
        }
    }
    Ok(failure::GOOD)
}

/// Counted trials of the cell that has most.
fn repeats(study: &Study) -> u32 {
    study.cells.iter().map(|cell| cell.counted().count()).max().unwrap_or_default() as u32
}
