//! What failed, and how long what was answered took, in sentences.

use study::Cell;
use words::units;

/// Returns whether operations of any of these cells failed: then their share is a column.
pub fn any<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> bool {
    cells.into_iter().any(|cell| share(cell).is_some())
}

/// Returns the share of a cell's operations that failed, where any did.
pub fn share(cell: &Cell) -> Option<f64> {
    cell.failed_share.map(|share| share.value).filter(|share| *share > 0.0)
}

/// Returns a sentence for each cell of which operations failed: how many, and the time of those that were answered, which is in no
/// ranking.
pub fn sentences<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = String> + 'a {
    cells.iter().filter_map(|cell| {
        let response = &cell.latency_ns.response;
        let failed = units::share(share(cell)?);
        let p99 = match cell.p99_ns {
            Some(p99) if p99.is_not_reached() => "so P99 is not reached",
            _ => "and count as slower than all others in P99",
        };
        let answered = match response.n {
            0 => "none was answered".to_owned(),
            _ => format!(
                "of those answered alone 99 of 100 took at most {}, the longest {}",
                units::duration(response.p99 as f64 * 1e-9),
                units::duration(response.max as f64 * 1e-9)
            ),
        };
        Some(format!("{}: {failed} of the operations failed, {p99}; {answered}.", cell.store))
    })
}

#[cfg(test)]
mod tests {
    use super::{any, sentences};
    use study::{Cell, Latencies, LatencySummary, Quantity};

    fn cell(store: &str, failed_share: f64, p99_ns: f64) -> Cell {
        let response = LatencySummary { n: 4_406, p99: 5_520_000, max: 30_900_000, ..LatencySummary::default() };
        Cell {
            store: store.into(),
            failed_share: Some(Quantity::single(failed_share)),
            p99_ns: Some(Quantity::single(p99_ns)),
            latency_ns: Latencies { response, ..Latencies::default() },
            ..Cell::default()
        }
    }

    #[test]
    fn what_failed_is_said_beside_the_time_of_what_was_answered() {
        let (well, some, many) =
            (cell("redis", 0.0, 1e6), cell("nats", 0.004, 6e6), cell("etcd", 94.0 / 4_500.0, f64::INFINITY));
        assert!(!any([&well]) && any([&well, &some]));
        let said: Vec<String> = sentences(&[&well, &some, &many]).collect();
        assert_eq!(
            said,
            [
                "nats: 0.4 % of the operations failed, and count as slower than all others in P99; of those answered alone 99 of 100 took at \
                 most 5.52 ms, the longest 30.9 ms.",
                "etcd: 2.1 % of the operations failed, so P99 is not reached; of those answered alone 99 of 100 took at most 5.52 ms, the \
                 longest 30.9 ms."
            ]
        );
    }
}
