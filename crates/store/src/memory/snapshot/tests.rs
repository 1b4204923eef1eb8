use super::*;
use crate::RecordKind;
use crate::testing::store_conformance::at;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::testing::env::SeededEntropy;

fn ring(keys: &[&str]) -> StoreEncryptionKeys {
    StoreEncryptionKeys::new(
        &keys.iter().map(|key| Secret::new((*key).to_owned())).collect::<Vec<_>>(),
    )
}

/// A snapshot of a few records in one chunk, or of many in several.
fn bytes(records: usize, keys: &[&str]) -> Vec<u8> {
    let entry = |n: usize| SnapshotEntry::Record {
        letter: RecordKind::CODE.letter,
        name: n.to_string().into(),
        state: RecordState::Live,
        version: RecordVersion(1),
        value: "x".repeat(10_000).into_bytes().into(),
        expires_at: at(90),
        families: [Family("f".into())].into(),
    };
    let (mut bytes, ring) = (Vec::new(), ring(keys));
    let entropy = SeededEntropy::new(3);
    write(
        &mut bytes,
        (0..records).map(entry),
        SnapshotProtection { keys: &ring, issuer: "hub" },
        at(0),
        &entropy,
    )
    .unwrap();
    bytes
}

fn opened(bytes: &[u8], keys: &[&str], issuer: &str) -> Result<usize, SnapshotReadError> {
    let protection = SnapshotProtection { keys: &ring(keys), issuer };
    read(bytes, bytes.len() as u64, protection).map(|(entries, _)| entries.len())
}

#[test]
fn a_tampered_snapshot_is_refused_whatever_byte_it_is() {
    let good = bytes(1, &["key"]);
    assert_eq!(opened(&good, &["key"], "hub").unwrap(), 1);
    let heads = (0..200).chain((200..good.len()).step_by(97)).chain(good.len() - 40..good.len());
    for at in heads {
        for bit in [1, 0x80] {
            let mut bad = good.clone();
            bad[at] ^= bit;
            assert!(opened(&bad, &["key"], "hub").is_err(), "byte {at}");
        }
    }
}

#[test]
fn a_snapshot_cut_anywhere_or_extended_is_refused() {
    let good = bytes(60, &["key"]);
    assert_eq!(opened(&good, &["key"], "hub").unwrap(), 60);
    // Also at the very end of each chunk, where what is left is a row of good ones.
    let (mut ends, mut end) = (vec![32], 32);
    while let Some(size) = good.get(end..end + 4) {
        end += 4 + u32::from_be_bytes(size.try_into().unwrap()) as usize;
        ends.push(end);
    }
    assert!(ends.len() > 3 && ends.last() == Some(&good.len()), "{ends:?}");
    let cuts = (0..200)
        .chain((200..good.len()).step_by(4999))
        .chain(ends[..ends.len() - 1].iter().copied());
    for at in cuts {
        assert!(opened(&good[..at], &["key"], "hub").is_err(), "cut at {at}");
    }
    for more in [&b"x"[..], &good[ends[0]..ends[1]], &[0, 0, 0, 0], &good] {
        assert!(opened(&[&good, more].concat(), &["key"], "hub").is_err());
    }
    let [head, first, second] = [&good[..32], &good[ends[0]..ends[1]], &good[ends[1]..ends[2]]];
    let swapped = [head, second, first, &good[ends[2]..]].concat();
    assert!(opened(&swapped, &["key"], "hub").is_err(), "chunks in another order");
    let left_out = [head, second, &good[ends[2]..]].concat();
    assert!(opened(&left_out, &["key"], "hub").is_err(), "a chunk is missing");
}

#[test]
fn only_the_hub_and_its_ring_open_a_snapshot() {
    let old = bytes(1, &["old"]);
    assert_eq!(opened(&old, &["new", "old"], "hub").unwrap(), 1);
    assert_eq!(opened(&bytes(1, &["new", "old"]), &["new"], "hub").unwrap(), 1);
    assert!(matches!(
        opened(&old, &["new"], "hub"),
        Err(SnapshotReadError::Encryption(EncryptionError::UnknownKey))
    ));
    assert!(
        matches!(
            opened(&old, &["old"], "other"),
            Err(SnapshotReadError::Encryption(EncryptionError::Corrupted))
        ),
        "of another hub"
    );
    assert!(!String::from_utf8_lossy(&old).contains("xxx"));
}
