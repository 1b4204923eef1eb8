//! Tests invalid values of the `[kind.ldap]` table.

use crate::tests::Folder;
use crate::tests::kinds::{LEVELS, check};

const LDAP: &str = r#"
name = { en = "Town hall" }
levels = { lowest = "eidas1", highest = "eidas1" }
assumed_level = "eidas1"
[kind.ldap]
url = "ldaps://ldap.example.org"
bind_dn = "cn=hub,dc=example,dc=org"
bind_password = { env = "CONNECTOR_KIND__SECRET" }
base_dn = "dc=example,dc=org"
"#;

#[test]
fn each_bad_setting_is_named_with_its_fix() {
    check(LDAP, &LEVELS);
    check(
        LDAP,
        &[
            ("ldaps://", "ldap://", "kind.ldap.url", "every password in clear text"),
            ("ldaps://", "https://", "kind.ldap.url", "neither ldaps nor ldap"),
            ("ldaps://ldap.example.org", "ldap.example.org", "kind.ldap.url", "absolute"),
            ("ldap.example.org\"", "\"", "kind.ldap.url", "no host"),
            ("example.org\"", "example.org/dc=example\"", "kind.ldap.url", "base_dn"),
            ("ldaps://", "ldaps://hub:secret@", "kind.ldap.url", "bind_dn"),
            ("ldap.example.org\"", "[2001:db8::1]\"", "kind.ldap.url", "host name"),
            ("bind_dn", "starttls = true\nbind_dn", "kind.ldap.starttls", "write ldap://"),
            ("cn=hub,dc=example,dc=org", "", "kind.ldap.bind_dn", "empty"),
            ("base_dn = \"dc=example,dc=org\"", "base_dn = \"\"", "kind.ldap.base_dn", "empty"),
            ("base_dn", "filter = \"(uid=*)\"\nbase_dn", "kind.ldap.filter", "{username}"),
            ("base_dn", "domain = \"TOWN\\\\\"\nbase_dn", "kind.ldap.domain", "NetBIOS"),
            (
                "base_dn",
                "must_change_password = \"allow\"\nbase_dn",
                "kind.ldap.must_change_password",
                "refuse",
            ),
            ("base_dn", "ca = \"none.pem\"\nbase_dn", "kind.ldap.ca", "missing"),
            (
                "base_dn",
                "internal_hosts = [\"a/b\"]\nbase_dn",
                "kind.ldap.internal_hosts[0]",
                "host name",
            ),
            (
                "CONNECTOR_KIND__SECRET",
                "CONNECTOR_KIND__UNSET",
                "kind.ldap.bind_password.env",
                "not set",
            ),
            (
                "bind_password = { env = \"CONNECTOR_KIND__SECRET\" }",
                "",
                "kind.ldap.bind_password",
                "is missing",
            ),
        ],
    );
    let plain =
        LDAP.replace("ldaps://", "ldap://").replace("bind_dn", "insecure_ldap = true\nbind_dn");
    let loaded = Folder::good().with("connectors/kind.toml", plain).loaded();
    assert!(loaded.warnings.iter().any(|warning| warning.key == "kind.ldap.insecure_ldap"));
    let begun = LDAP.replace("ldaps://", "ldap://").replace("bind_dn", "starttls = true\nbind_dn");
    Folder::good().with("connectors/kind.toml", begun).loaded();
}
