//! Tests the configuration that the demo writes.

use std::net::SocketAddr;

use super::*;
use passerelle_config::LoadedConfig;
use passerelle_protocol::ids::{ClientId, ConnectorId};
use passerelle_protocol::registration::ConsentRequirement;

fn standard_platform() -> (DemoPlatform, Env) {
    let origins = PlatformOrigins {
        hub: "http://localhost:9500".into(),
        private: "http://localhost:9501".into(),
        identity_providers: vec!["http://localhost:9510".into(), "http://localhost:9511".into()],
        data_provider: "http://localhost:9521".into(),
    };
    let env = Env::system();
    (DemoPlatform::new(Platform::Standard, origins, &env), env)
}

fn standard_hub() -> LoadedConfig {
    #[cfg_attr(not(feature = "saml"), expect(unused_mut))]
    let (mut side, env) = standard_platform();
    #[cfg(feature = "saml")]
    {
        let provider = DemoSamlIdentityProvider::new(
            "http://localhost:9514",
            "http://localhost:9500",
            env.clone(),
        );
        side.more_hub_files = provider.unwrap().hub_files().unwrap();
    }
    let private = SocketAddr::from((Ipv4Addr::LOCALHOST, 9501));
    let files =
        side.hub_files(private, "http://localhost:9520", &RelyingPartyKeys::empty(), &env).unwrap();
    files.load().unwrap()
}

#[test]
fn the_standard_hub_has_working_blocked_and_unreachable_identity_providers() {
    let loaded = standard_hub();
    let ids: Vec<&str> = loaded.connectors.keys().map(ConnectorId::as_str).collect();
    let saml = cfg!(feature = "saml").then_some("erable");
    let expected: Vec<&str> =
        ["amandier", "belvedere", "cassis", "donjon"].into_iter().chain(saml).collect();
    assert_eq!(ids, expected);
    for (id, connector) in &loaded.connectors {
        let is_example = ["cassis", "donjon"].contains(&id.as_str());
        assert_eq!(connector.logo.is_some(), !is_example, "{id}");
        assert_eq!(connector.blocks.len(), usize::from(id.as_str() == "cassis"), "{id}");
    }
}

#[test]
fn only_one_registration_of_the_standard_hub_asks_for_consent() {
    let loaded = standard_hub();
    let asking: Vec<&str> = loaded
        .service_providers
        .iter()
        .filter(|(_, client)| client.file.consent() == ConsentRequirement::Required)
        .map(|(id, _)| ClientId::as_str(id))
        .collect();
    assert_eq!(asking, ["demo-consent"]);
}

#[test]
fn each_identity_provider_has_a_look_of_its_own() {
    let (side, _) = standard_platform();
    let mut colours = Vec::new();
    for provider in &IDENTITY_PROVIDERS {
        let files = side
            .identity_provider_files(provider, "http://localhost:9510", "http://localhost:9520")
            .unwrap();
        let theme = files.load().unwrap().theme;
        assert!(theme.logo.is_some(), "{}", provider.id);
        colours.push(theme.accent.light.background);
    }
    assert_ne!(colours[0], colours[1]);
}
