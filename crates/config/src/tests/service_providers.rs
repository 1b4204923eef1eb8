//! Tests of service providers: invalid values, their secrets, keys and defaults.

use super::*;

pub(super) const SIGNS: &str = "token_endpoint_auth_method = \"private_key_jwt\"";
const SIGNS_BY_URI: &str = r#"
token_endpoint_auth_method = "private_key_jwt"
jwks_uri = "https://sp.example.org/jwks"
client_id"#;

const ITS_SECRETS: &str = "secrets = [{ env = \"SERVICE_PROVIDER_SP__SECRET\" }]";
const NO_AUDIENCE: &str = r#"
token_endpoint_auth_method = "private_key_jwt"
jwks_uri = "https://sp.example.org/jwks"
client_assertion_audiences = []"#;
const UNKNOWN_AUDIENCE: &str = r#"
token_endpoint_auth_method = "private_key_jwt"
jwks_uri = "https://sp.example.org/jwks"
client_assertion_audiences = ["issuer", "tokens"]"#;

/// Three secrets; only for one hour are they valid all together.
const THREE_AT_ONCE: &str = r#"[
    { env = "SERVICE_PROVIDER_SP__SECRET", not_after = 2027-03-01T01:00:00Z },
    { env = "SERVICE_PROVIDER_SP__SECRET" },
    { env = "SERVICE_PROVIDER_SP__SECRET", not_before = "2027-03-01T00:00:00Z" },
]"#;

#[test]
fn each_bad_service_provider_is_named_with_its_fix() {
    let file = "service-providers/sp.toml";
    let rows: &[Row] = &[
        (
            file,
            "\"https://sp.example.org/callback\"",
            "\"http://sp.example.org/callback\"",
            "redirect_uris[0]",
            "use https://",
        ),
        (file, "/callback", "/callback#x", "redirect_uris[0]", "remove the #"),
        (
            file,
            "\"https://sp.example.org/callback\"",
            "\"https://me:pw@sp.example.org\"",
            "redirect_uris[0]",
            "user name",
        ),
        (
            file,
            "\"https://sp.example.org/callback\"",
            "\"myapp:/callback\"",
            "redirect_uris[0]",
            "https://",
        ),
        (
            file,
            "\"https://sp.example.org/callback\"",
            "\"/callback\"",
            "redirect_uris[0]",
            "absolute",
        ),
        (file, "/callback", "/call back", "redirect_uris[0]", "space"),
        (file, "/callback", "/callback?tenant=7&iss=x", "redirect_uris[0]", "remove code, state"),
        (
            file,
            "client_id",
            "post_logout_redirect_uris = [\"https://sp.example.org/?state=1\"]\nclient_id",
            "post_logout_redirect_uris[0]",
            "remove state",
        ),
        (file, "/callback", "/*", "redirect_uris[0]", "patterns are not supported"),
        (file, "[\"https://sp.example.org/callback\"]", "[]", "redirect_uris", "at least one"),
        (file, "home_page = \"https", "home_page = \"ftp", "home_page", "https"),
        (
            file,
            "{ fr = \"Service\", en = \"Service\" }",
            "{}",
            "name",
            "has no text in any language",
        ),
        (file, "fr = \"Service\"", "fr = \" \"", "name.fr", "1 to 100"),
        (file, "fr = \"Service\"", "French = \"Service\"", "name.French", "two-letter"),
        (file, "\"openid\", ", "", "scopes", "add \"openid\""),
        (file, "\"email\"", "\"emial\"", "scopes[1]", "birthcountry"),
        (file, "client_id = \"sp\"", "client_id = \"s p\"", "client_id", "printable"),
        (file, "{ env = \"SERVICE_PROVIDER_SP__SECRET\" }", "", "secrets", "add one or two"),
        (
            file,
            "secrets = [{ env = \"SERVICE_PROVIDER_SP__SECRET\" }]",
            "",
            "secrets",
            "add one or two",
        ),
        (
            file,
            "SP__SECRET\" }",
            "SP__SECRET\", not_after = 2027-03-01T00:00:00 }",
            "secrets[0].not_after",
            "2027-03-01T00:00:00Z",
        ),
        (
            file,
            "SP__SECRET\" }",
            "SP__SECRET\", not_before = \"soon\" }",
            "secrets[0].not_before",
            "with a time zone",
        ),
        (
            file,
            "SP__SECRET\" }",
            "SP__SECRET\", not_before = 2027 }",
            "secrets[0].not_before",
            "must be text",
        ),
        (
            file,
            "SP__SECRET\" }",
            "SP__SECRET\", not_before = 2027-03-01T00:00:00Z, not_after = 2027-03-01T01:00:00+01:00 }",
            "secrets[0].not_after",
            "the period is empty",
        ),
        (
            file,
            "[{ env = \"SERVICE_PROVIDER_SP__SECRET\" }]",
            THREE_AT_ONCE,
            "secrets",
            "more than two secrets that are valid at the same time",
        ),
        (
            file,
            "client_id",
            "token_endpoint_auth_signing_alg = \"RS256\"\nclient_id",
            "token_endpoint_auth_signing_alg",
            "remove it",
        ),
        (
            file,
            "client_id",
            "client_assertion_audiences = [\"issuer\"]\nclient_id",
            "client_assertion_audiences",
            "remove it",
        ),
        (
            file,
            ITS_SECRETS,
            NO_AUDIENCE,
            "client_assertion_audiences",
            "no assertion can ever be accepted",
        ),
        (file, ITS_SECRETS, UNKNOWN_AUDIENCE, "client_assertion_audiences[1]", "token_endpoint"),
        (
            file,
            "secrets = [{ env = \"SERVICE_PROVIDER_SP__SECRET\" }]",
            SIGNS,
            "token_endpoint_auth_method",
            "add jwks or jwks_uri",
        ),
        (file, "client_id", SIGNS_BY_URI, "secrets", "private_key_jwt doesn't use"),
        (
            file,
            "client_id",
            "require_pushed_authorization_requests = true\nclient_id",
            "require_pushed_authorization_requests",
            "pushed_authorization_requests = \"accepted\" in passerelle.toml",
        ),
        (
            file,
            "client_id",
            "require_signed_request_object = true\nclient_id",
            "require_signed_request_object",
            "add request_object_signing_alg",
        ),
        (
            file,
            "client_id",
            "request_object_signing_alg = \"ES256\"\nclient_id",
            "request_object_signing_alg",
            "add jwks or jwks_uri",
        ),
        (
            file,
            "client_id",
            "request_object_signing_alg = \"none\"\nclient_id",
            "request_object_signing_alg",
            "ES256",
        ),
        (
            file,
            "client_id",
            "authorization_encrypted_response_alg = \"ECDH-ES\"\njwks_uri = \"https://sp.example.org/jwks\"\nclient_id",
            "authorization_encrypted_response_alg",
            "add authorization_signed_response_alg",
        ),
        (
            file,
            "client_id",
            "authorization_signed_response_alg = \"ES256\"\nauthorization_encrypted_response_alg = \"ECDH-ES\"\nclient_id",
            "authorization_encrypted_response_alg",
            "add jwks or jwks_uri",
        ),
        (
            file,
            "client_id",
            "authorization_encrypted_response_enc = \"A256GCM\"\nclient_id",
            "authorization_encrypted_response_enc",
            "add authorization_encrypted_response_alg",
        ),
        (
            file,
            "client_id",
            "token_endpoint_auth_method = \"client_secret_jwt\"\nclient_id",
            "token_endpoint_auth_method",
            "private_key_jwt",
        ),
        (
            file,
            "{ env = \"SERVICE_PROVIDER_SP__SECRET\" }",
            "{ env = \"SERVICE_PROVIDER_SP__SHORT\" }",
            "secrets[0]",
            "at least 32 random characters",
        ),
        (
            file,
            "{ env = \"SERVICE_PROVIDER_SP__SECRET\" }",
            "{ sha256 = \"abc\" }",
            "secrets[0].sha256",
            "64 hex digits",
        ),
        (
            file,
            "{ env = \"SERVICE_PROVIDER_SP__SECRET\" }",
            "{ sha256 = \"abc\", env = \"A\" }",
            "secrets[0]",
            "exactly one",
        ),
        (
            file,
            "{ env = \"SERVICE_PROVIDER_SP__SECRET\" }",
            "{ evn = \"SERVICE_PROVIDER_SP__SECRET\" }",
            "secrets[0].evn",
            "file, env, sha256",
        ),
        (
            file,
            "client_id",
            "connectors.deny = [\"idp\"]\nclient_id",
            "connectors",
            "no user can ever log in",
        ),
        (
            file,
            "client_id",
            "connectors.allow = [\"later\"]\nclient_id",
            "connectors",
            "allow at least one connector",
        ),
        (
            file,
            "client_id",
            "connectors.allow = []\nclient_id",
            "connectors.allow",
            "name at least one",
        ),
        (
            file,
            "client_id",
            "connectors = { allow = [\"idp\"], deny = [\"x\"] }\nclient_id",
            "connectors.deny",
            "keep allow (only these), or deny",
        ),
        (
            file,
            "client_id",
            "connectors.idp_hint = \"some\"\nclient_id",
            "connectors.idp_hint",
            "\"none\", or a list",
        ),
        (
            file,
            "client_id",
            "connectors.idp_hint = 3\nclient_id",
            "connectors.idp_hint",
            "\"none\", or a list",
        ),
        (
            file,
            "client_id",
            "connectors.hint = \"any\"\nclient_id",
            "connectors.hint",
            "allow, deny, order, idp_hint",
        ),
        (file, "client_id", "logo = \"none.png\"\nclient_id", "logo", "put the logo there"),
        (
            file,
            "client_id",
            "logo = \"../passerelle.toml\"\nclient_id",
            "logo",
            "folder of this file",
        ),
        (
            file,
            "client_id",
            "rules = \"oidc\"\nclient_id",
            "rules",
            "write one of: federation, openid",
        ),
        (
            file,
            "client_id",
            "consent = \"none\"\nclient_id",
            "consent",
            "write consent = \"information\"",
        ),
        (
            file,
            "[\"openid\", \"email\"]",
            "[\"openid\", \"phone\"]",
            "scopes[1]",
            "to [scopes] of scopes.toml",
        ),
        (
            file,
            "[\"openid\", \"email\"]",
            "[\"openid\", \"birth\"]\nrules = \"openid\"",
            "scopes[1]",
            "to [openid] of scopes.toml",
        ),
        (file, "client_id", "client_id = \"x\"\nclient_id", "", "valid TOML"),
    ];
    check_rows(rows);
}
