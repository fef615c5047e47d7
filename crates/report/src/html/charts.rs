//! Findings as sections. Many combinations are folded; what is folded or below is drawn when it is looked at.

use findings::{
    Arrangement, Block, Breadth, Chart, ColumnRole, DataTable, FigureTable, FigureText, Finding, FindingPart, Sentence,
    Tone,
};
use maud::{Markup, PreEscaped, html};

/// Combinations shown unfolded.
const MOST_OPEN: usize = 3;

pub(super) fn sections(findings: &[Finding]) -> Markup {
    html! {
        @for finding in findings {
            section id=(finding.id) aria-labelledby=(format!("{}-title", finding.id)) {
                h2 id=(format!("{}-title", finding.id)) { (finding.title) }
                @if !finding.intro.is_empty() { p.note { (finding.intro) } }
                @for (at, part) in finding.parts.iter().enumerate() {
                    @if part.label.is_empty() {
                        (body(finding, part))
                    } @else {
                        details.part open[at < MOST_OPEN && finding.parts.len() <= 2 * MOST_OPEN || at == 0] {
                            summary { (part.label) }
                            (body(finding, part))
                        }
                    }
                }
            }
        }
    }
}

/// What a block is drawn as: blocks of one kind that follow each other stand together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Words,
    Table,
    Charts,
}

/// The kind of a block; `None` of what is for media without pictures, and of what stands at the head of the page.
fn kind(block: &Block) -> Option<Kind> {
    match block {
        Block::Sentence(_) => Some(Kind::Words),
        Block::Table(_) => Some(Kind::Table),
        Block::Chart(_) => Some(Kind::Charts),
        Block::Headline(_) | Block::Sketch(_) => None,
    }
}

fn body(finding: &Finding, part: &FindingPart) -> Markup {
    let drawn: Vec<&Block> = part.blocks.iter().filter(|block| kind(block).is_some()).collect();
    html! {
        @for run in drawn.chunk_by(|a, b| kind(a) == kind(b)) {
            @match kind(run[0]) {
                Some(Kind::Words) => ul.words { @for block in run { (drawn_block(block)) } },
                Some(Kind::Charts) => div class=(if finding.charts == Arrangement::Beside { "grid" } else { "stack" }) { @for block in run { (drawn_block(block)) } },
                _ => @for block in run { (drawn_block(block)) },
            }
        }
    }
}

fn drawn_block(block: &Block) -> Markup {
    match block {
        Block::Sentence(it) => html! { li { (sentence(it)) } },
        Block::Table(table) => titled(table),
        Block::Chart(chart) => figure(chart),
        Block::Headline(_) | Block::Sketch(_) => html! {},
    }
}

fn sentence(sentence: &Sentence) -> Markup {
    let (words, lines) = sentence.parts();
    html! {
        @if sentence.tone == Tone::Faint { span.note { (words) } } @else { (words) }
        @if !lines.is_empty() { pre { (lines) } }
    }
}

/// Tables of more columns have smaller letters.
const MOST_COLUMNS: usize = 8;

/// Tables of more rows scroll in a frame.
pub(super) const MOST_ROWS: usize = 30;

pub(super) fn titled(table: &FigureTable) -> Markup {
    let shown = table.columns_in(Breadth::Widest);
    let role = |at: usize| table.columns[at].role;
    let class = |at: usize| (role(at) == ColumnRole::Figures).then_some("num");
    let names = shown.iter().find(|at| role(**at) == ColumnRole::Specs).or(shown.first());
    let meanings = table.meanings(Breadth::Widest);
    html! {
        div class=(if table.rows.len() > MOST_ROWS { "scroll tall" } else { "scroll" }) tabindex="0" role="region" aria-label=(table.title) {
            table class=[(shown.len() > MOST_COLUMNS).then_some("wide")] {
                caption { (table.title) }
                thead { tr { @for &at in &shown { th scope="col" class=[class(at)] { (table.columns[at].heading()) } } } }
                tbody {
                    @for row in &table.rows {
                        tr { @for &at in &shown { @if Some(&at) == names { th scope="row" { (text(&row[at])) } } @else { td class=[class(at)] { (text(&row[at])) } } } }
                    }
                }
            }
        }
        @if !meanings.is_empty() { p.note { (meanings) } }
    }
}

fn text(it: &FigureText) -> Markup {
    // A page has the longer sign of what is not there.
    let dashed = |text| if text == "-" { "–" } else { text };
    let text = dashed(&it.text);
    html! {
        @match it.tone {
            Tone::Plain | Tone::Detail => (text),
            Tone::Strong => strong { (text) },
            Tone::Good => span.status.valid { (text) },
            Tone::Warning => span.status.degraded { (text) },
            Tone::Bad => strong.bad { (text) },
            Tone::Faint => span.note { (text) },
        }
        @if !it.note.is_empty() { br; span.note { (it.note) } }
        @for detail in &it.details { br; span.note { (dashed(detail)) } }
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
