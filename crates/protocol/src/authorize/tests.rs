//! Every check of the table by example.

mod level_names;
mod parameters;
mod properties;
mod public_clients;

use std::collections::BTreeMap;

use super::*;
use crate::acr::{AcrRegistration, Level, LevelName, Platform};
use crate::catalogue::{ErrorCode as E, RequiredParam};
use crate::registration::{ClientType, ConsentRequirement, IdpHintKeyword, IdpHintPolicy};

const ISSUER: &str = "https://hub.example/api/v2";
const CALLBACK: &str = "https://sp.example/cb?tenant=1";
const STATE: &str = "0123456789012345678901";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

pub(super) struct FakeDirectory(Vec<Registration>);

impl ClientDirectory for FakeDirectory {
    fn registration(&self, client_id: &str) -> Option<&Registration> {
        self.0.iter().find(|registration| registration.client_id.as_str() == client_id)
    }
    fn is_known_scope(&self, scope: &str, _: ProtocolRules) -> bool {
        ["openid", "email", "profile", "birth"].contains(&scope)
    }
}

pub(super) fn directory() -> FakeDirectory {
    let sp = Registration {
        client_id: "sp".into(),
        active: true,
        client_type: ClientType::Confidential,
        redirect_uris: vec!["https://sp.example/other".into(), CALLBACK.into()],
        post_logout_redirect_uris: vec![],
        granted_scopes: ["openid", "email", "profile"].map(Scope::from).to_vec(),
        require_pkce: false,
        hints: IdpHintPolicy::default(),
        acr: Default::default(),
        require_auth_time: false,
        protection: Default::default(),
        home_page: "https://sp.example/".into(),
        consent: ConsentRequirement::Information,
        rules: ProtocolRules::Federation,
    };
    let switched_off = Registration { client_id: "off".into(), active: false, ..sp.clone() };
    let pkce = Registration { client_id: "pkce".into(), require_pkce: true, ..sp.clone() };
    let unhinted = Registration {
        client_id: "unhinted".into(),
        hints: IdpHintPolicy::Keyword(IdpHintKeyword::None),
        ..sp.clone()
    };
    let hinted = Registration {
        client_id: "hinted".into(),
        hints: IdpHintPolicy::Only(vec!["la-poste".into()]),
        ..sp.clone()
    };
    let granted_scopes = vec!["email".into()];
    let no_openid = Registration { client_id: "bare".into(), granted_scopes, ..sp.clone() };
    let mfa =
        LevelName { name: "urn:mfa".into(), level: Level::Eidas1, multi_factor: true, mail: false };
    let acr = AcrRegistration { level_names: vec![mfa], default_values: vec!["urn:mfa".into()] };
    let named = Registration { client_id: "named".into(), acr, ..sp.clone() };
    FakeDirectory(vec![sp, switched_off, pkce, no_openid, unhinted, hinted, named])
}

/// A valid request with some parameters replaced; an empty value removes one.
pub(super) fn with(changes: &[(&str, &str)]) -> Params {
    let good = [
        ("response_type", "code"),
        ("client_id", "sp"),
        ("redirect_uri", CALLBACK),
        ("acr_values", "eidas1"),
        ("scope", "openid email"),
        ("state", STATE),
        ("nonce", "nonce-nonce-nonce-nonce"),
    ];
    let mut pairs: BTreeMap<&str, &str> = good.into();
    pairs.extend(changes.iter().copied());
    Params::new(
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
    )
}

fn validate(
    params: &Params,
    form: RequestMethod,
    platform: Platform,
) -> Result<AuthorizationRequest, AuthorizationError> {
    validate_request(params, form, platform, ISSUER, &directory())
}

fn validate_get(changes: &[(&str, &str)]) -> Result<AuthorizationRequest, AuthorizationError> {
    validate(&with(changes), RequestMethod::Get, Platform::Standard)
}

fn page_error(changes: &[(&str, &str)]) -> E {
    match validate_get(changes) {
        Err(AuthorizationError::Page(code)) => code,
        other => panic!("{changes:?}: {other:?}"),
    }
}

fn redirect_error(changes: &[(&str, &str)]) -> E {
    match validate_get(changes) {
        Err(AuthorizationError::Redirect(redirect, code)) => {
            assert_eq!(redirect.redirect_uri(), CALLBACK);
            code
        }
        other => panic!("{changes:?}: {other:?}"),
    }
}

#[test]
fn a_plain_request_is_read() {
    let request = validate_get(&[]).unwrap();
    assert_eq!(request.client_id.as_str(), "sp");
    assert_eq!(request.redirect.redirect_uri(), CALLBACK);
    assert_eq!(request.scopes, ["openid", "email"].map(Scope::from));
    assert_eq!((request.level, request.acr_essential), (Level::Eidas1, false));
    assert_eq!(request.nonce.unwrap().reveal(), "nonce-nonce-nonce-nonce");
    assert_eq!(
        request.prompt,
        Prompt { login: true, consent: true, none: false, select_account: false },
        "R114"
    );
    assert_eq!((request.max_age, request.code_challenge), (None, None));
    assert_eq!(request.claims, RequestedClaims::default());
    assert!(
        request.login_hint.is_none()
            && request.id_token_hint.is_none()
            && request.idp_hints.is_empty()
    );
    assert!(request.ui_locales.is_empty());
}

#[test]
fn failures_before_the_proof_are_pages() {
    for (changes, code) in [
        (&[("client_id", "")][..], E::Missing(RequiredParam::ClientId)),
        (&[("client_id", "unknown")], E::ClientIdUnknown),
        (&[("client_id", "SP")], E::ClientIdUnknown),
        (&[("client_id", "off")], E::ClientIdInactive),
        (&[("redirect_uri", "")], E::Missing(RequiredParam::RedirectUri)),
        (&[("redirect_uri", "https://evil.example/cb")], E::RedirectUriNotRegistered),
        (&[("response_type", "")], E::Missing(RequiredParam::ResponseType)),
        (&[("scope", "")], E::Missing(RequiredParam::Scope)),
        (&[("acr_values", "")], E::Missing(RequiredParam::AcrValues)),
        (&[("state", "")], E::Missing(RequiredParam::State)),
        (&[("nonce", "")], E::Missing(RequiredParam::Nonce)),
        (&[("state", "0123456789012345678é0123")], E::StateCharacters),
        (&[("nonce", "01234567890123456789\n0123")], E::NonceCharacters),
        (&[("nonce", "01234567890123456789\u{7f}0123")], E::NonceCharacters),
    ] {
        assert_eq!(page_error(changes), code);
    }
}

#[test]
fn failures_after_the_proof_are_redirected() {
    for (changes, code) in [
        (&[("response_type", "token")][..], E::ResponseTypeUnsupported),
        (&[("response_type", "code id_token")], E::ResponseTypeUnsupported),
        (&[("scope", "email")], E::ScopeWithoutOpenid),
        (&[("scope", "openid birth")], E::ScopeNotGranted),
        (&[("client_id", "bare")], E::ScopeNotGranted),
        (&[("claims", "[]")], E::ClaimsMalformed),
        (&[("claims", "{")], E::ClaimsMalformed),
        (&[("claims", r#"{"id_token":{"amr":null,"amr":null}}"#)], E::ClaimsMalformed),
        (&[("claims", r#"{"id_token":[]}"#)], E::ClaimsMembers),
        (&[("claims", r#"{"userinfo":null}"#)], E::ClaimsMembers),
        (&[("claims", r#"{"userinfo":{"email":true}}"#)], E::ClaimsMembers),
        (&[("claims", r#"{"id_token":{"sub":{"value":1}}}"#)], E::ClaimsSub),
        (&[("claims", r#"{"id_token":{"acr":{"value":1}}}"#)], E::ClaimsAcr),
        (&[("claims", r#"{"id_token":{"acr":{"values":"eidas1"}}}"#)], E::ClaimsAcr),
        (&[("claims", r#"{"id_token":{"acr":{"values":[null]}}}"#)], E::ClaimsAcr),
        (&[("prompt", "create")], E::PromptUnknown),
        (&[("prompt", "Login")], E::PromptUnknown),
        (&[("prompt", "none login")], E::PromptNoneWithOther),
        (&[("prompt", "consent none")], E::PromptNoneWithOther),
        (&[("response_mode", "fragment")], E::ResponseModeUnknown),
        (&[("max_age", "-1")], E::MaxAgeMalformed),
        (&[("max_age", "+1")], E::MaxAgeMalformed),
        (&[("max_age", "1.5")], E::MaxAgeMalformed),
        (&[("max_age", "99999999999999999999")], E::MaxAgeMalformed),
        (&[("code_challenge_method", "S256")], E::CodeChallengeMethodAlone),
        (&[("code_challenge", CHALLENGE)], E::CodeChallengeMethodMissing),
        (
            &[("code_challenge", CHALLENGE), ("code_challenge_method", "plain")],
            E::CodeChallengeMethodUnsupported,
        ),
        (
            &[("code_challenge", CHALLENGE), ("code_challenge_method", "s256")],
            E::CodeChallengeMethodUnsupported,
        ),
        (
            &[("code_challenge", "short"), ("code_challenge_method", "S256")],
            E::CodeChallengeMalformed,
        ),
        (&[("client_id", "pkce")], E::CodeChallengeRequired),
        (&[("acr_values", "eidas2 eidas3")], E::AcrValuesStandard),
        (&[("acr_values", "EIDAS1")], E::AcrValuesStandard),
        (&[("request", "eyJ")], E::RequestNotSupported),
        (&[("request_uri", "https://sp.example/r")], E::RequestUriNotSupported),
        (&[("registration", "{}")], E::RegistrationNotSupported),
    ] {
        assert_eq!(redirect_error(changes), code);
    }
    let params = with(&[]);
    let Err(AuthorizationError::Redirect(_, code)) =
        validate(&params, RequestMethod::Get, Platform::High)
    else {
        panic!()
    };
    assert_eq!(code, E::AcrValuesHigh);
}

#[test]
fn failures_carry_the_oauth_error_of_the_table() {
    for (code, error) in [
        (E::ResponseTypeUnsupported, "unsupported_response_type"),
        (E::ScopeWithoutOpenid, "invalid_request"),
        (E::ScopeNotGranted, "invalid_scope"),
        (E::AcrValuesStandard, "invalid_request"),
        (E::RequestNotSupported, "request_not_supported"),
        (E::RequestUriNotSupported, "request_uri_not_supported"),
        (E::RegistrationNotSupported, "registration_not_supported"),
    ] {
        assert_eq!(code.entry().oauth, error);
    }
    assert!(E::AcrValuesStandard.entry().description.contains("eidas1"));
    assert!(
        ["eidas2", "eidas3"]
            .iter()
            .all(|level| E::AcrValuesHigh.entry().description.contains(level))
    );
}

/// Each check fails first although every check below it would fail too.
#[test]
fn the_first_failure_of_the_table_is_the_response() {
    let rows = [
        ("client_id", "unknown", E::ClientIdUnknown),
        ("redirect_uri", "https://evil.example", E::RedirectUriNotRegistered),
        ("state", "short", E::StateTooShortGet),
        ("nonce", "short", E::NonceTooShortGet),
        ("response_type", "token", E::ResponseTypeUnsupported),
        ("claims", "[]", E::ClaimsMalformed),
        ("prompt", "create", E::PromptUnknown),
        ("response_mode", "fragment", E::ResponseModeUnknown),
        ("max_age", "x", E::MaxAgeMalformed),
        ("code_challenge", "x", E::CodeChallengeMethodMissing),
        ("scope", "openid birth", E::ScopeNotGranted),
        ("acr_values", "x", E::AcrValuesStandard),
        ("request", "x", E::RequestNotSupported),
        ("request_uri", "x", E::RequestUriNotSupported),
        ("registration", "x", E::RegistrationNotSupported),
    ];
    for first in 0..rows.len() {
        let changes: Vec<_> =
            rows[first..].iter().map(|(name, value, _)| (*name, *value)).collect();
        let (Err(AuthorizationError::Page(code)) | Err(AuthorizationError::Redirect(_, code))) =
            validate_get(&changes)
        else {
            panic!()
        };
        assert_eq!(code, rows[first].2);
    }
}

const READ: &[&str] = &[
    "client_id",
    "redirect_uri",
    "response_type",
    "scope",
    "acr_values",
    "state",
    "nonce",
    "claims",
    "prompt",
    "response_mode",
    "max_age",
    "code_challenge",
    "code_challenge_method",
    "request",
    "request_uri",
    "registration",
    "login_hint",
    "id_token_hint",
    "idp_hint",
    "ui_locales",
    "display",
    "claims_locales",
];

#[test]
fn repeated_parameter_is_a_page_that_names_it() {
    for name in READ {
        let mut pairs: Vec<_> =
            with(&[]).pairs().iter().filter(|(n, _)| n != name).cloned().collect();
        pairs.extend([((*name).to_owned(), "a".to_owned()), ((*name).to_owned(), String::new())]);
        match validate(&Params::new(pairs), RequestMethod::Get, Platform::Standard) {
            Err(AuthorizationError::Page(code)) => {
                assert_eq!(
                    code.entry().description,
                    format!("The parameter {name} was sent more than once.")
                );
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn any_other_parameter_is_ignored_however_often() {
    let mut pairs = with(&[]).pairs().to_vec();
    pairs.extend(["a", "b"].map(|value| ("resource".to_owned(), value.to_owned())));
    assert!(validate(&Params::new(pairs), RequestMethod::Get, Platform::Standard).is_ok());
}

#[test]
fn an_optional_parameter_sent_empty_is_absent() {
    let optional: Vec<_> = READ[7..].iter().map(|name| (*name, "")).collect();
    assert_eq!(validate_get(&optional).unwrap(), validate_get(&[]).unwrap());
}

#[test]
fn lengths_of_state_and_nonce_at_the_boundary() {
    for (name, short_get, short_post, maximum, long) in [
        ("state", E::StateTooShortGet, E::StateTooShortPost, 4096, E::StateTooLong),
        ("nonce", E::NonceTooShortGet, E::NonceTooShortPost, 1024, E::NonceTooLong),
    ] {
        for (form, minimum, short) in
            [(RequestMethod::Get, 22, short_get), (RequestMethod::Post, 32, short_post)]
        {
            let of_length = |length: usize| {
                let value = "~".repeat(length);
                let other = " ".repeat(32);
                let params = with(&[("state", &other), ("nonce", &other), (name, &value)]);
                validate(&params, form, Platform::Standard)
            };
            assert!(of_length(minimum).is_ok() && of_length(maximum).is_ok());
            assert_eq!(of_length(minimum - 1), Err(AuthorizationError::Page(short)));
            assert_eq!(of_length(maximum + 1), Err(AuthorizationError::Page(long)));
        }
    }
}

#[test]
fn redirect_uri_one_byte_off_is_not_registered() {
    for at in 0..CALLBACK.len() {
        let mut other = CALLBACK.as_bytes().to_vec();
        other[at] ^= 1;
        let other = String::from_utf8(other).unwrap();
        assert_eq!(page_error(&[("redirect_uri", &other)]), E::RedirectUriNotRegistered, "{other}");
        assert_eq!(
            page_error(&[("redirect_uri", &CALLBACK[..at.max(1)])]),
            E::RedirectUriNotRegistered
        );
    }
    for other in [
        format!("{CALLBACK}&"),
        format!("{CALLBACK}#"),
        format!(" {CALLBACK}"),
        CALLBACK.to_ascii_uppercase(),
    ] {
        assert_eq!(page_error(&[("redirect_uri", &other)]), E::RedirectUriNotRegistered, "{other}");
    }
}

#[test]
fn an_error_is_returned_in_the_requested_mode() {
    let answer = |mode| match validate_get(&[("response_mode", mode), ("prompt", "create")]) {
        Err(AuthorizationError::Redirect(redirect, code)) => redirect.error_response(code),
        other => panic!("{other:?}"),
    };
    assert!(matches!(answer("form_post"), AuthorizationResponse::FormPost { .. }));
    let AuthorizationResponse::Redirect { location } = answer("query") else { panic!() };
    let begin = format!("{CALLBACK}&error=invalid_request&error_description=The%20prompt");
    assert!(location.starts_with(&begin), "{location}");
    assert!(
        location.ends_with(&format!("&state={STATE}&iss=https%3A%2F%2Fhub.example%2Fapi%2Fv2")),
        "{location}"
    );
}

#[test]
fn a_request_survives_its_record_and_does_not_print_its_secrets() {
    let secret = "a-very-secret-value-indeed";
    let claims = format!(r#"{{"id_token":{{"sub":{{"value":"{secret}"}}}}}}"#);
    let hints = [("login_hint", secret), ("id_token_hint", secret), ("claims", &claims)];
    let request =
        validate_get(&[&[("state", secret), ("nonce", secret)], &hints[..]].concat()).unwrap();
    let record = serde_json::to_string(&request).unwrap();
    assert_eq!(serde_json::from_str::<AuthorizationRequest>(&record).unwrap(), request);
    assert!(record.contains(secret) && !format!("{request:?}").contains(secret));
}
