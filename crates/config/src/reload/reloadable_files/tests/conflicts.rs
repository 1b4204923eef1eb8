//! Tests conflicts between files.

use super::*;

#[test]
fn a_conflict_is_attributed_to_the_file_that_changed_last() {
    type Change = fn(&ReloadFixture);
    let table: [(&str, Change, &str, &str); 5] = [
        (
            "two files with one id",
            |scene| scene.put("service-providers/aa.toml", scene.text("service-providers/sp.toml")),
            "service-providers/aa.toml",
            "is already the client_id of",
        ),
        (
            "a sector whose other member does not say so",
            |scene| scene.service("zz", "sector = \"sp\""),
            "service-providers/zz.toml:",
            "doesn't declare a shared sector",
        ),
        (
            "a version that no subject key has",
            |scene| scene.service("zz", "subject_key_version = 9"),
            "service-providers/zz.toml:",
            "no subject key has",
        ),
        (
            "a service provider without connectors",
            |scene| scene.service("zz", "connectors = { deny = [\"idp\"] }"),
            "service-providers/zz.toml:",
            "excludes every existing connector",
        ),
        (
            "a scope that the tables lose",
            |scene| scene.put("scopes.toml", "[scopes]\nopenid = [\"sub\"]\n"),
            "scopes.toml conflicts with",
            "is not in the scopes table",
        ),
    ];
    for (message, change, file, expected) in table {
        let mut scene = ReloadFixture::good();
        let before = scene.counts();
        change(&scene);
        // An unrelated change becomes active in the same scan.
        scene.service("aside", "");
        scene.connector("late");
        if message == "a service provider without connectors" {
            fs::remove_file(scene.path("connectors/late.toml")).unwrap();
        }
        let findings = scene.read();
        assert!(
            findings.iter().any(|line| line.contains(file) && line.contains(expected)),
            "{message}: {findings:?}"
        );
        let (_, services) = scene.counts();
        assert_eq!(services, ["aside", "sp"], "{message}: {before:?}");
        // The next scan reports it again in the same words.
        let again = scene.read();
        assert!(
            again.iter().any(|line| line.contains(file) && line.contains(expected)),
            "{message}: {again:?}"
        );
        assert_eq!(scene.read(), again, "{message}");
        assert!(
            scene
                .files
                .build_federation()
                .scope_table(passerelle_protocol::registration::ProtocolRules::Federation)
                .contains(&"email".into())
        );
    }
}

#[test]
fn a_rejected_file_becomes_active_when_the_conflict_is_resolved() {
    let mut scene = ReloadFixture::good();
    scene.service("zz", "sector = \"sp\"");
    assert_eq!(scene.read().len(), 1);
    let shared = scene.text("service-providers/sp.toml").replacen(
        "client_id",
        "sector = \"sp\"\nclient_id",
        1,
    );
    scene.put("service-providers/sp.toml", shared);
    assert_eq!(scene.read(), [""; 0]);
    assert_eq!(scene.counts().1, ["sp", "zz"]);
    // Both files return to their own sector at once, which neither could do alone.
    let alone = scene.text("service-providers/sp.toml").replacen("sector = \"sp\"\n", "", 1);
    scene.put("service-providers/sp.toml", alone);
    fs::remove_file(scene.path("service-providers/zz.toml")).unwrap();
    scene.service("zz", "");
    assert_eq!(scene.read(), [""; 0]);
    assert_eq!(scene.files.build_federation().service_provider(&"zz".into()).unwrap().sector, "zz");
}

#[test]
fn removing_a_connector_is_never_rejected() {
    let mut scene = ReloadFixture::good();
    scene.connector("second");
    scene.service("picky", "connectors = { deny = [\"second\"] }");
    assert_eq!(scene.read(), [""; 0]);
    fs::remove_file(scene.path("connectors/idp.toml")).unwrap();
    let findings = scene.read();
    assert!(
        findings.iter().all(|line| line.starts_with("service-providers/picky.toml"))
            && findings.len() == 1,
        "{findings:?}"
    );
    assert_eq!(scene.counts(), (vec!["second".into()], vec!["picky".into(), "sp".into()]));
}
