//! The standard claims of OpenID Connect Core 1.0, 5.1, that are no part of a pivot identity: an identity provider's
//! word, passed on to service providers under `rules = "openid"` (decisions 3, Rules per SP).
//!
//! Owns: what each of them may look like. Must not know: who asks. None of them is ever required, so one that is not
//! what its claim should be is left out, and harms nothing.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use url::Url;

use super::rules::is_line;
use super::{Claim, Identity};

/// By claim; only those of [`Claim::STANDARD`].
pub type StandardClaims = BTreeMap<Claim, Value>;

/// What an identity provider says, as far as it is of the right form.
#[must_use]
pub fn of_provider(claims: &Map<String, Value>) -> StandardClaims {
    let found =
        Claim::STANDARD.into_iter().filter_map(|claim| Some((claim, claims.get(claim.as_str())?)));
    let mut kept: StandardClaims =
        found.filter_map(|(claim, value)| Some((claim, checked(claim, value)?))).collect();
    // Whether an address or a number is verified says nothing without it.
    let email = claims.get(Claim::Email.as_str()).and_then(Value::as_str);
    if email.is_none_or(str::is_empty) {
        kept.remove(&Claim::EmailVerified);
    }
    if !kept.contains_key(&Claim::PhoneNumber) {
        kept.remove(&Claim::PhoneNumberVerified);
    }
    kept
}

/// `name`: the provider's where its word is what counts, else made of the names that were confirmed.
pub(super) fn full_name(identity: &Identity) -> Option<Value> {
    if let Some(name) = identity.standard.get(&Claim::Name) {
        return Some(name.clone());
    }
    let parts: Vec<String> =
        identity.given_name().into_iter().chain(identity.family_name.clone()).collect();
    (!parts.is_empty()).then(|| parts.join(" ").into())
}

/// Those that say nothing of the civil identity, about which the register alone is heard.
pub(super) fn beside_a_register(claims: &StandardClaims) -> StandardClaims {
    let civil = |claim: &Claim| matches!(claim, Claim::Name | Claim::MiddleName);
    claims
        .iter()
        .filter(|(claim, _)| !civil(claim))
        .map(|(claim, value)| (*claim, value.clone()))
        .collect()
}

/// The value as it is passed on; `None` if it is not what the claim should be.
fn checked(claim: Claim, value: &Value) -> Option<Value> {
    match claim {
        Claim::Name
        | Claim::MiddleName
        | Claim::Nickname
        | Claim::Zoneinfo
        | Claim::Locale
        | Claim::PhoneNumber => value.as_str().filter(|text| is_line(text)).map(Value::from),
        Claim::Profile | Claim::Picture | Claim::Website => {
            value.as_str().filter(|text| is_web_address(text)).map(Value::from)
        }
        Claim::UpdatedAt => value.as_f64().filter(|seconds| *seconds >= 0.0).map(|_| value.clone()),
        Claim::EmailVerified | Claim::PhoneNumberVerified => value.as_bool().map(Value::from),
        Claim::Address => address(value.as_object()?),
        Claim::Sub
        | Claim::GivenName
        | Claim::GivenNameArray
        | Claim::FamilyName
        | Claim::Birthdate
        | Claim::Gender
        | Claim::Birthplace
        | Claim::Birthcountry
        | Claim::Email
        | Claim::PreferredUsername => None,
    }
}

/// No `javascript:` for a service provider that makes a link of it.
fn is_web_address(text: &str) -> bool {
    is_line(text) && Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "https" | "http"))
}

/// Core, 5.1.1. `formatted` and `street_address` may have several lines.
fn address(members: &Map<String, Value>) -> Option<Value> {
    let is_text = |text: &str| {
        text.chars().count() <= 1024
            && text.split(['\r', '\n']).all(|line| line.is_empty() || is_line(line))
    };
    let names = ["formatted", "street_address", "locality", "region", "postal_code", "country"];
    let kept = names.into_iter().filter_map(|name| Some((name, members.get(name)?.as_str()?)));
    let kept: Map<String, Value> = kept
        .filter(|(_, text)| !text.trim().is_empty() && is_text(text))
        .map(|(name, text)| (name.to_owned(), Value::from(text)))
        .collect();
    (!kept.is_empty()).then_some(Value::Object(kept))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn passed(claims: &Value) -> Value {
        let kept = of_provider(claims.as_object().unwrap());
        Value::Object(
            kept.into_iter().map(|(claim, value)| (claim.as_str().to_owned(), value)).collect(),
        )
    }

    #[test]
    fn what_is_of_the_right_form_passes() {
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
        assert_eq!(good.as_object().unwrap().len(), Claim::STANDARD.len(), "every one is here");
    }

    #[test]
    fn what_is_not_is_left_out() {
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
        assert_eq!(passed(&json!({ "email_verified": true })), json!({}), "no address is verified");
    }
}
