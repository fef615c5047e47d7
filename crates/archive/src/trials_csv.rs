//! One row per trial and figure, for statistics programs.

use crate::cells_csv::field;
use analysis::Metric;
use std::io::{self, Write};
use study::{Cell, DurabilitySource, Study, TrialRecord};

/// Writes `trials.csv`, the long form: a header, then one row for every trial and figure in the study's order, warm-ups included, as RFC
/// 4180 has it (CRLF, quoted where needed). Columns: `job`, `store`, `params`, `class`, `durability`, `order`, `warmup`, `started_at`,
/// `verdict`, `metric`, `value`, `durability_source` (whose claim the level is). The unit is in the name of the metric. Unknown figures
/// have no row. Rows are written one by one, so memory does not grow with the study.
///
/// # Errors
/// What the writer says.
pub fn write_trials_csv(study: &Study, out: &mut impl Write) -> io::Result<()> {
    out.write_all(
        b"job,store,params,class,durability,order,warmup,started_at,verdict,metric,value,durability_source\r\n",
    )?;
    for cell in &study.cells {
        let of_cell = of_cell(cell);
        let source = cell.durability_source().map_or("", DurabilitySource::name);
        for trial in &cell.trials {
            let TrialRecord { order, warmup, started_at, verdict, .. } = trial;
            let of_trial = format!("{of_cell},{order},{warmup},{},{}", field(started_at), verdict.status.name());
            for metric in Metric::ALL {
                if let Some(value) = metric.of_trial(trial) {
                    write!(out, "{of_trial},{},{value},{source}\r\n", metric.field())?;
                }
            }
            for (name, value) in counts(trial) {
                write!(out, "{of_trial},{name},{value},{source}\r\n")?;
            }
            for (name, value) in [("steal", trial.noise.steal), ("other_load", trial.noise.other_load)] {
                write!(out, "{of_trial},{name},{value},{source}\r\n")?;
            }
            if let Some(back) = trial.read_back {
                write!(out, "{of_trial},read_back_per_s,{},{source}\r\n", back.records_per_s)?;
            }
        }
    }
    Ok(())
}

fn of_cell(cell: &Cell) -> String {
    let params: Vec<String> = cell.params.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let durability = cell.durability.map(|level| level.to_string()).unwrap_or_default();
    [&cell.job, &cell.store, &params.join(" "), cell.class.name(), &durability].map(field).join(",")
}

fn counts(trial: &TrialRecord) -> [(&'static str, u64); 9] {
    [
        ("operations", trial.operations),
        ("hits", trial.hits),
        ("misses", trial.misses),
        ("errors", trial.errors),
        ("retries", trial.retries),
        ("not_sent", trial.not_sent),
        ("bytes_read", trial.bytes_read),
        ("bytes_written", trial.bytes_written),
        ("client_rss_bytes", trial.client_rss_bytes),
    ]
}
