//! Tests invalid values of the `[kind.oidc]` table.

use crate::config::tests::{Row, check_rows};

#[test]
fn each_bad_setting_is_named_with_its_fix() {
    let file = "connectors/idp.toml";
    let rows: &[Row] = &[
        (file, "https://idp", "http://idp", "kind.oidc.issuer", "use https://"),
        (file, "example.org\"", "example.org?tenant=1\"", "kind.oidc.issuer", "remove the ?"),
        (file, "example.org\"", "example.org#a\"", "kind.oidc.issuer", "remove the #"),
        (file, "client_id", "ca = \"none.pem\"\nclient_id", "kind.oidc.ca", "file that is missing"),
        (
            file,
            "client_id",
            "authorize_params = { nonce = \"1\" }\nclient_id",
            "kind.oidc.authorize_params.nonce",
            "remove it",
        ),
        (
            file,
            "client_id",
            "internal_hosts = [\"http://a\"]\nclient_id",
            "kind.oidc.internal_hosts[0]",
            "host name",
        ),
        (
            file,
            "client_id",
            "client_idd = 1\nclient_id",
            "kind.oidc.client_idd",
            "use one of: issuer, client_id",
        ),
        (file, "client_id", "scopes = [\"email\"]\nclient_id", "kind.oidc.scopes", "openid"),
        (
            file,
            "CONNECTOR_IDP__SECRET",
            "CONNECTOR_IDP__UNSET",
            "kind.oidc.client_secret.env",
            "not set",
        ),
        (
            file,
            "client_secret = { env = \"CONNECTOR_IDP__SECRET\" }",
            "",
            "kind.oidc.client_secret",
            "private_key_jwt",
        ),
        (
            file,
            "client_id",
            "token_endpoint_auth_method = \"private_key_jwt\"\nclient_id",
            "kind.oidc.client_secret",
            "remove it",
        ),
        (
            file,
            "client_id",
            "token_endpoint_auth_method = \"client_secret_jwt\"\nclient_id",
            "kind.oidc.token_endpoint_auth_method",
            "client_secret_basic",
        ),
        (
            file,
            "client_id",
            "token_endpoint_auth_signing_alg = \"ES256\"\nclient_id",
            "kind.oidc.token_endpoint_auth_signing_alg",
            "private_key_jwt",
        ),
        (
            file,
            "client_id",
            "client_assertion_audience = \"issuer\"\nclient_id",
            "kind.oidc.client_assertion_audience",
            "private_key_jwt",
        ),
        (
            file,
            "client_id",
            "id_token_encrypted_response_enc = \"A256GCM\"\nclient_id",
            "kind.oidc.id_token_encrypted_response_enc",
            "id_token_encrypted_response_alg",
        ),
        (
            file,
            "client_id",
            "id_token_encrypted_response_alg = \"RSA1_5\"\nclient_id",
            "kind.oidc.id_token_encrypted_response_alg",
            "RSA-OAEP-256",
        ),
        (
            file,
            "client_id",
            "userinfo_encrypted_response_alg = \"ECDH-ES\"\nclient_id",
            "kind.oidc.userinfo_encrypted_response_alg",
            "userinfo_signed_response_alg",
        ),
    ];
    check_rows(rows);
}
