//! The standard claims of OpenID Connect Core 1.0 §5.1 that are not part of a pivot identity,
//! passed on to service providers under `rules = "openid"`.
//!
//! None of them is ever required, so a malformed claim is left out and reported.

use serde_json::{Map, Value};
use url::Url;

use super::claim_rules::{DroppedClaim, IdentityRule, validate_line};
use super::claim_type::describe_type;
use super::{Claim, Identity, StandardClaims};

/// Returns the well-formed standard claims of an identity provider, and adds the malformed ones to
/// `dropped`. `email` is the valid address, if there is one.
pub(crate) fn from_provider_claims(
    claims: &Map<String, Value>,
    email: Option<&str>,
    dropped: &mut Vec<DroppedClaim>,
) -> StandardClaims {
    let mut valid = StandardClaims::new();
    for claim in Claim::STANDARD {
        let Some(value) = claims.get(claim.as_str()) else { continue };
        if value.is_null() || value.as_str() == Some("") {
            continue;
        }
        match validated_value(claim, value) {
            Ok(value) => {
                valid.insert(claim, value);
            }
            Err(rule) => dropped.push(DroppedClaim { claim, rule, found: describe_type(value) }),
        }
    }
    // A `…_verified` claim is meaningless without its address or number.
    if email.is_none() {
        valid.remove(&Claim::EmailVerified);
    }
    if !valid.contains_key(&Claim::PhoneNumber) {
        valid.remove(&Claim::PhoneNumberVerified);
    }
    valid
}

/// Returns `name`: the identity provider's if present, else composed of the confirmed names.
pub(super) fn full_name(identity: &Identity) -> Option<Value> {
    if let Some(name) = identity.standard.get(&Claim::Name) {
        return Some(name.clone());
    }
    let parts: Vec<String> =
        identity.given_name().into_iter().chain(identity.family_name.clone()).collect();
    (!parts.is_empty()).then(|| parts.join(" ").into())
}

/// Returns the claims that are not about the civil identity, for which the register is the only
/// source.
pub(super) fn without_civil_identity(claims: &StandardClaims) -> StandardClaims {
    let civil = |claim: &Claim| matches!(claim, Claim::Name | Claim::MiddleName);
    claims
        .iter()
        .filter(|(claim, _)| !civil(claim))
        .map(|(claim, value)| (*claim, value.clone()))
        .collect()
}

/// Returns the value to pass on.
///
/// # Errors
/// The rule that it breaks.
fn validated_value(claim: Claim, value: &Value) -> Result<Value, IdentityRule> {
    let text = || value.as_str().ok_or(IdentityRule::Text);
    match claim {
        Claim::Name
        | Claim::MiddleName
        | Claim::Nickname
        | Claim::Zoneinfo
        | Claim::Locale
        | Claim::PhoneNumber => validated_line(text()?),
        Claim::Profile | Claim::Picture | Claim::Website => validated_web_address(text()?),
        Claim::UpdatedAt => {
            let is_time = value.as_f64().is_some_and(|seconds| seconds >= 0.0);
            is_time.then(|| value.clone()).ok_or(IdentityRule::Seconds)
        }
        Claim::EmailVerified | Claim::PhoneNumberVerified => {
            value.as_bool().map(Value::from).ok_or(IdentityRule::Boolean)
        }
        Claim::Address => {
            value.as_object().and_then(validated_address).ok_or(IdentityRule::Address)
        }
        Claim::Sub
        | Claim::GivenName
        | Claim::GivenNameArray
        | Claim::FamilyName
        | Claim::Birthdate
        | Claim::Gender
        | Claim::Birthplace
        | Claim::Birthcountry
        | Claim::Email
        | Claim::PreferredUsername => Err(IdentityRule::Text),
    }
}

fn validated_line(text: &str) -> Result<Value, IdentityRule> {
    validate_line(text, Claim::Name).map(|_| text.into()).map_err(|error| error.rule)
}

/// Rejects schemes such as `javascript:`, for service providers that turn the value into a link.
fn validated_web_address(text: &str) -> Result<Value, IdentityRule> {
    let line = validated_line(text)?;
    let is_web = Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "https" | "http"));
    is_web.then_some(line).ok_or(IdentityRule::WebAddress)
}

/// OpenID Connect Core §5.1.1. `formatted` and `street_address` may have several lines.
#[expect(clippy::disallowed_methods, reason = "an address is text that people write")]
fn validated_address(members: &Map<String, Value>) -> Option<Value> {
    let is_text = |text: &str| {
        text.chars().count() <= 1024
            && text
                .split(['\r', '\n'])
                .all(|line| line.is_empty() || validate_line(line, Claim::Address).is_ok())
    };
    let names = ["formatted", "street_address", "locality", "region", "postal_code", "country"];
    let valid = names.into_iter().filter_map(|name| Some((name, members.get(name)?.as_str()?)));
    let valid: Map<String, Value> = valid
        .filter(|(_, text)| !text.trim().is_empty() && is_text(text))
        .map(|(name, text)| (name.to_owned(), Value::from(text)))
        .collect();
    (!valid.is_empty()).then_some(Value::Object(valid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn passed(claims: &Value) -> Value {
        let claims = claims.as_object().unwrap();
        let email = claims.get("email").and_then(Value::as_str);
        let valid = from_provider_claims(claims, email, &mut Vec::new());
        Value::Object(
            valid.into_iter().map(|(claim, value)| (claim.as_str().to_owned(), value)).collect(),
        )
    }

    #[test]
    fn well_formed_claims_are_accepted() {
        let good = json!({
            "name": "Jane Doe", "middle_name": "M.", "nickname": "J", "profile": "https://op.example/jane",
            "picture": "https://op.example/jane.png", "website": "http://jane.example", "zoneinfo": "Europe/Paris",
            "locale": "fr-FR", "updated_at": 1_700_000_000, "email_verified": false, "phone_number": "+33 1 23 45 67 89",
            "phone_number_verified": true, "address": { "formatted": "1 rue X\r\n75000 Paris", "country": "FR" },
        });
        let sent = json!({ "email": "jane@example.org", "sub": "s", "shoe_size": 42 });
        let all: Map<String, Value> = good
            .as_object()
            .unwrap()
            .clone()
            .into_iter()
            .chain(sent.as_object().unwrap().clone())
            .collect();
        assert_eq!(passed(&Value::Object(all)), good);
        assert_eq!(
            good.as_object().unwrap().len(),
            Claim::STANDARD.len(),
            "every standard claim is tested"
        );
    }

    #[test]
    fn malformed_claims_are_omitted() {
        for (claim, wrong) in [
            ("name", json!(["Jane"])),
            ("name", json!("")),
            ("nickname", json!("two\nlines")),
            ("locale", json!(null)),
            ("zoneinfo", json!("x".repeat(257))),
            ("picture", json!("javascript:alert(1)")),
            ("website", json!("jane")),
            ("profile", json!("file:///etc/passwd")),
            ("updated_at", json!("2026-01-01")),
            ("updated_at", json!(-1)),
            ("email_verified", json!("true")),
            ("phone_number_verified", json!(true)), // without the number
            ("address", json!("1 rue X")),
            ("address", json!({})),
            ("address", json!({ "formatted": 1, "planet": "Earth", "locality": "\u{202e}siraP" })),
        ] {
            assert_eq!(
                passed(&json!({ claim: wrong, "email": "jane@example.org" })),
                json!({}),
                "{claim}"
            );
        }
        assert_eq!(
            passed(&json!({ "email_verified": true })),
            json!({}),
            "email_verified without an email"
        );
    }
}
