//! Tests that the committed example files, schemas and reference page are current.

use std::fs;
use std::path::PathBuf;

use super::*;
use passerelle_connector::kind_settings::connector_schema;
use passerelle_settings::schema_node::{SchemaNode, ValueKind, schema_for};

fn repository() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn the_committed_configuration_loads_once_its_secrets_are_given() {
    let environment = [
        ("HUB_SUBJECT_KEY", SUBJECT_KEY),
        ("SERVICE_PROVIDER_EXAMPLE__CLIENT_SECRET", CLIENT_SECRET),
    ]
    .into_iter()
    .collect::<Environment>();
    let loaded = load_config(&repository().join("config"), &environment, KINDS);
    assert!(
        loaded.is_ok(),
        "{}",
        render_check_output(&loaded, passerelle_protocol::env::Timestamp::default())
    );
}

#[test]
fn the_connector_template_is_a_good_connector() {
    let template =
        fs::read_to_string(repository().join("connectors/example.toml.template")).unwrap();
    Folder::good()
        .with("connectors/example.toml", &template)
        .variable("CONNECTOR_EXAMPLE__CLIENT_SECRET", "x")
        .loaded();
    assert_eq!(
        missing_keys(
            connector_schema(KINDS.connectors),
            &template,
            &[
                "kind.persona",
                "kind.oauth2",
                "kind.ldap",
                "kind.openid4vp",
                "kind.saml",
                "acr.",
                "amr (default)",
                "mfa (default)",
            ]
        ),
        Vec::<String>::new()
    );
}

#[test]
fn the_template_of_each_other_kind_is_a_good_connector_with_every_key() {
    for kind in ["oauth2", "ldap", "openid4vp", "saml"] {
        let template =
            fs::read_to_string(repository().join(format!("connectors/{kind}.toml.template")))
                .unwrap();
        let folder = Folder::good()
            .with("connectors/example.toml", &template)
            .with("wallet/access.pem", "")
            .with("wallet/issuers.pem", "")
            .with("saml/idp.xml", "");
        folder
            .variable("CONNECTOR_EXAMPLE__CLIENT_SECRET", "x")
            .variable("CONNECTOR_EXAMPLE__BIND_PASSWORD", "x")
            .variable("CONNECTOR_EXAMPLE__PRIVATE_KEY", "x")
            .variable("CONNECTOR_EXAMPLE__PRIVATE_KEYS", "x")
            .loaded();
        let own = format!("kind.{kind}.");
        let mut missing = missing_keys(connector_schema(KINDS.connectors), &template, &[]);
        missing.retain(|key| key.starts_with(&own));
        assert_eq!(missing, Vec::<String>::new());
    }
}

#[test]
fn every_kind_is_in_the_schema_and_in_the_readme() {
    let schema = connector_schema(KINDS.connectors);
    let mut kinds: Vec<_> = KINDS.connectors.iter().map(|kind| kind.name).collect();
    kinds.sort_unstable();
    assert_eq!(SchemaNode::root(&schema).child("kind").unwrap().keys(), kinds);
    let readme = fs::read_to_string(repository().join("connectors/README.md")).unwrap();
    for kind in kinds {
        assert!(
            readme.contains(&format!("`[kind.{kind}]`")),
            "connectors/README.md does not mention {kind}"
        );
    }
}

const DATA_PROVIDER: &str = "config/data-providers/example.toml.template";

#[test]
fn the_data_providers_template_is_a_good_data_provider() {
    let template = fs::read_to_string(repository().join(DATA_PROVIDER)).unwrap();
    let folder = Folder::good()
        .with("data-providers/example.toml", &template)
        .variable("DATA_PROVIDER_EXAMPLE__CLIENT_SECRET", CLIENT_SECRET);
    assert!(folder.loaded().data_providers.contains_key("example-data"));
}

#[test]
fn every_key_is_in_the_example_files_with_its_default() {
    let settings = fs::read_to_string(repository().join("config/passerelle.toml")).unwrap();
    assert_eq!(missing_keys(schema_for::<Settings>(), &settings, &[]), Vec::<String>::new());
    let service =
        fs::read_to_string(repository().join("config/service-providers/example.toml")).unwrap();
    assert_eq!(
        missing_keys(schema_for::<ServiceProviderFile>(), &service, &[]),
        Vec::<String>::new()
    );
    let data = fs::read_to_string(repository().join(DATA_PROVIDER)).unwrap();
    assert_eq!(
        missing_keys(schema_for::<model::DataProviderFile>(), &data, &[]),
        Vec::<String>::new()
    );
}

/// Returns the keys of the schema that `text`, with its commented keys enabled, lacks or shows with
/// another default.
fn missing_keys(schema: serde_json::Value, text: &str, but: &[&str]) -> Vec<String> {
    let is_key = |rest: &str| {
        rest.starts_with('[') || rest.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '))
    };
    let enable_key = |line: &str| match line.strip_prefix("# ") {
        Some(rest) if is_key(rest) => format!("{rest}\n"),
        _ => format!("{line}\n"),
    };
    let table: toml::Table =
        toml::from_str(&text.lines().map(enable_key).collect::<String>()).unwrap();
    let mut missing = Vec::new();
    compare(
        SchemaNode::root(&schema),
        &serde_json::to_value(table).unwrap(),
        "",
        text,
        &mut missing,
    );
    missing.retain(|key| !but.iter().any(|prefix| key.starts_with(prefix)));
    missing
}

fn compare(
    node: SchemaNode<'_>,
    value: &serde_json::Value,
    prefix: &str,
    text: &str,
    missing: &mut Vec<String>,
) {
    for name in node.keys() {
        let key = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
        let (child, found) = (node.child(name).unwrap(), value.get(name));
        // One form of a reference, for example `{ file = … }`, is enough.
        let secrets: [&[&str]; 3] =
            [&["env", "file"], &["file", "keys"], &["derivation", "env", "file"]];
        let is_secret = secrets.iter().any(|keys| child.keys() == *keys);
        match found {
            None => missing.push(key),
            Some(table) if child.kind() == ValueKind::Table && !is_secret => {
                compare(child, table, &key, text, missing)
            }
            Some(found) => {
                let commented = text.contains(&format!("\n# {name} = "));
                let is_nothing = |default: &serde_json::Value| {
                    default.as_object().is_some_and(serde_json::Map::is_empty)
                        || default.as_array().is_some_and(Vec::is_empty)
                };
                let default = child.default().filter(|default| !is_nothing(default));
                if commented && default.is_some_and(|default| default != found) {
                    missing.push(format!("{key} (default)"));
                }
            }
        }
    }
}

/// Checks statements that were wrong before (R112, R113).
#[test]
fn templates_and_guides_do_not_repeat_wrong_statements() {
    for name in ["config/service-providers/example.toml", DATA_PROVIDER] {
        let text = fs::read_to_string(repository().join(name)).unwrap();
        assert!(!text.contains("Read at start") && text.contains("docs/reload.md"), "{name}");
    }
    let guide = fs::read_to_string(repository().join("docs/integrate/README.md")).unwrap();
    assert!(guide.contains("22 characters by GET and 32 by POST"));
    let redis = fs::read_to_string(repository().join("docs/redis.md")).unwrap();
    assert!(
        redis.contains("A complete login takes 10 calls")
            && !redis.contains("one call for each record")
    );
}

#[cfg(feature = "redis")]
#[test]
fn the_committed_schemas_are_current() {
    for (name, schema) in schemas(KINDS) {
        let committed =
            fs::read_to_string(repository().join("config/schemas").join(name)).unwrap_or_default();
        let stale = "is stale: run `cargo run -- schemas --write config/schemas`";
        assert!(
            committed == crate::schema::render_schema(&schema),
            "config/schemas/{name} {stale}"
        );
    }
}

#[cfg(feature = "redis")]
#[test]
fn the_committed_reference_is_current() {
    let committed =
        fs::read_to_string(repository().join("docs/configuration.md")).unwrap_or_default();
    let stale = "docs/configuration.md is stale: run `cargo run -- schemas --reference docs/configuration.md`";
    assert!(committed == reference_markdown(KINDS), "{stale}");
}

#[test]
fn every_key_says_what_it_means() {
    let page = reference_markdown(KINDS);
    let silent: Vec<&str> =
        page.lines().filter(|line| line.starts_with("| `") && line.ends_with("|  |")).collect();
    assert!(silent.is_empty(), "{silent:#?}");
}
