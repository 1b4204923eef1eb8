//! Diagnostics of a key set (RFC 7517).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::diagnostic::CheckDiagnostic;
use crate::oidc::malformed_metadata::format_repeated;
use crate::oidc::settings::OidcKind;
use passerelle_jose::verify::{
    MAX_USABLE_KEYS_PER_SET, PRIVATE_JWK_MEMBERS, UnusableKey, VerificationKeys, is_blank, rsa_bits,
};
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::json::{self, ObjectWithoutRepeated};
use passerelle_telemetry::printable_ascii;

/// Returns the diagnostics of a key set. `announced` has the members of the configuration document.
pub(super) fn diagnose_keys(
    body: &[u8],
    kind: &OidcKind,
    announced: &Map<String, Value>,
) -> Vec<CheckDiagnostic> {
    let set = json::parse_object_without_repeated(body);
    let (Ok(set), Ok(keys)) = (set, VerificationKeys::from_jwks(body)) else {
        let fix = "ask the identity provider to publish a JWK Set (RFC 7517 §5) at jwks_uri";
        return vec![CheckDiagnostic::error(
            "keys",
            "the key set is not a JWK Set: a JSON object with one member keys, a list",
            fix,
        )];
    };
    let none = Vec::new();
    let all = set.members.get("keys").and_then(Value::as_array).unwrap_or(&none);
    let jwks: Vec<&Map<String, Value>> = all.iter().filter_map(Value::as_object).collect();
    let mut diagnostics = diagnose_set(&set, &keys);
    let required = [
        (Some(kind.id_token_signed_response_alg), "id_token_signing_alg_values_supported"),
        (kind.userinfo_signed_response_alg, "userinfo_signing_alg_values_supported"),
    ];
    let mut required = required.into_iter().filter_map(|(alg, member)| Some((alg?, member)));
    let lacking = required.find(|(alg, _)| !keys.verifies(*alg));
    diagnostics.push(match lacking {
        None => CheckDiagnostic::ok(
            "keys",
            format!(
                "{} of {} keys can verify signatures, also with {}",
                keys.len(),
                all.len(),
                kind.id_token_signed_response_alg.as_str()
            ),
        ),
        Some((alg, member)) if !keys.is_empty() && is_announced(announced, member, alg) => {
            no_key_yet(alg)
        }
        Some((alg, _)) => no_key(alg, &keys),
    });
    diagnostics.push(diagnose_key_ids(&jwks));
    diagnostics.extend(jwks.iter().filter_map(|jwk| diagnose_weak_key(jwk)));
    diagnostics.extend(jwks.iter().flat_map(|jwk| diagnose_malformed_key(jwk)));
    diagnostics
}

/// Returns the diagnostics of what the hub ignores, whatever the connector's file requires.
fn diagnose_set(set: &ObjectWithoutRepeated, keys: &VerificationKeys) -> Vec<CheckDiagnostic> {
    let mut diagnostics = Vec::new();
    if keys.skipped_by_reason().any(|(reason, _)| reason == UnusableKey::OverLimit) {
        let message = format!(
            "the key set has {} keys; only the first {MAX_USABLE_KEYS_PER_SET} usable ones are used",
            keys.len() + keys.skipped()
        );
        diagnostics.push(CheckDiagnostic::error(
            "keys",
            message,
            "ask the identity provider to publish only the keys that it uses",
        ));
    }
    if !set.repeated.is_empty() {
        let message = format!(
            "the key set repeats {}: the hub ignores the member, and the key if it needs the member",
            format_repeated(&set.repeated)
        );
        let fix = "ask the identity provider to publish each member once (RFC 7517 §4)";
        diagnostics.push(CheckDiagnostic::warning("key-members", message, fix));
    }
    diagnostics
}

fn is_announced(members: &Map<String, Value>, name: &str, alg: SigningAlg) -> bool {
    members
        .get(name)
        .and_then(Value::as_array)
        .is_some_and(|algs| algs.iter().any(|announced| announced == alg.as_str()))
}

/// Returns a warning, as Keycloak creates the key of an algorithm at the first signature with it.
fn no_key_yet(alg: SigningAlg) -> CheckDiagnostic {
    let alg = alg.as_str();
    let message = format!(
        "no key of the set can verify {alg} yet, but the identity provider announces {alg}: some, like Keycloak, \
         create the key at the first signature with it; the hub fetches it at that login"
    );
    let fix = format!(
        "log in once, and check again; if the warning remains, register {alg} there for this client, or \
         configure the algorithm that is registered"
    );
    CheckDiagnostic::warning("keys", message, fix)
}

fn no_key(alg: SigningAlg, keys: &VerificationKeys) -> CheckDiagnostic {
    let other =
        [SigningAlg::ES256, SigningAlg::RS256].into_iter().find(|other| keys.verifies(*other));
    let fix = match other {
        Some(other) => format!(
            "register {} there for this client, or configure {} in the file if that is registered",
            alg.as_str(),
            other.as_str()
        ),
        None => format!("ask the identity provider to publish a key for {}", alg.as_str()),
    };
    CheckDiagnostic::error(
        "keys",
        format!("no key of the set can verify {}, which the file requires", alg.as_str()),
        fix,
    )
}

/// Checks that `kid` values are unique. A token is accepted only if exactly one key matches.
fn diagnose_key_ids(jwks: &[&Map<String, Value>]) -> CheckDiagnostic {
    let text = |jwk: &Map<String, Value>, name: &str| {
        jwk.get(name).and_then(Value::as_str).map(str::to_owned)
    };
    let signing = jwks
        .iter()
        .filter(|jwk| jwk.get("use").is_none_or(|purpose| purpose == "sig" || is_blank(purpose)));
    let mut seen: BTreeMap<(Option<String>, Option<String>), usize> = BTreeMap::new();
    for jwk in signing {
        *seen.entry((text(jwk, "kty"), text(jwk, "kid"))).or_default() += 1;
    }
    let without_kid =
        seen.iter().filter(|((_, kid), _)| kid.is_none()).map(|(_, count)| count).sum::<usize>();
    let duplicate = seen.iter().find(|((_, kid), count)| kid.is_some() && **count > 1);
    if let Some(((_, Some(kid)), count)) = duplicate {
        let message = format!("{count} keys of one type have the kid {}", printable_ascii(kid, 64));
        return CheckDiagnostic::error(
            "key-ids",
            message,
            "ask the identity provider to give each key a distinct kid (RFC 7517 §4.5)",
        );
    }
    match without_kid {
        0 => CheckDiagnostic::ok("key-ids", "every key has its own kid"),
        1 if seen.len() == 1 => CheckDiagnostic::ok("key-ids", "the only key has no kid"),
        many => {
            let fix = "ask the identity provider to give its keys a kid: without it, a key rotation makes logins fail";
            CheckDiagnostic::warning("key-ids", format!("{many} keys have no kid"), fix)
        }
    }
}

/// Returns the name of a key for a message.
fn key_name(jwk: &Map<String, Value>) -> String {
    let kid = jwk.get("kid").and_then(Value::as_str);
    kid.map_or_else(
        || "a key without kid".to_owned(),
        |kid| format!("the key {}", printable_ascii(kid, 64)),
    )
}

/// Members of a key that are text, whatever its type (RFC 7517 §4, RFC 7518 §6).
const KEY_MEMBERS: [(&str, bool); 8] = [
    ("use", false),
    ("alg", false),
    ("kid", false),
    ("crv", true),
    ("x", true),
    ("y", true),
    ("n", true),
    ("e", true),
];

/// Returns a diagnostic for each malformed member, with what the hub does.
fn diagnose_malformed_key(jwk: &Map<String, Value>) -> Vec<CheckDiagnostic> {
    let kid = key_name(jwk);
    let malformed = |(name, is_material): (&str, bool)| {
        let value = jwk.get(name)?;
        let is_padded = is_material && value.as_str().is_some_and(is_other_base64);
        let what = match value {
            _ if is_padded => {
                format!(
                    "{name} of {kid} is base64 with padding or with + and /, not base64url: the hub ignores the key"
                )
            }
            value if is_blank(value) && !is_material => {
                format!("{name} of {kid} is null or empty: the hub reads it as absent")
            }
            Value::String(text) if !is_material || !text.is_empty() => return None,
            _ => format!("{name} of {kid} is not a string: the hub ignores the member or the key"),
        };
        let fix = if is_padded {
            format!(
                "ask the identity provider to encode {name} as base64url without padding (RFC 7515 §2)"
            )
        } else {
            format!("ask the identity provider to publish {name} as a string, or to omit it")
        };
        Some(CheckDiagnostic::warning("key-members", what, fix))
    };
    KEY_MEMBERS.into_iter().filter_map(malformed).collect()
}

/// Returns true for base64 that is not base64url without padding.
fn is_other_base64(text: &str) -> bool {
    text.bytes().any(|byte| matches!(byte, b'=' | b'+' | b'/'))
}

/// Returns a diagnostic if the key is weak, or published with its private part.
fn diagnose_weak_key(jwk: &Map<String, Value>) -> Option<CheckDiagnostic> {
    let text = |name: &str| jwk.get(name).and_then(Value::as_str);
    let kid = key_name(jwk);
    // RFC 7518 §6.2.2, §6.3.2, §6.4.1.
    if PRIVATE_JWK_MEMBERS.iter().any(|member| jwk.contains_key(*member)) {
        let message = format!(
            "{kid} is published with its private or secret part: anyone can sign with it, so the hub ignores it"
        );
        return Some(CheckDiagnostic::error(
            "weak-keys",
            message,
            "inform the identity provider immediately",
        ));
    }
    let bits = (text("kty") == Some("RSA")).then(|| text("n").and_then(rsa_bits)).flatten()?;
    // RFC 7518 §3.3.
    (bits < 2048).then(|| {
        let message = format!("{kid} is an RSA key of {bits} bits, which the hub ignores");
        CheckDiagnostic::warning(
            "weak-keys",
            message,
            "ask the identity provider for a key of at least 2048 bits",
        )
    })
}
