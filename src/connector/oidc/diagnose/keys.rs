//! What a key set says, for an operator (RFC 7517).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::config::model::OidcKind;
use crate::connector::code_flow::printable;
use crate::connector::finding::Finding;
use crate::protocol::alg::SigningAlg;
use crate::protocol::json;
use crate::token::verify::{MAX_KEYS, VerificationKeys, rsa_bits};

/// `announced`: the members of the configuration document; none where the endpoints are in the file.
pub(super) fn look(body: &[u8], kind: &OidcKind, announced: &Map<String, Value>) -> Vec<Finding> {
    let (set, keys) = match (json::parse_object(body), VerificationKeys::from_jwks(body)) {
        (Ok(set), Ok(keys)) => (set, keys),
        _ => {
            let mend = "ask the identity provider for a JWK Set (RFC 7517, 5) at jwks_uri";
            return vec![Finding::fault(
                "keys",
                "the key set is not a JWK Set in which no member is named twice",
                mend,
            )];
        }
    };
    let none = Vec::new();
    let all = set.get("keys").and_then(Value::as_array).unwrap_or(&none);
    let jwks: Vec<&Map<String, Value>> =
        all.iter().take(MAX_KEYS).filter_map(Value::as_object).collect();
    let mut findings = Vec::new();
    if all.len() > MAX_KEYS {
        let what = format!(
            "the key set holds {} keys, of which the first {MAX_KEYS} are looked at",
            all.len()
        );
        findings.push(Finding::fault(
            "keys",
            what,
            "ask the identity provider to publish the keys that it uses",
        ));
    }
    let wanted = [
        (Some(kind.id_token_signed_response_alg), "id_token_signing_alg_values_supported"),
        (kind.userinfo_signed_response_alg, "userinfo_signing_alg_values_supported"),
    ];
    let mut wanted = wanted.into_iter().filter_map(|(alg, member)| Some((alg?, member)));
    let lacking = wanted.find(|(alg, _)| !keys.verifies(*alg));
    findings.push(match lacking {
        None => Finding::ok(
            "keys",
            format!(
                "{} of {} keys can verify signatures, {} among them",
                keys.len(),
                all.len(),
                kind.id_token_signed_response_alg.as_str()
            ),
        ),
        Some((alg, member)) if !keys.is_empty() && announces(announced, member, alg) => {
            no_key_yet(alg)
        }
        Some((alg, _)) => no_key(alg, &keys),
    });
    findings.extend(names(&jwks));
    findings.extend(jwks.iter().filter_map(|jwk| unsound(jwk)));
    findings
}

fn announces(members: &Map<String, Value>, name: &str, alg: SigningAlg) -> bool {
    members
        .get(name)
        .and_then(Value::as_array)
        .is_some_and(|algs| algs.iter().any(|announced| announced == alg.as_str()))
}

/// Keycloak makes the key of an algorithm at the first signature with it, and publishes it from then on.
fn no_key_yet(alg: SigningAlg) -> Finding {
    let alg = alg.as_str();
    let what = format!(
        "no key of the set can verify {alg} yet, and the identity provider announces {alg}: some, as Keycloak, make such a key \
         at the first signature with it; the hub fetches it at that login"
    );
    let mend = format!(
        "log in once, and check again: if this stays, have {alg} registered there for this client, or write in the file what is \
         registered"
    );
    Finding::warning("keys", what, mend)
}

fn no_key(alg: SigningAlg, keys: &VerificationKeys) -> Finding {
    let other =
        [SigningAlg::ES256, SigningAlg::RS256].into_iter().find(|other| keys.verifies(*other));
    let mend = match other {
        Some(other) => format!(
            "have {} registered there for this client, or write {} in the file if that is what is registered",
            alg.as_str(),
            other.as_str()
        ),
        None => format!("ask the identity provider for a key for {}", alg.as_str()),
    };
    Finding::fault(
        "keys",
        format!("no key of the set can verify {}, which the file demands", alg.as_str()),
        mend,
    )
}

/// A token without `kid` is only believed where one key alone fits, and one with a `kid` where one alone bears it.
fn names(jwks: &[&Map<String, Value>]) -> Option<Finding> {
    let text = |jwk: &Map<String, Value>, name: &str| {
        jwk.get(name).and_then(Value::as_str).map(str::to_owned)
    };
    let signing = jwks.iter().filter(|jwk| jwk.get("use").is_none_or(|purpose| purpose == "sig"));
    let mut seen: BTreeMap<(Option<String>, Option<String>), usize> = BTreeMap::new();
    for jwk in signing {
        *seen.entry((text(jwk, "kty"), text(jwk, "kid"))).or_default() += 1;
    }
    let nameless =
        seen.iter().filter(|((_, kid), _)| kid.is_none()).map(|(_, count)| count).sum::<usize>();
    let twice = seen.iter().find(|((_, kid), count)| kid.is_some() && **count > 1);
    if let Some(((_, Some(kid)), count)) = twice {
        let what = format!("{count} keys of one type have the kid {}", printable(kid, 64));
        return Some(Finding::fault(
            "key-ids",
            what,
            "ask the identity provider to name each key differently (RFC 7517, 4.5)",
        ));
    }
    match nameless {
        0 => Some(Finding::ok("key-ids", "every key has a kid of its own")),
        1 if seen.len() == 1 => Some(Finding::ok("key-ids", "the only key has no kid")),
        many => {
            let mend = "ask the identity provider to name its keys, or no key can be changed without failed logins";
            Some(Finding::warning("key-ids", format!("{many} keys have no kid"), mend))
        }
    }
}

/// A key that should not be there.
fn unsound(jwk: &Map<String, Value>) -> Option<Finding> {
    let text = |name: &str| jwk.get(name).and_then(Value::as_str);
    let kid = text("kid").map_or_else(
        || "a key without kid".to_owned(),
        |kid| format!("the key {}", printable(kid, 64)),
    );
    // RFC 7518, 6.2.2, 6.3.2, 6.4.1.
    if ["d", "p", "q", "k"].iter().any(|member| jwk.contains_key(*member)) {
        let what = format!(
            "{kid} is published with its private or secret part: anyone can sign with it, and it is not believed"
        );
        return Some(Finding::fault("weak-keys", what, "tell the identity provider at once"));
    }
    let bits = (text("kty") == Some("RSA")).then(|| text("n").and_then(rsa_bits)).flatten()?;
    // RFC 7518, 3.3.
    (bits < 2048).then(|| {
        let what = format!("{kid} is an RSA key of {bits} bits, and is not believed");
        Finding::warning(
            "weak-keys",
            what,
            "ask the identity provider for a key of 2048 bits or more",
        )
    })
}
