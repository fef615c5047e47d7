//! Comparisons in plain words.

use super::decisions::decision_judgement;
use crate::figures;
use analysis::{
    ALPHA, Better, Compared, Comparison, Condition, Contrast, DECISION_GATE, Difference, Gate, Judgement, Metric,
    Obstacle, Pair, Ruling, Threshold, Weight,
};
use study::{Quantity, Reason, Status, Verdict};
use words::meaning;
use words::units;

/// Returns `redis-unix is 1.31x to 1.38x faster than redis (p 0.008)`.
pub fn sentence(pair: &Pair, contrast: &Contrast) -> String {
    let (a, b) = (&pair.a, &pair.b);
    let repeats = contrast.a.n.min(contrast.b.n);
    match contrast.finding {
        Compared::Better | Compared::Worse => {
            format!("{} ({})", relation(a, b, contrast), p(contrast.p_holm))
        }
        Compared::NoDifference => {
            let detectable = match contrast.smallest_detectable {
                Some(share) => format!(", smallest detectable {}", percent(share)),
                None => String::new(),
            };
            let by = if contrast.metric == pair.measure { String::new() } else { format!(" in {}", contrast.metric) };
            format!("no difference{by} between {a} and {b} at {repeats} repeats{detectable}")
        }
        Compared::TooFew { repeats_needed } => {
            let repeats = if repeats == 1 { "1 repeat".into() } else { format!("{repeats} repeats") };
            let cure = format!("{repeats} cannot show that; run both with --repeats {repeats_needed} or more");
            match contrast.ratio.filter(|ratio| ratio.low > 1.0 || ratio.high < 1.0) {
                Some(_) => format!("{}, it seems, but {cure}", relation(a, b, contrast)),
                None => format!(
                    "{a} and {b} are tied: {repeats} cannot separate them; run both with --repeats {repeats_needed} or more"
                ),
            }
        }
    }
}

/// `B is 1.31x to 1.38x faster than A`, or `the p99 of B is 1.31x to 1.38x that of A lower`.
fn relation(a: &str, b: &str, contrast: &Contrast) -> String {
    let shown = |figure: &Quantity| self::figure(contrast.metric, figure.value);
    if contrast.metric == Metric::Failed {
        return format!("{} of the operations of {b} failed, of {a} {}", shown(&contrast.b), shown(&contrast.a));
    }
    if contrast.a.is_not_reached() || contrast.b.is_not_reached() {
        let (of_b, of_a) = (shown(&contrast.b), shown(&contrast.a));
        return format!("the {} of {b} is {of_b}, that of {a} {of_a}", phrase(contrast.metric));
    }
    let Some(ratio) = contrast.ratio else {
        return format!("{b} and {a} differ in {}", contrast.metric);
    };
    let more = ratio.value > 1.0;
    let times = range(&if more { ratio } else { reciprocal(&ratio) });
    let higher = |more| if more { "higher" } else { "lower" };
    match contrast.metric {
        Metric::Makespan | Metric::OpsPerS | Metric::RecordsPerS | Metric::UnitsPerS => {
            let faster = more == (contrast.metric.better() == Better::Higher);
            format!("{b} is {times} {} than {a}", if faster { "faster" } else { "slower" })
        }
        metric => format!("the {} of {b} is {times} {} than that of {a}", phrase(metric), higher(more)),
    }
}

/// The metric within a sentence.
fn phrase(metric: Metric) -> &'static str {
    match metric {
        Metric::Makespan => "time",
        Metric::OpsPerS => "rate",
        Metric::Failed => "share that failed",
        Metric::RecordsPerS => "rate of records",
        Metric::UnitsPerS => "rate of units",
        Metric::P50 => "p50",
        Metric::P95 => "p95",
        Metric::P99 => "p99",
        Metric::P999 => "p99.9",
        Metric::ClientCpu => "processor time of the client",
        Metric::ServerCpu => "processor time of the server",
        Metric::ServerRss => "server memory",
        Metric::Disk => "space on disk",
        Metric::Dark => "longest time without answers",
        Metric::DarkKeys => "keys times time without answers",
    }
}

fn reciprocal(ratio: &Quantity) -> Quantity {
    Quantity { value: 1.0 / ratio.value, low: 1.0 / ratio.high, high: 1.0 / ratio.low, ..*ratio }
}

/// `1.31x to 1.38x`, or `1.31x` where both ends are the same.
pub(super) fn range(ratio: &Quantity) -> String {
    if ratio.level == 0.0 {
        return times(ratio.value);
    }
    let (low, high) = (times(ratio.low), times(ratio.high));
    if low == high { low } else { format!("{low} to {high}") }
}

/// `1.31x`; near 1 with one digit more, so that it does not read as 1.
fn times(ratio: f64) -> String {
    let text = units::ratio(ratio);
    let text = text.strip_prefix('x').unwrap_or(&text);
    if (0.995..1.1).contains(&ratio) { format!("{ratio:.3}x") } else { format!("{text}x") }
}

/// Returns the ratio of a table: `x1.34 (1.31 to 1.38)`.
pub fn ratio(ratio: Option<Quantity>) -> String {
    match ratio {
        Some(ratio) if ratio.value > 0.0 && ratio.value.is_finite() => of_ratio(&ratio),
        // One figure is 0, or a percentile was not reached.
        _ => "-".into(),
    }
}

fn of_ratio(ratio: &Quantity) -> String {
    match ratio {
        ratio if ratio.level == 0.0 => format!("{:.3}", ratio.value),
        ratio => format!("{} ({} to {})", plain(ratio.value), plain(ratio.low), plain(ratio.high)),
    }
}

fn plain(ratio: f64) -> String {
    match ratio {
        f64::INFINITY => "∞".into(),
        0.0..10.0 => format!("{ratio:.3}"),
        _ => units::count(ratio),
    }
}

/// Returns `p 0.008`, `p below 0.001`.
pub fn p(p: f64) -> String {
    if p < 0.001 { "p below 0.001".into() } else { format!("p {p:.3}") }
}

/// Returns `0.008`, `<0.001`.
pub fn p_cell(p: f64) -> String {
    if p < 0.001 { "<0.001".into() } else { format!("{p:.3}") }
}

/// Returns `4 %`, `0.7 %`.
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// Returns a figure with its unit: `1.34 s`, `50.8k`, `64 MiB`.
pub fn figure(metric: Metric, value: f64) -> String {
    figures::plain(value, metric.unit())
}

/// Returns one word for a row: what the finding means for the second cell.
pub fn word(finding: Compared) -> &'static str {
    match finding {
        Compared::Better => "better",
        Compared::Worse => "worse",
        Compared::NoDifference => "same",
        Compared::TooFew { .. } => "too few",
    }
}

/// Returns why two cells are not compared, and what to do: `None` where they are.
pub fn obstacle(pair: &Pair) -> Option<String> {
    let unranked = |name: &str, verdict: &Verdict| not_compared(name, verdict.status, &verdict.reasons);
    Some(match pair.obstacle? {
        Obstacle::VoidA | Obstacle::NotRunA => unranked(&pair.a, &pair.verdict_a),
        Obstacle::VoidB | Obstacle::NotRunB => unranked(&pair.b, &pair.verdict_b),
        Obstacle::Unlike => unlike(&pair.differences),
        Obstacle::Across => across(&pair.differences),
        Obstacle::NoFigures => "not compared: they have no figure in common; name another with --metric".into(),
    })
}

/// Says what forbids a comparison, and what to do.
pub(crate) fn unlike(differences: &[Difference]) -> String {
    format!("not compared: {}. Measure both alike, or add --anyway", weighing(differences, Weight::Forbids))
}

/// Says what is only compared when asked for.
pub(crate) fn across(differences: &[Difference]) -> String {
    format!("not compared: {}. Add --across to compare them anyway", weighing(differences, Weight::Across))
}

fn weighing(differences: &[Difference], weight: Weight) -> String {
    differences.iter().filter(|it| it.weight() == weight).map(difference).collect::<Vec<_>>().join("; ")
}

/// Returns why a cell is not compared: `redis is void, so it is not compared: wrong values read, 3 times (key a)`.
pub fn not_compared(name: &str, status: Status, reasons: &[Reason]) -> String {
    let what = if status == Status::NotRun { "was not run" } else { "is void" };
    let why = self::reasons(reasons);
    let why = if why.is_empty() { why } else { format!(": {why}") };
    format!("{name} {what}, so it is not compared{why}")
}

/// Reasons of a verdict in a few words each.
pub fn reasons(reasons: &[Reason]) -> String {
    let each = reasons.iter().map(|reason| {
        let meaning = meaning(reason);
        if reason.example.is_empty() { meaning.into_owned() } else { format!("{meaning} ({})", reason.example) }
    });
    each.collect::<Vec<_>>().join("; ")
}

/// Returns `the inputs differ in digest: sha256:… against sha256:…`.
pub fn difference(difference: &Difference) -> String {
    let Difference { condition, fact, a, b } = difference;
    let what = match condition {
        Condition::Job => "the jobs differ".into(),
        Condition::Input => format!("the inputs differ in {fact}"),
        Condition::Params => format!("the parameter {fact} differs"),
        Condition::Faults => "the faults differ".into(),
        Condition::Crashes => format!("the crashes differ in {fact}"),
        Condition::Host => format!("the machines differ in {fact}"),
        Condition::Kvtrial => "the versions of kvtrial differ".into(),
        Condition::Class => "the classes differ".into(),
        Condition::Durability => "the durability levels differ".into(),
        Condition::StoreVersion => format!("the versions of {fact} differ"),
        Condition::StoreConfig => format!("the stores are configured differently in {fact}"),
        Condition::Emulated => "what is emulated differs".into(),
        Condition::Mitigation if fact == "microcode" => "the processors differ in microcode".into(),
        Condition::Mitigation => {
            format!("the machines differ in what they do about {fact}, which may slow a client and spare its server")
        }
    };
    // What differs only behind its beginning is shown whole.
    let (a, b) = if short(a) == short(b) { (a.clone(), b.clone()) } else { (short(a), short(b)) };
    format!("{what}: {a} against {b}")
}

fn short(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None if text.is_empty() => "nothing".into(),
        None => text.to_owned(),
    }
}

/// Returns the ruling of a gate on a cell or a decision of this comparison, as a sentence.
pub fn judgement(judgement: &Judgement, comparison: &Comparison, gates: &[Gate]) -> String {
    let mut decisions = comparison.decisions.iter();
    if judgement.gate == DECISION_GATE
        && let Some(decision) = decisions.find(|it| it.title() == judgement.cell)
    {
        return decision_judgement(decision, &judgement.outcome);
    }
    let gate = gates.iter().find(|gate| gate.text == judgement.gate);
    let seen = judgement.seen.map(|seen| match gate.map(|gate| (gate.metric, gate.threshold)) {
        Some((metric, Threshold::Figure(_))) => {
            format!("{} ({} to {})", figure(metric, seen.value), figure(metric, seen.low), figure(metric, seen.high))
        }
        _ => format!("{} to {}", signed(seen.low), signed(seen.high)),
    });
    let lies = seen.as_ref().map_or(String::new(), |seen| format!("; what was seen lies from {seen}"));
    let seen = seen.map_or(String::new(), |seen| format!(": {seen}"));
    match &judgement.outcome {
        Ruling::Kept => format!("passed  {} {}{seen}{}", judgement.cell, judgement.gate, correction(judgement)),
        Ruling::Broken => format!("FAILED  {} {}{seen}{}", judgement.cell, judgement.gate, correction(judgement)),
        Ruling::TooNoisy { could_have_seen } => format!(
            "unclear {} {}: too noisy to judge: could only have seen {}{lies}",
            judgement.cell,
            judgement.gate,
            signed_share(*could_have_seen)
        ),
        Ruling::NotApplicable { reason } => format!("skipped {} {}: {reason}", judgement.cell, judgement.gate),
        Ruling::TooFew { repeats_needed } => format!(
            "undecided {} {}: too few repeats for the number of judgements; run with --repeats \
             {repeats_needed} or more",
            judgement.cell, judgement.gate
        ),
    }
}

/// What was left, after correction for the number of judgements, of a figure that seemed to be beyond its bound.
fn correction(judgement: &Judgement) -> String {
    match (judgement.p, judgement.p_holm) {
        (Some(p), Some(p_holm)) if p < ALPHA && p_holm > p => {
            format!(" (p {}, corrected for all judgements {})", p_cell(p), p_cell(p_holm))
        }
        _ => String::new(),
    }
}

/// A share as a change: `+54 %`, `-3.1 %`.
fn signed_share(share: f64) -> String {
    let sign = if share < 0.0 { '-' } else { '+' };
    format!("{sign}{}", percent(share.abs()))
}

/// A ratio as a change: `+5.2 %`, `-3.0 %`.
fn signed(ratio: f64) -> String {
    format!("{:+.1} %", 100.0 * (ratio - 1.0))
}

#[cfg(test)]
mod tests {
    use super::difference;
    use analysis::{Condition, Difference};

    #[test]
    fn what_two_machines_do_about_a_weakness_is_said_with_what_it_may_cost_and_to_the_place_where_it_differs() {
        let long = "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; PBRSB-eIBRS: SW sequence; BHI: ";
        let differs = |fact: &str, a: &str, b: &str| {
            let (fact, a, b) = (fact.to_owned(), a.to_owned(), b.to_owned());
            difference(&Difference { condition: Condition::Mitigation, fact, a, b })
        };
        assert_eq!(differs("microcode", "0x1", "0x2"), "the processors differ in microcode: 0x1 against 0x2");
        let said = differs("spectre_v2", &format!("{long}Vulnerable"), &format!("{long}BHI_DIS_S"));
        assert!(
            said.starts_with("the machines differ in what they do about spectre_v2, which may slow a client"),
            "{said}"
        );
        assert!(said.contains("BHI: Vulnerable against") && said.ends_with("BHI: BHI_DIS_S"), "{said}");
    }
}
