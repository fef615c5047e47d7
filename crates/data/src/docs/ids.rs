//! What the id of a document is.

use super::json::{Scalar, fields};
use md5::{Digest, Md5};

/// Longest id.
const MAX_ID_BYTES: usize = 1000;

/// The scheme by which documents get their ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdScheme {
    /// `%010d` of the document's number from 1: keys come in rising order.
    Sequential,
    /// Lower-case hexadecimal md5 of the decimal number: keys come in random order.
    Random,
    /// The text before the tab on the document's line.
    Own,
    /// A field of the document, a string or an integer; a path of names.
    Field(Vec<String>),
}

/// A fault in an id, and its remedy.
pub(super) struct Flaw {
    pub(super) problem: String,
    pub(super) remedy: &'static str,
    /// Place in the document; `None`: the start of the line.
    pub(super) in_document: Option<usize>,
}

impl IdScheme {
    /// Returns the generator's own id, where the scheme looks at it.
    pub(super) fn over_generated<'a>(&self, own: &'a str) -> Option<&'a str> {
        match self {
            IdScheme::Sequential | IdScheme::Own => Some(own),
            IdScheme::Random | IdScheme::Field(_) => None,
        }
    }

    /// Writes the id of document number `number`.
    pub(super) fn push(&self, number: u64, own: Option<&str>, document: &str, out: &mut Vec<u8>) -> Result<(), Flaw> {
        let refuse = |problem: String, remedy| Err(Flaw { problem, remedy, in_document: None });
        match (self, own) {
            (IdScheme::Sequential, Some(own)) if own != format!("{number:010}") => refuse(
                format!("the line has the id '{own}', ids=sequential would make it {number:010}"),
                "use ids=own for the ids of the file, or leave them out of it",
            ),
            (IdScheme::Random, Some(own)) => refuse(
                format!("the line has an id of its own, '{own}', which ids=random would replace"),
                "use ids=own for the ids of the file, or leave them out of it",
            ),
            (IdScheme::Own, None) => refuse(
                "ids=own, but the line has no id".into(),
                "write ID TAB DOCUMENT, or use ids=sequential or ids=random",
            ),
            (IdScheme::Own, Some(own)) => plain(own, out),
            (IdScheme::Sequential, _) => {
                out.extend_from_slice(format!("{number:010}").as_bytes());
                Ok(())
            }
            (IdScheme::Random, None) => {
                for byte in Md5::digest(number.to_string().as_bytes()) {
                    out.extend([byte >> 4, byte & 15].map(|nibble| b"0123456789abcdef"[usize::from(nibble)]));
                }
                Ok(())
            }
            (IdScheme::Field(path), _) => {
                let [found] = fields(document.as_bytes(), [path]).unwrap_or_default();
                match found {
                    Scalar::Text(text) => plain(&text, out),
                    Scalar::Integer(number) => plain(&number.to_string(), out),
                    Scalar::Missing | Scalar::Other => Err(Flaw {
                        problem: format!(
                            "the field '{}', which is to be the id, is missing, or is neither a string nor an integer",
                            path.join(".")
                        ),
                        remedy: "use ids=field:NAME with a field that identifies every document, or ids=sequential",
                        in_document: Some(0),
                    }),
                }
            }
        }
    }
}

fn plain(id: &str, out: &mut Vec<u8>) -> Result<(), Flaw> {
    let refuse = |problem: &str| {
        Err(Flaw {
            problem: problem.into(),
            remedy: "use ids of 1 to 1000 bytes without control characters",
            in_document: None,
        })
    };
    if id.is_empty() || id.len() > MAX_ID_BYTES {
        return refuse("the id is empty or too long");
    }
    if id.chars().any(char::is_control) {
        return refuse("the id holds a control character");
    }
    out.extend_from_slice(id.as_bytes());
    Ok(())
}
