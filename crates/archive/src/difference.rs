//! Whether two plans are the same.

use study::Study;

/// The cells that a plan has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlannedCells {
    /// All that there will be.
    All,
    /// The first ones: a search adds others behind them.
    First,
}

/// Returns every way in which the plan of a study on disk differs from the plan asked for, `what: there … there, here … here`.
pub(crate) fn differences(there: &Study, here: &Study, cells: PlannedCells) -> Vec<String> {
    let mut found = Vec::new();
    if here.repeats < there.repeats {
        found.push(format!(
            "--repeats was {} there and is {} here (a study can be given more, not fewer)",
            there.repeats, here.repeats
        ));
    }
    let mut compare = |what: &str, there: String, here: String| {
        if there != here {
            found.push(format!("{what} was {there} there and is {here} here"));
        }
    };
    compare("the version of kvtrial", there.kvtrial.clone(), here.kvtrial.clone());
    compare("--seed", there.seed.to_string(), here.seed.to_string());
    compare("--order", there.order.name().into(), here.order.name().into());
    compare("--warmups", there.warmups.to_string(), here.warmups.to_string());
    let each = |texts: &[String]| match texts {
        [] => "absent".to_owned(),
        texts => texts.iter().map(|text| format!("'{text}'")).collect::<Vec<_>>().join(" "),
    };
    compare("--fault", each(&there.faults), each(&here.faults));
    compare("--need", each(&there.needs), each(&here.needs));
    let bound = |study: &Study| study.server_memory_bytes.map_or("absent".into(), |bytes| format!("{bytes} bytes"));
    compare("--limit-memory", bound(there), bound(here));
    let timeout = |study: &Study| study.fault_timeout_s.map_or("absent".into(), |timeout_s| format!("{timeout_s}s"));
    compare("--timeout", timeout(there), timeout(here));
    let shown = |value: Option<&serde_json::Value>| value.map_or("not stated".into(), ToString::to_string);
    for name in there.input.keys().chain(here.input.keys().filter(|name| !there.input.contains_key(*name))) {
        compare(&format!("the input's {name}"), shown(there.input.get(name)), shown(here.input.get(name)));
    }
    for (what, there, here) in
        [("the processor", &there.host.cpu, &here.host.cpu), ("the kernel", &there.host.kernel, &here.host.kernel)]
    {
        // A plan made before the machine was looked at says nothing about it.
        if !there.is_empty() && !here.is_empty() {
            compare(what, there.clone(), here.clone());
        }
    }
    compare_cells(there, here, cells, &mut found);
    found
}

fn compare_cells(there: &Study, here: &Study, cells: PlannedCells, found: &mut Vec<String>) {
    let name = |cell: &study::Cell| {
        let params: Vec<String> = cell.params.iter().map(|(key, value)| format!("{key}={value}")).collect();
        format!("{} on {} ({})", cell.job, cell.store, params.join(" "))
    };
    let all = |study: &Study| -> Vec<String> { study.cells.iter().map(name).collect() };
    let (mut theirs, ours) = (all(there), all(here));
    if cells == PlannedCells::First {
        theirs.truncate(ours.len());
    }
    let missing = |from: &[String], of: &[String]| -> Vec<String> {
        of.iter().filter(|cell| !from.contains(cell)).cloned().collect()
    };
    for cell in missing(&ours, &theirs) {
        found.push(format!("{cell} belongs to that study but not to this command"));
    }
    for cell in missing(&theirs, &ours) {
        found.push(format!("{cell} belongs to this command but not to that study"));
    }
    if found.is_empty() && theirs != ours {
        found.push("the cells are in another order".into());
    }
}
