//! Parses query strings and form bodies into ordered pairs, so that a repeated parameter is
//! detected.
//!
//! Responsible for strict decoding and for the size limit. A value with a malformed percent sequence
//! or invalid UTF-8 is an error of its parameter, and nothing is replaced: otherwise a `state` would
//! not be returned byte for byte (RFC 6749 Appendix B). The other parameters are read, so that an
//! unknown one, which must be ignored (RFC 6749 §3.1), can't end a login.

use actix_web::HttpRequest;
use actix_web::error::PayloadError;
use actix_web::http::header;
use actix_web::web::Bytes;
use futures_util::{Stream, StreamExt};

use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::field_value::trim_ows;
use passerelle_protocol::params::{Params, is_form_urlencoded};
use passerelle_protocol::path_normalization::decode_unreserved;

/// Bytes of a form body or a query string.
pub const MAX_PARAMS_BYTES: usize = 64 * 1024;

/// Error returned for unreadable parameters.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum FormError {
    #[error("the parameters are too large")]
    TooLarge,
    #[error("the body must be sent once, as application/x-www-form-urlencoded in UTF-8")]
    NotForm,
    #[error("the connection closed before the whole body arrived")]
    Interrupted,
}

impl FormError {
    /// Returns the catalogue code of the error.
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::TooLarge => ErrorCode::PayloadTooLarge,
            Self::NotForm | Self::Interrupted => ErrorCode::BadRequest,
        }
    }
}

/// Parses a query string without its `?`.
///
/// # Errors
/// `TooLarge`.
pub fn parse_query(query: &str) -> Result<Params, FormError> {
    parse_pairs(query.as_bytes())
}

/// Returns whether every percent sequence of a path decodes, to UTF-8.
pub fn is_decodable(path: &str) -> bool {
    !path.contains('%') || percent_decode(path.as_bytes()).is_some()
}

/// Returns whether no percent sequence of a path encodes an unreserved character (RFC 3986 §2.3).
///
/// actix decodes such a sequence before routing, so one route would have many spellings.
pub fn is_normalized(path: &str) -> bool {
    decode_unreserved(path) == path
}

/// Reads and parses a form body. A body that is too large is rejected before it is read completely.
///
/// # Errors
/// Any [`FormError`].
pub async fn parse_body<S>(request: &HttpRequest, body: S) -> Result<Params, FormError>
where
    S: Stream<Item = Result<Bytes, PayloadError>> + Unpin,
{
    parse_large_body(request, body, MAX_PARAMS_BYTES).await
}

/// Reads and parses a form body of up to `max_bytes`.
///
/// # Errors
/// Any [`FormError`].
pub async fn parse_large_body<S>(
    request: &HttpRequest,
    body: S,
    max_bytes: usize,
) -> Result<Params, FormError>
where
    S: Stream<Item = Result<Bytes, PayloadError>> + Unpin,
{
    let charset = find_form_charset(request.headers()).ok_or(FormError::NotForm)?;
    let announced = request
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: u64| length > max_bytes as u64) {
        return Err(FormError::TooLarge);
    }
    let params = parse_bounded_pairs(&read_body(body, max_bytes).await?, max_bytes)?;
    Ok(match charset {
        FormCharset::Utf8 => params,
        FormCharset::Ascii => params.with_ascii_only(),
    })
}

/// Parses `application/x-www-form-urlencoded`. A pair whose name can't be decoded is no known
/// parameter, and is left out.
///
/// # Errors
/// Returns what is wrong with the form.
pub fn parse_pairs(text: &[u8]) -> Result<Params, FormError> {
    parse_bounded_pairs(text, MAX_PARAMS_BYTES)
}

fn parse_bounded_pairs(text: &[u8], max_bytes: usize) -> Result<Params, FormError> {
    if text.len() > max_bytes {
        return Err(FormError::TooLarge);
    }
    let (mut pairs, mut unreadable) = (Vec::new(), Vec::new());
    for segment in text.split(|byte| *byte == b'&').filter(|segment| !segment.is_empty()) {
        let mut halves = segment.splitn(2, |byte| *byte == b'=');
        let Some(name) = percent_decode(halves.next().unwrap_or_default()) else { continue };
        match percent_decode(halves.next().unwrap_or_default()) {
            Some(value) => pairs.push((name, value)),
            None => unreadable.push(name),
        }
    }
    Ok(Params::new(pairs).with_unreadable(unreadable))
}

async fn read_body<S>(mut body: S, max_bytes: usize) -> Result<Vec<u8>, FormError>
where
    S: Stream<Item = Result<Bytes, PayloadError>> + Unpin,
{
    let mut whole = Vec::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|error| match error {
            PayloadError::Overflow => FormError::TooLarge,
            _ => FormError::Interrupted,
        })?;
        if whole.len() + chunk.len() > max_bytes {
            return Err(FormError::TooLarge);
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole)
}

/// How a form's values are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FormCharset {
    Utf8,
    /// The form names another charset that has ASCII, as Apache's HTTP client does for Java
    /// (ISO-8859-1) although nothing in the form needs it. Other characters would be misread.
    Ascii,
}

/// Returns the charset of exactly one `Content-Type`, of a form without a content coding; `None`
/// for anything else.
fn find_form_charset(headers: &header::HeaderMap) -> Option<FormCharset> {
    let mut types = headers.get_all(header::CONTENT_TYPE);
    let (Some(value), None) = (types.next(), types.next()) else { return None };
    let value = value.to_str().ok()?;
    if !is_form_urlencoded(Some(value)) || headers.contains_key(header::CONTENT_ENCODING) {
        return None;
    }
    let parameters = value.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let mut charsets = parameters
        .filter(|(name, _)| trim_ows(name).eq_ignore_ascii_case("charset"))
        .map(|(_, charset)| trim_ows(charset).trim_matches('"'));
    charsets.try_fold(FormCharset::Utf8, |found, charset| {
        match charset.to_ascii_lowercase().as_str() {
            "utf-8" => Some(found),
            "iso-8859-1" | "us-ascii" => Some(FormCharset::Ascii),
            _ => None,
        }
    })
}

/// Returns `None` for a malformed percent sequence, and for bytes that are not UTF-8.
fn percent_decode(text: &[u8]) -> Option<String> {
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
    String::from_utf8(decoded).ok()
}

fn hex_digit(byte: Option<u8>) -> Option<u8> {
    u8::try_from(char::from(byte?).to_digit(16)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::test::TestRequest;
    use futures_util::stream;
    use passerelle_protocol::params::ParamError;
    use proptest::prelude::*;

    fn body_stream(chunks: &[&[u8]]) -> impl Stream<Item = Result<Bytes, PayloadError>> + Unpin {
        let chunks: Vec<_> = chunks.iter().map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
        stream::iter(chunks)
    }

    async fn posted(content_type: &str, chunks: &[&[u8]]) -> Result<Params, FormError> {
        let request =
            TestRequest::post().insert_header(("content-type", content_type)).to_http_request();
        super::parse_body(&request, body_stream(chunks)).await
    }

    const FORM: &str = "application/x-www-form-urlencoded";

    #[test]
    fn a_repeated_parameter_is_detected() {
        let pairs = parse_query("a=1&b=2&a=1&c").unwrap();
        assert_eq!(pairs.single("a"), Err(ParamError::Repeated));
        assert_eq!(pairs.single("b"), Ok(Some("2")));
        assert_eq!(pairs.single("c"), Ok(None));
        assert_eq!(pairs.single("d"), Ok(None));
    }

    #[test]
    fn a_percent_encoded_name_is_the_same_name() {
        assert_eq!(
            parse_query("state=1&st%61te=2").unwrap().single("state"),
            Err(ParamError::Repeated)
        );
    }

    #[test]
    fn the_encoding_is_read_strictly() {
        for (text, expected) in [
            ("a=b+c%20d", Ok("b c d")),
            ("a=%C3%A9=%3d&", Ok("é==")),
            ("&&a=é", Ok("é")),
            ("a=%", Err(ParamError::Unreadable)),
            ("a=%4", Err(ParamError::Unreadable)),
            ("a=%+1", Err(ParamError::Unreadable)),
            ("a=%FF", Err(ParamError::Unreadable)),
            ("a=%C3", Err(ParamError::Unreadable)),
            ("%61=%FF", Err(ParamError::Unreadable)),
            ("a=%FF&a=b", Err(ParamError::Repeated)),
            ("a=b&a=%FF", Err(ParamError::Repeated)),
            ("a=%FF&a=%FF", Err(ParamError::Repeated)),
        ] {
            let pairs = parse_query(text).unwrap();
            assert_eq!(pairs.single("a").map(Option::unwrap), expected, "{text}");
            assert!(pairs.contains("a"), "{text}");
        }
    }

    #[test]
    fn a_parameter_that_can_not_be_decoded_leaves_the_others_readable() {
        for other in ["x=%", "x=%zz", "x=%FF", "%zz=1", "%C3=1", "%FF", "promo=100%"] {
            for text in [format!("{other}&a=b"), format!("a=b&{other}")] {
                assert_eq!(parse_query(&text).unwrap().single("a"), Ok(Some("b")), "{text}");
            }
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
        assert_eq!((pairs.single("code"), pairs.single("grant")), (Ok(Some("é")), Ok(Some("x"))));
    }

    #[actix_web::test]
    async fn a_form_of_another_charset_is_read_where_it_is_ascii() {
        for charset in ["ISO-8859-1", "\"us-ascii\""] {
            let content_type = format!("{FORM}; charset={charset}");
            let params = posted(&content_type, &[b"a=b%20c&d=%E9&e=%C3%A9"]).await.unwrap();
            assert_eq!(params.single("a"), Ok(Some("b c")), "{charset}");
            assert_eq!(params.single("d"), Err(ParamError::Unreadable), "{charset}");
            assert_eq!(params.single("e"), Err(ParamError::Unreadable), "{charset}");
        }
        let two = format!("{FORM}; charset=iso-8859-1; charset=utf-16");
        assert_eq!(posted(&two, &[b"a=1"]).await, Err(FormError::NotForm));
    }

    #[actix_web::test]
    async fn oversized_body_is_refused() {
        let largest = vec![b'a'; MAX_PARAMS_BYTES];
        assert!(posted(FORM, &[&largest]).await.is_ok());
        assert_eq!(posted(FORM, &[&largest, b"a"]).await, Err(FormError::TooLarge));
        assert_eq!(FormError::TooLarge.code(), ErrorCode::PayloadTooLarge);
        assert_eq!(parse_query(&"a".repeat(MAX_PARAMS_BYTES + 1)), Err(FormError::TooLarge));
    }

    #[actix_web::test]
    async fn an_endless_body_is_not_gathered() {
        let request = TestRequest::post().insert_header(("content-type", FORM)).to_http_request();
        let sent = std::cell::Cell::new(0);
        let kibibytes = stream::iter(0..1000).map(|n| {
            sent.set(n);
            Ok(Bytes::from_static(&[b'a'; 1024]))
        });
        assert_eq!(super::parse_body(&request, kibibytes).await, Err(FormError::TooLarge));
        assert_eq!(sent.get(), 64, "rejected with the first chunk over the limit");
    }

    #[actix_web::test]
    async fn an_announced_oversized_body_is_not_even_read() {
        let request = TestRequest::post()
            .insert_header(("content-type", FORM))
            .insert_header(("content-length", "65537"));
        let never = stream::pending();
        assert_eq!(
            super::parse_body(&request.to_http_request(), never).await,
            Err(FormError::TooLarge)
        );
    }

    #[actix_web::test]
    async fn another_content_type_is_rejected() {
        for other in [
            "application/json",
            "text/plain",
            "multipart/form-data; boundary=x",
            "",
            "application/x-www-form-urlencoded; charset=utf-16",
        ] {
            assert_eq!(posted(other, &[b"a=1"]).await, Err(FormError::NotForm), "{other}");
        }
        let none = TestRequest::post().to_http_request();
        assert_eq!(super::parse_body(&none, body_stream(&[])).await, Err(FormError::NotForm));
        let two = TestRequest::post()
            .append_header(("content-type", FORM))
            .append_header(("content-type", "text/plain"));
        assert_eq!(
            super::parse_body(&two.to_http_request(), body_stream(&[])).await,
            Err(FormError::NotForm)
        );
    }

    #[actix_web::test]
    async fn a_closed_connection_does_not_yield_a_shorter_form() {
        let request = TestRequest::post().insert_header(("content-type", FORM)).to_http_request();
        let broken =
            stream::iter([Ok(Bytes::from_static(b"a=1")), Err(PayloadError::Incomplete(None))]);
        assert_eq!(super::parse_body(&request, broken).await, Err(FormError::Interrupted));
    }

    proptest! {
        #[test]
        fn encoded_values_are_decoded_unchanged(pairs in prop::collection::vec((".{0,8}", ".{0,8}"), 0..6)) {
            let text = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&pairs).finish();
            prop_assert_eq!(parse_query(&text), Ok(Params::new(pairs)));
        }

        #[test]
        fn no_query_makes_it_panic(text in ".{0,64}|[%a-f0-9&=+]{0,64}") {
            let _ = parse_query(&text);
        }
    }
}
