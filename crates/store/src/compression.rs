//! Compresses the values of records: LZ4 with a preset dictionary.
//!
//! Records are short and alike, and most of their bytes are names and defaults: the dictionary cuts
//! a waiting login to three eighths. In the shared store this happens before the encryption. The
//! compressed length leaks nothing: no attacker can choose a part of another user's record and
//! observe its length (unlike CRIME).

use lz4_flex::block;

use super::error::RecordFormatError;

/// Preset dictionary; the most frequent strings stand last. It is part of the format: a new one
/// gets a new number, and this one stays as long as records compressed with it live.
const DICTIONARY_2: &[u8] = include_bytes!("dictionary-2.txt");

/// First byte of an uncompressed value.
const PLAIN: u8 = 0;
/// First byte of a compressed value: then its size (u32, little-endian), and an LZ4 block.
const LZ4_WITH_DICTIONARY_2: u8 = 2;
/// Size below which a value is not compressed.
const MIN_COMPRESSIBLE_BYTES: usize = 64;
/// Size from which a value is not compressed, and a compressed one is refused as a decompression
/// bomb.
const MAX_VALUE_BYTES: usize = 1 << 20;

/// Compresses a value if that makes it smaller. The first byte of the result is its format.
pub fn compress(value: &[u8]) -> Vec<u8> {
    if (MIN_COMPRESSIBLE_BYTES..MAX_VALUE_BYTES).contains(&value.len()) {
        let block = block::compress_prepend_size_with_dict(value, DICTIONARY_2);
        if block.len() < value.len() {
            return [&[LZ4_WITH_DICTIONARY_2], &*block].concat();
        }
    }
    [&[PLAIN], value].concat()
}

/// Decompresses a value.
///
/// # Errors
/// `Newer` for a format of a newer release, `Corrupted` for malformed bytes.
pub fn decompress(compressed: &[u8]) -> Result<Vec<u8>, RecordFormatError> {
    match compressed.split_first() {
        Some((&PLAIN, value)) => Ok(value.to_vec()),
        Some((&LZ4_WITH_DICTIONARY_2, block)) => {
            decompress_block(block).ok_or(RecordFormatError::Corrupted)
        }
        Some((3.., _)) => Err(RecordFormatError::Newer),
        Some((1, _)) | None => Err(RecordFormatError::Corrupted),
    }
}

fn decompress_block(block: &[u8]) -> Option<Vec<u8>> {
    let (size, block) = block::uncompressed_size(block).ok()?;
    if size >= MAX_VALUE_BYTES {
        return None;
    }
    let value = block::decompress_with_dict(block, size, DICTIONARY_2).ok()?;
    (value.len() == size).then_some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use passerelle_federation::testing::samples;
    use passerelle_protocol::digest;

    #[test]
    fn the_dictionary_is_unchanged() {
        assert_eq!(
            digest::base64url(&digest::sha256(DICTIONARY_2)),
            "xSiAQScvc7lG5qpMM021T1G7XNe4u2HRDM244n4IpTQ",
            "a new dictionary needs a new number: records compressed with this one still live"
        );
    }

    #[test]
    fn a_login_shrinks_to_three_eighths_at_most() {
        let login = serde_json::to_vec(&passerelle_federation::login::Login::new(
            samples::login_context(&[]),
        ))
        .unwrap();
        let compressed = compress(&login);
        assert!(compressed.len() * 8 <= login.len() * 3, "{} of {}", compressed.len(), login.len());
    }

    #[test]
    fn a_decompression_bomb_is_rejected() {
        for (length, is_taken) in [(MAX_VALUE_BYTES - 1, true), (MAX_VALUE_BYTES * 8, false)] {
            let value = vec![b'a'; length];
            let block = block::compress_prepend_size_with_dict(&value, DICTIONARY_2);
            let bomb = [&[LZ4_WITH_DICTIONARY_2], &*block].concat();
            assert_eq!(decompress(&bomb).is_ok(), is_taken, "{length}");
        }
    }

    #[test]
    fn a_value_as_large_as_a_bomb_is_written_so_that_it_can_be_read() {
        let value = vec![b'a'; MAX_VALUE_BYTES * 8];
        assert!(decompress(&compress(&value)).unwrap() == value);
    }

    #[test]
    fn a_newer_format_and_garbage_are_distinguished() {
        let compressed = compress(&[b'a'; 100]);
        assert_eq!(decompress(&[]), Err(RecordFormatError::Corrupted));
        assert_eq!(decompress(&[3, 0]), Err(RecordFormatError::Newer));
        for cut in 1..compressed.len() {
            assert_eq!(
                decompress(&compressed[..cut]),
                Err(RecordFormatError::Corrupted),
                "cut at {cut}"
            );
        }
        assert_eq!(
            decompress(&[&compressed[..], b"more"].concat()),
            Err(RecordFormatError::Corrupted)
        );
    }

    proptest! {
        #[test]
        fn values_survive_a_round_trip(values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3000), 1..4)) {
            for value in values {
                prop_assert_eq!(decompress(&compress(&value)).unwrap(), value);
            }
        }

        #[test]
        fn text_like_a_record_survives_a_round_trip(start in 0..1000_usize, end in 1000..2000_usize, random in "[a-z\"{}:,]{0,300}") {
            let value = [&DICTIONARY_2[start..end], random.as_bytes(), DICTIONARY_2].concat();
            let compressed = compress(&value);
            prop_assert!(compressed.len() < value.len() / 2);
            prop_assert_eq!(decompress(&compressed).unwrap(), value);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _any = decompress(&[&[LZ4_WITH_DICTIONARY_2], &bytes[..]].concat());
        }
    }
}
