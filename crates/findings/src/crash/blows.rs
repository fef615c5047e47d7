//! How the crashes of a study were made, and what happened around them besides what was lost.

use study::{Crash, CrashCase, CrashCut, CrashMeans, CrashMoment, DiskKind, StruckNodes};
use words::units;

/// Returns `Crashes: one node killed while clients continued.` For the usual ones: `Crashes: everything killed.`
pub fn how(crash: &Crash) -> String {
    let who = match (crash.means, crash.nodes) {
        (CrashMeans::Command, _) => return "Crashes: by your command.".into(),
        (CrashMeans::Power, _) => return power_cuts(crash),
        (_, StruckNodes::All) => "everything",
        (_, StruckNodes::One) => "one node",
        (_, StruckNodes::Majority) => "more than half of the nodes",
    };
    let what = match crash.means {
        CrashMeans::Freeze => "frozen for a time while clients continued",
        _ if crash.nodes != StruckNodes::All => "killed while clients continued",
        _ => "killed",
    };
    let when = match &crash.during {
        CrashMoment::Write => String::new(),
        CrashMoment::Recovery => ", and once more while it started".into(),
        during => format!(" {}", moment(during)),
    };
    format!("Crashes: {who} {what}{when}.")
}

/// What the store was doing then.
fn moment(during: &CrashMoment) -> String {
    match during {
        CrashMoment::Checkpoint => "in the middle of checkpoints".into(),
        CrashMoment::Compaction => "in the middle of compactions".into(),
        CrashMoment::Rename => "just after a file of the store was renamed or deleted".into(),
        CrashMoment::Log(text) => format!("just after '{text}' came into the log of the store"),
        CrashMoment::Write | CrashMoment::Recovery => "while clients wrote".into(),
    }
}

/// `Crashes: the power of the disk cut while clients wrote; …`
fn power_cuts(crash: &Crash) -> String {
    let when = moment(&crash.during);
    let disk = match crash.disk.unwrap_or_default() {
        DiskKind::Honest => {
            "What was flushed was left, and of what was not the seed chose: nothing, all, or some sectors in any order."
        }
        DiskKind::Lies => {
            "The disk acknowledged flushes and did not carry them out, so an older state was left: no store can keep a promise on such a disk."
        }
        DiskKind::Halts => {
            "Its file system was shut down at once: what it had not handed to the disk was gone, and no sector was torn."
        }
        DiskKind::Tears => {
            "What was flushed was left, but a write that was under way damaged durable sectors beside it."
        }
        DiskKind::Recorded => {
            return format!(
                "Crashes: power cuts {when}, derived from recorded file calls: what was synced was left, and of what was not the seed chose. That is \
                 less than a disk whose power is cut shows."
            );
        }
    };
    format!("Crashes: the power of the disk was cut {when}. {disk}")
}

/// Returns the circumstances of a level's crashes: how long clients got no answer, whether the store was at the checkpoint or compaction
/// it had been told to make, when it was killed again, and how many workers wrote.
pub fn circumstances(case: &CrashCase) -> Vec<String> {
    let cuts = case.cuts.len();
    let mut words = Vec::new();
    let dark: Vec<(f64, f64)> = case.cuts.iter().filter_map(|cut| Some((cut.dark_s?, cut.outage_s?))).collect();
    if let Some((longest, _)) = dark.iter().max_by(|one, other| one.0.total_cmp(&other.0)) {
        let never = dark.iter().filter(|(dark_s, outage_s)| dark_s >= outage_s).count();
        let times: Vec<f64> = dark.iter().map(|(dark_s, _)| *dark_s).collect();
        let median = stats::median(&times).unwrap_or_default();
        let ending = if never > 0 { format!("; in {never} of {cuts} cuts until the end") } else { String::new() };
        words.push(format!(
            "clients got no answer for {} (median of {cuts} cuts), at most {}{ending}",
            units::duration(median),
            units::duration(*longest)
        ));
    }
    let workers = case.cuts.iter().map(|cut| cut.writers.len()).max().unwrap_or_default();
    if workers > 0 {
        let clocks = case.cuts.iter().flat_map(|cut| &cut.writers).map(|writer| writer.clock_error_s);
        // Those of one machine have one.
        let error_s = clocks.reduce(f64::max).filter(|error_s| *error_s > 0.0);
        let known =
            error_s.map_or_else(String::new, |it| format!(", whose clocks are known to {}", units::duration(it)));
        words.push(format!("clients wrote on {workers} workers{known}"));
    }
    let idle: Vec<&str> = case.cuts.iter().filter_map(|cut| cut.not_measured.as_deref()).collect();
    if let Some(first) = idle.first() {
        words.push(format!("{} of {cuts} cuts measured nothing: {first}", idle.len()));
    }
    let told: Vec<bool> = case.cuts.iter().filter_map(|cut| cut.at_it).collect();
    if !told.is_empty() {
        let at_it = told.iter().filter(|at_it| **at_it).count();
        words.push(format!("it was in the middle of one in {at_it} of {} cuts", told.len()));
    }
    let again = |cut: &CrashCut| cut.again_s;
    let first = case.cuts.iter().filter_map(again).reduce(f64::min);
    if let (Some(first), Some(last)) = (first, case.cuts.iter().filter_map(again).reduce(f64::max)) {
        let (first, last) = (units::duration(first), units::duration(last));
        words.push(format!("it was killed again {first} to {last} after it was started"));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{circumstances, how};
    use study::{Crash, CrashCase, CrashCut, CrashMeans, CrashMoment, CrashWriter, DiskKind, StruckNodes};

    #[test]
    fn crashes_are_said_as_they_were_made() {
        let of = |means, nodes, during| how(&Crash { means, nodes, during, ..Crash::default() });
        for (means, nodes, during, words) in [
            (CrashMeans::Kill, StruckNodes::All, CrashMoment::Write, "Crashes: everything killed."),
            (
                CrashMeans::Kill,
                StruckNodes::One,
                CrashMoment::Write,
                "Crashes: one node killed while clients continued.",
            ),
            (
                CrashMeans::Kill,
                StruckNodes::All,
                CrashMoment::Recovery,
                "Crashes: everything killed, and once more while it started.",
            ),
            (
                CrashMeans::Kill,
                StruckNodes::All,
                CrashMoment::Rename,
                "Crashes: everything killed just after a file of the store was renamed or deleted.",
            ),
            (
                CrashMeans::Kill,
                StruckNodes::All,
                CrashMoment::Log("fork".into()),
                "Crashes: everything killed just after 'fork' came into the log of the store.",
            ),
            (
                CrashMeans::Freeze,
                StruckNodes::Majority,
                CrashMoment::Checkpoint,
                "Crashes: more than half of the nodes frozen for a time while clients continued in the middle of checkpoints.",
            ),
        ] {
            assert_eq!(of(means, nodes, during), words);
        }
    }

    #[test]
    fn of_a_power_cut_the_disk_is_said_and_how_many_measured_nothing() {
        let of = |disk| how(&Crash { means: CrashMeans::Power, disk: Some(disk), ..Crash::default() });
        assert!(
            of(DiskKind::Honest)
                .starts_with("Crashes: the power of the disk was cut while clients wrote. What was flushed was left")
        );
        assert!(of(DiskKind::Lies).ends_with("no store can keep a promise on such a disk."));
        let idle = CrashCut { not_measured: Some("nothing had been acknowledged".into()), ..CrashCut::default() };
        let case = CrashCase { cuts: vec![idle, CrashCut::default()], ..CrashCase::default() };
        assert_eq!(circumstances(&case), ["1 of 2 cuts measured nothing: nothing had been acknowledged"]);
    }

    #[test]
    fn darkness_to_the_end_is_said_apart_and_nothing_is_said_of_what_was_not_done() {
        let cut = |dark_s| CrashCut { dark_s: Some(dark_s), outage_s: Some(5.0), ..CrashCut::default() };
        let case = CrashCase { cuts: vec![cut(0.5), cut(5.0), cut(1.0)], ..CrashCase::default() };
        assert_eq!(
            circumstances(&case),
            ["clients got no answer for 1.00 s (median of 3 cuts), at most 5.00 s; in 1 of 3 cuts until the end"]
        );
        assert_eq!(circumstances(&CrashCase { cuts: vec![CrashCut::default()], ..CrashCase::default() }), [""; 0]);
        let writer = |clock_error_s| CrashWriter { clock_error_s, ..CrashWriter::default() };
        let wrote = CrashCut { writers: vec![writer(0.000_05), writer(0.000_2)], ..CrashCut::default() };
        let case = CrashCase { cuts: vec![CrashCut::default(), wrote], ..CrashCase::default() };
        assert_eq!(circumstances(&case), ["clients wrote on 2 workers, whose clocks are known to 200 µs"]);
        let told = |at_it| CrashCut { at_it: Some(at_it), ..CrashCut::default() };
        let case = CrashCase { cuts: vec![told(true), told(false)], ..CrashCase::default() };
        assert_eq!(circumstances(&case), ["it was in the middle of one in 1 of 2 cuts"]);
    }
}
