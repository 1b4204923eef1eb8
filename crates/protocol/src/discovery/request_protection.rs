//! The members about protected authorization requests and responses: pushed requests (RFC 9126
//! §5), request objects (RFC 9101 §10.5; Discovery 1.0 §3) and signed responses (JARM §4).

use serde_json::{Value, json};

use super::algorithms::{
    CLIENT_SIGNING_ALGS, ENCRYPTION_ALGS, ENCRYPTION_ENCS, FAPI_CLIENT_SIGNING_ALGS,
    FAPI_SIGNING_ALGS, SIGNING_ALGS,
};
use super::path;
use crate::authorize::ResponseMode;
use crate::client_auth::{AuthMethod, supported_auth_methods};
use crate::registration::RequestPolicy;
use crate::security_profile::SecurityProfile;
use crate::sender_constraint::{DPOP_SIGNING_ALGS, FAPI_DPOP_SIGNING_ALGS};

/// What the hub and its active service providers use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProtectionFeatures {
    pub policy: RequestPolicy,
    /// One gets encrypted ID tokens or userinfo, or may register them.
    pub encrypted_tokens: bool,
    /// One sends request objects.
    pub request_objects: bool,
    /// One gets signed responses.
    pub signed_responses: bool,
    /// One gets encrypted authorization responses.
    pub encrypted_responses: bool,
}

impl ProtectionFeatures {
    /// Returns the names of the response modes.
    pub(super) fn response_modes(self) -> Vec<&'static str> {
        let signed = if self.signed_responses { ResponseMode::SIGNED } else { &[] };
        let plain = if self.signs_messages() { &[] } else { ResponseMode::PLAIN };
        let names = plain.iter().chain(signed).map(|mode| mode.as_str());
        names.chain(self.signed_responses.then_some("jwt")).collect()
    }

    fn signs_messages(self) -> bool {
        self.policy.profile.is_some_and(SecurityProfile::signs_messages)
    }

    /// Returns the algorithms of the hub's signatures.
    pub(super) const fn signing_algs(self) -> &'static [&'static str] {
        if self.policy.profile.is_some() { FAPI_SIGNING_ALGS } else { SIGNING_ALGS }
    }

    /// Returns the algorithms of JWTs that service providers sign.
    pub(super) const fn client_signing_algs(self) -> &'static [&'static str] {
        if self.policy.profile.is_some() { FAPI_CLIENT_SIGNING_ALGS } else { CLIENT_SIGNING_ALGS }
    }

    /// Returns the algorithms of DPoP proofs.
    pub(super) const fn dpop_signing_algs(self) -> &'static [&'static str] {
        if self.policy.profile.is_some() { FAPI_DPOP_SIGNING_ALGS } else { DPOP_SIGNING_ALGS }
    }

    /// Returns the names of the methods of client authentication without a certificate.
    pub(super) fn auth_methods_without_certificate(
        self,
        has_public_clients: bool,
    ) -> Vec<&'static str> {
        if self.policy.profile.is_some() {
            vec![AuthMethod::PrivateKeyJwt.as_str()]
        } else {
            supported_auth_methods(has_public_clients).to_vec()
        }
    }

    /// Returns the members of the document; `null` stands for an absent one.
    pub(super) fn metadata(self) -> Value {
        let (requests, signed, encrypted) =
            (self.request_objects, self.signed_responses, self.encrypted_responses);
        json!({
            "require_pushed_authorization_requests":
                self.policy.accepts_pushed().then_some(self.policy.requires_pushed()),
            "require_signed_request_object": self.signs_messages().then_some(true),
            "request_object_signing_alg_values_supported":
                requests.then_some(self.client_signing_algs()),
            "authorization_signing_alg_values_supported": signed.then_some(self.signing_algs()),
            "authorization_encryption_alg_values_supported": encrypted.then_some(ENCRYPTION_ALGS),
            "authorization_encryption_enc_values_supported": encrypted.then_some(ENCRYPTION_ENCS),
        })
    }
}

/// Returns the address of the endpoint to push requests to, as a member; `null` if there is none.
pub(super) fn push_endpoint(policy: RequestPolicy, base_url: &str) -> Value {
    let address = || format!("{base_url}{}", path::PUSHED_REQUEST);
    json!({ "pushed_authorization_request_endpoint": policy.accepts_pushed().then(address) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::present_members;
    use crate::registration::PushedRequests;

    fn members(features: ProtectionFeatures) -> Value {
        let endpoint = push_endpoint(features.policy, "https://hub.example");
        let parts = [endpoint, features.metadata()];
        Value::Object(parts.into_iter().flat_map(present_members).collect())
    }

    #[test]
    fn nothing_is_published_that_no_service_provider_uses() {
        assert_eq!(members(ProtectionFeatures::default()), json!({}));
        assert_eq!(ProtectionFeatures::default().response_modes(), ["query", "form_post"]);
    }

    #[test]
    fn the_endpoint_is_published_with_whether_it_must_be_used() {
        for (pushed, required) in
            [(PushedRequests::Accepted, false), (PushedRequests::Required, true)]
        {
            let expected = json!({
                "pushed_authorization_request_endpoint": "https://hub.example/api/v2/par",
                "require_pushed_authorization_requests": required,
            });
            let policy = RequestPolicy { pushed, ..Default::default() };
            assert_eq!(members(ProtectionFeatures { policy, ..Default::default() }), expected);
        }
    }

    #[test]
    fn a_hub_with_a_profile_publishes_nothing_that_the_profile_forbids() {
        let fapi = ProtectionFeatures {
            policy: RequestPolicy {
                pushed: PushedRequests::Required,
                profile: Some(SecurityProfile::Fapi2MessageSigning),
            },
            request_objects: true,
            signed_responses: true,
            ..Default::default()
        };
        let expected = json!({
            "pushed_authorization_request_endpoint": "https://hub.example/api/v2/par",
            "require_pushed_authorization_requests": true,
            "require_signed_request_object": true,
            "request_object_signing_alg_values_supported": ["ES256", "PS256", "EdDSA"],
            "authorization_signing_alg_values_supported": ["ES256"],
        });
        assert_eq!(members(fapi), expected);
        assert_eq!(fapi.response_modes(), ["query.jwt", "form_post.jwt", "jwt"]);
        assert_eq!(fapi.auth_methods_without_certificate(true), ["private_key_jwt"]);
        assert_eq!(fapi.dpop_signing_algs(), ["ES256", "PS256", "EdDSA", "Ed25519"]);
    }

    #[test]
    fn objects_and_signed_responses_are_published_with_their_algorithms() {
        let all = ProtectionFeatures {
            request_objects: true,
            signed_responses: true,
            encrypted_responses: true,
            ..Default::default()
        };
        let expected = json!({
            "request_object_signing_alg_values_supported": ["ES256", "RS256", "PS256", "EdDSA"],
            "authorization_signing_alg_values_supported": ["ES256", "RS256"],
            "authorization_encryption_alg_values_supported": ["ECDH-ES", "RSA-OAEP-256", "RSA-OAEP"],
            "authorization_encryption_enc_values_supported": ["A256GCM"],
        });
        assert_eq!(members(all), expected);
        let modes = ["query", "form_post", "query.jwt", "form_post.jwt", "jwt"];
        assert_eq!(all.response_modes(), modes);
    }
}
