//! The protocol of MySQL 8.

use std::sync::LazyLock;

/// Bytes of a row's packet with its header; 256 of them are one round of packet numbers.
const ROW_BYTES: usize = 200;

/// Largest part of a packet.
const MOST_PART: usize = (1 << 24) - 1;

fn packet(number: usize, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    [&length[..3], &[number as u8], payload].concat()
}

/// What the server says first: it knows prepared statements and ends rows without an extra packet.
pub fn greeting() -> Vec<u8> {
    let mut payload = b"\x0a8.0.33\0\x01\0\0\x0012345678\0".to_vec();
    payload.extend_from_slice(&0xA20B_u16.to_le_bytes());
    payload.extend_from_slice(b"\x3f\x02\0");
    payload.extend_from_slice(&0x010F_u16.to_le_bytes());
    payload.extend_from_slice(b"\x15\0\0\0\0\0\0\0\0\0\x00123456789012\0mysql_native_password\0");
    packet(0, &payload)
}

fn done(number: usize) -> Vec<u8> {
    packet(number, b"\0\0\0\x02\0\0\0")
}

/// A column or parameter of bytes.
fn column(number: usize) -> Vec<u8> {
    packet(number, b"\x03def\0\0\0\x01v\0\x0c\x3f\0\xff\xff\xff\xff\xfc\0\0\0\0\0")
}

/// One answer to every statement; `rows` makes the head of those to statements that were prepared, and what is then repeated, from the
/// number of columns.
pub fn answer(request: &[u8], rows: fn(usize) -> (Vec<u8>, &'static [u8])) -> (Vec<u8>, &'static [u8]) {
    match request {
        // The login is the second packet of a conversation.
        [_, _, _, 1, ..] => (done(2), b""),
        [_, _, _, 0, 0x16, statement @ ..] => {
            let text = String::from_utf8_lossy(statement);
            let parameters = text.matches('?').count();
            let columns = match text.strip_prefix("SELECT ").and_then(|rest| rest.split_once(" FROM")) {
                Some((columns, _)) => columns.split(',').count(),
                None => 0,
            };
            // The number of columns is the statement's number, too.
            let head = [0, columns as u8, 0, 0, 0, columns as u8, 0, parameters as u8, 0, 0, 0, 0];
            let defined = (2..2 + parameters + columns).flat_map(column);
            (packet(1, &head).into_iter().chain(defined).collect(), b"")
        }
        [_, _, _, 0, 0x17, columns, ..] => {
            let columns = usize::from(*columns);
            if columns == 0 {
                return (done(1), b"");
            }
            let (head, endless) = rows(columns);
            let defined = (2..2 + columns).flat_map(column);
            (packet(1, &[columns as u8]).into_iter().chain(defined).chain(head).collect(), endless)
        }
        // A goodbye, and a statement that is not needed any more.
        [_, _, _, 0, 0x01 | 0x19, ..] => (Vec::new(), b""),
        _ => (done(1), b""),
    }
}

/// A value of 2 GiB: the first part of its packet, and whatever comes.
pub fn long(columns: usize) -> (Vec<u8>, &'static [u8]) {
    let head = [&[0xff, 0xff, 0xff, 2 + columns as u8, 0, 0, 0xfe][..], &(1_u64 << 31).to_le_bytes()].concat();
    assert_eq!(MOST_PART, 0xff_ffff);
    (head, b"v")
}

/// Rows of the key `k`, without end.
pub fn many(columns: usize) -> (Vec<u8>, &'static [u8]) {
    static ROUNDS: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| [1, 2].map(round));
    (Vec::new(), &ROUNDS[columns - 1])
}

fn round(columns: usize) -> Vec<u8> {
    let key: &[u8] = if columns == 2 { b"\x01k" } else { b"" };
    let mut row = [b"\0\0", key].concat();
    row.push((ROW_BYTES - 4 - row.len() - 1) as u8);
    row.resize(ROW_BYTES - 4, b'v');
    (0..256).flat_map(|number| packet((2 + columns + number) % 256, &row)).collect()
}
