//! One connection: requests in, replies out, in the order of the requests. Behaves as Tokyo Tyrant 1.1.41 does: a status of 1 and
//! nothing more for what fails, and the connection is dropped at what it does not understand.

use super::cabinet::{self, Cabinet};
use super::text;
use std::io::{BufRead, BufReader, BufWriter, Error, ErrorKind, Read, Result, Write};

/// Longest argument taken, in bytes.
const MAX_ARGUMENT_BYTES: u32 = 256 << 20;
/// Most keys of one request.
const MAX_KEYS: u32 = 1 << 20;

const MAGIC: u8 = 0xC8;
const FAILED: &[u8] = &[1];

/// Answers until the client closes the connection.
pub fn hold(input: impl Read, output: impl Write, cabinet: &Cabinet) -> Result<()> {
    let (mut input, mut output) = (BufReader::with_capacity(64 << 10, input), BufWriter::new(output));
    while !input.fill_buf()?.is_empty() {
        let goes_on = if input.buffer().first() == Some(&MAGIC) {
            let [_, command] = bytes(&mut input)?;
            answer(command, &mut input, &mut output, cabinet).map(|()| true)?
        } else {
            text::answer(&mut input, &mut output, cabinet)?
        };
        if !goes_on && input.buffer().is_empty() {
            output.flush()?;
            return Err(Error::new(ErrorKind::InvalidData, "no such command"));
        }
        // Replies to a pipeline leave together, as soon as no request is left in the buffer.
        if input.buffer().is_empty() {
            output.flush()?;
        }
    }
    Ok(())
}

fn answer(command: u8, input: &mut impl Read, output: &mut impl Write, cabinet: &Cabinet) -> Result<()> {
    match command {
        0x10..=0x12 => {
            let (key_bytes, value_bytes) = (size(input)?, size(input)?);
            let (key, value) = (take(input, key_bytes)?, take(input, value_bytes)?);
            let done = match command {
                0x10 => cabinet.put(&key, &value),
                0x11 => cabinet.put_keep(&key, &value),
                _ => cabinet.put_cat(&key, &value),
            };
            status(output, done)
        }
        0x20 => {
            let key = key(input)?;
            status(output, cabinet.out(&key))
        }
        0x30 => match cabinet.get(&key(input)?) {
            Some(value) => sized(output, &value),
            None => output.write_all(FAILED),
        },
        0x31 => get_many(input, output, cabinet),
        0x38 => match cabinet.get(&key(input)?) {
            Some(value) => number(output, value.len() as u32),
            None => output.write_all(FAILED),
        },
        0x60 => {
            let (key_bytes, by) = (size(input)?, i32::from_be_bytes(bytes(input)?));
            let key = take(input, key_bytes)?;
            match cabinet.add_int(&key, by) {
                i32::MIN => output.write_all(FAILED),
                sum => number(output, sum as u32),
            }
        }
        0x70 => status(output, cabinet.sync()),
        0x72 => status(output, cabinet.vanish()),
        0x80 => {
            output.write_all(&[0])?;
            output.write_all(&cabinet.records().to_be_bytes())
        }
        0x90 => misc(input, output, cabinet),
        0x88 => sized(output, statistics(cabinet)?.as_bytes()),
        _ => Err(Error::new(ErrorKind::InvalidData, format!("no command {command:#04x} in the test server"))),
    }
}

fn get_many(input: &mut impl Read, output: &mut impl Write, cabinet: &Cabinet) -> Result<()> {
    let count = u32::from_be_bytes(bytes(input)?);
    if count > MAX_KEYS {
        return Err(Error::new(ErrorKind::InvalidData, "too many keys"));
    }
    let keys = (0..count).map(|_| key(input)).collect::<Result<Vec<_>>>()?;
    let found: Vec<_> = keys.into_iter().filter_map(|key| cabinet.get(&key).map(|value| (key, value))).collect();
    number(output, found.len() as u32)?;
    for (key, value) in found {
        output.write_all(&(key.len() as u32).to_be_bytes())?;
        output.write_all(&(value.len() as u32).to_be_bytes())?;
        output.write_all(&key)?;
        output.write_all(&value)?;
    }
    Ok(())
}

/// The command that calls a function by its name; of these there is `putlist` here.
fn misc(input: &mut impl Read, output: &mut impl Write, cabinet: &Cabinet) -> Result<()> {
    let (name_bytes, _options) = (size(input)?, u32::from_be_bytes(bytes(input)?));
    let count = u32::from_be_bytes(bytes(input)?);
    let name = take(input, name_bytes)?;
    if count > MAX_KEYS || name != b"putlist" {
        return Err(Error::new(ErrorKind::InvalidData, "no such function in the test server"));
    }
    let mut done = true;
    for _ in 0..count / 2 {
        let (key, value) = (key(input)?, key(input)?);
        done &= cabinet.put(&key, &value);
    }
    status(output, done)?;
    output.write_all(&0u32.to_be_bytes())
}

fn statistics(cabinet: &Cabinet) -> Result<String> {
    let version = cabinet::version().map_err(Error::other)?;
    let records = cabinet.records();
    let big_endian = u8::from(cfg!(target_endian = "big"));
    Ok(format!(
        "version\t{version} (kvtrial test server, not Tokyo Tyrant)\nprotver\t0.91\ntype\thash\nrnum\t{records}\n\
         bigend\t{big_endian}\n"
    ))
}

fn bytes<const N: usize>(input: &mut impl Read) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn size(input: &mut impl Read) -> Result<u32> {
    match u32::from_be_bytes(bytes(input)?) {
        size if size <= MAX_ARGUMENT_BYTES => Ok(size),
        _ => Err(Error::new(ErrorKind::InvalidData, "argument too long")),
    }
}

fn take(input: &mut impl Read, size: u32) -> Result<Vec<u8>> {
    let mut taken = vec![0; size as usize];
    input.read_exact(&mut taken)?;
    Ok(taken)
}

fn key(input: &mut impl Read) -> Result<Vec<u8>> {
    let bytes = size(input)?;
    take(input, bytes)
}

fn status(output: &mut impl Write, done: bool) -> Result<()> {
    output.write_all(&[u8::from(!done)])
}

fn number(output: &mut impl Write, number: u32) -> Result<()> {
    output.write_all(&[0])?;
    output.write_all(&number.to_be_bytes())
}

fn sized(output: &mut impl Write, value: &[u8]) -> Result<()> {
    number(output, value.len() as u32)?;
    output.write_all(value)
}
