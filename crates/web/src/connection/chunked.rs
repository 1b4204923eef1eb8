//! Finds the end of a chunked body in the bytes as they arrive (RFC 9112 §7.1).

/// Position in a chunked body. actix-http rejects a malformed body.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ChunkScanner {
    #[default]
    Start,
    Size(u64),
    /// The rest of a chunk's first line: the size is known.
    Extension(u64),
    Data(u64),
    DataEnd,
    /// A line of the trailer section; true if it is not empty.
    Trailer(bool),
    /// An invalid byte was found: the body has no end.
    Malformed,
}

impl ChunkScanner {
    /// Scans the next bytes of a body. Returns how many of them belong to it, if it ends in them.
    pub fn scan(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if let Self::Data(left) = *self {
                let here = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len() - at);
                at += here;
                *self = match left - here as u64 {
                    0 => Self::DataEnd,
                    left => Self::Data(left),
                };
                continue;
            }
            at += 1;
            *self = match (*self, byte) {
                (Self::Start, b'\r' | b'\n') => Self::Start,
                (Self::Start, byte) if byte.is_ascii_hexdigit() => Self::Size(hex_value(byte)),
                (Self::Start, _) => Self::Malformed,
                (Self::Size(0) | Self::Extension(0), b'\n') => Self::Trailer(false),
                (Self::Size(size) | Self::Extension(size), b'\n') => Self::Data(size),
                (Self::Size(size), byte) if byte.is_ascii_hexdigit() => {
                    Self::Size(size.saturating_mul(16).saturating_add(hex_value(byte)))
                }
                (Self::Size(size), b';' | b' ' | b'\t' | b'\r') | (Self::Extension(size), _) => {
                    Self::Extension(size)
                }
                (Self::Size(_), _) => Self::Malformed,
                (Self::DataEnd, b'\r') => Self::DataEnd,
                (Self::DataEnd, b'\n') => Self::Start,
                (Self::DataEnd | Self::Malformed, _) => Self::Malformed,
                (Self::Trailer(false), b'\n') => return Some(at),
                (Self::Trailer(_), b'\n') => Self::Trailer(false),
                (Self::Trailer(is_filled), byte) => Self::Trailer(is_filled || byte != b'\r'),
                // `Data` is handled above.
                (Self::Data(left), _) => Self::Data(left),
            };
        }
        None
    }
}

fn hex_value(byte: u8) -> u64 {
    char::from(byte).to_digit(16).map_or(0, u64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_found_wherever_the_bytes_are_cut() {
        for body in [
            "0\r\n\r\n",
            "b\r\ngrant_type=\r\n0\r\n\r\n",
            "5;name=\"0\"\r\n0\r\n\r\n\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n000\r\n\r\n",
            "3\r\nabc\r\n0\r\nExpires: never\r\nX: y\r\n\r\n",
        ] {
            let all = format!("{body}GET / HTTP/1.1\r\n\r\n");
            for cut in 0..=body.len() {
                let mut scanner = ChunkScanner::default();
                let (first, second) = all.as_bytes().split_at(cut);
                let end = scanner.scan(first).or_else(|| scanner.scan(second).map(|end| end + cut));
                assert_eq!(end, Some(body.len()), "{body:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn a_body_without_an_end_has_none() {
        for body in ["ffffffffffffffffffff\r\nabc", "4\r\nabc", "", "0\r\nTrailer: x\r\n"] {
            assert_eq!(ChunkScanner::default().scan(body.as_bytes()), None, "{body:?}");
        }
    }

    #[test]
    fn a_malformed_body_has_no_end() {
        for body in ["zz\r\n\r\n", "0x\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n", "-0\r\n\r\n"] {
            let all = format!("{body}0\r\n\r\n");
            assert_eq!(ChunkScanner::default().scan(all.as_bytes()), None, "{body:?}");
        }
    }
}
