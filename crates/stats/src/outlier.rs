//! Trials unlike the others.

use crate::median;

/// Scores beyond this, either way, are called outliers (Iglewicz & Hoaglin).
pub const OUTLIER_SCORE: f64 = 3.5;

/// Returns how far each sample lies from the median, in robust standard deviations, signed: Iglewicz & Hoaglin, *How to Detect and Handle
/// Outliers* (ASQC 1993): 0.6745 (x − median) / MAD; when more than half of the samples are equal and so the MAD is 0, the mean absolute
/// deviation takes its place with its own factor, 1.253314.
///
/// An outlier is named, never dropped: it happened. All scores are 0 when all samples are equal. Empty when there are no samples
/// or one is not finite. Invariant: does not change when all samples are shifted or scaled by a positive factor. Cost: two sorts.
///
/// ```
/// let scores = stats::modified_z_scores(&[10.0, 11.0, 9.0, 10.0, 30.0]);
/// assert!(scores[4] > stats::OUTLIER_SCORE && scores[0] == 0.0);
/// ```
pub fn modified_z_scores(samples: &[f64]) -> Vec<f64> {
    let Some(centre) = median(samples) else { return Vec::new() };
    let distances: Vec<f64> = samples.iter().map(|sample| (sample - centre).abs()).collect();
    let deviation = match median(&distances) {
        Some(mad) if mad > 0.0 => mad / 0.6745,
        _ => 1.253_314 * distances.iter().sum::<f64>() / distances.len() as f64,
    };
    samples.iter().map(|sample| if deviation > 0.0 { (sample - centre) / deviation } else { 0.0 }).collect()
}
