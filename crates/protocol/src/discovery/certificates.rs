//! The members of the document about client certificates (RFC 8705).

use serde::Serialize;

use super::path;
use super::request_protection::PushEndpoint;
use crate::client_auth::AuthMethod;
use crate::registration::RequestPolicy;

/// What a hub that gets client certificates supports (RFC 8705).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CertificateSupport<'a> {
    /// Whether there are authorities for `tls_client_auth`.
    pub has_authorities: bool,
    /// Base URL of `mtls_endpoint_aliases` (RFC 8705 §5), if it differs from the issuer's.
    pub base_url: Option<&'a str>,
}

impl CertificateSupport<'_> {
    /// Returns the methods of client authentication.
    pub(super) fn auth_methods(&self) -> impl Iterator<Item = &'static str> + use<> {
        let authorities = self.has_authorities.then_some(AuthMethod::TlsClientAuth);
        let methods = authorities.into_iter().chain([AuthMethod::SelfSignedTlsClientAuth]);
        methods.map(AuthMethod::as_str)
    }

    /// Returns the addresses at which connections have certificates, if they are other ones.
    pub(super) fn aliases(&self, policy: RequestPolicy) -> Option<EndpointAliases> {
        self.base_url.map(|base_url| EndpointAliases::new(base_url, policy))
    }
}

/// Addresses of endpoints under which connections have client certificates.
#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "the members of RFC 8705 §5")]
pub(super) struct EndpointAliases {
    token_endpoint: String,
    userinfo_endpoint: String,
    revocation_endpoint: String,
    #[serde(flatten)]
    push_endpoint: PushEndpoint,
}

impl EndpointAliases {
    /// Returns the addresses under another base URL.
    pub fn new(base_url: &str, policy: RequestPolicy) -> Self {
        let at = |path: &str| format!("{base_url}{path}");
        Self {
            token_endpoint: at(path::TOKEN),
            userinfo_endpoint: at(path::USERINFO),
            revocation_endpoint: at(path::REVOCATION),
            push_endpoint: PushEndpoint::new(policy, base_url),
        }
    }
}
