//! L4 · Query strings and form bodies as ordered pairs, so that a parameter sent twice is seen and not guessed at.
//!
//! Owns: the form encoding, read strictly, and the size of what is accepted. Must not know: what a parameter means.
//! A malformed percent sequence or bytes that are no UTF-8 are refused: replaced, a `state` would not come back byte for
//! byte (RFC 6749, appendix B).

use actix_web::HttpRequest;
use actix_web::error::PayloadError;
use actix_web::http::header;
use actix_web::web::Bytes;
use futures_util::{Stream, StreamExt};

use crate::protocol::catalogue::ErrorCode;
use crate::protocol::params::Params;

/// Bytes of a body, or of a query string.
pub const LIMIT: usize = 64 * 1024;

#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum FormFault {
    #[error("the parameters are larger than {LIMIT} bytes")]
    TooLarge,
    #[error("the body must be sent once, as application/x-www-form-urlencoded in UTF-8")]
    NotForm,
    #[error("a % must be followed by two hexadecimal digits")]
    BadPercent,
    #[error("a parameter is not UTF-8")]
    NotUtf8,
    #[error("the connection broke before the whole body had arrived")]
    Interrupted,
}

impl FormFault {
    /// The catalogue's row that answers it.
    #[must_use]
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::TooLarge => ErrorCode::PayloadTooLarge,
            Self::NotForm | Self::BadPercent | Self::NotUtf8 | Self::Interrupted => {
                ErrorCode::BadRequest
            }
        }
    }
}

/// The pairs of a query string, without its `?`.
///
/// # Errors
/// `TooLarge`, `BadPercent`, `NotUtf8`.
pub fn query(query: &str) -> Result<Params, FormFault> {
    parse(query.as_bytes())
}

/// True if every percent sequence of an address decodes, to UTF-8.
#[must_use]
pub fn is_readable(path: &str) -> bool {
    decode(path.as_bytes()).is_ok()
}

/// Returns true if no percent sequence of a path stands for a character that needs none (RFC 3986 §2.3). actix decodes
/// such a sequence before it looks for a route, so one address would have many names.
#[must_use]
pub fn is_normalized(path: &str) -> bool {
    let sequences =
        path.split('%').skip(1).filter_map(|rest| u8::from_str_radix(rest.get(..2)?, 16).ok());
    !sequences
        .into_iter()
        .any(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~'))
}

/// The pairs of a form body; what is too large is refused before it is all read.
///
/// # Errors
/// Any [`FormFault`].
pub async fn body<S>(request: &HttpRequest, body: S) -> Result<Params, FormFault>
where
    S: Stream<Item = Result<Bytes, PayloadError>> + Unpin,
{
    if !is_form(request.headers()) {
        return Err(FormFault::NotForm);
    }
    let announced = request
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: u64| length > LIMIT as u64) {
        return Err(FormFault::TooLarge);
    }
    parse(&read(body).await?)
}

/// The encoding of HTML's forms: `&` between pairs, `=` within, `+` for a blank.
fn parse(text: &[u8]) -> Result<Params, FormFault> {
    if text.len() > LIMIT {
        return Err(FormFault::TooLarge);
    }
    let pair = |segment: &[u8]| {
        let mut halves = segment.splitn(2, |byte| *byte == b'=');
        Ok((decode(halves.next().unwrap_or_default())?, decode(halves.next().unwrap_or_default())?))
    };
    let segments = text.split(|byte| *byte == b'&').filter(|segment| !segment.is_empty());
    segments.map(pair).collect::<Result<_, _>>().map(Params::new)
}

async fn read<S>(mut body: S) -> Result<Vec<u8>, FormFault>
where
    S: Stream<Item = Result<Bytes, PayloadError>> + Unpin,
{
    let mut whole = Vec::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|error| match error {
            PayloadError::Overflow => FormFault::TooLarge,
            _ => FormFault::Interrupted,
        })?;
        if whole.len() + chunk.len() > LIMIT {
            return Err(FormFault::TooLarge);
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole)
}

/// True for exactly one `Content-Type` that is the form's, with no charset but UTF-8, and no content coding.
fn is_form(headers: &header::HeaderMap) -> bool {
    let mut types = headers.get_all(header::CONTENT_TYPE);
    let (Some(value), None) = (types.next(), types.next()) else { return false };
    let Ok(value) = value.to_str() else { return false };
    let mut parts = value.split(';').map(str::trim);
    let is_form = parts
        .next()
        .is_some_and(|essence| essence.eq_ignore_ascii_case("application/x-www-form-urlencoded"));
    let foreign_charset =
        parts.filter_map(|parameter| parameter.split_once('=')).any(|(name, charset)| {
            name.trim().eq_ignore_ascii_case("charset")
                && !charset.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
        });
    is_form && !foreign_charset && !headers.contains_key(header::CONTENT_ENCODING)
}

fn decode(text: &[u8]) -> Result<String, FormFault> {
    let mut bytes = text.iter().copied();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let (high, low) = (hex_digit(bytes.next())?, hex_digit(bytes.next())?);
                high << 4 | low
            }
            other => other,
        });
    }
    String::from_utf8(decoded).map_err(|_| FormFault::NotUtf8)
}

fn hex_digit(byte: Option<u8>) -> Result<u8, FormFault> {
    let digit = byte.and_then(|byte| char::from(byte).to_digit(16)).ok_or(FormFault::BadPercent)?;
    u8::try_from(digit).map_err(|_| FormFault::BadPercent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::params::Repeated;
    use actix_web::test::TestRequest;
    use futures_util::stream;
    use proptest::prelude::*;

    fn body_of(chunks: &[&[u8]]) -> impl Stream<Item = Result<Bytes, PayloadError>> + Unpin {
        let chunks: Vec<_> = chunks.iter().map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
        stream::iter(chunks)
    }

    async fn posted(content_type: &str, chunks: &[&[u8]]) -> Result<Params, FormFault> {
        let request =
            TestRequest::post().insert_header(("content-type", content_type)).to_http_request();
        super::body(&request, body_of(chunks)).await
    }

    const FORM: &str = "application/x-www-form-urlencoded";

    #[test]
    fn repeated_parameter_is_seen() {
        let pairs = query("a=1&b=2&a=1&c").unwrap();
        assert_eq!(pairs.one("a"), Err(Repeated));
        assert_eq!(pairs.one("b"), Ok(Some("2")));
        assert_eq!(pairs.one("c"), Ok(None));
        assert_eq!(pairs.one("d"), Ok(None));
    }

    #[test]
    fn a_name_in_disguise_is_the_same_name() {
        assert_eq!(query("state=1&st%61te=2").unwrap().one("state"), Err(Repeated));
    }

    #[test]
    fn the_encoding_is_read_strictly() {
        for (text, expected) in [
            ("a=b+c%20d", Ok("b c d")),
            ("a=%C3%A9=%3d&", Ok("é==")),
            ("&&a=é", Ok("é")),
            ("a=%", Err(FormFault::BadPercent)),
            ("a=%4", Err(FormFault::BadPercent)),
            ("a=%+1", Err(FormFault::BadPercent)),
            ("%zz=a", Err(FormFault::BadPercent)),
            ("a=%FF", Err(FormFault::NotUtf8)),
            ("%C3=a", Err(FormFault::NotUtf8)),
        ] {
            let pairs = query(text);
            let value = pairs
                .as_ref()
                .map(|pairs| pairs.one("a").unwrap().unwrap())
                .map_err(|fault| *fault);
            assert_eq!(value, expected, "{text}");
        }
    }

    #[actix_web::test]
    async fn a_body_may_come_in_pieces() {
        let pairs = posted(
            "Application/X-WWW-form-urlencoded; charset=\"UTF-8\"",
            &[b"code=%C", b"3%A9&gra", b"nt=x"],
        )
        .await
        .unwrap();
        assert_eq!((pairs.one("code"), pairs.one("grant")), (Ok(Some("é")), Ok(Some("x"))));
    }

    #[actix_web::test]
    async fn oversized_body_is_refused() {
        let largest = vec![b'a'; LIMIT];
        assert!(posted(FORM, &[&largest]).await.is_ok());
        assert_eq!(posted(FORM, &[&largest, b"a"]).await, Err(FormFault::TooLarge));
        assert_eq!(FormFault::TooLarge.code(), ErrorCode::PayloadTooLarge);
        assert_eq!(query(&"a".repeat(LIMIT + 1)), Err(FormFault::TooLarge));
    }

    #[actix_web::test]
    async fn an_endless_body_is_not_gathered() {
        let request = TestRequest::post().insert_header(("content-type", FORM)).to_http_request();
        let sent = std::cell::Cell::new(0);
        let kibibytes = stream::iter(0..1000).map(|n| {
            sent.set(n);
            Ok(Bytes::from_static(&[b'a'; 1024]))
        });
        assert_eq!(super::body(&request, kibibytes).await, Err(FormFault::TooLarge));
        assert_eq!(sent.get(), 64, "refused with the first chunk too many");
    }

    #[actix_web::test]
    async fn an_announced_oversized_body_is_not_even_read() {
        let request = TestRequest::post()
            .insert_header(("content-type", FORM))
            .insert_header(("content-length", "65537"));
        let never = stream::pending();
        assert_eq!(super::body(&request.to_http_request(), never).await, Err(FormFault::TooLarge));
    }

    #[actix_web::test]
    async fn another_content_type_is_told_apart() {
        for other in [
            "application/json",
            "text/plain",
            "multipart/form-data; boundary=x",
            "",
            "application/x-www-form-urlencoded; charset=utf-16",
        ] {
            assert_eq!(posted(other, &[b"a=1"]).await, Err(FormFault::NotForm), "{other}");
        }
        let none = TestRequest::post().to_http_request();
        assert_eq!(super::body(&none, body_of(&[])).await, Err(FormFault::NotForm));
        let two = TestRequest::post()
            .append_header(("content-type", FORM))
            .append_header(("content-type", "text/plain"));
        assert_eq!(
            super::body(&two.to_http_request(), body_of(&[])).await,
            Err(FormFault::NotForm)
        );
    }

    #[actix_web::test]
    async fn a_broken_connection_is_no_short_form() {
        let request = TestRequest::post().insert_header(("content-type", FORM)).to_http_request();
        let broken =
            stream::iter([Ok(Bytes::from_static(b"a=1")), Err(PayloadError::Incomplete(None))]);
        assert_eq!(super::body(&request, broken).await, Err(FormFault::Interrupted));
    }

    proptest! {
        #[test]
        fn what_was_encoded_comes_back(pairs in prop::collection::vec((".{0,8}", ".{0,8}"), 0..6)) {
            let text = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&pairs).finish();
            prop_assert_eq!(query(&text), Ok(Params::new(pairs)));
        }

        #[test]
        fn no_query_makes_it_panic(text in ".{0,64}|[%a-f0-9&=+]{0,64}") {
            let _ = query(&text);
        }
    }
}
