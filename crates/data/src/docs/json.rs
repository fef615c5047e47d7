//! JSON as documents have it: what is one, and what stands in its fields.

use hashbrown::HashSet;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Deserializer;
use std::borrow::Cow;
use std::fmt;

/// The value of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scalar<'d> {
    /// There is no such field.
    #[default]
    Missing,
    /// A string; borrowed unless it holds escapes.
    Text(Cow<'d, str>),
    /// An integer of 64 bits.
    Integer(i64),
    /// Something else: null, true, false, a fraction, an array, an object.
    Other,
}

/// A fault in a document, and the byte where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    pub(super) byte: usize,
    pub(super) problem: String,
    pub(super) remedy: &'static str,
}

/// The form a file of documents must have.
pub(super) const FORM: &str = "write one JSON object per line, or CSV with a header line";
/// How the words of a name that is there twice begin.
const TWICE: &str = "the name ";

/// Checks that a text is one JSON object and nothing else, with each name once in every object: of a name given twice stores keep the
/// first, the last or both.
pub(super) fn check(document: &str) -> Result<(), Flaw> {
    let start = document.len() - document.trim_ascii_start().len();
    if !document[start..].starts_with('{') {
        return Err(Flaw { byte: start, problem: "a document must be a JSON object, {...}".into(), remedy: FORM });
    }
    let mut text = Deserializer::from_str(document);
    Once.deserialize(&mut text).and_then(|()| text.end()).map_err(|error| {
        let words = error.to_string();
        // The position, which serde_json adds, is that of the error.
        let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words);
        let byte = error.column().saturating_sub(1).min(document.len());
        if words.starts_with(TWICE) {
            return Flaw { byte, problem: words.into(), remedy: "give every member of an object a name of its own" };
        }
        Flaw { byte, problem: format!("not JSON: {words}"), remedy: FORM }
    })
}

/// Any value whose objects have each name once.
struct Once;

impl<'d> DeserializeSeed<'d> for Once {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'d>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'d> Visitor<'d> for Once {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'d>>(self, mut map: A) -> Result<(), A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<Cow<'d, str>>()? {
            if names.contains(&name) {
                return Err(A::Error::custom(format_args!("{TWICE}'{name}' is there twice in one object")));
            }
            names.insert(name);
            map.next_value_seed(Once)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'d>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Once)?.is_some() {}
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Returns the values of these fields of a document; a field is a path of member names. Of a name given twice the last counts.
///
/// # Errors
/// When the document is not a JSON object; what is behind it is not looked at.
pub fn fields<'d, const N: usize>(document: &'d [u8], paths: [&[String]; N]) -> serde_json::Result<[Scalar<'d>; N]> {
    const { assert!(N <= 8) };
    let mut found = std::array::from_fn(|_| Scalar::default());
    let all = ((1u16 << N) - 1) as u8;
    let object = Value { paths: &paths, found: &mut found, wanted: all, depth: 0 };
    object.deserialize(&mut Deserializer::from_slice(document))?;
    Ok(found)
}

/// The value at `depth` names into the paths whose bits are set in `wanted`.
struct Value<'a, 'd> {
    paths: &'a [&'a [String]],
    found: &'a mut [Scalar<'d>],
    wanted: u8,
    depth: usize,
}

impl<'d> Value<'_, 'd> {
    /// This value is no object: it is what the paths that end here name.
    fn is(self, scalar: Scalar<'d>) {
        for (at, path) in self.paths.iter().enumerate() {
            if self.wanted & 1 << at != 0 && path.len() == self.depth {
                self.found[at] = scalar.clone();
            }
        }
    }
}

impl<'d> DeserializeSeed<'d> for Value<'_, 'd> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'d>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'d> Visitor<'d> for Value<'_, 'd> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'d>>(self, mut map: A) -> Result<(), A::Error> {
        let Value { paths, found, wanted, depth } = self;
        while let Some(inner) = map.next_key_seed(Name { paths, wanted, depth })? {
            if inner == 0 {
                map.next_value::<IgnoredAny>()?;
            } else {
                map.next_value_seed(Value { paths, found: &mut *found, wanted: inner, depth: depth + 1 })?;
            }
        }
        Value { paths, found, wanted, depth }.is(Scalar::Other);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'d>>(self, mut items: A) -> Result<(), A::Error> {
        if self.depth == 0 {
            return Err(A::Error::custom("a document must be a JSON object"));
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        self.is(Scalar::Other);
        Ok(())
    }

    fn visit_borrowed_str<E>(self, text: &'d str) -> Result<(), E> {
        self.is(Scalar::Text(Cow::Borrowed(text)));
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.is(Scalar::Text(Cow::Owned(text.to_owned())));
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.is(Scalar::Integer(number));
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.is(i64::try_from(number).map_or(Scalar::Other, Scalar::Integer));
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        self.is(Scalar::Other);
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        self.is(Scalar::Other);
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.is(Scalar::Other);
        Ok(())
    }
}

/// The name of a member: which of the wanted paths go on with it.
struct Name<'a> {
    paths: &'a [&'a [String]],
    wanted: u8,
    depth: usize,
}

impl<'d> DeserializeSeed<'d> for Name<'_> {
    type Value = u8;

    fn deserialize<D: serde::Deserializer<'d>>(self, deserializer: D) -> Result<u8, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = u8;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member name")
    }

    fn visit_str<E>(self, name: &str) -> Result<u8, E> {
        let goes_on = |(at, path): (usize, &&[String])| {
            let here = self.wanted & 1 << at != 0 && path.get(self.depth).is_some_and(|wanted| wanted == name);
            if here { 1 << at } else { 0 }
        };
        Ok(self.paths.iter().enumerate().map(goes_on).sum())
    }
}
