use super::known::{Does, KNOWN};
use super::parse;
use data::splitmix::Rng;
use std::collections::BTreeMap;

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

fn get<'a>(plan: &'a jobkit::PlanFile, name: &str) -> &'a str {
    &plan.params.iter().find(|(known, _)| known == name).unwrap().1
}

fn is_prepared(params: &[(String, String)]) {
    let job = crate::prepare(&super::super::JOB, None, params, 42);
    assert!(job.is_ok(), "{params:?} {:?}", job.err());
}

#[test]
fn an_unmodified_property_file_becomes_parameters() {
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
        ("load", "scattered"),
        ("scan_min", "1"),
        ("scan_max", "1000"),
    ] {
        assert_eq!(get(&plan, name), value, "{name}");
    }
    assert_eq!(plan.notes.len(), 1, "{:?}", plan.notes);
    assert!(plan.notes[0].contains("writes the whole value here, 1000 bytes"), "{:?}", plan.notes);
    is_prepared(&plan.params);
}

#[test]
fn what_the_file_leaves_out_has_the_defaults_of_the_core_workload() {
    let plan = parse(
        "readproportion: 0.7\nfieldlength = 20\nthreadcount=8\nfoo.bar=\\\n  1\nmaxexecutiontime 30\nwriteallfields=true\ntable t\n\
         redis.host=h\n",
    )
    .unwrap();
    assert_eq!((get(&plan, "read"), get(&plan, "update")), ("0.7", "0.05"));
    assert_eq!((get(&plan, "distribution"), get(&plan, "value"), get(&plan, "seconds")), ("uniform", "200", "30"));
    assert_eq!(get(&plan, "most_operations"), "0");
    assert_eq!(
        plan.notes,
        [
            "line 3: threadcount=8 is an option of kvtrial's: use --clients 8",
            "line 8: table changes nothing here: kvtrial names its own tables",
            "line 9: redis.host changes nothing here: it is for YCSB's own client of a store; name the store and its options with -s",
            "line 4: foo.bar is no property of YCSB's CoreWorkload; it is left out",
        ]
    );
    assert!(!plan.params.iter().any(|(name, _)| name == "records" || name == "operations"));
    is_prepared(&plan.params);
}

#[test]
fn operations_and_time_are_both_ends_of_the_run() {
    let plan = parse("operationcount=500\nmaxexecutiontime=9").unwrap();
    assert_eq!((get(&plan, "seconds"), get(&plan, "most_operations")), ("9", "500"));
    is_prepared(&plan.params);
    let plan = parse("operationcount=0\nmaxexecutiontime=9").unwrap();
    assert_eq!((get(&plan, "seconds"), get(&plan, "most_operations")), ("9", "0"));
    is_prepared(&plan.params);
    let plan = parse("operationcount=500\nmaxexecutiontime=0").unwrap();
    assert_eq!(get(&plan, "operations"), "500");
    assert!(!plan.params.iter().any(|(name, _)| name == "seconds"));
}

#[test]
fn work_this_job_does_not_do_is_refused_by_line_and_name() {
    for (text, expected) in [
        ("table=t\nrequestdistribution=hotspot", "line 2: requestdistribution=hotspot is not possible; use zipfian"),
        ("fieldlengthdistribution=zipfian", "line 1: fieldlengthdistribution=zipfian is not possible"),
        ("workload=site.ycsb.workloads.TimeSeriesWorkload", "line 1: workload="),
        ("workload=my.OwnCoreWorkload", "line 1: workload="),
        ("fieldcount=ten", "line 1: fieldcount=ten is not possible; use a whole number"),
        ("recordcount", "line 1: 'recordcount' is no property; write name=value"),
        ("recordcount=0", "line 1: recordcount=0 is not possible; it is no end to YCSB"),
        ("operationcount=0", "line 1: operationcount=0 is not possible; it is no end to YCSB"),
        ("recordcount=9\ninsertstart=1", "line 2: insertstart=1 is not possible; the load begins with the first"),
        ("recordcount=9\ninsertcount=5", "line 2: insertcount=5 is not possible; all of recordcount is loaded here"),
        ("dotransactions=false", "line 1: dotransactions=false is not possible; the run follows the load here"),
        ("insertorder=random", "line 1: insertorder=random is not possible; use hashed or ordered"),
        ("minscanlength=9\nmaxscanlength=8", "line 1: minscanlength=9 is not possible; it is above maxscanlength=8"),
        ("minscanlength=1001", "line 1: minscanlength=1001 is not possible; it is above maxscanlength=1000"),
        ("readallfields=false", "line 1: readallfields=false is not possible; the fields are one value here"),
        ("writeallfields=false", "line 1: writeallfields=false is not possible; the fields are one value here"),
        ("readproportion=-1", "line 1: readproportion=-1 is not possible; use a share of 0 or more"),
        ("fieldlength=1", "line 1: fieldlength=1 is not possible; fieldcount times fieldlength must be 16 to 67108864"),
        ("zeropadding=20", "line 1: zeropadding=20 is not possible; keys have 16 bytes here"),
        ("recordcount=9\nrecordcuont=10", "line 2: YCSB has no property 'recordcuont'. Did you mean recordcount?"),
        (
            "recordcount=9\nreadporportion 1",
            "line 2: YCSB has no property 'readporportion'. Did you mean readproportion?",
        ),
        ("root:x:0:0:root:/root:/bin/sh\nbin:x:2:2", "it has no property of YCSB's CoreWorkload"),
        (
            "root:x:0:0:root:/root:/bin/sh\nrecordcount=9\nbin:x:2:2",
            "line 1: it is no property of YCSB's CoreWorkload, like 2 of the 3 properties of this file; is it the right file?",
        ),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
    for text in ["fieldcount=1\nreadallfields=false\nwriteallfields=false", "updateproportion=0\nwriteallfields=FALSE"]
    {
        assert!(parse(text).is_ok_and(|plan| plan.notes.is_empty()), "{text}");
    }
}

#[test]
fn no_word_of_a_file_that_is_none_is_shown() {
    let users = "root:x:0:0:root:/root:/bin/sh\nalice:x:4711:4711::/home/alice:/bin/bash\n";
    for more in ["", "recordcount=9\n", "table:x:1002:1002:::\n", "operationcount=9\nfieldcount=1\nrecordcount=5\n"] {
        let shown = match parse(&format!("{more}{users}{users}")) {
            Ok(plan) => plan.notes.join("\n"),
            Err(error) => error.to_string(),
        };
        let secret = ["root", "alice", "home", "4711", "bash"].into_iter().find(|word| shown.contains(word));
        assert_eq!(secret, None, "{shown}");
        assert!(shown.contains("is it the right file?"), "{shown}");
    }
}

#[test]
fn inserted_keys_are_spread_as_by_ycsb_unless_there_are_scans_and_then_that_is_said_or_refused() {
    let with = |scans: &str, order: &str| {
        let shares = format!("readproportion=0.9\nupdateproportion=0\ninsertproportion=0.05\nscanproportion={scans}\n");
        let plan = parse(&format!("recordcount=9\noperationcount=9\n{shares}{order}")).unwrap();
        let rise = plan.notes.iter().any(|note| note.contains("inserted during the run rise here"));
        is_prepared(&plan.params);
        (get(&plan, "load").to_owned(), rise)
    };
    for order in ["", "insertorder=hashed"] {
        assert_eq!(with("0", order), ("hashed".into(), false));
    }
    assert_eq!(with("0.05", ""), ("scattered".into(), true));
    let hashed = parse("recordcount=9\ninsertproportion=0.05\nscanproportion=0.9\ninsertorder=hashed").unwrap_err();
    assert!(
        hashed.to_string().starts_with("line 4: insertorder=hashed is not possible; scans are verified"),
        "{hashed}"
    );
    assert_eq!(with("0.05", "insertorder=ordered"), ("rising".into(), false));
    assert_eq!(get(&parse("recordcount=9").unwrap(), "load"), "scattered");
}

/// What YCSB's documentation (the head of `CoreWorkload.java`, and `workload_template`) says that a property does, as a value of the
/// parameters, and values of it. Nothing here is from the code that is tested.
const DOCUMENTED: [(&str, &[&str], &str); 14] = [
    ("recordcount", &["1", "77", "2000000"], "records"),
    ("operationcount", &["1", "300", "50000"], "operations"),
    ("readproportion", &["0.2", "1", "0.95"], "read"),
    ("updateproportion", &["0.1", "3", "0"], "update"),
    ("insertproportion", &["0", "0.05", "1"], "insert"),
    ("scanproportion", &["0", "0.5"], "scan"),
    ("readmodifywriteproportion", &["0", "0.25"], "rmw"),
    ("requestdistribution", &["uniform", "zipfian", "latest"], "distribution"),
    ("minscanlength", &["1", "2", "40"], "scan_min"),
    ("maxscanlength", &["40", "100", "1000"], "scan_max"),
    ("insertorder", &["hashed", "ordered"], "load"),
    ("maxexecutiontime", &["0", "1", "60"], "seconds"),
    ("fieldcount", &["1", "10"], "value"),
    ("fieldlength", &["100", "7000"], "value"),
];
/// Its defaults.
const DOCUMENTED_DEFAULTS: [(&str, &str); 11] = [
    ("readproportion", "0.95"),
    ("updateproportion", "0.05"),
    ("insertproportion", "0"),
    ("scanproportion", "0"),
    ("readmodifywriteproportion", "0"),
    ("requestdistribution", "uniform"),
    ("minscanlength", "1"),
    ("maxscanlength", "1000"),
    ("insertorder", "hashed"),
    ("fieldcount", "10"),
    ("fieldlength", "100"),
];

#[test]
fn a_thousand_made_files_become_what_the_documentation_of_ycsb_says() {
    let mut random = Rng::new(40);
    for round in 0..1000 {
        let (mut text, mut said, mut order) = (String::new(), BTreeMap::from(DOCUMENTED_DEFAULTS), None);
        for _ in 0..=random.below(16) {
            let (name, values, _) = DOCUMENTED[random.below(DOCUMENTED.len() as u64) as usize];
            let value = values[random.below(values.len() as u64) as usize];
            let between = ["=", ":", " ", " = ", "\t:", "=\\\n   ", " \\\n"][random.below(7) as usize];
            text += ["", "  ", "# readproportion=9\n", "\n", "! none\r\n"][random.below(5) as usize];
            text += &format!("{name}{between}{value}{}", ["\n", "\r\n", " \n"][random.below(3) as usize]);
            said.insert(name, value);
            order = if name == "insertorder" { Some(value) } else { order };
        }
        let inserts_and_scans = said["insertproportion"] != "0" && said["scanproportion"] != "0";
        let plan = match parse(&text) {
            Err(error) if inserts_and_scans && order == Some("hashed") => {
                assert!(
                    error.to_string().contains("insertorder=hashed is not possible"),
                    "round {round}: {error}\n{text}"
                );
                continue;
            }
            parsed => parsed.unwrap_or_else(|error| panic!("round {round}: {error}\n{text}")),
        };
        assert!(!inserts_and_scans || order != Some("hashed"), "round {round}\n{text}");
        let bytes = said["fieldcount"].parse::<u32>().unwrap() * said["fieldlength"].parse::<u32>().unwrap();
        for (name, _, ours) in DOCUMENTED {
            let of_plan = plan.params.iter().find(|(known, _)| known == ours).map(|(_, value)| value.clone());
            let expected = match (name, said.get(name)) {
                ("fieldcount" | "fieldlength", _) => Some(bytes.to_string()),
                ("insertorder", Some(&"ordered")) => Some("rising".into()),
                ("insertorder", _) if said["insertproportion"] != "0" && said["scanproportion"] == "0" => {
                    Some("hashed".into())
                }
                ("insertorder", _) => Some("scattered".into()),
                ("maxexecutiontime", Some(&"0")) => None,
                (_, value) => value.map(|value| (*value).to_owned()),
            };
            assert_eq!(of_plan, expected, "round {round}: {name}\n{text}");
        }
        is_prepared(&plan.params);
    }
}

#[test]
fn whatever_else_stands_in_a_file_is_refused_or_said_with_its_line() {
    let words = [
        "",
        "0",
        "1",
        "-1",
        "7",
        "true",
        "false",
        "zipfian",
        "hashed",
        "ten",
        "1e999",
        "NaN",
        "99999999999999999999",
        "ä",
    ];
    let mut random = Rng::new(41);
    for _ in 0..2000 {
        let (name, does) = KNOWN[random.below(KNOWN.len() as u64) as usize];
        let value = words[random.below(words.len() as u64) as usize];
        let text = format!("operationcount=10\nfieldcount=1\n{name}={value}\n");
        match parse(&text) {
            Err(error) => assert!(error.to_string().starts_with("line 3: "), "{text}{error}"),
            Ok(plan) => {
                let is_said = plan.notes.iter().any(|note| note.starts_with("line 3: "));
                assert_eq!(
                    is_said,
                    matches!(does, Does::Nothing(_)) || does_not_stand(does, value),
                    "{text}{:?}",
                    plan.notes
                );
            }
        }
    }
}

/// An option of kvtrial's that would do otherwise.
fn does_not_stand(does: Does, value: &str) -> bool {
    matches!(does, Does::Option(_, usual) if usual != value)
}
