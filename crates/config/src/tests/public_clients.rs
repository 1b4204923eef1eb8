//! Tests of public clients: what their files must and must not have.

use super::*;
use passerelle_federation::ClientAuthentication;
use passerelle_protocol::registration::ClientType;

const FILE: &str = "service-providers/sp.toml";

/// Returns a configuration with a public client whose file has these additional lines.
fn public(more: &str) -> Folder {
    let file = SERVICE.replace(
        "secrets = [{ env = \"SERVICE_PROVIDER_SP__SECRET\" }]",
        &format!("token_endpoint_auth_method = \"none\"\n{more}"),
    );
    Folder::good().with(FILE, file)
}

fn with_redirect(uri: &str) -> Folder {
    public("").edit(FILE, "https://sp.example.org/callback", uri)
}

#[test]
fn a_public_client_has_no_secret_and_always_pkce() {
    let loaded = public("cors_origins = [\"https://app.example.org\", \"http://localhost:5173\"]");
    let federation = loaded.loaded().build_federation();
    let client = federation.service_provider(&"sp".into()).unwrap();
    assert!(matches!(client.authentication, ClientAuthentication::Public));
    assert_eq!(client.registration.client_type, ClientType::Public);
    assert!(client.registration.needs_pkce() && federation.has_public_clients());
    for (origin, registered) in [
        ("https://app.example.org", true),
        ("http://localhost:5173", true),
        ("http://localhost:5174", false),
        ("http://app.example.org", false),
        ("https://app.example.org.attacker.example", false),
        ("https://APP.example.org", false),
        ("null", false),
        ("", false),
    ] {
        assert_eq!(federation.has_cors_origin(origin), registered, "{origin}");
    }
    let inactive = public("cors_origins = [\"https://app.example.org\"]\nactive = false");
    let federation = inactive.loaded().build_federation();
    assert!(!federation.has_cors_origin("https://app.example.org"));
    assert!(!federation.has_public_clients());
}

#[test]
fn native_redirect_uris_are_for_public_clients() {
    for uri in [
        "http://127.0.0.1/callback",
        "http://[::1]/callback",
        "http://localhost:5173/callback",
        "com.example.app:/callback",
        "org.example-app.v2:/",
    ] {
        with_redirect(uri).loaded();
    }
    let confidential =
        Folder::good().edit(FILE, "https://sp.example.org/callback", "com.example.app:/callback");
    let (_, key, text) = confidential.problem();
    assert_eq!(key, "redirect_uris[0]");
    assert!(text.contains("token_endpoint_auth_method = \"none\""), "{text}");
}

#[test]
fn each_bad_redirect_uri_is_named_with_its_fix() {
    for (uri, word) in [
        ("myapp:/callback", "with a dot"),
        ("javascript:alert(1)", "with a dot"),
        ("com.example.app://callback", "exactly one slash"),
        ("com.example.app:callback", "exactly one slash"),
        ("Com.example.App:/callback", "lower case"),
        ("com.example.app:/call back", "percent-encode"),
        ("com.example.app:/callback#x", "fragment"),
        ("com.example.app:/*", "patterns are not supported"),
        ("http://sp.example.org/callback", "use https://"),
    ] {
        let (file, key, text) = with_redirect(uri).problem();
        assert_eq!((file.as_str(), key.as_str()), (FILE, "redirect_uris[0]"), "{uri}");
        assert!(text.contains(word) && !text.contains(uri), "{uri}: {text}");
    }
}

#[test]
fn each_setting_that_contradicts_a_public_client_is_named_with_its_fix() {
    for (more, key, word) in [
        ("secrets = [{ env = \"SERVICE_PROVIDER_SP__SECRET\" }]", "secrets", "remove them"),
        ("rules = \"openid\"\nconsent = \"none\"", "consent", "RFC 8252"),
        ("public_on_high = true", "public_on_high", "high platform only"),
        (
            "token_endpoint_auth_signing_alg = \"ES256\"",
            "token_endpoint_auth_signing_alg",
            "remove it",
        ),
        ("client_assertion_audiences = [\"issuer\"]", "client_assertion_audiences", "remove it"),
        ("cors_origins = [\"http://app.example.org\"]", "cors_origins[0]", "use https://"),
        ("cors_origins = [\"https://app.example.org/\"]", "cors_origins[0]", "trailing slash"),
        ("cors_origins = [\"https://app.example.org/app\"]", "cors_origins[0]", "without path"),
        ("cors_origins = [\"https://app.example.org:443\"]", "cors_origins[0]", "default port"),
        ("cors_origins = [\"https://App.example.org\"]", "cors_origins[0]", "lower case"),
        ("cors_origins = [\"https://me@app.example.org\"]", "cors_origins[0]", "user name"),
        ("cors_origins = [\"https://*.example.org\"]", "cors_origins[0]", "list each"),
        ("cors_origins = [\"*\"]", "cors_origins[0]", "list each"),
        ("cors_origins = [\"null\"]", "cors_origins[0]", "scheme, host and port"),
        ("cors_origins = [\"app.example.org\"]", "cors_origins[0]", "scheme, host and port"),
        ("cors_origins = [\"com.example.app:/\"]", "cors_origins[0]", "neither https nor http"),
    ] {
        let (file, found, text) = public(more).problem();
        assert_eq!((file.as_str(), found.as_str()), (FILE, key), "{more}");
        assert!(text.contains(word), "{more}: {text}");
    }
    let first = "client_id = \"sp\"";
    for line in ["cors_origins = [\"https://app.example.org\"]", "public_on_high = true"] {
        let folder = Folder::good().edit(FILE, first, &format!("{first}\n{line}"));
        let text = folder.problem().2;
        assert!(text.contains("token_endpoint_auth_method = \"none\""), "{text}");
    }
}

#[test]
fn the_high_platform_refuses_a_public_client_unless_the_file_says_so() {
    let settings = SETTINGS
        .replace("\"standard\"", "\"high\"")
        .replace("identity_source = \"provider\"\n", "");
    let high = |more: &str| public(more).with("passerelle.toml", settings.clone());
    let (_, _, text) = high("").problem_at("token_endpoint_auth_method");
    assert!(text.contains("public_on_high = true"), "{text}");
    let problems = high("public_on_high = true").load().map(|_| ()).unwrap_err();
    assert!(problems.iter().all(|problem| problem.key != "token_endpoint_auth_method"));
}
