//! Decodes compressed responses (RFC 9110 §8.4). The hub asks for none (`Accept-Encoding:
//! identity`), but some servers and their caches compress whatever was asked.

use std::io::Read;

use flate2::read::{MultiGzDecoder, ZlibDecoder};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};

/// Why a body can't be decoded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum DecodeError {
    /// A coding that the hub does not decode.
    Unknown(String),
    Malformed,
    /// The decoded body is longer than the limit.
    TooLarge,
}

/// Returns the decoded body of at most `limit` bytes, and removes the headers that described the
/// encoded one. The limit stops decompression bombs.
///
/// # Errors
/// The first coding that can't be decoded.
pub(crate) fn decode_body(
    headers: &mut HeaderMap,
    mut body: Vec<u8>,
    limit: usize,
) -> Result<Vec<u8>, DecodeError> {
    let codings: Vec<String> = headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .map(|coding| String::from_utf8_lossy(coding.trim_ascii()).to_ascii_lowercase())
        .filter(|coding| !coding.is_empty() && coding != "identity")
        .collect();
    if codings.is_empty() || body.is_empty() {
        return Ok(body);
    }
    // The last coding was applied last.
    for coding in codings.iter().rev() {
        let encoded = body.as_slice();
        body = match coding.as_str() {
            "gzip" | "x-gzip" => read_at_most(MultiGzDecoder::new(encoded), limit)?,
            "deflate" => read_at_most(ZlibDecoder::new(encoded), limit)?,
            other => return Err(DecodeError::Unknown(other.to_owned())),
        };
    }
    headers.remove(CONTENT_ENCODING);
    headers.remove(CONTENT_LENGTH);
    Ok(body)
}

fn read_at_most(decoder: impl Read, limit: usize) -> Result<Vec<u8>, DecodeError> {
    let mut decoded = Vec::new();
    let one_more = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    decoder.take(one_more).read_to_end(&mut decoded).map_err(|_| DecodeError::Malformed)?;
    if decoded.len() > limit { Err(DecodeError::TooLarge) } else { Ok(decoded) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(body: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(body).unwrap();
        encoder.finish().unwrap()
    }

    fn decode(coding: &str, body: Vec<u8>, limit: usize) -> Result<Vec<u8>, DecodeError> {
        let mut headers = HeaderMap::from_iter([(CONTENT_ENCODING, coding.parse().unwrap())]);
        decode_body(&mut headers, body, limit)
    }

    #[test]
    fn a_compressed_body_is_decoded_within_the_limit() {
        let document = vec![b'a'; 1000];
        assert_eq!(decode("gzip", gzip(&document), 1000), Ok(document.clone()));
        assert_eq!(decode("GZip , identity", gzip(&document), 1000), Ok(document.clone()));
        assert_eq!(decode("gzip, gzip", gzip(&gzip(&document)), 1000), Ok(document.clone()));
        assert_eq!(decode("identity", document.clone(), 1000), Ok(document.clone()));
        assert_eq!(decode("br", document.clone(), 1000), Err(DecodeError::Unknown("br".into())));
        assert_eq!(decode("gzip", document, 1000), Err(DecodeError::Malformed));
    }

    #[test]
    fn a_decompression_bomb_ends_at_the_limit() {
        let bomb = gzip(&vec![0; 50_000_000]);
        assert!(bomb.len() < 100_000);
        assert_eq!(decode("gzip", bomb, 1 << 20), Err(DecodeError::TooLarge));
    }
}
