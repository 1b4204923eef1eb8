use serde_json::json;

use super::*;
use passerelle_federation::connector_rules::AllowedConnectors;

fn fields(keys: &[(&str, &str)]) -> Arc<FieldDigests> {
    let keys: BTreeMap<&str, &str> = keys.iter().copied().collect();
    Arc::new(serde_json::from_value(json!(keys)).unwrap())
}

fn connector(highest: Level, enabled: bool, name: &str) -> ConnectorDigest {
    let fields = fields(&[
        ("name", name),
        ("levels", highest.as_str()),
        ("enabled", if enabled { "y" } else { "n" }),
    ]);
    ConnectorDigest { enabled, lowest: Level::Eidas1, highest, fields }
}

fn service(blocked: &[&str], secrets: &str) -> ServiceProviderDigest {
    let allowed_connectors =
        AllowedConnectors::AllBut(blocked.iter().map(|id| ConnectorId::from(*id)).collect());
    let fields = fields(&[("connectors", &blocked.join(" ")), ("secrets", secrets)]);
    ServiceProviderDigest { active: true, allowed_connectors, fields }
}

fn before() -> ConfigDigest {
    ConfigDigest {
        connectors: [
            ("a".into(), connector(Level::Eidas2, true, "A")),
            ("b".into(), connector(Level::Eidas2, true, "B")),
        ]
        .into(),
        service_providers: [
            ("open".into(), service(&[], "1")),
            ("picky".into(), service(&["b"], "1")),
        ]
        .into(),
        data_providers: BTreeMap::new(),
        scopes: fields(&[("scopes", "1")]),
        notices: Arc::default(),
        places: Arc::default(),
        email_domains: Arc::default(),
        languages: BTreeMap::new(),
    }
}

#[test]
fn each_change_is_reported_with_its_effects() {
    type Change = fn(&mut ConfigDigest);
    let table: [(&str, Change, &str); 9] = [
        ("nothing", |_| {}, "Nothing would change.\n"),
        (
            "a new connector",
            |next| drop(next.connectors.insert("c".into(), connector(Level::Eidas1, true, "C"))),
            "connector c: new\n  available to:          open, picky\n  newly available to:    open, picky\n",
        ),
        (
            "a removed connector",
            |next| drop(next.connectors.remove(&ConnectorId::from("b"))),
            "connector b: removed\n  available to:          none\n  no longer available to: open\n",
        ),
        (
            "one that is switched off",
            |next| drop(next.connectors.insert("b".into(), connector(Level::Eidas2, false, "B"))),
            "connector b: changed in enabled\n  available to:          none\n  no longer available to: open\n",
        ),
        (
            "other levels",
            |next| drop(next.connectors.insert("b".into(), connector(Level::Eidas3, true, "B"))),
            "connector b: changed in levels\n  available to:          open\n  levels:                eidas1 to eidas3 instead of eidas1 to eidas2\n",
        ),
        (
            "a name",
            |next| {
                drop(next.connectors.insert("a".into(), connector(Level::Eidas2, true, "Other")))
            },
            "connector a: changed in name\n  available to:          open, picky\n",
        ),
        (
            "a block, and a secret, whose value is not shown",
            |next| drop(next.service_providers.insert("picky".into(), service(&["a"], "a secret"))),
            "service provider picky: changed in connectors, secrets\n  gains: b\n  loses: a\n",
        ),
        (
            "a removed service provider",
            |next| drop(next.service_providers.remove(&ClientId::from("picky"))),
            "service provider picky: removed\n  loses: a\n",
        ),
        (
            "scopes",
            |next| next.scopes = fields(&[("scopes", "2")]),
            "scopes.toml: scopes changed; affects every service provider under these rules\n",
        ),
    ];
    for (message, change, expected) in table {
        let mut next = before();
        change(&mut next);
        let changes = before().changes_to(&next);
        assert_eq!(
            (changes.report().as_str(), changes.is_empty()),
            (expected, message == "nothing"),
            "{message}"
        );
    }
}

#[test]
fn a_digest_round_trips_through_json() {
    let text = serde_json::to_string(&before()).unwrap();
    assert_eq!(serde_json::from_str::<ConfigDigest>(&text).unwrap(), before());
}

#[test]
fn many_names_are_counted() {
    let names: Vec<String> = (0..12).map(|number| number.to_string()).collect();
    assert_eq!(join_names(&names), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more");
}
