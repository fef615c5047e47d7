//! Curves of no more points than a picture can show.

/// Returns at most this many points; of each run of points `worse` decides which is kept, so no stall is lost.
pub(crate) fn thinned(points: &[(f64, f64)], most: usize, worse: fn(f64, f64) -> f64) -> Vec<(f64, f64)> {
    let run = points.len().div_ceil(most.max(1)).max(1);
    let short = |x: f64| format!("{x:.4e}").parse::<f64>().unwrap_or(x);
    points
        .chunks(run)
        .filter_map(|chunk| {
            let (at_s, value) = chunk.iter().copied().reduce(|kept, next| (next.0, worse(kept.1, next.1)))?;
            Some((short(at_s), short(value)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::thinned;

    #[test]
    fn thinning_keeps_the_worst_of_every_run() {
        let points: Vec<(f64, f64)> =
            (0..1000).map(|at| (f64::from(at), if at == 503 { 1.0 } else { 100.0 })).collect();
        let thin = thinned(&points, 100, f64::min);
        assert_eq!(thin.len(), 100);
        assert_eq!(thin.iter().filter(|point| point.1 == 1.0).count(), 1);
        assert_eq!(thinned(&points[..3], 100, f64::min).len(), 3);
    }
}
