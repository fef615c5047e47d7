//! The table, as a newcomer sees it. The golden files are the expected output; set `UPDATE_GOLDEN=1` to write them again, and read
//! what changed before committing it.

#![allow(clippy::unwrap_used)]

mod golden_file;

use golden_file::golden;
use study::{Class, Durability, FaultRecord, ReasonKind, SeriesPoint, Study};
use terminal::{Colour, study_table};
use testkit::studies::{self, Sample};
use unicode_width::UnicodeWidthStr;

fn plain(study: &Study) -> String {
    study_table(study, Colour::Never)
}

#[test]
fn the_job_of_2009_is_shown_with_all_that_can_happen_to_a_cell() {
    golden("fans.txt", &plain(&studies::fans()));
}

#[test]
fn a_quick_run_on_embedded_stores_fits_and_says_what_it_cannot() {
    let mut study = studies::study(vec![
        Sample::new("null", Class::Baseline, &[0.0412], 90).cell(),
        Sample::new("ram", Class::Baseline, &[0.193], 210).cell(),
        Sample::new("lmdb", Class::Embedded, &[0.221], 980).product("LMDB", "0.9.33").cell(),
        Sample::new("redb", Class::Embedded, &[0.295], 2_140).product("redb", "4.4.0").cell(),
    ]);
    (study.repeats, study.warmups) = (1, 1);
    golden("quick.txt", &plain(&study));
}

#[test]
fn parameters_that_vary_have_a_table_each_and_durabilities_never_share_a_ranking() {
    let mut cells = Vec::new();
    for (clients, slower) in [("1", 1.0), ("16", 0.2)] {
        for (store, class, durability, times) in [
            ("null", Class::Baseline, Durability::None, [0.41, 0.42, 0.43]),
            ("ram", Class::Baseline, Durability::None, [1.91, 1.92, 1.93]),
            ("redis", Class::Network, Durability::None, [3.3, 3.4, 3.5]),
            ("redis,durability=second", Class::Network, Durability::Second, [3.5, 3.4, 3.6]),
            ("redis,durability=commit", Class::Network, Durability::Commit, [93.5, 93.4, 93.6]),
            (
                "postgres://bench:***@db.example.org/bench,durability=commit,layout=hstore",
                Class::Network,
                Durability::Commit,
                [53.5, 53.4, 53.6],
            ),
        ] {
            let times = times.map(|time| time * slower);
            let mut cell = Sample::new(store, class, &times, 1_000_000).durable(durability).cell();
            cell.params.insert("clients".into(), clients.into());
            cells.push(cell);
        }
    }
    golden("varied.txt", &plain(&Study { repeats: 3, ..studies::study(cells) }));
}

#[test]
fn stores_that_disagree_are_told_in_capitals() {
    let mut study = studies::fans();
    study.cells.truncate(5);
    study.cells[3].answer.digest = "sha256:00000000000000000000000000000000000000000000000000000000000000ff".into();
    studies::spoil(
        &mut study.cells[4],
        ReasonKind::LostUpdates,
        1_234_567,
        "page libc6 has 3,811 fans instead of 3,839",
    );
    let table = plain(&study);
    let disagreement = table.find("THE STORES DISAGREE. Answer sha256:9c6e0f1a52c4b7d8… on ram, lmdb, fjall;");
    assert!(disagreement.unwrap() < table.find("STORE ").unwrap(), "above every figure: {table}");
    assert!(table.contains("Updates lost, 6,172,835 times: page libc6 has 3,811 fans instead of 3,839"), "{table}");
    assert!(table.contains("policy=cas"), "{table}");
}

#[test]
fn an_answer_of_what_took_effect_while_nodes_failed_is_not_comparable_and_raises_no_alarm() {
    let mut study = studies::fans();
    study.cells.truncate(5);
    study.cells[3].answer.digest = "sha256:00000000000000000000000000000000000000000000000000000000000000ff".into();
    let trial = &mut study.cells[3].trials[0];
    trial.faults = vec![FaultRecord { planned: "at 5s kill 1".into(), ..FaultRecord::default() }];
    assert!(plain(&study).contains("THE STORES DISAGREE"), "a fault alone is no excuse");
    study.cells[3].trials[0].failed.unknown = 1;
    let table = plain(&study).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!table.contains("DISAGREE"), "{table}");
    let said = format!("; not comparable, as operations failed: {}", study.cells[3].store);
    assert!(table.contains(&said), "{said}: {table}");
}

#[test]
fn a_fault_is_marked_beneath_the_curve_and_said_before_the_tables_and_a_void_cell_with_one_is_drawn() {
    let mut study = studies::fans();
    study.cells.truncate(4);
    let cell = &mut study.cells[3];
    for trial in &mut cell.trials {
        let point = |at: u32| SeriesPoint { at_s: f64::from(at), operations: 100, ..SeriesPoint::default() };
        trial.series = (1..=20).map(point).collect();
        let planned = "at 10s kill 1".into();
        let fault = FaultRecord { planned, at_s: Some(10.0), longest_dark_s: Some(0.8), ..FaultRecord::default() };
        trial.faults = vec![fault];
    }
    analysis::summarise(cell);
    studies::spoil(cell, ReasonKind::LostUpdates, 1, "key a");
    let store = cell.store.clone();
    let table = plain(&study);
    let said = format!("After the server was killed, {store} answered again after 800 ms;");
    let text = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.find(&said).unwrap() < text.find("STORE ").unwrap(), "{table}");
    let lines: Vec<&str> = table.lines().collect();
    let mark = lines.iter().position(|line| line.trim() == "^").unwrap_or_else(|| panic!("{table}"));
    let column = |line: &str, of: char| line.chars().position(|char| char == of).unwrap();
    assert_eq!(column(lines[mark], '^'), column(lines[mark - 1], '█') + 10, "in the middle of the bars: {table}");
}

#[test]
fn rates_of_a_job_of_batches_count_documents_and_p99_is_said_to_be_that_of_a_batch() {
    let mut study = studies::fans();
    study.cells.truncate(5);
    study.input.insert("documents".into(), 50_000.into());
    for trial in study.cells.iter_mut().flat_map(|cell| &mut cell.trials) {
        let (operations, elapsed_s) = (50, trial.makespan_s);
        (trial.operations, trial.ops_per_s) = (operations, operations as f64 / elapsed_s);
        let load = study::PhaseRecord {
            name: "load".into(),
            timed: true,
            elapsed_s,
            operations,
            records: 50_000,
            ..study::PhaseRecord::default()
        };
        trial.phases = vec![load];
    }
    study.cells.iter_mut().for_each(analysis::summarise);
    let table = plain(&study);
    // 50,000 documents in 2.21 s; operations were 22.6 per second.
    let lmdb = table.lines().find(|line| line.contains(" lmdb ")).unwrap();
    assert!(table.contains("DOCS/S") && !table.contains("OP/S ") && lmdb.contains("22.6k"), "{table}");
    let said = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("P99 is that of a batch"), "{table}");
}

#[test]
fn what_disturbed_many_cells_is_told_once() {
    let mut study = studies::fans();
    study.cells.truncate(5);
    for (cell, share) in study.cells.iter_mut().zip([82, 80, 76, 69, 80]) {
        studies::spoil(cell, ReasonKind::OtherLoad, 1, &format!("other processes used {share} % of the processors"));
    }
    studies::spoil(&mut study.cells[4], ReasonKind::LostUpdates, 2, "page a");
    golden("noisy.txt", &plain(&study));
}

/// A cell whose trials ran for as many seconds as there are rates.
fn with_rates(store: &'static str, clients: u32, ops_per_s: &[u64]) -> study::Cell {
    let durability = if store.contains("durability=commit") { Durability::Commit } else { Durability::None };
    let times = [ops_per_s.len() as f64; 3];
    let mut cell = Sample::new(store, Class::Network, &times, 1_000_000).durable(durability).cell();
    cell.params.insert("clients".into(), clients.to_string());
    for trial in &mut cell.trials {
        let point = |(at, operations): (usize, &u64)| study::SeriesPoint {
            at_s: (at + 1) as f64,
            operations: *operations,
            ..study::SeriesPoint::default()
        };
        trial.series = ops_per_s.iter().enumerate().map(point).collect();
        trial.operations = ops_per_s.iter().sum();
        trial.ops_per_s = trial.operations as f64 / trial.makespan_s;
    }
    analysis::summarise(&mut cell);
    cell
}

#[test]
fn a_stall_is_seen_in_the_rate_over_time() {
    let stalled = with_rates("redis", 1, &[98_000, 97_000, 98_500, 0, 12, 96_000, 98_000]);
    let steady = with_rates("redis,durability=commit", 1, &[5_000; 7]);
    let table = plain(&studies::study(vec![stalled, steady]));
    assert!(table.contains("   redis                    ███▁▁██ "), "{table}");
    golden("over_time.txt", &table);
}

#[test]
fn a_parameter_that_was_swept_has_a_plot() {
    let mut cells = Vec::new();
    for (clients, redis, memcached) in [(1, 28_800, 31_000), (4, 80_000, 95_000), (16, 144_000, 140_000)] {
        cells.push(with_rates("redis", clients, &[redis; 3]));
        cells.push(with_rates("memcached", clients, &[memcached; 3]));
    }
    golden("swept.txt", &plain(&studies::study(cells)));
}

#[test]
fn extremes_still_fit_eighty_columns() {
    let store = "a-store-with-a-very-long-name://user:***@some.host.example.org:65535/database,layout=hstore,nodes=100";
    let mut cells: Vec<_> = [[1e-7, 1.1e-7, 0.9e-7], [5_000.0, 90_000.0, 70_000.0], [1e6, 2e6, 3e6]]
        .iter()
        .map(|times| Sample::new(store, Class::Network, times, 3_000_000_000_000).cell())
        .chain([with_rates(store, 4_000_000_000, &[u64::MAX / 9; 9]), with_rates("lmdb:/数据库/数据", 3, &[1; 9])])
        .chain([with_rates(store, 7, &[1; 9])])
        .collect();
    cells.push(Sample::new("null", Class::Baseline, &[1e-9], 1).cell());
    for cell in &mut cells {
        studies::spoil(cell, ReasonKind::ScheduleLag, u64::MAX / 4, &"no-blank-in-sight".repeat(20));
        cell.product = "A Product With A Long Name".into();
        cell.emulated = ["append", "increment", "compare_and_set", "increment_field", "scan"].map(String::from).into();
    }
    let table = plain(&studies::study(cells));
    for line in table.lines() {
        assert!(line.width() <= 80, "{} columns: {line}\n{table}", line.width());
    }
}

#[test]
fn an_interrupted_study_says_what_is_missing() {
    let mut study = studies::fans();
    study.cells[2].trials.truncate(2);
    study.cells[3].trials.truncate(0);
    study.cells.iter_mut().for_each(analysis::summarise);
    let table = plain(&study);
    assert!(table.contains("Unfinished: 8 of 55 trials are missing. Continue with --resume."), "{table}");
    assert!(!plain(&studies::fans()).contains("Unfinished"));
}

#[test]
fn colour_adds_nothing_but_colour() {
    let study = studies::fans();
    let coloured = study_table(&study, Colour::Always);
    assert!(coloured.contains("\x1b[31mvoid\x1b[0m") && coloured.contains("\x1b[32mvalid\x1b[0m"));
    let mut stripped = String::new();
    for (at, part) in coloured.split("\x1b[").enumerate() {
        stripped += if at == 0 { part } else { part.split_once('m').unwrap().1 };
    }
    assert_eq!(stripped, plain(&study));
}

#[test]
fn a_study_without_cells_or_trials_is_still_a_study() {
    golden("empty.txt", &plain(&studies::study(Vec::new())));
    let untried = studies::study(vec![Sample::new("redis", Class::Network, &[], 0).cell()]);
    golden("untried.txt", &plain(&untried));
}

#[test]
fn a_parameter_that_follows_another_is_not_said_again() {
    let mut cell = Sample::new("lmdb", Class::Embedded, &[1.0, 1.1], 900).cell();
    for (name, value) in [("workload", "A"), ("read", "workload"), ("update", "0.4"), ("scan", "workload")] {
        cell.params.insert(name.into(), value.into());
    }
    let text = plain(&studies::study(vec![cell]));
    assert!(text.contains("workload=A") && text.contains("update=0.4"), "{text}");
    assert!(!text.contains("read=") && !text.contains("scan="), "{text}");
}

#[test]
fn long_counts_have_separators_and_parameters_that_change_nothing_are_left_out() {
    let mut cell = Sample::new("lmdb", Class::Embedded, &[1.0, 1.1], 900).cell();
    cell.job = "ycsb".into();
    let params =
        [("records", "1000000"), ("load", "rising"), ("most_operations", "0"), ("scan_min", "1"), ("value", "1000")];
    cell.params = params.map(|(name, value)| (name.into(), value.into())).into();
    let text = plain(&studies::study(vec![cell]));
    assert!(text.lines().nth(1).unwrap().starts_with(" records=1,000,000 · value=1000 · "), "{text}");
    assert!(!text.contains("load=") && !text.contains("scan_min") && !text.contains("most_operations"), "{text}");
}

#[test]
fn the_legend_says_of_p99_itself_that_it_ranks_the_stores_also_where_operations_failed() {
    let cells = ["redis", "memcached"].map(|store| {
        let mut cell = Sample::new(store, Class::Network, &[1.0, 1.1], 900).cell();
        cell.measure = study::Measure::Latency;
        cell.failed_share = Some(study::Quantity { value: 0.1, ..study::Quantity::default() });
        cell
    });
    let text = plain(&studies::study(cells.into()));
    let legend = &text[text.find("\n P99 ").unwrap()..];
    let of_p99 = &legend[..legend.find("\n FAILED ").unwrap()];
    let words: Vec<&str> = of_p99.split_whitespace().collect();
    assert!(words.join(" ").ends_with("; ranks the stores, as the rate was the same for all"), "{text}");
    assert!(
        of_p99.lines().skip(2).all(|line| line.starts_with("           ") && !line[11..].starts_with(' ')),
        "{text}"
    );
}

#[test]
fn of_more_stores_than_are_put_in_an_order_the_medians_are_listed_and_the_reason_is_said() {
    let cells = (0..=analysis::MOST_RANKED).map(|at| {
        let times = [1.0, 1.01, 1.02].map(|share| share * (1.0 + at as f64));
        let mut cell = Sample::new("", Class::Network, &times, 900).cell();
        cell.store = format!("redis://h{at}");
        cell
    });
    let text = plain(&studies::study(cells.collect()));
    let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("No order: of more than 200 stores none is proved, and here are 201"), "{said}");
    assert!(said.contains("By the medians redis://h0 was 2.00 times as fast as redis://h1."), "{said}");
    assert!(!text.lines().any(|line| line.starts_with(" 1 ") || line.starts_with(" 1= ")), "{text}");
}
