//! Changes of the configuration files while the hub runs: new, changed, invalid and removed files,
//! and logins in progress.

mod findings;
mod named_files;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use actix_web::test::TestRequest;
use passerelle_protocol::ids::ConnectorId;
use passerelle_testkit::wait::wait_until;

use super::federation::{ADMIN_TOKEN, SECRET};
use super::hub::TestHub;
use super::service::Authorize;

const CONNECTOR: &str = "connectors/amandier.toml";

#[actix_web::test]
async fn an_added_identity_provider_signs_users_in_until_it_is_removed() {
    let hub = TestHub::start().await;
    assert_eq!(hub.offered("bakery").await, ["amandier", "belvedere"]);
    hub.write_file("connectors/dropped.toml", &hub.read_file(CONNECTOR));
    hub.reload_files().await;
    assert_eq!(hub.offered("bakery").await, ["amandier", "belvedere", "dropped"]);
    let browser = hub.browser();
    let page = browser
        .authorize(&Authorize::by("bakery"))
        .await
        .choose("dropped")
        .await
        .sign_in_as("angela")
        .await;
    let received = page.consent().await.received();
    assert!(received.fields.contains_key("code"));

    // A session of a removed connector is not reused.
    hub.remove_file("connectors/dropped.toml");
    hub.reload_files().await;
    assert_eq!(hub.offered("bakery").await, ["amandier", "belvedere"]);
    assert!(browser.authorize(&Authorize::by("bakery")).await.is_choice());
}

/// Only an event of the file system can start this scan: the next periodic one is in an hour.
#[actix_web::test]
async fn a_written_file_is_seen_without_waiting_for_the_periodic_scan() {
    let hub = TestHub::with("limits.reload_seconds = 3600").await;
    hub.reload_files().await;
    hub.write_file("connectors/dropped.toml", &hub.read_file(CONNECTOR));
    let is_loaded = || hub.reload().digest().connectors.contains_key(&ConnectorId::from("dropped"));
    wait_until("the new file is loaded", is_loaded).await;
    hub.remove_file("connectors/dropped.toml");
    wait_until("the removed file is unloaded", || !is_loaded()).await;
}

#[actix_web::test]
async fn a_service_provider_its_scopes_and_discovery_change_together() {
    let hub = TestHub::start().await;
    let kiosk = hub
        .read_file("service-providers/bakery.toml")
        .replace("bakery", "kiosk")
        .replace("\"openid\",", "\"openid\", \"age\",");
    hub.write_file("service-providers/kiosk.toml", &kiosk);
    hub.reload_files().await;
    // The scope is in no table, so the hub does not load the file.
    let findings = hub.reload().findings();
    assert!(
        matches!(findings.as_slice(), [line] if line.message.contains("kiosk.toml") && line.message.contains("is not in the scopes table"))
    );
    assert!(!hub.discovery().await["scopes_supported"].as_array().unwrap().contains(&"age".into()));

    let scopes = include_str!("../../config/scopes.toml").replacen(
        "[scopes]",
        "[scopes]\nage = [\"birthdate\"]",
        1,
    );
    hub.write_file("scopes.toml", &scopes);
    hub.reload_files().await;
    assert_eq!(hub.reload().findings(), []);
    assert!(hub.discovery().await["scopes_supported"].as_array().unwrap().contains(&"age".into()));
    let browser = hub.browser();
    let page = browser
        .authorize(&Authorize::by("kiosk"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("angela")
        .await;
    assert!(page.consent().await.received().fields.contains_key("code"));
}

#[actix_web::test]
async fn a_bad_file_keeps_its_last_good_version_and_is_reported_until_it_is_fixed() {
    let hub = TestHub::start().await;
    let (connector, service) =
        (hub.read_file(CONNECTOR), hub.read_file("service-providers/bakery.toml"));
    hub.write_file(CONNECTOR, &connector.replace("lowest", "lovest"));
    hub.write_file("service-providers/bakery.toml", &service[..service.len() / 2]);
    hub.write_file("connectors/dropped.toml", &connector);
    hub.reload_files().await;
    assert_eq!(hub.offered("bakery").await, ["amandier", "belvedere", "dropped"]);
    let findings = hub.reload().findings();
    assert!(
        findings
            .iter()
            .any(|line| line.message.contains("amandier.toml:3 levels.lovest is not a known key")),
        "{findings:?}"
    );
    assert!(findings.iter().any(|line| line.message.contains("bakery.toml:")), "{findings:?}");
    let metrics = hub.metrics.render();
    for line in [
        "passerelle_config_files_invalid{kind=\"connector\"} 1",
        "passerelle_config_files_invalid{kind=\"service_provider\"} 1",
        "passerelle_config_files_invalid{kind=\"scopes\"} 0",
    ] {
        assert!(metrics.contains(line), "{line} is missing in\n{metrics}");
    }
    hub.write_file(CONNECTOR, &connector);
    hub.write_file("service-providers/bakery.toml", &service);
    hub.reload_files().await;
    assert_eq!(hub.reload().findings(), []);
    assert!(hub.metrics.render().contains("passerelle_config_files_invalid{kind=\"connector\"} 0"));
}

#[actix_web::test]
async fn a_login_in_progress_is_stopped_when_its_connector_is_denied() {
    let hub = TestHub::start().await;
    let (chosen, returned) = (hub.browser(), hub.browser());
    let choice = chosen.authorize(&Authorize::by("bakery")).await;
    let consent = returned
        .authorize(&Authorize::by("bakery"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("angela")
        .await;
    assert!(consent.is_consent());
    hub.edit_file(
        "service-providers/bakery.toml",
        "home_page",
        "connectors = { deny = [\"amandier\"] }\nhome_page",
    );
    hub.reload_files().await;
    let refused = choice.choose("amandier").await;
    assert!(refused.is_choice() && refused.offered() == ["belvedere"], "{}", refused.answer.body);
    let refused = consent.consent().await.received();
    assert_eq!(refused.fields.get("error").map(String::as_str), Some("access_denied"));
    assert!(!refused.fields.contains_key("code"));
}

#[actix_web::test]
async fn a_connector_denied_during_a_login_or_between_code_and_token_is_refused() {
    let hub = TestHub::start().await;
    let (away, done) = (hub.browser(), hub.browser());
    let sandbox = away.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
    let received = done.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let elsewhere =
        hub.browser().authorize(&Authorize::by("library")).await.finish_as("angela").await;
    hub.edit_file(
        "service-providers/bakery.toml",
        "home_page",
        "connectors = { deny = [\"amandier\"] }\nhome_page",
    );
    hub.reload_files().await;
    let refused = sandbox.sign_in_as("angela").await.received();
    assert_eq!(refused.error_at("bakery"), "access_denied");
    let refused = hub.redeem("bakery", received.code()).await;
    assert_eq!(
        (refused.status, refused.body.contains("invalid_grant")),
        (400, true),
        "{}",
        refused.body
    );
    // The rules of another service provider are unchanged.
    hub.tokens("library", &elsewhere).await;
    // When the connector is allowed again, the code stays invalid.
    hub.edit_file("service-providers/bakery.toml", "connectors = { deny = [\"amandier\"] }\n", "");
    hub.reload_files().await;
    assert_eq!(hub.redeem("bakery", received.code()).await.status, 400);
}

#[actix_web::test]
async fn the_logins_and_tokens_of_a_removed_service_provider_end() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let consent = browser
        .authorize(&Authorize::by("library"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("angela")
        .await;
    let other = hub.browser();
    let page = other
        .authorize(&Authorize::by("library"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("angela")
        .await;
    let received = page.consent().await.received();
    let redeemed =
        hub.browser().authorize(&Authorize::by("library")).await.finish_as("angela").await;
    let access_token = hub.tokens("library", &redeemed).await.access_token;
    assert_eq!(hub.get_userinfo(&access_token).await.status, 200);
    hub.remove_file("service-providers/library.toml");
    hub.reload_files().await;
    assert_eq!(hub.get_userinfo(&access_token).await.status, 401);
    // The redirect URIs are removed with the file: a page, not a redirect.
    consent.consent().await.assert_error(403, "Y420320");
    let body = format!(
        "grant_type=authorization_code&client_id=library&client_secret={}&code={}&redirect_uri=x",
        super::federation::SECRET.replace(' ', "+"),
        received.code()
    );
    let form = ("content-type", "application/x-www-form-urlencoded");
    let request = actix_web::test::TestRequest::post()
        .uri("/api/v2/token")
        .insert_header(form)
        .set_payload(body);
    assert_eq!(hub.send(request).await.status, 401);
    assert_eq!(hub.browser().authorize(&Authorize::by("library")).await.answer.status, 400);
    assert!(hub.browser().authorize(&Authorize::by("bakery")).await.is_choice());
}

#[actix_web::test]
async fn a_connector_that_references_the_secret_of_another_keeps_its_last_good_version() {
    let hub = TestHub::start().await;
    let provider = |secret: &str| {
        format!(
            "name = {{ en = \"Evil\" }}\nidentity = \"verified\"\nlevels = {{ lowest = \"eidas1\", highest = \"eidas1\" }}\nassumed_level = \"eidas1\"\n\
             [kind.oidc]\nissuer = \"https://idp.example\"\nclient_id = \"hub\"\nclient_secret = {secret}\n"
        )
    };
    let own = "{ file = \"secrets/connectors/evil/client.secret\" }";
    hub.write_file("connectors/evil.toml", &provider(own));
    hub.reload_files().await;
    assert_eq!(hub.reload().findings(), []);
    let before = hub.reload().digest();
    for secret in [
        "{ file = \"secrets/service-providers/bakery/client.secret\" }",
        "{ file = \"secrets/connectors/evil/../../service-providers/bakery/client.secret\" }",
        "{ env = \"ADMIN_TOKEN\" }",
        "{ env = \"SUBJECT_KEY\" }",
    ] {
        hub.write_file("connectors/evil.toml", &provider(secret));
        hub.reload_files().await;
        let findings = hub.reload().findings();
        assert!(
            matches!(findings.as_slice(), [line] if line.message.contains("evil.toml:8") && line.message.contains("may not reference")),
            "{findings:?}"
        );
        assert_eq!(hub.reload().digest(), before, "{secret}");
    }
    assert!(hub.offered("bakery").await.contains(&"evil".to_owned()));
}

#[actix_web::test]
async fn a_connector_dropped_in_without_verified_identities_is_served_and_reported() {
    const SILENT: &str = r#"
name = { en = "Silent account" }
levels = { lowest = "eidas1", highest = "eidas1" }
assumed_level = "eidas1"
[kind.oidc]
issuer = "https://127.0.0.1:1"
client_id = "hub"
client_secret = { file = "secrets/connectors/silent/client.secret" }
internal_hosts = ["127.0.0.1"]
"#;
    let hub = TestHub::start().await;
    hub.write_file("connectors/silent.toml", SILENT);
    hub.reload_files().await;
    assert_eq!(hub.offered("bakery").await, ["amandier", "belvedere", "silent"]);
    let findings = hub.reload().findings();
    assert!(
        matches!(findings.as_slice(), [line] if line.message.contains("silent.toml") && line.message.contains("identity is missing")),
        "{findings:?}"
    );
    assert!(
        hub.metrics.render().contains("passerelle_config_files_invalid{kind=\"connector\"} 0"),
        "it is in use"
    );
    hub.write_file(
        "connectors/silent.toml",
        &SILENT.replace("levels", "identity = \"verified\"\nlevels"),
    );
    hub.reload_files().await;
    assert_eq!(hub.reload().findings(), []);
}

const SECRET_FILE: &str = "secrets/service-providers/library/client.secret";
const NEW_SECRET: &str = "another client secret of more than 32 characters";

/// Returns whether the token endpoint accepts this secret of the library. The code is invented.
async fn authenticates(hub: &TestHub, secret: &str) -> bool {
    let body = format!(
        "grant_type=authorization_code&client_id=library&client_secret={}&code=invented&redirect_uri=x",
        secret.replace(' ', "+")
    );
    let form = ("content-type", "application/x-www-form-urlencoded");
    let request = TestRequest::post().uri("/api/v2/token").insert_header(form).set_payload(body);
    let answer = hub.send(request).await;
    match answer.status {
        400 => true,
        401 => false,
        other => panic!("{other}: {}", answer.body),
    }
}

#[actix_web::test]
async fn a_rewritten_client_secret_takes_effect_without_a_restart() {
    let hub = TestHub::start().await;
    assert!(authenticates(&hub, SECRET).await && !authenticates(&hub, NEW_SECRET).await);
    fs::write(hub.folder().join(SECRET_FILE), NEW_SECRET).unwrap();
    hub.reload_files().await;
    assert!(authenticates(&hub, NEW_SECRET).await && !authenticates(&hub, SECRET).await);
}

/// The agent writes a file beside the old one and renames it.
#[actix_web::test]
async fn a_client_secret_rendered_by_vault_agent_takes_effect_without_a_restart() {
    let hub = TestHub::start().await;
    let render = |secret: &str| {
        let (file, next) = (hub.folder().join(SECRET_FILE), hub.folder().join("rendering"));
        fs::write(&next, secret).unwrap();
        fs::set_permissions(&next, fs::Permissions::from_mode(0o600)).unwrap();
        fs::rename(&next, &file).unwrap();
    };
    render(NEW_SECRET);
    hub.reload_files().await;
    assert!(authenticates(&hub, NEW_SECRET).await && !authenticates(&hub, SECRET).await);
    // A template without its value: the previous secret stays in force, and the hub reports it.
    render("");
    hub.reload_files().await;
    let findings = hub.reload().findings();
    assert!(
        matches!(findings.as_slice(), [line] if line.message.contains("references an empty secret")),
        "{findings:?}"
    );
    assert!(authenticates(&hub, NEW_SECRET).await && !authenticates(&hub, SECRET).await);
    render(SECRET);
    hub.reload_files().await;
    assert_eq!(hub.reload().findings(), []);
    assert!(authenticates(&hub, SECRET).await && !authenticates(&hub, NEW_SECRET).await);
}

/// Replaces the credentials as a start of the service does: a folder and files that are read-only.
fn load_credential(folder: &std::path::Path, token: &str) {
    let credentials = folder.join("credentials");
    let set = |path: &std::path::Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    if credentials.exists() {
        set(&credentials, 0o700);
        fs::remove_dir_all(&credentials).unwrap();
    }
    fs::create_dir(&credentials).unwrap();
    fs::write(credentials.join("admin.token"), token).unwrap();
    set(&credentials.join("admin.token"), 0o400);
    set(&credentials, 0o500);
}

#[actix_web::test]
async fn a_systemd_credential_counts_from_the_next_start_and_is_not_lost_at_a_reload() {
    const NEXT: &str = "another-administrator-token-of-more-than-32-characters";
    let hub = TestHub::edited(|folder| {
        load_credential(folder, ADMIN_TOKEN);
        let file = folder.join("passerelle.toml");
        let absolute = folder.join("credentials/admin.token").display().to_string();
        let text = fs::read_to_string(&file).unwrap();
        let changed =
            text.replace("{ env = \"ADMIN_TOKEN\" }", &format!("{{ file = \"{absolute}\" }}"));
        assert_ne!(text, changed);
        fs::write(&file, changed).unwrap();
    })
    .await;
    let status = async |hub: &TestHub, token: &str| {
        hub.get_admin("/admin/status", &[("authorization", &format!("Bearer {token}"))])
            .await
            .status
    };
    assert_eq!((status(&hub, ADMIN_TOKEN).await, status(&hub, NEXT).await), (200, 401));
    // `subject_key` is in a variable, so a reload keeps both.
    load_credential(hub.folder(), NEXT);
    hub.reload_files().await;
    assert_eq!(hub.reload().findings(), []);
    assert_eq!((status(&hub, ADMIN_TOKEN).await, status(&hub, NEXT).await), (200, 401));
    let hub = hub.restart().await;
    assert_eq!((status(&hub, ADMIN_TOKEN).await, status(&hub, NEXT).await), (401, 200));
    fs::set_permissions(hub.folder().join("credentials"), fs::Permissions::from_mode(0o700))
        .unwrap();
}
