//! The copies that the relay sends to the tape.

/// What happened on a connection, with its time in microseconds since the recording began.
pub(crate) struct Chunk {
    pub(crate) connection: u32,
    pub(crate) time_us: u64,
    pub(crate) what: Happened,
}

/// What happened.
pub(crate) enum Happened {
    /// A client connected.
    Opened,
    /// It sent these bytes.
    Asked(Vec<u8>),
    /// The store sent these.
    Answered(Vec<u8>),
    /// Nothing more comes from either side.
    Closed,
    /// The recording ends.
    End,
}
