//! The tag of the record that a slot saw last: a client that writes back what it has just read need not ask for the tag.

/// The key that was read or written last, and the tag (a revision, an ETag) that its value had then.
pub(crate) struct Last<T>(Option<(Vec<u8>, T)>);

impl<T> Default for Last<T> {
    fn default() -> Last<T> {
        Last(None)
    }
}

impl<T> Last<T> {
    /// Remembers the tag of this key in place of the one before.
    pub(crate) fn remember(&mut self, key: &[u8], tag: T) {
        let mut known = self.0.take().map(|(known, _)| known).unwrap_or_default();
        known.clear();
        known.extend_from_slice(key);
        self.0 = Some((known, tag));
    }

    /// Forgets the tag, and returns it if it is the tag of this key.
    pub(crate) fn take(&mut self, key: &[u8]) -> Option<T> {
        self.0.take().filter(|(known, _)| known == key).map(|(_, tag)| tag)
    }

    /// Returns the tag, if it is the tag of this key.
    #[cfg(feature = "couchdb")]
    pub(crate) fn of(&self, key: &[u8]) -> Option<&T> {
        self.0.as_ref().filter(|(known, _)| known == key).map(|(_, tag)| tag)
    }

    /// Forgets the tag.
    #[cfg(feature = "couchdb")]
    pub(crate) fn forget(&mut self) {
        self.0 = None;
    }
}

#[cfg(all(test, feature = "couchdb"))]
mod tests {
    use super::Last;

    #[test]
    fn only_the_last_key_has_its_tag_until_the_tag_is_taken() {
        let mut last = Last::default();
        assert_eq!(last.take(b"a"), None);
        last.remember(b"a", 1);
        last.remember(b"bc", 2);
        assert_eq!((last.of(b"a"), last.of(b"bc")), (None, Some(&2)));
        assert_eq!((last.take(b"bc"), last.take(b"bc")), (Some(2), None));
        last.remember(b"a", 3);
        assert_eq!((last.take(b"other"), last.take(b"a")), (None, None));
    }
}
