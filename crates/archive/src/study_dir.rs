//! A study while it is written.
//!
//! While a study runs, `trials.jsonl` holds all of it (see [`crate::journal`]) and is brought to disk after every trial. `study.json` is
//! the same as one document with summaries; it is replaced as a whole, at most every second and never for more than a fiftieth of
//! the time, and last when the study is closed, which removes the journal. So whatever happens, and whenever, either the journal
//! is complete or `study.json` is.

use crate::difference::{PlannedCells, differences};
use crate::document::write_whole;
use crate::error::DirectoryError;
use crate::files::replacing;
use crate::journal::Journal;
use crate::reading::read_study;
use crate::{JOURNAL, STUDY};
use analysis::summarise;
use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use study::{Cell, Reason, Status, Study, TrialRecord, Verdict};

/// `study.json` is not rewritten more often than this ...
const SNAPSHOT_INTERVAL: Duration = Duration::from_secs(1);
/// ... nor before this many times the duration of the last rewriting has passed.
const SNAPSHOT_REST: u32 = 50;

/// A study being written to its directory. Dropping it without [`StudyDir::close`] loses nothing: the journal has it all.
pub struct StudyDir {
    path: PathBuf,
    study: Study,
    journal: Journal,
    /// Cells whose summary is older than their trials.
    stale: BTreeSet<usize>,
    next_snapshot: Instant,
    /// The directory itself, locked as long as it is open.
    lock: File,
    made: Made,
}

/// Who made the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    /// It was made for this study.
    Here,
    Before,
}

impl StudyDir {
    /// Begins a study in a directory, which is made if need be.
    ///
    /// # Errors
    /// The directory cannot be written to, already holds a study, or is in use.
    pub fn create(path: &Path, study: Study) -> Result<StudyDir, DirectoryError> {
        let unusable = |source| DirectoryError::Unusable { path: path.to_owned(), source };
        let made = if path.exists() { Made::Before } else { Made::Here };
        fs::create_dir_all(path).map_err(unusable)?;
        let lock = lock(path)?;
        if path.join(STUDY).exists() || path.join(JOURNAL).exists() {
            return Err(DirectoryError::Occupied { path: path.to_owned(), held: describe(path) });
        }
        let begun = StudyDir::begin(path, study, lock, made);
        begun.map_err(|source| {
            // The disk is full: half a study cannot be resumed, and would make the next try fail as `Occupied`.
            remove_beginning(path, made);
            DirectoryError::Unusable { path: path.to_owned(), source }
        })
    }

    /// Continues the study in a directory, if it is the one `plan` describes: the same version, seed, order, warm-ups, input,
    /// machine and cells, and at least as many repeats. The trials found are in [`StudyDir::study`]; of `plan` only the repeats
    /// are kept.
    ///
    /// # Errors
    /// There is no study, it has another plan (each difference is named), is damaged, newer, or in use.
    pub fn resume(path: &Path, plan: &Study) -> Result<StudyDir, DirectoryError> {
        StudyDir::reopen(path, plan, PlannedCells::All)
    }

    /// Continues a search, which adds cells behind those of its plan.
    ///
    /// # Errors
    /// As [`StudyDir::resume`].
    pub fn resume_search(path: &Path, plan: &Study) -> Result<StudyDir, DirectoryError> {
        StudyDir::reopen(path, plan, PlannedCells::First)
    }

    fn reopen(path: &Path, plan: &Study, cells: PlannedCells) -> Result<StudyDir, DirectoryError> {
        if !path.is_dir() {
            return Err(DirectoryError::Absent { path: path.to_owned() });
        }
        let lock = lock(path)?;
        let mut study = read_study(path)?;
        let differences = differences(&study, plan, cells);
        if !differences.is_empty() {
            return Err(DirectoryError::OtherPlan { path: path.to_owned(), differences });
        }
        study.repeats = plan.repeats;
        // The reasons of the interrupted run say nothing about this one.
        for cell in study.cells.iter_mut().filter(|cell| cell.verdict.status == Status::NotRun) {
            cell.verdict = Verdict::default();
        }
        // The study could be read, so only space or a permission can be missing, and nothing recorded is lost.
        StudyDir::begin(path, study, lock, Made::Before)
            .map_err(|source| DirectoryError::Write { path: path.join(JOURNAL), source })
    }

    /// Changes what a finished or interrupted study says as a whole, and nothing of its cells.
    ///
    /// # Errors
    /// There is no study, it is damaged, newer, or in use, or it could not be written.
    pub fn change(path: &Path, change: impl FnOnce(&mut Study)) -> Result<Study, DirectoryError> {
        if !path.is_dir() {
            return Err(DirectoryError::Absent { path: path.to_owned() });
        }
        let lock = lock(path)?;
        let mut study = read_study(path)?;
        change(&mut study);
        let begun = StudyDir::begin(path, study, lock, Made::Before);
        begun.map_err(|source| DirectoryError::Write { path: path.join(JOURNAL), source })?.close()
    }

    fn begin(path: &Path, study: Study, lock: File, made: Made) -> io::Result<StudyDir> {
        let journal = begin_journal(path, &study, &lock)?;
        let stale = (0..study.cells.len()).collect();
        let next_snapshot = Instant::now();
        let mut directory = StudyDir { path: path.to_owned(), study, journal, stale, next_snapshot, lock, made };
        directory.snapshot()?;
        Ok(directory)
    }

    /// Changes what is known about the study as a whole (host facts, self-test). Rewrites the whole journal, so call it rarely.
    ///
    /// # Errors
    /// The change could not be brought to disk.
    pub fn amend(&mut self, change: impl FnOnce(&mut Study)) -> Result<(), DirectoryError> {
        change(&mut self.study);
        self.journal = begin_journal(&self.path, &self.study, &self.lock)
            .map_err(|source| DirectoryError::Write { path: self.path.join(JOURNAL), source })?;
        self.stale = (0..self.study.cells.len()).collect();
        self.save()
    }

    /// Adds a cell behind those there are.
    ///
    /// # Errors
    /// The change could not be brought to disk.
    pub fn add(&mut self, cell: Cell) -> Result<(), DirectoryError> {
        let index = self.study.cells.len();
        let journalled = self.journal.cell(index, &cell);
        self.study.cells.push(cell);
        journalled.map_err(|source| DirectoryError::Write { path: self.path.join(JOURNAL), source })
    }

    /// Returns the study so far. Summaries of cells are as of the last [`StudyDir::save`].
    pub fn study(&self) -> &Study {
        &self.study
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Positions in the study's order of the trials already recorded: what a resumed study need not run again.
    pub fn recorded(&self) -> BTreeSet<u32> {
        self.study.cells.iter().flat_map(|cell| &cell.trials).map(|trial| trial.order).collect()
    }

    /// Changes what is known about a cell besides its trials (product, version, configuration, durability, emulated operations).
    ///
    /// # Errors
    /// The change could not be brought to disk.
    pub fn describe(&mut self, cell: usize, change: impl FnOnce(&mut Cell)) -> Result<(), DirectoryError> {
        let known = &mut self.study.cells[cell];
        let trials = std::mem::take(&mut known.trials);
        let before = known.clone();
        change(known);
        let journalled = if *known == before { Ok(()) } else { self.journal.cell(cell, known) };
        known.trials = trials;
        journalled.map_err(|source| DirectoryError::Write { path: self.path.join(JOURNAL), source })
    }

    /// Records a finished trial. It is on disk when this returns. Costs one append and one `fdatasync`, and now and then the
    /// rewriting of `study.json`; call it between trials, never within one.
    ///
    /// # Errors
    /// The trial could not be brought to disk.
    pub fn record(&mut self, cell: usize, mut trial: TrialRecord) -> Result<(), DirectoryError> {
        make_finite(&mut trial);
        self.journal
            .trial(cell, &trial)
            .map_err(|source| DirectoryError::Write { path: self.path.join(JOURNAL), source })?;
        self.study.cells[cell].trials.push(trial);
        self.stale.insert(cell);
        if Instant::now() >= self.next_snapshot { self.save() } else { Ok(()) }
    }

    /// Brings the summaries up to date and rewrites `study.json` now.
    ///
    /// # Errors
    /// It could not be written; the old one, if any, is untouched.
    pub fn save(&mut self) -> Result<(), DirectoryError> {
        self.snapshot().map_err(|source| DirectoryError::Write { path: self.path.join(STUDY), source })
    }

    fn snapshot(&mut self) -> io::Result<()> {
        let begun = Instant::now();
        self.summarise_stale();
        write_whole(&self.path.join(STUDY), &self.study)?;
        let now = Instant::now();
        self.next_snapshot = now + SNAPSHOT_INTERVAL.max((now - begun) * SNAPSHOT_REST);
        Ok(())
    }

    fn summarise_stale(&mut self) {
        for cell in std::mem::take(&mut self.stale) {
            summarise(&mut self.study.cells[cell]);
        }
    }

    /// Says why cells without a counted trial have none; `why` is asked for each by its place. They come to disk when the study is
    /// closed.
    pub fn explain_unrun(&mut self, why: impl Fn(usize) -> Reason) {
        for (at, cell) in self.study.cells.iter_mut().enumerate().filter(|(_, cell)| !cell.was_run()) {
            cell.verdict = Verdict::not_run(why(at));
        }
    }

    /// Returns whether any trial was recorded, warm-ups included.
    pub fn has_trials(&self) -> bool {
        self.study.cells.iter().any(|cell| !cell.trials.is_empty())
    }

    /// Removes what was begun of a study of which nothing was run: its files, and its directory if it was made for it.
    ///
    /// # Errors
    /// They could not be removed.
    pub fn abandon(self) -> Result<Study, DirectoryError> {
        for name in [STUDY, JOURNAL] {
            let file = self.path.join(name);
            fs::remove_file(&file).map_err(|source| DirectoryError::Write { path: file, source })?;
        }
        remove_beginning(&self.path, self.made);
        Ok(self.study)
    }

    /// Writes the final `study.json` and removes the journal. Right for a complete study and for one that was interrupted: both
    /// can be read, and the latter resumed.
    ///
    /// # Errors
    /// It could not be written; the journal stays.
    pub fn close(mut self) -> Result<Study, DirectoryError> {
        self.summarise_stale();
        analysis::fill_budgets(&mut self.study);
        analysis::fill_needs(&mut self.study);
        self.save()?;
        let journal = self.path.join(JOURNAL);
        fs::remove_file(&journal).map_err(|source| DirectoryError::Write { path: journal, source })?;
        Ok(self.study)
    }
}

/// Removes the files of a study that was only begun, and the directory if it was made for it; a directory that
/// something else was put into meanwhile stays. What cannot be removed is left.
fn remove_beginning(path: &Path, made: Made) {
    for name in [STUDY, JOURNAL] {
        drop(fs::remove_file(path.join(name)));
    }
    if made == Made::Here {
        drop(fs::remove_dir(path));
    }
}

/// Puts a new, complete journal in the place of the old one, if any, in one step.
fn begin_journal(path: &Path, study: &Study, directory: &File) -> io::Result<Journal> {
    let fresh = path.join(format!("{JOURNAL}.new"));
    let journal = replacing(&fresh, &path.join(JOURNAL), |file| Journal::begin(file, study))?;
    directory.sync_all()?;
    Ok(journal)
}

fn lock(path: &Path) -> Result<File, DirectoryError> {
    let directory = File::open(path).map_err(|source| DirectoryError::Unusable { path: path.to_owned(), source })?;
    match directory.try_lock() {
        Err(TryLockError::WouldBlock) => Err(DirectoryError::Busy { path: path.to_owned() }),
        // Some network file systems have no locks. A study there, unlocked, is better than none.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(directory),
    }
}

fn describe(path: &Path) -> String {
    match read_study(path) {
        Ok(study) => {
            let trials: usize = study.cells.iter().map(|cell| cell.trials.len()).sum();
            format!("begun {}, {} trials recorded", study.started_at, study::whole(trials as u64))
        }
        Err(_) => "which cannot be read".into(),
    }
}

/// JSON has no infinities and no NaN: a rate over no time becomes 0, as a trial without operations has it.
fn make_finite(trial: &mut TrialRecord) {
    let latency = &mut trial.latency_ns;
    let all = [&mut latency.service, &mut latency.response, &mut latency.send_lag, &mut latency.client_lag];
    let means = all.into_iter().chain(latency.by_operation.values_mut()).map(|summary| &mut summary.mean);
    let figures = [
        &mut trial.makespan_s,
        &mut trial.ops_per_s,
        &mut trial.client_cpu_s,
        &mut trial.client_thread_load,
        &mut trial.noise.steal,
        &mut trial.noise.other_load,
    ];
    let times = trial.phases.iter_mut().map(|phase| &mut phase.elapsed_s);
    let points = trial.series.iter_mut().map(|point| &mut point.at_s);
    let server = trial.server.iter_mut().map(|server| &mut server.cpu_s);
    for figure in figures.into_iter().chain(means).chain(times).chain(points).chain(server) {
        if !figure.is_finite() {
            *figure = 0.0;
        }
    }
}
