//! Tests invalid values of the `[kind.oidc]` table.

use crate::tests::{Folder, Row, check_rows};

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
            "did you mean `client_id`?",
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

#[test]
fn each_setting_about_certificates_and_bound_tokens_needs_the_others() {
    let file = "connectors/idp.toml";
    let pair = "client_certificate = { env = \"CONNECTOR_IDP__SECRET\" }\nclient_key = { env = \"CONNECTOR_IDP__SECRET\" }";
    let unused = format!("{pair}\nclient_id");
    let both = format!(
        "{pair}\ndpop = \"auto\"\ntls_client_certificate_bound_access_tokens = \"on\"\nclient_id"
    );
    for (file, from, to, key, words) in [
        (file, "client_id", unused.as_str(), "kind.oidc.client_certificate", "nothing uses it"),
        (
            file,
            "client_id",
            both.as_str(),
            "kind.oidc.tls_client_certificate_bound_access_tokens",
            "keep one",
        ),
        (
            file,
            "client_id",
            "tls_client_certificate_bound_access_tokens = \"auto\"\nclient_id",
            "kind.oidc.tls_client_certificate_bound_access_tokens",
            "add client_certificate and client_key",
        ),
        (
            file,
            "client_id",
            "client_key = { env = \"CONNECTOR_IDP__SECRET\" }\nclient_id",
            "kind.oidc.client_certificate",
            "is missing beside client_key",
        ),
        (
            file,
            "client_secret = { env = \"CONNECTOR_IDP__SECRET\" }",
            "token_endpoint_auth_method = \"tls_client_auth\"",
            "kind.oidc.token_endpoint_auth_method",
            "needs a client certificate",
        ),
        (
            file,
            "client_id",
            "authorization_encrypted_response_alg = \"ECDH-ES\"\nclient_id",
            "kind.oidc.authorization_encrypted_response_alg",
            "authorization_signed_response_alg",
        ),
        (
            file,
            "client_id",
            "authorize_params = { dpop_jkt = \"1\" }\nclient_id",
            "kind.oidc.authorize_params.dpop_jkt",
            "remove it",
        ),
    ] {
        let (_, found, text) = Folder::good().edit(file, from, to).problem();
        assert!(found == key && text.contains(words), "{to}: {found}: {text}");
    }
}

#[test]
fn a_file_that_contradicts_fapi2_is_refused_with_the_setting_and_its_fix() {
    let secret = "client_secret = { env = \"CONNECTOR_IDP__SECRET\" }";
    let profile = "fapi2 = true\ntoken_endpoint_auth_method = \"private_key_jwt\"\npushed_authorization_requests = \"on\"\ndpop = \"on\"";
    let file = "connectors/idp.toml";
    Folder::good().edit(file, secret, profile).loaded();
    let weak = |from: &str, to: &str| profile.replace(from, to);
    let endpoints = format!(
        "{profile}\nendpoints = {{ authorization = \"https://idp.example.org/a\", token = \"https://idp.example.org/t\", userinfo = \"https://idp.example.org/u\", jwks = \"https://idp.example.org/j\", pushed_authorization_request = \"https://idp.example.org/p\" }}"
    );
    for (written, key, words) in [
        (
            weak("requests = \"on\"", "requests = \"off\""),
            "pushed_authorization_requests",
            "set pushed_authorization_requests = \"on\"",
        ),
        (weak("dpop = \"on\"", ""), "dpop", "no certificate binds the tokens"),
        (
            format!("{profile}\nclient_assertion_audience = \"token_endpoint\""),
            "client_assertion_audience",
            "the audience is the issuer",
        ),
        (
            format!("{profile}\nid_token_signed_response_alg = \"RS256\""),
            "id_token_signed_response_alg",
            "set \"ES256\"",
        ),
        (
            format!("{profile}\nrequest_objects = \"on\"\nrequest_object_signing_alg = \"RS256\""),
            "request_object_signing_alg",
            "set \"ES256\"",
        ),
        (endpoints, "endpoints", "metadata only"),
        (
            format!("{}\n{secret}", weak("private_key_jwt", "client_secret_basic")),
            "token_endpoint_auth_method",
            "sends a shared secret",
        ),
    ] {
        let (_, found, text) = Folder::good().edit(file, secret, &written).problem();
        assert!(found == format!("kind.oidc.{key}") && text.contains(words), "{found}: {text}");
    }
}
