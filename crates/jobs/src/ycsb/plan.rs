//! Unmodified YCSB property files, as parameters of the job. What YCSB does with a property is done, or said not to be, or refused.

mod known;
mod properties;
#[cfg(test)]
mod tests;

use super::value::MIN_BYTES;
use jobkit::{JobError, PlanFile};
use known::Does;
use properties::Property;
use std::collections::BTreeMap;

/// YCSB's names of parameters that need no more than another name, and the defaults of its CoreWorkload, which hold where the file
/// says nothing; without one this job's own holds.
const RENAMED: [(&str, &str, Option<&str>); 9] = [
    ("recordcount", "records", None),
    ("operationcount", "operations", None),
    ("minscanlength", "scan_min", Some("1")),
    ("maxscanlength", "scan_max", Some("1000")),
    ("readproportion", "read", Some("0.95")),
    ("updateproportion", "update", Some("0.05")),
    ("insertproportion", "insert", Some("0")),
    ("scanproportion", "scan", Some("0")),
    ("readmodifywriteproportion", "rmw", Some("0")),
];
const LARGEST_VALUE_BYTES: u64 = 64 << 20;

const NONE: &str = "it has no property of YCSB's CoreWorkload, such as recordcount=1000; is it the right file?";

/// Properties of the file that count, the last of each name.
type Found = BTreeMap<&'static str, Property>;

/// Reads the text of a property file. What is understood but is not up to a property, or is done otherwise here, becomes a note.
///
/// # Errors
/// Names the line and what is possible, for work this job does not do, for a name that is probably mistyped, and for a text that has no
/// property of YCSB.
pub fn parse(text: &str) -> Result<PlanFile, JobError> {
    let mut plan = PlanFile::default();
    let mut found = Found::new();
    let properties = properties::read(text);
    is_of_ycsb(&properties)?;
    let mut unknown = Vec::new();
    for property in properties {
        let Property { line, name, value } = &property;
        let Some((name, does)) = known::find(name) else {
            unknown.push(property);
            continue;
        };
        check(&property, does)?;
        match does {
            Does::Nothing(why) => {
                plan.notes.push(format!("line {line}: {} changes nothing here: {why}", property.name))
            }
            Does::Option(option, usual) if value != usual => {
                plan.notes.push(format!("line {line}: {name}={value} is an option of kvtrial's: use {option} {value}"));
            }
            Does::Option(..) => {}
            _ => {
                found.insert(name, property);
            }
        }
    }
    if found.is_empty() {
        return Err(JobError(NONE.into()));
    }
    for Property { line, name, .. } in unknown {
        if let Some(near) = known::near(&name) {
            return Err(JobError(format!(
                "line {line}: YCSB has no property '{name}'. Did you mean {near}? Correct the name, or remove the line"
            )));
        }
        plan.notes.push(format!("line {line}: {name} is no property of YCSB's CoreWorkload; it is left out"));
    }
    whole_load(&found)?;
    length(&found, &mut plan)?;
    fields(&found, &mut plan)?;
    if let (Some(least), Some(most)) = (number(&found, "minscanlength"), number(&found, "maxscanlength").or(Some(1000)))
        && least > most
    {
        return Err(refused(&found["minscanlength"], &format!("it is above maxscanlength={most}; exchange them")));
    }
    for (theirs, ours, usual) in RENAMED {
        let value = found.get(theirs).map(|property| property.value.as_str()).or(usual);
        // Of operationcount, 0 is no end: then there is another.
        if let Some(value) = value.filter(|value| theirs != "operationcount" || *value != "0") {
            plan.params.push((ours.into(), value.into()));
        }
    }
    let word = |name: &str, usual: &str| found.get(name).map_or(usual, |property| &property.value).to_owned();
    plan.params.push(("distribution".into(), word("requestdistribution", "uniform")));
    let load = load(&found, &mut plan)?;
    plan.params.push(("load".into(), load.into()));
    Ok(plan)
}

/// Refuses what is probably another file, without a word of what stands in it: it may be one of the system, with names of its users.
fn is_of_ycsb(properties: &[Property]) -> Result<(), JobError> {
    let known = properties.iter().filter(|it| known::find(&it.name).is_some()).count();
    let is_strange = |it: &&Property| known::find(&it.name).is_none() && known::near(&it.name).is_none();
    let strange: Vec<&Property> = properties.iter().filter(is_strange).collect();
    let Some(first) = strange.first().filter(|_| strange.len() >= known) else { return Ok(()) };
    if known == 0 {
        return Err(JobError(NONE.into()));
    }
    let (count, all) = (study::whole(strange.len() as u64), study::whole(properties.len() as u64));
    Err(JobError(format!(
        "line {}: it is no property of YCSB's CoreWorkload, like {count} of the {all} properties of this file; is it the right file? If it is, \
         remove these lines",
        first.line
    )))
}

/// The order of the load, and with `insertorder=hashed` where keys lie that are inserted in the run. A scan is verified by the order of
/// keys, so where there are scans, inserted keys rise: that is said of YCSB's default, and a file that asks for `hashed` is refused.
fn load(found: &Found, plan: &mut PlanFile) -> Result<&'static str, JobError> {
    let order = found.get("insertorder");
    if order.is_some_and(|order| order.value != "hashed") {
        return Ok("rising");
    }
    let share = |name: &str| found.get(name).and_then(|share| share.value.parse::<f64>().ok()).unwrap_or(0.0);
    match (share("insertproportion") > 0.0, share("scanproportion") > 0.0, order) {
        (false, _, _) => Ok("scattered"),
        (true, false, _) => Ok("hashed"),
        (true, true, Some(order)) => Err(refused(
            order,
            "scans are verified by the order of keys, so keys inserted during the run rise; use insertorder=ordered, or remove the line: \
             then records are loaded far apart and inserted keys rise",
        )),
        (true, true, None) => {
            plan.notes.push(
                "keys inserted during the run rise here, each above all others, as scans are verified by the order of keys; YCSB \
                 spreads them among the others"
                    .into(),
            );
            Ok("scattered")
        }
    }
}

fn refused(Property { line, name, value }: &Property, possible: &str) -> JobError {
    JobError(format!("line {line}: {name}={value} is not possible; {possible}"))
}

/// Whether the value is one that YCSB takes and this job can do.
fn check(property: &Property, does: Does) -> Result<(), JobError> {
    let Property { line, name, value } = property;
    let refuse = |possible: &str| Err(refused(property, possible));
    match does {
        Does::Nothing(_) | Does::Option(..) => Ok(()),
        _ if value.is_empty() => Err(JobError(format!("line {line}: '{name}' is no property; write name=value"))),
        Does::Whole if value.parse::<u64>().is_err() => refuse("use a whole number"),
        Does::Share if !value.parse::<f64>().is_ok_and(|share| (0.0..=1e9).contains(&share)) => {
            refuse("use a share of 0 or more, such as 0.95")
        }
        Does::Flag if !["true", "false"].contains(&value.to_lowercase().as_str()) => refuse("use true or false"),
        Does::Word(words, possible) if !words.contains(&value.as_str()) => refuse(possible),
        Does::Class if value.rsplit('.').next() != Some("CoreWorkload") => {
            refuse("use a file for site.ycsb.workloads.CoreWorkload")
        }
        Does::Whole | Does::Share | Does::Flag | Does::Word(..) | Does::Class => Ok(()),
    }
}

fn number(found: &Found, name: &str) -> Option<u64> {
    found.get(name)?.value.parse().ok()
}

fn is(found: &Found, name: &str) -> Option<bool> {
    Some(found.get(name)?.value.eq_ignore_ascii_case("true"))
}

/// This job loads every record, then runs; YCSB can do either alone, and a part of the load.
fn whole_load(found: &Found) -> Result<(), JobError> {
    let records = number(found, "recordcount");
    if records == Some(0) {
        return Err(refused(&found["recordcount"], "it is no end to YCSB; use 1 or more"));
    }
    if number(found, "insertstart").is_some_and(|start| start > 0) {
        return Err(refused(&found["insertstart"], "the load begins with the first record here; remove the line"));
    }
    if let Some(count) = number(found, "insertcount").filter(|count| Some(*count) != records) {
        let possible = format!("all of recordcount is loaded here; use recordcount={count}, and remove the line");
        return Err(refused(&found["insertcount"], &possible));
    }
    if is(found, "dotransactions") == Some(false) {
        return Err(refused(&found["dotransactions"], "the run follows the load here; remove the line"));
    }
    Ok(())
}

/// `operationcount` and `maxexecutiontime` are both ends: whichever comes first. 0, YCSB's default of either, is none.
fn length(found: &Found, plan: &mut PlanFile) -> Result<(), JobError> {
    let operations = number(found, "operationcount");
    let seconds = number(found, "maxexecutiontime").unwrap_or(0);
    if seconds == 0 && operations == Some(0) {
        return Err(refused(&found["operationcount"], "it is no end to YCSB; use 1 or more, or add maxexecutiontime"));
    }
    if seconds > 0 {
        plan.params.push(("seconds".into(), seconds.to_string()));
        plan.params.push(("most_operations".into(), operations.unwrap_or(0).to_string()));
    }
    Ok(())
}

/// Fields are one value here, which is read and written as a whole.
fn fields(found: &Found, plan: &mut PlanFile) -> Result<(), JobError> {
    let count = number(found, "fieldcount").unwrap_or(10);
    let bytes = count.saturating_mul(number(found, "fieldlength").unwrap_or(100));
    if !(MIN_BYTES as u64..=LARGEST_VALUE_BYTES).contains(&bytes) {
        let property = found.get("fieldlength").or(found.get("fieldcount"));
        let possible = format!("fieldcount times fieldlength must be {MIN_BYTES} to {LARGEST_VALUE_BYTES} bytes");
        return property.map_or(Ok(()), |property| Err(refused(property, &possible)));
    }
    plan.params.push(("value".into(), bytes.to_string()));
    if count > 1 && is(found, "readallfields") == Some(false) {
        let possible = "the fields are one value here, read as a whole; remove the line, or use fieldcount=1";
        return Err(refused(&found["readallfields"], possible));
    }
    let share = |name: &str, usual: f64| found.get(name).and_then(|share| share.value.parse().ok()).unwrap_or(usual);
    let updates = share("updateproportion", 0.05) > 0.0 || share("readmodifywriteproportion", 0.0) > 0.0;
    match is(found, "writeallfields") {
        Some(true) => {}
        _ if count == 1 || !updates => {}
        Some(false) => {
            let possible = "the fields are one value here, written as a whole; use true, or fieldcount=1";
            return Err(refused(&found["writeallfields"], possible));
        }
        None => plan.notes.push(format!(
            "an update writes the whole value here, {bytes} bytes, as YCSB does with writeallfields=true; without it YCSB writes one of \
             {count} fields"
        )),
    }
    Ok(())
}
