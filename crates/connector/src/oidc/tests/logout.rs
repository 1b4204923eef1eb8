//! Logout request to the identity provider (RP-Initiated Logout 1.0 §2).

use serde_json::json;

use super::super::*;
use crate::testing::fake_idp::*;

fn query_pairs(url: &str) -> std::collections::BTreeMap<String, String> {
    url::Url::parse(url).unwrap().query_pairs().into_owned().collect()
}

fn end_session_request() -> EndSessionRequest {
    EndSessionRequest {
        session_hint: Secret::new("id.token.signed".into()),
        state: "s".repeat(43),
        post_logout_redirect_uri: "https://hub.example/api/v2/session/end/fake".into(),
    }
}

// R171
#[tokio::test]
async fn the_logout_url_is_the_announced_end_session_endpoint() {
    let fixture = OidcFixture::new().await;
    assert_eq!(
        fixture.connector.end_session(end_session_request()).await,
        Ok(None),
        "none is announced"
    );

    let fixture = OidcFixture::new().await;
    let endpoint = format!("{}/logout?tenant=1", fixture.script().base);
    fixture.script().discovery["end_session_endpoint"] = json!(endpoint);
    let url = fixture.connector.end_session(end_session_request()).await.unwrap().unwrap();
    assert!(url.as_str().starts_with(&format!("{endpoint}&")), "{url}");
    let state = "s".repeat(43);
    let expected = [
        ("id_token_hint", "id.token.signed"),
        ("post_logout_redirect_uri", "https://hub.example/api/v2/session/end/fake"),
        ("state", state.as_str()),
        ("tenant", "1"),
    ];
    assert_eq!(
        query_pairs(url.as_str()),
        expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    );
}

#[tokio::test]
async fn an_invalid_end_session_endpoint_does_not_stop_logins() {
    for endpoint in [
        json!("javascript:alert(1)"),
        json!("/logout"),
        json!("https://user@idp.example/logout"),
        json!(7),
        json!(null),
    ] {
        let fixture = OidcFixture::new().await;
        fixture.script().discovery["end_session_endpoint"] = endpoint.clone();
        assert_eq!(
            fixture.connector.end_session(end_session_request()).await,
            Ok(None),
            "{endpoint}"
        );
        fixture.complete_login().await.unwrap();
    }
}

#[tokio::test]
async fn an_id_token_in_a_url_is_avoided_where_the_file_names_a_claim_as_hint() {
    for (claim, hint) in [("sid", Some("sid-1")), ("login_hint", None), ("iat", None)] {
        let fixture = OidcFixture::with(&format!("logout_hint_claim = \"{claim}\"")).await;
        let id_token = {
            let mut script = fixture.script();
            script.discovery["end_session_endpoint"] = json!(format!("{}/logout", script.base));
            script.claims["sid"] = json!("sid-1");
            script.sign(&script.claims)
        };
        let request =
            EndSessionRequest { session_hint: Secret::new(id_token), ..end_session_request() };
        let url = fixture.connector.end_session(request).await.unwrap().unwrap();
        assert!(!url.as_str().contains("eyJ"), "{url}");
        let query = query_pairs(url.as_str());
        assert_eq!(query.get("logout_hint").map(String::as_str), hint);
        assert_eq!(
            (query["client_id"].as_str(), query.contains_key("id_token_hint")),
            ("hub", false)
        );
    }
}
