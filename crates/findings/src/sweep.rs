//! What changes with the parameters a study varied.

mod chart;
mod sentences;

use crate::finding::{Arrangement, Finding, FindingPart};
use crate::view::View;
pub use sentences::sentences;

pub(crate) fn find(view: &View<'_>) -> Option<Finding> {
    // A search varies settings, and says itself what came of it.
    let charts = if view.study.tune.is_some() {
        Vec::new()
    } else {
        view.charts(|| chart::charts(view.study, &view.identities))
    };
    Some(Finding {
        id: "sweep",
        title: "What varied",
        intro: "The same figures against the parameters this study varied. Trials of all cells ran in one balanced random order, so a drift \
                of the machine does not look like an effect."
            .into(),
        charts: Arrangement::Below,
        parts: FindingPart::whole(charts),
    })
}
