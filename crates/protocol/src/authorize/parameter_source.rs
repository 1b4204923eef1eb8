//! Where the parameters of an authorization request are: in the request itself, in a request object
//! (RFC 9101 §5), or at the hub, where they were pushed (RFC 9126 §4).

use super::{AuthorizationError, RequestMethod, checks, federation_redirect, openid};
use crate::alg::AcceptedAlgs;
use crate::catalogue::{ErrorCode, Param};
use crate::params::Params;
use crate::registration::{ClientDirectory, ProtocolRules, RequestProtection};

/// Start of every `request_uri` of a hub (RFC 9126 §2.2). Nothing else is looked up, and nothing is
/// fetched.
pub const REQUEST_URI_PREFIX: &str = "urn:ietf:params:oauth:request_uri:";

/// Where the parameters of an authorization request are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParameterSource<'a> {
    /// In the request. A `request` or `request_uri` that the hub doesn't support is among them.
    Request,
    /// In a request object, signed with one of these algorithms.
    Object(&'a str, AcceptedAlgs),
    /// At the hub, under this reference.
    Pushed(&'a str),
}

impl<'a> ParameterSource<'a> {
    /// Returns the source for a request at the authorization endpoint.
    ///
    /// # Errors
    /// `RequestObjectAndUri`; `PushedRequestRequired` or `RequestObjectRequired` if the client must
    /// use that source.
    pub fn find(params: &'a Params, protection: RequestProtection) -> Result<Self, ErrorCode> {
        let request_uri = params.get(Param::RequestUri.name());
        if let Some(reference) = request_uri.and_then(|uri| uri.strip_prefix(REQUEST_URI_PREFIX)) {
            // RFC 9101 §5
            if params.contains(Param::Request.name()) {
                return Err(ErrorCode::RequestObjectAndUri);
            }
            return Ok(Self::Pushed(reference));
        }
        if protection.require_pushed {
            return Err(ErrorCode::PushedRequestRequired);
        }
        Self::find_in_push(params, protection)
    }

    /// Returns the source for a request at the pushed authorization request endpoint.
    ///
    /// # Errors
    /// `RequestObjectRequired`.
    pub fn find_in_push(
        params: &'a Params,
        protection: RequestProtection,
    ) -> Result<Self, ErrorCode> {
        match (params.get(Param::Request.name()), protection.request_object_algs) {
            (Some(object), Some(algs)) => Ok(Self::Object(object, algs)),
            _ if protection.require_request_object => Err(ErrorCode::RequestObjectRequired),
            _ => Ok(Self::Request),
        }
    }
}

/// Returns how to send an error that occurs before the parameters of a request are known. The
/// parameters beside a refused request object or a `request_uri` can prove a redirect, as in a
/// request without an object; otherwise the error is a page.
pub fn reject_unresolved_request(
    params: &Params,
    method: RequestMethod,
    issuer: &str,
    directory: &dyn ClientDirectory,
    code: ErrorCode,
) -> AuthorizationError {
    let redirect = || {
        let registration = checks::find_client(params, directory)?;
        if registration.rules == ProtocolRules::Openid {
            return openid::prove_redirect(params, registration, issuer);
        }
        let redirect_uri = checks::find_registered_redirect_uri(params, registration)?;
        let state = checks::STATE.check(params, method)?;
        Ok::<_, ErrorCode>(federation_redirect(params, registration, &redirect_uri, state, issuer))
    };
    match redirect() {
        Ok(redirect) => AuthorizationError::Redirect(redirect, code),
        Err(_) => AuthorizationError::Page(code),
    }
}

/// Returns the languages that a request asks for; its other parameters may be invalid.
pub fn requested_ui_locales(params: &Params) -> Vec<String> {
    checks::parse_ui_locales(params.get(Param::UiLocales.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alg::VerificationAlg;

    const URI: &str = "request_uri=urn:ietf:params:oauth:request_uri:abc";

    fn find(params: &str, protection: RequestProtection) -> Result<String, ErrorCode> {
        let params = Params::decode(params.as_bytes());
        ParameterSource::find(&params, protection).map(|source| format!("{source:?}"))
    }

    #[test]
    fn a_client_that_registered_nothing_may_push_and_sends_no_object() {
        let plain = RequestProtection::default();
        assert_eq!(find("scope=openid", plain).unwrap(), "Request");
        assert_eq!(find("request=a.b.c", plain).unwrap(), "Request", "refused by the checks");
        assert_eq!(find(URI, plain).unwrap(), "Pushed(\"abc\")");
        let elsewhere = "request_uri=https://sp.example/object.jwt";
        assert_eq!(find(elsewhere, plain).unwrap(), "Request", "refused by the checks");
    }

    #[test]
    fn a_registered_object_is_read_and_a_required_one_can_not_be_left_out() {
        let object_algs = Some(VerificationAlg::ES256.into());
        let signed = RequestProtection { request_object_algs: object_algs, ..Default::default() };
        assert_eq!(
            find("request=a.b.c", signed).unwrap(),
            "Object(\"a.b.c\", AcceptedAlgs([ES256]))"
        );
        assert_eq!(find("scope=openid", signed).unwrap(), "Request");
        let required = RequestProtection { require_request_object: true, ..signed };
        for stripped in ["scope=openid", "request=", "request=a&request=a"] {
            assert_eq!(find(stripped, required), Err(ErrorCode::RequestObjectRequired));
        }
        assert!(find(URI, required).is_ok(), "it was required when it was pushed");
    }

    #[test]
    fn a_required_push_can_not_be_left_out() {
        let required = RequestProtection {
            require_pushed: true,
            request_object_algs: Some(VerificationAlg::ES256.into()),
            ..Default::default()
        };
        for direct in ["scope=openid", "request=a.b.c", "request_uri=https://sp.example/"] {
            assert_eq!(find(direct, required), Err(ErrorCode::PushedRequestRequired), "{direct}");
        }
        assert!(find(URI, required).is_ok());
    }

    #[test]
    fn an_object_and_a_pushed_request_exclude_each_other() {
        let both = format!("{URI}&request=a.b.c");
        assert_eq!(find(&both, RequestProtection::default()), Err(ErrorCode::RequestObjectAndUri));
    }
}
