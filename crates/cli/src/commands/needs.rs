//! What `--need` makes of a run: the rate that is offered, and the level of durability that is set.

use crate::args::RunArguments;
use crate::failure::CommandFailure;
use analysis::{Need, NeedKind};
use host::MemoryGroup;
use jobkit::JobInfo;
use store::StoreInfo;
use study::{Durability, Spec, Target};

/// What needs ask of a run beforehand; the others are held against what it shows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Needed {
    /// Operations per second that are offered, at random moments.
    pub ops_per_s: Option<f64>,
    /// The least level of durability of stores that kvtrial starts.
    durability: Option<Durability>,
    /// The memory a store may take, bytes.
    memory_bytes: Option<f64>,
}

impl Needed {
    /// Returns what these needs ask for.
    ///
    /// # Errors
    /// Two of them are about the same.
    pub fn of(needs: &[Need]) -> Result<Needed, CommandFailure> {
        Need::distinct(needs)?;
        let mut needed = Needed::default();
        for need in needs {
            match need.kind {
                NeedKind::Rate(ops_per_s) => needed.ops_per_s = Some(ops_per_s),
                NeedKind::Durability(level) => needed.durability = Some(level),
                NeedKind::Memory(bytes) => needed.memory_bytes = Some(bytes),
                _ => {}
            }
        }
        Ok(needed)
    }

    /// Checks that the job can show the needs, and that no other option contradicts them.
    ///
    /// # Errors
    /// It cannot, or one does.
    pub fn check(&self, job: &JobInfo, arguments: &RunArguments) -> Result<(), CommandFailure> {
        can_show(job, &arguments.set, &arguments.needs)?;
        for need in &arguments.needs {
            let refused = |problem: String| CommandFailure::usage(format!("--need '{need}': {problem}"));
            match need.kind {
                NeedKind::Rate(needed) => {
                    if arguments.vary.iter().any(|(key, _)| key == "rate") {
                        return Err(refused("--vary rate= sets the rate as well; leave one of them out".into()));
                    }
                    if let Some(rate) = arguments.rate.filter(|rate| *rate < needed) {
                        return Err(refused(format!(
                            "--rate {rate} offers less than that; leave it out, and the rate needed is offered"
                        )));
                    }
                }
                NeedKind::NoLoss if arguments.faults.is_empty() => {
                    return Err(refused(
                        "nothing is lost where no node fails; add --fault, such as --fault kill".into(),
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the bound of the memory of servers that `--limit-memory` asks for.
    ///
    /// # Errors
    /// There is no need for memory, or no control group can be made here.
    pub fn server_memory_bytes(&self) -> Result<u64, CommandFailure> {
        let refused = |problem: String| CommandFailure::usage(format!("--limit-memory: {problem}"));
        let bytes =
            self.memory_bytes.ok_or_else(|| refused("add the need it is for, such as --need 'memory<1GiB'".into()))?;
        MemoryGroup::new(bytes as u64).map_err(refused)?;
        Ok(bytes as u64)
    }

    /// Gives a store that kvtrial starts, and whose level the user did not choose, the weakest of its levels that is enough. A store without
    /// such a level keeps its own, and misses the need.
    pub fn make_durable(&self, info: &StoreInfo, spec: &mut Spec) {
        let Some(level) = self.durability.filter(|_| spec.durability.is_none()) else { return };
        let enough = info.durabilities.iter().copied().filter(|own| *own >= level).min();
        if enough != info.durabilities.first().copied() && !matches!(spec.target, Target::Server(_)) {
            spec.durability = enough;
        }
    }
}

/// Checks that a job can show these needs.
///
/// # Errors
/// It cannot show one of them.
pub fn can_show(job: &JobInfo, set: &[(String, String)], needs: &[Need]) -> Result<(), CommandFailure> {
    let is_one = set.iter().any(|(key, value)| key == "batch" && value == "1");
    let carries_many = job.params.iter().any(|param| param.name == "batch") && !is_one;
    match needs.iter().find(|need| matches!(need.kind, NeedKind::Rate(_))) {
        Some(need) if carries_many => Err(CommandFailure::usage(format!(
            "--need '{need}': a request of {} carries many records, so a rate of requests says little; need a makespan instead, such as \
             'makespan<10s', or --set batch=1",
            job.name
        ))),
        _ => Ok(()),
    }
}
