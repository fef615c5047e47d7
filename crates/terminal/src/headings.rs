//! What stands above the table of a study and above each of its groups.

use crate::layout::{Colour, Style, paragraph};
use analysis::{Group, Metric};
use study::{Class, Study};
use words::{parameters, promise, units};

/// Returns the job and its input, what all cells share, the machine.
pub(crate) fn title(study: &Study, colour: Colour) -> String {
    if study.cells.is_empty() {
        return paragraph("This study has no cells.", 1, 1, Style::Plain, colour);
    }
    let mut text = paragraph(&parameters::jobs_and_input(study).concat(), 1, 3, Style::Bold, colour);
    let mut facts = parameters::shared_parameters(study);
    facts.push(trials(study));
    text += &paragraph(&facts.join(" · "), 1, 1, Style::Dim, colour);
    if !study.host.cpu.is_empty() {
        let host = &study.host;
        let cpus = words::counted(u64::from(host.cpus), "processor");
        let machine = format!("{} · {cpus} · {} · {}", host.cpu, units::bytes(host.memory_bytes), host.kernel);
        text += &paragraph(&machine, 1, 1, Style::Dim, colour);
    }
    text
}

/// `5 trials per store after 1 warm-up`.
fn trials(study: &Study) -> String {
    let counted = study.cells.iter().filter(|cell| !cell.baseline).map(|cell| cell.counted().count());
    let (least, most) = counted.fold((usize::MAX, 0), |(least, most), n| (least.min(n.max(1)), most.max(n)));
    let trials = match (least, most) {
        (_, 0) => return "no trial yet".into(),
        (_, 1) => "1 trial per store".to_owned(),
        // A search gives each as many as it needs.
        (least, most) if study.choice.is_some() && least < most => format!("{least} to {most} trials per store"),
        (_, n) => format!("{n} trials per store"),
    };
    match study.warmups {
        0 => trials,
        1 => format!("{trials} after 1 warm-up"),
        n => format!("{trials} after {n} warm-ups"),
    }
}

pub(crate) fn heading(group: &Group<'_>) -> String {
    let heading = words::group_heading(group);
    if promise(group).is_none() || group.class == Some(Class::Baseline) {
        return heading;
    }
    let ranked = match group.metric {
        Metric::OpsPerS => " · ranked by OP/S",
        Metric::P99 => " · ranked by P99",
        _ => "",
    };
    heading + ranked
}
