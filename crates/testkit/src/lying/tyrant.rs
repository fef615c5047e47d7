//! Tokyo Tyrant's binary protocol.

use super::dialect::{Action, Condition, Counter, Dialect, Missing, Parsed, Request, Response};

pub struct Tyrant;

/// The form of what follows the status of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Nothing.
    Status,
    /// A 32-bit number, or sized bytes.
    Result,
    /// Statistics, one of which is the number.
    Statistics,
    /// The elements a function returned, of which there are none.
    NoElements,
}

impl Dialect for Tyrant {
    type Form = Form;

    fn parse(&self, input: &[u8]) -> Parsed<Form> {
        match input {
            [] | [0xC8] => Parsed::Incomplete,
            [0xC8, command, ..] => match parse(*command, &mut Reader { input, at: 2 }) {
                Some(parsed) => parsed,
                None => Parsed::Incomplete,
            },
            _ => Parsed::Broken,
        }
    }

    fn endless(&self, _: &Form) -> Vec<u8> {
        [&[0][..], &2_000_000_000u32.to_be_bytes()].concat()
    }

    fn render(&self, form: &Form, response: &Response, out: &mut Vec<u8>) {
        match response {
            Response::Value { value, .. } => {
                out.push(0);
                sized(out, value);
            }
            Response::Values(values) => {
                let found = values.iter().filter_map(|(key, value)| value.as_ref().map(|value| (key, value)));
                out.push(0);
                out.extend_from_slice(&(found.clone().count() as u32).to_be_bytes());
                for (key, value) in found {
                    out.extend_from_slice(&(key.len() as u32).to_be_bytes());
                    out.extend_from_slice(&(value.len() as u32).to_be_bytes());
                    out.extend_from_slice(key);
                    out.extend_from_slice(value);
                }
            }
            Response::Done => {
                out.push(0);
                if *form == Form::NoElements {
                    out.extend_from_slice(&0_u32.to_be_bytes());
                }
            }
            Response::Number(records) if *form == Form::Statistics => {
                out.push(0);
                let text = format!("version\t1.1.41\ntype\thash\nprotver\t0.91\nrnum\t{records}\nbigend\t0\n");
                sized(out, text.as_bytes());
            }
            Response::Number(number) => {
                out.push(0);
                if *form == Form::Result {
                    out.extend_from_slice(&(*number as i32).to_be_bytes());
                }
            }
            Response::Missing | Response::Exists | Response::NotFound | Response::Refused(_) | Response::Fields(_) => {
                out.push(1)
            }
            Response::Raw(bytes) => out.extend_from_slice(bytes),
        }
    }
}

fn sized(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Reads sizes and bytes; `None` when they are not all there.
struct Reader<'a> {
    input: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn number(&mut self) -> Option<u32> {
        let bytes = self.input.get(self.at..self.at + 4)?.try_into().ok()?;
        self.at += 4;
        Some(u32::from_be_bytes(bytes))
    }

    fn bytes(&mut self, size: u32) -> Option<Vec<u8>> {
        let end = self.at + size as usize;
        let bytes = self.input.get(self.at..end)?.to_vec();
        self.at = end;
        Some(bytes)
    }

    fn key(&mut self) -> Option<Vec<u8>> {
        let size = self.number()?;
        self.bytes(size)
    }

    fn pair(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        let (key_bytes, value_bytes) = (self.number()?, self.number()?);
        Some((self.bytes(key_bytes)?, self.bytes(value_bytes)?))
    }
}

fn parse(command: u8, reader: &mut Reader<'_>) -> Option<Parsed<Form>> {
    let mut form = Form::Status;
    let action = match command {
        0x10 | 0x11 => {
            let (key, value) = reader.pair()?;
            let condition = if command == 0x11 { Condition::Absent } else { Condition::Always };
            Action::Put { key, value, condition }
        }
        0x12 => {
            let (key, value) = reader.pair()?;
            Action::Append { key, value, missing: Missing::Creates }
        }
        0x20 => Action::Delete { key: reader.key()? },
        0x30 => Action::Get { key: reader.key()? },
        0x31 => {
            let count = reader.number()?;
            Action::GetMany { keys: (0..count).map(|_| reader.key()).collect::<Option<_>>()? }
        }
        0x60 => {
            let key_bytes = reader.number()?;
            let by = i64::from(reader.number()? as i32);
            form = Form::Result;
            Action::Add { key: reader.bytes(key_bytes)?, by, counter: Counter::Binary }
        }
        0x90 => {
            let (name_bytes, _options, count) = (reader.number()?, reader.number()?, reader.number()?);
            let name = reader.bytes(name_bytes)?;
            let elements = (0..count).map(|_| reader.key()).collect::<Option<Vec<_>>>()?;
            if name != b"putlist" || elements.len() % 2 != 0 {
                return Some(Parsed::Broken);
            }
            form = Form::NoElements;
            Action::PutMany { pairs: elements.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect() }
        }
        0x80 => Action::Say([0; 9].to_vec()),
        0x88 => {
            form = Form::Statistics;
            Action::Count
        }
        _ => return Some(Parsed::Broken),
    };
    Some(Parsed::Request { request: Request { action, form }, consumed: reader.at })
}
