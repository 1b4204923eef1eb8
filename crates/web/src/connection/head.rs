//! Finds the end of a request head in the bytes as they arrive.

use memchr::memchr;

/// Bytes of a field name (RFC 9110 §5.1). No registered name has more than 40; the `http` crate
/// panics at 65,536.
const MAX_FIELD_NAME_BYTES: usize = 256;

/// Bytes of a request line (RFC 9112 §3). No longer target fits the `http` crate's `Uri`.
const MAX_REQUEST_LINE_BYTES: usize = 65_534;

/// Bytes of a request head. actix-http has the same limit, but resets the connection after its
/// response.
const MAX_HEAD_BYTES: usize = 128 * 1024;

/// Result of scanning bytes of a request head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeadScan {
    Incomplete,
    /// The head ends after this many of the given bytes.
    Complete(usize),
    RequestLineTooLong,
    FieldNameTooLong,
    TooLong,
}

/// Position in a request head. It detects lines and field names; actix-http interprets them.
#[derive(Default, Debug)]
pub struct HeadScanner {
    /// Bytes of the head in earlier calls.
    taken: usize,
    /// Bytes of the current line, without its end.
    line: usize,
    /// The current line is a single CR so far.
    is_cr: bool,
    /// The request line is complete.
    in_fields: bool,
    /// The colon of the current line was seen.
    name_done: bool,
}

impl HeadScanner {
    /// Scans the next bytes of a head.
    pub fn scan(&mut self, bytes: &[u8]) -> HeadScan {
        let mut rest = bytes;
        loop {
            let end = memchr(b'\n', rest);
            let (part, after) = match end {
                Some(end) => (rest.get(..end).unwrap_or_default(), rest.get(end + 1..)),
                None => (rest, None),
            };
            if self.in_fields && !self.name_done {
                let room = MAX_FIELD_NAME_BYTES.saturating_sub(self.line);
                match memchr(b':', part.get(..=room).unwrap_or(part)) {
                    Some(_) => self.name_done = true,
                    None if part.len() > room => return HeadScan::FieldNameTooLong,
                    None => {}
                }
            }
            if !part.is_empty() {
                self.is_cr = self.line == 0 && part == b"\r";
                self.line += part.len();
            }
            if !self.in_fields && self.line > MAX_REQUEST_LINE_BYTES {
                return HeadScan::RequestLineTooLong;
            }
            let Some(after) = after else {
                self.taken += bytes.len();
                return if self.taken < MAX_HEAD_BYTES {
                    HeadScan::Incomplete
                } else {
                    HeadScan::TooLong
                };
            };
            let is_empty = self.line == 0 || self.is_cr;
            // Empty lines before the request line are skipped (RFC 9112 §2.2).
            let is_end = is_empty && self.in_fields;
            let in_fields = self.in_fields || !is_empty;
            *self = Self { taken: self.taken, in_fields, ..Self::default() };
            if is_end {
                *self = Self::default();
                return HeadScan::Complete(bytes.len() - after.len());
            }
            rest = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] =
        b"POST /api/v2/token HTTP/1.1\r\nHost: login.example.org\r\nContent-Length: 4\r\n\r\n";

    #[test]
    fn the_end_is_found_wherever_the_bytes_are_cut() {
        let all = [HEAD, b"a=b&"].concat();
        for first in 0..=HEAD.len() {
            for second in first..=HEAD.len() {
                let mut scanner = HeadScanner::default();
                let (mut found, mut before) = (None, 0);
                for part in [&all[..first], &all[first..second], &all[second..]] {
                    match scanner.scan(part) {
                        HeadScan::Complete(end) => {
                            found = Some(before + end);
                            break;
                        }
                        HeadScan::Incomplete => before += part.len(),
                        _ => panic!("nothing is long"),
                    }
                }
                assert_eq!(found, Some(HEAD.len()), "{first} {second}");
            }
        }
    }

    #[test]
    fn bare_line_feeds_and_leading_empty_lines_are_read_as_actix_does() {
        assert_eq!(HeadScanner::default().scan(b"GET / HTTP/1.0\n\nrest"), HeadScan::Complete(16));
        assert_eq!(
            HeadScanner::default().scan(b"\r\n\n\r\nGET / HTTP/1.0\r\n\r\n"),
            HeadScan::Complete(23)
        );
        assert_eq!(HeadScanner::default().scan(b"\r\n\r\n\r\n"), HeadScan::Incomplete);
        assert_eq!(
            HeadScanner::default().scan(b"GET / HTTP/1.0\r\n\r\r\n"),
            HeadScan::Incomplete,
            "CR CR is not an empty line"
        );
    }

    #[test]
    fn a_field_name_of_65536_bytes_is_refused_before_it_has_arrived() {
        let mut scanner = HeadScanner::default();
        assert_eq!(scanner.scan(b"GET / HTTP/1.1\r\nHost: a\r\n"), HeadScan::Incomplete);
        let mut taken = 0;
        let outcome = loop {
            taken += 100;
            match scanner.scan(&[b'x'; 100]) {
                HeadScan::Incomplete => {}
                other => break other,
            }
        };
        assert_eq!((outcome, taken), (HeadScan::FieldNameTooLong, 300));
        let named = |length: usize| {
            [b"GET / HTTP/1.1\r\n", vec![b'x'; length].as_slice(), b": y\r\n\r\n"].concat()
        };
        assert_eq!(HeadScanner::default().scan(&named(256)), HeadScan::Complete(named(256).len()));
        assert_eq!(HeadScanner::default().scan(&named(257)), HeadScan::FieldNameTooLong);
        let long_target =
            [b"GET /", vec![b'x'; 4096].as_slice(), b" HTTP/1.1\r\nA: b\r\n\r\n"].concat();
        assert_eq!(
            HeadScanner::default().scan(&long_target),
            HeadScan::Complete(long_target.len())
        );
    }

    /// RFC 9112 §3
    #[test]
    fn a_request_line_that_no_address_fits_is_too_long_however_it_is_cut() {
        for (length, outcome) in [(65_534, None), (65_535, Some(HeadScan::RequestLineTooLong))] {
            let target = "x".repeat(length - "GET / HTTP/1.1\r".len());
            let head = format!("GET /{target} HTTP/1.1\r\nHost: a\r\n");
            for size in [1000, 4096, head.len()] {
                let mut scanner = HeadScanner::default();
                let last = head
                    .as_bytes()
                    .chunks(size)
                    .map(|piece| scanner.scan(piece))
                    .find(|scan| *scan != HeadScan::Incomplete);
                assert_eq!(last, outcome, "{length}: {size} bytes at once");
            }
        }
    }

    #[test]
    fn a_head_of_128_kib_without_an_end_is_too_long_however_it_is_cut() {
        let line = [b"a: ", vec![b'x'; 1019].as_slice(), b"\r\n"].concat();
        let head = [b"GET / HTTP/1.1\r\n".as_slice(), &line.repeat(128)].concat();
        for size in [1000, 4096, head.len()] {
            let mut scanner = HeadScanner::default();
            let last = head
                .chunks(size)
                .map(|piece| scanner.scan(piece))
                .find(|scan| *scan != HeadScan::Incomplete);
            assert_eq!(last, Some(HeadScan::TooLong), "{size} bytes at once");
        }
        assert_eq!(HeadScanner::default().scan(&head[..MAX_HEAD_BYTES - 1]), HeadScan::Incomplete);
    }
}
