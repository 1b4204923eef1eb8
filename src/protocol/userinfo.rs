//! Reads the access token of a userinfo request (RFC 6750 §2.1 and §2.2).
//!
//! A token in a URL ends up in logs and histories, so it is rejected there (RFC 6750 §2.3; RFC 9700
//! §4.3.2). Does not know which tokens are live.

use super::catalogue::ErrorCode;
use super::params::Params;
use crate::ids::Secret;

/// An access token and its place in the request.
#[derive(Clone, Debug)]
pub struct BearerToken {
    pub token: Secret<String>,
    pub location: BearerLocation,
}

/// Place of a bearer token in a request. Only service providers under `rules = "openid"` may use
/// the body, which is checked once the token's client is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BearerLocation {
    Header,
    Body,
}

/// Reads the access token. `authorization` holds every `Authorization` header, `query` the decoded
/// query, `body` the form of a POST where tokens are accepted in one.
///
/// # Errors
/// The first failed check; [`super::error_response::ErrorResponse`] is the response to it.
pub fn parse_bearer_token(
    authorization: &[&[u8]],
    query: &Params,
    body: Option<&Params>,
) -> Result<BearerToken, ErrorCode> {
    if query.contains("access_token") {
        return Err(ErrorCode::BearerInQuery);
    }
    let form = body.filter(|body| body.contains("access_token"));
    match (authorization, form) {
        ([], None) => Err(ErrorCode::BearerMissing),
        ([], Some(form)) => {
            let token = form.single("access_token").map_err(|_| ErrorCode::BearerManyWays)?;
            let token =
                token.filter(|token| is_b64token(token)).ok_or(ErrorCode::BearerMalformed)?;
            Ok(BearerToken { token: Secret::new(token.to_owned()), location: BearerLocation::Body })
        }
        // RFC 6750 §2: exactly one method.
        (_, Some(_)) => Err(ErrorCode::BearerManyWays),
        ([header], None) => {
            Ok(BearerToken { token: parse_header(header)?, location: BearerLocation::Header })
        }
        (_, None) => Err(ErrorCode::BearerTwice),
    }
}

/// Parses `Bearer 1*SP b64token` (RFC 6750 §2.1; the scheme in any case, RFC 9110 §11.1).
fn parse_header(header: &[u8]) -> Result<Secret<String>, ErrorCode> {
    let header = std::str::from_utf8(header).map_err(|_| ErrorCode::BearerMalformed)?;
    let (scheme, token) = header.split_once(' ').unwrap_or((header, ""));
    if !scheme.eq_ignore_ascii_case("Bearer") {
        return Err(ErrorCode::BearerOtherScheme);
    }
    let token = token.trim_start_matches(' ');
    if is_b64token(token) {
        Ok(Secret::new(token.to_owned()))
    } else {
        Err(ErrorCode::BearerMalformed)
    }
}

fn is_b64token(token: &str) -> bool {
    let unpadded = token.trim_end_matches('=');
    let is_b64token_char = |c: u8| c.is_ascii_alphanumeric() || b"-._~+/".contains(&c);
    !unpadded.is_empty() && unpadded.bytes().all(is_b64token_char)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(headers: &[&str], query: &str) -> Result<String, ErrorCode> {
        let headers: Vec<&[u8]> = headers.iter().map(|header| header.as_bytes()).collect();
        let bearer = parse_bearer_token(&headers, &Params::decode(query.as_bytes()), None)?;
        assert_eq!(bearer.location, BearerLocation::Header);
        Ok(bearer.token.into_inner())
    }

    #[test]
    fn a_body_token_is_read_alone_and_once() {
        let read = |headers: &[&[u8]], query: &str, body: &str| {
            let body = Params::decode(body.as_bytes());
            let bearer =
                parse_bearer_token(headers, &Params::decode(query.as_bytes()), Some(&body))?;
            Ok((bearer.token.into_inner(), bearer.location))
        };
        assert_eq!(
            read(&[], "", "access_token=abc&x=1"),
            Ok(("abc".to_owned(), BearerLocation::Body))
        );
        assert_eq!(
            read(&[b"Bearer abc"], "", "x=1"),
            Ok(("abc".to_owned(), BearerLocation::Header))
        );
        for (headers, query, body, code) in [
            (&[][..], "", "x=1", ErrorCode::BearerMissing),
            (&[], "", "access_token=", ErrorCode::BearerMalformed),
            (&[], "", "access_token=a%20b", ErrorCode::BearerMalformed),
            (&[], "", "access_token=a&access_token=a", ErrorCode::BearerManyWays),
            (&[b"Bearer a".as_slice()], "", "access_token=a", ErrorCode::BearerManyWays),
            (&[], "access_token=a", "access_token=a", ErrorCode::BearerInQuery),
        ] {
            assert_eq!(read(headers, query, body), Err(code), "{query} {body}");
        }
    }

    #[test]
    fn a_bearer_token_is_read() {
        for (header, token) in [
            ("Bearer abc", "abc"),
            ("bearer abc", "abc"),
            ("BEARER   abc==", "abc=="),
            ("Bearer aZ09-._~+/=", "aZ09-._~+/="),
        ] {
            assert_eq!(read(&[header], "x=1").as_deref(), Ok(token), "{header}");
        }
    }

    #[test]
    fn each_format_error_has_its_code() {
        for (headers, query, code) in [
            (&[][..], "", ErrorCode::BearerMissing),
            (&["Bearer a", "Bearer a"], "", ErrorCode::BearerTwice),
            (&["Basic YTpi"], "", ErrorCode::BearerOtherScheme),
            (&["abc"], "", ErrorCode::BearerOtherScheme),
            (&[""], "", ErrorCode::BearerOtherScheme),
            (&["Bearer"], "", ErrorCode::BearerMalformed),
            (&["Bearer "], "", ErrorCode::BearerMalformed),
            (&["Bearer =="], "", ErrorCode::BearerMalformed),
            (&["Bearer a b"], "", ErrorCode::BearerMalformed),
            (&["Bearer a=b"], "", ErrorCode::BearerMalformed),
            (&["Bearer a,Bearer b"], "", ErrorCode::BearerMalformed),
            (&["Bearer é"], "", ErrorCode::BearerMalformed),
            (&["Bearer a"], "access_token=a", ErrorCode::BearerInQuery),
            (&[], "access_token=", ErrorCode::BearerInQuery),
        ] {
            assert_eq!(read(headers, query), Err(code), "{headers:?} {query}");
            assert_eq!((code.entry().status, code.entry().oauth), (400, "invalid_request"));
        }
        assert_eq!(
            parse_bearer_token(&[b"Bearer \xff"], &Params::default(), None).unwrap_err(),
            ErrorCode::BearerMalformed
        );
    }

    proptest! {
        #[test]
        fn any_header_is_answered_and_what_passes_is_a_b64token(header in proptest::collection::vec(any::<u8>(), 0..64)) {
            for header in [header.clone(), [b"Bearer ".as_slice(), &header].concat()] {
                if let Ok(BearerToken { token, .. }) = parse_bearer_token(&[&header], &Params::default(), None) {
                    prop_assert!(!token.reveal().is_empty() && token.reveal().bytes().all(|c| c.is_ascii_graphic()));
                }
            }
        }
    }
}
