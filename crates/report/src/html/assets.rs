//! What every page carries: code, style, fonts of the plots.

/// Apache ECharts, cut down; see `vendor/echarts/README.md`.
pub(crate) const ECHARTS: &str = include_str!("../../vendor/echarts/echarts.min.js");
/// Turns chart descriptions into ECharts options; the same in the page and for the files.
pub(crate) const CHART: &str = include_str!("../../assets/chart.js");
/// The script of the button for light and dark, which every page has, and of what is to follow it.
pub const THEME: &str = include_str!("../../assets/theme.js");
/// The script that moves things in the page.
const PAGE: &str = include_str!("../../assets/page.js");
/// The scripts of a page with charts.
pub(crate) const SCRIPTS: [&str; 4] = [ECHARTS, CHART, THEME, PAGE];
/// The style sheet of the page.
pub(crate) const STYLE: &str = include_str!("../../assets/page.css");
/// The font of PNG files; see `vendor/font/README.md`.
#[cfg(feature = "plots")]
pub(crate) const FONT: &[u8] = include_bytes!("../../vendor/font/DejaVuSans-subset.ttf");
