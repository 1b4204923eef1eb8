//! The way to an identity provider's own logout (RP-Initiated Logout 1.0, 2).

use serde_json::json;

use super::super::fake_idp::*;
use super::super::*;

fn query_of(url: &str) -> std::collections::BTreeMap<String, String> {
    url::Url::parse(url).unwrap().query_pairs().into_owned().collect()
}

fn farewell() -> Farewell {
    Farewell {
        id_token: Secret::new("id.token.signed".into()),
        state: "s".repeat(43),
        return_uri: "https://hub.example/api/v2/session/end/fake".into(),
    }
}

// R171
#[tokio::test]
async fn the_browser_is_sent_to_the_logout_that_the_identity_provider_announces() {
    let world = World::new().await;
    assert_eq!(world.connector.end(farewell()).await, Ok(None), "it announces none");

    let world = World::new().await;
    let endpoint = format!("{}/logout?tenant=1", world.script().base);
    world.script().discovery["end_session_endpoint"] = json!(endpoint);
    let url = world.connector.end(farewell()).await.unwrap().unwrap();
    assert!(url.as_str().starts_with(&format!("{endpoint}&")), "{url}");
    let state = "s".repeat(43);
    let expected = [
        ("id_token_hint", "id.token.signed"),
        ("post_logout_redirect_uri", "https://hub.example/api/v2/session/end/fake"),
        ("state", state.as_str()),
        ("tenant", "1"),
    ];
    assert_eq!(
        query_of(url.as_str()),
        expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    );
}

#[tokio::test]
async fn a_logout_address_that_nobody_may_be_sent_to_stops_no_login() {
    for endpoint in [
        json!("javascript:alert(1)"),
        json!("/logout"),
        json!("https://user@idp.example/logout"),
        json!(7),
        json!(null),
    ] {
        let world = World::new().await;
        world.script().discovery["end_session_endpoint"] = endpoint.clone();
        assert_eq!(world.connector.end(farewell()).await, Ok(None), "{endpoint}");
        world.complete().await.unwrap();
    }
}
