//! What a search may turn in a job: parameters that change how the work is done, not what its answer is.

/// A parameter with the values worth trying.
#[derive(Clone, Copy, Debug)]
pub struct Tunable {
    /// Name of the job.
    pub job: &'static str,
    /// The parameter.
    pub param: &'static str,
    /// Values to try besides the one that is set.
    pub values: &'static [&'static str],
}

/// Every tunable parameter.
pub static TUNABLES: &[Tunable] = &[
    Tunable { job: "fans", param: "policy", values: &["partition", "cas", "lock"] },
    Tunable { job: "bulk", param: "batch", values: &["1", "100", "1000", "5000", "20000"] },
];

/// The parameters of a job that a search may turn.
pub fn tunables(job: &str) -> impl Iterator<Item = &'static Tunable> {
    TUNABLES.iter().filter(move |tunable| tunable.job == job)
}

#[cfg(test)]
mod tests {
    use super::TUNABLES;

    #[test]
    fn every_tunable_is_a_parameter_of_its_job() {
        for tunable in TUNABLES {
            // A job that is not there yet has nothing to turn.
            let Some(job) = crate::find(tunable.job) else { continue };
            assert!(job.params.iter().any(|param| param.name == tunable.param), "{} {}", tunable.job, tunable.param);
        }
    }
}
