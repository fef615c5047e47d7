//! The raw data a page carries, to be saved without a network: gzip in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, write::GzEncoder};
use std::io::{self, BufWriter, Write};
use study::Study;

/// Packed bytes of one file a page may carry.
const MOST_PACKED_BYTES: usize = 3 << 20;

/// A file inside the page.
pub(crate) struct Download {
    /// Identifier of its element.
    pub id: &'static str,
    /// Name to save it under.
    pub name: String,
    /// The media type of the file.
    pub media_type: &'static str,
    /// Gzip in base64; `None` when it would make the page too large: it lies beside the page then.
    pub packed: Option<String>,
}

/// Returns the study as JSON and its cells, if it has any, as CSV.
pub(crate) fn of_study(study: &Study, label: Option<&str>, at: usize) -> Vec<Download> {
    let name = |file: &str| label.map_or(file.to_owned(), |label| format!("{}-{file}", findings::slug(label)));
    let trials: usize = study.cells.iter().map(|cell| cell.trials.len()).sum();
    let ids = [
        ["file-json-0", "file-csv-0"],
        ["file-json-1", "file-csv-1"],
        ["file-json-2", "file-csv-2"],
        ["file-json-3", "file-csv-3"],
    ];
    let Some([json, csv]) = ids.get(at).copied() else { return Vec::new() };
    let packed_json =
        if trials <= archive::MOST_WHOLE_TRIALS { pack(|file| archive::write_json(file, study)) } else { None };
    let whole = Download { id: json, name: name("study.json"), media_type: "application/json", packed: packed_json };
    if study.crash.is_some() && study.cells.is_empty() {
        return vec![whole];
    }
    let cells = archive::cells_csv(study);
    let packed = pack(|file| file.write_all(cells.as_bytes()));
    vec![whole, Download { id: csv, name: name("cells.csv"), media_type: "text/csv", packed }]
}

/// JSON comes in pieces of a few bytes, each of which would cost the compressor as much as a block.
fn pack(write: impl FnOnce(&mut BufWriter<GzEncoder<Vec<u8>>>) -> io::Result<()>) -> Option<String> {
    let mut file = BufWriter::with_capacity(1 << 16, GzEncoder::new(Vec::new(), Compression::default()));
    write(&mut file).ok()?;
    let bytes = file.into_inner().ok()?.finish().ok()?;
    (bytes.len() <= MOST_PACKED_BYTES).then(|| STANDARD.encode(bytes))
}
