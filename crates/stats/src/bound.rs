//! Whether a group lies on one side of a bound.

use crate::separation::{Centre, FEWEST_TRIALS};
use crate::student;

/// The side of a bound that the trials of one group lie on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundSide {
    /// The logarithm of the group's typical figure over the bound: below 0 where it is smaller.
    pub log_ratio: f64,
    /// The p-value, one-sided: how often chance would show a group whose typical figure is the bound so far on that side of it.
    pub p: f64,
}

/// Holds a group of trials against a bound.
///
/// Method: Student's t of one sample (*The probable error of a mean*, Biometrika 6, 1908) of logarithms, from 7 trials on with a fifth at
/// either end trimmed (Tukey and McLaughlin, Sankhya 25, 1963), as [`separations`](crate::separations) compares groups. Figures that are
/// counted in steps are taken as a step nearer to the bound.
///
/// `figures` are those of the trials, all above 0, as is the bound; `step` is the step they are counted in, as a share. `None` of fewer than
/// [`FEWEST_TRIALS`], or of figures that are not above 0. Cost: 1 µs.
///
/// ```
/// let side = stats::side(&[4.8, 5.1, 4.9], 10.0, 0.0).unwrap();
/// assert!(side.log_ratio < 0.0 && side.p < 0.01);
/// assert!(stats::side(&[9.0, 11.5, 9.4], 10.0, 0.0).unwrap().p > 0.2);
/// ```
pub fn side(figures: &[f64], bound: f64, step: f64) -> Option<BoundSide> {
    if figures.len() < FEWEST_TRIALS || bound <= 0.0 {
        return None;
    }
    let centre = Centre::of(figures)?;
    let log_ratio = centre.log - bound.ln();
    let beyond = log_ratio.abs() - step.max(0.0).ln_1p();
    // Equal but for rounding is equal: the error may be 0.
    let t = if beyond > 1e-12 { beyond / centre.error2.sqrt() } else { 0.0 };
    Some(BoundSide { log_ratio, p: student::two_sided(t, centre.freedom) / 2.0 })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::side;

    #[test]
    fn a_group_is_on_the_side_of_the_bound_its_trials_are_on_as_a_table_of_t_says() {
        // Logarithms 0.1, 0.2, 0.3 against 0: mean 0.2, standard error 0.1 / sqrt(3), t = 3.4641 with 2 degrees of freedom.
        let figures = [0.1f64, 0.2, 0.3].map(f64::exp);
        let seen = side(&figures, 1.0, 0.0).unwrap();
        assert!((seen.log_ratio - 0.2).abs() < 1e-12);
        assert!((seen.p - 0.037_090).abs() < 1e-5, "{}", seen.p);
        let below = side(&figures.map(|figure| 1.0 / figure), 1.0, 0.0).unwrap();
        assert!((below.log_ratio + 0.2).abs() < 1e-12 && (below.p - seen.p).abs() < 1e-12);
    }

    #[test]
    fn equal_trials_are_beyond_a_bound_or_at_it() {
        assert_eq!(side(&[4096.0; 3], 8192.0, 0.0).unwrap().p, 0.0);
        assert_eq!(side(&[8192.0; 3], 8192.0, 0.0).unwrap().p, 0.5);
        assert_eq!(side(&[8100.0; 3], 8192.0, 0.02).unwrap().p, 0.5, "within a step");
        assert_eq!(side(&[1.0, 2.0], 8.0, 0.0), None);
        assert_eq!(side(&[0.0, 2.0, 1.0], 8.0, 0.0), None);
    }
}
