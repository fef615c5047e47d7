//! Sets of ids by the server's own commands: members of sets (SADD, SINTERCARD, SUNIONSTORE), arrays of bits over an index that
//! kvtrial keeps (SETBIT, BITOP, BITCOUNT), and HyperLogLogs (PFADD, PFCOUNT). One connection, commands in batches.

use super::item::{Found, Item, item};
use super::resp::{Login, Resp, Script, request};
use ground::bit_sets;
use ground::id_index::IdIndex;
use std::ops::Range;
use std::time::{Duration, Instant};
use store::wire::Talk;
use store::{
    Choice, Endpoint, KeepSets, OptionInfo, SET_RESULT_KEY, SetCombination, SetKeeper, SetPlan, SetPrecision, SetWay,
    StoreError, set_key,
};

/// The option that chooses the way; `elements` is none of the server's.
pub const WAY: Choice<Option<SetWay>> = OptionInfo::one_of(
    "way",
    &[MEMBERS.name, BITS.name, HLL.name, "elements"],
    "how it keeps sets of ids (job sets): SADD and SINTERCARD, SETBIT and BITOP over an index, PFADD and PFCOUNT, or a key per id",
)
.means(&[Some(MEMBERS), Some(BITS), Some(HLL), None]);

const MEMBERS: SetWay = SetWay { name: "members", precision: SetPrecision::Exact };
const BITS: SetWay = SetWay { name: "bits", precision: SetPrecision::Exact };
const HLL: SetWay = SetWay { name: "hll", precision: SetPrecision::HyperLogLog { registers: 1 << 14 } };

/// The number of ids per command.
const IDS_PER_COMMAND: usize = 500;

/// The number of ids whose commands are sent before their replies are read.
const IDS_PER_BATCH: usize = 20_000;

/// The number of bytes of an array of bits that are read at once.
const PIECE_BYTES: usize = 1 << 20;

/// The most bits an array may have: an array is a value of at most 512 MiB.
const MOST_BITS: usize = 1 << 32;

/// The server's ability to keep sets, in one of its ways.
pub struct RedisWay {
    pub endpoint: Endpoint,
    pub way: SetWay,
}

impl KeepSets for RedisWay {
    fn way(&self) -> SetWay {
        self.way
    }

    fn set_keeper(&self, plan: SetPlan, patience: Duration) -> Result<Box<dyn SetKeeper>, StoreError> {
        Ok(Box::new(RedisSets::open(&self.endpoint, self.way, plan, patience)?))
    }
}

/// Sets in a server.
struct RedisSets {
    talk: Talk,
    endpoint: Endpoint,
    way: SetWay,
    patience: Duration,
    sets: usize,
    index: Option<IdIndex>,
}

/// Opens a connection.
fn talk(endpoint: &Endpoint) -> Result<Talk, StoreError> {
    Talk::open(endpoint, Resp::new(Login::of(endpoint).with(Script::Left)))
}

/// A command: its words, bytes by bytes.
type Command<'a> = &'a [&'a [u8]];

impl RedisSets {
    /// Makes empty sets.
    ///
    /// # Errors
    /// The server cannot be reached; more ids than an array of bits can have.
    fn open(endpoint: &Endpoint, way: SetWay, plan: SetPlan, patience: Duration) -> Result<RedisSets, StoreError> {
        let talk = talk(endpoint)?;
        let index = (way == BITS).then(|| IdIndex::new(plan.ids));
        if index.as_ref().is_some_and(|index| index.numbers() > MOST_BITS) {
            let problem =
                "way=bits: a string of the server holds 2^32 bits, and the ids may need more; use way=members";
            return Err(StoreError::Session(problem.into()));
        }
        let mut sets = RedisSets { talk, endpoint: endpoint.clone(), way, patience, sets: plan.sets, index };
        sets.forget()?;
        Ok(sets)
    }

    /// Deletes the sets.
    fn forget(&mut self) -> Result<(), StoreError> {
        let keys: Vec<String> = (0..self.sets).map(set_key).chain([SET_RESULT_KEY.to_owned()]).collect();
        let words: Vec<&[u8]> = [&b"DEL"[..]].into_iter().chain(keys.iter().map(String::as_bytes)).collect();
        self.number(&words).map(|_| ())
    }

    /// Sends these bytes and hands over the `replies` items of the answer.
    fn ask<T>(
        &mut self,
        bytes: &[u8],
        replies: usize,
        mut take: impl FnMut(Item<'_>) -> Result<Option<T>, String>,
    ) -> Result<Vec<T>, StoreError> {
        let (mut at, mut left, mut taken) = (0, replies, Vec::new());
        self.talk.ask_until(Instant::now() + self.patience, bytes, |input| {
            while left > 0 {
                match item(input, at) {
                    Found::Item { item: Item::Array(items), end } => (left, at) = (left - 1 + items, end),
                    Found::Item { item: Item::Error(words), .. } => return Err(String::from_utf8_lossy(words).into()),
                    Found::Item { item, end } => {
                        taken.extend(take(item)?);
                        (left, at) = (left - 1, end);
                    }
                    Found::Incomplete { .. } => return Ok(None),
                    Found::Broken(problem) => return Err(format!("this is not RESP: expected {problem}")),
                }
            }
            if at < input.len() { Err("more arrived than was asked for".into()) } else { Ok(Some(())) }
        })?;
        Ok(taken)
    }

    /// Sends a command that answers with a number.
    fn number(&mut self, command: Command<'_>) -> Result<u64, StoreError> {
        let mut bytes = Vec::new();
        request(&mut bytes, command[0], &command[1..]);
        let numbers = self.ask(&bytes, 1, |item| Ok(Some(number(item)?)))?;
        numbers.first().copied().ok_or_else(|| self.odd("no number came"))
    }

    /// Sends a command that answers with strings.
    fn texts(&mut self, command: Command<'_>) -> Result<Vec<Vec<u8>>, StoreError> {
        let mut bytes = Vec::new();
        request(&mut bytes, command[0], &command[1..]);
        self.ask(&bytes, 1, |item| match item {
            Item::Bulk(text) => Ok(Some(text.to_vec())),
            other => Err(format!("strings were expected, not {other:?}")),
        })
    }

    fn odd(&self, problem: &str) -> StoreError {
        StoreError::open(&self.endpoint, problem)
    }

    /// Stores the union or intersection of sets under the key for it, and returns how many ids or bits it has.
    fn combine(&mut self, combination: SetCombination, sets: Range<usize>) -> Result<u64, StoreError> {
        let keys: Vec<String> = sets.map(set_key).collect();
        let keys = keys.iter().map(String::as_bytes);
        let result = SET_RESULT_KEY.as_bytes();
        let union = combination == SetCombination::Union;
        if self.way == BITS {
            let operator: &[u8] = if union { b"OR" } else { b"AND" };
            let words: Vec<&[u8]> = [&b"BITOP"[..], operator, result].into_iter().chain(keys).collect();
            self.number(&words)?;
            return self.number(&[b"BITCOUNT", result]);
        }
        let command: &[u8] = if union { b"SUNIONSTORE" } else { b"SINTERSTORE" };
        let words: Vec<&[u8]> = [command, result].into_iter().chain(keys).collect();
        self.number(&words)
    }

    /// Hands over the ids of the set under a key.
    fn each_member(&mut self, key: &[u8], visit: &mut dyn FnMut(u64)) -> Result<(), StoreError> {
        let mut cursor = b"0".to_vec();
        // A scan may hand over a member twice while a table shrinks or grows; this set is not changed any more.
        loop {
            let mut texts = self.texts(&[b"SSCAN", key, &cursor, b"COUNT", b"5000"])?.into_iter();
            cursor = texts.next().ok_or_else(|| self.odd("a scan came without a cursor"))?;
            for text in texts {
                let id = std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok());
                visit(id.ok_or_else(|| self.odd("a member is no id"))?);
            }
            if cursor == b"0" {
                return Ok(());
            }
        }
    }

    /// Hands over the ids of the array of bits under a key.
    fn each_bit(&mut self, key: &[u8], visit: &mut dyn FnMut(u64)) -> Result<(), StoreError> {
        let Some(numbers) = self.index.as_ref().map(IdIndex::numbers) else { return Ok(()) };
        for from in (0..numbers.div_ceil(8)).step_by(PIECE_BYTES) {
            let (first, last) = (from.to_string(), (from + PIECE_BYTES - 1).to_string());
            let piece = self.texts(&[b"GETRANGE", key, first.as_bytes(), last.as_bytes()])?.concat();
            let words = piece.chunks(8).map(|bytes| {
                let mut word = [0; 8];
                // The first bit of a byte is its highest.
                word.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte.reverse_bits());
                u64::from_le_bytes(word)
            });
            let index = self.index.as_ref();
            bit_sets::numbers(words).for_each(|number| {
                visit(index.map_or(0, |index| index.id(8 * from + number)));
            });
        }
        Ok(())
    }
}

fn number(item: Item<'_>) -> Result<u64, String> {
    match item {
        Item::Number(number) => u64::try_from(number).map_err(|_| format!("{number} was answered")),
        other => Err(format!("a number was expected, not {other:?}")),
    }
}

impl Drop for RedisSets {
    fn drop(&mut self) {
        // A server that is gone has none.
        let _ = self.forget();
    }
}

impl SetKeeper for RedisSets {
    fn add(&mut self, set: usize, ids: &[u64]) -> Result<(), StoreError> {
        let key = set_key(set);
        let mut bytes = Vec::new();
        for batch in ids.chunks(IDS_PER_BATCH) {
            bytes.clear();
            let mut replies = 0;
            if let Some(index) = &mut self.index {
                index.each_number(batch, |number| {
                    request(&mut bytes, b"SETBIT", &[key.as_bytes(), number.to_string().as_bytes(), b"1"]);
                    Ok(())
                })?;
                replies = batch.len();
            } else {
                let command: &[u8] = if self.way == HLL { b"PFADD" } else { b"SADD" };
                for ids in batch.chunks(IDS_PER_COMMAND) {
                    let texts: Vec<String> = ids.iter().map(u64::to_string).collect();
                    let words: Vec<&[u8]> =
                        [key.as_bytes()].into_iter().chain(texts.iter().map(String::as_bytes)).collect();
                    request(&mut bytes, command, &words);
                    replies += 1;
                }
            }
            self.ask(&bytes, replies, |item| number(item).map(|_| None::<()>))?;
        }
        Ok(())
    }

    fn renew(&mut self) -> Result<(), StoreError> {
        self.talk = talk(&self.endpoint)?;
        Ok(())
    }

    fn count(&mut self, combination: SetCombination, sets: Range<usize>) -> Result<u64, StoreError> {
        let keys: Vec<String> = sets.clone().map(set_key).collect();
        let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
        match (self.way, keys.as_slice(), combination) {
            (HLL, keys, SetCombination::Union) => self.number(&[&[&b"PFCOUNT"[..]], keys].concat()),
            (HLL, _, SetCombination::Intersection) => Err(self.odd("a HyperLogLog has no intersections")),
            (BITS, [key], _) => self.number(&[b"BITCOUNT", key]),
            (_, [key], _) => self.number(&[b"SCARD", key]),
            (MEMBERS, keys, SetCombination::Intersection) => {
                let count = keys.len().to_string();
                match self.number(&[&[&b"SINTERCARD"[..], count.as_bytes()], keys].concat()) {
                    // Before Redis 7.0.
                    Err(error) if error.to_string().contains("unknown command") => self.combine(combination, sets),
                    counted => counted,
                }
            }
            _ => self.combine(combination, sets),
        }
    }

    fn members(
        &mut self,
        combination: SetCombination,
        sets: Range<usize>,
        visit: &mut dyn FnMut(u64),
    ) -> Result<(), StoreError> {
        let single = set_key(sets.start);
        let key = if sets.len() == 1 { single.as_bytes() } else { SET_RESULT_KEY.as_bytes() };
        if sets.len() > 1 {
            self.combine(combination, sets)?;
        }
        if self.way == BITS { self.each_bit(key, visit) } else { self.each_member(key, visit) }
    }

    fn bytes(&mut self) -> Result<Option<u64>, StoreError> {
        let mut all = self.index.as_ref().map_or(0, IdIndex::bytes);
        for set in 0..self.sets {
            match self.number(&[b"MEMORY", b"USAGE", set_key(set).as_bytes(), b"SAMPLES", b"1000"]) {
                Ok(bytes) => all += bytes,
                Err(_) => return Ok(None), // a relative that does not say
            }
        }
        Ok(Some(all))
    }
}
