//! Many comparisons at once.

/// Returns p-values adjusted for having made all these comparisons, in the order given: Holm, *A Simple Sequentially Rejective Multiple
/// Test Procedure*, Scand. J. Statist. 6 (1979). Calling a difference real where the adjusted value is below 0.05 makes the chance of even
/// one false claim among them less than 5 %, however they depend on each other.
///
/// Invariant: each result is at least its input, at most 1, and in the same order of size. NaN counts as 1. Cost: one sort.
///
/// ```
/// assert_eq!(stats::holm(&[0.01, 0.04, 0.02]), [0.03, 0.04, 0.04]);
/// ```
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    let p = |index: usize| if p_values[index].is_nan() { 1.0 } else { p_values[index] };
    order.sort_by(|&a, &b| p(a).total_cmp(&p(b)));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least = 0.0f64;
    for (place, &index) in order.iter().enumerate() {
        least = least.max((p(index) * (p_values.len() - place) as f64).min(1.0));
        adjusted[index] = least;
    }
    adjusted
}
