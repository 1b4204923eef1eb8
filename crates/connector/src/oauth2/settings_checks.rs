//! Checks the `[kind.oauth2]` table: an identity provider with OAuth 2.0 but without
//! OpenID Connect (RFC 6749, RFC 7636, RFC 9207).

use std::path::PathBuf;

use super::settings::{Oauth2Endpoints, Oauth2Kind};
use crate::forwarded_param::{check_forwarded_params, forwarded_params};
use crate::kind_settings::{KindCheck, KindSettings};
use passerelle_federation::forwarded_params::ForwardedParams;
use passerelle_federation::identity::mapping::{ClaimPath, ClaimPathError};
use passerelle_protocol::ids::Secret;
use passerelle_settings::address::PlainHttp;

/// Parameters of the authorization request that the hub sets itself. `prompt` is not among them,
/// since OAuth 2.0 does not define it.
const PROTOCOL_PARAMETERS: [&str; 9] = [
    "client_id",
    "client_secret",
    "code_challenge",
    "code_challenge_method",
    "redirect_uri",
    "response_mode",
    "response_type",
    "scope",
    "state",
];

impl KindSettings for Oauth2Kind {
    fn addresses(&self) -> Vec<&str> {
        let Oauth2Endpoints { authorization, token, userinfo, .. } = &self.endpoints;
        vec![&self.issuer, authorization, token, userinfo]
    }

    fn forwarded_params(&self) -> ForwardedParams {
        forwarded_params(&self.forwarded_params)
    }

    fn check(&self, check: &mut KindCheck<'_>) -> Option<Secret<String>> {
        check.check_levels_without_acr();
        let http = PlainHttp::anywhere_if(self.insecure_http);
        check.check_issuer("issuer", &self.issuer, http);
        check.check_url("endpoints.authorization", &self.endpoints.authorization, http);
        check.check_url("endpoints.token", &self.endpoints.token, http);
        check.check_url("endpoints.userinfo", &self.endpoints.userinfo, http);
        let fix = "write the client_id that the provider assigned to this hub";
        check.require_text("client_id", &self.client_id, fix);
        let fix =
            "write the userinfo claim that identifies the user permanently, for example \"id\"";
        check.require_text("subject_claim", &self.subject_claim, fix);
        if let Err(error @ (ClaimPathError::TooLong | ClaimPathError::Escape)) =
            ClaimPath::parse(&self.subject_claim)
        {
            check.report("subject_claim", error.to_string(), fix);
        }
        if self.reauthentication_params.is_empty() {
            let message = "is empty, so the authentication time can't be known";
            let fix = "write the parameters that make this provider authenticate the user again, for example { prompt = \"login\" }";
            check.report("reauthentication_params", message, fix);
        }
        check.check_params("authorize_params", &self.authorize_params, &PROTOCOL_PARAMETERS);
        check.check_params(
            "reauthentication_params",
            &self.reauthentication_params,
            &PROTOCOL_PARAMETERS,
        );
        let repeated = |name: &&String| self.reauthentication_params.contains_key(*name);
        for name in self.authorize_params.keys().filter(repeated) {
            let key = format!("authorize_params.{name}");
            check.report(&key, "is also in reauthentication_params", "remove it here");
        }
        let fixed = self.authorize_params.keys().chain(self.reauthentication_params.keys());
        check_forwarded_params(check, &self.forwarded_params, fixed);
        check.check_hosts("internal_hosts", &self.internal_hosts);
        check.secret("client_secret", &self.client_secret)
    }

    fn file_paths_mut(&mut self) -> Vec<(&'static str, &mut PathBuf)> {
        self.ca.iter_mut().map(|path| ("ca", path.as_mut())).collect()
    }

    fn reauthenticates(&self) -> bool {
        self.reauthenticates
    }

    fn insecure_key(&self) -> Option<&'static str> {
        self.insecure_http.then_some("insecure_http")
    }
}
