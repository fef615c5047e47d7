//! What each of several servers that together are one store used, in sentences.

use study::{Cell, NodeUse};
use words::units;

/// Returns a sentence for each cell whose store has several nodes: what each used, medians over the trials that count.
pub fn sentences<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = String> + 'a {
    cells.iter().filter_map(|cell| {
        let names: Vec<&NodeUse> = cell.counted().next()?.nodes.iter().collect();
        let each: Vec<String> = names.into_iter().map(|node| of_node(cell, node)).collect();
        let medians = if cell.counted().count() > 1 { " (medians)" } else { "" };
        (each.len() > 1).then(|| format!("Nodes of {}{medians}: {}.", cell.store, each.join("; ")))
    })
}

fn of_node(cell: &Cell, node: &NodeUse) -> String {
    let median = |figure: fn(&NodeUse) -> f64| {
        let of_node = |used: &&NodeUse| used.name == node.name;
        let figures = cell.counted().flat_map(|trial| &trial.nodes).filter(of_node).map(figure);
        stats::median(&figures.collect::<Vec<_>>()).unwrap_or_default()
    };
    let bytes = |figure| units::bytes(median(figure).round() as u64);
    format!(
        "{} {} CPU, {} memory, {} disk",
        node.name,
        units::duration(median(|used| used.cpu_s)),
        bytes(|used| used.peak_rss_bytes as f64),
        bytes(|used| used.disk_bytes as f64)
    )
}

#[cfg(test)]
mod tests {
    use super::sentences;
    use study::{Cell, NodeUse, Role, TrialRecord};

    #[test]
    fn each_node_has_the_medians_of_its_trials_and_one_server_has_no_sentence() {
        let node = |name: &str, cpu_s: f64| NodeUse {
            name: name.into(),
            role: Role::Clients,
            cpu_s,
            peak_rss_bytes: 12 << 20,
            disk_bytes: 1 << 20,
        };
        let trial = |cpu_s: f64| TrialRecord {
            nodes: vec![node("node1", cpu_s), node("node2", 0.1)],
            ..TrialRecord::default()
        };
        let several = Cell { store: "three".into(), trials: [0.5, 0.7, 0.6].map(trial).into(), ..Cell::default() };
        let one = Cell { store: "redis".into(), trials: vec![TrialRecord::default()], ..Cell::default() };
        let said: Vec<String> = sentences(&[&several, &one]).collect();
        let expected = "Nodes of three (medians): node1 600 ms CPU, 12 MiB memory, 1 MiB disk; \
                        node2 100 ms CPU, 12 MiB memory, 1 MiB disk.";
        assert_eq!(said, [expected]);
    }
}
