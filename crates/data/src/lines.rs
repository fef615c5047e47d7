//! The lines of a text: a file, plain or packed by gzip, xz or zstd, or bytes in memory; recognised by content, not by name.

use crate::bounded::Bounded;
use crate::sent::sent;
use crate::{DataError, Spot};
use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// What a path below these is depends on the process that opens it.
const OF_THIS_PROCESS: [&str; 3] = ["/dev/stdin", "/dev/fd", "/proc"];
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const XZ_MAGIC: &[u8] = b"\xfd7zXZ\0";
const ZSTD_MAGIC: &[u8] = b"\x28\xb5\x2f\xfd";

/// Lines one by one, without their line ends (`\n` or `\r\n`), checked to be UTF-8. One buffer, reused.
pub struct Lines {
    source_name: String,
    input: Box<dyn BufRead>,
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    /// Opens a file: where another process has sent one of this path, that.
    ///
    /// # Errors
    /// When it cannot be opened or read.
    pub fn open(path: &Path) -> Result<Lines, DataError> {
        let name = path.display().to_string();
        let trouble =
            |error: io::Error| DataError::whole(&name, error.to_string(), "name a readable file, or a known data set");
        if let Some(bytes) = sent(path) {
            return Lines::over(&name, io::Cursor::new(bytes));
        }
        // Before it is opened: a pipe waits for its writer.
        let kind = std::fs::metadata(path).map_err(trouble)?.file_type();
        if kind.is_dir() {
            return Err(DataError::whole(&name, "it is a directory", "name a file in it"));
        }
        if !kind.is_file() || OF_THIS_PROCESS.iter().any(|place| path.starts_with(place)) {
            return Err(DataError::whole(
                &name,
                "it is not a regular file, and the data is read more than once, also by other processes",
                "write it to a file first, and name that",
            ));
        }
        Lines::over(&name, File::open(path).map_err(trouble)?)
    }

    /// Reads bytes in memory.
    ///
    /// # Errors
    /// When the start of compressed bytes cannot be unpacked.
    pub fn of_bytes(source_name: &str, bytes: &'static [u8]) -> Result<Lines, DataError> {
        Lines::over(source_name, bytes)
    }

    fn over(source_name: &str, raw: impl Read + 'static) -> Result<Lines, DataError> {
        let mut raw = BufReader::with_capacity(64 << 10, raw);
        let head = raw.fill_buf().map_err(|error| unreadable(source_name, &error))?;
        let mut input: Box<dyn BufRead> = if head.starts_with(&GZIP_MAGIC) {
            unpacked(MultiGzDecoder::new(raw))
        } else if head.starts_with(XZ_MAGIC) {
            unpacked(XzReader::new(raw, true))
        } else if head.starts_with(ZSTD_MAGIC) {
            unpacked(Frames { raw: Some(raw), frame: None })
        } else {
            Box::new(Bounded::new(raw))
        };
        // Editors on Windows put a mark before the text that is no part of it.
        let start = input.fill_buf().map_err(|error| unreadable(source_name, &error))?;
        if start.starts_with(BYTE_ORDER_MARK) {
            input.consume(BYTE_ORDER_MARK.len());
        }
        Ok(Lines { source_name: source_name.into(), input, line: Vec::new(), number: 0 })
    }

    /// Returns the bytes that come next, up to the size of a buffer, without taking them; empty at the end.
    ///
    /// # Errors
    /// When the source cannot be read.
    pub fn peek(&mut self) -> Result<&[u8], DataError> {
        self.input.fill_buf().map_err(|error| unreadable(&self.source_name, &error))
    }

    /// Returns the name of the source, and its bytes, unpacked, from here on.
    pub fn into_bytes(self) -> (String, Box<dyn BufRead>) {
        (self.source_name, self.input)
    }

    /// Returns the next line as it is, and its number from 1; `None` at the end.
    ///
    /// # Errors
    /// When the source cannot be read.
    pub fn next_bytes(&mut self) -> Result<Option<(u64, &[u8])>, DataError> {
        self.line.clear();
        let read =
            self.input.read_until(b'\n', &mut self.line).map_err(|error| unreadable(&self.source_name, &error))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        }
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        Ok(Some((self.number, &self.line)))
    }

    /// Returns the next line and its number from 1; `None` at the end.
    ///
    /// # Errors
    /// When the source cannot be read, or the line is not UTF-8.
    pub fn next_line(&mut self) -> Result<Option<(u64, &str)>, DataError> {
        if self.next_bytes()?.is_none() {
            return Ok(None);
        }
        match std::str::from_utf8(&self.line) {
            Ok(text) => Ok(Some((self.number, text))),
            Err(error) => Err(DataError::at(
                &self.source_name,
                Spot::of(self.number, &self.line, error.valid_up_to()),
                format!("byte 0x{:02x} is not UTF-8", self.line[error.valid_up_to()]),
                "convert the file with 'iconv -t UTF-8'",
            )),
        }
    }
}

fn unpacked(unpacker: impl Read + 'static) -> Box<dyn BufRead> {
    Box::new(Bounded::new(BufReader::with_capacity(64 << 10, unpacker)))
}

/// The frames of a zstd file, one after the other.
struct Frames<R: BufRead> {
    /// Where the next frame begins; `None` within one.
    raw: Option<R>,
    frame: Option<StreamingDecoder<R, FrameDecoder>>,
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                match frame.read(buffer)? {
                    0 => self.raw = self.frame.take().map(StreamingDecoder::into_inner),
                    read => return Ok(read),
                }
            }
            let Some(mut raw) = self.raw.take() else { return Ok(0) };
            if raw.fill_buf()?.is_empty() {
                return Ok(0);
            }
            self.frame = Some(StreamingDecoder::new(raw).map_err(io::Error::other)?);
        }
    }
}

/// Makes the error for an input that cannot be read, or not to its end.
pub fn unreadable(source_name: &str, error: &io::Error) -> DataError {
    if error.kind() == io::ErrorKind::OutOfMemory {
        return DataError::whole(source_name, error.to_string(), "use a smaller file, or free some memory");
    }
    DataError::whole(
        source_name,
        format!("cannot be read: {error}"),
        "check that the file is whole ('gzip -t', 'xz -t' or 'zstd -t' where it is packed)",
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Lines;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;
    use std::path::PathBuf;

    fn all(mut lines: Lines) -> Vec<(u64, String)> {
        let mut found = Vec::new();
        while let Some((number, line)) = lines.next_line().unwrap() {
            found.push((number, line.to_owned()));
        }
        found
    }

    #[test]
    fn a_plain_file_and_its_gz_have_the_same_lines_whatever_their_names() {
        let directory = tempfile::tempdir().unwrap();
        let text = "one\r\ntwo\n\nlast without end";
        let plain = directory.path().join("plain.gz");
        std::fs::write(&plain, text).unwrap();
        let packed = directory.path().join("packed.tsv");
        let mut encoder = GzEncoder::new(std::fs::File::create(&packed).unwrap(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap();
        let expected = [(1, "one"), (2, "two"), (3, ""), (4, "last without end")].map(|(n, s)| (n, s.to_owned()));
        assert_eq!(all(Lines::open(&plain).unwrap()), expected);
        assert_eq!(all(Lines::open(&packed).unwrap()), expected);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        let directory = tempfile::tempdir().unwrap();
        let marked = directory.path().join("marked.jsonl");
        std::fs::write(&marked, "\u{feff}{\"_id\": 1}\nnext \u{feff}\n").unwrap();
        let expected = [(1, "{\"_id\": 1}"), (2, "next \u{feff}")].map(|(n, s)| (n, s.to_owned()));
        assert_eq!(all(Lines::open(&marked).unwrap()), expected);
    }

    #[test]
    fn a_cut_gz_a_directory_and_a_missing_file_are_distinct() {
        let directory = tempfile::tempdir().unwrap();
        let cut = directory.path().join("cut.gz");
        std::fs::write(&cut, [0x1f, 0x8b, 8, 0, 0]).unwrap();
        let error = Lines::open(&cut).err().unwrap().to_string();
        assert!(error.contains("cut.gz") && error.contains("gzip -t"), "{error}");
        let error = Lines::open(directory.path()).err().unwrap().to_string();
        assert!(error.contains("directory"), "{error}");
        let error = Lines::open(&directory.path().join("none")).err().unwrap().to_string();
        assert!(error.contains("No such file") && error.contains("readable file"), "{error}");
    }

    #[test]
    fn what_can_be_read_once_only_is_refused_before_it_is_opened() {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("socket");
        let _listens = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let pipe = directory.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let of_this_process = ["/dev/null", "/dev/stdin", "/proc/version"].map(PathBuf::from);
        for path in [pipe, socket].iter().chain(&of_this_process) {
            let error = Lines::open(path).err().unwrap().to_string();
            assert!(
                error.contains("it is not a regular file") && error.contains("write it to a file first"),
                "{error}"
            );
        }
    }

    #[test]
    fn what_xz_and_zstd_wrote_is_unpacked_and_what_is_cut_off_is_named() {
        // By their own programs; of zstd two files, one behind the other.
        const XZ: &[u8] = b"\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3\x01\x00\x19\x6f\x6e\x65\x0d\x0a\x74\x77\x6f\x0a\x0a\x6c\x61\x73\x74\x20\x77\x69\x74\x68\x6f\x75\x74\x20\x65\x6e\x64\x00\x00\x00\xc0\xe0\xe6\x61\xed\x0f\x6e\x66\x00\x01\x32\x1a\x20\x18\x94\x30\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a";
        const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd\x04\x58\x41\x00\x00\x6f\x6e\x65\x0d\x0a\x74\x77\x6f\x3a\x6e\xc0\x55\x28\xb5\x2f\xfd\x04\x58\x91\x00\x00\x0a\x0a\x6c\x61\x73\x74\x20\x77\x69\x74\x68\x6f\x75\x74\x20\x65\x6e\x64\xcd\x4d\xa6\xf6";
        let lines = ["one", "two", "", "last without end"].map(str::to_owned);
        for packed in [XZ, ZSTD] {
            let found = all(Lines::of_bytes("packed", packed).unwrap());
            assert_eq!(found.into_iter().map(|(_, line)| line).collect::<Vec<_>>(), lines);
            let cut = Lines::of_bytes("packed", &packed[..packed.len() - 12]).and_then(|mut lines| {
                while lines.next_line()?.is_some() {}
                Ok(())
            });
            let error = cut.unwrap_err().to_string();
            assert!(error.contains("cannot be read") && error.contains("'xz -t' or 'zstd -t'"), "{error}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_named_by_line_and_column() {
        let mut lines = Lines::of_bytes("test", b"good\n\xc3\xa4b\xff\n").unwrap();
        lines.next_line().unwrap();
        let error = lines.next_line().unwrap_err().to_string();
        assert!(error.starts_with("test, line 2, column 3: byte 0xff"), "{error}");
    }
}
