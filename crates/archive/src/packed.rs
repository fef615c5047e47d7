//! A study packed by xz: a tenth of the bytes or less, and the same bytes for the same study. (gzip sees 32 KiB at a time, and a trial with
//! its curve is longer: such studies took 1.7 times as many.)

use crate::PACKED;
use crate::document::write_study;
use crate::error::DirectoryError;
use crate::files::replace_file;
use lzma_rust2::{XzOptions, XzReader, XzWriter};
use std::fs;
use std::io::{self, BufWriter, Cursor, Read, Write};
use std::path::Path;
use study::Study;

/// Most bytes a packed study may have when it is unpacked: that of a stranger must not fill the memory.
const MOST_BYTES: u64 = 1 << 30;
/// Most memory that unpacking one may ask for, in KiB: one packed here takes a tenth, one packed by `xz -9` 65 MiB.
const MOST_MEMORY_KIB: u32 = 96 << 10;
/// The level of `xz` without options.
const PRESET: u32 = 6;

/// Returns a study as its `study.json.xz` is.
///
/// # Errors
/// What the writer says.
pub fn pack_study(study: &Study) -> io::Result<Vec<u8>> {
    // Neither a name nor a time is in it.
    let mut file = BufWriter::with_capacity(1 << 16, XzWriter::new(Vec::new(), XzOptions::with_preset(PRESET))?);
    write_study(study, &mut file)?;
    file.into_inner()?.finish()
}

/// Keeps a study, packed, in a directory, which is made if need be; one already there is replaced, in one step.
///
/// # Errors
/// It could not be written; what was there is untouched.
pub fn save_packed_study(directory: &Path, study: &Study) -> Result<(), DirectoryError> {
    let packed = pack_study(study);
    let written = fs::create_dir_all(directory)
        .and(packed)
        .and_then(|packed| replace_file(&directory.join(PACKED), |file| file.write_all(&packed)));
    written.map_err(|source| DirectoryError::Unusable { path: directory.to_owned(), source })
}

/// Unpacks a study.
pub(crate) fn unpack(packed: impl Read) -> io::Result<Cursor<Vec<u8>>> {
    let mut text = Vec::new();
    XzReader::new_mem_limit(packed, false, MOST_MEMORY_KIB).take(MOST_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(io::Error::other("unpacked it is more than 1 GiB, which no study is"));
    }
    Ok(Cursor::new(text))
}
