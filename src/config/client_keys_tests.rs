//! Keys of service providers as an operator writes them.

use std::sync::LazyLock;

use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use serde_json::{Map, Value};

use super::*;
use crate::config::tests::Folder;
use crate::protocol::alg::EncryptionAlg;

const SP: &str = "service-providers/sp.toml";

static KEY: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let mut key = Jwk::generate_ec_key(EcCurve::P256).unwrap();
    key.set_key_id("ec-1");
    key.set_key_use("enc");
    key.into()
});

/// The key as a TOML table's inside, without these members.
fn toml_members(without: &[&str]) -> String {
    let members = KEY.iter().filter(|(name, _)| !without.contains(&name.as_str()));
    members.map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

fn public_set() -> String {
    let mut key = KEY.clone();
    key.remove("d");
    json!({ "keys": [key] }).to_string()
}

/// A folder whose service provider has these lines more.
fn with(lines: &str) -> Folder {
    Folder::good().with("sp.jwks.json", public_set()).edit(SP, "client_id", &format!("{lines}\nclient_id"))
}

#[test]
fn keys_stand_in_a_file_or_as_tables() {
    let inline = format!("jwks = {{ keys = [{{ {} }}] }}", toml_members(&["d"]));
    for lines in ["jwks = { file = \"sp.jwks.json\" }", &inline] {
        let loaded = with(lines).loaded();
        let KeySource::Inline(keys) = &loaded.service_providers.get("sp").unwrap().keys else { panic!("{lines}") };
        assert_eq!(keys.encryption.choose(EncryptionAlg::EcdhEs).unwrap().kid, "ec-1");
        assert!(keys.verification.is_empty(), "the key says that it is for encryption");
    }
}

#[test]
fn an_address_is_kept_with_what_the_guard_must_know() {
    let loaded = with("jwks_uri = \"https://sp.internal/jwks\"\ninternal_hosts = [\"sp.internal\"]").loaded();
    let KeySource::Uri(address) = &loaded.service_providers.get("sp").unwrap().keys else { panic!("no address") };
    assert_eq!((address.uri.as_str(), address.schemes), ("https://sp.internal/jwks", Schemes::HttpsOnly));
    assert_eq!(address.internal_hosts, ["sp.internal"]);
}

#[test]
fn each_bad_key_source_is_named_with_its_mend() {
    let private = format!("jwks = {{ keys = [{{ {} }}] }}", toml_members(&[]));
    let symmetric = "jwks = { keys = [{ kty = \"oct\", k = \"c2VjcmV0\" }] }";
    let both = "jwks = { file = \"sp.jwks.json\" }\njwks_uri = \"https://sp.example.org/jwks\"";
    let two = format!("jwks = {{ file = \"sp.jwks.json\", keys = [{{ {} }}] }}", toml_members(&["d"]));
    for (lines, key, words) in [
        (both, "jwks_uri", "remove one of the two"),
        (&two, "jwks", "file and keys"),
        ("jwks = {}", "jwks", "leads to no key"),
        ("jwks = { file = \"none.json\" }", "jwks.file", "missing"),
        ("jwks = { file = \"passerelle.toml\" }", "jwks.file", "no JWK Set"),
        ("jwks = { flie = \"x\" }", "jwks.flie", "use one of: file, keys"),
        (&private, "jwks.keys", "private"),
        (symmetric, "jwks.keys", "symmetric"),
        ("jwks = { keys = [{ kty = \"EC\" }] }", "jwks.keys", "no key that is usable"),
        ("jwks_uri = \"http://localhost/jwks\"", "jwks_uri", "insecure_http"),
        ("jwks_uri = \"/jwks\"", "jwks_uri", "absolute"),
        ("jwks_uri = \"https://me:pw@sp.example.org/\"", "jwks_uri", "user name"),
        ("internal_hosts = [\"a\"]", "internal_hosts", "add jwks_uri"),
    ] {
        let (file, found, text) = with(lines).problem();
        assert_eq!((file.as_str(), found.as_str()), (SP, key), "{lines}: {text}");
        assert!(text.contains(words), "{lines}: {text}");
        assert!(!text.contains(KEY["d"].as_str().unwrap()), "the private key is in the message");
    }
}
