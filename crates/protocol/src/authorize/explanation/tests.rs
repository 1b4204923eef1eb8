use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;
use crate::authorize::tests::{directory, with};

fn explain(params: &Params) -> RequestExplanation {
    let directory = directory();
    let context = ExplanationContext {
        platform: Platform::Standard,
        issuer: "https://hub.example/api/v2",
        directory: &directory,
        scope_claims: &|scope, _| vec![format!("claims-of-{scope}")],
        idp_unavailable_reason: &|_, connector, _| {
            (connector.as_str() == "off").then(|| "the connector is disabled".to_owned())
        },
    };
    explain_request(params, RequestMethod::Get, &context)
}

fn parameter(changes: &[(&str, &str)], name: &str) -> ParameterExplanation {
    let found = explain(&with(changes)).parameters.into_iter().find(|one| one.name == name);
    found.unwrap_or_else(|| panic!("{name} is not explained"))
}

#[test]
fn a_good_request_is_explained_with_its_defaults() {
    let explanation = explain(&with(&[]));
    assert_eq!(explanation.outcome, RequestOutcome::Accepted);
    let statuses: Vec<_> =
        explanation.parameters.iter().map(|one| (one.name.as_str(), one.status)).collect();
    assert_eq!(
        statuses,
        [
            ("client_id", ParameterStatus::Accepted),
            ("redirect_uri", ParameterStatus::Accepted),
            ("response_type", ParameterStatus::Accepted),
            ("response_mode", ParameterStatus::Default),
            ("scope", ParameterStatus::Accepted),
            ("acr_values", ParameterStatus::Accepted),
            ("state", ParameterStatus::Accepted),
            ("nonce", ParameterStatus::Accepted),
            ("prompt", ParameterStatus::Default),
            ("code_challenge", ParameterStatus::Warning),
        ]
    );
    assert!(parameter(&[], "scope").message.contains("email releases claims-of-email"));
}

#[test]
fn every_rejected_parameter_is_named_and_not_only_the_first() {
    let explanation = explain(&with(&[
        ("redirect_uri", "https://evil.example/cb"),
        ("state", "short"),
        ("prompt", "create"),
        ("scope", "email"),
        ("acr_values", "eidas9"),
        ("code_challenge_method", "S256"),
    ]));
    let rejected: Vec<_> = explanation
        .parameters
        .iter()
        .filter(|one| one.status == ParameterStatus::Rejected)
        .map(|one| (one.name.as_str(), one.code.unwrap()))
        .collect();
    assert_eq!(
        rejected,
        [
            ("redirect_uri", "Y030203"),
            ("scope", "Y030403"),
            ("acr_values", "Y030503"),
            ("state", "Y030603"),
            ("prompt", "Y030903"),
            ("code_challenge_method", "Y031304"),
        ]
    );
    assert!(explanation.outcome.summary().contains("shows the user an error page"));
    assert!(
        explanation.parameters.iter().filter(|one| one.code.is_some()).all(|one| one.fix.is_some())
    );
}

#[test]
fn level_names_and_default_values_are_explained() {
    let named =
        |acr_values| parameter(&[("client_id", "named"), ("acr_values", acr_values)], "acr_values");
    let default = named("");
    assert_eq!(default.status, ParameterStatus::Default);
    for part in
        ["at least eidas1", "accepted are eidas1, urn:mfa", "urn:mfa is met by multi-factor"]
    {
        assert!(default.message.contains(part), "{default:?}");
    }
    assert!(!named("eidas1").message.contains("multi-factor"));
    assert_eq!(named("urn:other").status, ParameterStatus::Rejected);
}

#[test]
fn a_hint_is_explained_by_the_file_and_by_the_gate() {
    for (hint, status, part) in [
        ("la-poste", ParameterStatus::Accepted, "without the choice page"),
        ("off", ParameterStatus::Ignored, "the connector is disabled"),
        ("../x", ParameterStatus::Ignored, "file permits"),
        ("la-poste off", ParameterStatus::Accepted, "these connectors only"),
    ] {
        let explained = parameter(&[("idp_hint", hint)], "idp_hint");
        assert!(explained.status == status && explained.message.contains(part), "{explained:?}");
    }
}

#[test]
fn values_that_identify_a_person_or_prove_something_are_not_shown() {
    let secret = "a-very-secret-value-indeed";
    let claims = format!(r#"{{"id_token":{{"sub":{{"value":"{secret}"}}}}}}"#);
    let mut pairs = with(&[
        ("state", secret),
        ("nonce", secret),
        ("login_hint", secret),
        ("id_token_hint", secret),
        ("request", secret),
        ("claims", &claims),
    ])
    .pairs()
    .to_vec();
    pairs.extend(
        ["client_secret", "code_verifier", "other"].map(|name| (name.into(), secret.into())),
    );
    let explanation = explain(&Params::new(pairs));
    assert!(!serde_json::to_string(&explanation).unwrap().contains(secret));
    let leaked = explanation.parameters.iter().find(|one| one.name == "client_secret").unwrap();
    assert_eq!(leaked.status, ParameterStatus::Warning);
}

#[test]
fn control_characters_and_endless_values_do_not_reach_the_terminal() {
    let attack = format!("\u{1b}[2J{}", "x".repeat(5000));
    let pairs = (0..100).map(|_| (attack.clone(), attack.clone())).collect();
    let json = serde_json::to_string(&explain(&Params::new(pairs))).unwrap();
    assert!(json.len() < 20_000 && !json.contains("\\u001b"), "{}", json.len());
    let uri = parameter(&[("redirect_uri", &attack)], "redirect_uri").sent.unwrap();
    assert!(!uri.contains('\u{1b}') && uri.chars().count() <= 201);
}

proptest! {
    /// The endpoint rejects a request exactly if the explanation rejects a parameter.
    #[test]
    fn an_explanation_agrees_with_the_endpoint(
        changes in subsequence(vec![
            ("client_id", vec!["pkce", "off", "unhinted", "named", "?"]),
            ("redirect_uri", vec!["", "https://evil.example/"]),
            ("response_type", vec!["", "token"]),
            ("scope", vec!["", "email", "openid birth", "openid else"]),
            ("acr_values", vec!["", "eidas2", "eidas2 eidas1", "urn:mfa"]),
            ("state", vec!["", "short", "\u{e9}"]),
            ("nonce", vec!["", "short"]),
            ("claims", vec!["[]", "{}", r#"{"id_token":{"acr":{"essential":true,"values":["eidas3"]}}}"#]),
            ("prompt", vec!["none", "none login", "?"]),
            ("response_mode", vec!["form_post", "fragment"]),
            ("max_age", vec!["0", "-1"]),
            ("code_challenge", vec!["short", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"]),
            ("code_challenge_method", vec!["S256", "plain"]),
            ("request", vec!["eyJ"]),
        ], 0..6).prop_flat_map(|changes| changes
            .into_iter()
            .map(|(name, values)| select(values).prop_map(move |value| (name, value)))
            .collect::<Vec<_>>())
    ) {
        let explanation = explain(&with(&changes));
        let is_rejected = explanation.outcome != RequestOutcome::Accepted;
        prop_assert_eq!(explanation.has(ParameterStatus::Rejected), is_rejected, "{:?}", explanation);
    }
}

#[test]
fn parameters_beside_a_pushed_request_are_ignored() {
    let params = Params::decode(
        b"client_id=sp&request_uri=urn:ietf:params:oauth:request_uri:a&scope=nonsense",
    );
    let explanation = explain(&params);
    assert_eq!(explanation.outcome, RequestOutcome::Unresolved);
    let status = |name: &str| {
        explanation.parameters.iter().find(|parameter| parameter.name == name).unwrap().status
    };
    assert_eq!(status("request_uri"), ParameterStatus::Accepted);
    assert_eq!(status("scope"), ParameterStatus::Ignored);
    assert!(!explanation.has(ParameterStatus::Rejected));
}
