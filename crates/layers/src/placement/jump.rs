//! Jump consistent hash (Lamping and Veach, arXiv 1406.2294).

/// Returns the node of a hash: follows the jumps a key makes as nodes are added, until it would jump beyond the last.
#[inline]
pub(crate) fn node(mut hash: u64, nodes: usize) -> usize {
    let (mut node, mut next) = (0, 0);
    while next < nodes as u64 {
        node = next;
        hash = hash.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        next = ((node + 1) as f64 * ((1u64 << 31) as f64 / ((hash >> 33) + 1) as f64)) as u64;
    }
    node as usize
}
