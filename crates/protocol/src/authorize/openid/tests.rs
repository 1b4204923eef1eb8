//! What differs from the federation's rules, and that nothing else does.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use crate::acr::{Level, Platform};
use crate::authorize::{
    AuthorizationError, AuthorizationRequest, AuthorizationResponse, Prompt, RequestMethod,
};
use crate::catalogue::{ErrorCode as E, Param, RequiredParam};
use crate::ids::Scope;
use crate::params::Params;
use crate::registration::{
    ClientDirectory, ClientType, ConsentRequirement, IdpHintPolicy, ProtocolRules, Registration,
};

const ISSUER: &str = "https://hub.example/api/v2";
const CALLBACK: &str = "https://sp.example/cb?tenant=1";

struct FakeDirectory([Registration; 2]);

impl ClientDirectory for FakeDirectory {
    fn registration(&self, client_id: &str) -> Option<&Registration> {
        self.0.iter().find(|registration| registration.client_id.as_str() == client_id)
    }
    fn is_known_scope(&self, scope: &str, rules: ProtocolRules) -> bool {
        assert_eq!(rules, ProtocolRules::Openid);
        ["openid", "email", "profile", "phone"].contains(&scope)
    }
}

fn directory() -> FakeDirectory {
    let sp = Registration {
        client_id: "sp".into(),
        active: true,
        client_type: ClientType::Confidential,
        redirect_uris: vec![CALLBACK.into()],
        post_logout_redirect_uris: vec![],
        granted_scopes: ["openid", "email", "profile"].map(Scope::from).to_vec(),
        require_pkce: false,
        hints: IdpHintPolicy::default(),
        acr: Default::default(),
        require_auth_time: false,
        protection: Default::default(),
        home_page: "https://sp.example/".into(),
        consent: ConsentRequirement::None,
        rules: ProtocolRules::Openid,
    };
    FakeDirectory([Registration { client_id: "off".into(), active: false, ..sp.clone() }, sp])
}

/// The minimum that OpenID Connect requires, with these changes.
fn pairs(changes: &[(&str, &str)]) -> Vec<(String, String)> {
    let least = [
        ("response_type", "code"),
        ("client_id", "sp"),
        ("redirect_uri", CALLBACK),
        ("scope", "openid email"),
    ];
    let mut pairs: BTreeMap<&str, &str> = least.into();
    pairs.extend(changes.iter().copied());
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn validate(
    pairs: Vec<(String, String)>,
    form: RequestMethod,
) -> Result<AuthorizationRequest, AuthorizationError> {
    crate::authorize::validate_request(
        &Params::new(pairs),
        form,
        Platform::Standard,
        ISSUER,
        &directory(),
    )
}

fn validate_get(changes: &[(&str, &str)]) -> Result<AuthorizationRequest, AuthorizationError> {
    validate(pairs(changes), RequestMethod::Get)
}

/// The error that the service provider receives.
fn redirected_error(
    refused: Result<AuthorizationRequest, AuthorizationError>,
) -> (E, BTreeMap<String, String>) {
    let Err(AuthorizationError::Redirect(redirect, code)) = refused else { panic!("{refused:?}") };
    match redirect.error_response(code) {
        AuthorizationResponse::Redirect { location } => {
            let query = location.strip_prefix(CALLBACK).unwrap();
            (code, url::form_urlencoded::parse(query.as_bytes()).into_owned().collect())
        }
        AuthorizationResponse::FormPost { action, fields } => {
            assert_eq!(action, CALLBACK);
            (code, fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
        }
        AuthorizationResponse::Unsigned(_) => panic!("no signed response is registered"),
    }
}

#[test]
fn the_least_that_openid_connect_asks_for_is_enough() {
    for form in [RequestMethod::Get, RequestMethod::Post] {
        let request = validate(pairs(&[]), form).unwrap();
        assert_eq!(
            (request.nonce, request.level, request.acr_essential),
            (None, Level::Eidas1, false)
        );
        // An absent prompt stays absent.
        assert_eq!(
            request.prompt,
            Prompt { login: false, consent: false, none: false, select_account: false }
        );
        let AuthorizationResponse::Redirect { location } = request.redirect.code_response("C")
        else {
            panic!()
        };
        assert!(!location.contains("state"), "{location}");
    }
}

#[test]
fn state_and_nonce_may_be_short_and_hold_every_printable_character() {
    let printable: String = (0x20..=0x7e_u8).map(char::from).collect();
    let long = format!("{printable}{}", "x".repeat(128 - printable.len()));
    for value in ["s", "0123456789", &long, &"x".repeat(1024)] {
        for form in [RequestMethod::Get, RequestMethod::Post] {
            let request = validate(pairs(&[("state", value), ("nonce", value)]), form).unwrap();
            assert_eq!(request.nonce.unwrap().reveal(), value);
            let AuthorizationResponse::Redirect { location } = request.redirect.code_response("C")
            else {
                panic!()
            };
            let query = location.strip_prefix(CALLBACK).unwrap();
            let back: BTreeMap<_, _> =
                url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
            assert_eq!(back["state"], value);
        }
    }
}

#[test]
fn nothing_is_redirected_before_client_and_address_are_proven() {
    for (changes, code) in [
        (&[("client_id", "")][..], E::Missing(RequiredParam::ClientId)),
        (&[("client_id", "unknown")], E::ClientIdUnknown),
        (&[("client_id", "off")], E::ClientIdInactive),
        (&[("redirect_uri", "")], E::Missing(RequiredParam::RedirectUri)),
        (&[("redirect_uri", "https://sp.example/cb")], E::RedirectUriNotRegistered),
        (
            &[("redirect_uri", "https://sp.example/cb?tenant=1&x=2"), ("scope", "")],
            E::RedirectUriNotRegistered,
        ),
    ] {
        assert_eq!(validate_get(changes), Err(AuthorizationError::Page(code)), "{changes:?}");
    }
    for (name, code) in [
        ("client_id", E::Repeated(Param::ClientId)),
        ("redirect_uri", E::Repeated(Param::RedirectUri)),
    ] {
        let mut twice = pairs(&[]);
        let again = twice.iter().find(|(known, _)| known == name).unwrap().clone();
        twice.push(again);
        assert_eq!(
            validate(twice, RequestMethod::Get),
            Err(AuthorizationError::Page(code)),
            "{name}"
        );
    }
}

#[test]
fn after_that_every_failure_is_redirected_in_the_requested_mode() {
    let too_long = "x".repeat(1025);
    let deep = format!("{{\"userinfo\":{}{}}}", "{\"a\":".repeat(500), "}".repeat(500));
    for (changes, code, error) in [
        (("response_type", ""), E::Missing(RequiredParam::ResponseType), "invalid_request"),
        (("response_type", "token"), E::ResponseTypeUnsupported, "unsupported_response_type"),
        (("scope", ""), E::Missing(RequiredParam::Scope), "invalid_request"),
        (("scope", "email"), E::ScopeWithoutOpenid, "invalid_request"),
        (("scope", "openid phone"), E::ScopeNotGranted, "invalid_scope"),
        (("nonce", "é"), E::NonceCharacters, "invalid_request"),
        (("nonce", &too_long), E::NonceTooLong, "invalid_request"),
        (("claims", "[]"), E::ClaimsMalformed, "invalid_request"),
        (("claims", &deep), E::ClaimsMalformed, "invalid_request"),
        (("prompt", "dance"), E::PromptUnknown, "invalid_request"),
        (("prompt", "none login"), E::PromptNoneWithOther, "invalid_request"),
        (("max_age", "-1"), E::MaxAgeMalformed, "invalid_request"),
        (("request", "e30."), E::RequestNotSupported, "request_not_supported"),
        (
            ("request_uri", "https://sp.example/r"),
            E::RequestUriNotSupported,
            "request_uri_not_supported",
        ),
        (("registration", "{}"), E::RegistrationNotSupported, "registration_not_supported"),
        (("code_challenge", "short"), E::CodeChallengeMethodMissing, "invalid_request"),
    ] {
        for mode in ["query", "form_post"] {
            let refused = validate_get(&[changes, ("state", "s"), ("response_mode", mode)]);
            assert!(matches!(
                (&refused, mode),
                (Err(AuthorizationError::Redirect(redirect, code)), mode)
                    if matches!(redirect.error_response(*code), AuthorizationResponse::FormPost { .. }) == (mode == "form_post")
            ));
            let (found, fields) = redirected_error(refused);
            assert_eq!(
                (found, fields["error"].as_str(), fields["state"].as_str()),
                (code, error, "s"),
                "{changes:?}"
            );
        }
    }
    let (code, fields) =
        redirected_error(validate_get(&[("response_mode", "fragment"), ("state", "s")]));
    assert_eq!((code, fields["state"].as_str()), (E::ResponseModeUnknown, "s"));
}

/// The OpenID Foundation's Form Post plan,
/// `oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported`.
#[test]
fn an_error_uses_the_response_mode_and_state_of_a_rejected_request_object() {
    let object = |claims: serde_json::Value| {
        let part =
            |value: &serde_json::Value| crate::digest::base64url(value.to_string().as_bytes());
        format!("{}.{}.", part(&json!({ "alg": "none" })), part(&claims))
    };
    let evil = "https://evil.example/";
    let whole = object(
        json!({ "state": "inside", "response_mode": "form_post", "redirect_uri": evil, "client_id": "off" }),
    );
    let is_form = |refused: &Result<AuthorizationRequest, AuthorizationError>| matches!(refused, Err(AuthorizationError::Redirect(redirect, code)) if matches!(redirect.error_response(*code), AuthorizationResponse::FormPost { .. }));
    let refused = validate_get(&[("request", &whole)]);
    assert!(is_form(&refused), "{refused:?}");
    let (code, fields) = redirected_error(refused);
    assert_eq!((code, fields["state"].as_str()), (E::RequestNotSupported, "inside"));
    // Parameters outside the object take precedence.
    let refused =
        validate_get(&[("request", &whole), ("state", "outside"), ("response_mode", "query")]);
    assert!(!is_form(&refused), "{refused:?}");
    assert_eq!(redirected_error(refused).1["state"], "outside");
    // Other errors are not affected, and a repeated parameter is not replaced.
    assert_eq!(
        redirected_error(validate_get(&[("request", &whole), ("scope", "")])).1["state"],
        "inside"
    );
    let mut twice = pairs(&[("request", &whole), ("state", "a")]);
    twice.push(("state".to_owned(), "b".to_owned()));
    assert_eq!(redirected_error(validate(twice, RequestMethod::Get)).1.get("state"), None);
    // An object alone proves neither the client nor the redirect URI.
    let inside = object(json!({ "client_id": "sp", "redirect_uri": CALLBACK, "state": "inside" }));
    assert_eq!(
        validate_get(&[("request", &inside), ("redirect_uri", "")]),
        Err(AuthorizationError::Page(E::Missing(RequiredParam::RedirectUri)))
    );
}

#[test]
fn a_repeated_parameter_is_reported_by_redirect() {
    for (name, code, state) in [
        ("scope", E::Repeated(Param::Scope), Some("s")),
        ("state", E::Repeated(Param::State), None),
        ("display", E::Repeated(Param::Display), Some("s")),
    ] {
        let mut twice = pairs(&[("state", "s"), ("display", "page")]);
        twice.push((name.to_owned(), "again".to_owned()));
        let (found, fields) = redirected_error(validate(twice, RequestMethod::Get));
        assert_eq!((found, fields.get("state").map(String::as_str)), (code, state), "{name}");
    }
    let mut unknown = pairs(&[]);
    unknown.extend(
        [("extra", "1"), ("extra", "2")].map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    assert!(validate(unknown, RequestMethod::Get).is_ok());
}

#[test]
fn a_state_that_no_address_can_carry_is_refused_without_it() {
    for length in [4097, 60 * 1024] {
        let (code, fields) = redirected_error(validate_get(&[("state", &"x".repeat(length))]));
        assert_eq!((code, fields.get("state")), (E::StateTooLong, None));
    }
    let (code, fields) = redirected_error(validate_get(&[("state", "line\nend")]));
    assert_eq!((code, fields["state"].as_str()), (E::StateCharacters, "line\nend"));
}

#[test]
fn a_level_that_is_not_to_be_had_is_ignored_unless_it_is_essential() {
    for acr_values in ["", "eidas1", "urn:mace:incommon:iap:silver", "eidas3 0", "eidas2 eidas1"] {
        let request = validate_get(&[("acr_values", acr_values)]).unwrap();
        assert_eq!((request.level, request.acr_essential), (Level::Eidas1, false), "{acr_values}");
    }
    let wanting = |essential: bool, value: &str| {
        let claims =
            json!({"id_token": {"acr": {"essential": essential, "values": [value]}}}).to_string();
        validate_get(&[("claims", &claims)])
    };
    assert_eq!(wanting(false, "eidas3").unwrap().level, Level::Eidas1);
    assert_eq!(wanting(true, "eidas1").unwrap().level, Level::Eidas1);
    // OpenID Connect Core 1.0 §5.5.1.1
    assert_eq!(redirected_error(wanting(true, "eidas3")).0, E::AcrValuesStandard);
}

#[test]
fn claims_are_asked_for_by_name_and_place() {
    let claims = json!({
        "userinfo": {"name": {"essential": true}, "nickname": null, "shoe_size": null},
        "id_token": {"email": null, "auth_time": {"essential": true}, "amr": {"essential": true}, "sub": {"value": "me"}},
        "someplace": {"else": null},
    });
    let asked = validate_get(&[("claims", &claims.to_string())]).unwrap().claims;
    assert_eq!(asked.userinfo, ["name", "nickname", "shoe_size"]);
    assert_eq!(asked.id_token, ["email", "auth_time", "amr", "sub"]);
    assert!(asked.amr && asked.sub.is_some_and(|sub| sub.reveal() == "me"));
}

/// OpenID Connect Core 1.0 §2: `auth_time` is required if the client registered or requested it.
#[test]
fn a_client_that_registered_require_auth_time_always_needs_the_time() {
    let [_, ordinary] = directory().0;
    for (is_required, claims, needs) in [
        (false, "", false),
        (false, r#"{"id_token":{"auth_time":{"essential":true}}}"#, true),
        (true, "", true),
        (true, r#"{"id_token":{"auth_time":null}}"#, true),
    ] {
        let registered = Registration { require_auth_time: is_required, ..ordinary.clone() };
        let directory = FakeDirectory([registered.clone(), registered]);
        let claims = [("claims", claims)];
        let claims = if claims[0].1.is_empty() { &[][..] } else { &claims[..] };
        let request = crate::authorize::validate_request(
            &Params::new(pairs(claims)),
            RequestMethod::Get,
            Platform::Standard,
            ISSUER,
            &directory,
        );
        assert_eq!(request.unwrap().needs_auth_time(), needs, "{is_required} {claims:?}");
    }
}

proptest! {
    /// Once the redirect URI is proven, no request ends on a page.
    #[test]
    fn no_request_with_a_proven_address_ends_on_a_page(more in proptest::collection::vec(
        (prop::sample::select(vec!["state", "nonce", "scope", "claims", "prompt", "acr_values", "response_mode", "max_age", "x"]),
         ".{0,40}"), 0..6)) {
        let mut all = pairs(&[]);
        all.extend(more.into_iter().map(|(name, value)| (name.to_owned(), value)));
        prop_assert!(!matches!(validate(all, RequestMethod::Get), Err(AuthorizationError::Page(_))));
    }
}
