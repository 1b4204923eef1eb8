//! Encrypted ID tokens and userinfo under `rules = "openid"`, as each service provider registered.

use serde_json::json;

use super::*;
use crate::federation::post_logout_redirect_uri;
use crate::high::{EC, Publisher, decrypt_jwe, inline_jwks_lines};

const USERINFO: &str = "userinfo_encrypted_response_alg = \"ECDH-ES\"";

/// `vault` gets both encrypted, `reader` userinfo only, `kiosk` neither.
async fn encrypting_hub() -> TestHub {
    let keys = inline_jwks_lines("ECDH-ES", &EC);
    let id_token_alg = "id_token_encrypted_response_alg = \"ECDH-ES\"";
    let files = [
        service("vault", &format!("consent = \"none\"\n{USERINFO}\n{keys}")),
        service("reader", &format!("consent = \"none\"\n{}", keys.replace(id_token_alg, USERINFO))),
        service("kiosk", "consent = \"none\""),
    ];
    let files: Vec<(&str, String)> =
        files.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    TestHub::with_files("", &files).await
}

async fn token_response(hub: &TestHub, service: &str, received: &Received) -> Value {
    serde_json::from_str(&hub.redeem(service, received.code()).await.body).unwrap()
}

/// Verifies the signature of the hub, by RS256, in a JWE for [`EC`] or without one. Returns the claims.
async fn claims(hub: &TestHub, token: &str, is_encrypted: bool) -> Map<String, Value> {
    let jws = if is_encrypted {
        let (header, jws) = decrypt_jwe(token, "ECDH-ES", &EC);
        assert_eq!((&header["enc"], &header["cty"]), (&json!("A256GCM"), &json!("JWT")));
        jws
    } else {
        token.to_owned()
    };
    let keys = hub.send(TestRequest::get().uri("/api/v2/jwks")).await;
    let keys = VerificationKeys::from_jwks(keys.body.as_bytes()).unwrap();
    verify_jws(&jws, SigningAlg::RS256, &keys).unwrap().claims
}

#[actix_web::test]
async fn each_service_provider_gets_encrypted_what_it_registered() {
    let hub = encrypting_hub().await;
    let discovery = hub.discovery().await;
    for member in
        ["id_token_encryption_alg_values_supported", "userinfo_encryption_alg_values_supported"]
    {
        assert_eq!(discovery[member], json!(["ECDH-ES", "RSA-OAEP-256", "RSA-OAEP"]));
    }
    for (service, id_token, userinfo) in
        [("vault", true, true), ("reader", false, true), ("kiosk", false, false)]
    {
        let request = Authorize::minimal(service, "openid email");
        let tokens =
            token_response(&hub, service, &sign_in(&hub.browser(), &request, "angela").await).await;
        let id_token = claims(&hub, tokens["id_token"].as_str().unwrap(), id_token).await;
        let answer = hub.get_userinfo(tokens["access_token"].as_str().unwrap()).await;
        let released = if userinfo {
            assert_eq!(answer.header("content-type"), "application/jwt");
            claims(&hub, &answer.body, true).await
        } else {
            successful_json(&answer).as_object().unwrap().clone()
        };
        assert_eq!((&released["sub"], released["email"].is_string()), (&id_token["sub"], true));
    }
}

/// RP-Initiated Logout 1.0 §2: by GET and by POST, where the encrypted token finds its session.
#[actix_web::test]
async fn an_encrypted_id_token_is_a_logout_hint_in_its_session() {
    let hub = encrypting_hub().await;
    for by_post in [false, true] {
        let browser = hub.browser();
        let request = Authorize::minimal("vault", "openid");
        let tokens =
            token_response(&hub, "vault", &sign_in(&browser, &request, "angela").await).await;
        let uri = post_logout_redirect_uri("vault");
        let query = Serializer::new(String::new())
            .append_pair("id_token_hint", tokens["id_token"].as_str().unwrap())
            .append_pair("post_logout_redirect_uri", &uri)
            .finish();
        let mut address = format!("/api/v2/session/end?{query}");
        if by_post {
            let post = TestRequest::post().uri("/api/v2/session/end").insert_header(FORM);
            let answer = hub.send(post.set_payload(query)).await;
            assert_eq!(answer.status, 303, "{}", answer.body);
            answer.header("location").clone_into(&mut address);
        }
        assert!(browser.open(&address).await.url.starts_with(&uri));
        assert_eq!(browser.session(), None);
    }
}

/// Attack: a client's key server is kept away, so that its users' tokens come unencrypted.
#[actix_web::test]
async fn a_missing_key_never_leads_to_an_unencrypted_token() {
    let publisher = Publisher::start();
    let lines = format!("consent = \"none\"\n{USERINFO}\n{}", publisher.file());
    let (name, file) = service("vault", &lines);
    let hub = TestHub::with_files("", &[(&name, file)]).await;
    let request = Authorize::minimal("vault", "openid");
    hub.refresh_client_keys().await;
    let received = hub.browser().open(&request.url()).await.received();
    assert_eq!(received.fields["error"], "temporarily_unavailable");

    publisher.publishes_some();
    hub.refresh_client_keys().await;
    let received = sign_in(&hub.browser(), &request, "angela").await;
    let tokens = token_response(&hub, "vault", &received).await;
    claims(&hub, tokens["id_token"].as_str().unwrap(), true).await;
}
