//! What an honest server would keep.

use super::dialect::{Action, Combination, Condition, Counter, Missing, Response, decimal};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Longest value of a memcached item, roughly; the other protocols take more than any test sends.
const LONGEST_VALUE_BYTES: usize = 32 << 20;

/// Values too short to be recognised are not lent to other keys.
const TELLING_BYTES: usize = 8;

#[derive(Default)]
pub struct Map {
    entries: BTreeMap<Vec<u8>, Entry>,
    fields: BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, i64>>,
    sets: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>,
    version: u64,
    /// The value put last, of whatever key.
    last: Vec<u8>,
}

#[derive(Clone)]
struct Entry {
    value: Vec<u8>,
    version: u64,
    previous: Option<Vec<u8>>,
    first: Vec<u8>,
    /// When its time to live is over.
    ends: Option<Instant>,
}

/// The past state of a key.
pub struct Past {
    key: Vec<u8>,
    entry: Option<Entry>,
    fields: Option<BTreeMap<Vec<u8>, i64>>,
    members: Option<BTreeSet<Vec<u8>>>,
}

impl Map {
    /// Returns what the keys are that this action writes.
    pub fn past(&self, action: &Action) -> Vec<Past> {
        let keys = match action {
            Action::Put { key, .. } | Action::Append { key, .. } | Action::Delete { key } => vec![key],
            Action::Touch { key, .. } => vec![key],
            Action::Add { key, .. } | Action::AddField { key, .. } | Action::AddMembers { key, .. } => vec![key],
            Action::PutMany { pairs } => pairs.iter().map(|(key, _)| key).collect(),
            Action::DeleteMany { keys } => keys.iter().collect(),
            Action::Combine { into, .. } => into.iter().collect(),
            Action::Get { .. } | Action::GetMany { .. } | Action::Fields { .. } | Action::Members { .. } => Vec::new(),
            Action::TimeLeft { .. } | Action::Count | Action::Say(_) => Vec::new(),
        };
        let past = |key: &Vec<u8>| Past {
            key: key.clone(),
            entry: self.entries.get(key).cloned(),
            fields: self.fields.get(key).cloned(),
            members: self.sets.get(key).cloned(),
        };
        keys.into_iter().map(past).collect()
    }

    /// Makes a key what it was.
    pub fn take_back(&mut self, Past { key, entry, fields, members }: Past) {
        match members {
            Some(members) => _ = self.sets.insert(key.clone(), members),
            None => _ = self.sets.remove(&key),
        }
        match entry {
            Some(entry) => _ = self.entries.insert(key.clone(), entry),
            None => _ = self.entries.remove(&key),
        }
        match fields {
            Some(fields) => _ = self.fields.insert(key, fields),
            None => _ = self.fields.remove(&key),
        }
    }

    /// Does what is asked, honestly.
    pub fn execute(&mut self, action: &Action) -> Response {
        if let Action::Get { key } | Action::Touch { key, .. } | Action::TimeLeft { key } | Action::Delete { key } =
            action
            && self.entries.get(key).and_then(|entry| entry.ends).is_some_and(|ends| ends <= Instant::now())
        {
            self.entries.remove(key);
        }
        match action {
            Action::Touch { key, ttl_ms } => match self.entries.get_mut(key) {
                Some(entry) => {
                    entry.ends = Some(Instant::now() + Duration::from_millis(*ttl_ms));
                    Response::Done
                }
                None => Response::Missing,
            },
            Action::TimeLeft { key } => match self.entries.get(key).map(|entry| entry.ends) {
                Some(Some(ends)) => {
                    Response::Number(ends.saturating_duration_since(Instant::now()).as_millis() as i128)
                }
                Some(None) => Response::Number(-1),
                None => Response::Missing,
            },
            Action::Get { key } => match self.entries.get(key) {
                Some(entry) => Response::Value { value: entry.value.clone(), version: entry.version },
                None => Response::Missing,
            },
            Action::GetMany { keys } => {
                let value = |key: &Vec<u8>| self.entries.get(key).map(|entry| entry.value.clone());
                Response::Values(keys.iter().map(|key| (key.clone(), value(key))).collect())
            }
            Action::Put { key, value, condition } => self.put_if(key, value, condition),
            Action::PutMany { pairs } => {
                pairs.iter().for_each(|(key, value)| self.put(key, value.clone()));
                Response::Done
            }
            Action::Append { key, value, missing } => match (self.entries.get(key), missing) {
                (None, Missing::Refuses) => Response::NotFound,
                (entry, _) => {
                    let mut whole = entry.map(|entry| entry.value.clone()).unwrap_or_default();
                    whole.extend_from_slice(value);
                    let length = whole.len();
                    self.put(key, whole);
                    Response::Number(length as i128)
                }
            },
            Action::Delete { key } => match self.remove(key) {
                true => Response::Done,
                false => Response::Missing,
            },
            Action::DeleteMany { keys } => Response::Number(keys.iter().filter(|key| self.remove(key)).count() as i128),
            Action::AddMembers { key, members } => {
                let set = self.sets.entry(key.clone()).or_default();
                Response::Number(members.iter().filter(|member| set.insert((*member).clone())).count() as i128)
            }
            Action::Members { key } => {
                let members = self.sets.get(key).into_iter().flatten();
                Response::Values(members.map(|member| (member.clone(), Some(member.clone()))).collect())
            }
            Action::Combine { into, combination, keys } => {
                let mut sets = keys.iter().map(|key| self.sets.get(key).cloned().unwrap_or_default());
                let first = sets.next().unwrap_or_default();
                let made: BTreeSet<Vec<u8>> = sets.fold(first, |made, set| match combination {
                    Combination::Union => made.union(&set).cloned().collect(),
                    Combination::Intersection => made.intersection(&set).cloned().collect(),
                });
                let count = made.len() as i128;
                into.iter().for_each(|key| _ = self.sets.insert(key.clone(), made.clone()));
                Response::Number(count)
            }
            Action::Add { key, by, counter } => self.add(key, *by, *counter),
            Action::AddField { key, field, by } => {
                let count = self.fields.entry(key.clone()).or_default().entry(field.clone()).or_default();
                match count.checked_add(*by) {
                    Some(sum) => {
                        *count = sum;
                        Response::Number(sum.into())
                    }
                    None => Response::Refused("increment or decrement would overflow"),
                }
            }
            Action::Fields { key } => {
                let record = self.fields.get(key);
                let fields = record.map(|record| record.iter().map(|(field, count)| (field.clone(), *count)).collect());
                Response::Fields(fields.unwrap_or_default())
            }
            Action::Count => Response::Number((self.entries.len() + self.fields.len() + self.sets.len()) as i128),
            Action::Say(words) => Response::Raw(words.clone()),
        }
    }

    /// Puts keys that nobody asked for.
    pub fn slip_in(&mut self, count: u32) {
        for number in 0..count {
            self.put(format!("nobody wrote {number}").as_bytes(), b"this".to_vec());
        }
    }

    /// Returns the value `key` had before its last change.
    pub fn previous(&self, key: &[u8]) -> Option<Vec<u8>> {
        let entry = self.entries.get(key)?;
        entry.previous.clone().filter(|previous| previous.len() >= TELLING_BYTES && *previous != entry.value)
    }

    /// Returns the value that was put last, if that is another than this key's.
    pub fn last_put(&self, key: &[u8]) -> Option<Vec<u8>> {
        let own = &self.entries.get(key)?.value;
        Some(self.last.clone()).filter(|last| last != own)
    }

    /// Returns the first value `key` had, if it has another now.
    pub fn first(&self, key: &[u8]) -> Option<Vec<u8>> {
        let entry = self.entries.get(key)?;
        Some(entry.first.clone()).filter(|first| *first != entry.value)
    }

    /// Returns a value of another key than this.
    pub fn another(&self, key: &[u8]) -> Option<Vec<u8>> {
        let own = &self.entries.get(key)?.value;
        let mut others = self.entries.iter().filter(|(other, _)| *other != key).map(|(_, entry)| &entry.value);
        others.find(|value| value.len() >= TELLING_BYTES && *value != own).cloned()
    }

    fn remove(&mut self, key: &[u8]) -> bool {
        self.entries.remove(key).is_some() | self.fields.remove(key).is_some() | self.sets.remove(key).is_some()
    }

    fn put(&mut self, key: &[u8], value: Vec<u8>) {
        self.version += 1;
        let before = self.entries.remove(key);
        let (previous, first) = before.map_or((None, value.clone()), |entry| (Some(entry.value), entry.first));
        self.last.clone_from(&value);
        self.entries.insert(key.to_vec(), Entry { value, version: self.version, previous, first, ends: None });
    }

    /// What becomes of a put with this condition.
    fn meets(&self, key: &[u8], condition: &Condition) -> Response {
        match (condition, self.entries.get(key)) {
            (Condition::Always | Condition::Until(_), _) | (Condition::Absent, None) => Response::Done,
            (Condition::Version(expected), Some(entry)) if entry.version == *expected => Response::Done,
            (Condition::Value(expected), Some(entry)) if entry.value == *expected => Response::Done,
            (_, Some(_)) => Response::Exists,
            (_, None) => Response::NotFound,
        }
    }

    /// Returns the same put without its condition, where that is not met.
    pub fn forced(&self, action: &Action) -> Option<Action> {
        let Action::Put { key, value, condition } = action else { return None };
        let forced = Action::Put { key: key.clone(), value: value.clone(), condition: Condition::Always };
        (self.meets(key, condition) != Response::Done).then_some(forced)
    }

    fn put_if(&mut self, key: &[u8], value: &[u8], condition: &Condition) -> Response {
        if value.len() > LONGEST_VALUE_BYTES {
            return Response::Refused("object too large");
        }
        let response = self.meets(key, condition);
        if response == Response::Done {
            self.put(key, value.to_vec());
            if let (Condition::Until(ttl_ms), Some(entry)) = (condition, self.entries.get_mut(key)) {
                entry.ends = Some(Instant::now() + Duration::from_millis(*ttl_ms));
            }
        }
        response
    }

    fn add(&mut self, key: &[u8], by: i64, counter: Counter) -> Response {
        let held = self.entries.get(key).map(|entry| &entry.value[..]);
        let (sum, text) = match counter {
            Counter::Signed => {
                let Some(count) = held.map_or(Some(0), decimal::<i64>) else {
                    return Response::Refused("not an integer");
                };
                let Some(sum) = count.checked_add(by) else {
                    return Response::Refused("increment or decrement would overflow");
                };
                (i128::from(sum), sum.to_string().into_bytes())
            }
            Counter::Unsigned => {
                let sum = match held {
                    None => by.max(0) as u64,
                    Some(held) => match decimal::<u64>(held) {
                        None => return Response::Refused("cannot increment or decrement non-numeric value"),
                        Some(count) if by < 0 => count.saturating_sub(by.unsigned_abs()),
                        Some(count) => count.wrapping_add(by.unsigned_abs()),
                    },
                };
                (i128::from(sum), sum.to_string().into_bytes())
            }
            Counter::Binary => {
                let count = match held.map(<[u8; 4]>::try_from) {
                    None => 0,
                    Some(Ok(bytes)) => i32::from_le_bytes(bytes),
                    Some(Err(_)) => return Response::Refused("not a counter"),
                };
                let sum = count.wrapping_add(by as i32);
                (i128::from(sum), sum.to_le_bytes().to_vec())
            }
        };
        self.put(key, text);
        Response::Number(sum)
    }
}
