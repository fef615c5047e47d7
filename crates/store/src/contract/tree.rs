//! The answer to a command of a store's own: a value, which may have values in it.

/// A place in the bytes of an answer, from its start to before its end.
pub type Span = (usize, usize);

/// One value of an answer, as its place in the bytes of the answer. The values within a list or a map follow it, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeNode {
    /// Nothing.
    Nil,
    /// True or false.
    Truth(bool),
    /// A whole number.
    Number(i64),
    /// A number with a fraction, in decimal.
    Decimal(Span),
    /// Bytes, or the words of a status.
    Text(Span),
    /// The words of an error.
    Error(Span),
    /// This many values.
    List(usize),
    /// This many pairs of a key and a value.
    Map(usize),
}

/// One value of an answer, with its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreePart<'a> {
    /// Nothing.
    Nil,
    /// True or false.
    Truth(bool),
    /// A whole number.
    Number(i64),
    /// A number with a fraction, in decimal.
    Decimal(&'a [u8]),
    /// Bytes, or the words of a status.
    Text(&'a [u8]),
    /// The words of an error.
    Error(&'a [u8]),
    /// This many values.
    List(usize),
    /// This many pairs of a key and a value.
    Map(usize),
}

/// A borrowed answer: its bytes lie where they came in, and its values in a buffer of the session's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerTree<'a> {
    bytes: &'a [u8],
    nodes: &'a [TreeNode],
}

impl<'a> AnswerTree<'a> {
    /// Makes the answer of these values, whose places are places in these bytes.
    pub fn new(bytes: &'a [u8], nodes: &'a [TreeNode]) -> AnswerTree<'a> {
        AnswerTree { bytes, nodes }
    }

    /// Returns every value, each list or map before what is in it.
    pub fn parts(self) -> impl Iterator<Item = TreePart<'a>> {
        let AnswerTree { bytes, nodes } = self;
        let text = |(start, end): Span| bytes.get(start..end).unwrap_or_default();
        nodes.iter().map(move |node| match *node {
            TreeNode::Nil => TreePart::Nil,
            TreeNode::Truth(truth) => TreePart::Truth(truth),
            TreeNode::Number(number) => TreePart::Number(number),
            TreeNode::Decimal(span) => TreePart::Decimal(text(span)),
            TreeNode::Text(span) => TreePart::Text(text(span)),
            TreeNode::Error(span) => TreePart::Error(text(span)),
            TreeNode::List(count) => TreePart::List(count),
            TreeNode::Map(count) => TreePart::Map(count),
        })
    }

    /// Returns the number of bytes of all texts.
    pub fn bytes_len(self) -> usize {
        self.nodes
            .iter()
            .map(|node| match node {
                TreeNode::Text((start, end)) => end - start,
                _ => 0,
            })
            .sum()
    }
}

/// An answer that owns its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnedTree {
    bytes: Vec<u8>,
    nodes: Vec<TreeNode>,
}

impl OwnedTree {
    /// Returns the same answer, borrowed.
    pub fn as_tree(&self) -> AnswerTree<'_> {
        AnswerTree::new(&self.bytes, &self.nodes)
    }
}

impl From<AnswerTree<'_>> for OwnedTree {
    fn from(tree: AnswerTree<'_>) -> OwnedTree {
        OwnedTree { bytes: tree.bytes.to_vec(), nodes: tree.nodes.to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::{AnswerTree, OwnedTree, TreeNode, TreePart};

    #[test]
    fn the_values_of_an_answer_have_their_bytes_also_when_it_outlives_them() {
        let nodes = [TreeNode::List(2), TreeNode::Text((1, 3)), TreeNode::Nil];
        let tree = AnswerTree::new(b"-ab-", &nodes);
        let parts = [TreePart::List(2), TreePart::Text(b"ab"), TreePart::Nil];
        assert_eq!(tree.parts().collect::<Vec<_>>(), parts);
        assert_eq!(OwnedTree::from(tree).as_tree().parts().collect::<Vec<_>>(), parts);
        assert_eq!(tree.bytes_len(), 2);
    }
}
