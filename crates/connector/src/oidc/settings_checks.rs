//! Checks the `[kind.oidc]` table (OpenID Connect Core 1.0 §3.1.2.1, §9).

use std::iter;
use std::path::PathBuf;

use super::fapi2;
use super::settings::{
    AuthTimeSource, Endpoints, OidcKind, UpstreamAuthMethod, UpstreamFeature, UpstreamResponseMode,
};
use crate::forwarded_param::{check_forwarded_params, forwarded_params};
use crate::kind_settings::{KindCheck, KindSettings};
use passerelle_federation::forwarded_params::ForwardedParams;
use passerelle_protocol::catalogue::Param;
use passerelle_protocol::ids::Secret;
use passerelle_settings::address::PlainHttp;

/// Protocol claims, which are verified and never passed on.
pub(super) const PROTOCOL_CLAIMS: [&str; 17] = [
    "iss",
    "aud",
    "exp",
    "iat",
    "nbf",
    "jti",
    "nonce",
    "azp",
    "at_hash",
    "c_hash",
    "acr",
    "amr",
    "auth_time",
    "sid",
    "sub",
    "_claim_names",
    "_claim_sources",
];

/// Parameters of the authorization request that the hub sets itself or relies on.
const PROTOCOL_PARAMETERS: [&str; 20] = [
    "acr_values",
    "claims",
    "client_id",
    "client_secret",
    "code_challenge",
    "code_challenge_method",
    "dpop_jkt",
    "id_token_hint",
    "login_hint",
    "max_age",
    "nonce",
    "prompt",
    "redirect_uri",
    "request",
    "request_uri",
    "response_mode",
    "response_type",
    "scope",
    "state",
    "ui_locales",
];

impl KindSettings for OidcKind {
    fn check(&self, check: &mut KindCheck<'_>) -> Option<Secret<String>> {
        check.check_levels();
        self.check_addresses(check);
        if self.reauthenticates && self.auth_time == AuthTimeSource::Claim {
            let message = "has no effect: the ID token's auth_time proves each new authentication";
            let fix = "remove it, or set auth_time = \"callback\"";
            check.report("reauthenticates", message, fix);
        }
        let fix = "write the client_id that the identity provider assigned to this hub";
        check.require_text("client_id", &self.client_id, fix);
        if !self.scopes.iter().any(|scope| scope.as_str() == "openid") {
            let message = "lacks openid, which is required for an ID token";
            check.report("scopes", message, "add \"openid\"");
        }
        for (index, audience) in self.trusted_audiences.iter().enumerate() {
            let key = format!("trusted_audiences[{index}]");
            let fix = "name an audience that ID tokens of this identity provider have besides the hub's client_id";
            check.require_text(&key, audience, fix);
            if *audience == self.client_id {
                check.report(&key, "is the hub's own client_id", "remove it");
            }
        }
        check.check_params("authorize_params", &self.authorize_params, &PROTOCOL_PARAMETERS);
        let login_hint = Param::LoginHint.name().to_owned();
        let fixed = self.authorize_params.keys().chain(self.login_hint.then_some(&login_hint));
        check_forwarded_params(check, &self.forwarded_params, fixed);
        if let Some(claim) = &self.logout_hint_claim {
            check.require_text("logout_hint_claim", claim, "name a claim, for example \"sid\"");
        }
        check.check_hosts("internal_hosts", &self.internal_hosts);
        self.check_encryption(check);
        self.check_protection(check);
        self.resolve_client_certificate(check);
        if self.fapi2 {
            fapi2::check_file(self, check);
        }
        self.resolve_client_secret(check)
    }

    fn file_paths_mut(&mut self) -> Vec<(&'static str, &mut PathBuf)> {
        self.ca.iter_mut().map(|path| ("ca", path.as_mut())).collect()
    }

    fn reauthenticates(&self) -> bool {
        self.auth_time == AuthTimeSource::Claim || self.reauthenticates
    }

    fn accepts_backchannel_logout(&self) -> bool {
        self.backchannel_logout
    }

    fn accepts_posted_callbacks(&self) -> bool {
        self.response_mode == UpstreamResponseMode::FormPost
    }

    fn forwarded_params(&self) -> ForwardedParams {
        forwarded_params(&self.forwarded_params)
    }

    fn addresses(&self) -> Vec<&str> {
        let endpoints = self.endpoints.iter().flat_map(|endpoints| {
            let Endpoints { authorization, token, userinfo, jwks, .. } = endpoints;
            let optional = [&endpoints.end_session, &endpoints.pushed_authorization_request];
            [authorization, token, userinfo, jwks].into_iter().chain(optional.into_iter().flatten())
        });
        iter::once(&self.issuer).chain(endpoints).map(String::as_str).collect()
    }

    fn protocol_claims(&self) -> &'static [&'static str] {
        &PROTOCOL_CLAIMS
    }

    fn insecure_key(&self) -> Option<&'static str> {
        self.insecure_http.then_some("insecure_http")
    }
}

impl OidcKind {
    fn check_addresses(&self, check: &mut KindCheck<'_>) {
        let http = PlainHttp::anywhere_if(self.insecure_http);
        check.check_issuer("issuer", &self.issuer, http);
        let Some(endpoints) = &self.endpoints else { return };
        check.check_url("endpoints.authorization", &endpoints.authorization, http);
        check.check_url("endpoints.token", &endpoints.token, http);
        check.check_url("endpoints.userinfo", &endpoints.userinfo, http);
        check.check_url("endpoints.jwks", &endpoints.jwks, http);
        if let Some(end_session) = &endpoints.end_session {
            check.check_url("endpoints.end_session", end_session, http);
        }
        if let Some(pushed) = &endpoints.pushed_authorization_request {
            check.check_url("endpoints.pushed_authorization_request", pushed, http);
        }
    }

    /// Resolves the client secret, if the authentication method has one, and reports settings that
    /// the method ignores.
    fn resolve_client_secret(&self, check: &mut KindCheck<'_>) -> Option<Secret<String>> {
        const SECRET: &str = "client_secret";
        let method = self.token_endpoint_auth_method;
        if method != UpstreamAuthMethod::PrivateKeyJwt {
            let assertion_keys = [
                ("token_endpoint_auth_signing_alg", self.token_endpoint_auth_signing_alg.is_some()),
                ("client_assertion_audience", self.client_assertion_audience.is_some()),
            ];
            for (key, _) in assertion_keys.into_iter().filter(|(_, given)| *given) {
                let fix = "remove it, or set token_endpoint_auth_method = \"private_key_jwt\"";
                check.report(key, "is set, but no assertion is sent", fix);
            }
        }
        if !method.has_secret() {
            if self.client_secret.is_some() {
                let message = format!("is set, but {} doesn't use it", method.as_str());
                check.report(SECRET, message, "remove it, and revoke it at the identity provider");
            }
            return None;
        }
        let Some(reference) = &self.client_secret else {
            let fix = "add client_secret = { file = \"…\" } or { env = \"…\" }, or set token_endpoint_auth_method = \"private_key_jwt\"";
            check.report(SECRET, "is missing", fix);
            return None;
        };
        check.secret(SECRET, reference)
    }

    /// Reads the client certificate, if something uses it, and reports one that is missing.
    fn resolve_client_certificate(&self, check: &mut KindCheck<'_>) {
        const CERTIFICATE: &str = "client_certificate";
        const KEY: &str = "client_key";
        const BOUND: &str = "tls_client_certificate_bound_access_tokens";
        let is_bound = self.tls_client_certificate_bound_access_tokens != UpstreamFeature::Off;
        let is_used = is_bound || self.token_endpoint_auth_method.uses_certificate();
        let fix = "add client_certificate and client_key, each { file = \"…\" } or { env = \"…\" }";
        match (&self.client_certificate, &self.client_key) {
            (Some(certificate), Some(key)) if is_used => {
                check.resolve_client_identity((CERTIFICATE, &certificate.into()), (KEY, key));
            }
            (Some(_), Some(_)) => {
                let fix = "remove it and client_key, or set token_endpoint_auth_method = \"tls_client_auth\" or \
                           tls_client_certificate_bound_access_tokens = \"on\"";
                check.report(CERTIFICATE, "is set, but nothing uses it", fix);
            }
            (Some(_), None) => check.report(KEY, "is missing beside client_certificate", fix),
            (None, Some(_)) => check.report(CERTIFICATE, "is missing beside client_key", fix),
            (None, None) if is_used => {
                let user = if is_bound { BOUND } else { "token_endpoint_auth_method" };
                check.report(user, "needs a client certificate, and there is none", fix);
            }
            (None, None) => {}
        }
        if is_bound && self.dpop != UpstreamFeature::Off {
            let fix = "keep one of the two: an access token is bound to one key";
            check.report(BOUND, "is set together with dpop", fix);
        }
    }

    /// Checks pushed requests and request objects.
    fn check_protection(&self, check: &mut KindCheck<'_>) {
        if self.request_object_signing_alg.is_some() && self.request_objects == UpstreamFeature::Off
        {
            let fix = "remove it, or set request_objects = \"on\" or \"auto\"";
            check.report("request_object_signing_alg", "is set, but no request is signed", fix);
        }
        let has_endpoint = self
            .endpoints
            .as_ref()
            .is_none_or(|endpoints| endpoints.pushed_authorization_request.is_some());
        if self.pushed_authorization_requests == UpstreamFeature::On && !has_endpoint {
            let message = "is \"on\", but the file's endpoints lack the one to push to";
            let fix = "add endpoints.pushed_authorization_request";
            check.report("pushed_authorization_requests", message, fix);
        }
        // The hub's keys are public: only a signature proves the origin.
        if self.authorization_encrypted_response_alg.is_some()
            && self.authorization_signed_response_alg.is_none()
        {
            let message = "is set without authorization_signed_response_alg, so anyone could forge a response";
            let fix = "add authorization_signed_response_alg = \"ES256\", and register it with the identity provider";
            check.report("authorization_encrypted_response_alg", message, fix);
        }
    }

    /// Checks the encryption of ID tokens and userinfo responses.
    fn check_encryption(&self, check: &mut KindCheck<'_>) {
        let responses = [
            (
                "id_token",
                self.id_token_encrypted_response_alg,
                self.id_token_encrypted_response_enc,
            ),
            (
                "userinfo",
                self.userinfo_encrypted_response_alg,
                self.userinfo_encrypted_response_enc,
            ),
            (
                "authorization",
                self.authorization_encrypted_response_alg,
                self.authorization_encrypted_response_enc,
            ),
        ];
        for (response, alg, enc) in responses {
            if alg.is_none() && enc.is_some() {
                let fix = format!("add {response}_encrypted_response_alg, or remove it");
                let key = format!("{response}_encrypted_response_enc");
                check.report(&key, "is set without its alg", fix);
            }
        }
        // The hub's keys are public, so anyone can encrypt to them: only a signature proves the
        // origin.
        if self.userinfo_encrypted_response_alg.is_some()
            && self.userinfo_signed_response_alg.is_none()
        {
            let message =
                "is set without userinfo_signed_response_alg, so anyone could forge a response";
            let fix = "add userinfo_signed_response_alg = \"ES256\", and register it with the identity provider";
            check.report("userinfo_encrypted_response_alg", message, fix);
        }
    }
}
