//! The page and the plots as files.
#![allow(clippy::unwrap_used)]

mod sample;

use report::{Named, Report};
use study::Study;

fn report(study: &Study) -> Report<'_> {
    Report::new(vec![Named { label: String::new(), study }])
}

#[test]
fn the_page_is_below_one_and_a_half_megabytes_before_data() {
    let empty = report(&sample::study(Vec::new())).html();
    assert!(empty.len() < 1_500_000, "{}", empty.len());
    assert!(empty.contains("This study has no cells."));
}

#[test]
fn the_headline_says_who_is_best_and_by_how_much_or_that_there_is_no_difference() {
    let study = sample::usual();
    let html = report(&study).html();
    let headline = headline_of(&html);
    assert!(
        headline.starts_with("lmdb is the fastest of 3 embedded stores with durability os: ")
            && headline.contains(", the next, takes ")
            && headline.ends_with(" times as long."),
        "{headline}"
    );
    let mut twins = sample::usual();
    twins.cells.retain(|cell| cell.store == "sqlite" || cell.store == "redb");
    twins.cells[1].trials = twins.cells[0].trials.clone();
    twins.cells.iter_mut().for_each(analysis::summarise);
    let html = report(&twins).html();
    assert!(
        headline_of(&html).starts_with("No difference is shown between 2 embedded stores with durability os: "),
        "{}",
        headline_of(&html)
    );
    let mut sharing = sample::usual();
    let mut wild = sharing.cells.iter().find(|cell| cell.store == "lmdb").unwrap().clone();
    (wild.store, wild.trials) = ("wild".into(), vec![wild.trials[0].clone(); 5]);
    for (trial, makespan_s) in wild.trials.iter_mut().zip([0.01, 100.0, 0.5, 3.0, 30.0]) {
        trial.makespan_s = makespan_s;
    }
    sharing.cells.push(wild);
    sharing.cells.iter_mut().for_each(analysis::summarise);
    let html = report(&sharing).html();
    assert!(
        headline_of(&html).contains("none is shown to be ahead of all others; behind at least one: "),
        "{}",
        headline_of(&html)
    );
    for cell in &mut twins.cells {
        cell.trials.truncate(2);
        analysis::summarise(cell);
    }
    let html = report(&twins).html();
    assert!(
        headline_of(&html).contains(
            "2 trials per store are too few; <span class=\"option\">--repeats </span>3 or more can show one."
        ),
        "{}",
        headline_of(&html)
    );
}

fn headline_of(html: &str) -> &str {
    let (_, rest) = html.split_once("<p class=\"headline\">").unwrap();
    rest.split_once("</p>").unwrap().0
}

#[test]
fn a_sweep_of_one_store_names_the_value_at_which_it_is_best() {
    let batch = |batch: &str, time_s: f64| {
        let params = [("batch", batch.to_owned())];
        sample::Sample { store: "sqlite", class: study::Class::Embedded, params: &params, time_s, trials: 5, points: 6 }
            .cell(7)
    };
    let study = Study { cells: vec![batch("1000", 3.0), batch("2000", 1.0), batch("4000", 2.0)], ..sample::usual() };
    let html = report(&study).html();
    assert!(
        headline_of(&html).starts_with("sqlite is at its best at batch=2000: ")
            && headline_of(&html).ends_with("ahead of all 2 others."),
        "{}",
        headline_of(&html)
    );
    let study = Study { cells: vec![batch("1000", 1.0), batch("2000", 1.0), batch("4000", 1.0)], ..sample::usual() };
    let html = report(&study).html();
    assert!(
        headline_of(&html).starts_with("For sqlite no combination is shown to be the best"),
        "{}",
        headline_of(&html)
    );
}

#[test]
fn no_id_is_there_twice_and_every_link_within_the_page_has_its_place() {
    for study in [sample::usual(), sample::troubled(), sample::tuned(), sample::crashed()] {
        let html = report(&study).html();
        let body = &html[html.find("<body").unwrap()..];
        let of = |attribute: &str| -> Vec<&str> {
            body.split(attribute).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
        };
        let ids = of(" id=\"");
        let mut unique = ids.clone();
        unique.sort_unstable();
        unique.dedup();
        assert!(ids.len() >= 20 && unique.len() == ids.len(), "{} of {} are unique: {ids:?}", unique.len(), ids.len());
        let links = of(" href=\"#");
        assert!(links.len() >= 5 && links.iter().all(|link| ids.contains(link)), "{links:?}");
    }
}

#[test]
fn what_a_comparison_found_comes_first() {
    let study = sample::usual();
    let html = report(&study).with_comparison(vec!["after is 1.20x to 1.30x slower than before".into()]).html();
    assert!(html.contains("<p class=\"headline\">after is 1.20x to 1.30x slower than before</p>"));
}

#[test]
fn a_void_cell_is_shown_with_its_reason_and_has_no_bar() {
    let study = sample::troubled();
    let html = report(&study).html();
    assert!(html.contains("sqlite (void)") && html.contains("wrong value") && html.contains("53,882"));
}

#[test]
fn stores_that_disagree_are_named_before_every_other_notice_also_where_one_is_void_for_it() {
    let mut study = sample::troubled();
    let answered =
        study.cells.iter().position(|cell| !cell.baseline && cell.verdict.status == study::Status::Void).unwrap();
    for (at, cell) in study.cells.iter_mut().enumerate() {
        cell.answer.digest = if at == answered { "sha256:ff".into() } else { "sha256:00".into() };
    }
    let html = report(&study).html();
    let (_, notices) = html.split_once("What to know first").unwrap();
    let first = notices.find("The stores disagree: ").unwrap();
    assert!(first < notices.find(" void: ").unwrap(), "{}", &notices[..2000]);
}

#[test]
fn an_answer_of_what_took_effect_while_nodes_failed_is_held_against_no_other() {
    let mut study = sample::usual();
    for (at, cell) in study.cells.iter_mut().enumerate() {
        cell.answer.digest = format!("sha256:{at:02}");
    }
    assert!(report(&study).html().contains("The stores disagree: "));
    for trial in study.cells.iter_mut().flat_map(|cell| &mut cell.trials) {
        trial.faults = vec![study::FaultRecord::default()];
        trial.failed.unknown = 1;
    }
    assert!(!report(&study).html().contains("The stores disagree: "));
}

#[test]
fn what_failing_nodes_cost_is_the_headline_and_the_first_section_and_every_trial_is_drawn() {
    let study = sample::faulted();
    let html = report(&study).html();
    let (dark, bright) = (&study.cells[0].store, &study.cells[1].store);
    let said = format!(
        "<p class=\"headline\">After a node was killed, {bright} answered all along and {dark} again after 1.00 s; no acknowledged write was lost."
    );
    assert!(html.contains(&said), "{said}");
    let at = |id: &str| html.find(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("no section {id}"));
    assert!(at("faults") < at("ranking") && at("faults") < at("time"));
    let faults = &html[at("faults")..at("ranking")];
    assert!(faults.contains("node1 kill") && faults.contains("keys without answers") && faults.contains("each trial"));
    assert!(!report(&sample::usual()).html().contains("id=\"faults\""), "without faults there is no such section");
}

#[test]
fn a_broken_promise_is_the_headline_and_every_level_has_its_row() {
    let study = sample::crashed();
    let html = report(&study).html();
    assert!(
        headline_of(&html).starts_with(
            "forgetful broke its promise of durability commit: in 4 kills 164 of 20,000 acknowledged writes were lost, the oldest 2.40 s old; \
             3 values were torn; 1 time it did not start again."
        ),
        "{}",
        headline_of(&html)
    );
    let (_, section) = html.split_once("<section id=\"crashes\"").unwrap();
    let (section, rest) = section.split_once("</section>").unwrap();
    let (table, words) = section.split_once("</table>").unwrap();
    let rows: Vec<&str> = table.split("<tr>").skip(2).collect();
    assert_eq!(rows.len(), 5);
    for (row, said) in rows.iter().zip([
        ["sqlite", "os", ">kept<", "53 %"],
        ["sqlite", "commit", ">kept<", "53 %"],
        ["redis", "second", ">kept<", "1,003"],
        ["forgetful", "commit", ">broken<", "<strong class=\"bad\">164</strong>"],
        ["ram", "none", ">nothing to show<", "–"],
    ]) {
        assert!(said.iter().all(|word| row.contains(word)), "{said:?}: {row}");
    }
    for words_of in [
        "bad magic number in &lt;log&gt;",
        "which its level allows",
        "chart-lost-ages",
        "chart-survivors-by-client",
        "chart-recovery",
    ] {
        assert!(words.contains(words_of), "{words_of}");
    }
    // There are no cells, so nothing is said of them.
    assert!(!rest.contains("All cells") && !html.contains("valid: every answer") && !html.contains("cells.csv"));
    assert!(rest.contains("forgetful,durability=commit: FORGETFUL 7.0.15"));
}

#[test]
fn crashes_of_two_studies_stand_in_one_table_each_with_its_study() {
    let study = sample::crashed();
    let named = ["before", "after"].map(|label| Named { label: label.into(), study: &study });
    let html = Report::new(named.into()).html();
    assert!(html.contains("forgetful · before<br>"));
    assert!(html.contains("forgetful · after<br>"));
}

#[test]
fn a_budget_is_drawn_and_told_and_a_bar_of_two_layers_says_so() {
    let study = sample::usual();
    let html = report(&study).html();
    // No echo server was measured: wire and store are one bar.
    assert!(html.contains("wire + store"), "{html}");
    assert!(html.contains("On lmdb an operation takes 6.") && html.contains(" generator (null), "), "{html}");
}

#[test]
fn a_search_for_a_setting_tells_best_gain_front_and_what_did_not_matter_and_ranks_no_steps() {
    let study = sample::tuned();
    let html = report(&study).html();
    for words in [
        "The best setting found for sqlite, by makespan: clients=8",
        "It is 2.80x as good as the default (2.69x to 2.94x, 95 %; 9 pairs of trials after the search",
        "No measurable effect (95 % interval): sqlite.cache (0.96x to 1.05x).",
        "Settings no other beats",
        "The effect of each value by itself",
    ] {
        assert!(html.contains(words), "{words}");
    }
    assert!(!html.contains("id=\"ranking\"") && html.contains("id=\"cells\""));
}

#[test]
fn a_search_for_a_rate_shows_its_curve_and_ranks_only_the_closed_loop() {
    let study = sample::searched();
    let html = report(&study).html();
    assert!(
        html.contains(
            "redis-unix keeps p99&lt;2ms up to 21.0k operations per second (20.1k to 22.0k, 94 % of 5 rounds)"
        )
    );
    // The terminal says the same, to the letter.
    let sentence = findings::rate::sentence(&study.rate_search[0]);
    assert!(html.contains(&sentence.replace('<', "&lt;")), "{sentence}");
    assert_eq!(html.matches("<figure id=\"chart-ranking-").count(), 1);
}

#[cfg(feature = "plots")]
#[test]
fn every_plot_is_well_formed_svg_and_a_png_of_twice_its_size() {
    for (study, least) in [
        (sample::usual(), 8),
        (sample::few(), 8),
        (sample::troubled(), 8),
        (sample::sweep(3, 4, 3, 20), 8),
        (sample::crashed(), 3),
    ] {
        let plots = report(&study).plots().unwrap();
        assert!(plots.len() >= least, "{}", plots.len());
        for plot in plots {
            assert!(plot.svg.starts_with("<svg") && plot.svg.contains("</text>"), "{}", plot.name);
            assert!(plot.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{}", plot.name);
            let width = u32::from_be_bytes(plot.png[16..20].try_into().unwrap());
            assert_eq!((&plot.png[1..4], width), (b"PNG".as_slice(), 1840), "{}", plot.name);
        }
    }
}

#[cfg(feature = "plots")]
#[test]
fn a_large_study_has_plots_of_its_findings_and_all_charts_in_the_page() {
    let study = sample::sweep(26, 4, 2, 4);
    let report = report(&study);
    let names: Vec<String> = report.plots().unwrap().into_iter().map(|plot| plot.name).collect();
    assert!(names.iter().any(|name| name.ends_with("-against-clients")), "{names:?}");
    assert!(names.iter().all(|name| !name.contains("over-time")) && names.len() <= 8, "{names:?}");
    // Rate over time of each of the four numbers of clients.
    assert_eq!(report.html().matches("<figure id=\"chart-rate-over-time").count(), 4);
}
