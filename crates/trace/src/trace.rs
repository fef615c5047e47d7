//! The requests of a trace, a column per field: a column that the format does not have takes no memory.

use crate::builder::TraceBuilder;
use crate::format::TraceFormat;
use crate::input::TraceInput;
use crate::keys::TraceKeys;
use crate::lives::unpacked;
use data::DataError;
use data::lines::Lines;
use std::path::Path;

/// The trace that is shipped with the program.
static WEB12: &[u8] = include_bytes!("../../../data/trace/web12.trace.xz");

/// The name of the trace that is shipped with the program.
pub const SHIPPED: &str = "web12";

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RequestKind {
    /// Reads a value.
    Get,
    /// Writes a value, in whatever way.
    Set,
    /// Removes a key.
    Delete,
    /// Gives a key another time to live.
    Touch,
}

/// What is to be read of a file, and as what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// The format; `None`: the one that the file shows.
    pub format: Option<TraceFormat>,
    /// Requests to read; the rest is left alone.
    pub most: u64,
    /// Seed of the moments within a second, where the format has whole seconds.
    pub seed: u64,
}

/// A trace in memory.
#[derive(Debug)]
pub struct Trace {
    source_name: String,
    format: TraceFormat,
    pub(crate) keys: TraceKeys,
    pub(crate) ids: Vec<u32>,
    /// Empty: all are gets.
    pub(crate) kinds: Vec<RequestKind>,
    /// Empty: the format has none. 0: not known of this request.
    pub(crate) sizes: Vec<u32>,
    /// Microseconds since the first. Empty: the format has none.
    pub(crate) times_us: Vec<u64>,
    /// Times to live that requests give their keys ([`lives`](crate::lives)). Empty: none gives any. 0: this one gives none.
    pub(crate) ttls: Vec<u32>,
    /// Numbers of the writes whose key lives as long as before, ascending: their time to live is what was left of it.
    pub(crate) kept_lives: Vec<u32>,
    /// Commands or rows that are no request for a value, and were left out.
    pub(crate) left_out: u64,
    /// Writes of another kind (append, increment, compare and set) that count as sets.
    pub(crate) other_writes: u64,
    /// Whether it is a recording that was not closed.
    pub(crate) is_cut_off: bool,
}

impl Trace {
    /// Reads the trace that is shipped with the program, or a file, plain or packed.
    ///
    /// # Errors
    /// Names the line or the byte that is no request, and the remedy.
    pub fn read(path: &Path, options: TraceOptions) -> Result<Trace, DataError> {
        if path == Path::new(SHIPPED) {
            return Trace::of_bytes(
                "web12.trace.xz",
                WEB12,
                TraceOptions { format: Some(TraceFormat::Cache2k), ..options },
            );
        }
        Trace::of_lines(Lines::open(path)?, &path.display().to_string(), options)
    }

    /// Reads bytes in memory, plain or packed, under the name of a file.
    ///
    /// # Errors
    /// Names the line or the byte that is no request, and the remedy.
    pub fn of_bytes(name: &str, bytes: &'static [u8], options: TraceOptions) -> Result<Trace, DataError> {
        Trace::of_lines(Lines::of_bytes(name, bytes)?, name, options)
    }

    fn of_lines(lines: Lines, name: &str, options: TraceOptions) -> Result<Trace, DataError> {
        let mut input = TraceInput::new(lines);
        let format = match options.format {
            Some(format) => format,
            None => TraceFormat::seen(name, input.head()?)
                .ok_or_else(|| input.whole("it shows no format of a trace that is known", &TraceFormat::remedy()))?,
        };
        let mut builder = TraceBuilder::new(options.most);
        format.read(&mut input, &mut builder)?;
        if builder.trace.ids.is_empty() {
            return Err(input.whole("it holds no request", &TraceFormat::remedy()));
        }
        let mut trace = builder.trace;
        if format.counts_seconds() {
            crate::spread::over_seconds(&mut trace.times_us, options.seed);
        }
        Ok(Trace { source_name: input.into_name(), format, ..trace })
    }

    pub(crate) fn empty() -> Trace {
        Trace {
            source_name: String::new(),
            format: TraceFormat::Cache2k,
            keys: TraceKeys::default(),
            ids: Vec::new(),
            kinds: Vec::new(),
            sizes: Vec::new(),
            times_us: Vec::new(),
            ttls: Vec::new(),
            kept_lives: Vec::new(),
            left_out: 0,
            other_writes: 0,
            is_cut_off: false,
        }
    }

    /// Returns where it is from.
    pub fn source_name(&self) -> &str {
        &self.source_name
    }

    /// Returns the format it was read in.
    pub fn format(&self) -> TraceFormat {
        self.format
    }

    /// Returns the keys, by their numbers.
    pub fn keys(&self) -> &TraceKeys {
        &self.keys
    }

    /// Returns the number of the key of each request.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Returns what a request asks for.
    #[inline]
    pub fn kind(&self, request: usize) -> RequestKind {
        self.kinds.get(request).copied().unwrap_or(RequestKind::Get)
    }

    /// Returns the bytes of the value that a request reads or writes; `None`: the trace does not say.
    #[inline]
    pub fn value_bytes(&self, request: usize) -> Option<u32> {
        self.sizes.get(request).copied().filter(|&bytes| bytes > 0)
    }

    /// Returns when a request was made, in microseconds since the first; `None`: the trace does not say.
    #[inline]
    pub fn time_us(&self, request: usize) -> Option<u64> {
        self.times_us.get(request).copied()
    }

    /// Returns the time to live that a request gives its key; `None`: it gives none. What a set puts lasts then, what a get finds lives as before, and a
    /// touch lets it last.
    #[inline]
    pub fn ttl_ms(&self, request: usize) -> Option<u64> {
        self.ttls.get(request).copied().and_then(unpacked)
    }

    /// Returns the time to live that a request itself gives, in milliseconds, and not what was left of one before it.
    pub fn given_ttl_ms(&self, request: usize) -> Option<u64> {
        let is_kept = |number: u32| self.kept_lives.binary_search(&number).is_ok();
        self.ttl_ms(request).filter(|_| u32::try_from(request).is_ok_and(|number| !is_kept(number)))
    }

    /// Returns whether any request gives a time to live.
    pub fn has_ttls(&self) -> bool {
        !self.ttls.is_empty()
    }

    /// Returns whether the trace says when requests were made.
    pub fn is_timed(&self) -> bool {
        !self.times_us.is_empty()
    }

    /// Returns whether the trace says how large values are.
    pub fn is_sized(&self) -> bool {
        !self.sizes.is_empty()
    }

    /// Returns how many commands or rows are no request for a value, and were left out.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Returns how many writes of another kind (append, increment, compare and set) count as sets.
    pub fn other_writes(&self) -> u64 {
        self.other_writes
    }

    /// Returns whether it is a recording that was not closed: what was recorded in its last second may be missing.
    pub fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// Returns how many requests are of this kind.
    pub fn count(&self, kind: RequestKind) -> u64 {
        match self.kinds.is_empty() {
            true if kind == RequestKind::Get => self.ids.len() as u64,
            true => 0,
            false => self.kinds.iter().filter(|&&other| other == kind).count() as u64,
        }
    }
}
