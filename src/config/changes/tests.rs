use serde_json::json;

use super::*;
use crate::config::connector_rules::Admitted;

fn fields(keys: &[(&str, &str)]) -> Arc<Fields> {
    let keys: BTreeMap<&str, &str> = keys.iter().copied().collect();
    Arc::new(serde_json::from_value(json!(keys)).unwrap())
}

fn connector(highest: Level, enabled: bool, name: &str) -> ConnectorOutline {
    let fields = fields(&[
        ("name", name),
        ("levels", highest.as_str()),
        ("enabled", if enabled { "y" } else { "n" }),
    ]);
    ConnectorOutline { enabled, lowest: Level::Eidas1, highest, fields }
}

fn service(blocked: &[&str], secrets: &str) -> ServiceOutline {
    let admitted = Admitted::AllBut(blocked.iter().map(|id| ConnectorId::from(*id)).collect());
    let fields = fields(&[("connectors", &blocked.join(" ")), ("secrets", secrets)]);
    ServiceOutline { active: true, admitted, fields }
}

fn before() -> Outline {
    Outline {
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
    }
}

#[test]
fn each_change_is_told_with_whom_it_touches() {
    type Change = fn(&mut Outline);
    let table: [(&str, Change, &str); 9] = [
        ("nothing", |_| {}, "Nothing would change.\n"),
        (
            "a new connector",
            |next| drop(next.connectors.insert("c".into(), connector(Level::Eidas1, true, "C"))),
            "connector c: new\n  can then be chosen at: open, picky\n  could not before at:   open, picky\n",
        ),
        (
            "a connector that goes",
            |next| drop(next.connectors.remove(&ConnectorId::from("b"))),
            "connector b: gone\n  can then be chosen at: none\n  can no more at:        open\n",
        ),
        (
            "one that is switched off",
            |next| drop(next.connectors.insert("b".into(), connector(Level::Eidas2, false, "B"))),
            "connector b: changed in enabled\n  can then be chosen at: none\n  can no more at:        open\n",
        ),
        (
            "other levels",
            |next| drop(next.connectors.insert("b".into(), connector(Level::Eidas3, true, "B"))),
            "connector b: changed in levels\n  can then be chosen at: open\n  levels:                eidas1 to eidas3 instead of eidas1 to \
             eidas2\n",
        ),
        (
            "a name",
            |next| {
                drop(next.connectors.insert("a".into(), connector(Level::Eidas2, true, "Other")))
            },
            "connector a: changed in name\n  can then be chosen at: open, picky\n",
        ),
        (
            "a block, and a secret, which is not told",
            |next| drop(next.service_providers.insert("picky".into(), service(&["a"], "a secret"))),
            "service provider picky: changed in connectors, secrets\n  gains: b\n  loses: a\n",
        ),
        (
            "a service provider that goes",
            |next| drop(next.service_providers.remove(&ClientId::from("picky"))),
            "service provider picky: gone\n  loses: a\n",
        ),
        (
            "scopes",
            |next| next.scopes = fields(&[("scopes", "2")]),
            "scopes.toml: scopes changed; every service provider under these rules\n",
        ),
    ];
    for (what, change, told) in table {
        let mut next = before();
        change(&mut next);
        let changes = before().changes(&next);
        assert_eq!(
            (changes.report().as_str(), changes.is_empty()),
            (told, what == "nothing"),
            "{what}"
        );
    }
}

#[test]
fn an_outline_survives_the_way_over_the_private_listener() {
    let text = serde_json::to_string(&before()).unwrap();
    assert_eq!(serde_json::from_str::<Outline>(&text).unwrap(), before());
}

#[test]
fn many_names_are_counted() {
    let names: Vec<String> = (0..12).map(|number| number.to_string()).collect();
    assert_eq!(listed(&names), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more");
}
