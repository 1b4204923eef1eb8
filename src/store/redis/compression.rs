//! L2 · Values made small before they are sealed: deflated (RFC 1951), with a dictionary of what records have in common.
//!
//! Owns: how a value is packed. Must not know: what it means; a value that has nothing of the dictionary is only larger.
//!
//! Records are short and much alike, and it is their names and defaults that take the room: with the dictionary a login that
//! waits takes a third of what it takes without, and the fastest level is enough. The length of what comes of it tells
//! little: nobody can choose a part of somebody else's record and look at the length again.

use std::cell::RefCell;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::record::Malformed;

/// The likeliest strings stand last: near ones are cheaper to name. It is part of the format: another one is another number
/// beside this one, for as long as any record may have been packed with this one.
const DICTIONARY: &[u8] = include_bytes!("dictionary-1.txt");

/// What precedes a value.
const PLAIN: u8 = 0;
const WITH_DICTIONARY_1: u8 = 1;
/// Shorter ones don't shrink.
const WORTH_IT: usize = 64;
/// No record is larger: what inflates to more was not written by a hub.
const LONGEST: usize = 1 << 20;
/// 4 KiB: the dictionary, and most of a record before it is full.
const WINDOW: u8 = 12;
const NO_HEADER: bool = false;

thread_local! {
    /// Their tables are large: made once for each thread, not for each record.
    static DEFLATER: RefCell<Compress> = RefCell::new(deflater());
    static INFLATER: RefCell<Decompress> = RefCell::new(Decompress::new_with_window_bits(NO_HEADER, WINDOW));
}

fn deflater() -> Compress {
    Compress::new_with_window_bits(Compression::fast(), NO_HEADER, WINDOW)
}

/// A value as it is sealed.
pub fn pack(value: &[u8]) -> Vec<u8> {
    deflated(value).unwrap_or_else(|| [&[PLAIN], value].concat())
}

/// `None` where it would not be shorter.
fn deflated(value: &[u8]) -> Option<Vec<u8>> {
    if value.len() < WORTH_IT {
        return None;
    }
    DEFLATER.with_borrow_mut(|kept| {
        kept.reset();
        // No byte takes more than nine bits: a stream that found no room at its end would not be reset whole (zlib-rs 0.6).
        let mut packed = Vec::with_capacity(value.len() / 8 * 9 + WORTH_IT);
        packed.push(WITH_DICTIONARY_1);
        let dictionary = kept.set_dictionary(DICTIONARY);
        let ended =
            dictionary.and_then(|_| kept.compress_vec(value, &mut packed, FlushCompress::Finish));
        if !matches!(ended, Ok(Status::StreamEnd)) {
            *kept = deflater();
            return None;
        }
        (packed.len() <= value.len()).then_some(packed)
    })
}

/// # Errors
/// `Newer` for what another release has packed in its own way, `Broken` for what nobody has.
pub fn unpack(packed: &[u8]) -> Result<Vec<u8>, Malformed> {
    match packed.split_first() {
        Some((&PLAIN, value)) => Ok(value.to_vec()),
        Some((&WITH_DICTIONARY_1, deflated)) => inflated(deflated).ok_or(Malformed::Broken),
        Some((2.., _)) => Err(Malformed::Newer),
        None => Err(Malformed::Broken),
    }
}

fn inflated(deflated: &[u8]) -> Option<Vec<u8>> {
    INFLATER.with_borrow_mut(|inflater| {
        inflater.reset(NO_HEADER);
        inflater.set_dictionary(DICTIONARY).ok()?;
        let mut value = Vec::with_capacity(deflated.len() * 5);
        loop {
            let before = (inflater.total_in(), inflater.total_out());
            let rest = deflated.get(usize::try_from(before.0).ok()?..)?;
            let status = inflater.decompress_vec(rest, &mut value, FlushDecompress::Finish).ok();
            if status == Some(Status::StreamEnd) {
                return (inflater.total_in() == deflated.len() as u64).then_some(value);
            }
            let stuck = (inflater.total_in(), inflater.total_out()) == before
                && value.capacity() > value.len();
            if status.is_none() || stuck || value.len() >= LONGEST {
                return None;
            }
            value.reserve(value.len().max(1024));
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::digest;
    use crate::login::samples;

    #[test]
    fn the_dictionary_is_the_one_that_records_were_packed_with() {
        let hash = digest::base64url(&digest::sha256(DICTIONARY));
        assert_eq!(
            hash, "g1w02Xi6tR64j94klk4_8xv7zIQZJU07-v1UjUoJbiQ",
            "another dictionary is another number: records packed with this one still live"
        );
        assert!(DICTIONARY.len() < (1 << WINDOW) - 262, "zlib looks no further back");
    }

    #[test]
    fn a_login_shrinks_to_a_third_at_most() {
        let login = serde_json::to_vec(&crate::login::Login::open(samples::ticket(&[]))).unwrap();
        let packed = pack(&login);
        assert!(packed.len() * 3 <= login.len(), "{} of {}", packed.len(), login.len());
    }

    #[test]
    fn what_inflates_without_end_is_refused() {
        for (length, is_taken) in [(LONGEST - 1, true), (LONGEST * 8, false)] {
            let value = vec![b'a'; length];
            assert_eq!(unpack(&pack(&value)).is_ok(), is_taken, "{length}");
        }
    }

    #[test]
    fn another_releases_packing_and_nobodys_are_told_apart() {
        let packed = pack(&[b'a'; 100]);
        assert_eq!(unpack(&[]), Err(Malformed::Broken));
        assert_eq!(unpack(&[2, 0]), Err(Malformed::Newer));
        for cut in 1..packed.len() {
            assert_eq!(unpack(&packed[..cut]), Err(Malformed::Broken), "cut at {cut}");
        }
        assert_eq!(unpack(&[&packed[..], b"more"].concat()), Err(Malformed::Broken));
    }

    proptest! {
        #[test]
        fn what_was_packed_comes_out_again(values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3000), 1..4)) {
            for value in values {
                prop_assert_eq!(unpack(&pack(&value)).unwrap(), value);
            }
        }

        #[test]
        fn text_like_a_records_comes_out_again(start in 0..1000_usize, end in 1000..2000_usize, random in "[a-z\"{}:,]{0,300}") {
            let value = [&DICTIONARY[start..end], random.as_bytes(), DICTIONARY].concat();
            let packed = pack(&value);
            prop_assert!(packed.len() < value.len() / 2);
            prop_assert_eq!(unpack(&packed).unwrap(), value);
        }

        #[test]
        fn nothing_that_comes_from_a_server_harms(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _any = unpack(&[&[WITH_DICTIONARY_1], &bytes[..]].concat());
        }
    }
}
