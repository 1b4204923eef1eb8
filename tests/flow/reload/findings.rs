//! What a reload reports, beside the files that it reads.

use std::fs;

use actix_web::test::TestRequest;

use crate::hub::TestHub;

/// A restart, which a crash can cause, would fail: the operator must learn of it before.
#[actix_web::test]
async fn an_invalid_settings_file_is_reported_before_the_restart_that_it_prevents() {
    let hub = TestHub::start().await;
    let valid = hub.read_file("passerelle.toml");
    let findings = async || {
        hub.reload_files().await;
        hub.degradations(0).remove("config").unwrap_or_default()
    };
    hub.write_file("passerelle.toml", &format!("{valid}\n# Takes effect at the next start."));
    assert_eq!(findings().await, []);
    for invalid in ["x=", "[lifetimes]\nsession_idle = 5"] {
        hub.write_file("passerelle.toml", &format!("{valid}\n{invalid}"));
        let found = findings().await;
        assert!(
            matches!(found.as_slice(), [one] if one.message.starts_with("the next start will fail")
                && one.message.contains("passerelle.toml")),
            "{found:?}"
        );
        assert!(hub.not_ready_reasons(0).is_empty());
    }
    hub.write_file("passerelle.toml", &valid);
    assert_eq!(findings().await, []);
}

#[actix_web::test]
async fn a_requested_reload_reports_keys_that_can_not_be_read() {
    let hub = TestHub::start().await;
    let reload = async || {
        let request = TestRequest::post().uri("/admin/reload");
        hub.send_as_admin(request).await.json()["findings"].as_array().unwrap().len()
    };
    assert_eq!(reload().await, 0);
    let name = fs::read_dir(hub.folder().join("keys")).unwrap().flatten();
    let key = name.map(|entry| entry.path()).find(|path| path.is_file()).unwrap();
    let content = fs::read(&key).unwrap();
    fs::write(&key, "{}").unwrap();
    assert_eq!(reload().await, 1);
    fs::write(&key, content).unwrap();
    assert_eq!(reload().await, 0);
}

#[actix_web::test]
async fn a_hub_without_service_providers_is_degraded() {
    let hub = TestHub::start().await;
    let is_degraded = || hub.degradations(0).contains_key("config");
    assert!(!is_degraded());
    for file in fs::read_dir(hub.folder().join("service-providers")).unwrap().flatten() {
        fs::remove_file(file.path()).unwrap();
    }
    hub.reload_files().await;
    assert!(is_degraded());
}
