//! What each parameter of a valid request means.

use serde_json::json;

use super::super::*;
use super::{CHALLENGE, redirect_error, validate, validate_get, with};
use crate::acr::Platform;
use crate::catalogue::ErrorCode as E;

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
    assert_eq!(request.idp_hints, [ConnectorId::from("la-poste")]);
    let request = validate_get(&[
        ("login_hint", &long),
        ("idp_hint", "../x"),
        ("ui_locales", "fr-CA  en <b> a_b"),
    ])
    .unwrap();
    assert!(request.login_hint.is_none() && request.idp_hints.is_empty());
    assert_eq!(request.ui_locales, ["fr-CA", "en"]);
}

#[test]
fn a_hint_is_used_only_where_the_service_providers_file_permits_it() {
    for (client_id, hint, followed) in [
        ("sp", "la-poste", true),
        ("sp", "impots", true),
        ("unhinted", "la-poste", false),
        ("hinted", "la-poste", true),
        ("hinted", "impots", false),
    ] {
        let request = validate_get(&[("client_id", client_id), ("idp_hint", hint)]).unwrap();
        assert_eq!(!request.idp_hints.is_empty(), followed, "{client_id} {hint}");
    }
}
