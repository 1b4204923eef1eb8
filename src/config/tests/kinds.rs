//! Tests invalid files of the connector kinds that return no `acr`.

use super::super::tests::Folder;

const OAUTH2: &str = r#"
name = { en = "Code hosting" }
levels = { lowest = "eidas1", highest = "eidas1" }
assumed_level = "eidas1"
[kind.oauth2]
issuer = "https://hosting.example.org"
client_id = "hub"
client_secret = { env = "CONNECTOR_KIND__SECRET" }
subject_claim = "id"
auth_time = "callback"
reauthentication_params = { prompt = "login" }
[kind.oauth2.endpoints]
authorization = "https://hosting.example.org/authorize"
token = "https://hosting.example.org/token"
userinfo = "https://api.hosting.example.org/user"
"#;

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

/// Text to replace, replacement, expected key, and expected words.
type Row = (&'static str, &'static str, &'static str, &'static str);

#[track_caller]
fn check(good: &str, rows: &[Row]) {
    Folder::good().with("connectors/kind.toml", good).loaded();
    for (from, to, key, words) in rows {
        let folder = Folder::good().with("connectors/kind.toml", good).edit(
            "connectors/kind.toml",
            from,
            to,
        );
        let (file, found, text) = folder.problem();
        assert_eq!((file.as_str(), found.as_str()), ("connectors/kind.toml", *key), "{to}: {text}");
        assert!(text.contains(words), "{to}: {text}");
    }
}

const LEVELS: [Row; 6] = [
    ("assumed_level = \"eidas1\"", "", "assumed_level", "write assumed_level"),
    (
        "assumed_level = \"eidas1\"",
        "assumed_level = \"eidas2\"",
        "assumed_level",
        "only level that may be assumed",
    ),
    (
        "assumed_level = \"eidas1\"",
        "assumed_level = \"eidas1\"\nacr = { eidas1 = [\"low\"] }",
        "acr",
        "returns no acr",
    ),
    (
        "assumed_level = \"eidas1\"",
        "assumed_level = \"eidas1\"\nacr = { send = false }",
        "acr",
        "returns no acr",
    ),
    (
        "assumed_level = \"eidas1\"",
        "assumed_level = \"eidas1\"\nignore_acr = true",
        "ignore_acr",
        "has no effect",
    ),
    (
        "highest = \"eidas1\"",
        "highest = \"eidas2\"",
        "levels.highest",
        "the only level of this kind",
    ),
];

#[test]
fn each_bad_oauth2_setting_is_named_with_its_fix() {
    check(OAUTH2, &LEVELS);
    check(
        OAUTH2,
        &[
            ("issuer = \"https", "issuer = \"http", "kind.oauth2.issuer", "use https://"),
            (
                "\"https://hosting.example.org/token",
                "\"http://hosting.example.org/token",
                "kind.oauth2.endpoints.token",
                "https",
            ),
            ("\"https://api", "\"javascript:api", "kind.oauth2.endpoints.userinfo", "https://"),
            (
                "\"https://hosting.example.org/authorize",
                "\"/authorize",
                "kind.oauth2.endpoints.authorization",
                "absolute",
            ),
            ("\"hub\"", "\" \"", "kind.oauth2.client_id", "is empty"),
            ("client_id", "ca = \"none.pem\"\nclient_id", "kind.oauth2.ca", "file that is missing"),
            (
                "subject_claim = \"id\"",
                "subject_claim = \"\"",
                "kind.oauth2.subject_claim",
                "permanently",
            ),
            ("subject_claim = \"id\"", "", "kind.oauth2.subject_claim", "is missing"),
            ("auth_time = \"callback\"", "", "kind.oauth2.auth_time", "callback"),
            ("\"callback\"", "\"claim\"", "kind.oauth2.auth_time", "write one of: callback"),
            (
                "reauthentication_params = { prompt = \"login\" }",
                "",
                "kind.oauth2.reauthentication_params",
                "is missing",
            ),
            (
                "{ prompt = \"login\" }",
                "{}",
                "kind.oauth2.reauthentication_params",
                "prompt = \"login\"",
            ),
            (
                "prompt = \"login\"",
                "state = \"1\"",
                "kind.oauth2.reauthentication_params.state",
                "remove it",
            ),
            (
                "client_id",
                "authorize_params = { code_challenge = \"1\" }\nclient_id",
                "kind.oauth2.authorize_params.code_challenge",
                "remove it",
            ),
            (
                "client_id",
                "authorize_params = { prompt = \"none\" }\nclient_id",
                "kind.oauth2.authorize_params.prompt",
                "remove it here",
            ),
            (
                "CONNECTOR_KIND__SECRET",
                "CONNECTOR_KIND__UNSET",
                "kind.oauth2.client_secret.env",
                "not set",
            ),
            (
                "client_secret = { env = \"CONNECTOR_KIND__SECRET\" }",
                "",
                "kind.oauth2.client_secret",
                "is missing",
            ),
            (
                "client_id",
                "internal_hosts = [\"http://a\"]\nclient_id",
                "kind.oauth2.internal_hosts[0]",
                "host name",
            ),
            (
                "client_id",
                "token_endpoint_auth_method = \"private_key_jwt\"\nclient_id",
                "kind.oauth2.token_endpoint_auth_method",
                "client_secret_basic",
            ),
        ],
    );
}

#[test]
fn each_bad_ldap_setting_is_named_with_its_fix() {
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
