//! What a request demands of the choice and of the authentication: which account, how recent, at
//! which level.

use serde_json::Value;

use super::federation::SCOPES;
use super::high::{EC, acr_at, inline_jwks_lines};
use super::hub::TestHub;
use super::service::Authorize;

/// An identity provider that says nothing of when its user authenticated.
fn timeless(more: &str) -> (&'static str, String) {
    let file = format!(
        r#"
name = {{ en = "Timeless account" }}
levels = {{ lowest = "eidas1", highest = "eidas1" }}
assumed_level = "eidas1"
identity = "verified"
[kind.oauth2]
issuer = "https://timeless.example"
client_id = "hub"
client_secret = {{ env = "CLIENT_SECRET" }}
subject_claim = "id"
auth_time = "callback"
reauthentication_params = {{ prompt = "login" }}
{more}
[kind.oauth2.endpoints]
authorization = "https://timeless.example/authorize"
token = "https://timeless.example/token"
userinfo = "https://timeless.example/userinfo"
"#
    );
    ("connectors/timeless.toml", file)
}

#[actix_web::test]
async fn a_connector_that_proves_no_new_authentication_is_not_offered_where_one_is_demanded() {
    let plain = Authorize::by("bakery").with("prompt", "consent");
    let demands = [
        Authorize::by("bakery"),
        plain.with("prompt", "login"),
        plain.with("max_age", "600"),
        plain.with("max_age", "0"),
    ];
    let hub = TestHub::with_files("", &[timeless("")]).await;
    assert_eq!(
        hub.browser().authorize(&plain).await.offered(),
        ["amandier", "belvedere", "timeless"]
    );
    for request in &demands {
        let browser = hub.browser();
        let page = browser.authorize(request).await;
        assert_eq!(page.offered(), ["amandier", "belvedere"], "{}", request.url());
        // Neither by a hint.
        let hinted = browser.authorize(&request.with("idp_hint", "timeless")).await;
        assert!(hinted.is_choice(), "{}", hinted.url);
    }
    let hub = TestHub::with_files("", &[timeless("reauthenticates = true")]).await;
    for request in &demands {
        let browser = hub.browser();
        let page = browser.authorize(request).await;
        assert_eq!(page.offered(), ["amandier", "belvedere", "timeless"], "{}", request.url());
    }
}

#[actix_web::test]
async fn a_forged_choice_of_a_connector_that_is_not_offered_is_refused() {
    let hub = TestHub::with_files("", &[timeless("")]).await;
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await;
    let forged = page.form("/provider").with("provider", "timeless");
    let refused = browser.submit(&forged).await;
    assert!(refused.is_choice(), "{}", refused.url);
    assert_eq!(refused.code(), "Y020320");
}

#[actix_web::test]
async fn select_account_shows_the_choice_page_where_the_session_would_have_answered() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let request = Authorize::by("bakery").with("prompt", "consent");
    assert!(browser.authorize(&request).await.is_consent(), "the session answers");
    for request in
        [request.with("prompt", "select_account"), request.with("prompt", "select_account consent")]
    {
        assert!(browser.authorize(&request).await.is_choice());
        assert!(browser.authorize(&request.with("idp_hint", "amandier")).await.is_choice());
    }
    let received =
        browser.authorize(&request.with("prompt", "select_account")).await.choose("amandier").await;
    let page = received.sign_in_as("jean").await;
    assert!(page.is_consent(), "another person has not seen the page, at {}", page.url);
    page.consent().await.received().code();
    let refused =
        browser.open(&request.with("prompt", "none select_account").url()).await.received();
    assert_eq!(refused.error_at("bakery"), "invalid_request");
}

#[actix_web::test]
async fn discovery_lists_select_account_and_the_claims_acr_and_amr() {
    let hub = TestHub::start().await;
    let path = actix_web::test::TestRequest::get().uri("/api/v2/.well-known/openid-configuration");
    let document: Value = serde_json::from_str(&hub.send(path).await.body).unwrap();
    let lists = |member: &str, value: &str| {
        document[member].as_array().unwrap().contains(&Value::from(value))
    };
    assert!(lists("prompt_values_supported", "select_account"));
    assert!(lists("claims_supported", "acr") && lists("claims_supported", "amr"));
}

#[actix_web::test]
async fn an_essential_acr_is_never_answered_with_another_value() {
    let hub = TestHub::high(&[("vault", inline_jwks_lines("ECDH-ES", &EC))]).await;
    let scope = SCOPES.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let request = Authorize::by("vault").with("acr_values", "eidas2").with("scope", &scope);
    let essential = |values: &str| {
        request.with(
            "claims",
            &format!(r#"{{"id_token":{{"acr":{{"essential":true,"values":[{values}]}}}}}}"#),
        )
    };
    let walk = async |request: &Authorize, level: &str| {
        let browser = hub.browser();
        let sandbox = browser.authorize(request).await.choose("amandier").await;
        let form = sandbox.sandbox_form("angela").with("level", level);
        let page = browser.submit(&form).await;
        if !page.is_consent() {
            return Err(page.code());
        }
        Ok(acr_at(&hub, "vault", &page.consent().await.received()).await)
    };
    assert_eq!(walk(&essential("\"eidas2\""), "eidas3").await, Err("Y100320".to_owned()));
    assert_eq!(walk(&essential("\"eidas2\""), "eidas2").await, Ok(Value::from("eidas2")));
    assert_eq!(
        walk(&essential("\"eidas2\",\"eidas3\""), "eidas3").await,
        Ok(Value::from("eidas3"))
    );
    assert_eq!(
        walk(&request, "eidas3").await,
        Ok(Value::from("eidas3")),
        "what was not asked for binds nothing"
    );
}
