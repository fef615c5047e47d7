//! Charts as files: the page's own JavaScript, run by an interpreter, draws SVG; a rasteriser makes PNG of it.

use crate::html::assets;
use crate::html::bare::FindingsPage;
use crate::view::Report;
use findings::{Chart, Finding, FindingPart};
use resvg::{tiny_skia, usvg};
use rquickjs::{CatchResultExt, Context, Function, Runtime};
use std::sync::Arc;
use std::thread::ScopedJoinHandle;

/// Width of every plot in CSS pixels; a PNG has twice as many each way.
const WIDTH: u32 = 920;
const PNG_SCALE: f32 = 2.0;
/// Plots a report writes: of the first combinations, when there are many.
const MOST_PLOTS: usize = 24;
/// Stack of the interpreter, well below that of a thread.
const STACK_BYTES: usize = 1 << 20;

/// Findings a large study has plots of. The others, of one combination of hundreds, are in the page.
const FIRST: [&str; 6] = ["setting", "rate", "sweep", "needs", "ranking", "latency"];
/// What the interpreter may hold before it collects garbage within a chart; after each chart it always does.
const GARBAGE_BYTES: usize = 48 << 20;

/// A chart as two files.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Name of the files, without their ending.
    pub name: String,
    /// The SVG document.
    pub svg: String,
    /// The PNG image, 1,840 pixels wide.
    pub png: Vec<u8>,
}

/// A chart that could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// The charts' JavaScript failed.
    #[error(
        "plots: drawing {chart} failed: {detail}. The page does not need them; please report this with your study.json"
    )]
    Drawing {
        /// The chart.
        chart: String,
        /// The words of the interpreter.
        detail: String,
    },
    /// The SVG could not be made into pixels.
    #[error("plots: {chart} could not be turned into a PNG: {detail}. The SVG file was written")]
    Pixels {
        /// The chart.
        chart: String,
        /// The words of the rasteriser.
        detail: String,
    },
}

impl Report<'_> {
    /// Returns the charts as pictures, in the order of the page; at most 24, so that a large sweep does not fill a directory; of more than
    /// 100 cells the findings only: what varied, and ranking and latency of the first combination.
    ///
    /// # Errors
    /// A chart could not be drawn.
    pub fn plots(&self) -> Result<Vec<Plot>, PlotError> {
        drawn(&self.plotted())
    }

    /// The charts of every section's first combinations; of a large study only those a reader looks for first.
    fn plotted(&self) -> Vec<&Chart> {
        let mut charts: Vec<&Chart> = Vec::new();
        let wanted = |finding: &&Finding| !self.is_large() || FIRST.contains(&finding.id);
        let findings: Vec<&Finding> = self.findings.iter().filter(wanted).collect();
        let all = findings.iter().map(|finding| finding.parts.len()).max().unwrap_or_default();
        let most = if self.is_large() { all.min(1) } else { all };
        for at in 0..most {
            let of_round: Vec<&Chart> =
                findings.iter().filter_map(|finding| finding.parts.get(at)).flat_map(|part| part.charts()).collect();
            if !charts.is_empty() && charts.len() + of_round.len() > MOST_PLOTS {
                break;
            }
            charts.extend(of_round);
        }
        charts.truncate(MOST_PLOTS);
        charts
    }
}

impl FindingsPage {
    /// Returns the charts as pictures, in the order of the page.
    ///
    /// # Errors
    /// A chart could not be drawn.
    pub fn plots(&self) -> Result<Vec<Plot>, PlotError> {
        let charts = self.findings.iter().flat_map(|finding| &finding.parts).flat_map(FindingPart::charts);
        drawn(&charts.collect::<Vec<_>>())
    }
}

/// Draws charts.
fn drawn(charts: &[&Chart]) -> Result<Vec<Plot>, PlotError> {
    let fonts = fonts();
    let failed = |chart: &str, detail: String| PlotError::Drawing { chart: chart.to_owned(), detail };
    let runtime = Runtime::new().map_err(|error| failed("charts", error.to_string()))?;
    runtime.set_max_stack_size(STACK_BYTES);
    runtime.set_gc_threshold(GARBAGE_BYTES);
    let context = Context::full(&runtime).map_err(|error| failed("charts", error.to_string()))?;
    context.with(|js| {
        // Timers drive animations only, and a picture has none.
        let prepare = "globalThis.setTimeout = () => 0; globalThis.clearTimeout = () => {};";
        for source in [prepare, assets::ECHARTS, assets::CHART] {
            js.eval::<(), _>(source).catch(&js).map_err(|error| failed("charts", error.to_string()))?;
        }
        let draw: Function<'_> = js
            .eval("(option, ...rest) => kvtrialChart.svg(JSON.parse(option), ...rest)")
            .catch(&js)
            .map_err(|error| failed("charts", error.to_string()))?;
        // While one chart is drawn the one before becomes pixels.
        std::thread::scope(|scope| {
            let mut plots = Vec::with_capacity(charts.len());
            let mut before: Option<ScopedJoinHandle<'_, _>> = None;
            for &chart in charts {
                let arguments = (chart.option.to_string(), &chart.title, &chart.note, WIDTH, chart.height);
                let svg: String =
                    draw.call(arguments).catch(&js).map_err(|error| failed(&chart.id, error.to_string()))?;
                js.run_gc();
                plots.extend(before.take().map(finished).transpose()?);
                before = Some(scope.spawn(|| plot(&chart.id, svg, &fonts)));
            }
            plots.extend(before.map(finished).transpose()?);
            Ok(plots)
        })
    })
}

fn plot(name: &str, svg: String, fonts: &Arc<usvg::fontdb::Database>) -> Result<Plot, PlotError> {
    let svg = study::visible(&svg).into_owned();
    let png = png(&svg, fonts).map_err(|detail| PlotError::Pixels { chart: name.to_owned(), detail })?;
    Ok(Plot { name: name.to_owned(), svg, png })
}

fn finished(plot: ScopedJoinHandle<'_, Result<Plot, PlotError>>) -> Result<Plot, PlotError> {
    plot.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn fonts() -> Arc<usvg::fontdb::Database> {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(assets::FONT.to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    Arc::new(fonts)
}

fn png(svg: &str, fonts: &Arc<usvg::fontdb::Database>) -> Result<Vec<u8>, String> {
    let options =
        usvg::Options { fontdb: fonts.clone(), font_family: "DejaVu Sans".into(), ..usvg::Options::default() };
    let tree = usvg::Tree::from_str(svg, &options).map_err(|error| error.to_string())?;
    let size = tree.size().to_int_size().scale_by(PNG_SCALE).ok_or("it has no size")?;
    let mut pixels = tiny_skia::Pixmap::new(size.width(), size.height()).ok_or("it is too large")?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(PNG_SCALE, PNG_SCALE), &mut pixels.as_mut());
    encoded(&pixels).map_err(|error| error.to_string())
}

/// A picture without transparency, as all charts are on paper. Its plain areas need no filter: as small as with the usual settings, in a third of the time.
fn encoded(pixels: &tiny_skia::Pixmap) -> Result<Vec<u8>, png::EncodingError> {
    let mut colours = Vec::with_capacity(pixels.data().len() / 4 * 3);
    pixels.data().chunks_exact(4).for_each(|pixel| colours.extend_from_slice(&pixel[..3]));
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, pixels.width(), pixels.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_filter(png::Filter::NoFilter);
    encoder.set_deflate_compression(png::DeflateCompression::Level(3));
    encoder.write_header()?.write_image_data(&colours)?;
    Ok(file)
}
