//! Levels of logins, compared with what `passerelle acr explain` prints, and key versions of `sub`.

use std::fs;
use std::path::Path;

use passerelle_server::explain::{LevelDecision, ReturnedAcr, SentLevel, explain_levels};

use serde_json::Value;

use super::high::{EC, acr_at, inline_jwks_lines};
use super::hub::TestHub;
use super::service::{Authorize, Received};

/// Lowest, highest, and what the file has beyond the common keys.
const CONNECTORS: [(&str, &str, &str, &str); 4] = [
    ("low", "eidas1", "eidas1", ""),
    ("wide", "eidas1", "eidas3", ""),
    ("strong", "eidas2", "eidas3", ""),
    ("dark", "eidas1", "eidas3", "enabled = false"),
];

fn with_connectors(folder: &Path) {
    for (id, lowest, highest, more) in CONNECTORS {
        let file = format!(
            "name = {{ en = \"{id}\" }}\nlevels = {{ lowest = \"{lowest}\", highest = \"{highest}\" }}\n{more}\n[kind.persona]\n"
        );
        fs::write(folder.join(format!("connectors/{id}.toml")), file).unwrap();
    }
}

/// A second key for all but the bakery, which keeps the first.
fn with_two_subject_keys(folder: &Path) {
    let edit = |file: &str, from: &str, to: &str| {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        assert!(text.contains(from), "{file}");
        fs::write(folder.join(file), text.replace(from, to)).unwrap();
    };
    let keys = "subject_keys = [{ version = 1, env = \"SUBJECT_KEY\" }, { version = 2, env = \"CLIENT_SECRET\" }]";
    edit("passerelle.toml", "subject_key = { env = \"SUBJECT_KEY\" }", keys);
    edit("service-providers/bakery.toml", "client_id", "subject_key_version = 1\nclient_id");
}

/// Number of possible logins, and of rejected or unavailable ones.
type OutcomeCounts = (usize, usize);

// R003, R010, R038
#[actix_web::test]
async fn the_explanation_of_a_request_agrees_with_its_login() {
    let hub = TestHub::edited(with_connectors).await;
    let acr = async |service: &str, received: &Received| {
        hub.tokens(service, received).await.id_token["acr"].clone()
    };
    let connectors = ["low", "wide", "strong", "dark", "belvedere"];
    let (opened, closed) = check_every_combination(
        &hub,
        &["bakery", "cautious"],
        &connectors,
        &["eidas1", "eidas3 eidas1", "eidas2", "low"],
        acr,
    )
    .await;
    assert!(opened >= 20 && closed >= 20, "{opened} {closed}");
}

// R003, R010, R038
#[actix_web::test]
async fn the_explanation_of_a_request_agrees_with_its_login_on_high() {
    let keys = inline_jwks_lines("ECDH-ES", &EC);
    let services = [
        ("vault", keys.clone()),
        ("cautious", format!("connectors.deny = [\"belvedere\"]\n{keys}")),
    ];
    let hub = TestHub::high_with(&services, with_connectors).await;
    let acr = async |service: &str, received: &Received| acr_at(&hub, service, received).await;
    let connectors = ["low", "wide", "strong", "dark", "amandier", "belvedere"];
    let requests = ["eidas2", "eidas3", "eidas3 eidas2", "eidas1 eidas3", "eidas1"];
    let (opened, closed) =
        check_every_combination(&hub, &["vault", "cautious"], &connectors, &requests, acr).await;
    assert!(opened >= 30 && closed >= 20, "{opened} {closed}");
}

/// Checks every combination; `acr` reads the level in the tokens of a service provider.
async fn check_every_combination(
    hub: &TestHub,
    services: &[&str],
    connectors: &[&str],
    requests: &[&str],
    acr: impl AsyncFn(&str, &Received) -> Value,
) -> OutcomeCounts {
    let (mut opened, mut closed) = (0, 0);
    for service in services {
        for connector in connectors {
            for acr_values in requests {
                let counts = check_combination(hub, (service, connector, acr_values), &acr).await;
                (opened, closed) = (opened + counts.0, closed + counts.1);
            }
        }
    }
    (opened, closed)
}

/// Compares the explanation of a combination with a login of it.
async fn check_combination(
    hub: &TestHub,
    (service, connector, acr_values): (&str, &str, &str),
    acr: &impl AsyncFn(&str, &Received) -> Value,
) -> OutcomeCounts {
    let case = format!("{service} {connector} {acr_values}");
    let request = Authorize::by(service).with("acr_values", acr_values);
    let path =
        match explain_levels(&hub.loaded, service, connector, acr_values, None).unwrap().decision {
            LevelDecision::Rejected(code) => {
                let received = hub.browser().authorize(&request).await.received();
                assert_eq!(received.error_at(service), code.entry().oauth, "{case}");
                assert!(
                    received.fields["error_description"].contains(code.entry().description),
                    "{case}"
                );
                return (0, 1);
            }
            LevelDecision::Unavailable(_) => {
                let offered = hub.browser().authorize(&request).await.offered();
                assert!(!offered.iter().any(|id| id == connector), "{case}");
                return (0, 1);
            }
            LevelDecision::Allowed(path) => path,
        };
    let mut opened = 0;
    for (returned, outcome) in path.answers {
        let ReturnedAcr::Listed(level) = returned else {
            panic!("{case}: the sandbox offers {returned:?}")
        };
        let browser = hub.browser();
        let page = browser.authorize(&request).await.choose(connector).await;
        let SentLevel::SandboxLevel(sent) = &path.sent else { panic!("{case}: {:?}", path.sent) };
        assert!(page.url.ends_with(&format!("&level={sent}")), "{case}: {}", page.url);
        let page = browser.submit(&page.sandbox_form("angela").with("level", &level)).await;
        opened += 1;
        let seen = match outcome {
            Err(fault) => {
                page.assert_error(200, fault.code().entry().code);
                continue;
            }
            Ok(seen) => seen.as_str(),
        };
        assert_eq!(acr(service, &page.consent().await.received()).await, seen, "{case} {level}");

        let page = browser.authorize(&request.with("prompt", "consent")).await;
        let again =
            path.sessions.iter().find(|(achieved, _)| achieved.as_str() == level).unwrap().1;
        assert_eq!(page.is_consent(), again.is_some(), "{case} {level}");
        if let Some(again) = again {
            assert_eq!(
                acr(service, &page.consent().await.received()).await,
                again.as_str(),
                "{case} {level} again"
            );
        }
    }
    (opened, 0)
}

#[actix_web::test]
async fn an_unknown_name_is_reported_with_the_known_ones() {
    let hub = TestHub::edited(with_connectors).await;
    let status_and_error = |service, connector| {
        explain_levels(&hub.loaded, service, connector, "eidas1", None).unwrap_err().to_string()
    };
    assert!(
        status_and_error("unknown", "low")
            .contains("no service provider unknown; known: bakery, cautious, clinic, library")
    );
    assert!(status_and_error("bakery", "unknown").contains(
        "no connector unknown; known: amandier, belvedere, closed, dark, low, strong, wide"
    ));
}

// R037
#[actix_web::test]
async fn a_new_subject_key_changes_sub_only_for_service_providers_that_do_not_pin_the_old_one() {
    let sub_at = async |hub: &TestHub, service: &str, connector: &str| {
        let browser = hub.browser();
        let page = browser
            .authorize(&Authorize::by(service))
            .await
            .choose(connector)
            .await
            .sign_in_as("angela")
            .await;
        let tokens = hub.tokens(service, &page.consent().await.received()).await;
        let sub = tokens.id_token["sub"].as_str().unwrap().to_owned();
        assert_eq!(hub.userinfo(&tokens.access_token).await["sub"], sub.as_str()); // R053
        sub
    };
    let before = TestHub::start().await;
    let (bakery, library) =
        (sub_at(&before, "bakery", "amandier").await, sub_at(&before, "library", "amandier").await);
    let after = TestHub::edited(with_two_subject_keys).await;
    assert_eq!(sub_at(&after, "bakery", "amandier").await, bakery, "its file keeps version 1");
    let renewed = sub_at(&after, "library", "amandier").await;
    assert_ne!(renewed, library);
    assert!(library.ends_with("v1") && renewed.ends_with("v2"));
    assert_eq!(
        sub_at(&after, "library", "belvedere").await,
        renewed,
        "whatever the identity provider"
    );
}
