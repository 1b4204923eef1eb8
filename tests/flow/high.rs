//! The high platform: eidas2 and eidas3, tokens that only their service provider can read,
//! identities of the providers, sessions of ten minutes (R003, R005, R007, R009, R041, R042).

mod logout;
mod published_keys;

use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::test::TestRequest;
use actix_web::{App, HttpResponse, HttpServer, web};
use josekit::jwe::{ECDH_ES, JweDecrypter, RSA_OAEP, RSA_OAEP_256};
use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use passerelle_protocol::env::Env;
use serde_json::{Map, Value, json};

use super::browser::Browser;
use super::federation::post_logout_redirect_uri;
use super::hub::TestHub;
use super::markup::Form;
use super::service::{Authorize, Received};
pub(crate) use published_keys::Publisher;

const MINUTE: Duration = Duration::from_secs(60);

pub(super) static EC: LazyLock<Jwk> =
    LazyLock::new(|| Jwk::generate_ec_key(EcCurve::P256).unwrap());
static RSA: LazyLock<Jwk> = LazyLock::new(|| Jwk::generate_rsa_key(2048).unwrap());

/// Returns the JWK Set of the public key, for encryption with this `kid`.
fn jwk_set(private: &Jwk, kid: &str) -> Value {
    let members: &Map<String, Value> = private.as_ref();
    let public = members
        .iter()
        .filter(|(name, _)| matches!(name.as_str(), "kty" | "crv" | "x" | "y" | "n" | "e"));
    let mut jwk: Map<String, Value> =
        public.map(|(name, value)| (name.clone(), value.clone())).collect();
    jwk.extend(json!({ "kid": kid, "use": "enc" }).as_object().unwrap().clone());
    json!({ "keys": [jwk] })
}

/// Returns the lines of a service provider's file that contain its key.
pub(super) fn inline_jwks_lines(alg: &str, private: &Jwk) -> String {
    let set = jwk_set(private, "its key");
    let members =
        set["keys"][0].as_object().unwrap().iter().map(|(name, value)| format!("{name} = {value}"));
    let key = members.collect::<Vec<_>>().join(", ");
    format!("id_token_encrypted_response_alg = \"{alg}\"\njwks = {{ keys = [{{ {key} }}] }}")
}

/// Decrypts a token with the service provider's key, and verifies the hub's signature. Returns the
/// JWE's header and the claims.
async fn decrypt_and_verify(
    hub: &TestHub,
    jwe: &str,
    alg: &str,
    private: &Jwk,
) -> (Value, Map<String, Value>) {
    let (header, jws) = decrypt_jwe(jwe, alg, private);
    (header, hub.verified_claims(&jws).await)
}

/// Decrypts a JWE. Returns its header and the signed token in it.
pub(super) fn decrypt_jwe(jwe: &str, alg: &str, private: &Jwk) -> (Value, String) {
    let decrypter: Box<dyn JweDecrypter> = match alg {
        "ECDH-ES" => Box::new(ECDH_ES.decrypter_from_jwk(private).unwrap()),
        "RSA-OAEP-256" => Box::new(RSA_OAEP_256.decrypter_from_jwk(private).unwrap()),
        "RSA-OAEP" => Box::new(RSA_OAEP.decrypter_from_jwk(private).unwrap()),
        other => panic!("{other}"),
    };
    let (jws, header) = josekit::jwe::deserialize_compact(jwe, decrypter.as_ref()).unwrap();
    (Value::Object(header.as_ref().clone()), String::from_utf8(jws).unwrap())
}

/// Redeems the code. Returns the token response.
async fn redeem(hub: &TestHub, service: &str, received: &Received) -> Map<String, Value> {
    let answer = hub.redeem(service, received.code()).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    serde_json::from_str(&answer.body).unwrap()
}

fn request_at_level(service: &str, level: &str) -> Authorize {
    Authorize::by(service).with("acr_values", level)
}

/// Performs a login at amandier, where the user proves this level.
async fn signed_in(
    browser: &Browser<'_>,
    request: &Authorize,
    person: &str,
    proven: &str,
) -> Received {
    let sandbox = browser.authorize(request).await.choose("amandier").await;
    let form = sandbox.sandbox_form(person).with("level", proven);
    browser.submit(&form).await.consent().await.received()
}

/// Redeems the code. Returns the `acr` of the ID token, which is encrypted by ECDH-ES.
pub(super) async fn acr_at(hub: &TestHub, service: &str, received: &Received) -> Value {
    let tokens = redeem(hub, service, received).await;
    decrypt_and_verify(hub, tokens["id_token"].as_str().unwrap(), "ECDH-ES", &EC).await.1["acr"]
        .clone()
}

/// Starts a hub with one service provider, whose tokens are encrypted by ECDH-ES.
async fn hub_with_vault() -> TestHub {
    TestHub::high(&[("vault", inline_jwks_lines("ECDH-ES", &EC))]).await
}

async fn acr(hub: &TestHub, received: &Received) -> Value {
    acr_at(hub, "vault", received).await
}

#[actix_web::test]
async fn a_whole_login_is_read_by_its_service_provider_alone_at_each_level_and_algorithm() {
    let rows: [(&str, &Jwk); 3] = [("ECDH-ES", &EC), ("RSA-OAEP-256", &RSA), ("RSA-OAEP", &RSA)];
    let services =
        rows.map(|(alg, private)| (alg.to_ascii_lowercase(), inline_jwks_lines(alg, private)));
    let hub =
        TestHub::high(&services.each_ref().map(|(id, more)| (id.as_str(), more.clone()))).await;
    for ((alg, private), (service, _)) in rows.into_iter().zip(&services) {
        for level in ["eidas2", "eidas3"] {
            let browser = hub.browser();
            let received =
                signed_in(&browser, &request_at_level(service, level), "angela", level).await;
            received.belongs_to(service);
            let tokens = redeem(&hub, service, &received).await;
            let (mut header, id_token) =
                decrypt_and_verify(&hub, tokens["id_token"].as_str().unwrap(), alg, private).await;
            let epk = header.as_object_mut().unwrap().remove("epk");
            assert_eq!(epk.is_some(), alg == "ECDH-ES");
            assert_eq!(
                header,
                json!({ "alg": alg, "enc": "A256GCM", "cty": "JWT", "kid": "its key" })
            );
            assert_eq!((&id_token["acr"], &id_token["aud"]), (&json!(level), &json!(service)));

            let answer = hub.get_userinfo(tokens["access_token"].as_str().unwrap()).await;
            assert_eq!((answer.status, answer.header("content-type")), (200, "application/jwt"));
            let (header, claims) = decrypt_and_verify(&hub, &answer.body, alg, private).await;
            assert_eq!((&header["kid"], &header["cty"]), (&json!("its key"), &json!("JWT")));
            assert_eq!(
                (&claims["family_name"], &claims["sub"]),
                (&json!("DUBOIS"), &id_token["sub"])
            );
        }
    }
}

#[actix_web::test]
async fn the_sandbox_selects_the_requested_level_and_explains_a_lower_one() {
    let hub = hub_with_vault().await;
    for (asked, lower) in [("eidas2", 0), ("eidas3", 1)] {
        let browser = hub.browser();
        let page = browser
            .authorize(&request_at_level("vault", asked))
            .await
            .choose("amandier")
            .await
            .answer
            .body;
        assert!(page.contains(&format!("name=\"level\" value=\"{asked}\" checked")), "{page}");
        assert_eq!(page.matches("Lower than asked").count(), lower, "{page}");
    }
}

#[actix_web::test]
async fn userinfo_may_be_encrypted_by_another_algorithm_than_the_id_token() {
    let both = format!(
        "{}\nuserinfo_encrypted_response_alg = \"RSA-OAEP-256\"",
        inline_jwks_lines("ECDH-ES", &EC)
    );
    let rsa = jwk_set(&RSA, "rsa")["keys"][0].as_object().unwrap().clone();
    let rsa =
        rsa.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ");
    let hub = TestHub::high(&[("vault", both.replace("}]", &format!("}}, {{ {rsa} }}]")))]).await;
    let browser = hub.browser();
    let received =
        signed_in(&browser, &request_at_level("vault", "eidas2"), "jean", "eidas2").await;
    let tokens = redeem(&hub, "vault", &received).await;
    decrypt_and_verify(&hub, tokens["id_token"].as_str().unwrap(), "ECDH-ES", &EC).await;
    let answer = hub.get_userinfo(tokens["access_token"].as_str().unwrap()).await;
    assert_eq!(
        decrypt_and_verify(&hub, &answer.body, "RSA-OAEP-256", &RSA).await.1["family_name"],
        "LEFÈVRE"
    );
}

#[actix_web::test]
async fn the_acr_is_what_was_proven_and_never_less_than_asked() {
    let hub = hub_with_vault().await;
    // R038: a higher level than requested is released as achieved.
    assert_eq!(
        acr(
            &hub,
            &signed_in(&hub.browser(), &request_at_level("vault", "eidas2"), "angela", "eidas3")
                .await
        )
        .await,
        "eidas3"
    );
    let browser = hub.browser();
    let sandbox =
        browser.authorize(&request_at_level("vault", "eidas3")).await.choose("amandier").await;
    let form = sandbox.sandbox_form("angela").with("level", "eidas2");
    browser.submit(&form).await.assert_error(200, "Y100002");
    // A provider that can't reach the level is not offered.
    assert_eq!(
        browser.authorize(&request_at_level("vault", "eidas3")).await.offered(),
        ["amandier"]
    );
    assert_eq!(
        browser.authorize(&request_at_level("vault", "eidas3 eidas2")).await.offered(),
        ["amandier", "belvedere"]
    );
    // R003
    assert_eq!(
        browser.authorize(&request_at_level("vault", "eidas1")).await.received().error_at("vault"),
        "invalid_request"
    );
}

#[actix_web::test]
async fn the_identity_is_the_providers_and_no_register_is_asked() {
    // R009: on standard this user is refused, because the register does not know them.
    let hub = hub_with_vault().await;
    let received =
        signed_in(&hub.browser(), &request_at_level("vault", "eidas2"), "unknown", "eidas2").await;
    redeem(&hub, "vault", &received).await;
}

/// R011: a client id, its secret and its codes are valid only on the platform where the client is
/// registered.
#[actix_web::test]
async fn what_is_registered_on_one_platform_is_unknown_on_the_other() {
    let (high, standard) = (hub_with_vault().await, TestHub::start().await);
    let at_high =
        signed_in(&high.browser(), &request_at_level("vault", "eidas2"), "angela", "eidas2").await;
    let browser = standard.browser();
    // Both hubs have the same seeded entropy; one more login makes their codes differ.
    browser.authorize(&Authorize::by("bakery")).await;
    let page = browser
        .authorize(&Authorize::by("bakery"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("angela")
        .await;
    let at_standard = page.consent().await.received();
    assert_ne!(at_high.code(), at_standard.code());
    for (hub, stranger, own, level, other_code, own_code) in [
        (&standard, "vault", "bakery", "eidas1", at_high.code(), at_standard.code()),
        (&high, "bakery", "vault", "eidas2", at_standard.code(), at_high.code()),
    ] {
        hub.browser()
            .authorize(&request_at_level(stranger, level))
            .await
            .assert_error(400, "Y000400");
        let answer = hub.redeem(stranger, own_code).await;
        assert!(
            answer.status == 401 && answer.body.contains("invalid_client"),
            "{stranger}: {}",
            answer.body
        );
        let answer = hub.redeem(own, other_code).await;
        assert!(
            answer.status == 400 && answer.body.contains("invalid_grant"),
            "{own}: {}",
            answer.body
        );
        redeem(hub, own, if own == "vault" { &at_high } else { &at_standard }).await;
    }
}

/// R009: the start warns of a register that is left in the settings. `check --online` does not
/// report that its server doesn't answer.
#[actix_web::test]
async fn an_unused_register_is_not_called_by_check_online() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let left_over = |folder: &Path| {
        let settings = folder.join("passerelle.toml");
        let text = std::fs::read_to_string(&settings).unwrap();
        let table = format!(
            "[register.http]\nurl = \"http://{silent}\"\ninsecure_http = true\ninternal_hosts = [\"127.0.0.1\"]"
        );
        std::fs::write(settings, format!("{text}\n{table}\n")).unwrap();
    };
    let hub = TestHub::high_with(&[("vault", inline_jwks_lines("ECDH-ES", &EC))], left_over).await;
    assert!(hub.loaded.register.is_some());
    let found =
        passerelle_server::probe_providers(&hub.loaded, &Env::system(), &|| {}).await.unwrap();
    assert!(
        !found.is_empty()
            && found.iter().all(|(who, outcome)| who != "register" && outcome.is_ok()),
        "{found:?}"
    );
}

/// R009: an invalid register file in the settings does not prevent the start.
#[actix_web::test]
async fn an_unreadable_register_file_is_neither_read_nor_queried() {
    let broken = |folder: &Path| {
        std::fs::write(folder.join("register.csv"), b"\xff\xfe no CSV, no header, not even text")
            .unwrap();
        let settings = folder.join("passerelle.toml");
        let text = std::fs::read_to_string(&settings).unwrap();
        std::fs::write(settings, format!("{text}\nregister.file.path = \"register.csv\"\n"))
            .unwrap();
    };
    let hub = TestHub::high_with(&[("vault", inline_jwks_lines("ECDH-ES", &EC))], broken).await;
    let received =
        signed_in(&hub.browser(), &request_at_level("vault", "eidas2"), "angela", "eidas2").await;
    assert_eq!(acr(&hub, &received).await, "eidas2");
    assert!(!hub.metrics.render().contains("passerelle_register_lookups_total{"));
}

#[actix_web::test]
async fn a_session_lasts_ten_minutes_from_the_authentication_and_eidas3_is_never_reused() {
    let hub = hub_with_vault().await;
    let browser = hub.browser();
    signed_in(&browser, &request_at_level("vault", "eidas3"), "angela", "eidas3").await;
    let again = |level: &str| request_at_level("vault", level).with("prompt", "consent");
    hub.advance(9 * MINUTE);
    assert!(browser.authorize(&again("eidas3")).await.is_choice(), "eidas3 was reused");
    // The session is reused at eidas2, and its lifetime is not extended.
    let received = browser.authorize(&again("eidas2")).await.consent().await.received();
    assert_eq!(acr(&hub, &received).await, "eidas2");
    hub.advance(MINUTE - Duration::from_millis(1));
    assert!(browser.authorize(&again("eidas2")).await.is_consent());
    hub.advance(Duration::from_millis(1));
    assert!(browser.authorize(&again("eidas2")).await.is_choice());
}

#[actix_web::test]
async fn discovery_describes_the_high_platform() {
    let hub = hub_with_vault().await;
    let answer = hub.send(TestRequest::get().uri("/api/v2/.well-known/openid-configuration")).await;
    let document: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(document["acr_values_supported"], json!(["eidas2", "eidas3"]));
    for answer in ["id_token", "userinfo"] {
        let algs = json!(["ECDH-ES", "RSA-OAEP-256", "RSA-OAEP"]);
        assert_eq!(document[format!("{answer}_encryption_alg_values_supported")], algs);
        assert_eq!(
            document[format!("{answer}_encryption_enc_values_supported")],
            json!(["A256GCM"])
        );
    }
}
