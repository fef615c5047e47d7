//! The study while it runs: what each cell came to so far, the trial under way, and the time left.

mod crashes;
mod rates;
mod tally;
mod teller;
mod time_left;
mod view;

pub use crashes::CrashView;

use crate::layout::Colour;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use rates::Rates;
use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};
use study::TrialRecord;
use tally::Tally;
use teller::Teller;
use time_left::TimeLeft;
use words::Batches;

/// Finished cells shown at once; fewer on a low terminal.
const MOST_LINES: usize = 16;
/// Lines of the terminal left to what was there before, the trial under way and the study.
const OTHER_LINES: usize = 5;

/// The state of a phase at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    /// Operations done.
    pub operations: u64,
    /// Records each of them carries, where it is several (batches).
    pub each: Option<f64>,
    /// Share of the phase that is over, 0 to 1, where it is known.
    pub share: Option<f64>,
    /// Operations that failed or were answered wrongly.
    pub errors: u64,
    /// Response time 99 of 100 operations stayed within so far, ns.
    pub p99_ns: Option<u64>,
    /// Since the phase began.
    pub elapsed: Duration,
}

/// The live view on standard error; where that is not a terminal, or one that cannot move its cursor, a line for each finished trial, and one
/// about what is being done when there was none for 10 seconds.
/// Calls cost next to nothing when they come often: it is redrawn at most 10 times per second.
pub struct ProgressView {
    lines: MultiProgress,
    /// Finished cells on the screen, the latest last.
    shown: Vec<(String, ProgressBar)>,
    earlier: Option<ProgressBar>,
    now: ProgressBar,
    whole: ProgressBar,
    colour: Colour,
    most_lines: usize,
    unseen: Unseen,
    /// Where there is no live view, once there is something to tell.
    teller: Option<Teller>,
    stored: Batches,

    left: TimeLeft,
    cells: BTreeMap<String, Tally>,
    planned: BTreeMap<String, u32>,
    rates: Rates,
    trial: (u32, u32),
    store: String,
    phase: String,
    begun: Instant,
    study_begun: Instant,
}

/// What is written where there is no live view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unseen {
    /// A line for each finished trial.
    Lines,
    Nothing,
}

impl Default for ProgressView {
    fn default() -> ProgressView {
        ProgressView::new(Colour::Never)
    }
}

impl ProgressView {
    /// Makes a view on standard error, if that is a terminal that can move its cursor.
    pub fn new(colour: Colour) -> ProgressView {
        ProgressView { unseen: Unseen::Lines, ..ProgressView::on(standard_error(), colour) }
    }

    /// Says what operations that carry several records carry.
    pub fn storing(self, stored: Batches) -> ProgressView {
        ProgressView { stored, ..self }
    }

    /// Shows nothing.
    pub fn quiet() -> ProgressView {
        ProgressView::on(ProgressDrawTarget::hidden(), Colour::Never)
    }

    fn on(target: ProgressDrawTarget, colour: Colour) -> ProgressView {
        let lines = MultiProgress::with_draw_target(target);
        let (now, whole) = (lines.add(line()), lines.add(line()));
        ProgressView {
            lines,
            shown: Vec::new(),
            earlier: None,
            now,
            whole,
            colour,
            most_lines: most_lines(),
            unseen: Unseen::Nothing,
            teller: None,
            stored: Batches::Records,
            left: TimeLeft::default(),
            cells: BTreeMap::new(),
            planned: BTreeMap::new(),
            rates: Rates::default(),
            trial: (0, 0),
            store: String::new(),
            phase: String::new(),
            begun: Instant::now(),
            study_begun: Instant::now(),
        }
    }

    /// Says which cells the trials not yet run will use, so that the time left knows the slow ones; without it, trials to come
    /// are taken to be like those finished.
    pub fn plan<'a>(&mut self, cells: impl IntoIterator<Item = &'a str>) {
        for cell in cells {
            self.left.plan(cell);
            *self.planned.entry(cell.to_owned()).or_default() += 1;
        }
    }

    /// Takes a trial that was finished before, in a study that is resumed.
    pub fn known(&mut self, cell: &str, trial: &TrialRecord) {
        *self.planned.entry(cell.to_owned()).or_default() += 1;
        self.left.finished(cell, Duration::from_secs_f64(trial.makespan_s.max(0.0)));
        self.count(cell, trial);
    }

    /// Notes that a phase of trial `order` of `total` begins; 0 where nobody can tell how many there will be. Called again for the next
    /// phase of the same trial.
    pub fn trial_started(&mut self, order: u32, total: u32, store: &str, phase: &str) {
        if self.trial.0 != order {
            self.begun = Instant::now();
            self.left.began(store, total.saturating_sub(order));
        }
        self.trial = (order, total);
        self.store = store.to_owned();
        self.phase = phase.to_owned();
        self.rates = Rates::default();
        if self.lines.is_hidden() && self.unseen == Unseen::Lines && self.teller.is_none() {
            // Standard error is closed: nobody wants to know.
            self.teller = Some(Teller::begin(teller::EVERY, |line| _ = writeln!(std::io::stderr(), "{line}")));
        }
        self.draw(&Moment::default());
    }

    /// Shows the state of the phase.
    pub fn update(&mut self, moment: &Moment) {
        self.rates.note(moment.elapsed, moment.operations);
        self.draw(moment);
    }

    /// Notes that the trial is over.
    pub fn trial_finished(&mut self, trial: &TrialRecord) {
        let store = std::mem::take(&mut self.store);
        self.left.finished(&store, self.begun.elapsed());
        self.count(&store, trial);
        if self.lines.is_hidden() && self.unseen == Unseen::Lines {
            let line = view::finished(self.trial, &store, trial, self.stored, self.study_begun.elapsed());
            // Standard error is closed: nobody wants to know.
            let _ = writeln!(std::io::stderr(), "{line}");
        }
        self.teller.iter().for_each(Teller::rests);
        self.store = store;
    }

    /// Writes a line above the view, on standard error; written also when there is no view.
    pub fn note(&self, line: &str) {
        // Standard error is closed: nobody wants to know.
        if self.lines.is_hidden() || self.lines.println(line).is_err() {
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }

    /// Removes the view; the terminal is as it was.
    pub fn finish(&self) {
        for bar in self.shown.iter().map(|(_, bar)| bar).chain(&self.earlier).chain([&self.now, &self.whole]) {
            bar.finish_and_clear();
        }
        self.teller.iter().for_each(Teller::rests);
        // What is left is left by a terminal that lost count: a key typed, a line wrapped.
        let _ = self.lines.clear();
    }

    fn count(&mut self, cell: &str, trial: &TrialRecord) {
        if trial.warmup {
            return;
        }
        let tally = self.cells.entry(cell.to_owned()).or_default();
        tally.add(trial);
        let planned = self.planned.get(cell).copied().unwrap_or(0).max(tally.trials);
        let text = view::cell(cell, tally, planned, self.stored, self.colour);
        self.show(cell, text);
    }

    /// Shows what a cell came to, in its line or in a new one.
    fn show(&mut self, cell: &str, text: String) {
        if self.lines.is_hidden() {
            return;
        }
        let bar = match self.shown.iter().find(|(known, _)| known == cell) {
            Some((_, bar)) => bar.clone(),
            None => {
                if self.shown.len() == self.most_lines {
                    let (_, oldest) = self.shown.remove(0);
                    oldest.finish_and_clear();
                    self.lines.remove(&oldest);
                    let hidden = self.cells.len() - self.most_lines;
                    let earlier = self.earlier.get_or_insert_with(|| self.lines.insert(0, line()));
                    earlier.set_message(format!("  and {hidden} earlier"));
                }
                let bar = self.lines.insert_before(&self.now, line());
                self.shown.push((cell.to_owned(), bar.clone()));
                bar
            }
        };
        bar.set_message(text);
    }

    fn draw(&self, moment: &Moment) {
        if self.lines.is_hidden() {
            if let Some(teller) = &self.teller {
                let what = view::under_way(&self.store, &self.phase, moment, self.stored, self.rates.so_far());
                teller.does(view::numbered(self.trial), what);
            }
            return;
        }
        self.now.set_message(view::trial(
            &self.store,
            &self.phase,
            moment,
            self.stored,
            self.rates.so_far(),
            self.colour,
        ));
        let left = self.left.after(&self.store, self.begun.elapsed());
        let verdict = tally::verdict(self.cells.values());
        let left = left.filter(|_| self.trial.1 > 0);
        let elapsed = self.study_begun.elapsed();
        self.whole.set_message(view::study(self.trial, elapsed, left, verdict, self.colour));
    }
}

/// Standard error, if that is a terminal that can move its cursor.
fn standard_error() -> ProgressDrawTarget {
    let dumb = std::env::var_os("TERM").is_none_or(|name| name == "dumb");
    if dumb { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) }
}

/// How many finished cells fit the terminal.
fn most_lines() -> usize {
    let rows = usize::from(console::Term::stderr().size().0);
    rows.saturating_sub(OTHER_LINES).clamp(1, MOST_LINES)
}

/// A line of text, cut at the width of the terminal.
fn line() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    match ProgressStyle::with_template("{wide_msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Moment, ProgressView};
    use crate::layout::Colour;
    use indicatif::{InMemoryTerm, ProgressDrawTarget};
    use std::time::Duration;
    use study::{Reason, ReasonKind, TrialRecord, Verdict};

    fn progress(rows: u16, columns: u16) -> (ProgressView, InMemoryTerm) {
        let screen = InMemoryTerm::new(rows, columns);
        let mut progress =
            ProgressView::on(ProgressDrawTarget::term_like_with_hz(Box::new(screen.clone()), 255), Colour::Always);
        progress.most_lines = usize::from(rows) - 5;
        (progress, screen)
    }

    fn trial(makespan_s: f64) -> TrialRecord {
        let mut trial =
            TrialRecord { makespan_s, ops_per_s: 1e5 / makespan_s, verdict: Verdict::of([]), ..TrialRecord::default() };
        trial.latency_ns.response.p99 = 123_456;
        trial
    }

    /// What changed within a frame is drawn with the next.
    fn frame() {
        std::thread::sleep(Duration::from_millis(20));
    }

    #[test]
    fn finished_cells_stand_above_the_trial_under_way() {
        let (mut progress, screen) = progress(24, 80);
        progress.plan(["null", "redis", "null", "redis"]);
        progress.trial_started(1, 4, "null", "run");
        progress.trial_finished(&trial(0.01));
        progress.trial_started(2, 4, "redis", "run");
        let mut refused = trial(2.0);
        refused.verdict = Verdict::of([Reason { kind: ReasonKind::Refused, count: 7, example: String::new() }]);
        progress.trial_finished(&refused);
        progress.trial_started(3, 4, "null", "load");
        frame();
        let elapsed = Duration::from_millis(1_000);
        progress.update(&Moment {
            operations: 250,
            each: None,
            share: Some(0.25),
            errors: 0,
            p99_ns: Some(50_000),
            elapsed,
        });
        let lines: Vec<String> = screen.contents().lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(lines[0].starts_with("✓ null") && lines[0].ends_with("valid    1/2"), "{lines:?}");
        assert!(lines[1].starts_with("✗ redis") && lines[1].ends_with("void     1/2"), "{lines:?}");
        assert!(lines[2].starts_with("▸ null") && lines[2].ends_with("load  25 %  250 op/s  p99 50.0 µs"), "{lines:?}");
        assert!(lines[3].starts_with("trial 3 of 4 · 0:01 · about 0:"), "{lines:?}");
        assert!(lines[3].ends_with("left · 1 cell void so far"), "{lines:?}");
        progress.finish();
        assert_eq!(screen.contents(), "", "the terminal is as it was");
    }

    #[test]
    fn many_cells_on_a_small_terminal_fit_it() {
        let (mut progress, screen) = progress(10, 40);
        for order in 1..=50 {
            let store = format!("postgres,layout=hstore,durability=commit,nodes={order}");
            progress.trial_started(order, 50, &store, "run");
            progress.trial_finished(&trial(1.0));
        }
        frame();
        progress.update(&Moment::default());
        let contents = screen.contents();
        let lines: Vec<&str> = contents.lines().collect();
        assert!(lines.len() <= 10 && lines[0] == "  and 45 earlier", "{contents}");
        assert!(lines.last().unwrap().starts_with("trial 50 of 50"), "{contents}");
        progress.finish();
        assert_eq!(screen.contents(), "");
    }

    #[test]
    fn warm_ups_are_not_counted() {
        let (mut progress, screen) = progress(24, 80);
        progress.trial_started(1, 2, "redis", "run");
        progress.trial_finished(&TrialRecord { warmup: true, ..trial(1.0) });
        frame();
        progress.update(&Moment::default());
        assert!(!screen.contents().contains("valid"), "{}", screen.contents());
    }
}
