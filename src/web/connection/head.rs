//! Finds the end of a request head in the bytes as they arrive.

use memchr::memchr;

/// Bytes of a field name (RFC 9110 §5.1). No registered name has more than 40, and `http` panics at 65,536.
const MAX_FIELD_NAME: usize = 256;

/// Bytes of a request head. actix-http has the same bound, but resets the connection behind its answer.
const MAX_HEAD: usize = 128 * 1024;

/// What the bytes of a request head amount to so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scan {
    Incomplete,
    /// The head ends behind this many of the bytes just given.
    Complete(usize),
    FieldNameTooLong,
    TooLong,
}

/// The place in a request head. It knows lines and field names; what they mean is actix-http's to judge.
#[derive(Default, Debug)]
pub(super) struct HeadScanner {
    /// Bytes of the head in the calls before.
    taken: usize,
    /// Bytes of the line at hand, without its end.
    line: usize,
    /// The line at hand is a single CR so far.
    is_cr: bool,
    /// The request line is complete.
    in_fields: bool,
    /// The colon of the line at hand is seen.
    name_done: bool,
}

impl HeadScanner {
    /// Takes the next bytes of a head.
    pub fn scan(&mut self, bytes: &[u8]) -> Scan {
        let mut rest = bytes;
        loop {
            let end = memchr(b'\n', rest);
            let (part, after) = match end {
                Some(end) => (rest.get(..end).unwrap_or_default(), rest.get(end + 1..)),
                None => (rest, None),
            };
            if self.in_fields && !self.name_done {
                let room = MAX_FIELD_NAME.saturating_sub(self.line);
                match memchr(b':', part.get(..=room).unwrap_or(part)) {
                    Some(_) => self.name_done = true,
                    None if part.len() > room => return Scan::FieldNameTooLong,
                    None => {}
                }
            }
            if !part.is_empty() {
                self.is_cr = self.line == 0 && part == b"\r";
                self.line += part.len();
            }
            let Some(after) = after else {
                self.taken += bytes.len();
                return if self.taken < MAX_HEAD { Scan::Incomplete } else { Scan::TooLong };
            };
            let is_empty = self.line == 0 || self.is_cr;
            // Empty lines before the request line are skipped (RFC 9112 §2.2).
            let is_end = is_empty && self.in_fields;
            let in_fields = self.in_fields || !is_empty;
            *self = Self { taken: self.taken, in_fields, ..Self::default() };
            if is_end {
                *self = Self::default();
                return Scan::Complete(bytes.len() - after.len());
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
                        Scan::Complete(end) => {
                            found = Some(before + end);
                            break;
                        }
                        Scan::Incomplete => before += part.len(),
                        Scan::FieldNameTooLong | Scan::TooLong => panic!("nothing is long"),
                    }
                }
                assert_eq!(found, Some(HEAD.len()), "{first} {second}");
            }
        }
    }

    #[test]
    fn bare_line_feeds_and_empty_lines_before_the_request_line_are_as_actix_reads_them() {
        assert_eq!(HeadScanner::default().scan(b"GET / HTTP/1.0\n\nrest"), Scan::Complete(16));
        assert_eq!(
            HeadScanner::default().scan(b"\r\n\n\r\nGET / HTTP/1.0\r\n\r\n"),
            Scan::Complete(23)
        );
        assert_eq!(HeadScanner::default().scan(b"\r\n\r\n\r\n"), Scan::Incomplete);
        assert_eq!(
            HeadScanner::default().scan(b"GET / HTTP/1.0\r\n\r\r\n"),
            Scan::Incomplete,
            "CR CR is no empty line"
        );
    }

    #[test]
    fn a_field_name_of_65536_bytes_is_refused_before_it_has_arrived() {
        let mut scanner = HeadScanner::default();
        assert_eq!(scanner.scan(b"GET / HTTP/1.1\r\nHost: a\r\n"), Scan::Incomplete);
        let mut taken = 0;
        let outcome = loop {
            taken += 100;
            match scanner.scan(&[b'x'; 100]) {
                Scan::Incomplete => {}
                other => break other,
            }
        };
        assert_eq!((outcome, taken), (Scan::FieldNameTooLong, 300));
        let named = |length: usize| {
            [b"GET / HTTP/1.1\r\n", vec![b'x'; length].as_slice(), b": y\r\n\r\n"].concat()
        };
        assert_eq!(HeadScanner::default().scan(&named(256)), Scan::Complete(named(256).len()));
        assert_eq!(HeadScanner::default().scan(&named(257)), Scan::FieldNameTooLong);
        let long_target =
            [b"GET /", vec![b'x'; 4096].as_slice(), b" HTTP/1.1\r\nA: b\r\n\r\n"].concat();
        assert_eq!(HeadScanner::default().scan(&long_target), Scan::Complete(long_target.len()));
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
                .find(|scan| *scan != Scan::Incomplete);
            assert_eq!(last, Some(Scan::TooLong), "{size} bytes at once");
        }
        assert_eq!(HeadScanner::default().scan(&head[..MAX_HEAD - 1]), Scan::Incomplete);
    }
}
