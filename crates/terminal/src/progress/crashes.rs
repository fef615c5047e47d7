//! Crashes while they are made: what each level came to so far, the crash under way, and the time left.

use super::time_left::TimeLeft;
use super::{line, most_lines, standard_error};
use crate::layout::{Colour, Style, paint, shortened};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget};
use std::io::Write;
use std::time::{Duration, Instant};
use study::{CrashCase, Promise};
use words::units;

/// Columns of the name of a level.
const NAME: usize = 28;

/// The live view on standard error, until it is dropped; where that is not a terminal, or one that cannot move its cursor, a line for each crash.
pub struct CrashView {
    lines: MultiProgress,
    /// Finished levels on the screen, the latest last.
    shown: Vec<ProgressBar>,
    now: ProgressBar,
    whole: ProgressBar,
    colour: Colour,
    left: TimeLeft,
    /// Crashes that were to be made, and those that are.
    total: u32,
    made: u32,
    broken: u32,
    /// Crashes each level is to have.
    cuts: u32,
    begun: Instant,
    cut_begun: Instant,
}

impl CrashView {
    /// Makes a view on standard error, if that is a terminal that can move its cursor. Each level is named with the crashes it lacks of
    /// `cuts`.
    pub fn new<'a>(colour: Colour, cuts: u32, missing: impl IntoIterator<Item = (&'a str, u32)>) -> CrashView {
        CrashView::on(standard_error(), colour, cuts, missing)
    }

    fn on<'a>(
        target: ProgressDrawTarget,
        colour: Colour,
        cuts: u32,
        missing: impl IntoIterator<Item = (&'a str, u32)>,
    ) -> CrashView {
        let lines = MultiProgress::with_draw_target(target);
        let (now, whole) = (lines.add(line()), lines.add(line()));
        let mut left = TimeLeft::default();
        let mut total = 0;
        for (name, missing) in missing {
            (0..missing).for_each(|_| left.plan(name));
            total += missing;
        }
        let begun = Instant::now();
        CrashView {
            lines,
            shown: Vec::new(),
            now,
            whole,
            colour,
            left,
            total,
            made: 0,
            broken: 0,
            cuts,
            begun,
            cut_begun: begun,
        }
    }

    /// Notes that the next crash of a level begins; `case` is what was found so far.
    pub fn begins(&mut self, name: &str, case: &CrashCase) {
        self.cut_begun = Instant::now();
        self.left.began(name, self.total.saturating_sub(self.made + 1));
        if self.lines.is_hidden() {
            return;
        }
        let number = case.cuts.len() as u32 + 1;
        let of = format!("crash {number} of {}", self.cuts);
        self.now.set_message(format!("▸ {}  {of}  {}", self.named(name), self.so_far(case)));
        let left = self.left.after(name, Duration::ZERO);
        let mut parts = vec![
            format!("crash {} of {}", self.made + 1, self.total),
            units::clock(self.begun.elapsed().as_secs_f64()),
        ];
        parts.extend(left.map(|left| format!("about {} left", units::clock(left.as_secs_f64()))));
        parts.extend(match self.broken {
            0 => None,
            1 => Some(paint("1 promise broken so far", Style::Bad, self.colour)),
            many => Some(paint(&format!("{many} promises broken so far"), Style::Bad, self.colour)),
        });
        self.whole.set_message(parts.join(" · "));
    }

    /// Notes that a crash of the level was made; `case` has it.
    pub fn made(&mut self, name: &str, case: &CrashCase) {
        self.made += 1;
        self.left.finished(name, self.cut_begun.elapsed());
        if self.lines.is_hidden()
            && let Some(cut) = case.cuts.last()
        {
            let line = format!(
                "kvtrial: crash {} of {}, {}: {name} {} acknowledged, {} lost, {}",
                self.made,
                self.total,
                units::clock(self.begun.elapsed().as_secs_f64()),
                units::whole(cut.found.acknowledged),
                units::whole(cut.found.lost),
                so_far(case)
            );
            // Standard error is closed: nobody wants to know.
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }

    /// Notes that the level is done, with all its crashes or without.
    pub fn done(&mut self, name: &str, case: &CrashCase) {
        self.total -= self.left.leave_out(name);
        self.broken += u32::from(case.promise == Promise::Broken);
        if self.lines.is_hidden() {
            return;
        }
        if self.shown.len() == most_lines() {
            let oldest = self.shown.remove(0);
            oldest.finish_and_clear();
            self.lines.remove(&oldest);
        }
        let style = match case.promise {
            Promise::Kept => Style::Good,
            Promise::Broken => Style::Bad,
            Promise::NotShown | Promise::NothingToShow => Style::Warning,
        };
        let mark = if case.promise == Promise::Kept { "✓" } else { "✗" };
        let bar = self.lines.insert_before(&self.now, line());
        let word = paint(findings::crash::outcome(case), style, self.colour);
        let cuts = case.cuts.len();
        let text = format!(
            "{} {}  {word} {cuts}/{}  {}",
            paint(mark, style, self.colour),
            self.named(name),
            self.cuts,
            self.so_far(case)
        );
        bar.set_message(text);
        self.shown.push(bar);
    }

    fn named(&self, name: &str) -> String {
        format!("{:NAME$}", shortened(name, NAME))
    }

    /// `99.0k acknowledged  161 lost`.
    fn so_far(&self, case: &CrashCase) -> String {
        let found = case.found();
        let style = if found.lost > 0 && case.promise == Promise::Broken { Style::Bad } else { Style::Plain };
        let lost = paint(&format!("{} lost", units::whole(found.lost)), style, self.colour);
        format!("{} acknowledged  {lost}", units::count(found.acknowledged as f64))
    }
}

/// In a line of its own there is no title above `none made`.
fn so_far(case: &CrashCase) -> &'static str {
    match findings::crash::outcome(case) {
        "none made" => "nothing was promised",
        outcome => outcome,
    }
}

impl Drop for CrashView {
    /// Removes the view; the terminal is as it was.
    fn drop(&mut self) {
        for bar in self.shown.iter().chain([&self.now, &self.whole]) {
            bar.finish_and_clear();
        }
        // What is left is left by a terminal that lost count: a key typed, a line wrapped.
        let _ = self.lines.clear();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::CrashView;
    use crate::layout::Colour;
    use indicatif::{InMemoryTerm, ProgressDrawTarget};
    use study::{CrashCase, CrashCut, CrashFindings, Promise};

    fn case(promise: Promise, cuts: usize, acknowledged: u64, lost: u64) -> CrashCase {
        let found = CrashFindings { acknowledged, lost, ..CrashFindings::default() };
        let cuts = vec![CrashCut { found, ..CrashCut::default() }; cuts];
        CrashCase { promise, cuts, ..CrashCase::default() }
    }

    #[test]
    fn finished_levels_stand_above_the_crash_under_way() {
        let screen = InMemoryTerm::new(24, 80);
        let target = ProgressDrawTarget::term_like_with_hz(Box::new(screen.clone()), 255);
        let (first, second) = ("redis-unix,durability=os", "sqlite,durability=commit");
        let mut view = CrashView::on(target, Colour::Never, 2, [(first, 2), (second, 1)]);
        for cuts in 0..2 {
            view.begins(first, &case(Promise::NotShown, cuts, 1_000, 0));
            view.made(first, &case(Promise::Broken, cuts + 1, 50_000, 80));
        }
        view.done(first, &case(Promise::Broken, 2, 50_000, 80));
        view.begins(second, &case(Promise::Kept, 1, 1_500, 0));
        std::thread::sleep(std::time::Duration::from_millis(20)); // what changed within a frame is drawn with the next
        view.begins(second, &case(Promise::Kept, 1, 1_500, 0));
        let lines: Vec<String> = screen.contents().lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert_eq!(lines[0], "✗ redis-unix,durability=os      broken 2/2  100k acknowledged  160 lost");
        assert_eq!(lines[1], "▸ sqlite,durability=commit      crash 2 of 2  1.50k acknowledged  0 lost");
        assert!(lines[2].starts_with("crash 3 of 3 · 0:01 · about 0:"), "{lines:?}");
        assert!(lines[2].ends_with("left · 1 promise broken so far"), "{lines:?}");
        drop(view);
        assert_eq!(screen.contents(), "", "the terminal is as it was");
    }
}
