//! Tests invalid values of the `[kind.oauth2]` table.

use crate::tests::kinds::{LEVELS, check};

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

#[test]
fn each_bad_setting_is_named_with_its_fix() {
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
            (
                "subject_claim = \"id\"",
                "subject_claim = \"/data~2\"",
                "kind.oauth2.subject_claim",
                "neither ~0",
            ),
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
