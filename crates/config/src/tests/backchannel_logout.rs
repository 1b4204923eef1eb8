//! Tests of where service providers receive logout tokens.

use std::sync::Arc;

use super::*;
use passerelle_protocol::ids::ClientId;

fn with(lines: &str) -> Folder {
    let lines = format!("{lines}\nclient_id");
    Folder::good().edit("service-providers/sp.toml", "client_id", &lines)
}

#[test]
fn a_logout_endpoint_that_reaches_into_the_hubs_network_is_rejected() {
    for uri in [
        "http://sp.example/out",
        "https://127.0.0.1/out",
        "http://127.0.0.1:9000/out",
        "http://localhost:9000/out",
        "https://localhost/out",
        "https://[::1]/out",
        "https://10.0.0.1/out",
        "https://169.254.169.254/latest/meta-data",
        "https://user:password@sp.example/out",
        "https://sp.example/out#fragment",
        "file:///etc/passwd",
        "sp.example/out",
    ] {
        let (file, key, text) = with(&format!("backchannel_logout_uri = \"{uri}\"")).problem();
        let place = ("service-providers/sp.toml", "backchannel_logout_uri");
        assert_eq!((file.as_str(), key.as_str()), place, "{uri}");
        assert!(!text.contains("password@"), "{text}");
    }
}

#[test]
fn a_logout_endpoint_is_https_or_a_listed_internal_host() {
    for lines in [
        "backchannel_logout_uri = \"https://sp.example/out?tenant=7\"",
        "backchannel_logout_uri = \"http://127.0.0.1:9000/out\"\ninternal_hosts = [\"127.0.0.1\"]",
        "backchannel_logout_uri = \"http://localhost:9000/out\"\ninternal_hosts = [\"localhost\"]",
        "backchannel_logout_uri = \"http://sp.internal/out\"\ninsecure_http = true\ninternal_hosts = [\"sp.internal\"]",
        "backchannel_logout_uri = \"https://sp.example/out\"\nbackchannel_logout_session_required = true",
    ] {
        let loaded = with(lines).loaded();
        let mut services = loaded.service_providers.values();
        assert!(services.any(|one| one.service_provider.logout_endpoint.is_some()), "{lines}");
    }
}

#[test]
fn settings_without_a_logout_endpoint_are_reported() {
    let (_, key, _) = with("backchannel_logout_session_required = true").problem();
    assert_eq!(key, "backchannel_logout_session_required");
    let (_, key, _) = with("internal_hosts = [\"localhost\"]").problem();
    assert_eq!(key, "internal_hosts");
    let lines =
        "backchannel_logout_uri = \"https://sp.example/\"\ninternal_hosts = [\"not a host\"]";
    assert_eq!(with(lines).problem().1, "internal_hosts[0]");
}

/// Otherwise the hub would try its logout token once only.
#[test]
fn a_registered_client_with_a_logout_endpoint_counts_as_one_that_receives_logout_tokens() {
    let lines = "backchannel_logout_uri = \"https://sp.example/out\"";
    let federation = with(lines).loaded().build_federation();
    assert!(federation.sends_logout_tokens());
    let client = Arc::clone(federation.service_provider(&"sp".into()).unwrap());
    let files = Folder::good().loaded().build_federation();
    assert!(!files.sends_logout_tokens());
    let id = ClientId::from("dcr-sp");
    let registered = files.with_registered(Arc::new([(id, client)].into()));
    assert!(registered.sends_logout_tokens());
}
