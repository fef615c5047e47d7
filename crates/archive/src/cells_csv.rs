//! One row per cell, for spreadsheets and scripts.

use analysis::Metric;
use study::{Cell, Quantity, Status, Study};

/// Returns `cells.csv`: a header naming every column with its unit, then one row per cell in the study's order, as RFC 4180 has it (CRLF,
/// quoted where needed). Quantities have three columns: value, low, high; an unknown figure is empty, never 0; a percentile that was not
/// reached is `inf`. Parameters share one column as `key=value` pairs separated by spaces.
pub fn cells_csv(study: &Study) -> String {
    let mut text = String::new();
    line(&mut text, COLUMNS.iter().flat_map(|column| column.names()));
    for cell in &study.cells {
        line(&mut text, COLUMNS.iter().flat_map(|column| column.fields(cell)));
    }
    text
}

/// A column, or the three of a quantity. A name has its unit.
enum Column {
    Text(&'static str, fn(&Cell) -> String),
    Quantity(&'static str, fn(&Cell) -> Option<Quantity>),
    /// A figure that cells are ranked or compared by.
    Figure(Metric),
}

impl Column {
    fn names(&self) -> Vec<String> {
        match self {
            Column::Text(name, _) => vec![(*name).into()],
            Column::Quantity(name, _) => ends(name),
            Column::Figure(metric) => ends(metric.field()),
        }
    }

    fn fields(&self, cell: &Cell) -> Vec<String> {
        let quantity = match self {
            Column::Text(_, text) => return vec![text(cell)],
            Column::Quantity(_, figure) => figure(cell),
            Column::Figure(metric) => metric.of_cell(cell),
        };
        match quantity {
            None => vec![String::new(); 3],
            // One trial has no interval, and empty ends say so.
            Some(it) if it.level == 0.0 => vec![it.value.to_string(), String::new(), String::new()],
            Some(it) => vec![it.value.to_string(), it.low.to_string(), it.high.to_string()],
        }
    }
}

fn ends(name: &str) -> Vec<String> {
    ["", "_low", "_high"].map(|end| format!("{name}{end}")).into()
}

const COLUMNS: &[Column] = &[
    Column::Text("job", |cell| cell.job.clone()),
    Column::Text("store", |cell| cell.store.clone()),
    Column::Text("params", |cell| {
        let params: Vec<String> = cell.params.iter().map(|(key, value)| format!("{key}={value}")).collect();
        params.join(" ")
    }),
    Column::Text("class", |cell| cell.class.to_string()),
    Column::Text("baseline", |cell| cell.baseline.to_string()),
    Column::Text("durability", |cell| cell.durability.map(|level| level.to_string()).unwrap_or_default()),
    Column::Text("product", |cell| cell.product.clone()),
    Column::Text("store_version", |cell| cell.store_version.clone()),
    Column::Text("emulated", |cell| cell.emulated.join(" ")),
    Column::Text("verdict", |cell| cell.verdict.status.name().into()),
    Column::Text("reasons", |cell| {
        let reasons = cell.verdict.reasons.iter();
        reasons.map(|reason| format!("{}: {}", reason.kind.name(), reason.count)).collect::<Vec<_>>().join("; ")
    }),
    Column::Text("trials", |cell| cell.counted().count().to_string()),
    Column::Figure(Metric::Makespan),
    Column::Figure(Metric::OpsPerS),
    Column::Figure(Metric::P99),
    Column::Text("response_p50_ns", |cell| Metric::P50.of_cell(cell).map_or(String::new(), |it| it.value.to_string())),
    Column::Text("response_max_ns", |cell| known(cell.latency_ns.response.n, cell.latency_ns.response.max)),
    Column::Text("hits", |cell| counter(cell, cell.hits)),
    Column::Text("misses", |cell| counter(cell, cell.misses)),
    Column::Text("errors", |cell| counter(cell, cell.errors)),
    Column::Text("retries", |cell| counter(cell, cell.retries)),
    Column::Figure(Metric::ClientCpu),
    Column::Figure(Metric::ServerCpu),
    Column::Figure(Metric::ServerRss),
    Column::Figure(Metric::Disk),
    Column::Text("logical_bytes", |cell| counter(cell, cell.logical_bytes)),
    Column::Text("answer_digest", |cell| cell.answer.digest.clone()),
    Column::Text("measure", |cell| Metric::ranking(cell).field().into()),
    Column::Text("durability_source", |cell| {
        cell.durability_source().map_or(String::new(), |source| source.name().into())
    }),
    Column::Figure(Metric::RecordsPerS),
    Column::Quantity("read_back_per_s", |cell| cell.read_back_per_s),
    Column::Figure(Metric::UnitsPerS),
    Column::Figure(Metric::Dark),
    Column::Figure(Metric::DarkKeys),
    Column::Quantity("lost_writes", |cell| cell.lost_writes),
    Column::Quantity("offered_per_s", |cell| cell.offered_per_s),
    Column::Figure(Metric::Failed),
];

/// A cell that was not run has no counts: a 0 would be a claim.
fn counter(cell: &Cell, figure: u64) -> String {
    if cell.verdict.status == Status::NotRun { String::new() } else { figure.to_string() }
}

fn known(n: u64, figure: u64) -> String {
    if n > 0 { figure.to_string() } else { String::new() }
}

fn line(text: &mut String, fields: impl Iterator<Item = String>) {
    for (at, text_of_field) in fields.enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(&field(&text_of_field));
    }
    text.push_str("\r\n");
}

/// Returns a field as RFC 4180 has it: in quotes where it holds a comma, a quote or the end of a line.
pub(crate) fn field(text: &str) -> String {
    let text = &study::visible(text);
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.clone().into_owned()
    }
}
