//! Tests `[register.http]`.

use crate::tests::Folder;
use passerelle_register::kind::RegisterSettings;

#[test]
fn a_register_over_http_is_read_with_its_credentials() {
    let table = r#"[register.http]
url = "https://register.example.org/v1/"
client_certificate = "r.crt"
client_key = { env = "REGISTER_KEY" }
ca = "r.crt"
bearer = { env = "REGISTER_TOKEN" }
internal_hosts = ["register.example.org"]
"#;
    let certificate = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n";
    let folder = Folder::good()
        .edit("passerelle.toml", "identity_source = \"provider\"\n", table)
        .with("r.crt", certificate);
    let folder = folder
        .variable("REGISTER_KEY", "private key of the register")
        .variable("REGISTER_TOKEN", "abc-._~+/123==");
    let loaded = folder.loaded();
    let register = loaded.register.as_ref().unwrap().settings::<Box<dyn RegisterSettings>>();
    let identity = format!("{certificate}\nprivate key of the register\n");
    assert_eq!(
        register.unwrap().certificates(),
        [("register_client", identity.as_str()), ("register_ca", certificate)]
    );
    assert!(
        !format!("{loaded:?}").contains("private key of the register")
            && !format!("{loaded:?}").contains("123==")
    );
    let folder = folder.variable("REGISTER_TOKEN", "Bearer abc");
    let (_, key, text) = folder.problem();
    assert!(
        key == "register.http.bearer" && text.contains("without the word Bearer"),
        "{key}: {text}"
    );
    let folder = folder.variable("REGISTER_TOKEN", "abc").edit(
        "passerelle.toml",
        "client_key = { env = \"REGISTER_KEY\" }\n",
        "",
    );
    let (_, key, text) = folder.problem();
    assert!(
        key == "register.http.client_certificate"
            && text.contains("add client_key, or remove both"),
        "{key}: {text}"
    );
}

#[test]
fn a_certificate_that_the_environment_names_belongs_to_the_settings() {
    let table = "[register.http]\nurl = \"https://register.example.org/v1/\"\n";
    let folder = Folder::good()
        .edit("passerelle.toml", "identity_source = \"provider\"\n", table)
        .with("ca.crt", include_str!("../../../../tests/peers/recipes/ca.pem"))
        .variable("PASSERELLE_REGISTER__HTTP__CA", "ca.crt");
    let certificates = folder.loaded().certificates;
    let settings = folder.path().join("passerelle.toml");
    assert!(
        certificates.len() == 1 && certificates[0].is_referenced_by(&settings),
        "{certificates:?}"
    );
}
