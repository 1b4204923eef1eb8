//! Every check of the table by example, and properties of any request.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::protocol::acr::{Level, Platform};
use crate::protocol::catalogue::ErrorCode as E;
use crate::protocol::registration::{ConsentRequirement, IdpHintDefault, IdpHintPolicy};

const ISSUER: &str = "https://hub.example/api/v2";
const CALLBACK: &str = "https://sp.example/cb?tenant=1";
const STATE: &str = "0123456789012345678901";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

struct FakeDirectory(Vec<Registration>);

impl ClientDirectory for FakeDirectory {
    fn registration(&self, client_id: &str) -> Option<&Registration> {
        self.0.iter().find(|registration| registration.client_id.as_str() == client_id)
    }
    fn is_known_scope(&self, scope: &str, _: ProtocolRules) -> bool {
        ["openid", "email", "profile", "birth"].contains(&scope)
    }
}

fn directory() -> FakeDirectory {
    let sp = Registration {
        client_id: "sp".into(),
        active: true,
        redirect_uris: vec!["https://sp.example/other".into(), CALLBACK.into()],
        post_logout_redirect_uris: vec![],
        granted_scopes: ["openid", "email", "profile"].map(Scope::from).to_vec(),
        require_pkce: false,
        hints: IdpHintPolicy::default(),
        home_page: "https://sp.example/".into(),
        consent: ConsentRequirement::Information,
        rules: ProtocolRules::Federation,
    };
    let switched_off = Registration { client_id: "off".into(), active: false, ..sp.clone() };
    let pkce = Registration { client_id: "pkce".into(), require_pkce: true, ..sp.clone() };
    let unhinted = Registration {
        client_id: "unhinted".into(),
        hints: IdpHintPolicy::All(IdpHintDefault::None),
        ..sp.clone()
    };
    let hinted = Registration {
        client_id: "hinted".into(),
        hints: IdpHintPolicy::Only(vec!["la-poste".into()]),
        ..sp.clone()
    };
    let no_openid = Registration {
        client_id: "bare".into(),
        granted_scopes: vec!["email".into()],
        ..sp.clone()
    };
    FakeDirectory(vec![sp, switched_off, pkce, no_openid, unhinted, hinted])
}

/// A valid request with some parameters replaced; an empty value removes one.
fn with(changes: &[(&str, &str)]) -> Params {
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
            && request.idp_hint.is_none()
    );
    assert!(request.ui_locales.is_empty());
}

#[test]
fn failures_before_the_proof_are_pages() {
    for (changes, code) in [
        (&[("client_id", "")][..], E::ClientIdMissing),
        (&[("client_id", "unknown")], E::ClientIdUnknown),
        (&[("client_id", "SP")], E::ClientIdUnknown),
        (&[("client_id", "off")], E::ClientIdInactive),
        (&[("redirect_uri", "")], E::RedirectUriMissing),
        (&[("redirect_uri", "https://evil.example/cb")], E::RedirectUriNotRegistered),
        (&[("response_type", "")], E::ResponseTypeMissing),
        (&[("scope", "")], E::ScopeMissing),
        (&[("acr_values", "")], E::AcrValuesMissing),
        (&[("state", "")], E::StateMissing),
        (&[("nonce", "")], E::NonceMissing),
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
    for (name, short_get, short_post, long) in [
        ("state", E::StateTooShortGet, E::StateTooShortPost, E::StateTooLong),
        ("nonce", E::NonceTooShortGet, E::NonceTooShortPost, E::NonceTooLong),
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
            assert!(of_length(minimum).is_ok() && of_length(1024).is_ok());
            assert_eq!(of_length(minimum - 1), Err(AuthorizationError::Page(short)));
            assert_eq!(of_length(1025), Err(AuthorizationError::Page(long)));
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
        CALLBACK.to_uppercase(),
    ] {
        assert_eq!(page_error(&[("redirect_uri", &other)]), E::RedirectUriNotRegistered, "{other}");
    }
}

#[test]
fn scopes_are_granted_once_each_with_openid_first() {
    let scopes = |scope: &str| validate_get(&[("scope", scope)]).unwrap().scopes;
    assert_eq!(
        scopes("profile  openid email openid profile"),
        ["openid", "profile", "email"].map(Scope::from)
    );
    assert_eq!(
        scopes("openid offline_access https://x/y"),
        ["openid"].map(Scope::from),
        "unknown scopes are ignored"
    );
}

#[test]
fn essential_acr_values_bind_the_answer_where_there_is_more_than_one_level() {
    use Level::{Eidas2, Eidas3};
    let required = |platform, acr_values: &str, claims: &str| {
        let params = with(&[("acr_values", acr_values), ("claims", claims)]);
        validate(&params, RequestMethod::Get, platform).unwrap().acr_required
    };
    let essential =
        |values: &str| format!(r#"{{"id_token":{{"acr":{{"essential":true,{values}}}}}}}"#);
    let high = Platform::High;
    assert_eq!(required(high, "eidas2", &essential(r#""values":["eidas2"]"#)), [Eidas2]);
    assert_eq!(
        required(high, "eidas2", &essential(r#""values":["eidas3","x","eidas2"]"#)),
        [Eidas2, Eidas3]
    );
    assert_eq!(required(high, "eidas2", &essential(r#""value":"eidas3""#)), [Eidas3]);
    assert_eq!(required(high, "eidas2", r#"{"id_token":{"acr":{"values":["eidas2"]}}}"#), []);
    assert_eq!(required(Platform::Standard, "eidas1", &essential(r#""values":["eidas1"]"#)), []);
}

#[test]
fn the_lowest_accepted_level_is_the_minimum() {
    let level = |platform, acr_values: &str, claims: &str| {
        let params = with(&[("acr_values", acr_values), ("claims", claims)]);
        validate(&params, RequestMethod::Get, platform)
            .map(|request| (request.level, request.acr_essential))
            .ok()
    };
    use Level::{Eidas1, Eidas2, Eidas3};
    let high = Platform::High;
    assert_eq!(level(high, "eidas3 eidas2", ""), Some((Eidas2, false)));
    assert_eq!(level(high, "eidas1 eidas3", ""), Some((Eidas3, false)));
    assert_eq!(level(Platform::Standard, "eidas3 eidas1", ""), Some((Eidas1, false)));
    assert_eq!(level(high, "eidas1", ""), None);
    assert_eq!(
        level(high, "eidas3", r#"{"id_token":{"acr":{"value":"eidas2"}}}"#),
        Some((Eidas2, false))
    );
    assert_eq!(
        level(high, "eidas1", r#"{"id_token":{"acr":{"values":["x","eidas3"]}}}"#),
        Some((Eidas3, false))
    );
    assert_eq!(
        level(high, "eidas2", r#"{"id_token":{"acr":{"essential":true}}}"#),
        Some((Eidas2, false))
    );
    // acr_values must not lower what is essential.
    assert_eq!(
        level(high, "eidas2", r#"{"id_token":{"acr":{"essential":true,"value":"eidas3"}}}"#),
        Some((Eidas3, true))
    );
    assert_eq!(
        level(high, "eidas2", r#"{"id_token":{"acr":{"essential":true,"value":"eidas1"}}}"#),
        None
    );
}

#[test]
fn amr_is_requested_by_the_boolean_true_alone() {
    let amr = |claims: serde_json::Value| {
        validate_get(&[("claims", &claims.to_string())]).unwrap().claims.amr
    };
    assert!(amr(json!({"id_token": {"amr": {"essential": true}}})));
    assert!(amr(
        json!({"id_token": {"amr": {"essential": true, "x": [1]}, "email": null}, "other": 1, "userinfo": {"a": {}}})
    ));
    for not in [
        json!({"id_token": {"amr": {"essential": false}}}),
        json!({"id_token": {"amr": {"essential": "true"}}}),
        json!({"id_token": {"amr": {"essential": 1}}}),
        json!({"id_token": {"amr": null}}),
        json!({"userinfo": {"amr": {"essential": true}}}),
        json!({"amr": {"essential": true}}),
        json!({}),
    ] {
        assert!(!amr(not.clone()), "{not}");
    }
}

#[test]
fn claims_of_more_than_4096_bytes_are_refused() {
    let of_length = |length: usize| format!("{{\"x\":\"{}\"}}", "a".repeat(length - 8));
    assert!(validate_get(&[("claims", &of_length(4096))]).is_ok());
    assert_eq!(redirect_error(&[("claims", &of_length(4097))]), E::ClaimsTooLarge);
}

#[test]
fn optional_parameters_mean_what_they_say() {
    let prompt = |value| validate_get(&[("prompt", value)]).unwrap().prompt;
    assert_eq!(
        prompt("none"),
        Prompt { login: false, consent: false, none: true, select_account: false }
    );
    assert_eq!(
        prompt("login"),
        Prompt { login: true, consent: false, none: false, select_account: false }
    );
    assert_eq!(prompt("consent  login"), Prompt::default());
    assert_eq!(prompt("  "), Prompt::default(), "spaces do not bypass the default");
    let choosing = Prompt { login: false, consent: false, none: false, select_account: true };
    assert_eq!(prompt("select_account"), choosing, "without the default values");
    assert_eq!(prompt("select_account login"), Prompt { login: true, ..choosing });
    for other in ["login", "consent", "select_account"] {
        assert_eq!(redirect_error(&[("prompt", &format!("none {other}"))]), E::PromptNoneWithOther);
    }
    assert_eq!(validate_get(&[("max_age", "0")]).unwrap().max_age, Some(0));
    let request = validate_get(&[
        ("client_id", "pkce"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
    ])
    .unwrap();
    assert_eq!(request.code_challenge.as_deref(), Some(CHALLENGE));
    let claims = r#"{"id_token":{"sub":{"value":"abc"}}}"#;
    assert_eq!(validate_get(&[("claims", claims)]).unwrap().claims.sub.unwrap().reveal(), "abc");
}

#[test]
fn hints_are_taken_or_ignored_but_never_refused() {
    let long = "é".repeat(257);
    let request = validate_get(&[
        ("login_hint", &long[2..]),
        ("id_token_hint", "eyJ"),
        ("idp_hint", "la-poste"),
    ])
    .unwrap();
    assert_eq!(request.login_hint.unwrap().reveal().chars().count(), 256);
    assert_eq!(request.id_token_hint.unwrap().reveal(), "eyJ");
    assert_eq!(request.idp_hint, Some(ConnectorId::from("la-poste")));
    let request = validate_get(&[
        ("login_hint", &long),
        ("idp_hint", "../x"),
        ("ui_locales", "fr-CA  en <b> a_b"),
    ])
    .unwrap();
    assert!(request.login_hint.is_none() && request.idp_hint.is_none());
    assert_eq!(request.ui_locales, ["fr-CA", "en"]);
}

#[test]
fn a_hint_counts_only_where_the_service_providers_file_permits_it() {
    for (client_id, hint, followed) in [
        ("sp", "la-poste", true),
        ("sp", "impots", true),
        ("unhinted", "la-poste", false),
        ("hinted", "la-poste", true),
        ("hinted", "impots", false),
    ] {
        let request = validate_get(&[("client_id", client_id), ("idp_hint", hint)]).unwrap();
        assert_eq!(request.idp_hint.is_some(), followed, "{client_id} {hint}");
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

/// Any of the known parameters, with values that are often valid.
fn any_params() -> impl Strategy<Value = Vec<(String, String)>> {
    let value = prop_oneof![
        Just(String::new()),
        Just("sp".to_owned()),
        Just(CALLBACK.to_owned()),
        Just("code".to_owned()),
        Just("openid email".to_owned()),
        Just(STATE.repeat(2)),
        "\\PC{0,40}",
        any::<String>(),
    ];
    proptest::collection::vec(
        (
            prop_oneof![4 => proptest::sample::select(READ).prop_map(str::to_owned), 1 => any::<String>()],
            value,
        ),
        0..12,
    )
}

fn any_form() -> impl Strategy<Value = (RequestMethod, Platform)> {
    let forms = proptest::sample::select(&[RequestMethod::Get, RequestMethod::Post][..]);
    (forms, proptest::sample::select(&[Platform::Standard, Platform::High][..]))
}

proptest! {
    /// No open redirector for any request.
    #[test]
    fn a_redirect_is_always_to_a_registered_uri(changes in any_params(), from_good in any::<bool>(), (form, platform) in any_form()) {
        let mut pairs = changes;
        if from_good {
            let taken: Vec<_> = pairs.iter().map(|(name, _)| name.clone()).collect();
            let good = with(&[("state", &STATE.repeat(2)), ("nonce", &STATE.repeat(2))]);
            pairs.extend(good.pairs().iter().filter(|(name, _)| !taken.contains(name)).cloned());
        }
        let redirect = match validate(&Params::new(pairs), form, platform) {
            Ok(request) => request.redirect,
            Err(AuthorizationError::Redirect(redirect, _)) => redirect,
            Err(AuthorizationError::Page(_)) => return Ok(()),
        };
        prop_assert!(directory().0[0].redirect_uris.iter().any(|uri| uri == redirect.redirect_uri()));
    }

    #[test]
    fn state_and_nonce_come_back_byte_for_byte(state in "[ -~]{32,200}", nonce in "[ -~]{32,200}", code in "[A-Za-z0-9_-]{43}") {
        let params = with(&[("state", &state), ("nonce", &nonce)]);
        let request = validate(&params, RequestMethod::Post, Platform::Standard).unwrap();
        prop_assert_eq!(request.nonce.map(Secret::into_inner), Some(nonce));
        let AuthorizationResponse::Redirect { location } = request.redirect.code_response(&code) else { panic!() };
        let query = location.strip_prefix("https://sp.example/cb?").unwrap();
        let back: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let expected = [("tenant", "1"), ("code", &code), ("state", &state), ("iss", ISSUER)];
        prop_assert_eq!(back, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
