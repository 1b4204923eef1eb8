//! Level names, in whole logins: released values, errors, and who doesn't get them.

use std::fs;
use std::path::Path;

use passerelle_server::explain::explain_levels;
use serde_json::{Value, json};

use super::high::{EC, acr_at, inline_jwks_lines};
use super::hub::TestHub;
use super::service::{Authorize, Received};

const NAMES: &str = r#"
[audit]
sink = "file"
node = "hub-1"
[level_names."eidas1-mfa"]
level = "eidas1"
multi_factor = true
[level_names."https://refeds.org/profile/mfa"]
level = "eidas1"
multi_factor = true
"#;
const REFEDS: &str = "https://refeds.org/profile/mfa";

/// The bakery lists both names, the clinic has a default, and the library lists none.
fn with_level_names(folder: &Path) {
    let edit = |file: &str, change: &dyn Fn(String) -> String| {
        let path = folder.join(file);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, change(text)).unwrap();
    };
    edit("passerelle.toml", &|text| format!("{text}{NAMES}"));
    let listed = format!("level_names = [\"eidas1-mfa\", \"{REFEDS}\"]\nclient_id");
    edit("service-providers/bakery.toml", &|text| text.replace("client_id", &listed));
    let default =
        "level_names = [\"eidas1-mfa\"]\ndefault_acr_values = [\"eidas1-mfa\"]\nclient_id";
    edit("service-providers/clinic.toml", &|text| text.replace("client_id", default));
}

async fn hub() -> TestHub {
    TestHub::edited(with_level_names).await
}

/// Signs in with these methods.
async fn signed_in(hub: &TestHub, request: &Authorize, methods: &[&str]) -> Received {
    let browser = hub.browser();
    let page = browser.authorize(request).await.choose("amandier").await;
    let form = page.sandbox_form("angela").without("method");
    let form = methods.iter().fold(form, |form, method| form.and("method", method));
    browser.submit(&form).await.consent().await.received()
}

async fn acr(hub: &TestHub, request: &Authorize, service: &str, methods: &[&str]) -> Value {
    let received = signed_in(hub, request, methods).await;
    hub.tokens(service, &received).await.id_token["acr"].clone()
}

#[actix_web::test]
async fn the_answer_is_the_first_requested_name_that_was_met_else_the_level() {
    let hub = hub().await;
    for (acr_values, methods, answered) in [
        ("eidas1-mfa eidas1", &["pin", "otp"][..], "eidas1-mfa"),
        ("eidas1-mfa eidas1", &["pwd"], "eidas1"),
        ("https://refeds.org/profile/mfa eidas1-mfa", &["pwd", "otp"], REFEDS),
        ("eidas1-mfa", &["pwd", "pin"], "eidas1"),
        ("eidas1", &["pin", "otp"], "eidas1"),
    ] {
        let request = Authorize::by("bakery").with("acr_values", acr_values);
        assert_eq!(acr(&hub, &request, "bakery", methods).await, answered, "{acr_values}");
    }
}

// R010: whatever the methods, the level of the standard platform.
#[actix_web::test]
async fn a_service_provider_without_level_names_receives_none() {
    let hub = hub().await;
    let request = Authorize::by("library").with("acr_values", "eidas1-mfa eidas1");
    assert_eq!(acr(&hub, &request, "library", &["pin", "otp"]).await, "eidas1");
    let alone = Authorize::by("library").with("acr_values", "eidas1-mfa");
    let refused = hub.browser().authorize(&alone).await.received();
    assert_eq!(refused.error_at("library"), "invalid_request");
}

#[actix_web::test]
async fn an_essential_name_that_was_not_met_fails_the_login() {
    let hub = hub().await;
    let claims = r#"{"id_token":{"acr":{"essential":true,"values":["eidas1-mfa"]}}}"#;
    let request = Authorize::by("bakery").with("claims", claims);
    let browser = hub.browser();
    let page = browser.authorize(&request).await.choose("amandier").await;
    let page = page.sign_in_as("angela").await;
    assert!(page.is_choice(), "{}", page.answer.body);
    assert_eq!(page.code(), "Y100320");
    let lines = hub.audit_lines();
    let refused = lines.iter().find(|line| line["event"] == "callback_refused").unwrap();
    assert_eq!((&refused["code"], &refused["level"]), (&json!("Y100320"), &json!("eidas1")));
    assert_eq!(acr(&hub, &request, "bakery", &["pin", "otp"]).await, "eidas1-mfa");
}

// OpenID Connect Core 1.0 §3.1.2.1, §5.5.1.1
#[actix_web::test]
async fn without_a_page_an_essential_name_needs_a_session_that_meets_it() {
    let hub = hub().await;
    let claims = r#"{"id_token":{"acr":{"essential":true,"values":["eidas1-mfa"]}}}"#;
    let silent = Authorize::by("bakery").with("claims", claims).with("prompt", "none");
    for (methods, answered) in [(&["pwd"][..], None), (&["pin", "otp"], Some("eidas1-mfa"))] {
        let browser = hub.browser();
        let page = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
        let form = page.sandbox_form("angela").without("method");
        let form = methods.iter().fold(form, |form, method| form.and("method", method));
        browser.submit(&form).await.consent().await.received().code();
        let received = browser.authorize(&silent).await.received();
        match answered {
            Some(acr) => {
                assert_eq!(hub.tokens("bakery", &received).await.id_token["acr"], acr);
            }
            None => assert_eq!(received.error_at("bakery"), "login_required"),
        }
    }
}

// R038
#[actix_web::test]
async fn on_high_a_name_is_answered_beside_the_level_obtained() {
    let listed =
        format!("level_names = [\"urn:example:gold\"]\n{}", inline_jwks_lines("ECDH-ES", &EC));
    let hub = TestHub::high_with(&[("vault", listed)], |folder| {
        let path = folder.join("passerelle.toml");
        let text = fs::read_to_string(&path).unwrap();
        let name = "[level_names.\"urn:example:gold\"]\nlevel = \"eidas3\"\n";
        fs::write(path, format!("{text}\n{name}")).unwrap();
    })
    .await;
    for (acr_values, proven, answered) in [
        ("urn:example:gold eidas2", "eidas3", "urn:example:gold"),
        ("urn:example:gold eidas2", "eidas2", "eidas2"),
        ("eidas2 urn:example:gold", "eidas3", "eidas3"),
        ("eidas2", "eidas3", "eidas3"),
    ] {
        let request = Authorize::by("vault").with("acr_values", acr_values);
        let browser = hub.browser();
        let page = browser.authorize(&request).await.choose("amandier").await;
        let form = page.sandbox_form("angela").with("level", proven);
        let received = browser.submit(&form).await.consent().await.received();
        assert_eq!(acr_at(&hub, "vault", &received).await, answered, "{acr_values} {proven}");
    }
}

#[actix_web::test]
async fn a_session_that_meets_no_requested_name_is_not_reused() {
    let hub = hub().await;
    let browser = hub.browser();
    browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await.code();
    let again = |prompt: &str| {
        let request = Authorize::by("bakery").with("acr_values", "eidas1-mfa");
        request.with("prompt", prompt)
    };
    assert!(browser.authorize(&again("consent")).await.is_choice());
    let silent = browser.authorize(&again("none")).await.received();
    assert_eq!(hub.tokens("bakery", &silent).await.id_token["acr"], "eidas1");
}

#[actix_web::test]
async fn a_default_applies_to_requests_without_acr_values() {
    let hub = hub().await;
    let request = Authorize::by("clinic").with("acr_values", "");
    assert_eq!(acr(&hub, &request, "clinic", &["pin", "otp"]).await, "eidas1-mfa");
    let required = Authorize::by("bakery").with("acr_values", "");
    assert_eq!(hub.browser().authorize(&required).await.answer.status, 400);
}

#[actix_web::test]
async fn discovery_and_the_explanation_name_them() {
    let hub = hub().await;
    let supported = hub.discovery().await["acr_values_supported"].clone();
    assert_eq!(supported, json!(["eidas1", "eidas1-mfa", REFEDS]));
    let explained =
        explain_levels(&hub.loaded, "bakery", "amandier", "eidas1-mfa eidas1", None).unwrap();
    let text = explained.to_string();
    for line in [
        "eidas1-mfa is met by eidas1 or higher with methods of two categories",
        "eidas1 is met by that level",
        "if none of them is met, the level is answered",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[actix_web::test]
async fn a_changed_list_takes_effect_at_once_and_an_undeclared_name_is_refused() {
    let hub = hub().await;
    let file = "service-providers/library.toml";
    let text = hub.read_file(file);
    let listing =
        |name: &str| text.replace("client_id", &format!("level_names = [\"{name}\"]\nclient_id"));
    hub.write_file(file, &listing("gold"));
    hub.reload_files().await;
    let findings = hub.reload().findings();
    assert!(
        matches!(findings.as_slice(), [finding] if finding.message.contains("is not a declared level name")),
        "{findings:?}"
    );
    hub.write_file(file, &listing("eidas1-mfa"));
    hub.reload_files().await;
    assert_eq!(hub.reload().findings(), []);
    let request = Authorize::by("library").with("acr_values", "eidas1-mfa");
    assert_eq!(acr(&hub, &request, "library", &["pin", "otp"]).await, "eidas1-mfa");
}
