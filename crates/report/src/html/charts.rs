//! Sections of charts. Many combinations are folded; what is folded or below is drawn when it is looked at.

use super::crashes;
use crate::chart::{Chart, DataTable, Section, SectionPart};
use crate::sections::CRASHES;
use crate::view::Report;
use maud::{Markup, PreEscaped, html};

/// Combinations shown unfolded.
const MOST_OPEN: usize = 3;

pub(super) fn sections(report: &Report<'_>) -> Markup {
    html! {
        @for section in &report.sections {
            section id=(section.id) aria-labelledby=(format!("{}-title", section.id)) {
                h2 id=(format!("{}-title", section.id)) { (section.title) }
                @if !section.intro.is_empty() { p.note { (section.intro) } }
                @if let Some(crash) = report.study.crash.as_ref().filter(|_| section.id == CRASHES) { (crashes::table(crash)) }
                @for (at, part) in section.parts.iter().enumerate() {
                    @if part.label.is_empty() {
                        (body(section, part))
                    } @else {
                        details.part open[at < MOST_OPEN && section.parts.len() <= 2 * MOST_OPEN || at == 0] {
                            summary { (part.label) }
                            (body(section, part))
                        }
                    }
                }
            }
        }
    }
}

fn body(section: &Section, part: &SectionPart) -> Markup {
    let beside = section.id == "resources" || section.id == "rate" && part.charts.len() > 1;
    let words =
        html! { @if !part.words.is_empty() { ul.words { @for sentence in &part.words { li { (sentence) } } } } };
    // Of many faults the picture says more than the sentences.
    let chart_first = section.id == "faults";
    html! {
        @if !chart_first { (words) }
        div class=(if beside { "grid" } else { "stack" }) { @for chart in &part.charts { (figure(chart)) } }
        @if chart_first { (words) }
    }
}

fn figure(chart: &Chart) -> Markup {
    // Sections have names of the same kind.
    let id = format!("chart-{}", chart.id);
    let caption = format!("{id}-title");
    html! {
        figure id=(id) aria-labelledby=(caption) {
            figcaption {
                h3 id=(caption) { (chart.title) }
                @if !chart.note.is_empty() { p.note { (chart.note) } }
            }
            div.chart role="img" aria-label=(chart.description) style=(format!("height:{}px", chart.height)) {}
            script type="application/json" { (PreEscaped(embedded(&chart.option.to_string()))) }
            details { summary { "Figures" } (table(&chart.table, &chart.title)) }
            button data-chart=(chart.id) hidden { "Save as SVG" }
        }
    }
}

/// JSON that cannot end the element it stands in.
fn embedded(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn table(table: &DataTable, caption: &str) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(format!("{caption}: figures")) {
            table {
                caption { (caption) }
                thead { tr { @for (at, column) in table.columns.iter().enumerate() { th scope="col" class=[(at > 0).then_some("num")] { (column) } } } }
                tbody {
                    @for row in &table.rows {
                        tr { @for (at, text) in row.iter().enumerate() { @if at == 0 { th scope="row" { (text) } } @else { td.num { (text) } } } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::embedded;

    #[test]
    fn json_in_the_page_cannot_end_its_element() {
        let json = embedded(r#"{"name":"</script><script>alert(1)</script><!--"}"#);
        assert!(!json.contains('<'));
    }
}
