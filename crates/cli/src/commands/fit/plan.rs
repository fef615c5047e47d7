//! A plan of ycsb that makes the like of a trace.

use findings::fit::TraceFit;
use trace::fit;

/// The smallest value of ycsb.
const LEAST_VALUE_BYTES: u32 = 16;

/// Returns the plan, as a property file of YCSB.
pub(super) fn text(it: &TraceFit<'_>, name: &str) -> String {
    let mix = fit::mix(it.trace);
    let (exponent, bytes) = (it.exponent(), it.value_bytes().max(LEAST_VALUE_BYTES));
    format!(
        "# Like {name}, by kvtrial fit; with --set theta={exponent:.3}. Deletes are updates here, touches reads.\n\
         workload=site.ycsb.workloads.CoreWorkload\nrecordcount={}\noperationcount={}\nrequestdistribution=zipfian\n\
         readproportion={:.4}\nupdateproportion={:.4}\ninsertproportion=0\nscanproportion=0\nfieldcount=1\nfieldlength={bytes}\n",
        it.trace.keys().len(),
        it.trace.ids().len(),
        mix.gets + mix.touches,
        mix.sets + mix.deletes
    )
}
