use super::{Distribution, Kind, PARAMS, Params, RunLength, Workload};

fn parse(set: &[(&str, &str)]) -> Result<Workload, String> {
    let mut params: Params = PARAMS.iter().map(|param| (param.name.into(), param.default.into())).collect();
    set.iter().for_each(|(name, value)| drop(params.insert((*name).into(), (*value).into())));
    Workload::parse(&params, 42).map_err(|error| error.to_string())
}

#[test]
fn the_letters_have_the_shares_of_the_core_workloads() {
    for (letter, expected, distribution) in [
        ("A", [0.5, 0.5, 0.0, 0.0, 0.0], Distribution::Zipfian),
        ("B", [0.95, 0.05, 0.0, 0.0, 0.0], Distribution::Zipfian),
        ("C", [1.0, 0.0, 0.0, 0.0, 0.0], Distribution::Zipfian),
        ("D", [0.95, 0.0, 0.05, 0.0, 0.0], Distribution::Latest),
        ("E", [0.0, 0.0, 0.05, 0.95, 0.0], Distribution::Zipfian),
        ("F", [0.5, 0.0, 0.0, 0.0, 0.5], Distribution::Zipfian),
    ] {
        let workload = parse(&[("workload", letter)]).unwrap();
        assert_eq!(workload.distribution, distribution);
        for (kind, share) in
            [Kind::Read, Kind::Update, Kind::Insert, Kind::Scan, Kind::ReadModifyWrite].into_iter().zip(expected)
        {
            let draws = 200_000u64;
            let found = workload.mix.count(kind, draws) as f64;
            // Five standard deviations of a binomial.
            let slack = 5.0 * (draws as f64 * share * (1.0 - share)).sqrt();
            assert!((found - draws as f64 * share).abs() <= slack, "{letter} {kind:?} {found}");
            assert_eq!(workload.mix.has(kind), share > 0.0);
        }
    }
}

#[test]
fn settings_go_over_the_letter_and_shares_need_not_sum_to_one() {
    let set = [("workload", "C"), ("read", "3"), ("insert", "1"), ("distribution", "uniform"), ("seconds", "2.5")];
    let workload = parse(&set).unwrap();
    assert_eq!(
        (workload.distribution, workload.end),
        (Distribution::Uniform, RunLength::Seconds { s: 2.5, most: None })
    );
    let inserts = workload.mix.count(Kind::Insert, 100_000);
    assert!((24_000..26_000).contains(&inserts), "{inserts}");
    assert_eq!((workload.inserts(), workload.requests()), (None, None));
}

#[test]
fn what_is_not_possible_is_named_with_what_is() {
    for (name, value, expected) in [
        ("workload", "G", "workload=G is not possible; use A, B, C, D, E or F"),
        ("records", "0", "records=0 is not possible; use 1 to 1000000000000000"),
        ("records", "1e6", "records=1e6 is not possible; use 1 to 1000000000000000"),
        ("value", "15", "value=15 is not possible; use 16 to 67108864"),
        ("scan_min", "101", "scan_min=101 is above scan_max=100; exchange them"),
        ("load", "sorted", "load=sorted is not possible; use rising, scattered or hashed"),
        ("most_operations", "5", "most_operations=5 is for a run of some seconds; add seconds=, or use operations=5"),
        ("theta", "-1", "theta=-1 is not possible; use 0 to 10"),
        ("seconds", "NaN", "seconds=NaN is not possible; use 0 to 1000000000"),
        ("distribution", "hotspot", "distribution=hotspot is not possible; use zipfian, uniform or latest"),
        ("read", "x", "read=x is not possible; use 0 or more"),
    ] {
        assert_eq!(parse(&[(name, value)]).unwrap_err(), expected);
    }
    assert!(parse(&[("workload", "C"), ("read", "0")]).unwrap_err().contains("as in read=1"));
}
