//! Checks that the connector's file, when it is loaded, and the identity provider's metadata, at
//! each fetch, meet the FAPI 2.0 Security Profile (Final, §5.3.3 and §5.4).
//!
//! A connector with `fapi2 = true` never falls back to a weaker request, so that neither a mistake
//! in the file nor a document in its place downgrades a login.

use serde_json::{Map, Value};

use super::settings::{AssertionAudience, OidcKind, UpstreamAuthMethod, UpstreamFeature};
use crate::error::ConnectorError;
use crate::kind_settings::KindCheck;
use passerelle_jose::dpop_key::DPOP_CLIENT_ALG;
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::catalogue::ErrorCode;

const CONTRADICTION: &str = "but fapi2 = true";

/// Reports each setting of the file that contradicts the profile.
pub(super) fn check_file(kind: &OidcKind, check: &mut KindCheck<'_>) {
    let mut demand = |holds: bool, key: &str, message: &str, fix: &str| {
        if !holds {
            check.report(key, format!("{message}, {CONTRADICTION}"), fix);
        }
    };
    demand(
        !kind.token_endpoint_auth_method.has_secret(),
        "token_endpoint_auth_method",
        "sends a shared secret",
        "set \"private_key_jwt\", \"tls_client_auth\" or \"self_signed_tls_client_auth\"",
    );
    demand(
        kind.pushed_authorization_requests != UpstreamFeature::Off,
        "pushed_authorization_requests",
        "is \"off\"",
        "set pushed_authorization_requests = \"on\"",
    );
    demand(
        kind.dpop != UpstreamFeature::Off
            || kind.tls_client_certificate_bound_access_tokens != UpstreamFeature::Off,
        "dpop",
        "is \"off\", and no certificate binds the tokens",
        "set dpop = \"on\", or tls_client_certificate_bound_access_tokens = \"on\"",
    );
    demand(
        kind.client_assertion_audience != Some(AssertionAudience::TokenEndpoint),
        "client_assertion_audience",
        "is the token endpoint",
        "remove it: the audience is the issuer, as one string",
    );
    demand(
        kind.endpoints.is_none(),
        "endpoints",
        "are in the file",
        "remove the table: the profile takes endpoints from the identity provider's metadata only",
    );
    for (key, alg) in algorithms(kind) {
        demand(
            alg.is_none_or(is_allowed),
            key,
            "is an algorithm that the profile excludes",
            "set \"ES256\", and register it with the identity provider",
        );
    }
}

fn algorithms(kind: &OidcKind) -> [(&'static str, Option<SigningAlg>); 5] {
    [
        ("id_token_signed_response_alg", Some(kind.id_token_signed_response_alg)),
        ("userinfo_signed_response_alg", kind.userinfo_signed_response_alg),
        ("token_endpoint_auth_signing_alg", kind.token_endpoint_auth_signing_alg),
        ("request_object_signing_alg", kind.request_object_signing_alg),
        ("authorization_signed_response_alg", kind.authorization_signed_response_alg),
    ]
}

/// FAPI 2.0 §5.4.1 allows PS256, ES256 and `EdDSA`; the hub knows one of them, and RS256.
const fn is_allowed(alg: SigningAlg) -> bool {
    match alg {
        SigningAlg::ES256 => true,
        SigningAlg::RS256 => false,
    }
}

/// Checks a configuration document against the profile.
///
/// # Errors
/// `IdpDiscovery` with every member that contradicts it.
pub(super) fn check_document(
    kind: &OidcKind,
    members: &Map<String, Value>,
) -> Result<(), ConnectorError> {
    let is_true = |name: &str| members.get(name) == Some(&Value::Bool(true));
    let lists = |name: &str, value: &str| {
        let values = members.get(name).and_then(Value::as_array);
        values.is_some_and(|values| values.iter().any(|listed| listed == value))
    };
    let mut missing = Vec::new();
    let mut demand = |holds: bool, what: String| {
        if !holds {
            missing.push(what);
        }
    };
    let listed = |name: &str, value: &str| (lists(name, value), format!("{value} in {name}"));
    for name in ["pushed_authorization_request_endpoint", "token_endpoint", "jwks_uri"] {
        demand(members.get(name).is_some_and(Value::is_string), name.to_owned());
    }
    // A signed response has its issuer inside (RFC 9207 §2.4).
    if kind.authorization_signed_response_alg.is_none() {
        let name = "authorization_response_iss_parameter_supported";
        demand(is_true(name), format!("{name} = true"));
    }
    let method = kind.token_endpoint_auth_method;
    let mut lists_demanded = vec![
        listed("code_challenge_methods_supported", "S256"),
        listed("token_endpoint_auth_methods_supported", method.as_str()),
        listed("id_token_signing_alg_values_supported", kind.id_token_signed_response_alg.as_str()),
    ];
    if kind.dpop != UpstreamFeature::Off {
        let name = "dpop_signing_alg_values_supported";
        lists_demanded.push(listed(name, DPOP_CLIENT_ALG.as_str()));
    }
    // Both have no default: a document without them says nothing about the algorithms.
    let optional = [
        (
            "token_endpoint_auth_signing_alg_values_supported",
            (method == UpstreamAuthMethod::PrivateKeyJwt)
                .then(|| kind.token_endpoint_auth_signing_alg.unwrap_or_default()),
        ),
        ("authorization_signing_alg_values_supported", kind.authorization_signed_response_alg),
    ];
    for (name, alg) in optional {
        if let Some(alg) = alg.filter(|_| members.contains_key(name)) {
            lists_demanded.push(listed(name, alg.as_str()));
        }
    }
    for (holds, what) in lists_demanded {
        demand(holds, what);
    }
    if kind.tls_client_certificate_bound_access_tokens != UpstreamFeature::Off {
        let name = "tls_client_certificate_bound_access_tokens";
        demand(is_true(name), format!("{name} = true"));
    }
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!(
        "its metadata lacks what fapi2 = true demands: {}; ask the identity provider to switch its FAPI 2.0 \
         profile on for this hub, or remove fapi2",
        missing.join(", ")
    );
    Err(ConnectorError::new(ErrorCode::IdpDiscovery, message))
}
