//! What `kvtrial crash` found, on a terminal.

use crate::blocks;
use crate::layout::Colour;
use study::Study;

/// Returns the findings in sentences, a broken promise first; a line per level of each store; notes on what was wrong, and on the cuts
/// behind the figures. At most 80 columns wide.
pub fn crash_text(study: &Study, colour: Colour) -> String {
    blocks::alone(study, findings::crash::find, colour)
}
