//! Measures how long 500 connectors and 5,000 service providers take to load, and to reload after a
//! change of one file.
//!
//! `cargo bench --bench reload`; `-- 50 500` for fewer. Nothing is asserted: read the figures
//! (goals: 2 s, 500 ms).
#![expect(
    clippy::pedantic,
    clippy::unwrap_used,
    reason = "a measurement that can't be made should stop"
)]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use passerelle_connector::{ConfiguredConnector, SandboxMode};
use passerelle_egress::http_client_pool::HttpClientPool;
use passerelle_jose::RelyingPartyKeys;
use passerelle_protocol::env::Env;
use passerelle_settings::{Environment, FieldDiagnostic};
use tokio::time::Instant;

const SETTINGS: &str = r#"
platform = "standard"
base_url = "https://hub.example"
subject_key = { env = "SUBJECT_KEY" }
connectors = "connectors"
public.listen = "127.0.0.1:0"
private.listen = "127.0.0.1:0"
identity_source = "provider"
"#;

fn write(folder: &Path, connectors: usize, services: usize) {
    for name in ["connectors", "service-providers"] {
        fs::create_dir(folder.join(name)).unwrap();
    }
    fs::write(folder.join("passerelle.toml"), SETTINGS).unwrap();
    for number in 0..connectors {
        fs::write(
            folder.join(format!("connectors/idp-{number}.toml")),
            connector(number, "Provider"),
        )
        .unwrap();
    }
    for number in 0..services {
        let file = format!(
            r#"
client_id = "service-{number}"
name = {{ fr = "Le service {number}", en = "Service {number}" }}
home_page = "https://service-{number}.example/"
redirect_uris = ["https://service-{number}.example/callback", "https://service-{number}.example/other"]
post_logout_redirect_uris = ["https://service-{number}.example/out"]
scopes = ["openid", "given_name", "family_name", "birthdate", "email"]
secrets = [{{ env = "SERVICE_PROVIDER_SERVICE_{number}__CLIENT_SECRET" }}]
connectors = {{ deny = ["idp-{}", "idp-{}"] }}
"#,
            number % connectors,
            (number + 1) % connectors,
        );
        fs::write(folder.join(format!("service-providers/service-{number}.toml")), file).unwrap();
    }
}

fn connector(number: usize, name: &str) -> String {
    format!(
        r#"
name = {{ fr = "Fournisseur {number}", en = "{name} {number}" }}
identity = "verified"
levels = {{ lowest = "eidas1", highest = "eidas2" }}
[acr]
eidas1 = ["low"]
eidas2 = ["substantial"]
[kind.oidc]
issuer = "https://idp-{number}.example"
client_id = "hub"
client_secret = {{ env = "CONNECTOR_IDP_{number}__CLIENT_SECRET" }}
"#
    )
}

fn main() {
    let mut sizes = std::env::args().filter_map(|argument| argument.parse::<usize>().ok());
    let (connectors, services) = (sizes.next().unwrap_or(500), sizes.next().unwrap_or(5_000));
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), connectors, services);
    let secret = "a secret of more than 32 characters, for ever";
    let of_connectors =
        (0..connectors).map(|number| format!("CONNECTOR_IDP_{number}__CLIENT_SECRET"));
    let of_services =
        (0..services).map(|number| format!("SERVICE_PROVIDER_SERVICE_{number}__CLIENT_SECRET"));
    let names = of_connectors.chain(of_services).chain(["SUBJECT_KEY".to_owned()]);
    let environment: Environment = names.map(|name| (name, secret.to_owned())).collect();

    let began = Instant::now();
    let loaded = passerelle_server::load_config(folder.path(), &environment);
    let Ok(loaded) = loaded else {
        eprint!(
            "{}",
            passerelle_config::render_check_output(
                &loaded,
                passerelle_protocol::env::Timestamp::default()
            )
        );
        std::process::exit(1);
    };
    println!(
        "{connectors} connectors and {services} service providers loaded in {:?}",
        began.elapsed()
    );

    let context = passerelle_connector::ConnectorContext {
        env: Env::system(),
        metrics: None,
        upstream_keys: Arc::new(ArcSwap::from_pointee(RelyingPartyKeys::empty())),
        sandbox: SandboxMode::Off,
        http_clients: HttpClientPool::default(),
        store: passerelle_store::LateStore::default(),
    };
    let build = |configured: &ConfiguredConnector| {
        passerelle_connector::build(configured, context.clone())
            .map(drop)
            .map_err(|fault| FieldDiagnostic::new(fault.key, "can't be built", fault.message))
    };
    let began = Instant::now();
    loaded.connectors.values().for_each(|configured| build(configured).unwrap());
    println!("their connectors built in {:?}", began.elapsed());

    let mut files = loaded.files;
    type Change<'a> = (&'a str, Box<dyn Fn() + 'a>);
    let changes: [Change<'_>; 4] = [
        ("nothing changed", Box::new(|| ())),
        (
            "one connector changed",
            Box::new(|| {
                fs::write(folder.path().join("connectors/idp-0.toml"), connector(0, "Other"))
                    .unwrap()
            }),
        ),
        (
            "one connector is bad",
            Box::new(|| {
                fs::write(folder.path().join("connectors/idp-1.toml"), "name = 3").unwrap()
            }),
        ),
        (
            "one service provider is gone",
            Box::new(|| {
                fs::remove_file(folder.path().join("service-providers/service-7.toml")).unwrap()
            }),
        ),
    ];
    for (what, change) in changes {
        let before = files.digest();
        change();
        let began = Instant::now();
        files.rescan(&build);
        let (federation, digest) = (files.build_federation(), files.digest());
        let took = began.elapsed();
        println!(
            "{what}: read again in {took:?}: {} service providers, {} connectors, {}",
            federation.service_providers().count(),
            federation.connectors().len(),
            before.changes_to(&digest)
        );
    }
}
