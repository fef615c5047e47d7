//! Values as cells. To HBase's conditions an empty cell is no cell, so an empty value is written as a mark, and a value that begins like
//! the mark has it before it once more.

use std::borrow::Cow;

/// The mark that stands for an empty value: no value begins like this except on purpose.
pub(super) const MARK: &[u8] = b"\xff\xfe\x00kvtrial: empty\x00\xfe\xff";

/// The form of a value that lies in its cell as it is.
const PLAIN: u64 = 0;

/// The form of a value with the mark before it: the value is empty, was empty when something was appended, or begins like the mark.
const MARKED: u64 = 1;

/// Returns the cell of a value.
pub(super) fn of(value: &[u8]) -> Cow<'_, [u8]> {
    in_form(if value.is_empty() || value.starts_with(MARK) { MARKED } else { PLAIN }, value)
}

/// Returns the cell of a value in the form it was read in.
pub(super) fn in_form(form: u64, value: &[u8]) -> Cow<'_, [u8]> {
    if form == MARKED { Cow::Owned([MARK, value].concat()) } else { Cow::Borrowed(value) }
}

/// Returns the form and the value of a cell.
pub(super) fn read(cell: &[u8]) -> (u64, &[u8]) {
    match cell.strip_prefix(MARK) {
        Some(value) => (MARKED, value),
        None => (PLAIN, cell),
    }
}

#[cfg(test)]
mod tests {
    use super::{MARK, in_form, of, read};

    #[test]
    fn every_value_is_read_as_it_was_written_and_no_cell_is_empty() {
        let like_the_mark = [MARK, b"more"].concat();
        for value in [&b""[..], b"v", b"\0", b"\xff\xfe", MARK, &like_the_mark] {
            let cell = of(value);
            assert!(!cell.is_empty());
            let (form, found) = read(&cell);
            assert_eq!((found, &in_form(form, found)), (value, &cell));
        }
    }

    #[test]
    fn what_is_appended_to_an_empty_value_is_all_there_is_and_its_form_is_known() {
        let cell = [&of(b"")[..], b"end"].concat();
        let (form, value) = read(&cell);
        assert_eq!((value, &in_form(form, value)[..]), (&b"end"[..], &cell[..]));
    }
}
