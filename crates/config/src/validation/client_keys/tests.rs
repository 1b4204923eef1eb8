//! Tests the keys of service providers.

use std::sync::LazyLock;

use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use serde_json::{Map, Value};

use super::*;
use crate::tests::Folder;
use passerelle_protocol::alg::{EncryptionAlg, SigningAlg};

const SP: &str = "service-providers/sp.toml";

static KEY: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let mut key = Jwk::generate_ec_key(EcCurve::P256).unwrap();
    key.set_key_id("ec-1");
    key.set_key_use("enc");
    key.into()
});

/// Returns the key as the content of a TOML table, without these members.
fn toml_members(without: &[&str]) -> String {
    let members = KEY.iter().filter(|(name, _)| !without.contains(&name.as_str()));
    members.map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

fn public_set() -> String {
    let mut key = KEY.clone();
    key.remove("d");
    json!({ "keys": [key] }).to_string()
}

/// Returns a folder whose service provider has these additional lines.
fn with(lines: &str) -> Folder {
    Folder::good().with("sp.jwks.json", public_set()).edit(
        SP,
        "client_id",
        &format!("{lines}\nclient_id"),
    )
}

#[test]
fn keys_stand_in_a_file_or_as_tables() {
    let inline = format!("jwks = {{ keys = [{{ {} }}] }}", toml_members(&["d"]));
    for lines in ["jwks = { file = \"sp.jwks.json\" }", &inline] {
        let loaded = with(lines).loaded();
        let KeySource::Inline(keys) =
            &loaded.service_providers.get("sp").unwrap().service_provider.keys
        else {
            panic!("{lines}")
        };
        assert_eq!(keys.encryption.select(EncryptionAlg::EcdhEs).unwrap().kid, "ec-1");
        assert!(keys.verification.is_empty(), "the key's use is encryption");
    }
}

#[test]
fn a_jwks_uri_is_returned_with_its_egress_rules() {
    let loaded =
        with("jwks_uri = \"https://sp.internal/jwks\"\ninternal_hosts = [\"sp.internal\"]")
            .loaded();
    let KeySource::Uri(address) =
        &loaded.service_providers.get("sp").unwrap().service_provider.keys
    else {
        panic!("no address")
    };
    assert_eq!(
        (address.uri.as_str(), address.schemes),
        ("https://sp.internal/jwks", AllowedSchemes::HttpsOnly)
    );
    assert_eq!(address.internal_hosts, ["sp.internal"]);
}

#[test]
fn each_bad_key_source_is_named_with_its_fix() {
    let private = format!("jwks = {{ keys = [{{ {} }}] }}", toml_members(&[]));
    let symmetric = "jwks = { keys = [{ kty = \"oct\", k = \"c2VjcmV0\" }] }";
    let both = "jwks = { file = \"sp.jwks.json\" }\njwks_uri = \"https://sp.example.org/jwks\"";
    let two =
        format!("jwks = {{ file = \"sp.jwks.json\", keys = [{{ {} }}] }}", toml_members(&["d"]));
    for (lines, key, words) in [
        (both, "jwks_uri", "remove one of the two"),
        (&two, "jwks", "file and keys"),
        ("jwks = {}", "jwks", "contains no key"),
        ("jwks = { file = \"none.json\" }", "jwks.file", "missing"),
        ("jwks = { file = \"passerelle.toml\" }", "jwks.file", "not a JWK Set"),
        ("jwks = { flie = \"x\" }", "jwks.flie", "did you mean `file`?"),
        (&private, "jwks.keys", "private"),
        (symmetric, "jwks.keys", "symmetric"),
        ("jwks = { keys = [{ kty = \"EC\" }] }", "jwks.keys", "no usable key"),
        ("jwks_uri = \"http://localhost/jwks\"", "jwks_uri", "insecure_http"),
        ("jwks_uri = \"/jwks\"", "jwks_uri", "absolute"),
        ("jwks_uri = \"https://me:pw@sp.example.org/\"", "jwks_uri", "user name"),
        ("internal_hosts = [\"a\"]", "internal_hosts", "add jwks_uri"),
        (
            "jwks_uri = \"https://sp.example.org/jwks\"\ninternal_hosts = [\"https://a\"]",
            "internal_hosts[0]",
            "host name",
        ),
    ] {
        let (file, found, text) = with(lines).problem();
        assert_eq!((file.as_str(), found.as_str()), (SP, key), "{lines}: {text}");
        assert!(text.contains(words), "{lines}: {text}");
        assert!(!text.contains(KEY["d"].as_str().unwrap()), "the private key is in the message");
    }
}

/// The same on the high platform.
fn high(lines: &str) -> Folder {
    with(lines).edit("passerelle.toml", "\"standard\"", "\"high\"")
}

const INLINE: &str = "jwks = { file = \"sp.jwks.json\" }";

#[test]
fn on_high_a_service_provider_declares_its_encryption() {
    let alg = Some(EncryptionAlg::EcdhEs);
    let ecdh = ResponseEncryptionAlgs { id_token: alg, userinfo: alg };
    let mixed = ResponseEncryptionAlgs { userinfo: Some(EncryptionAlg::RsaOaep256), ..ecdh };
    let uri = "jwks_uri = \"https://sp.example.org/jwks\"";
    for (keys, lines, expected) in [
        (INLINE, "id_token_encrypted_response_alg = \"ECDH-ES\"", ecdh),
        (
            INLINE,
            "id_token_encrypted_response_alg = \"ECDH-ES\"\nid_token_encrypted_response_enc = \"A256GCM\"",
            ecdh,
        ),
        (
            uri,
            "id_token_encrypted_response_alg = \"ECDH-ES\"\nuserinfo_encrypted_response_alg = \"RSA-OAEP-256\"",
            mixed,
        ),
    ] {
        let loaded = high(&format!("{keys}\n{lines}")).loaded();
        assert_eq!(
            loaded.service_providers.get("sp").unwrap().service_provider.encryption,
            expected,
            "{lines}"
        );
        assert_eq!(loaded.settings.lifetimes.session(Platform::High).as_secs(), 600);
    }
}

#[test]
fn on_high_a_service_provider_without_an_encryption_key_is_rejected() {
    let ecdh = "id_token_encrypted_response_alg = \"ECDH-ES\"";
    let nameless = format!("jwks = {{ keys = [{{ {} }}] }}\n{ecdh}", toml_members(&["d", "kid"]));
    let signs = format!(
        "jwks = {{ keys = [{{ {} }}] }}\n{ecdh}",
        toml_members(&["d"]).replace("\"enc\"", "\"sig\"")
    );
    for (lines, key, words) in [
        (ecdh, "jwks", "is missing, but its tokens are encrypted"),
        (INLINE, "id_token_encrypted_response_alg", "(its keys allow ECDH-ES)"),
        (
            &format!("{INLINE}\nid_token_encrypted_response_alg = \"RSA-OAEP-256\""),
            "jwks",
            "add an RSA key",
        ),
        (
            &format!("{INLINE}\n{ecdh}\nuserinfo_encrypted_response_alg = \"RSA-OAEP\""),
            "jwks",
            "no key that RSA-OAEP can",
        ),
        (&signs, "jwks", "key 1 is not for encryption (use)"),
        (
            &format!("{INLINE}\nid_token_encrypted_response_alg = \"RSA1_5\""),
            "id_token_encrypted_response_alg",
            "RSA-OAEP-256",
        ),
        (
            &format!("{INLINE}\n{ecdh}\nid_token_encrypted_response_enc = \"A128GCM\""),
            "id_token_encrypted_response_enc",
            "write one of: A256GCM",
        ),
    ] {
        let (file, found, text) = high(lines).problem();
        assert_eq!((file.as_str(), found.as_str()), (SP, key), "{lines}: {text}");
        assert!(text.contains(words), "{lines}: {text}");
    }
    // Unusable keys are rejected on both platforms.
    assert!(high(&nameless).problem().2.contains("no usable key"));
}

#[test]
fn under_the_rules_of_the_specification_nothing_is_encrypted_on_standard() {
    for key in ["id_token_encrypted_response", "userinfo_encrypted_response"] {
        for (part, value) in [("alg", "ECDH-ES"), ("enc", "A256GCM")] {
            let key = format!("{key}_{part}");
            let (_, found, text) = with(&format!("{INLINE}\n{key} = \"{value}\"")).problem();
            assert_eq!(found, key);
            assert!(text.contains("rules = \"openid\""), "{text}");
        }
    }
}

/// A service provider with plain OpenID Connect.
fn openid(lines: &str) -> Folder {
    with(&format!("rules = \"openid\"\n{lines}"))
}

#[test]
fn under_openid_rules_each_response_is_encrypted_as_registered_and_signed_before() {
    let alg = Some(EncryptionAlg::EcdhEs);
    let (id_token, userinfo) = (
        "id_token_encrypted_response_alg = \"ECDH-ES\"",
        "userinfo_encrypted_response_alg = \"ECDH-ES\"",
    );
    let signed = "userinfo_signed_response_alg = \"ES256\"";
    for (lines, expected, signature) in [
        (String::new(), (None, None), None),
        (id_token.into(), (alg, None), None),
        (userinfo.into(), (None, alg), Some(SigningAlg::RS256)),
        (format!("{id_token}\n{userinfo}\n{signed}"), (alg, alg), Some(SigningAlg::ES256)),
    ] {
        let loaded = openid(&format!("{INLINE}\n{lines}")).loaded();
        let service = &loaded.service_providers.get("sp").unwrap().service_provider;
        assert_eq!((service.encryption.id_token, service.encryption.userinfo), expected, "{lines}");
        assert_eq!(service.userinfo_signed_response_alg, signature, "{lines}");
    }
    for (lines, key) in [
        (id_token, "jwks"),
        (userinfo, "jwks"),
        (&format!("{INLINE}\nuserinfo_encrypted_response_alg = \"RSA-OAEP\""), "jwks"),
        ("id_token_encrypted_response_enc = \"A256GCM\"", "id_token_encrypted_response_enc"),
        ("userinfo_encrypted_response_enc = \"A256GCM\"", "userinfo_encrypted_response_enc"),
    ] {
        assert_eq!(openid(lines).problem().1, key, "{lines}");
    }
}

#[test]
fn settings_without_effect_on_the_high_platform_are_warnings() {
    let good = format!("{INLINE}\nid_token_encrypted_response_alg = \"ECDH-ES\"");
    let low = "name = { en = \"Low\" }\nlevels = { lowest = \"eidas1\", highest = \"eidas1\" }\nacr = { eidas1 = [\"low\"] }\n\
               [kind.oidc]\nissuer = \"https://low.example.org\"\nclient_id = \"hub\"\nclient_secret = { env = \"CONNECTOR_IDP__SECRET\" }\n";
    let loaded = high(&good)
        .with("connectors/low.toml", low)
        .with("register.csv", "")
        .edit(
            "passerelle.toml",
            "identity_source",
            "register.file.path = \"register.csv\"\nidentity_source",
        )
        .loaded();
    let warned = |key: &str| loaded.warnings.iter().any(|warning| warning.key == key);
    assert!(warned("levels.highest") && warned("register"), "{:#?}", loaded.warnings);
    assert!(!warned("identity_source"), "on high, identities always come from the provider");
    // With only this connector, no user could ever log in.
    let (file, key, _) = high(&good).with("connectors/idp.toml", low).problem();
    assert_eq!((file.as_str(), key.as_str()), (SP, "connectors"));
}
