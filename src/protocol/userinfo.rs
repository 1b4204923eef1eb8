//! The access token of a userinfo request (RFC 6750, 2.1 and 2.2).
//!
//! Owns: how a bearer token is carried, and the code of every format error (decisions 6). Must not know: which tokens
//! live. A token in an address ends up in logs and histories, so it is refused there (RFC 6750, 2.3; RFC 9700, 4.3.2).

use super::catalogue::ErrorCode;
use super::params::Params;
use crate::ids::Secret;

/// An access token, and how it came.
#[derive(Clone, Debug)]
pub struct Bearer {
    pub token: Secret<String>,
    pub by: Carried,
}

/// Only service providers under `rules = "openid"` may use the body; whose token it is, is known when it is judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carried {
    Header,
    Body,
}

/// Reads the token. `authorization` holds every `Authorization` header, `query` the decoded query, `body` the form of a
/// POST where tokens may come in one.
///
/// # Errors
/// The first finding; [`super::error_answer::ErrorAnswer`] tells how it is answered.
pub fn parse(
    authorization: &[&[u8]],
    query: &Params,
    body: Option<&Params>,
) -> Result<Bearer, ErrorCode> {
    if query.names("access_token") {
        return Err(ErrorCode::BearerInQuery);
    }
    let form = body.filter(|body| body.names("access_token"));
    match (authorization, form) {
        ([], None) => Err(ErrorCode::BearerMissing),
        ([], Some(form)) => {
            let token = form.one("access_token").map_err(|_| ErrorCode::BearerManyWays)?;
            let token =
                token.filter(|token| is_b64token(token)).ok_or(ErrorCode::BearerMalformed)?;
            Ok(Bearer { token: Secret::new(token.to_owned()), by: Carried::Body })
        }
        // RFC 6750, 2: one method, no more.
        (_, Some(_)) => Err(ErrorCode::BearerManyWays),
        ([header], None) => Ok(Bearer { token: bearer(header)?, by: Carried::Header }),
        (_, None) => Err(ErrorCode::BearerTwice),
    }
}

/// `Bearer 1*SP b64token` (RFC 6750, 2.1; the scheme in any case: RFC 9110, 11.1).
fn bearer(header: &[u8]) -> Result<Secret<String>, ErrorCode> {
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
        let bearer = parse(&headers, &Params::decode(query.as_bytes()), None)?;
        assert_eq!(bearer.by, Carried::Header);
        Ok(bearer.token.into_inner())
    }

    #[test]
    fn a_body_token_is_read_alone_and_once() {
        let read = |headers: &[&[u8]], query: &str, body: &str| {
            let body = Params::decode(body.as_bytes());
            let bearer = parse(headers, &Params::decode(query.as_bytes()), Some(&body))?;
            Ok((bearer.token.into_inner(), bearer.by))
        };
        assert_eq!(read(&[], "", "access_token=abc&x=1"), Ok(("abc".to_owned(), Carried::Body)));
        assert_eq!(read(&[b"Bearer abc"], "", "x=1"), Ok(("abc".to_owned(), Carried::Header)));
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
            parse(&[b"Bearer \xff"], &Params::default(), None).unwrap_err(),
            ErrorCode::BearerMalformed
        );
    }

    proptest! {
        #[test]
        fn any_header_is_answered_and_what_passes_is_a_b64token(header in proptest::collection::vec(any::<u8>(), 0..64)) {
            for header in [header.clone(), [b"Bearer ".as_slice(), &header].concat()] {
                if let Ok(Bearer { token, .. }) = parse(&[&header], &Params::default(), None) {
                    prop_assert!(!token.reveal().is_empty() && token.reveal().bytes().all(|c| c.is_ascii_graphic()));
                }
            }
        }
    }
}
