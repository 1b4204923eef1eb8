//! Answers of identity providers, directories and registers.

use std::str;

#[cfg(feature = "ldap")]
use ldap3::{ResultEntry, asn1::parse_tag};
use openidconnect::http::{HeaderMap, HeaderValue, header};

use super::{FuzzFunction, FuzzTarget, split_line, target};
use passerelle_connector::code_flow::split_token_response;
use passerelle_connector::oauth2;
use passerelle_connector::oidc::metadata::parse_provider;
use passerelle_connector::oidc::settings::OidcKind;
use passerelle_connector::oidc::userinfo::parse_plain;
use passerelle_egress::safe_http_client::{AllowedSchemes, CallLimits, SafeHttpClient};
use passerelle_federation::identity::Identity;
use passerelle_federation::identity::mapping::ClaimPath;
use passerelle_federation::identity::rules::{IdentityRules, RequiredClaims};
use passerelle_federation::testing::samples::{self, IDP_ISSUER};
#[cfg(feature = "ldap")]
use passerelle_ldap::directory::entry::SearchResultEntry;
#[cfg(feature = "ldap")]
use passerelle_ldap::directory::filter_for;
#[cfg(feature = "ldap")]
use passerelle_ldap::directory::message::complete_message;
#[cfg(feature = "ldap")]
use passerelle_ldap::directory::password_policy::PolicyResponse;
use passerelle_register::http::contract::decode_response;
use passerelle_telemetry::printable_ascii;

pub(super) const TARGETS: &[FuzzTarget] = &[
    target(
        "discovery_document",
        &[
            "crates/connector/src/oidc/metadata.rs",
            "crates/connector/src/oidc/fapi2.rs",
            "crates/egress/src/address_rules.rs",
        ],
        discovery_document,
    ),
    target("token_answer", &["crates/connector/src/code_flow.rs"], token_answer),
    target(
        "userinfo_answer",
        &[
            "crates/connector/src/oidc/userinfo.rs",
            "crates/federation/src/identity/rules.rs",
            "crates/federation/src/identity/mapping/path.rs",
        ],
        userinfo_answer,
    ),
    #[cfg(feature = "ldap")]
    target(
        "ldap_entry",
        &[
            "crates/ldap/src/directory.rs",
            "crates/ldap/src/directory/entry.rs",
            "crates/ldap/src/directory/password_policy.rs",
        ],
        ldap_entry,
    ),
    target(
        "register_answer",
        &[
            "crates/register/src/http/contract.rs",
            "crates/federation/src/identity/rules.rs",
            "crates/federation/src/identity/pivot.rs",
        ],
        register_answer,
    ),
];

fn discovery_document() -> FuzzFunction {
    let kinds = ["", "fapi2 = true\n", "dpop = \"on\"\n"].map(|more| -> OidcKind {
        toml::from_str(&format!("issuer = \"{IDP_ISSUER}\"\nclient_id = \"hub\"\n{more}")).unwrap()
    });
    let http = SafeHttpClient::new(AllowedSchemes::HttpsOnly, &[], CallLimits::DEFAULT).unwrap();
    Box::new(move |data| {
        let mut accepted = false;
        for kind in &kinds {
            let Ok(provider) = parse_provider(kind, None, &http, data) else { continue };
            assert_eq!(provider.issuer.as_str(), IDP_ISSUER, "another issuer's metadata");
            let urls = [Some(&provider.authorization_endpoint), Some(&provider.jwks_uri)];
            let others = [&provider.userinfo_endpoint, &provider.pushed_request_endpoint];
            for url in urls.into_iter().chain(others.map(Option::as_ref)).flatten() {
                assert_eq!(url.scheme(), "https", "an address that must not be called");
            }
            accepted = true;
        }
        accepted
    })
}

fn token_answer() -> FuzzFunction {
    Box::new(|data| match split_token_response(data) {
        Ok((body, _)) => {
            let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
            assert!(body["access_token"].as_str().is_some_and(|token| !token.is_empty()));
            assert!(body.get("id_token").is_none(), "claims are read before the signature");
            true
        }
        Err(error) => {
            assert!(error.detail.len() < 600, "an answer in a log line");
            false
        }
    })
}

fn userinfo_answer() -> FuzzFunction {
    let rules = [RequiredClaims::Pivot, RequiredClaims::SubjectOnly]
        .map(|required| IdentityRules { home_country: "99100".into(), required });
    let subject_claim = ClaimPath::parse("sub").unwrap();
    Box::new(move |data| {
        let (path, body) = split_line(data);
        let plain = parse_plain(body);
        let oauth2_claims = oauth2::parse_userinfo(body);
        let Ok(claims) = plain.or(oauth2_claims) else { return false };
        if let Ok(subject) = oauth2::extract_subject(&claims, &subject_claim) {
            assert!(!subject.reveal().trim_ascii().is_empty(), "users without a subject share one");
        }
        if let Some(Ok(path)) = str::from_utf8(path).ok().map(ClaimPath::parse) {
            let _ = path.find(&claims);
        }
        let mut accepted = false;
        for rules in &rules {
            if let Ok((identity, dropped)) = Identity::with_dropped_claims(&claims, rules) {
                let again = serde_json::to_vec(&identity).unwrap();
                let again: Identity = serde_json::from_slice(&again).unwrap();
                assert_eq!(again, identity, "the store's format changes the identity");
                accepted |= dropped.is_empty();
            }
        }
        accepted
    })
}

/// A search result in BER, after the line with the username that was typed.
#[cfg(feature = "ldap")]
fn ldap_entry() -> FuzzFunction {
    Box::new(|data| {
        let (username, entry) = split_line(data);
        if let Ok(username) = str::from_utf8(username) {
            let filter = filter_for("(uid={username})", username);
            assert!(ldap3::parse_filter(&filter).is_ok(), "{filter}");
            let inner = &filter[1..filter.len() - 1];
            assert!(!inner.contains(['(', ')', '*']), "LDAP injection: {filter}");
        }
        // The value of a control comes from the directory, too.
        let _response = PolicyResponse::from_value(entry);
        // Only what is within the bounds reaches the recursive parser.
        if !matches!(complete_message(entry), Ok(Some(_))) {
            return false;
        }
        let Ok((_, tag)) = parse_tag(entry) else { return false };
        let Some(entry) = SearchResultEntry::read(ResultEntry::new(tag)) else { return false };
        assert!(entry.dn.len() <= data.len());
        true
    })
}

fn register_answer() -> FuzzFunction {
    let rules = IdentityRules { home_country: "99100".into(), required: RequiredClaims::Pivot };
    let queried = samples::angela();
    Box::new(move |data| {
        let (content_type, body) = split_line(data);
        let Ok(content_type) = HeaderValue::from_bytes(content_type) else { return false };
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, content_type)]);
        let _ = printable_ascii(&String::from_utf8_lossy(body), 64);
        decode_response(&headers, body, &queried, &rules).is_ok()
    })
}
