//! What a configuration document announces, against what the connector's file relies on (OpenID Connect Discovery 1.0, 3;
//! RFC 8414, 2). A member that is not there says nothing, unless its default does.

use serde_json::{Map, Value};

use crate::assurance::acr::Agreement;
use crate::config::model::{OidcKind, UpstreamAuthMethod};
use crate::connector::code_flow::printable;
use crate::connector::finding::{Examination, Finding};

const OPEN: &str = "is not announced, which says nothing";
/// Announced values that a finding repeats, and the characters of each.
const REPEATED_VALUES: usize = 40;
const REPEATED_CHARS: usize = 64;

pub(super) fn look(
    members: &Map<String, Value>,
    kind: &OidcKind,
    levels: &Agreement,
    examination: &Examination,
) -> Vec<Finding> {
    let document = Document(members);
    vec![
        document.pkce(),
        document.issuer_parameter(),
        document.response_mode(),
        document.authentication_method(kind),
        document.signing(kind),
        document.levels(levels),
        document.prompt(),
        document.scopes(kind),
        document.claims(examination),
    ]
}

struct Document<'a>(&'a Map<String, Value>);

impl<'a> Document<'a> {
    fn list(&self, name: &str) -> Option<Vec<&'a str>> {
        Some(self.0.get(name)?.as_array()?.iter().filter_map(Value::as_str).collect())
    }

    fn pkce(&self) -> Finding {
        match self.list("code_challenge_methods_supported") {
            Some(methods) if methods.contains(&"S256") => Finding::ok("pkce", "S256 is announced"),
            Some(_) | None => Finding::warning(
                "pkce",
                "PKCE with S256 is not announced; it is used all the same, and protects only if it is checked",
                "ask the identity provider whether it checks code_verifier (RFC 7636)",
            ),
        }
    }

    fn issuer_parameter(&self) -> Finding {
        let announced =
            self.0.get("authorization_response_iss_parameter_supported").and_then(Value::as_bool);
        Finding::ok(
            "iss-parameter",
            match announced {
                Some(true) => "answers carry iss (RFC 9207), and one without it is refused",
                Some(false) | None => {
                    "answers carry no iss (RFC 9207); each identity provider has a redirect URI of its own here"
                }
            },
        )
    }

    fn response_mode(&self) -> Finding {
        match self.list("response_modes_supported") {
            Some(modes) if !modes.contains(&"query") => {
                let mend = "have the response mode query allowed for this client";
                Finding::fault(
                    "response-mode",
                    "answers in the query are not announced, and the hub reads no others",
                    mend,
                )
            }
            // Discovery 1.0, 3: the default is query and fragment.
            Some(_) | None => Finding::ok("response-mode", "answers come in the query"),
        }
    }

    fn authentication_method(&self, kind: &OidcKind) -> Finding {
        let ours = match kind.token_endpoint_auth_method {
            UpstreamAuthMethod::ClientSecretPost => "client_secret_post",
            UpstreamAuthMethod::ClientSecretBasic => "client_secret_basic",
            UpstreamAuthMethod::PrivateKeyJwt => "private_key_jwt",
        };
        // Discovery 1.0, 3: the default is client_secret_basic.
        let methods = self
            .list("token_endpoint_auth_methods_supported")
            .unwrap_or_else(|| vec!["client_secret_basic"]);
        if methods.contains(&ours) {
            return Finding::ok("authentication-method", format!("{ours} is announced"));
        }
        let mend = "write token_endpoint_auth_method as it is registered there";
        Finding::warning("authentication-method", format!("{ours} is not announced"), mend)
    }

    fn signing(&self, kind: &OidcKind) -> Finding {
        let alg = kind.id_token_signed_response_alg.as_str();
        match self.list("id_token_signing_alg_values_supported") {
            Some(algs) if !algs.contains(&alg) => Finding::warning(
                "signing-algorithm",
                format!(
                    "ID tokens signed with {alg} are not announced, and no others are believed"
                ),
                "write id_token_signed_response_alg as it is registered there",
            ),
            Some(_) => Finding::ok("signing-algorithm", format!("{alg} is announced")),
            None => Finding::ok("signing-algorithm", format!("{alg} {OPEN}")),
        }
    }

    /// Initiating User Registration via OpenID Connect 1.0, 4.1, defines the member.
    fn prompt(&self) -> Finding {
        match self.list("prompt_values_supported") {
            Some(values) if !values.contains(&"login") => Finding::warning(
                "prompt",
                "prompt=login is not announced: where a fresh login is demanded, an identity provider that ignores it makes \
                 the login fail (Y020370)",
                "ask the identity provider whether it heeds prompt=login for this client",
            ),
            Some(_) => Finding::ok("prompt", "prompt=login is announced"),
            None => Finding::ok("prompt", format!("prompt {OPEN}")),
        }
    }

    /// What a login with `assumed_level` fails by: an `acr` that is returned, and not listed.
    fn unlisted_levels(&self, levels: &Agreement) -> Option<Finding> {
        levels.assumed?;
        let values = self.list("acr_values_supported");
        let unlisted: Vec<&str> =
            values.iter().flatten().copied().filter(|value| levels.refuses_value(value)).collect();
        let returns_acr =
            self.list("claims_supported").is_some_and(|claims| claims.contains(&"acr"));
        let announced = match (&values, unlisted.is_empty()) {
            (Some(_), false) => format!(
                "the acr values {}, which the [acr] table does not list",
                repeated(&unlisted)
            ),
            (None, _) if returns_acr && levels.values.is_empty() => {
                "that it returns acr, and the file has no [acr] table".into()
            }
            _ => return None,
        };
        let what = format!(
            "it announces {announced}: a login that returns such a value is refused (Y100001), for assumed_level counts only \
             where no acr is returned"
        );
        let mend = "set ignore_acr = true if its acr says nothing about the level; else list the values in [acr]";
        Some(Finding::warning("acr", what, mend))
    }

    fn levels(&self, levels: &Agreement) -> Finding {
        if levels.ignores_acr {
            return Finding::ok(
                "acr",
                "a returned acr is ignored (ignore_acr): every answer counts as assumed_level",
            );
        }
        if let Some(finding) = self.unlisted_levels(levels) {
            return finding;
        }
        let sent: Vec<&str> =
            levels.values.values().filter_map(|values| Some(values.first()?.as_str())).collect();
        let Some(announced) = self.list("acr_values_supported") else {
            return Finding::ok("acr", format!("acr {OPEN}"));
        };
        let missing = absent(sent.iter().copied(), &announced);
        let announced = repeated(&announced);
        if missing.is_empty() {
            return Finding::ok(
                "acr",
                format!(
                    "every acr value that is asked for is announced; announced are: {announced}"
                ),
            );
        }
        let mend = format!(
            "write the identity provider's own values into the [acr] table; it announces: {announced}"
        );
        Finding::warning("acr", format!("not announced: {}", missing.join(", ")), mend)
    }

    fn scopes(&self, kind: &OidcKind) -> Finding {
        let Some(announced) = self.list("scopes_supported") else {
            return Finding::ok("scopes", format!("scopes {OPEN}"));
        };
        let missing = absent(kind.scopes.iter().map(|scope| scope.as_str()), &announced);
        if missing.is_empty() {
            return Finding::ok("scopes", "every scope that is asked for is announced");
        }
        let what = format!(
            "the identity provider does not know {}; it lists {}",
            missing.join(", "),
            repeated(&announced)
        );
        let mend = "write into kind.oidc.scopes only what it lists: it may refuse every login (invalid_scope)";
        Finding::fault("scopes", what, mend)
    }

    fn claims(&self, examination: &Examination) -> Finding {
        let Some(announced) = self.list("claims_supported") else {
            return Finding::ok("claims", format!("claims {OPEN}"));
        };
        let missing = examination.needed.iter().filter_map(|(claim, made_of)| {
            let lacking = absent(made_of.iter().map(String::as_str), &announced);
            // One claim of several is enough to make something.
            let nothing = !made_of.is_empty() && lacking.len() == made_of.len();
            nothing.then(|| format!("{} (for {claim})", lacking.join(", ")))
        });
        let missing: Vec<String> = missing.collect();
        if missing.is_empty() {
            return Finding::ok("claims", "every claim that an identity needs is announced");
        }
        let mend =
            "map them from what the identity provider has ([mapping]), or ask for them there";
        Finding::warning("claims", format!("not announced: {}", missing.join(", ")), mend)
    }
}

/// The identity provider's own values, fit for a terminal.
fn repeated(values: &[&str]) -> String {
    let shown: Vec<String> =
        values.iter().take(REPEATED_VALUES).map(|value| printable(value, REPEATED_CHARS)).collect();
    let more = values.len().saturating_sub(REPEATED_VALUES);
    match (shown.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (false, 0) => shown.join(", "),
        (false, more) => format!("{} and {more} more", shown.join(", ")),
    }
}

fn absent<'t>(wanted: impl Iterator<Item = &'t str>, announced: &[&str]) -> Vec<&'t str> {
    wanted.filter(|value| !announced.contains(value)).collect()
}
