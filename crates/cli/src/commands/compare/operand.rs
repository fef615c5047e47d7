//! What the user names: a study, one cell of it, or a saved baseline.

use crate::failure::CommandFailure;
use analysis::Source;
use std::path::{Path, PathBuf};
use study::Study;

/// Where baselines are kept, below the current directory.
const BASELINES: &str = ".kvtrial/baselines";

/// A study, and which cell of it.
pub struct Operand {
    /// The study.
    pub study: Study,
    /// Where it is from.
    pub source: Source,
    /// The cell, when one was named.
    pub selector: Option<String>,
}

impl Operand {
    /// Returns `DIR`, `study.json`, or either with `:CELL`.
    pub fn read(text: &str) -> Result<Operand, CommandFailure> {
        let (path, selector) = split(text);
        let study = archive::read_study(Path::new(path))?;
        let place = Path::new(path);
        let place = if place.is_file() { place.parent().unwrap_or(place) } else { place };
        let name =
            place.canonicalize().ok().and_then(|full| full.file_name().map(|name| name.to_string_lossy().into_owned()));
        let source = source(&study, name.unwrap_or_else(|| path.into()), path.into());
        Ok(Operand { study, source, selector: selector.map(str::to_owned) })
    }

    /// Returns a saved baseline.
    pub fn baseline(name: &str) -> Result<Operand, CommandFailure> {
        let path = baseline_path(name)?;
        if !path.is_dir() {
            return Err(CommandFailure::usage(format!(
                "there is no baseline '{name}' in {BASELINES}; save one with: kvtrial compare --save-baseline {name} STUDY"
            )));
        }
        let study = archive::read_study(&path)?;
        let source = source(&study, name.into(), path.display().to_string());
        Ok(Operand { study, source, selector: None })
    }
}

/// Returns where a baseline is kept.
pub fn baseline_path(name: &str) -> Result<PathBuf, CommandFailure> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(good) {
        return Err(CommandFailure::usage(format!("baseline '{name}': use letters, digits, '-', '_' and '.'")));
    }
    Ok(Path::new(BASELINES).join(name))
}

/// Names two studies of one name by their paths.
pub fn tell_apart(operands: &mut [Operand]) {
    if let [a, b] = operands
        && a.source.name == b.source.name
        && a.source.path != b.source.path
    {
        a.source.name = a.source.path.clone();
        b.source.name = b.source.path.clone();
    }
}

/// Returns the names of parameters in the operand's selector.
pub fn named(operand: &Operand) -> Vec<String> {
    let words = operand.selector.iter().flat_map(|selector| selector.split(','));
    words.filter_map(|word| word.split_once('=')).map(|(key, _)| key.trim().to_owned()).collect()
}

/// The path, and the cell behind the first colon that follows something that exists: paths and specs may both hold colons.
fn split(text: &str) -> (&str, Option<&str>) {
    if Path::new(text).exists() {
        return (text, None);
    }
    let colons = text.match_indices(':').map(|(at, _)| at);
    match colons.into_iter().find(|at| Path::new(&text[..*at]).exists()) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

fn source(study: &Study, name: String, path: String) -> Source {
    if let Some(crash) = &study.crash {
        let (kvtrial, started_at) = (study.kvtrial.clone(), study.started_at.clone());
        let input = findings::crash::blows::how(crash).trim_end_matches('.').to_owned();
        return Source { name, path, kvtrial, started_at, input, repeats: crash.cuts };
    }
    let mut jobs: Vec<&str> = study.cells.iter().map(|cell| cell.job.as_str()).collect();
    jobs.dedup();
    let input = study.input.get("name").and_then(|name| name.as_str());
    Source {
        name,
        path,
        kvtrial: study.kvtrial.clone(),
        started_at: study.started_at.clone(),
        input: format!("{}{}", jobs.join(", "), input.map(|input| format!(" on {input}")).unwrap_or_default()),
        repeats: super::repeats(study),
    }
}
