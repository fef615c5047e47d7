//! What all protocols have in common: requests, answers, and how they are read and written.

/// The action a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Get {
        key: Vec<u8>,
    },
    GetMany {
        keys: Vec<Vec<u8>>,
    },
    Put {
        key: Vec<u8>,
        value: Vec<u8>,
        condition: Condition,
    },
    PutMany {
        pairs: Vec<(Vec<u8>, Vec<u8>)>,
    },
    Touch {
        key: Vec<u8>,
        ttl_ms: u64,
    },
    TimeLeft {
        key: Vec<u8>,
    },
    Append {
        key: Vec<u8>,
        value: Vec<u8>,
        missing: Missing,
    },
    Delete {
        key: Vec<u8>,
    },
    Add {
        key: Vec<u8>,
        by: i64,
        counter: Counter,
    },
    AddField {
        key: Vec<u8>,
        field: Vec<u8>,
        by: i64,
    },
    Fields {
        key: Vec<u8>,
    },
    DeleteMany {
        keys: Vec<Vec<u8>>,
    },
    AddMembers {
        key: Vec<u8>,
        members: Vec<Vec<u8>>,
    },
    Members {
        key: Vec<u8>,
    },
    /// How many members sets have together, or in common; kept under a key where one is given.
    Combine {
        into: Option<Vec<u8>>,
        combination: Combination,
        keys: Vec<Vec<u8>>,
    },
    /// How many keys there are.
    Count,
    /// A question about the server: these bytes are the answer.
    Say(Vec<u8>),
}

/// The combination that is made of sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combination {
    Union,
    Intersection,
}

/// The condition on which a put is carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    Always,
    /// Always; the value is gone after this many milliseconds.
    Until(u64),
    Absent,
    Version(u64),
    Value(Vec<u8>),
}

/// The effect of an append to a missing key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    Creates,
    Refuses,
}

/// The way a counter is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Decimal, 64 bits with sign; refuses to overflow.
    Signed,
    /// Decimal, 64 bits without sign; wraps around upwards and stays at zero downwards.
    Unsigned,
    /// Four bytes, little-endian; wraps around.
    Binary,
}

/// The response of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    Value {
        value: Vec<u8>,
        version: u64,
    },
    Values(Vec<(Vec<u8>, Option<Vec<u8>>)>),
    Missing,
    Done,
    Number(i128),
    /// A condition was not met because the key is there.
    Exists,
    /// A condition was not met because the key is not there.
    NotFound,
    Fields(Vec<(Vec<u8>, i64)>),
    Refused(&'static str),
    Raw(Vec<u8>),
}

/// One request, and how its answer is to be written.
pub struct Request<F> {
    pub action: Action,
    pub form: F,
}

/// The find at the start of some bytes.
pub enum Parsed<F> {
    Incomplete,
    Request {
        request: Request<F>,
        consumed: usize,
    },
    /// Not the protocol: the connection ends.
    Broken,
}

/// One protocol.
pub trait Dialect: Send + Sync {
    /// What of a request its answer depends on.
    type Form;

    /// Reads the request at the start of `input`.
    fn parse(&self, input: &[u8]) -> Parsed<Self::Form>;

    /// Writes an answer.
    fn render(&self, form: &Self::Form, response: &Response, out: &mut Vec<u8>);

    /// The begin of a value of a gigabyte or more, to this request.
    fn endless(&self, form: &Self::Form) -> Vec<u8>;

    /// What is not this protocol.
    fn garbage(&self) -> &'static [u8] {
        b"\x07\x07 this is not the protocol \x07\r\n"
    }
}

/// Returns the end of the line at the start of `input`, before its CR LF.
pub fn line_end(input: &[u8]) -> Option<usize> {
    input.windows(2).position(|pair| pair == b"\r\n")
}

/// Reads a decimal number.
pub fn decimal<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
