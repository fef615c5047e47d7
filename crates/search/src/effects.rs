//! The effect of each value by itself: main effects by least squares on logarithms, with intervals from resampled residuals.
//!
//! Model: the logarithm of a setting's score is a sum of one term for each key, 0 for the key's default. So effects multiply, and
//! what one value does is separated from what the others of its setting did. Interactions stay in the residuals and widen the
//! intervals (Efron and Tibshirani 1993, chapter 9: bootstrapping residuals).

use data::splitmix::Rng;

const RESAMPLES: usize = 2_000;
/// Settings there must be beyond the number of terms.
const SPARE: usize = 4;

/// A factor with its interval of 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factor {
    /// How many times better the value is than the default; above 1 is better.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Factors by key and value (the default, value 0, has none), from settings (value of each key) and their scores. `None` for
/// all when there are too few settings, or they cannot tell the keys apart.
pub fn effects(values: &[usize], tried: &[(Vec<usize>, f64)], seed: u64) -> Option<Vec<Vec<Factor>>> {
    let terms: usize = 1 + values.iter().map(|count| count - 1).sum::<usize>();
    if tried.len() < terms + SPARE {
        return None;
    }
    let rows: Vec<Vec<f64>> = tried.iter().map(|(setting, _)| indicators(values, setting, terms)).collect();
    let scores: Vec<f64> = tried.iter().map(|(_, score)| score.ln()).collect();
    let solver = solver(&rows, terms)?;
    let solve = |scores: &[f64]| -> Vec<f64> {
        solver.iter().map(|row| row.iter().zip(scores).map(|(a, b)| a * b).sum()).collect()
    };
    let fitted = solve(&scores);
    let predicted: Vec<f64> = rows.iter().map(|row| row.iter().zip(&fitted).map(|(a, b)| a * b).sum()).collect();
    // Residuals of a fit are smaller than the errors were.
    let swell = (tried.len() as f64 / (tried.len() - terms) as f64).sqrt();
    let residuals: Vec<f64> = scores.iter().zip(&predicted).map(|(a, b)| (a - b) * swell).collect();
    let mut random = Rng::new(seed);
    let resampled: Vec<Vec<f64>> = (0..RESAMPLES)
        .map(|_| {
            let noisy: Vec<f64> =
                predicted.iter().map(|at| at + residuals[random.below(residuals.len() as u64) as usize]).collect();
            solve(&noisy)
        })
        .collect();
    let factor = |term: usize| {
        let drawn: Vec<f64> = resampled.iter().map(|one| one[term]).collect();
        let end = |share| stats::quantile(&drawn, share).unwrap_or(fitted[term]).exp();
        Factor { value: fitted[term].exp(), low: end(0.025), high: end(0.975) }
    };
    let mut term = 0;
    let of_key = |count: &usize| {
        let factors = (1..*count).map(|_| {
            term += 1;
            factor(term)
        });
        factors.collect()
    };
    Some(values.iter().map(of_key).collect())
}

/// 1, then for each key and each value but its default whether the setting has it.
fn indicators(values: &[usize], setting: &[usize], terms: usize) -> Vec<f64> {
    let mut row = Vec::with_capacity(terms);
    row.push(1.0);
    for (count, at) in values.iter().zip(setting) {
        row.extend((1..*count).map(|value| f64::from(u8::from(value == *at))));
    }
    row
}

/// (XᵀX)⁻¹Xᵀ by Gauss and Jordan; `None` when some term cannot be told from others.
fn solver(rows: &[Vec<f64>], terms: usize) -> Option<Vec<Vec<f64>>> {
    let mut left: Vec<Vec<f64>> =
        (0..terms).map(|a| (0..terms).map(|b| rows.iter().map(|row| row[a] * row[b]).sum()).collect()).collect();
    let mut right: Vec<Vec<f64>> = (0..terms).map(|a| rows.iter().map(|row| row[a]).collect()).collect();
    for pivot in 0..terms {
        let best = (pivot..terms).max_by(|a, b| left[*a][pivot].abs().total_cmp(&left[*b][pivot].abs()))?;
        if left[best][pivot].abs() < 1e-9 {
            return None;
        }
        left.swap(pivot, best);
        right.swap(pivot, best);
        let scale = left[pivot][pivot];
        left[pivot].iter_mut().chain(&mut right[pivot]).for_each(|x| *x /= scale);
        let (pivot_left, pivot_right) = (left[pivot].clone(), right[pivot].clone());
        for other in (0..terms).filter(|other| *other != pivot) {
            let by = left[other][pivot];
            left[other].iter_mut().zip(&pivot_left).for_each(|(x, p)| *x -= by * p);
            right[other].iter_mut().zip(&pivot_right).for_each(|(x, p)| *x -= by * p);
        }
    }
    Some(right)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::effects;
    use data::splitmix::Rng;

    /// Key 0 has three values worth 1, 2 and 0.5; key 1 does nothing; key 2 has two values worth 1 and 1.1.
    fn tried(settings: usize, noise: f64, seed: u64) -> Vec<(Vec<usize>, f64)> {
        let mut random = Rng::new(seed);
        (0..settings)
            .map(|_| {
                let setting: Vec<usize> = [3, 4, 2].iter().map(|n| random.below(*n) as usize).collect();
                let normal: f64 = (0..12).map(|_| (random.u64() >> 11) as f64 / (1u64 << 53) as f64).sum::<f64>() - 6.0;
                let worth = [1.0, 2.0, 0.5][setting[0]] * [1.0, 1.1][setting[2]];
                (setting, 1000.0 * worth * (normal * noise).exp())
            })
            .collect()
    }

    #[test]
    fn effects_are_those_that_were_put_in() {
        let found = effects(&[3, 4, 2], &tried(60, 1e-9, 1), 1).unwrap();
        for (factor, truth) in found.iter().flatten().zip([2.0, 0.5, 1.0, 1.0, 1.0, 1.1]) {
            assert!((factor.value / truth - 1.0).abs() < 1e-6, "{factor:?} {truth}");
        }
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_they_claim() {
        let (mut held, mut all) = (0, 0);
        for seed in 0..200 {
            // Now and then 24 random settings lack a value, and nothing can be told.
            let Some(found) = effects(&[3, 4, 2], &tried(24, 0.1, seed), seed) else { continue };
            for (factor, truth) in found.iter().flatten().zip([2.0, 0.5, 1.0, 1.0, 1.0, 1.1]) {
                held += i32::from(factor.low <= truth && truth <= factor.high);
                all += 1;
            }
        }
        assert!(all > 1_000, "{all}");
        let share = f64::from(held) / f64::from(all);
        assert!((0.92..0.98).contains(&share), "{share}");
    }

    #[test]
    fn too_few_settings_tell_nothing() {
        assert_eq!(effects(&[3, 4, 2], &tried(8, 0.1, 1), 1), None);
        let same: Vec<(Vec<usize>, f64)> = (0..30).map(|_| (vec![0, 0, 0], 1.0)).collect();
        assert_eq!(effects(&[3, 4, 2], &same, 1), None);
    }
}
