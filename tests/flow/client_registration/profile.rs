//! Registration at a hub with a security profile (`docs/fapi.md`).

use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use serde_json::{Value, json};

use super::{metadata, register};
use crate::hub::TestHub;

/// A hub whose only service providers are those that register.
async fn hub(profile: &str) -> TestHub {
    let settings = format!(
        "pushed_authorization_requests = \"required\"\nprofile = \"{profile}\"\n{}",
        super::OPEN
    );
    TestHub::edited(|folder| {
        for id in ["bakery", "clinic", "library", "cautious"] {
            std::fs::remove_file(folder.join(format!("service-providers/{id}.toml"))).unwrap();
        }
        let file = folder.join("passerelle.toml");
        let written = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{written}{settings}\n")).unwrap();
    })
    .await
}

fn public_keys() -> Value {
    let mut key = Jwk::generate_ec_key(EcCurve::P256).unwrap().to_public_key().unwrap();
    key.set_key_id("a");
    key.set_key_use("sig");
    json!({ "keys": [Value::Object(key.into())] })
}

/// What a client reads in discovery is what it can use, also before the first one is registered.
#[actix_web::test]
async fn discovery_of_a_hub_for_registered_clients_alone_lists_what_they_need() {
    let hub = hub("fapi2-message-signing").await;
    let metadata = hub.discovery().await;
    let algs = json!(["ES256", "PS256", "EdDSA"]);
    assert_eq!(metadata["request_object_signing_alg_values_supported"], algs);
    assert_eq!(metadata["authorization_signing_alg_values_supported"], json!(["ES256"]));
    let modes = metadata["response_modes_supported"].as_array().unwrap();
    assert!(modes.contains(&json!("jwt")) && !modes.contains(&json!("query")), "{modes:?}");
}

/// RFC 7591 §3.2.1: a client that does not read what the profile switched on sends requests that
/// are refused.
#[actix_web::test]
async fn the_answer_has_what_the_profile_switched_on() {
    for (profile, is_signed) in [("fapi2", false), ("fapi2-message-signing", true)] {
        let hub = hub(profile).await;
        let mut sent = metadata();
        sent["token_endpoint_auth_method"] = json!("private_key_jwt");
        sent["jwks"] = public_keys();
        let mut client = register(&hub, None, &sent).await;
        for round in ["registered", "updated with what was read"] {
            let answer = &client.0;
            for (member, expected) in [
                ("require_pushed_authorization_requests", Some(json!(true))),
                ("dpop_bound_access_tokens", Some(json!(true))),
                ("id_token_signed_response_alg", Some(json!("ES256"))),
                ("require_signed_request_object", is_signed.then(|| json!(true))),
                // Any that its keys verify.
                ("request_object_signing_alg", None),
                ("authorization_signed_response_alg", is_signed.then(|| json!("ES256"))),
            ] {
                assert_eq!(answer.get(member), expected.as_ref(), "{profile}, {round}: {member}");
            }
            assert_eq!(client.text("registration_status"), "approved");
            let read = client.0.clone();
            client.update(&hub, &read).await;
        }
    }
}
