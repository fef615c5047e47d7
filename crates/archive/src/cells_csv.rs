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

struct Column {
    name: &'static str,
    figure: Figure,
}

enum Figure {
    Text(fn(&Cell) -> String),
    Quantity(fn(&Cell) -> Option<Quantity>),
}

impl Column {
    const fn text(name: &'static str, figure: fn(&Cell) -> String) -> Column {
        Column { name, figure: Figure::Text(figure) }
    }

    const fn quantity(name: &'static str, figure: fn(&Cell) -> Option<Quantity>) -> Column {
        Column { name, figure: Figure::Quantity(figure) }
    }

    fn names(&self) -> Vec<String> {
        match self.figure {
            Figure::Text(_) => vec![self.name.into()],
            Figure::Quantity(_) => ["", "_low", "_high"].iter().map(|end| format!("{}{end}", self.name)).collect(),
        }
    }

    fn fields(&self, cell: &Cell) -> Vec<String> {
        match self.figure {
            Figure::Text(figure) => vec![figure(cell)],
            Figure::Quantity(figure) => match figure(cell) {
                None => vec![String::new(); 3],
                // One trial has no interval, and empty ends say so.
                Some(it) if it.level == 0.0 => vec![it.value.to_string(), String::new(), String::new()],
                Some(it) => vec![it.value.to_string(), it.low.to_string(), it.high.to_string()],
            },
        }
    }
}

const COLUMNS: &[Column] = &[
    Column::text("job", |cell| cell.job.clone()),
    Column::text("store", |cell| cell.store.clone()),
    Column::text("params", |cell| {
        let params: Vec<String> = cell.params.iter().map(|(key, value)| format!("{key}={value}")).collect();
        params.join(" ")
    }),
    Column::text("class", |cell| cell.class.to_string()),
    Column::text("baseline", |cell| cell.baseline.to_string()),
    Column::text("durability", |cell| cell.durability.map(|level| level.to_string()).unwrap_or_default()),
    Column::text("product", |cell| cell.product.clone()),
    Column::text("store_version", |cell| cell.store_version.clone()),
    Column::text("emulated", |cell| cell.emulated.join(" ")),
    Column::text("verdict", |cell| cell.verdict.status.name().into()),
    Column::text("reasons", |cell| {
        let reasons = cell.verdict.reasons.iter();
        reasons.map(|reason| format!("{}: {}", reason.kind.name(), reason.count)).collect::<Vec<_>>().join("; ")
    }),
    Column::text("trials", |cell| cell.counted().count().to_string()),
    Column::quantity("makespan_s", |cell| cell.makespan_s),
    Column::quantity("ops_per_s", |cell| cell.ops_per_s),
    Column::quantity("p99_ns", |cell| cell.p99_ns),
    Column::text("response_p50_ns", |cell| Metric::P50.of_cell(cell).map_or(String::new(), |it| it.value.to_string())),
    Column::text("response_max_ns", |cell| known(cell.latency_ns.response.n, cell.latency_ns.response.max)),
    Column::text("hits", |cell| counter(cell, cell.hits)),
    Column::text("misses", |cell| counter(cell, cell.misses)),
    Column::text("errors", |cell| counter(cell, cell.errors)),
    Column::text("retries", |cell| counter(cell, cell.retries)),
    Column::quantity("client_cpu_s", |cell| cell.client_cpu_s),
    Column::quantity("server_cpu_s", |cell| cell.server_cpu_s),
    Column::quantity("server_rss_bytes", |cell| cell.server_rss_bytes),
    Column::quantity("disk_bytes", |cell| cell.disk_bytes),
    Column::text("logical_bytes", |cell| counter(cell, cell.logical_bytes)),
    Column::text("answer_digest", |cell| cell.answer.digest.clone()),
    Column::text("measure", |cell| Metric::ranking(cell).field().into()),
    Column::text("durability_source", |cell| {
        cell.durability_source().map_or(String::new(), |source| source.name().into())
    }),
    Column::quantity("records_per_s", |cell| Metric::RecordsPerS.of_cell(cell)),
    Column::quantity("read_back_per_s", |cell| cell.read_back_per_s),
    Column::quantity("units_per_s", |cell| cell.units_per_s),
    Column::quantity("longest_dark_s", |cell| Metric::Dark.of_cell(cell)),
    Column::quantity("dark_key_s", |cell| Metric::DarkKeys.of_cell(cell)),
    Column::quantity("lost_writes", |cell| cell.lost_writes),
    Column::quantity("offered_per_s", |cell| cell.offered_per_s),
    Column::quantity("failed_share", |cell| cell.failed_share),
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
