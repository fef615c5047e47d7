//! What clients of clusters saw of each other's writes around crashes.

use crate::block::Block;
use crate::chart::Chart;
use crate::history::{Origin, timeline, told};
use study::{Crash, CrashCase, CrashCut, CrashMeans, FaultRecord, History};
use words::{cuts, units};

/// What is said of each level whose clients were watched.
pub(super) fn blocks(crash: &Crash) -> Vec<Block> {
    let of_case = |case: &CrashCase| {
        let Some((cut, history)) = shown(case) else { return Vec::new() };
        let mut blocks = vec![Block::plain(overall(case, crash.means))];
        if history.contradicted_keys > 0 {
            blocks.extend(told(&name(case, cut), &faults(crash, cut), history, origin(crash)));
        }
        blocks
    };
    crash.cases.iter().flat_map(of_case).collect()
}

/// The timelines of contradictions.
pub(super) fn charts(crash: &Crash) -> Vec<Chart> {
    let of_case = |case: &CrashCase| {
        let (cut, history) = shown(case).filter(|(_, history)| !history.smallest.is_empty())?;
        let name = name(case, cut);
        Some(timeline(&format!("crash {name}"), &name, history, &faults(crash, cut), origin(crash)))
    };
    crash.cases.iter().filter_map(of_case).collect()
}

fn origin(crash: &Crash) -> Origin {
    Origin::Crash { reader: crash.clients }
}

fn name(case: &CrashCase, cut: &CrashCut) -> String {
    format!("{}, cut {}", case.name(), cut.cut)
}

/// The cut that says most: one whose history contradicts itself with the fewest operations, else the first.
fn shown(case: &CrashCase) -> Option<(&CrashCut, &History)> {
    let seen = case.cuts.iter().filter_map(|cut| Some((cut, cut.history.as_ref()?)));
    seen.min_by_key(|(_, it)| match it.contradicted_keys {
        0 => usize::MAX,
        _ => it.smallest.len(),
    })
}

/// `redis-cluster (none): in 18 of 20 kills one copy of the data could have answered what clients saw (linearizable); …`
fn overall(case: &CrashCase, means: CrashMeans) -> String {
    let all: Vec<&History> = case.cuts.iter().filter_map(|cut| cut.history.as_ref()).collect();
    let checked: Vec<&&History> = all.iter().filter(|it| it.problem.is_empty()).collect();
    let right = checked.iter().filter(|it| it.contradicted_keys == 0).count();
    let sum = |of: fn(&History) -> u64| units::whole(checked.iter().map(|it| of(it)).sum());
    let stale = match checked.iter().map(|it| it.stale_reads).sum::<u64>() {
        0 => String::new(),
        stale => {
            let oldest_s = checked.iter().filter_map(|it| it.oldest_stale_s).fold(0.0, f64::max);
            format!("; {} reads were stale, at most {} old", units::whole(stale), units::duration(oldest_s))
        }
    };
    format!(
        "{}: in {right} of {} one copy of the data could have answered what clients saw (linearizable), of {} operations on {} keys{stale}.",
        case.name(),
        cuts(means, checked.len()),
        sum(|it| it.operations),
        sum(|it| it.keys)
    )
}

/// What was done to the nodes of a cut, on the clock of its history.
fn faults(crash: &Crash, cut: &CrashCut) -> Vec<FaultRecord> {
    let act = if crash.means == CrashMeans::Freeze { "freeze" } else { "kill" };
    let fault = |node: &String| FaultRecord {
        planned: format!("at crash {act}"),
        node: node.clone(),
        at_s: Some(0.0),
        until_s: cut.outage_s,
        ..FaultRecord::default()
    };
    cut.nodes.iter().map(fault).collect()
}

#[cfg(test)]
mod tests {
    use super::{blocks, charts};
    use study::{Crash, CrashCase, CrashCut, CrashMeans, History, HistoryAct, HistoryFlaw, HistoryOperation};

    fn crash() -> Crash {
        let operation = |client, act, version, sent_s: f64| HistoryOperation {
            client,
            key: 1 << 32 | 7,
            act,
            version,
            sent_s,
            answered_s: Some(sent_s + 0.001),
        };
        let lost = History {
            operations: 400,
            keys: 90,
            contradicted_keys: 2,
            stale_reads: 3,
            oldest_stale_s: Some(2.5),
            flaw: Some(HistoryFlaw::OutOfOrder),
            smallest: vec![operation(1, HistoryAct::Write, 9, -0.01), operation(8, HistoryAct::Miss, 0, 2.491)],
            ..History::default()
        };
        let right = History { operations: 300, keys: 80, ..History::default() };
        let cut = |cut, history| CrashCut {
            cut,
            history: Some(history),
            nodes: vec!["node2".into()],
            outage_s: Some(2.0),
            ..CrashCut::default()
        };
        let case = CrashCase {
            store: "redis-cluster".into(),
            cuts: vec![cut(1, right), cut(2, lost)],
            ..CrashCase::default()
        };
        Crash { means: CrashMeans::Kill, clients: 8, cases: vec![case], ..Crash::default() }
    }

    #[test]
    fn what_clients_of_a_cluster_saw_is_told_as_that_of_a_run_is_with_the_cut_and_its_nodes() {
        let crash = crash();
        let said: Vec<String> = blocks(&crash).iter().map(|block| format!("{block:?}")).collect();
        assert!(said[0].contains("in 1 of 2 kills one copy of the data could have answered"), "{said:?}");
        assert!(said[0].contains("3 reads were stale, at most 2.50 s old"), "{said:?}");
        assert!(said[1].contains("cut 2: 3 stale reads") && said[1].contains("'at crash kill (node2)'"), "{said:?}");
        assert!(said.iter().any(|it| it.contains("begins 10.0 ms before the crash")), "{said:?}");
        assert!(said.iter().any(|it| it.contains("reader found nothing: sent at +2.50 s")), "{said:?}");
        let chart = charts(&crash).remove(0);
        assert_eq!(chart.option["xAxis"]["name"], "seconds since the crash");
        assert_eq!(chart.option["series"][0]["markArea"]["data"][0][0]["name"], "node2 was down (killed)");
        assert!(chart.title.ends_with("a stale read, key 7 of client 1"), "{}", chart.title);
    }

    #[test]
    fn nothing_is_said_where_nobody_was_watched() {
        let case = CrashCase { cuts: vec![CrashCut::default()], ..CrashCase::default() };
        let crash = Crash { cases: vec![case], ..Crash::default() };
        assert!(blocks(&crash).is_empty() && charts(&crash).is_empty());
    }
}
