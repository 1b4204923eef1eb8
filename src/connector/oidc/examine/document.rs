//! What a configuration document announces, against what the connector's file relies on (OpenID Connect Discovery 1.0, 3;
//! RFC 8414, 2). A member that is not there says nothing, unless its default does.

use serde_json::{Map, Value};

use crate::assurance::acr::Agreement;
use crate::config::model::{OidcKind, UpstreamAuthMethod};
use crate::connector::code_flow::printable;
use crate::connector::finding::{Examination, Finding};

/// Announced values that are repeated at most.
const SHOWN: usize = 30;

const OPEN: &str = "is not announced, which says nothing";

pub(super) fn look(members: &Map<String, Value>, kind: &OidcKind, levels: &Agreement, examination: &Examination) -> Vec<Finding> {
    let document = Document(members);
    vec![
        document.pkce(),
        document.issuer_parameter(),
        document.response_mode(),
        document.authentication_method(kind),
        document.signing(kind),
        document.levels(levels),
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
        let announced = self.0.get("authorization_response_iss_parameter_supported").and_then(Value::as_bool);
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
                Finding::fault("response-mode", "answers in the query are not announced, and the hub reads no others", mend)
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
        let methods = self.list("token_endpoint_auth_methods_supported").unwrap_or_else(|| vec!["client_secret_basic"]);
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
                format!("ID tokens signed with {alg} are not announced, and no others are believed"),
                "write id_token_signed_response_alg as it is registered there",
            ),
            Some(_) => Finding::ok("signing-algorithm", format!("{alg} is announced")),
            None => Finding::ok("signing-algorithm", format!("{alg} {OPEN}")),
        }
    }

    fn levels(&self, levels: &Agreement) -> Finding {
        let sent: Vec<&str> = levels.values.values().filter_map(|values| Some(values.first()?.as_str())).collect();
        let Some(announced) = self.list("acr_values_supported") else { return Finding::ok("acr", format!("acr {OPEN}")) };
        let missing = absent(sent.iter().copied(), &announced);
        let announced = listed(&announced);
        if missing.is_empty() {
            return Finding::ok("acr", format!("every acr value that is asked for is announced; announced are: {announced}"));
        }
        let mend = format!("write the identity provider's own values into the [acr] table; it announces: {announced}");
        Finding::warning("acr", format!("not announced: {}", missing.join(", ")), mend)
    }

    fn scopes(&self, kind: &OidcKind) -> Finding {
        let Some(announced) = self.list("scopes_supported") else { return Finding::ok("scopes", format!("scopes {OPEN}")) };
        let missing = absent(kind.scopes.iter().map(|scope| scope.as_str()), &announced);
        if missing.is_empty() {
            return Finding::ok("scopes", "every scope that is asked for is announced");
        }
        let mend = "write kind.oidc.scopes as the identity provider knows them";
        Finding::warning("scopes", format!("not announced: {}", missing.join(", ")), mend)
    }

    fn claims(&self, examination: &Examination) -> Finding {
        let Some(announced) = self.list("claims_supported") else { return Finding::ok("claims", format!("claims {OPEN}")) };
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
        let mend = "map them from what the identity provider has ([mapping]), or ask for them there";
        Finding::warning("claims", format!("not announced: {}", missing.join(", ")), mend)
    }
}

/// What an identity provider announces, as far as it can be shown.
fn listed(announced: &[&str]) -> String {
    let shown: Vec<String> = announced.iter().take(SHOWN).map(|value| printable(value, 128)).collect();
    match announced.len().checked_sub(SHOWN) {
        _ if announced.is_empty() => "none".to_owned(),
        None | Some(0) => shown.join(", "),
        Some(more) => format!("{} and {more} more", shown.join(", ")),
    }
}

fn absent<'t>(wanted: impl Iterator<Item = &'t str>, announced: &[&str]) -> Vec<&'t str> {
    wanted.filter(|value| !announced.contains(value)).collect()
}
