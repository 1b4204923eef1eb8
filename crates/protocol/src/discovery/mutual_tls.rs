//! The members of the document about client certificates (RFC 8705).

use serde_json::{Map, Value, json};

use super::request_protection::push_endpoint;
use super::{path, present_members};
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
    pub(super) fn aliases(&self, policy: RequestPolicy) -> Option<Map<String, Value>> {
        let base_url = self.base_url?;
        let at = |path: &str| format!("{base_url}{path}");
        let aliases = json!({
            "token_endpoint": at(path::TOKEN),
            "userinfo_endpoint": at(path::USERINFO),
            "revocation_endpoint": at(path::REVOCATION),
        });
        let parts = [aliases, push_endpoint(policy, base_url)];
        Some(parts.into_iter().flat_map(present_members).collect())
    }
}
