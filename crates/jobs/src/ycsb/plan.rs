//! Unmodified YCSB property files, as parameters of the job.

use job::{JobError, PlanFile};
use std::collections::BTreeMap;

/// Defaults of YCSB's CoreWorkload, which hold where the file says nothing.
const DEFAULTS: [(&str, &str); 8] = [
    ("readproportion", "0.95"),
    ("updateproportion", "0.05"),
    ("insertproportion", "0"),
    ("scanproportion", "0"),
    ("readmodifywriteproportion", "0"),
    ("requestdistribution", "uniform"),
    ("fieldcount", "10"),
    ("fieldlength", "100"),
];

/// YCSB's names of parameters that need no more than another name.
const RENAMED: [(&str, &str); 9] = [
    ("recordcount", "records"),
    ("operationcount", "operations"),
    ("maxexecutiontime", "seconds"),
    ("maxscanlength", "scan_max"),
    ("readproportion", "read"),
    ("updateproportion", "update"),
    ("insertproportion", "insert"),
    ("scanproportion", "scan"),
    ("readmodifywriteproportion", "rmw"),
];

/// Reads the text of a property file. Properties that change nothing here become notes.
///
/// # Errors
/// Names the line and what is possible, for a line that is no property and for one that asks for work this job does
/// not do.
pub fn parse(text: &str) -> Result<PlanFile, JobError> {
    let mut plan = PlanFile::default();
    let mut values: BTreeMap<String, String> =
        DEFAULTS.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let properties = properties(text)?;
    // The lines of another file are not printed: it may hold what is not to be seen.
    if !properties.is_empty() && !properties.iter().any(|(_, name, _)| is_known(name)) {
        return Err(JobError(format!(
            "none of its {} lines sets a property of YCSB's core workload; name a property file, with lines such as recordcount=1000",
            properties.len()
        )));
    }
    for (line, name, value) in properties {
        let refuse = |possible: &str| JobError(format!("line {line}: {name}={value} is not possible; {possible}"));
        match (name.as_str(), value.as_str()) {
            ("requestdistribution", "zipfian" | "uniform" | "latest") => {}
            ("requestdistribution", _) => return Err(refuse("use zipfian, uniform or latest")),
            ("scanlengthdistribution", "uniform") | ("fieldlengthdistribution", "constant") => continue,
            ("scanlengthdistribution", _) => return Err(refuse("scan lengths are uniform; remove the line")),
            ("fieldlengthdistribution", _) => return Err(refuse("values have one size; remove the line")),
            ("workload", class) if class.ends_with("CoreWorkload") => continue,
            ("workload", _) => return Err(refuse("use a file for site.ycsb.workloads.CoreWorkload")),
            ("fieldcount" | "fieldlength", number) if number.parse::<u64>().is_err() => {
                return Err(refuse("use a whole number"));
            }
            ("threadcount", _) => {
                plan.notes.push(format!("threadcount={value} is ignored; use --clients {value}"));
                continue;
            }
            ("target", _) => {
                plan.notes.push(format!("target={value} is ignored; use --rate {value}"));
                continue;
            }
            (known, _) if RENAMED.iter().any(|(theirs, _)| *theirs == known) || values.contains_key(known) => {}
            _ => {
                plan.notes.push(format!("{name} is ignored: it changes nothing here"));
                continue;
            }
        }
        values.insert(name, value);
    }
    for (theirs, ours) in RENAMED {
        if let Some(value) = values.get(theirs) {
            plan.params.push((ours.into(), value.clone()));
        }
    }
    let number = |name: &str| values.get(name).and_then(|value| value.parse::<u64>().ok()).unwrap_or(0);
    plan.params.push(("value".into(), number("fieldcount").saturating_mul(number("fieldlength")).to_string()));
    plan.params.push(("distribution".into(), values.get("requestdistribution").cloned().unwrap_or_default()));
    Ok(plan)
}

/// Properties of YCSB beside those that become parameters.
const OTHERS: [&str; 5] = ["scanlengthdistribution", "fieldlengthdistribution", "workload", "threadcount", "target"];

/// Whether YCSB has a property of this name, as far as it means something here.
fn is_known(name: &str) -> bool {
    let renamed = RENAMED.iter().map(|(theirs, _)| *theirs);
    renamed.chain(DEFAULTS.iter().map(|(name, _)| *name)).chain(OTHERS).any(|known| known == name)
}

/// The properties of the file with their line numbers: Java's format, without its escapes but with comments and
/// continued lines.
fn properties(text: &str) -> Result<Vec<(usize, String, String)>, JobError> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, first)) = lines.next() {
        let mut line = first.trim().to_owned();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        while line.ends_with('\\') {
            line.pop();
            let Some((_, more)) = lines.next() else { break };
            line += more.trim();
        }
        let Some((name, value)) = line.split_once(['=', ':']) else {
            return Err(JobError(format!("line {}: no property; write name=value", number + 1)));
        };
        found.push((number + 1, name.trim().to_owned(), value.trim().to_owned()));
    }
    Ok(found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::parse;

    /// The words of YCSB 0.17's workloada, comments shortened.
    const WORKLOAD_A: &str = "\
# Yahoo! Cloud System Benchmark
# Workload A: Update heavy workload

recordcount=1000
operationcount=1000
workload=site.ycsb.workloads.CoreWorkload

readallfields=true

readproportion=0.5
updateproportion=0.5
scanproportion=0
insertproportion=0

requestdistribution=zipfian

";

    fn get<'a>(plan: &'a job::PlanFile, name: &str) -> &'a str {
        &plan.params.iter().find(|(known, _)| known == name).unwrap().1
    }

    #[test]
    fn an_unmodified_property_file_becomes_parameters_and_names_what_it_ignores() {
        let plan = parse(WORKLOAD_A).unwrap();
        for (name, value) in [
            ("records", "1000"),
            ("operations", "1000"),
            ("read", "0.5"),
            ("update", "0.5"),
            ("insert", "0"),
            ("scan", "0"),
            ("rmw", "0"),
            ("distribution", "zipfian"),
            ("value", "1000"),
        ] {
            assert_eq!(get(&plan, name), value, "{name}");
        }
        assert_eq!(plan.notes, ["readallfields is ignored: it changes nothing here"]);
        let job = crate::prepare(&super::super::JOB, None, &plan.params, 42);
        assert!(job.is_ok(), "{:?}", job.err());
    }

    #[test]
    fn what_the_file_leaves_out_has_the_defaults_of_the_core_workload() {
        let plan =
            parse("readproportion: 0.7\nfieldlength = 20\nthreadcount=8\nfoo.bar=\\\n  1\nmaxexecutiontime=30\n")
                .unwrap();
        assert_eq!((get(&plan, "read"), get(&plan, "update")), ("0.7", "0.05"));
        assert_eq!((get(&plan, "distribution"), get(&plan, "value"), get(&plan, "seconds")), ("uniform", "200", "30"));
        assert_eq!(
            plan.notes,
            ["threadcount=8 is ignored; use --clients 8", "foo.bar is ignored: it changes nothing here"]
        );
        assert!(!plan.params.iter().any(|(name, _)| name == "records"));
    }

    #[test]
    fn a_file_that_is_none_is_refused_without_a_word_of_what_is_in_it() {
        let users = "root:x:0:0:root:/root:/bin/bash\nalice:x:1000:1000::/home/alice:/bin/sh\n";
        for text in [users, "alice and bob\n", "secret=hunter2\nbob=1\n"] {
            let words = parse(text).unwrap_err().to_string();
            assert!(["alice", "root", "bob", "hunter2", "bash"].iter().all(|word| !words.contains(word)), "{words}");
            assert!(words.contains("name=value") || words.contains("recordcount=1000"), "{words}");
        }
    }

    #[test]
    fn work_this_job_does_not_do_is_refused_by_line_and_name() {
        for (text, expected) in [
            ("a=1\nrequestdistribution=hotspot", "line 2: requestdistribution=hotspot is not possible; use zipfian"),
            ("fieldlengthdistribution=zipfian", "line 1: fieldlengthdistribution=zipfian is not possible"),
            ("workload=site.ycsb.workloads.TimeSeriesWorkload", "line 1: workload="),
            ("fieldcount=ten", "line 1: fieldcount=ten is not possible; use a whole number"),
            ("recordcount", "line 1: no property; write name=value"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
