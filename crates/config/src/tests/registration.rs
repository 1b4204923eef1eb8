//! Tests of how clients are registered: conflicts, authentication, validity, plain OpenID Connect.

use super::service_providers::SIGNS;
use super::*;

#[test]
fn two_files_with_one_client_id_are_both_named() {
    let folder = Folder::good().with("service-providers/zz.toml", SERVICE);
    let (file, key, text) = folder.problem();
    assert_eq!((file.as_str(), key.as_str()), ("service-providers/zz.toml", "client_id"));
    assert!(text.contains("sp.toml"), "{text}");
}

#[test]
fn a_sector_of_a_service_provider_that_does_not_declare_it_is_rejected() {
    let other = SERVICE.replace("client_id = \"sp\"", "client_id = \"other\"\nsector = \"sp\"");
    let folder = Folder::good().with("service-providers/other.toml", other);
    let (file, key, _) = folder.problem();
    assert_eq!((file.as_str(), key.as_str()), ("service-providers/other.toml", "sector"));
    let loaded = folder
        .edit("service-providers/sp.toml", "client_id", "sector = \"sp\"\nclient_id")
        .loaded();
    assert!(
        loaded.service_providers.values().all(|service| service.service_provider.sector == "sp")
    );
}

#[test]
fn identity_claims_in_the_id_token_are_for_openid_rules_alone() {
    let with = |rules: &str| {
        let lines = format!("id_token_claims = true\n{rules}client_id");
        Folder::good().edit("service-providers/sp.toml", "client_id", &lines)
    };
    let (file, key, text) = with("").problem();
    assert_eq!((file.as_str(), key.as_str()), ("service-providers/sp.toml", "id_token_claims"));
    assert!(text.contains("rules = \"openid\""), "{text}");
    with("rules = \"openid\"\n").loaded();
}

#[test]
fn under_openid_rules_id_tokens_have_the_claims_unless_the_file_or_the_hub_says_otherwise() {
    for (hub, file, expected) in [
        ("", "", true),
        ("", "id_token_claims = false", false),
        ("id_token_claims = false", "", false),
        ("id_token_claims = false", "id_token_claims = true", true),
        ("id_token_claims = true", "id_token_claims = false", false),
    ] {
        let openid = format!("rules = \"openid\"\n{file}\nclient_id");
        let folder = Folder::good()
            .edit("passerelle.toml", "platform =", &format!("{hub}\nplatform ="))
            .edit("service-providers/sp.toml", "client_id", &openid);
        let loaded = folder.loaded();
        let service = loaded.service_providers.values().next().unwrap();
        assert_eq!(service.service_provider.id_token_claims, expected, "{hub} / {file}");
    }
    let loaded = Folder::good().loaded();
    assert!(
        loaded.service_providers.values().all(|service| !service.service_provider.id_token_claims)
    );
}

#[test]
fn a_lifetime_of_access_tokens_beyond_an_hour_is_refused() {
    let with = |seconds: &str| {
        let line = format!("access_token_seconds = {seconds}\nclient_id");
        Folder::good().edit("service-providers/sp.toml", "client_id", &line)
    };
    for seconds in ["0", "3601"] {
        let (_, key, _) = with(seconds).problem();
        assert_eq!(key, "access_token_seconds");
    }
    with("3600").loaded();
}

#[test]
fn private_key_jwt_needs_a_key_of_its_algorithm_and_no_secret() {
    let key = josekit::jwk::Jwk::generate_ec_key(josekit::jwk::alg::ec::EcCurve::P256)
        .unwrap()
        .to_public_key()
        .unwrap();
    let set = serde_json::json!({ "keys": [key.as_ref()] }).to_string();
    let folder_with = |alg: &str| {
        let lines = format!("{SIGNS}\njwks = {{ file = \"sp.jwks\" }}\n{alg}");
        Folder::good().with("sp.jwks", &set).edit(
            "service-providers/sp.toml",
            "secrets = [{ env = \"SERVICE_PROVIDER_SP__SECRET\" }]",
            &lines,
        )
    };
    let loaded = folder_with("").loaded();
    assert!(loaded.warnings_at(Timestamp::default()).all(|warning| warning.key != "secrets"));
    let (_, key, text) = folder_with("token_endpoint_auth_signing_alg = \"RS256\"").problem();
    assert_eq!(key, "jwks");
    assert!(text.contains("RS256"), "{text}");
}

#[test]
fn dated_secrets_are_valid_and_reported_when_none_is_valid() {
    let chain = r#"[
        { env = "SERVICE_PROVIDER_SP__SECRET", not_before = 2027-01-01T00:00:00Z, not_after = 2027-03-01T00:00:00Z },
        { env = "SERVICE_PROVIDER_SP__SECRET", not_before = 2027-02-01T00:00:00Z, not_after = 2027-04-01T00:00:00Z },
        { env = "SERVICE_PROVIDER_SP__SECRET", not_before = 2027-03-01T00:00:00Z, not_after = 2027-05-01T00:00:00Z },
    ]"#;
    let loaded = Folder::good()
        .edit("service-providers/sp.toml", "[{ env = \"SERVICE_PROVIDER_SP__SECRET\" }]", chain)
        .loaded();
    let at = |text: &str| {
        Timestamp::from_millis(
            chrono::DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis() as u64,
        )
    };
    let warnings = |now| {
        loaded.warnings_at(now).any(|warning| warning.key == "secrets" && warning.line.is_some())
    };
    for (now, expected) in [
        ("2026-12-31T23:59:59Z", true),
        ("2027-01-01T00:00:00Z", false),
        ("2027-04-30T23:59:59Z", false),
        ("2027-05-01T00:00:00Z", true),
    ] {
        assert_eq!(warnings(at(now)), expected, "{now}");
    }
    assert!(
        render_check_output(&Ok(loaded.clone()), at("2027-06-01T00:00:00Z"))
            .contains("contains no currently valid secret")
    );
}

#[test]
fn the_scopes_table_is_data() {
    let folder = Folder::good()
        .with("scopes.toml", "[scopes]\nopenid = [\"sub\"]\nemail = [\"shoe_size\"]\n");
    let (file, key, _) = folder.problem();
    assert_eq!((file.as_str(), key.as_str()), ("scopes.toml", "scopes.email"));
}

#[test]
fn the_table_of_openid_connect_is_data_too() {
    for (rows, key) in [
        ("openid = [\"email\"]", "openid.openid"),
        ("email = [\"shoe_size\"]", "openid.email"),
        ("\"a b\" = [\"email\"]", "openid.a b"),
    ] {
        let folder = Folder::good().with(
            "scopes.toml",
            format!("[scopes]\nopenid = [\"sub\"]\nemail = [\"email\"]\n[openid]\n{rows}\n"),
        );
        assert_eq!(folder.problem().1, key, "{rows}");
    }
    // The specification's table has the specification's claims only.
    let folder = Folder::good().with(
        "scopes.toml",
        "[scopes]\nopenid = [\"sub\"]\nemail = [\"email\", \"email_verified\"]\n",
    );
    assert_eq!(folder.problem().1, "scopes.email");
    let loaded = Folder::good()
        .with("scopes.toml", "[scopes]\nopenid = [\"sub\"]\nemail = [\"email\"]\n")
        .loaded();
    assert!(loaded.scopes.openid.contains_key("phone"), "without [openid], the built-in one");
    let openid_only = Folder::good().with("scopes.toml", "[openid]\nmembership = [\"email\"]\n");
    let scopes = openid_only.loaded().scopes;
    assert!(scopes.openid.contains_key("membership"));
    assert!(scopes.scopes.contains_key("identite_pivot"), "without [scopes], the built-in one");
    let more = "[scopes]\nopenid = [\"sub\"]\nemail = [\"email\"]\n[openid]\nmembership = [\"email\"]\nprofile = [\"nickname\"]\n";
    let openid = Folder::good().with("scopes.toml", more).loaded().scopes.openid;
    let claims = |scope: &str| openid.get(scope).cloned().unwrap_or_default();
    assert_eq!(claims("membership"), ["email"]);
    assert_eq!(claims("profile"), ["nickname"], "a scope of the file has the claims of the file");
    assert_eq!(claims("openid"), ["sub"], "one scope in the file removes no other");
    assert_eq!(claims("email"), ["email", "email_verified"]);
}

#[test]
fn what_plain_openid_connect_registers_by_default() {
    let service = |more: &str| {
        let file = SERVICE.replace("client_id = \"sp\"", &format!("client_id = \"sp\"\n{more}"));
        let loaded = Folder::good().with("service-providers/sp.toml", file).loaded();
        let service = loaded.build_federation().service_provider(&"sp".into()).unwrap().clone();
        (service.id_token_signed_response_alg, service.userinfo_signed_response_alg)
    };
    use passerelle_protocol::alg::SigningAlg::{ES256, RS256};
    assert_eq!(service(""), (ES256, Some(ES256)));
    assert_eq!(service("rules = \"openid\"\nconsent = \"none\""), (RS256, None));
    let named =
        "id_token_signed_response_alg = \"ES256\"\nuserinfo_signed_response_alg = \"RS256\"";
    assert_eq!(service(&format!("rules = \"openid\"\n{named}")), (ES256, Some(RS256)));
}

#[test]
fn authentication_without_a_registered_method_accepts_post_and_basic() {
    let authentication = |more: &str| {
        let file = SERVICE.replace("client_id = \"sp\"", &format!("client_id = \"sp\"\n{more}"));
        let loaded = Folder::good().with("service-providers/sp.toml", file).loaded();
        loaded.build_federation().service_provider(&"sp".into()).unwrap().authentication.clone()
    };
    use passerelle_federation::ClientAuthentication::{Secret, SecretBasic, SecretPost};
    let (post, basic) = ["post", "basic"]
        .map(|by| format!("token_endpoint_auth_method = \"client_secret_{by}\""))
        .into();
    assert!(matches!(authentication(""), SecretPost(_)), "the federation's way");
    assert!(matches!(authentication(&basic), SecretBasic(_)));
    assert!(
        matches!(authentication("rules = \"openid\""), Secret(_)),
        "as ordinary libraries do it"
    );
    assert!(matches!(authentication(&format!("rules = \"openid\"\n{post}")), SecretPost(_)));
    assert!(matches!(authentication(&format!("rules = \"openid\"\n{basic}")), SecretBasic(_)));
}

#[test]
fn the_high_platform_refuses_plain_openid_connect() {
    let settings = SETTINGS
        .replace("\"standard\"", "\"high\"")
        .replace("identity_source = \"provider\"\n", "");
    let service = SERVICE.replace("client_id = \"sp\"", "client_id = \"sp\"\nrules = \"openid\"");
    let folder =
        Folder::good().with("passerelle.toml", settings).with("service-providers/sp.toml", service);
    let problems = folder.load().unwrap_err();
    let text = problems.iter().find(|problem| problem.key == "rules").unwrap().to_string();
    assert!(text.contains("remove it and follow the specification"), "{text}");
}
