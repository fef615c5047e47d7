//! memcached's meta commands.

use super::dialect::{Action, Condition, Counter, Dialect, Missing, Parsed, Request, Response, decimal, line_end};

/// Longest key, as it travels.
const KEY_BYTES: usize = 250;

pub struct Memcached;

/// The parts a request wants to see in its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// `v`: the value.
    value: bool,
    /// `c`: the version.
    version: bool,
    /// `q`: nothing, when it is a miss.
    quiet: bool,
    /// `ME` or `MA`: what is not stored is said to be so, without a reason.
    plain_refusal: bool,
    /// Lines of statistics.
    statistics: bool,
    /// `T` without a value asked for: a miss is none of a write.
    touches: bool,
    /// The time left is asked for.
    time: bool,
    /// ` O…`, as it came.
    token: Vec<u8>,
}

impl Dialect for Memcached {
    type Form = Form;

    fn parse(&self, input: &[u8]) -> Parsed<Form> {
        let Some(end) = line_end(input) else { return Parsed::Incomplete };
        let words: Vec<&[u8]> = input[..end].split(|byte| *byte == b' ').filter(|word| !word.is_empty()).collect();
        let whole = end + 2;
        let say = |text: &str, consumed: usize| {
            let action = Action::Say(text.as_bytes().to_vec());
            Parsed::Request { request: Request { action, form: Form::default() }, consumed }
        };
        let (command, key, mut flags) = match words[..] {
            [b"mn"] => return say("MN\r\n", whole),
            [b"version"] => return say("VERSION 1.6.18\r\n", whole),
            [b"stats", b"settings"] => return say("STAT item_size_max 33554432\r\nEND\r\n", whole),
            [b"stats"] => {
                let form = Form { statistics: true, ..Form::default() };
                return Parsed::Request { request: Request { action: Action::Count, form }, consumed: whole };
            }
            [b"stats", ..] => return say("END\r\n", whole),
            [command @ (b"mg" | b"ms" | b"md" | b"ma"), key, ref flags @ ..] => (command, key, flags.to_vec()),
            _ => return say("ERROR\r\n", whole),
        };
        let mut consumed = whole;
        let mut data = Vec::new();
        if command == b"ms" {
            let size = flags.first().copied().and_then(decimal::<usize>);
            let Some(size) = size else { return say("CLIENT_ERROR bad data chunk\r\n", whole) };
            flags.remove(0);
            let Some(value) = input.get(whole..whole + size) else { return Parsed::Incomplete };
            consumed = whole + size + 2;
            match input.get(whole + size..consumed) {
                None => return Parsed::Incomplete,
                Some(b"\r\n") => data = value.to_vec(),
                Some(_) => return say("CLIENT_ERROR bad data chunk\r\n", consumed),
            }
        }
        let flag = |name: u8| flags.iter().find(|flag| flag[0] == name).map(|flag| &flag[1..]);
        let decoded = if flag(b'b').is_some() { base64(key) } else { Some(key.to_vec()) };
        let Some(key) = decoded.filter(|_| key.len() <= KEY_BYTES) else {
            return say("CLIENT_ERROR bad command line format\r\n", consumed);
        };
        let ttl_ms = flag(b'T').and_then(decimal::<u64>).map(|seconds| seconds * 1000);
        let form = Form {
            value: flag(b'v').is_some(),
            version: flag(b'c').is_some(),
            quiet: flag(b'q').is_some(),
            plain_refusal: matches!(flag(b'M'), Some(b"E" | b"A")),
            statistics: false,
            touches: command == b"mg" && ttl_ms.is_some(),
            time: command == b"mg" && flag(b't').is_some(),
            token: flag(b'O').map(|token| [b" O", token].concat()).unwrap_or_default(),
        };
        let action = match command {
            b"mg" => match ttl_ms {
                Some(ttl_ms) => Action::Touch { key, ttl_ms },
                None if form.time => Action::TimeLeft { key },
                None => Action::Get { key },
            },
            b"md" => Action::Delete { key },
            b"ma" => {
                let delta = flag(b'D').and_then(decimal::<u64>).unwrap_or(1);
                let start = flag(b'J').and_then(decimal::<u64>).unwrap_or(0);
                let by = if flag(b'M') == Some(b"D") { 0_i64.wrapping_sub_unsigned(delta) } else { delta as i64 };
                debug_assert!(start == by.max(0) as u64, "a counter starts at its first step");
                Action::Add { key, by, counter: Counter::Unsigned }
            }
            _ => match (flag(b'M'), flag(b'C').and_then(decimal::<u64>)) {
                (Some(b"A"), _) => Action::Append { key, value: data, missing: Missing::Refuses },
                (Some(b"E"), _) => Action::Put { key, value: data, condition: Condition::Absent },
                (_, Some(version)) => Action::Put { key, value: data, condition: Condition::Version(version) },
                _ => {
                    let condition = ttl_ms.map_or(Condition::Always, Condition::Until);
                    Action::Put { key, value: data, condition }
                }
            },
        };
        Parsed::Request { request: Request { action, form }, consumed }
    }

    fn endless(&self, form: &Form) -> Vec<u8> {
        [b"VA 1000000000", &form.token[..], b"\r\n"].concat()
    }

    fn render(&self, form: &Form, response: &Response, out: &mut Vec<u8>) {
        match response {
            Response::Value { value, version } => valued(out, form, value, Some(*version)),
            Response::Number(number) if form.statistics => {
                out.extend_from_slice(format!("STAT curr_items {number}\r\nSTAT evictions 0\r\nEND\r\n").as_bytes());
            }
            Response::Number(ms) if form.time => {
                let seconds = if *ms < 0 { *ms } else { ms / 1000 };
                out.extend_from_slice(format!("HD t{seconds}").as_bytes());
                status(out, b"", form);
            }
            Response::Number(number) if form.value => valued(out, form, number.to_string().as_bytes(), None),
            Response::Done | Response::Missing if form.quiet => {}
            Response::Done | Response::Number(_) => status(out, b"HD", form),
            Response::Missing if form.value || form.touches || form.time => status(out, b"EN", form),
            Response::NotFound | Response::Exists if form.plain_refusal => status(out, b"NS", form),
            Response::Missing | Response::NotFound => status(out, b"NF", form),
            Response::Exists => status(out, b"EX", form),
            Response::Refused(words) => {
                out.extend_from_slice(b"SERVER_ERROR ");
                out.extend_from_slice(words.as_bytes());
                out.extend_from_slice(b"\r\n");
            }
            Response::Raw(bytes) => out.extend_from_slice(bytes),
            Response::Values(_) | Response::Fields(_) => out.extend_from_slice(b"ERROR\r\n"),
        }
    }
}

fn valued(out: &mut Vec<u8>, form: &Form, value: &[u8], version: Option<u64>) {
    if !form.value {
        return status(out, b"HD", form);
    }
    out.extend_from_slice(format!("VA {}", value.len()).as_bytes());
    if let (true, Some(version)) = (form.version, version) {
        out.extend_from_slice(format!(" c{version}").as_bytes());
    }
    out.extend_from_slice(&form.token);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

fn status(out: &mut Vec<u8>, word: &[u8], form: &Form) {
    out.extend_from_slice(word);
    out.extend_from_slice(&form.token);
    out.extend_from_slice(b"\r\n");
}

/// Decodes base64 with padding.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let text = text.strip_suffix(b"==").or(text.strip_suffix(b"=")).unwrap_or(text);
    let (mut bits, mut held, mut out) = (0_u32, 0, Vec::with_capacity(text.len()));
    for byte in text {
        bits = bits << 6 | u32::from(digit(*byte)?);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    Some(out)
}
