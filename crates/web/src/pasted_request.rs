//! Explains an authorization request from its URL, as a developer copies it from a browser or a
//! log (`passerelle check service-provider --request`, `/api/v2/diagnostics`).

use url::Url;

use super::form;
use passerelle_federation::Federation;
use passerelle_federation::assurance::AcrCheck;
use passerelle_federation::session::gate::{PermittedConnector, UnavailableReason};
use passerelle_protocol::acr::Platform;
use passerelle_protocol::authorize::RequestMethod;
use passerelle_protocol::authorize::explanation::{self, ExplanationContext, RequestExplanation};
use passerelle_protocol::catalogue::Param;
use passerelle_protocol::discovery::path;
use passerelle_protocol::ids::{ClientId, ConnectorId};
use passerelle_protocol::params::Params;

/// Maximum length of a pasted URL, in bytes.
pub const MAX_URL_BYTES: usize = 16 * 1024;

/// An authorization request, from its URL.
#[derive(Clone, Debug)]
pub struct PastedRequest {
    endpoint: Url,
    params: Params,
}

/// Why a pasted text is not an authorization request.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum PastedRequestError {
    #[error("it is longer than {MAX_URL_BYTES} bytes")]
    TooLarge,
    #[error("it is not an absolute https or http URL")]
    NotUrl,
    #[error("it was not sent by this page's form")]
    NotForm,
    #[error("it has no query, so it contains no request")]
    NoQuery,
    #[error("the value of one of its parameters can't be decoded")]
    Unreadable,
}

impl PastedRequestError {
    /// Returns how to fix it.
    pub const fn fix(self) -> &'static str {
        match self {
            Self::TooLarge => "shorten the request: servers and browsers reject such addresses too",
            Self::NotUrl | Self::NoQuery => {
                "paste the whole address of the redirect to the hub, from https:// to the last parameter"
            }
            Self::NotForm => "open this page again, and paste the address there",
            Self::Unreadable => "percent-encode each value as UTF-8",
        }
    }
}

/// The settings of the hub that explains a request.
#[derive(Clone, Copy, Debug)]
pub struct HubIdentity<'a> {
    pub platform: Platform,
    /// Ends in `/api/v2`.
    pub issuer: &'a str,
}

impl PastedRequest {
    /// Parses a URL, with the decoder of the authorization endpoint.
    ///
    /// # Errors
    /// Returns why the text is not an authorization request.
    pub fn parse(text: &str) -> Result<Self, PastedRequestError> {
        let text = text.trim_ascii();
        if text.len() > MAX_URL_BYTES {
            return Err(PastedRequestError::TooLarge);
        }
        let without_fragment = text.split('#').next().unwrap_or_default();
        let (address, query) = match without_fragment.split_once('?') {
            Some((address, query)) => (address, Some(query)),
            None => (without_fragment, None),
        };
        let endpoint = Url::parse(address).map_err(|_| PastedRequestError::NotUrl)?;
        if !matches!(endpoint.scheme(), "https" | "http") {
            return Err(PastedRequestError::NotUrl);
        }
        let query = query.filter(|query| !query.is_empty()).ok_or(PastedRequestError::NoQuery)?;
        let params = form::parse_query(query).map_err(|_| PastedRequestError::TooLarge)?;
        params.check_readable(Param::AUTHORIZATION).map_err(|_| PastedRequestError::Unreadable)?;
        Ok(Self { endpoint, params })
    }

    /// Returns the client that the request names.
    pub fn client_id(&self) -> Option<ClientId> {
        self.params.get("client_id").map(ClientId::from)
    }

    /// Returns the authorization endpoint of this hub, if the URL leads elsewhere.
    pub fn expected_endpoint(&self, issuer: &str) -> Option<String> {
        let base = issuer.strip_suffix(path::ISSUER).unwrap_or(issuer);
        let expected = format!("{base}{}", path::AUTHORIZE);
        let leads_here = Url::parse(&expected).is_ok_and(|expected| expected == self.endpoint);
        (!leads_here).then_some(expected)
    }

    /// Explains the request as `hub` with this federation treats it. `permit` returns what an
    /// identity provider that the request names can prove to the service provider.
    pub fn explain(
        &self,
        hub: HubIdentity<'_>,
        federation: &Federation,
        permit: &dyn Fn(&ClientId, &ConnectorId) -> Result<PermittedConnector, UnavailableReason>,
    ) -> RequestExplanation {
        let context = ExplanationContext {
            platform: hub.platform,
            issuer: hub.issuer,
            directory: federation,
            scope_claims: &|scope, rules| {
                let claims = federation.scope_table(rules).claim_names([scope]);
                claims.iter().map(ToString::to_string).collect()
            },
            idp_unavailable_reason: &|client_id, connector, requirement| {
                let at = AcrCheck::Requested(requirement);
                let checked = permit(client_id, connector);
                checked
                    .and_then(|permitted| permitted.check_level(at))
                    .err()
                    .map(|reason| reason.to_string())
            },
        };
        explanation::explain_request(&self.params, RequestMethod::Get, &context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_authorization_request_is_rejected_with_the_reason() {
        for (text, error) in [
            ("", PastedRequestError::NotUrl),
            ("client_id=sp&scope=openid", PastedRequestError::NotUrl),
            ("javascript:alert(1)?client_id=sp", PastedRequestError::NotUrl),
            ("https://hub.example/api/v2/authorize", PastedRequestError::NoQuery),
            ("https://hub.example/api/v2/authorize?#state=1", PastedRequestError::NoQuery),
            ("https://hub.example/?state=%zz", PastedRequestError::Unreadable),
            ("https://hub.example/?scope=%ff", PastedRequestError::Unreadable),
        ] {
            assert_eq!(PastedRequest::parse(text).err(), Some(error), "{text}");
        }
        let long = format!("https://hub.example/?a={}", "x".repeat(MAX_URL_BYTES));
        assert_eq!(PastedRequest::parse(&long).err(), Some(PastedRequestError::TooLarge));
    }

    #[test]
    fn another_endpoint_is_named() {
        let issuer = "https://hub.example/api/v2";
        let other = |url: &str| PastedRequest::parse(url).unwrap().expected_endpoint(issuer);
        assert_eq!(other("https://hub.example:443/api/v2/authorize?client_id=sp#x"), None);
        for wrong in ["https://evil.example/api/v2/authorize?a=1", "https://hub.example/login?a=1"]
        {
            assert_eq!(other(wrong).as_deref(), Some("https://hub.example/api/v2/authorize"));
        }
    }
}
