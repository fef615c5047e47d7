//! One proof to be made.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use study::{Proof, Tolerance};

/// The number of proofs to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// What takes about a second in all.
    Quick,
    /// Everything.
    Full,
}

impl Scope {
    /// Returns the word in results.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Quick => "quick",
            Scope::Full => "full",
        }
    }
}

/// Measures; the error says why it could not.
pub(crate) type Measurement = Box<dyn Fn(Scope, &AtomicBool) -> Result<f64, String>>;

/// One proof: its claim, and how to measure what is claimed.
pub(crate) struct Test {
    pub(crate) name: &'static str,
    pub(crate) claim: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) bound: Tolerance,
    /// `Quick`: also part of the quick proofs.
    pub(crate) scope: Scope,
    /// Measurements of time are tried this often, as anything else on the machine can only spoil them; the first that holds counts.
    pub(crate) attempts: u32,
    pub(crate) measure: Measurement,
}

impl Test {
    pub(crate) fn prove(&self, scope: Scope, stop: &AtomicBool) -> Proof {
        let begun = Instant::now();
        let mut measured = Err("not tried".to_owned());
        for _ in 0..self.attempts {
            measured = (self.measure)(scope, stop);
            let holds = measured.as_ref().is_ok_and(|value| self.bound.holds(*value));
            if holds || stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Proof {
            name: self.name.into(),
            passed: measured.as_ref().is_ok_and(|value| self.bound.holds(*value)),
            claim: self.claim.into(),
            bound: self.bound,
            unit: self.unit.into(),
            interval: None,
            measured: measured.as_ref().ok().copied().filter(|value| value.is_finite()),
            problem: measured.err().unwrap_or_default(),
            elapsed_s: begun.elapsed().as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Scope, Test};
    use std::cell::Cell;
    use std::rc::Rc;
    use std::sync::atomic::AtomicBool;
    use study::Tolerance;

    fn proof_of(values: &'static [f64], attempts: u32) -> study::Proof {
        let next = Rc::new(Cell::new(0));
        let measure = move |_: Scope, _: &AtomicBool| {
            let at = next.replace(next.get() + 1);
            values.get(at).copied().ok_or_else(|| "no more values".to_owned())
        };
        let bound = Tolerance::between(1.0, 2.0);
        let (name, claim, unit, scope) = ("x", "x is between 1 and 2", "", Scope::Quick);
        Test { name, claim, unit, bound, scope, attempts, measure: Box::new(measure) }
            .prove(Scope::Full, &AtomicBool::new(false))
    }

    #[test]
    fn a_measurement_out_of_bounds_fails_and_the_first_within_counts() {
        assert!(!proof_of(&[3.0], 1).passed);
        let proof = proof_of(&[3.0, 1.5, 9.0], 3);
        assert!(proof.passed && proof.measured == Some(1.5), "{proof:?}");
        let proof = proof_of(&[f64::NAN], 1);
        assert!(!proof.passed && proof.measured.is_none(), "{proof:?}");
        let proof = proof_of(&[], 2);
        assert!(!proof.passed && proof.problem == "no more values", "{proof:?}");
    }
}
