//! Reads the access token of a userinfo request (RFC 6750 §2.1 and §2.2; RFC 9449 §7.1).
//!
//! A token in a URL ends up in logs and histories, so it is rejected there (RFC 6750 §2.3; RFC 9700
//! §4.3.2). Independent of which tokens are live.

use super::catalogue::ErrorCode;
use super::params::Params;
use super::sender_constraint::ProofOfPossession;
use crate::ids::Secret;

/// An access token, how the request presents it, and its proof of possession of a key.
#[derive(Clone, Debug)]
pub struct PresentedToken {
    pub token: Secret<String>,
    pub location: BearerLocation,
    pub scheme: TokenScheme,
    /// Empty until [`PresentedToken::with_proof_of_possession`].
    pub proof_of_possession: ProofOfPossession,
}

impl PresentedToken {
    /// Adds the request's proof of possession of a key.
    #[must_use]
    pub fn with_proof_of_possession(self, proof_of_possession: ProofOfPossession) -> Self {
        Self { proof_of_possession, ..self }
    }
}

/// Authentication scheme of an access token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenScheme {
    Bearer,
    /// For a token that is bound to a key (RFC 9449 §7.1).
    Dpop,
}

impl TokenScheme {
    /// Returns the scheme that the `Authorization` headers of a request use; Bearer if there is
    /// none, several, or another one.
    pub fn from_authorization(authorization: &[&[u8]]) -> Self {
        match authorization {
            [header] if header.get(..5).is_some_and(|s| s.eq_ignore_ascii_case(b"DPoP ")) => {
                Self::Dpop
            }
            _ => Self::Bearer,
        }
    }
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
pub fn parse_access_token(
    authorization: &[&[u8]],
    query: &Params,
    body: Option<&Params>,
) -> Result<PresentedToken, ErrorCode> {
    if query.contains("access_token") {
        return Err(ErrorCode::BearerInQuery);
    }
    let form = body.filter(|body| body.contains("access_token"));
    match (authorization, form) {
        ([], None) => Err(ErrorCode::BearerMissing),
        ([], Some(form)) => {
            let token =
                form.single("access_token").map_err(|_| ErrorCode::BearerMultipleMethods)?;
            let token =
                token.filter(|token| is_b64token(token)).ok_or(ErrorCode::BearerMalformed)?;
            Ok(PresentedToken {
                token: Secret::new(token.to_owned()),
                location: BearerLocation::Body,
                scheme: TokenScheme::Bearer,
                proof_of_possession: ProofOfPossession::default(),
            })
        }
        // RFC 6750 §2: exactly one method.
        (_, Some(_)) => Err(ErrorCode::BearerMultipleMethods),
        ([header], None) => parse_header(header),
        (_, None) => Err(ErrorCode::BearerTwice),
    }
}

/// Parses `Bearer 1*SP b64token` (RFC 6750 §2.1; the scheme in any case, RFC 9110 §11.1), or the
/// same with `DPoP`, whose tokens are a subset (RFC 9449 §7.1).
fn parse_header(header: &[u8]) -> Result<PresentedToken, ErrorCode> {
    let text = std::str::from_utf8(header).map_err(|_| ErrorCode::BearerMalformed)?;
    let (word, token) = text.split_once(' ').unwrap_or((text, ""));
    let scheme = match TokenScheme::from_authorization(&[header]) {
        TokenScheme::Bearer if !word.eq_ignore_ascii_case("Bearer") => {
            return Err(ErrorCode::BearerOtherScheme);
        }
        scheme => scheme,
    };
    let token = token.trim_start_matches(' ');
    if !is_b64token(token) {
        return Err(ErrorCode::BearerMalformed);
    }
    Ok(PresentedToken {
        token: Secret::new(token.to_owned()),
        location: BearerLocation::Header,
        scheme,
        proof_of_possession: ProofOfPossession::default(),
    })
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
        let bearer = parse_access_token(&headers, &Params::decode(query.as_bytes()), None)?;
        assert_eq!(bearer.location, BearerLocation::Header);
        Ok(bearer.token.into_inner())
    }

    #[test]
    fn a_body_token_is_read_alone_and_once() {
        let read = |headers: &[&[u8]], query: &str, body: &str| {
            let body = Params::decode(body.as_bytes());
            let bearer =
                parse_access_token(headers, &Params::decode(query.as_bytes()), Some(&body))?;
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
            (&[], "", "access_token=a&access_token=a", ErrorCode::BearerMultipleMethods),
            (&[b"Bearer a".as_slice()], "", "access_token=a", ErrorCode::BearerMultipleMethods),
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
            parse_access_token(&[b"Bearer \xff"], &Params::default(), None).unwrap_err(),
            ErrorCode::BearerMalformed
        );
    }

    #[test]
    fn the_scheme_of_a_bound_token_is_read() {
        for (header, scheme) in [
            ("Bearer abc", TokenScheme::Bearer),
            ("DPoP abc", TokenScheme::Dpop),
            ("dpop   abc", TokenScheme::Dpop),
        ] {
            let read = parse_access_token(&[header.as_bytes()], &Params::default(), None).unwrap();
            assert_eq!((read.token.reveal().as_str(), read.scheme), ("abc", scheme), "{header}");
        }
        for (header, code) in [
            ("DPoP", ErrorCode::BearerOtherScheme),
            ("DPoP ", ErrorCode::BearerMalformed),
            ("DPoP a b", ErrorCode::BearerMalformed),
            ("DPoPabc", ErrorCode::BearerOtherScheme),
        ] {
            assert_eq!(read(&[header], ""), Err(code), "{header}");
        }
    }

    proptest! {
        #[test]
        fn any_header_is_answered_and_what_passes_is_a_b64token(header in proptest::collection::vec(any::<u8>(), 0..64)) {
            for header in [header.clone(), [b"Bearer ".as_slice(), &header].concat()] {
                if let Ok(PresentedToken { token, .. }) = parse_access_token(&[&header], &Params::default(), None) {
                    prop_assert!(!token.reveal().is_empty() && token.reveal().bytes().all(|c| c.is_ascii_graphic()));
                }
            }
        }
    }
}
