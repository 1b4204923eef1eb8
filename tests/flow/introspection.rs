//! Data providers at checktoken, on both platforms: what the hub releases to them and to no other
//! client, and the attacks on it (R012, R180 to R185, R204, R206; RFC 7662, RFC 9701).

mod failed_authentication;

use std::time::Duration;

use actix_web::test::TestRequest;
use josekit::jwe::ECDH_ES;
use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use passerelle_jose::verify::{VerificationKeys, verify_jws};
use passerelle_protocol::alg::SigningAlg;
use serde_json::{Map, Value, json};
use url::form_urlencoded::Serializer;

use super::federation::{BASE, SECRET, put};
use super::hub::{Answer, TestHub};
use super::service::Authorize;

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json; charset=utf-8";
const INACTIVE: &str = r#"{"active":false}"#;
/// The response of R182, the same for every failed authentication.
const REFUSED: &str =
    r#"{"error":"invalid_client","error_description":"Client authentication failed."}"#;

/// A data provider's file.
fn data_provider(id: &str, scopes: &str, more: &str) -> String {
    format!(
        "client_id = \"{id}\"\nname = {{ en = \"The {id}\" }}\nscopes = [{scopes}]\nsecrets = [{{ env = \"CLIENT_SECRET\" }}]\n{more}\n"
    )
}

const PIVOT: &str = "\"openid\", \"family_name\", \"birthdate\"";

/// The archive in JSON, the court by JWTs, and the pharmacy, which shares no scope with any
/// token.
fn files() -> Vec<(&'static str, String)> {
    vec![
        ("data-providers/archive.toml", data_provider("archive", PIVOT, "")),
        (
            "data-providers/court.toml",
            data_provider("court", PIVOT, "introspection_signed_response_alg = \"ES256\""),
        ),
        (
            "data-providers/pharmacy.toml",
            data_provider("pharmacy", "\"openid\", \"identite_pivot\"", ""),
        ),
        ("data-providers/closed.toml", data_provider("closed", PIVOT, "active = false")),
    ]
}

pub(super) async fn hub() -> TestHub {
    TestHub::with_files("", &files()).await
}

/// Sends these parameters as a form.
async fn checktoken(hub: &TestHub, pairs: &[(&str, &str)]) -> Answer {
    let body = Serializer::new(String::new()).extend_pairs(pairs).finish();
    hub.send(posted(body).insert_header(("content-type", FORM))).await
}

fn posted(body: impl Into<actix_web::web::Bytes>) -> TestRequest {
    TestRequest::post().uri("/api/v2/checktoken").set_payload(body)
}

async fn introspect_as(hub: &TestHub, id: &str, token: &str) -> Answer {
    checktoken(hub, &[("client_id", id), ("client_secret", SECRET), ("token", token)]).await
}

/// Performs a login. Returns an access token of the bakery, and the user's `sub` there.
async fn issue_access_token(hub: &TestHub) -> (String, Value) {
    let browser = hub.browser();
    let received = browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let tokens = hub.tokens("bakery", &received).await;
    (tokens.access_token, tokens.id_token["sub"].clone())
}

#[track_caller]
fn active_members(answer: &Answer) -> Map<String, Value> {
    assert_eq!((answer.status, answer.header("content-type")), (200, JSON), "{}", answer.body);
    assert_eq!(answer.header("cache-control"), "no-store");
    serde_json::from_str(&answer.body).unwrap()
}

#[track_caller]
fn assert_refused(answer: &Answer) {
    assert_eq!((answer.status, answer.header("content-type")), (401, JSON), "{}", answer.body);
    assert_eq!((answer.body.as_str(), answer.header("cache-control")), (REFUSED, "no-store"));
}

#[track_caller]
fn assert_inactive(answer: &Answer) {
    active_members(answer);
    assert_eq!(answer.body, INACTIVE);
}

#[actix_web::test]
async fn introspection_of_an_active_token_returns_the_permitted_claims() {
    let hub = hub().await;
    let (access_token, sub_at_bakery) = issue_access_token(&hub).await;
    hub.advance(Duration::from_secs(10));
    let answer = introspect_as(&hub, "archive", &access_token).await;
    let mut facts = active_members(&answer);
    let sub = facts.remove("sub").unwrap();
    assert!(sub.as_str().unwrap().len() == 45 && sub != sub_at_bakery, "pairwise: {sub}");
    let (iat, exp) = (facts.remove("iat").unwrap(), facts.remove("exp").unwrap());
    assert_eq!((iat, exp), (json!(hub.now().seconds() - 10), json!(hub.now().seconds() + 50)));
    let expected = json!({
        "active": true, "iss": format!("{BASE}/api/v2"), "aud": "archive", "client_id": "bakery",
        "scope": "openid family_name birthdate", "acr": "eidas1", "family_name": "DUBOIS", "birthdate": "1962-08-24",
    });
    assert_eq!(Value::Object(facts), expected);
    for never in [access_token.as_str(), "angela@", "amr", "pwd"] {
        assert!(!answer.body.contains(never), "{never}");
    }
    // R012: any number of requests, and the same `sub` after another login.
    let (another, _) = issue_access_token(&hub).await;
    assert_eq!(active_members(&introspect_as(&hub, "archive", &another).await)["sub"], sub);
    // R185: only the scope openid is shared.
    assert_inactive(&introspect_as(&hub, "pharmacy", &access_token).await);
}

#[actix_web::test]
async fn a_signed_introspection_response_is_accepted_as_no_other_token() {
    let hub = hub().await;
    let (access_token, _) = issue_access_token(&hub).await;
    for (token, active) in [(access_token.as_str(), true), ("guess", false)] {
        let answer = introspect_as(&hub, "court", token).await;
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, "application/token-introspection+jwt")
        );
        let payload = hub.verified_claims(&answer.body).await;
        assert_eq!(
            payload.keys().collect::<Vec<_>>(),
            ["iss", "aud", "iat", "token_introspection"]
        );
        assert_eq!(
            (&payload["aud"], &payload["iss"]),
            (&json!("court"), &json!(format!("{BASE}/api/v2")))
        );
        assert_eq!(payload["token_introspection"]["active"], active);
        assert_eq!(payload["token_introspection"].as_object().unwrap().len() > 1, active);
        let browser = hub.browser();
        let hint =
            Authorize::by("bakery").with("id_token_hint", &answer.body).with("prompt", "none");
        assert_eq!(
            browser.authorize(&hint).await.received().error_at("bakery"),
            "invalid_request",
            "it is no ID token"
        );
    }
}

#[actix_web::test]
async fn a_token_parameter_that_is_missing_or_double_is_reported_to_authenticated_clients_alone() {
    let hub = hub().await;
    let proven = [("client_id", "archive"), ("client_secret", SECRET)];
    for (more, words) in [
        (&[][..], "missing or empty"),
        (&[("token", "")], "missing or empty"),
        (&[("token", "a"), ("token", "a")], "more than once"),
        (&[("token", "a"), ("token", "")], "more than once"),
    ] {
        let answer = checktoken(&hub, &[&proven[..], more].concat()).await;
        assert_eq!((answer.status, answer.header("content-type")), (400, JSON));
        assert!(
            answer.body.contains("invalid_request") && answer.body.contains(words),
            "{}",
            answer.body
        );
    }
    let get = hub.send(TestRequest::get().uri("/api/v2/checktoken")).await;
    assert_eq!((get.status, get.header("allow"), get.header("content-type")), (405, "POST", JSON));
    let huge = hub.send(posted("x".repeat(70_000)).insert_header(("content-type", FORM))).await;
    assert_eq!((huge.status, huge.header("content-type")), (413, JSON));
}

#[actix_web::test]
async fn a_service_provider_introspects_nothing_and_a_data_provider_redeems_nothing() {
    let hub = hub().await;
    let (access_token, _) = issue_access_token(&hub).await;
    assert_refused(&introspect_as(&hub, "bakery", &access_token).await);
    let browser = hub.browser();
    let received = browser.authorize(&Authorize::by("bakery")).await.finish_as("jean").await;
    let redirect_uri = super::federation::redirect_uri("bakery");
    let stolen = hub.redeem_at("archive", &redirect_uri, received.code()).await;
    let mut members: serde_json::Map<String, Value> = serde_json::from_str(&stolen.body).unwrap();
    assert!(members.remove("error_uri").is_some(), "the token endpoint explains itself");
    let members = serde_json::to_string(&members).unwrap();
    assert_eq!((stolen.status, members.as_str()), (401, REFUSED));
    hub.tokens("bakery", &received).await;
    browser.authorize(&Authorize::by("archive")).await.assert_error(400, "Y000400");
}

// R185
#[actix_web::test]
async fn truncated_changed_foreign_and_replayed_tokens_are_inactive() {
    let hub = hub().await;
    let elsewhere = TestHub::with_files("cookie_prefix = \"elsewhere\"", &files()).await;
    elsewhere.browser();
    let browser = hub.browser();
    let received = browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let tokens = hub.tokens("bakery", &received).await;
    let token = tokens.access_token.as_str();
    assert_inactive(&introspect_as(&elsewhere, "archive", token).await);
    let changed = format!("{}{}", &token[..42], if token.ends_with('A') { 'B' } else { 'A' });
    for other in [
        &token[..42],
        &token[1..],
        &format!("{token}="),
        &format!(" {token}"),
        &changed,
        &tokens.raw_id_token,
        received.code(),
    ] {
        assert_inactive(&introspect_as(&hub, "archive", other).await);
    }
    assert_eq!(active_members(&introspect_as(&hub, "archive", token).await)["active"], true);
    // The code is used a second time, so the token that it issued is revoked.
    assert_eq!(hub.redeem("bakery", received.code()).await.status, 400);
    assert_inactive(&introspect_as(&hub, "archive", token).await);

    let (token, _) = issue_access_token(&hub).await;
    hub.advance(Duration::from_secs(60) - Duration::from_millis(1));
    assert_eq!(active_members(&introspect_as(&hub, "archive", &token).await)["active"], true);
    hub.advance(Duration::from_millis(1));
    assert_inactive(&introspect_as(&hub, "archive", &token).await);
}

#[actix_web::test]
async fn discovery_says_where_and_how_tokens_are_introspected_and_revoked() {
    let hub = hub().await;
    let answer = hub.send(TestRequest::get().uri("/api/v2/.well-known/openid-configuration")).await;
    let document: Map<String, Value> = serde_json::from_str(&answer.body).unwrap();
    for (member, expected) in [
        ("introspection_endpoint", json!(format!("{BASE}/api/v2/checktoken"))),
        ("introspection_endpoint_auth_methods_supported", json!(["client_secret_post"])),
        ("introspection_signing_alg_values_supported", json!(["ES256", "RS256"])),
        (
            "introspection_encryption_alg_values_supported",
            json!(["ECDH-ES", "RSA-OAEP-256", "RSA-OAEP"]),
        ),
        ("introspection_encryption_enc_values_supported", json!(["A256GCM"])),
        ("revocation_endpoint", json!(format!("{BASE}/api/v2/token/revocation"))),
        (
            "revocation_endpoint_auth_methods_supported",
            document["token_endpoint_auth_methods_supported"].clone(),
        ),
        (
            "revocation_endpoint_auth_signing_alg_values_supported",
            json!(["ES256", "RS256", "PS256", "EdDSA"]),
        ),
    ] {
        assert_eq!(document[member], expected, "{member}");
    }
}

fn toml(jwk: &Jwk, kid: &str) -> String {
    let member = |name: &str| jwk.parameter(name).unwrap().clone();
    format!(
        "{{ kty = \"EC\", crv = \"P-256\", x = {}, y = {}, kid = \"{kid}\", use = \"enc\" }}",
        member("x"),
        member("y")
    )
}

// R002, R012, R184 on the high platform
#[actix_web::test]
async fn on_high_the_achieved_level_is_released_and_only_its_data_provider_decrypts_an_answer() {
    let (of_sp, of_court) = (
        Jwk::generate_ec_key(EcCurve::P256).unwrap(),
        Jwk::generate_ec_key(EcCurve::P256).unwrap(),
    );
    let vault = format!(
        "id_token_encrypted_response_alg = \"ECDH-ES\"\njwks = {{ keys = [{}] }}",
        toml(&of_sp, "sp")
    );
    let encrypted = format!(
        "introspection_signed_response_alg = \"RS256\"\nintrospection_encrypted_response_alg = \"ECDH-ES\"\njwks = {{ keys = [{}] }}",
        toml(&of_court, "court"),
    );
    let hub = TestHub::high_with(&[("vault", vault)], |folder| {
        put(folder, "data-providers/archive.toml", data_provider("archive", PIVOT, "").as_bytes());
        put(
            folder,
            "data-providers/court.toml",
            data_provider("court", PIVOT, &encrypted).as_bytes(),
        );
    })
    .await;
    for level in ["eidas2", "eidas3"] {
        let browser = hub.browser();
        let sandbox = browser
            .authorize(&Authorize::by("vault").with("acr_values", "eidas2"))
            .await
            .choose("amandier")
            .await;
        let form = sandbox.sandbox_form("angela").with("level", level);
        let received = browser.submit(&form).await.consent().await.received();
        let answer = hub.redeem("vault", received.code()).await;
        let token = serde_json::from_str::<Value>(&answer.body).unwrap()["access_token"]
            .as_str()
            .unwrap()
            .to_owned();

        let facts = active_members(&introspect_as(&hub, "archive", &token).await);
        assert_eq!(
            (&facts["acr"], &facts["family_name"], &facts["client_id"]),
            (&json!(level), &json!("DUBOIS"), &json!("vault"))
        );
        assert!(!facts.contains_key("email"));
        assert_inactive(&introspect_as(&hub, "archive", &token[1..]).await);
        assert_refused(&introspect_as(&hub, "vault", &token).await);

        for (token, active) in [(token.as_str(), true), ("guess", false)] {
            let answer = introspect_as(&hub, "court", token).await;
            assert_eq!(answer.header("content-type"), "application/token-introspection+jwt");
            let decrypter = ECDH_ES.decrypter_from_jwk(&of_court).unwrap();
            let (jws, header) =
                josekit::jwe::deserialize_compact(&answer.body, &decrypter).unwrap();
            assert_eq!((header.key_id(), header.content_type()), (Some("court"), Some("JWT")));
            let keys = hub.send(TestRequest::get().uri("/api/v2/jwks")).await;
            let keys = VerificationKeys::from_jwks(keys.body.as_bytes()).unwrap();
            let opened =
                verify_jws(std::str::from_utf8(&jws).unwrap(), SigningAlg::RS256, &keys).unwrap();
            assert_eq!(opened.header["typ"], "token-introspection+jwt");
            assert_eq!(opened.claims["token_introspection"]["active"], active);
            assert!(!answer.body.contains("DUBOIS"));
            if active {
                assert_ne!(
                    opened.claims["token_introspection"]["sub"], facts["sub"],
                    "each by a name of its own"
                );
            }
        }
    }
}
