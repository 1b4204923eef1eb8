//! Diagnostics of valid and misconfigured OpenID providers.

mod failures;

use serde_json::json;

use super::*;
use crate::Connector as _;
use crate::diagnostic::DiagnosticStatus;
use crate::testing::fake_idp::*;
use passerelle_egress::safe_http_client::EgressError;
use passerelle_egress::testing::fake_server::{FakeResponse, FakeServer};
use passerelle_federation::identity::Claim;
use passerelle_protocol::env::{Env, Timestamp};

fn context() -> DiagnosisContext {
    DiagnosisContext {
        redirect_uri: "https://hub.example/api/v2/callback/fake".into(),
        required_claims: vec![(Claim::FamilyName, vec!["sn".into()]), (Claim::Gender, vec![])],
    }
}

impl IdpScript {
    fn drop_member(&mut self, name: &str) {
        self.discovery.as_object_mut().unwrap().remove(name);
    }
}

async fn diagnose(fixture: &OidcFixture) -> Vec<CheckDiagnostic> {
    fixture.connector.diagnose(&context()).await
}

fn error_response(error: &str) -> Option<FakeResponse> {
    Some(FakeResponse { status: 400, ..FakeResponse::json(&json!({ "error": error })) })
}

#[track_caller]
fn diagnostic_named<'f>(diagnostics: &'f [CheckDiagnostic], name: &str) -> &'f CheckDiagnostic {
    diagnostics
        .iter()
        .find(|diagnostic| diagnostic.name == name)
        .unwrap_or_else(|| panic!("no {name}: {diagnostics:#?}"))
}

#[tokio::test]
async fn a_valid_identity_provider_has_no_errors() {
    let fixture = OidcFixture::new().await;
    fixture.script().token_response = error_response("invalid_grant");
    fixture.script().discovery["code_challenge_methods_supported"] = json!(["S256"]);
    fixture.script().discovery["end_session_endpoint"] =
        json!(format!("{}/end", fixture.server.base()));
    fixture.script().discovery["token_endpoint_auth_methods_supported"] =
        json!(["client_secret_post"]);
    let diagnostics = diagnose(&fixture).await;
    let failed: Vec<&str> = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.status != DiagnosticStatus::Ok)
        .map(|diagnostic| diagnostic.name)
        .collect();
    assert_eq!(failed, ["certificate"], "there is no TLS in this test: {diagnostics:#?}");
    assert!(
        diagnostic_named(&diagnostics, "client-authentication")
            .message
            .contains("accepts the hub's client authentication")
    );
    let page = include_str!("../../../../../docs/checking-a-connector.md");
    for CheckDiagnostic { name, .. } in &diagnostics {
        assert!(page.contains(&format!("| `{name}` |")), "{name} is not explained");
    }
}

#[tokio::test]
async fn each_misconfiguration_has_a_diagnostic_with_a_fix() {
    type Change = fn(&mut IdpScript);
    let table: [(&str, Change, &str, DiagnosticStatus, &str); 27] = [
        (
            "slash",
            |s| s.discovery["issuer"] = json!(format!("{}/", s.base)),
            "issuer",
            DiagnosticStatus::Error,
            "by a trailing slash",
        ),
        (
            "other",
            |s| s.discovery["issuer"] = json!("https://evil.example"),
            "issuer",
            DiagnosticStatus::Error,
            "https://evil.example",
        ),
        (
            "none",
            |s| s.discovery["issuer"] = json!(null),
            "issuer",
            DiagnosticStatus::Error,
            "has no issuer",
        ),
        (
            "array",
            |s| s.discovery = json!([]),
            "discovery",
            DiagnosticStatus::Error,
            "not a JSON object",
        ),
        (
            "no jwks",
            |s| s.drop_member("jwks_uri"),
            "discovery",
            DiagnosticStatus::Error,
            "jwks_uri",
        ),
        (
            "inside",
            |s| s.discovery["token_endpoint"] = json!("http://10.0.0.1/token"),
            "discovery",
            DiagnosticStatus::Error,
            "internal_hosts",
        ),
        (
            "no keys",
            |s| s.published = vec![],
            "keys",
            DiagnosticStatus::Error,
            "no key of the set can verify ES256",
        ),
        (
            "rsa, and ES256 is not announced",
            |s| {
                s.published = vec![rsa(2048)];
                s.discovery["id_token_signing_alg_values_supported"] = json!(["RS256"]);
            },
            "keys",
            DiagnosticStatus::Error,
            "RS256",
        ),
        (
            "Keycloak before its first ES256 signature",
            |s| s.published = vec![rsa(2048)],
            "keys",
            DiagnosticStatus::Warning,
            "at the first signature",
        ),
        (
            "weak",
            |s| s.published.push(rsa(1024)),
            "weak-keys",
            DiagnosticStatus::Warning,
            "1024 bits",
        ),
        (
            "private",
            |s| {
                let mut jwk = serde_json::to_value(ec_key("k2").0).unwrap();
                jwk["kid"] = json!("k2");
                s.published.push(jwk);
            },
            "weak-keys",
            DiagnosticStatus::Error,
            "anyone can sign",
        ),
        (
            "twins",
            |s| s.published = vec![ec_key("k").1, ec_key("k").1],
            "key-ids",
            DiagnosticStatus::Error,
            "kid k",
        ),
        (
            "nameless",
            |s| {
                let mut jwk = ec_key("k").1;
                jwk.as_object_mut().unwrap().remove("kid");
                s.published.push(jwk);
            },
            "key-ids",
            DiagnosticStatus::Warning,
            "1 keys have no kid",
        ),
        (
            "ten thousand keys of another type",
            |s| {
                s.published =
                    (0..10_000).map(|n| json!({ "kty": "oct", "kid": n.to_string() })).collect()
            },
            "keys",
            DiagnosticStatus::Error,
            "no key of the set can verify ES256",
        ),
        ("no logout", |_| {}, "end-session", DiagnosticStatus::Warning, "leaves"),
        (
            "pkce",
            |s| s.discovery["code_challenge_methods_supported"] = json!(["plain"]),
            "pkce",
            DiagnosticStatus::Warning,
            "S256",
        ),
        (
            "modes",
            |s| s.discovery["response_modes_supported"] = json!(["fragment"]),
            "response-mode",
            DiagnosticStatus::Error,
            "query",
        ),
        (
            "acr",
            |s| s.discovery["acr_values_supported"] = json!(["low"]),
            "acr",
            DiagnosticStatus::Warning,
            "substantial",
        ),
        (
            "auth_time",
            |s| s.discovery["claims_supported"] = json!(["sub", "iss"]),
            "auth-time",
            DiagnosticStatus::Warning,
            "Y020046",
        ),
        (
            "scopes",
            |s| s.discovery["scopes_supported"] = json!(["openid", "email"]),
            "scopes",
            DiagnosticStatus::Error,
            "identite_pivot",
        ),
        (
            "the scopes it has",
            |s| s.discovery["scopes_supported"] = json!(["openid", "prof\u{1b}ile", "web-origins"]),
            "scopes",
            DiagnosticStatus::Error,
            "it announces openid, prof?ile, web-origins",
        ),
        (
            "prompt",
            |s| s.discovery["prompt_values_supported"] = json!(["none"]),
            "prompt",
            DiagnosticStatus::Warning,
            "Y020370",
        ),
        (
            "claims",
            |s| s.discovery["claims_supported"] = json!(["sub"]),
            "claims",
            DiagnosticStatus::Warning,
            "sn (for family_name)",
        ),
        (
            "wrong secret",
            |s| s.token_response = error_response("invalid_client"),
            "client-authentication",
            DiagnosticStatus::Error,
            "client_secret and token_endpoint_auth_method",
        ),
        (
            "no codes",
            |s| s.token_response = error_response("unauthorized_client"),
            "client-authentication",
            DiagnosticStatus::Error,
            "authorization_code",
        ),
        (
            "odd",
            |s| s.token_response = error_response("invalid_request"),
            "client-authentication",
            DiagnosticStatus::Warning,
            "error=invalid_request",
        ),
        (
            "believes anything",
            |_| {},
            "client-authentication",
            DiagnosticStatus::Error,
            "never issued",
        ),
    ];
    for (case, change, name, status, words) in table {
        let fixture = OidcFixture::new().await;
        change(&mut fixture.script());
        let diagnostics = diagnose(&fixture).await;
        let diagnostic = diagnostics
            .iter()
            .find(|diagnostic| diagnostic.name == name && diagnostic.status == status);
        let diagnostic = diagnostic.unwrap_or_else(|| panic!("{case}: {diagnostics:#?}"));
        let text =
            format!("{} {}", diagnostic.message, diagnostic.fix.as_deref().unwrap_or_default());
        assert!(text.contains(words), "{case}: {text}");
        assert!(diagnostic.fix.is_some(), "{case}");
        for diagnostic in &diagnostics {
            let text = format!("{diagnostic:?}");
            assert!(!text.contains(SECRET) && !text.contains("at-1"), "{case}: {text}");
        }
    }
}

#[tokio::test]
async fn an_unlisted_acr_beside_assumed_level_is_a_warning() {
    let assumed =
        "levels = { lowest = \"eidas1\", highest = \"eidas1\" }\nassumed_level = \"eidas1\"";
    let acr = async |levels: &str, announced: &[(&str, Value)]| {
        let fixture = OidcFixture::with_levels(levels, "").await;
        for (name, value) in announced {
            fixture.script().discovery[*name] = value.clone();
        }
        diagnostic_named(&diagnose(&fixture).await, "acr").clone()
    };
    let keycloak =
        [("acr_values_supported", json!(["0", "1"])), ("claims_supported", json!(["sub", "acr"]))];
    for announced in [&keycloak[..], &keycloak[1..]] {
        let diagnostic = acr(assumed, announced).await;
        assert_eq!(diagnostic.status, DiagnosticStatus::Warning, "{diagnostic:?}");
        assert!(diagnostic.fix.unwrap().contains("ignore_acr = true"));
    }
    assert!(acr(assumed, &keycloak).await.message.contains("the acr values 0, 1"));
    for (levels, announced) in [
        (format!("{assumed}\nignore_acr = true"), &keycloak[..]),
        (format!("{assumed}\nacr = {{ eidas1 = [\"0\", \"1\"] }}"), &keycloak[..]),
        (assumed.to_owned(), &[]),
    ] {
        assert_eq!(acr(&levels, announced).await.status, DiagnosticStatus::Ok, "{levels}");
    }
}

#[tokio::test]
async fn a_rejected_assertion_is_diagnosed_with_client_assertion_audience() {
    for (more, other) in
        [("", "token_endpoint"), ("client_assertion_audience = \"token_endpoint\"", "issuer")]
    {
        let fixture =
            OidcFixture::with(&format!("token_endpoint_auth_method = \"private_key_jwt\"\n{more}"))
                .await;
        for error in ["invalid_client", "unauthorized_client", "invalid_request"] {
            fixture.script().token_response = error_response(error);
            let diagnostics = diagnose(&fixture).await;
            let fix = diagnostic_named(&diagnostics, "client-authentication").fix.clone().unwrap();
            assert!(
                fix.contains(&format!("client_assertion_audience = \"{other}\"")),
                "{error}: {fix}"
            );
        }
        fixture.script().token_response = error_response("invalid_client");
        let error = fixture
            .connector
            .complete_login(fixture.attempt().await, fixture.callback())
            .await
            .unwrap_err();
        assert!(
            error.detail.contains("client_assertion_audience"),
            "the login error names it too: {error}"
        );
    }
}

fn rsa(bits: u32) -> Value {
    let mut jwk = serde_json::to_value(
        josekit::jwk::Jwk::generate_rsa_key(bits).unwrap().to_public_key().unwrap(),
    )
    .unwrap();
    jwk["kid"] = json!(format!("rsa-{bits}"));
    jwk
}

#[tokio::test]
async fn malformed_members_of_metadata_and_keys_are_named_with_their_repair() {
    let fixture = OidcFixture::new().await;
    {
        let mut script = fixture.script();
        script.token_response = error_response("invalid_grant");
        script.discovery["op_policy_uri"] = json!("");
        script.published[0]["use"] = json!(null);
        let mut padded = script.published[0].clone();
        padded["kid"] = json!("k2");
        padded["x"] = json!(format!("{}=", padded["x"].as_str().unwrap()));
        script.published.push(padded);
    }
    let diagnostics = diagnose(&fixture).await;
    let messages: Vec<&str> = diagnostics
        .iter()
        .filter(|diagnostic| ["metadata", "key-members"].contains(&diagnostic.name))
        .map(|diagnostic| diagnostic.message.as_str())
        .collect();
    assert_eq!(
        messages,
        [
            "op_policy_uri is an empty string, not an absolute URL: the hub ignores it",
            "use of the key k1 is null or empty: the hub reads it as absent",
            "use of the key k2 is null or empty: the hub reads it as absent",
            "x of the key k2 is base64 with padding or with + and /, not base64url: the hub ignores the key",
        ]
    );
}

#[tokio::test]
async fn repeated_members_of_metadata_and_keys_are_named() {
    let fixture = OidcFixture::new().await;
    {
        let mut script = fixture.script();
        script.token_response = error_response("invalid_grant");
        let twice = |document: String| {
            let text = document.strip_suffix('}').unwrap();
            let body = format!("{text},\"more\":1,\"more\":2}}").into_bytes();
            Some(FakeResponse { status: 200, headers: vec![], body })
        };
        script.discovery_response = twice(script.discovery.to_string());
        script.jwks_response = twice(json!({ "keys": script.published }).to_string());
    }
    let diagnostics = diagnose(&fixture).await;
    let messages: Vec<&str> = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.status != DiagnosticStatus::Ok)
        .filter(|diagnostic| ["metadata", "key-members"].contains(&diagnostic.name))
        .map(|diagnostic| diagnostic.message.as_str())
        .collect();
    assert_eq!(
        messages,
        [
            "more repeated: the hub ignores it",
            "the key set repeats more: the hub ignores the member, and the key if it needs the member",
        ]
    );
}

#[tokio::test]
async fn a_provider_that_announces_only_openid_may_support_more_scopes() {
    let fixture = OidcFixture::new().await;
    fixture.script().discovery["scopes_supported"] = json!(["openid"]);
    let diagnostics = diagnose(&fixture).await;
    assert_eq!(diagnostic_named(&diagnostics, "scopes").status, DiagnosticStatus::Ok);
}
