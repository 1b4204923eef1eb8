//! Compares a configuration document with the connector's file (OpenID Connect Discovery 1.0 §3;
//! RFC 8414 §2). An absent member proves nothing, unless it has a default.

use serde_json::{Map, Value};

use crate::diagnostic::{CheckDiagnostic, DiagnosisContext};
use crate::oidc::settings::{AuthTimeSource, OidcKind, UpstreamResponseMode};
use passerelle_federation::assurance::acr::AcrPolicy;
use passerelle_telemetry::printable_ascii;

/// Ending of a message about an absent member.
const NOT_ANNOUNCED: &str = "can't be checked: the identity provider announces no values";
/// Number of announced values shown in a diagnostic.
const MAX_SHOWN_VALUES: usize = 40;
/// Characters shown of each value.
const MAX_SHOWN_CHARS: usize = 64;

/// Returns the diagnostics of a configuration document.
pub(super) fn diagnose_document(
    members: &Map<String, Value>,
    kind: &OidcKind,
    acr_policy: &AcrPolicy,
    context: &DiagnosisContext,
) -> Vec<CheckDiagnostic> {
    let document = Document(members);
    let mut diagnostics = vec![
        document.check_pkce(),
        document.check_iss_parameter(),
        document.check_response_mode(kind),
        document.check_authentication_method(kind),
        document.check_signing_algorithm(kind),
        document.check_acr_values(acr_policy),
        document.check_prompt(),
        document.check_auth_time(kind),
        document.check_scopes(kind),
        document.check_claims(context),
    ];
    diagnostics.extend(check_fapi2(kind));
    diagnostics.extend(document.check_claim_types());
    diagnostics.extend(document.check_backchannel_logout(kind));
    diagnostics
}

struct Document<'a>(&'a Map<String, Value>);

impl<'a> Document<'a> {
    fn string_list(&self, name: &str) -> Option<Vec<&'a str>> {
        Some(self.0.get(name)?.as_array()?.iter().filter_map(Value::as_str).collect())
    }

    fn check_pkce(&self) -> CheckDiagnostic {
        match self.string_list("code_challenge_methods_supported") {
            Some(methods) if methods.contains(&"S256") => {
                CheckDiagnostic::ok("pkce", "S256 is announced")
            }
            Some(_) | None => CheckDiagnostic::warning(
                "pkce",
                "PKCE with S256 is not announced; the hub uses it anyway, but it protects only if the identity provider checks it",
                "ask the identity provider whether it checks code_verifier (RFC 7636)",
            ),
        }
    }

    fn check_iss_parameter(&self) -> CheckDiagnostic {
        let announced =
            self.0.get("authorization_response_iss_parameter_supported").and_then(Value::as_bool);
        CheckDiagnostic::ok(
            "iss-parameter",
            match announced {
                Some(true) => {
                    "authorization responses contain iss (RFC 9207), and those without it are rejected"
                }
                Some(false) | None => {
                    "authorization responses contain no iss (RFC 9207); each identity provider has its own redirect URI instead"
                }
            },
        )
    }

    fn check_response_mode(&self, kind: &OidcKind) -> CheckDiagnostic {
        const NAME: &str = "response-mode";
        let modes = self.string_list("response_modes_supported");
        let is_posted = kind.response_mode == UpstreamResponseMode::FormPost;
        if kind.authorization_signed_response_alg.is_some() {
            let mode = if is_posted { "form_post.jwt" } else { "jwt" };
            return match modes {
                Some(modes) if modes.contains(&mode) => {
                    CheckDiagnostic::ok(NAME, "authorization responses are signed")
                }
                Some(_) | None => CheckDiagnostic::error(
                    NAME,
                    format!(
                        "response_mode={mode} is not announced, but the file demands signed responses"
                    ),
                    "ask the identity provider for JARM, or remove authorization_signed_response_alg",
                ),
            };
        }
        let mode = if is_posted { "form_post" } else { "query" };
        // Discovery 1.0 §3: the default is query and fragment.
        let modes = modes.unwrap_or_else(|| vec!["query", "fragment"]);
        if modes.contains(&mode) {
            let message = format!("authorization responses arrive by response_mode={mode}");
            return CheckDiagnostic::ok(NAME, message);
        }
        let other = if is_posted { "query" } else { "form_post" };
        let fix = if modes.contains(&other) {
            format!("set response_mode = \"{other}\" in kind.oidc")
        } else {
            "ask the identity provider to allow the response mode query for this client".to_owned()
        };
        let message = format!("response_mode={mode} is not announced, but the file asks for it");
        CheckDiagnostic::error(NAME, message, fix)
    }

    fn check_authentication_method(&self, kind: &OidcKind) -> CheckDiagnostic {
        let ours = kind.token_endpoint_auth_method.as_str();
        // Discovery 1.0 §3: the default is client_secret_basic.
        let methods = self
            .string_list("token_endpoint_auth_methods_supported")
            .unwrap_or_else(|| vec!["client_secret_basic"]);
        if methods.contains(&ours) {
            return CheckDiagnostic::ok("authentication-method", format!("{ours} is announced"));
        }
        let fix = "set token_endpoint_auth_method to the method registered there";
        CheckDiagnostic::warning("authentication-method", format!("{ours} is not announced"), fix)
    }

    fn check_signing_algorithm(&self, kind: &OidcKind) -> CheckDiagnostic {
        let alg = kind.id_token_signed_response_alg.as_str();
        match self.string_list("id_token_signing_alg_values_supported") {
            Some(algs) if !algs.contains(&alg) => CheckDiagnostic::warning(
                "signing-algorithm",
                format!(
                    "ID tokens signed with {alg} are not announced, but the hub accepts no others"
                ),
                "set id_token_signed_response_alg to the algorithm registered there",
            ),
            Some(_) => CheckDiagnostic::ok("signing-algorithm", format!("{alg} is announced")),
            None => CheckDiagnostic::ok("signing-algorithm", format!("{alg} {NOT_ANNOUNCED}")),
        }
    }

    /// The member is defined in Initiating User Registration via OpenID Connect 1.0 §4.1.
    fn check_prompt(&self) -> CheckDiagnostic {
        match self.string_list("prompt_values_supported") {
            Some(values) if !values.contains(&"login") => CheckDiagnostic::warning(
                "prompt",
                "prompt=login is not announced: if the identity provider ignores it, logins that require \
                 reauthentication fail (Y020370)",
                "ask the identity provider whether it respects prompt=login for this client",
            ),
            Some(_) => CheckDiagnostic::ok("prompt", "prompt=login is announced"),
            None => CheckDiagnostic::ok("prompt", format!("prompt=login {NOT_ANNOUNCED}")),
        }
    }

    /// A login needs `auth_time` if it must be a new one or has a maximum age, and always for service
    /// providers under federation rules.
    fn check_auth_time(&self, kind: &OidcKind) -> CheckDiagnostic {
        const NAME: &str = "auth-time";
        if kind.auth_time == AuthTimeSource::Callback {
            return CheckDiagnostic::ok(NAME, "the time of the callback counts (auth_time)");
        }
        let is_asked_in_claims = kind.request_amr
            || self.0.get("claims_parameter_supported").and_then(Value::as_bool) == Some(true);
        let asking = if is_asked_in_claims { "the claims parameter" } else { "max_age" };
        match self.string_list("claims_supported") {
            Some(claims) if !claims.contains(&"auth_time") => CheckDiagnostic::warning(
                NAME,
                format!(
                    "auth_time is not announced; the hub asks for it by {asking} when a login needs it, and such a \
                     login fails without it (Y020046)"
                ),
                "sign in once under rules = \"federation\" or with prompt=login; if that fails with Y020046, ask the \
                 identity provider to send auth_time to this client, or set auth_time = \"callback\"",
            ),
            Some(_) => CheckDiagnostic::ok(
                NAME,
                format!(
                    "auth_time is announced; the hub asks for it by {asking} when a login needs it"
                ),
            ),
            None => CheckDiagnostic::ok(
                NAME,
                format!(
                    "auth_time {NOT_ANNOUNCED}; the hub asks for it by {asking} when a login needs it"
                ),
            ),
        }
    }

    /// Warns of returned `acr` values that are not listed, which make logins with `assumed_level`
    /// fail.
    fn check_unlisted_acr_values(&self, acr_policy: &AcrPolicy) -> Option<CheckDiagnostic> {
        acr_policy.assumed?;
        let values = self.string_list("acr_values_supported");
        let unlisted: Vec<&str> = values
            .iter()
            .flatten()
            .copied()
            .filter(|value| acr_policy.rejects_acr(value))
            .collect();
        let returns_acr =
            self.string_list("claims_supported").is_some_and(|claims| claims.contains(&"acr"));
        let announced = match (&values, unlisted.is_empty()) {
            (Some(_), false) => format!(
                "the acr values {}, which the [acr] table does not list",
                format_values(&unlisted)
            ),
            (None, _) if returns_acr && acr_policy.values.is_empty() => {
                "that it returns acr, and the file has no [acr] table".into()
            }
            _ => return None,
        };
        let message = format!(
            "it announces {announced}: a login that returns such a value is rejected (Y100001), as assumed_level \
             applies only if no acr is returned"
        );
        let fix = "set ignore_acr = true if its acr does not express a level; otherwise list the values in [acr]";
        Some(CheckDiagnostic::warning("acr", message, fix))
    }

    fn check_acr_values(&self, acr_policy: &AcrPolicy) -> CheckDiagnostic {
        if acr_policy.ignores_acr {
            return CheckDiagnostic::ok(
                "acr",
                "a returned acr is ignored (ignore_acr): every login has assumed_level",
            );
        }
        if let Some(diagnostic) = self.check_unlisted_acr_values(acr_policy) {
            return diagnostic;
        }
        let sent: Vec<&str> = acr_policy
            .values
            .values()
            .chain(acr_policy.names.values())
            .filter_map(|values| Some(values.first()?.as_str()))
            .collect();
        let Some(announced) = self.string_list("acr_values_supported") else {
            return CheckDiagnostic::ok("acr", format!("acr {NOT_ANNOUNCED}"));
        };
        let missing = absent(sent.iter().copied(), &announced);
        let announced = format_values(&announced);
        if missing.is_empty() {
            return CheckDiagnostic::ok(
                "acr",
                format!("every requested acr value is announced; announced are: {announced}"),
            );
        }
        let fix = format!(
            "list the identity provider's values in the [acr] table; it announces: {announced}"
        );
        CheckDiagnostic::warning("acr", format!("not announced: {}", missing.join(", ")), fix)
    }

    fn check_scopes(&self, kind: &OidcKind) -> CheckDiagnostic {
        let Some(announced) = self.string_list("scopes_supported") else {
            return CheckDiagnostic::ok("scopes", format!("scopes {NOT_ANNOUNCED}"));
        };
        let missing =
            absent(kind.scopes.iter().map(passerelle_protocol::ids::Scope::as_str), &announced);
        if missing.is_empty() {
            return CheckDiagnostic::ok("scopes", "every requested scope is announced");
        }
        // Discovery 1.0 §3: a provider need not announce every scope that it supports.
        if announced == ["openid"] {
            let message =
                "the identity provider announces only openid, so other scopes can't be checked";
            return CheckDiagnostic::ok("scopes", message);
        }
        let message = format!(
            "the identity provider does not announce {}; it announces {}",
            missing.join(", "),
            format_values(&announced)
        );
        let fix = "list only announced scopes in kind.oidc.scopes: otherwise it may reject every login (invalid_scope)";
        CheckDiagnostic::error("scopes", message, fix)
    }

    /// Core §5.6.2: distributed claims would make the hub fetch from addresses that a token names.
    fn check_claim_types(&self) -> Option<CheckDiagnostic> {
        let types = self.string_list("claim_types_supported")?;
        let other: Vec<&str> = types
            .iter()
            .copied()
            .filter(|kind| ["aggregated", "distributed"].contains(kind))
            .collect();
        if other.is_empty() {
            return None;
        }
        let message = format!(
            "it announces {} claims, which the hub does not support: claims that it sends this way are missing",
            other.join(" and ")
        );
        Some(if types.contains(&"normal") {
            CheckDiagnostic::ok("claim-types", message)
        } else {
            let fix = "ask the identity provider to send normal claims to this client";
            CheckDiagnostic::warning("claim-types", message, fix)
        })
    }

    /// Back-Channel Logout 1.0 §2.1.
    fn check_backchannel_logout(&self, kind: &OidcKind) -> Option<CheckDiagnostic> {
        const NAME: &str = "backchannel-logout";
        if !kind.backchannel_logout {
            return None;
        }
        let is_announced =
            self.0.get("backchannel_logout_supported").is_some_and(|supported| *supported == true);
        Some(if is_announced {
            CheckDiagnostic::ok(NAME, "back-channel logout is announced")
        } else {
            CheckDiagnostic::warning(
                NAME,
                "back-channel logout is not announced, so the identity provider may send no logout tokens",
                "remove backchannel_logout, or ask the identity provider whether it supports it",
            )
        })
    }

    fn check_claims(&self, context: &DiagnosisContext) -> CheckDiagnostic {
        let Some(announced) = self.string_list("claims_supported") else {
            return CheckDiagnostic::ok("claims", format!("claims {NOT_ANNOUNCED}"));
        };
        let missing = context.required_claims.iter().filter_map(|(claim, sources)| {
            let lacking = absent(sources.iter().map(String::as_str), &announced);
            // One of several source claims is enough.
            let all_lacking = !sources.is_empty() && lacking.len() == sources.len();
            all_lacking.then(|| format!("{} (for {claim})", lacking.join(", ")))
        });
        let missing: Vec<String> = missing.collect();
        if missing.is_empty() {
            return CheckDiagnostic::ok(
                "claims",
                "every claim that an identity requires is announced",
            );
        }
        let fix =
            "map them from claims of the identity provider ([mapping]), or ask it to send them";
        CheckDiagnostic::warning("claims", format!("not announced: {}", missing.join(", ")), fix)
    }
}

/// The document is parsed only if it has what the profile demands.
fn check_fapi2(kind: &OidcKind) -> Option<CheckDiagnostic> {
    kind.fapi2.then(|| {
        let message = "the file and the metadata have what the FAPI 2.0 Security Profile demands";
        CheckDiagnostic::ok("fapi2", message)
    })
}

/// Formats values of the identity provider for a terminal.
fn format_values(values: &[&str]) -> String {
    let texts: Vec<String> = values
        .iter()
        .take(MAX_SHOWN_VALUES)
        .map(|value| printable_ascii(value, MAX_SHOWN_CHARS))
        .collect();
    let more = values.len().saturating_sub(MAX_SHOWN_VALUES);
    match (texts.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (false, 0) => texts.join(", "),
        (false, more) => format!("{} and {more} more", texts.join(", ")),
    }
}

/// Returns the wanted values that are not announced.
fn absent<'t>(wanted: impl Iterator<Item = &'t str>, announced: &[&str]) -> Vec<&'t str> {
    wanted.filter(|value| !announced.contains(value)).collect()
}
