//! Documents of pairs: a value that is a JSON object is kept as an object, so that the server can count and sum its fields.
//!
//! `{_id, o}` holds an object, `{_id, v}` any other bytes. Written by the server's users an object would have no bytes of its own; here
//! every value must come back byte for byte, so where an object's JSON is not written the usual way, the bytes are kept beside it:
//! `{_id, o, v}`.

use super::client::{id, raw};
use super::{MAX_VALUE_BYTES, Product};
use mongodb::bson::raw::{RawBsonRef, RawDocument, cstr};
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use std::borrow::Cow;
use std::collections::BTreeMap;
use store::{FieldPath, Reduction, ReductionGroup};

/// Returns the document of a pair.
pub(super) fn pair(key: &[u8], value: &[u8]) -> RawDocumentBuf {
    let mut document = RawDocumentBuf::new();
    document.append(cstr!("_id"), id(key).as_str());
    let object = object(value);
    let is_exact = object.as_ref().is_some_and(|object| json(object) == value);
    if let Some(object) = object {
        document.append(cstr!("o"), object);
    }
    if !is_exact {
        document.append(cstr!("v"), raw(value));
    }
    document
}

/// Returns the filter that finds the document of a pair, when it holds this value.
pub(super) fn holding(key: &[u8], value: &[u8]) -> mongodb::error::Result<Document> {
    let mut filter = Document::try_from(pair(key, value))?;
    for name in ["o", "v"] {
        filter.entry(name.to_owned()).or_insert(Bson::Null); // equal to a field that is not there
    }
    Ok(filter)
}

/// Returns the value in a document.
pub(super) fn value(document: &RawDocument) -> Cow<'_, [u8]> {
    match (document.get("v"), document.get("o")) {
        (Ok(Some(RawBsonRef::Binary(binary))), _) => Cow::Borrowed(binary.bytes),
        (_, Ok(Some(RawBsonRef::Document(object)))) => Cow::Owned(json(object)),
        _ => Cow::Borrowed(&[]),
    }
}

/// Returns a JSON object, if the value is one that every server takes, with its bytes beside it. A large value can be several times as long as an
/// object, and stays bytes: the store must take every value it declares to take.
fn object(value: &[u8]) -> Option<RawDocumentBuf> {
    if value.first() != Some(&b'{') {
        return None;
    }
    let object: Document = serde_json::from_slice(value).ok().filter(names_are_plain)?;
    let object = RawDocumentBuf::try_from(&object).ok()?;
    (object.as_bytes().len() + value.len() <= MAX_VALUE_BYTES).then_some(object)
}

/// Returns whether the names are plain. Names with dots or dollars have another meaning to a server, or are refused by it.
fn names_are_plain(object: &Document) -> bool {
    fn is_plain(value: &Bson) -> bool {
        match value {
            Bson::Document(object) => names_are_plain(object),
            Bson::Array(values) => values.iter().all(is_plain),
            _ => true,
        }
    }
    object.iter().all(|(name, value)| !name.is_empty() && !name.contains(['.', '$', '\0']) && is_plain(value))
}

/// Returns an object as JSON; nothing for an object that has no JSON, which kvtrial has not stored.
fn json(object: &RawDocument) -> Vec<u8> {
    serde_json::to_vec(&object).unwrap_or_default()
}

/// The figures that a group is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Figures {
    /// The number of its objects, and the sum of a field.
    Both,
    Count,
    Sum,
}

impl Figures {
    /// Returns how often a server is asked. FerretDB 1.24 gives the objects of a group to the first accumulator only.
    pub(super) fn of(product: Product) -> &'static [Figures] {
        match product {
            Product::MongoDb => &[Figures::Both],
            Product::FerretDb => &[Figures::Count, Figures::Sum],
        }
    }
}

/// Returns the stages that count and sum.
pub(super) fn pipeline(reduction: &Reduction, figures: Figures) -> [Document; 2] {
    let field = |path: &FieldPath| format!("$o.{path}");
    let mut group = doc! { "_id": field(&reduction.group) };
    if figures != Figures::Sum {
        group.insert("count", doc! { "$sum": 1 });
    }
    if figures != Figures::Count {
        group.insert("sum", doc! { "$sum": field(&reduction.sum) });
    }
    [doc! { "$match": { "o": { "$exists": true } } }, doc! { "$group": group }]
}

/// Adds the server's figures of a group.
pub(super) fn note(groups: &mut BTreeMap<String, ReductionGroup>, made: &Document) -> Result<(), String> {
    let number = |name: &str| match made.get(name) {
        None => Ok(0),
        Some(Bson::Int32(number)) => Ok(i64::from(*number)),
        Some(Bson::Int64(number)) => Ok(*number),
        Some(other) => Err(format!("the {name} of a group is no integer: {other:?}")),
    };
    let key = made.get_str("_id").map_err(|error| format!("the name of a group: {error}"))?.to_owned();
    let count = u64::try_from(number("count")?).map_err(|error| format!("the count of a group: {error}"))?;
    let group = groups.entry(key.clone()).or_insert_with(|| ReductionGroup { key, ..ReductionGroup::default() });
    group.count += count;
    group.sum += number("sum")?;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{pair, value};
    use mongodb::bson::raw::RawBsonRef;

    fn fields(document: &super::RawDocument) -> Vec<&str> {
        document.iter().map(|field| field.unwrap().0.as_str()).collect()
    }

    #[test]
    fn every_value_comes_back_byte_for_byte_and_objects_are_objects() {
        for (bytes, kept) in [
            (&br#"{"b":1,"a":{"x":[1.5,-9000000000,null,true,"\u0001 \xf6"]}}"#[..], &["_id", "v"][..]), // not UTF-8
            (r#"{"b":1,"a":{"x":[1.5,-9000000000,null,true,"\u0001 ö 漢"]}}"#.as_bytes(), &["_id", "o"]),
            (b"{}", &["_id", "o"]),
            (b"{ \"a\":1}", &["_id", "o", "v"]),
            (br#"{"a":1,"a":2}"#, &["_id", "o", "v"]),
            (br#"{"a":1e3}"#, &["_id", "o", "v"]),
            (br#"{"a.b":1}"#, &["_id", "v"]),
            (br#"{"a":{"$gt":1}}"#, &["_id", "v"]),
            (br#"{"a":18446744073709551615}"#, &["_id", "v"]),
            (b"{", &["_id", "v"]),
            (b"[1]", &["_id", "v"]),
            (b"", &["_id", "v"]),
        ] {
            let document = pair(b"key", bytes);
            assert_eq!(*value(&document), *bytes);
            assert_eq!(fields(&document), kept, "{}", String::from_utf8_lossy(bytes));
        }
        let numbers = format!("{{\"a\":[0{}]}}", ",0".repeat(2 << 20)); // 4 MiB of text, more than 16 as an object
        assert_eq!(fields(&pair(b"key", numbers.as_bytes())), ["_id", "v"]);
        let document = pair(b"key", br#"{"a":{"n":7}}"#);
        let Ok(Some(RawBsonRef::Document(object))) = document.get("o") else { panic!("{document:?}") };
        assert_eq!(object.get_document("a").unwrap().get_i32("n").unwrap(), 7);
    }
}
