//! The answer to any command: values of every type of RESP2, and of RESP3, which some servers send whatever they are asked.

use super::item::{Found, Item, item, item_as};
use super::resp::refused;
use store::wire::Decoded;
use store::{AnswerTree, Reply, TreeNode};

/// The deepest nesting of lists that is believed.
const DEEPEST: usize = 64;

/// The result of reading an answer.
enum Answered {
    /// The answer is whole, and ends before `end`.
    Whole {
        /// The place behind the answer.
        end: usize,
    },
    /// Too few bytes.
    Incomplete {
        /// The number of missing bytes, at least.
        at_least: usize,
    },
    /// Bytes that are not RESP.
    Broken(&'static str),
}

/// Reads the answer to a command, whatever its type. A node of a cluster that does not serve the key has not answered.
pub(super) fn decode<'a>(nodes: &'a mut Vec<TreeNode>, input: &'a [u8]) -> Decoded<'a> {
    let consumed = match read(input, nodes) {
        Answered::Whole { end } => end,
        Answered::Incomplete { at_least } => return Decoded::Incomplete { at_least },
        Answered::Broken(problem) => return Decoded::Broken(problem),
    };
    let reply = match (nodes.first(), nodes.len()) {
        (Some(&TreeNode::Error((start, end))), 1) if is_elsewhere(&input[start..end]) => refused(&input[start..end]),
        _ => Reply::Tree(AnswerTree::new(input, nodes)),
    };
    Decoded::Reply { reply, consumed }
}

/// Returns whether an error says which node carries the command out, or when.
fn is_elsewhere(words: &[u8]) -> bool {
    [&b"MOVED "[..], b"ASK ", b"TRYAGAIN", b"CLUSTERDOWN"].iter().any(|start| words.starts_with(start))
}

/// Reads the answer at the start of the input into `nodes`.
fn read(input: &[u8], nodes: &mut Vec<TreeNode>) -> Answered {
    nodes.clear();
    // The values that each list under way still lacks; a single value is all there is of a list of one.
    let mut open = [0usize; DEEPEST];
    open[0] = 1;
    let (mut depth, mut at) = (0, 0);
    loop {
        while open[depth] == 0 {
            if depth == 0 {
                return Answered::Whole { end: at };
            }
            depth -= 1;
        }
        open[depth] -= 1;
        let (node, end) = match value(input, at) {
            Valued::Is(node, end) => (node, end),
            Valued::Incomplete(at_least) => {
                // Each further value takes three bytes or more.
                let missing = open[..=depth].iter().fold(0usize, |sum, count| sum.saturating_add(*count));
                return Answered::Incomplete { at_least: at_least.saturating_add(missing.saturating_mul(3)) };
            }
            Valued::Broken(problem) => return Answered::Broken(problem),
        };
        at = end;
        let within = match node {
            TreeNode::List(count) => count,
            TreeNode::Map(pairs) => 2 * pairs,
            _ => 0,
        };
        nodes.push(node);
        if within > 0 {
            if depth + 1 == DEEPEST {
                return Answered::Broken("lists that are nested less deeply");
            }
            depth += 1;
            open[depth] = within;
        }
    }
}

enum Valued {
    /// The value, and the place behind it, or behind its head where there are values within.
    Is(TreeNode, usize),
    Incomplete(usize),
    Broken(&'static str),
}

/// Reads the value that starts at `at`.
fn value(input: &[u8], at: usize) -> Valued {
    let kind = input.get(at).copied().unwrap_or_default();
    match kind {
        b',' | b'(' | b'#' | b'~' | b'>' | b'=' | b'!' => return newer(kind, input, at),
        _ => {}
    }
    let (item, end) = match item(input, at) {
        Found::Item { item, end } => (item, end),
        Found::Incomplete { at_least } => return Valued::Incomplete(at_least),
        Found::Broken(problem) => return Valued::Broken(problem),
    };
    let last = end - 2;
    Valued::Is(
        match item {
            Item::Line(words) => TreeNode::Text((last - words.len(), last)),
            Item::Error(words) => TreeNode::Error((last - words.len(), last)),
            Item::Number(number) => TreeNode::Number(number),
            Item::Bulk(bytes) => TreeNode::Text((last - bytes.len(), last)),
            Item::Nil => TreeNode::Nil,
            Item::Array(items) if kind == b'%' => TreeNode::Map(items / 2),
            Item::Array(items) => TreeNode::List(items),
        },
        end,
    )
}

/// Reads a value of a type that RESP3 brought. Each has the form of an older one.
fn newer(kind: u8, input: &[u8], at: usize) -> Valued {
    let older = match kind {
        b',' | b'(' | b'#' => b'+',
        b'~' | b'>' => b'*',
        _ => b'$',
    };
    let (item, end) = match item_as(older, input, at) {
        Found::Item { item, end } => (item, end),
        Found::Incomplete { at_least } => return Valued::Incomplete(at_least),
        Found::Broken(problem) => return Valued::Broken(problem),
    };
    let last = end - 2;
    let node = match (kind, item) {
        (b',', Item::Line(words)) => TreeNode::Decimal((last - words.len(), last)),
        (b'(', Item::Line(words)) => TreeNode::Text((last - words.len(), last)),
        (b'#', Item::Line(b"t")) => TreeNode::Truth(true),
        (b'#', Item::Line(b"f")) => TreeNode::Truth(false),
        (b'#', _) => return Valued::Broken("#t or #f"),
        (_, Item::Array(items)) => TreeNode::List(items),
        (b'!', Item::Bulk(words)) => TreeNode::Error((last - words.len(), last)),
        // Three letters say of which kind a text is.
        (b'=', Item::Bulk(bytes)) if bytes.get(3) == Some(&b':') => TreeNode::Text((last - bytes.len() + 4, last)),
        _ => return Valued::Broken("a value of the type announced"),
    };
    Valued::Is(node, end)
}

#[cfg(test)]
mod tests {
    use super::{Answered, DEEPEST, read};
    use store::{AnswerTree, TreePart};

    /// Reads an answer byte by byte, and checks its parts.
    fn reads(input: &[u8], expected: &[TreePart<'_>]) {
        let mut nodes = Vec::new();
        for end in 0..input.len() {
            match read(&input[..end], &mut nodes) {
                Answered::Incomplete { at_least } => assert!((1..=input.len() - end).contains(&at_least), "{end}"),
                _ => panic!("{end} bytes of {input:?} are an answer"),
            }
        }
        let more = [input, b"+next\r\n"].concat();
        assert!(matches!(read(&more, &mut nodes), Answered::Whole { end } if end == input.len()));
        assert!(matches!(read(input, &mut nodes), Answered::Whole { end } if end == input.len()));
        assert_eq!(AnswerTree::new(input, &nodes).parts().collect::<Vec<_>>(), expected, "{input:?}");
    }

    #[test]
    fn every_type_is_read_however_its_bytes_come() {
        use TreePart::{Decimal, Error, List, Map, Nil, Number, Text, Truth};
        let cases: [(&[u8], Vec<TreePart<'_>>); 18] = [
            (b"+OK\r\n", vec![Text(b"OK")]),
            (b"-ERR no such thing\r\n", vec![Error(b"ERR no such thing")]),
            (b":-42\r\n", vec![Number(-42)]),
            (b"$5\r\na\r\nb!\r\n", vec![Text(b"a\r\nb!")]),
            (b"$0\r\n\r\n", vec![Text(b"")]),
            (b"$-1\r\n", vec![Nil]),
            (b"*-1\r\n", vec![Nil]),
            (b"_\r\n", vec![Nil]),
            (b"*0\r\n", vec![List(0)]),
            (b"*2\r\n*2\r\n:1\r\n*0\r\n$-1\r\n", vec![List(2), List(2), Number(1), List(0), Nil]),
            (b"*2\r\n-ERR x\r\n+y\r\n", vec![List(2), Error(b"ERR x"), Text(b"y")]),
            (b"%1\r\n+a\r\n*1\r\n:2\r\n", vec![Map(1), Text(b"a"), List(1), Number(2)]),
            (b"~1\r\n:7\r\n", vec![List(1), Number(7)]),
            (b",1.5\r\n", vec![Decimal(b"1.5")]),
            (b"#t\r\n", vec![Truth(true)]),
            (b"(12345678901234567890\r\n", vec![Text(b"12345678901234567890")]),
            (b"=6\r\ntxt:ab\r\n", vec![Text(b"ab")]),
            (b"!5\r\nERR e\r\n", vec![Error(b"ERR e")]),
        ];
        for (input, expected) in cases {
            reads(input, &expected);
        }
    }

    #[test]
    fn what_is_no_answer_is_broken_and_nesting_has_an_end() {
        let deep = b"*1\r\n".repeat(DEEPEST);
        for input in [&b"?"[..], b"#x\r\n", b"=2\r\nab\r\n", b"*1\r\nOK", b":x\r\n", &deep] {
            assert!(matches!(read(input, &mut Vec::new()), Answered::Broken(_)), "{input:?}");
        }
    }
}
