//! What the prelude yields first: the operation a client asks for.

pub(crate) const GET: u8 = 1;
pub(crate) const PUT: u8 = 2;
pub(crate) const DELETE: u8 = 3;
pub(crate) const APPEND: u8 = 4;
pub(crate) const INCREMENT: u8 = 5;
pub(crate) const GET_COUNTER: u8 = 6;
pub(crate) const INCREMENT_FIELD: u8 = 7;
pub(crate) const GET_FIELDS: u8 = 8;
pub(crate) const GET_VERSIONED: u8 = 9;
pub(crate) const CAS: u8 = 10;
pub(crate) const GET_MANY: u8 = 11;
pub(crate) const PUT_MANY: u8 = 12;
pub(crate) const SCAN: u8 = 13;
