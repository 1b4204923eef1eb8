//! Tests the files of data providers.

use std::sync::LazyLock;

use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use serde_json::json;

use crate::tests::{CLIENT_SECRET, Folder};
use passerelle_federation::IntrospectionResponseFormat;
use passerelle_protocol::alg::{EncryptionAlg, SigningAlg};
use passerelle_protocol::env::Timestamp;

const FILE: &str = "data-providers/archive.toml";

const ARCHIVE: &str = r#"
client_id = "archive"
name = { fr = "Archives", en = "Archive" }
scopes = ["openid", "family_name"]
secrets = [{ env = "DATA_PROVIDER_ARCHIVE__SECRET" }]
"#;

const ENCRYPTED: &str = r#"
introspection_signed_response_alg = "RS256"
introspection_encrypted_response_alg = "ECDH-ES"
introspection_encrypted_response_enc = "A256GCM"
jwks = { file = "archive.jwks" }
"#;

static PUBLIC: LazyLock<String> = LazyLock::new(|| {
    let mut key = Jwk::generate_ec_key(EcCurve::P256).unwrap().to_public_key().unwrap();
    key.set_key_id("ec-1");
    json!({ "keys": [key.as_ref()] }).to_string()
});

fn folder() -> Folder {
    Folder::good()
        .variable("DATA_PROVIDER_ARCHIVE__SHORT", "short")
        .with(FILE, ARCHIVE)
        .with("archive.jwks", PUBLIC.as_str())
}

fn with(lines: &str) -> Folder {
    folder().edit(FILE, "client_id", &format!("{}\nclient_id", lines.trim_ascii()))
}

#[test]
fn a_good_file_is_a_data_provider_and_no_folder_is_none() {
    assert!(Folder::good().loaded().data_providers.is_empty());
    let loaded = folder().loaded();
    let archive = &loaded.data_providers.get("archive").unwrap().data_provider;
    assert_eq!(
        archive.secrets[0].sha256,
        passerelle_protocol::digest::sha256(CLIENT_SECRET.as_bytes())
    );
    assert_eq!((archive.sector.as_str(), archive.subject_key_version), ("archive", 1));
    let federation = loaded.build_federation();
    let archive = federation.data_provider(&"archive".into()).unwrap();
    assert_eq!(
        (archive.active, archive.response_format),
        (true, IntrospectionResponseFormat::Json)
    );
    assert!(federation.service_provider(&"archive".into()).is_none(), "it can't ask for a login");
    let off = with("active = false").loaded().build_federation();
    assert_eq!(off.active_data_providers().count(), 0);
}

#[test]
fn the_response_format_is_that_of_the_file() {
    for (lines, expected) in [
        (
            "introspection_signed_response_alg = \"ES256\"",
            IntrospectionResponseFormat::Jwt { alg: SigningAlg::ES256, encryption: None },
        ),
        (
            ENCRYPTED,
            IntrospectionResponseFormat::Jwt {
                alg: SigningAlg::RS256,
                encryption: Some(EncryptionAlg::EcdhEs),
            },
        ),
    ] {
        let federation = with(lines).loaded().build_federation();
        assert_eq!(federation.data_provider(&"archive".into()).unwrap().response_format, expected);
    }
}

#[test]
fn each_bad_data_provider_is_named_with_its_fix() {
    let uri = "jwks_uri = \"http://archive.example/jwks\"\nintrospection_signed_response_alg = \"ES256\"\nintrospection_encrypted_response_alg = \"ECDH-ES\"";
    for (from, to, key, words) in [
        ("client_id = \"archive\"", "client_id = \"the archive\"", "client_id", "printable"),
        ("client_id = \"archive\"", "client_id = \"sp\"", "client_id", "a unique client_id"),
        ("{ fr = \"Archives\", en = \"Archive\" }", "{}", "name", "has no text in any language"),
        ("\"family_name\"", "\"surname\"", "scopes[1]", "birthcountry"),
        (", \"family_name\"", "", "scopes", "every token would be inactive"),
        ("[\"openid\", \"family_name\"]", "[]", "scopes", "every token would be inactive"),
        ("\"family_name\"", "\"family_name\", \"email\"", "scopes[2]", "never receive"),
        ("{ env = \"DATA_PROVIDER_ARCHIVE__SECRET\" }", "", "secrets", "add one or two"),
        (
            "DATA_PROVIDER_ARCHIVE__SECRET",
            "DATA_PROVIDER_ARCHIVE__SHORT",
            "secrets[0]",
            "at least 32 random characters",
        ),
        ("client_id", "sector = \" \"\nclient_id", "sector", "name the sector"),
        (
            "client_id",
            "sector = \"sp\"\nclient_id",
            "sector",
            "write sector = \"sp\" in that file too",
        ),
        ("client_id", "subject_key_version = 2\nclient_id", "subject_key_version", "one of: 1"),
        (
            "client_id",
            "introspection_signed_response_alg = \"HS256\"\nclient_id",
            "introspection_signed_response_alg",
            "ES256, RS256",
        ),
        ("client_id", "redirect_uris = []\nclient_id", "redirect_uris", "scopes"),
        (
            "client_id",
            "jwks = { file = \"archive.jwks\" }\nclient_id",
            "jwks",
            "responses are not encrypted",
        ),
        (
            "client_id",
            "introspection_encrypted_response_enc = \"A256GCM\"\nclient_id",
            "introspection_encrypted_response_enc",
            "remove it",
        ),
        (
            "client_id",
            "introspection_encrypted_response_alg = \"ECDH-ES\"\njwks = { file = \"archive.jwks\" }\nclient_id",
            "introspection_encrypted_response_alg",
            "add introspection_signed_response_alg",
        ),
        (
            "client_id",
            "introspection_encrypted_response_alg = \"ECDH-ES\"\nintrospection_signed_response_alg = \"ES256\"\nclient_id",
            "jwks",
            "use = \"enc\"",
        ),
        (
            "client_id",
            &format!("{}\nclient_id", ENCRYPTED.replace("ECDH-ES", "RSA-OAEP")),
            "jwks",
            "RSA key of 2048 to 4096 bits",
        ),
        ("client_id", &format!("{uri}\nclient_id"), "jwks_uri", "https"),
    ] {
        let (file, found, text) = folder().edit(FILE, from, to).problem();
        assert_eq!((file.as_str(), found.as_str()), (FILE, key), "{to}: {text}");
        assert!(text.contains(words), "{to}: {text}");
    }
}

#[test]
fn a_sector_is_shared_with_service_providers_only_if_both_declare_it() {
    let shared = with("sector = \"tax\"")
        .edit("service-providers/sp.toml", "client_id", "sector = \"tax\"\nclient_id")
        .loaded();
    assert_eq!(shared.data_providers.get("archive").unwrap().data_provider.sector, "tax");
    let (file, key, _) = folder()
        .edit("service-providers/sp.toml", "client_id", "sector = \"archive\"\nclient_id")
        .problem();
    assert_eq!((file.as_str(), key.as_str()), ("service-providers/sp.toml", "sector"));
}

#[test]
fn expired_secrets_are_a_warning() {
    let over = folder()
        .edit(
            FILE,
            "DATA_PROVIDER_ARCHIVE__SECRET\" }",
            "DATA_PROVIDER_ARCHIVE__SECRET\", not_after = 2027-01-01T00:00:00Z }",
        )
        .loaded();
    let is_reported = |seconds| {
        over.warnings_at(Timestamp::from_seconds(seconds))
            .any(|warning| warning.message.contains("introspection"))
    };
    assert_eq!((is_reported(1_798_761_599), is_reported(1_798_761_600)), (false, true));
}

#[test]
fn a_variable_that_sets_a_key_is_no_secret_of_a_data_provider() {
    let folder = folder()
        .edit(FILE, "DATA_PROVIDER_ARCHIVE__SECRET", "PASSERELLE_HOME_COUNTRY")
        .variable("PASSERELLE_HOME_COUNTRY", "99100");
    assert!(folder.problem().2.contains("may not reference"));
}
