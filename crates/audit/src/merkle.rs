//! Builds and checks the Merkle tree of the lines that a checkpoint covers (RFC 9162 §2.1). Pure.
//!
//! A leaf is the bytes of a line with its line end. Leaves and inner nodes are hashed with different
//! prefixes, so that no inner node can stand for a line (RFC 9162 §2.1.1).

use passerelle_protocol::digest::sha256_parts;

/// SHA-256 of a leaf or an inner node.
pub type NodeHash = [u8; 32];

/// Prefix of a leaf before it is hashed.
const LEAF_PREFIX: &[u8] = &[0];
/// Prefix of an inner node before it is hashed.
const NODE_PREFIX: &[u8] = &[1];

/// Tree that grows line by line and keeps the roots of its complete subtrees only.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct MerkleTree {
    size: u64,
    /// Roots of the complete subtrees, the largest first: one for each set bit of `size`.
    subtrees: Vec<NodeHash>,
}

impl MerkleTree {
    /// Returns the number of lines.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Adds a line with its line end.
    pub fn push(&mut self, line: &[u8]) {
        let mut node = hash_leaf(line);
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.subtrees.pop() {
                node = hash_node(&left, &node);
            }
        }
        self.subtrees.push(node);
        self.size += 1;
    }

    /// Returns the Merkle Tree Hash; that of no lines is SHA-256 of nothing.
    pub fn root(&self) -> NodeHash {
        let mut subtrees = self.subtrees.iter().rev();
        let Some(last) = subtrees.next() else { return sha256_parts([]) };
        subtrees.fold(*last, |right, left| hash_node(left, &right))
    }
}

/// Returns the hash of a line as a leaf.
pub fn hash_leaf(line: &[u8]) -> NodeHash {
    sha256_parts([LEAF_PREFIX, line])
}

fn hash_node(left: &NodeHash, right: &NodeHash) -> NodeHash {
    sha256_parts([NODE_PREFIX, left, right])
}

/// Returns the hashes that lead from the leaf at `index` to the root (RFC 9162 §2.1.3.1); `None` if
/// there is no such leaf.
pub fn inclusion_path(leaves: &[NodeHash], index: usize) -> Option<Vec<NodeHash>> {
    if index >= leaves.len() {
        return None;
    }
    let (mut path, mut at, mut level) = (Vec::new(), index, leaves.to_vec());
    while level.len() > 1 {
        path.extend(level.get(at ^ 1));
        // A node without a sibling rises unchanged.
        level = level
            .chunks(2)
            .filter_map(|pair| match pair {
                [left, right] => Some(hash_node(left, right)),
                [single] => Some(*single),
                _ => None,
            })
            .collect();
        at /= 2;
    }
    Some(path)
}

/// Returns the root that `path` leads to from a leaf (RFC 9162 §2.1.3.2); `None` if the path does
/// not fit a tree of this size.
pub fn root_from_path(
    leaf: NodeHash,
    index: u64,
    size: u64,
    path: &[NodeHash],
) -> Option<NodeHash> {
    let (mut at, mut last) = (index, size.checked_sub(1).filter(|last| index <= *last)?);
    let mut root = leaf;
    for sibling in path {
        if last == 0 {
            return None;
        }
        if at & 1 == 1 || at == last {
            root = hash_node(sibling, &root);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            root = hash_node(&root, sibling);
        }
        at >>= 1;
        last >>= 1;
    }
    (last == 0).then_some(root)
}

/// Reads a hash in hexadecimal; `None` if it is malformed.
pub fn from_hex(text: &str) -> Option<NodeHash> {
    hex::FromHex::from_hex(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(count: usize) -> Vec<NodeHash> {
        (0..count).map(|number| hash_leaf(format!("line {number}\n").as_bytes())).collect()
    }

    fn tree(count: usize) -> MerkleTree {
        let mut tree = MerkleTree::default();
        (0..count).for_each(|number| tree.push(format!("line {number}\n").as_bytes()));
        tree
    }

    /// RFC 9162 §2.1.1, word for word.
    fn recursive_root(leaves: &[NodeHash]) -> NodeHash {
        match leaves {
            [] => passerelle_protocol::digest::sha256(b""),
            [leaf] => *leaf,
            _ => {
                let split = leaves.len().next_power_of_two() / 2;
                let (left, right) = leaves.split_at(split);
                hash_node(&recursive_root(left), &recursive_root(right))
            }
        }
    }

    #[test]
    fn the_root_of_a_growing_tree_is_that_of_the_standard() {
        for count in 0..70 {
            assert_eq!(tree(count).root(), recursive_root(&leaves(count)), "{count}");
        }
        // The test vectors of the Certificate Transparency project: no leaf, and an empty one.
        assert_eq!(
            hex::encode(MerkleTree::default().root()),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(
            hex::encode(hash_leaf(b"")),
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
        );
    }

    #[test]
    fn every_leaf_of_every_tree_is_proven_by_its_path_and_by_no_other() {
        for count in 1..40 {
            let leaves = leaves(count);
            let (root, size) = (tree(count).root(), count as u64);
            for (index, leaf) in leaves.iter().enumerate() {
                let path = inclusion_path(&leaves, index).unwrap();
                let at = index as u64;
                assert_eq!(root_from_path(*leaf, at, size, &path), Some(root), "{index}/{count}");
                let forged = hash_leaf(b"forged\n");
                assert_ne!(root_from_path(forged, at, size, &path), Some(root));
                assert_ne!(
                    root_from_path(*leaf, at, size, &[&path[..], &[*leaf]].concat()),
                    Some(root)
                );
                if let Some((_, shorter)) = path.split_last() {
                    assert_ne!(root_from_path(*leaf, at, size, shorter), Some(root));
                }
                if index + 1 < count {
                    assert_ne!(root_from_path(*leaf, at + 1, size, &path), Some(root));
                }
            }
            assert_eq!(inclusion_path(&leaves, count), None);
            assert_eq!(root_from_path(root, size, size, &[]), None);
        }
    }

    /// An inner node offered as a line would prove a line that the hub never wrote.
    #[test]
    fn an_inner_node_is_no_leaf() {
        let leaves = leaves(2);
        let inner = [leaves[0], leaves[1]].concat();
        assert_ne!(hash_leaf(&inner), tree(2).root());
    }

    #[test]
    fn hexadecimal_is_read_as_it_is_written() {
        let hash = hash_leaf(b"x");
        assert_eq!(from_hex(&hex::encode(hash)), Some(hash));
        for malformed in ["", "0", &"g".repeat(64), &"é".repeat(32), &"+1".repeat(32)] {
            assert_eq!(from_hex(malformed), None, "{malformed}");
        }
    }
}
