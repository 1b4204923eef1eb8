//! Files that connectors, service providers and data providers name: certificates, authorities,
//! secrets, key sets, logos, persons.

use std::collections::BTreeSet;
use std::time::Duration;

use openssl::x509::X509;
use passerelle_egress::certificate_expiry::expiry;
use passerelle_protocol::ids::{ClientId, ConnectorId};
use passerelle_testkit::fake_identity_provider::{FakeIdentityProvider, hub_key_pem};
use passerelle_testkit::wallet_credentials::{CertificateSpec, TestAuthority};
use serde_json::{Value, json};

use crate::federation::SECRET;
use crate::hub::TestHub;
use crate::service::Authorize;
use crate::wallet::scripted_wallet::{Wallet, WalletRequest, certificate_spec, wallet_page};

/// The schemas of the files that a running hub reads again.
const RELOADED_SCHEMAS: [(&str, &str); 3] = [
    ("connectors", include_str!("../../../config/schemas/connector.schema.json")),
    ("service-providers", include_str!("../../../config/schemas/service-provider.schema.json")),
    ("data-providers", include_str!("../../../config/schemas/data-provider.schema.json")),
];

/// The settings of these schemas that name a file, as paths of keys.
fn settings_that_name_files(schemas: &[(&str, &str)]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (folder, text) in schemas {
        let schema: Value = serde_json::from_str(text).unwrap();
        collect(&schema, &schema, folder, &mut found);
    }
    found
}

/// The settings of `passerelle.toml` whose file a running hub reads again (docs/reload.md). `email_domains`
/// tests the first, the crates `register` and `jose` the last two.
const SETTINGS_READ_AGAIN: [&str; 4] = [
    "passerelle choice email_domain_file",
    "passerelle place_name_files",
    "passerelle register file path",
    "passerelle vault_transit token file",
];

/// The settings of `passerelle.toml` whose file the hub reads at its start.
const SETTINGS_READ_AT_START: [&str; 24] = [
    "passerelle key_passphrase file",
    "passerelle mail ca",
    "passerelle mail password file",
    "passerelle pkcs11 pin file",
    "passerelle private admin_token file",
    "passerelle private operators token file",
    "passerelle private peer_token file",
    "passerelle public client_certificates ca",
    "passerelle register http bearer file",
    "passerelle register http ca",
    "passerelle register http client_certificate",
    "passerelle register http client_key file",
    "passerelle store memory encryption_keys file",
    "passerelle store redis ca",
    "passerelle store redis client_certificate",
    "passerelle store redis client_key file",
    "passerelle store redis encryption_keys file",
    "passerelle store redis password file",
    "passerelle store redis sentinel_password file",
    "passerelle subject_key file",
    "passerelle subject_keys file",
    "passerelle theme",
    "passerelle traces headers file",
    "passerelle vault_transit ca",
];

fn collect(root: &Value, node: &Value, key: &str, found: &mut BTreeSet<String>) {
    if let Some(reference) = node["$ref"].as_str() {
        collect(root, root.pointer(reference.trim_start_matches('#')).unwrap(), key, found);
    }
    if node["format"].as_str().is_some_and(|format| format.ends_with("-path")) {
        found.insert(key.to_owned());
    }
    for (name, value) in node["properties"].as_object().into_iter().flatten() {
        collect(root, value, &format!("{key} {name}"), found);
    }
    for name in ["oneOf", "anyOf"] {
        for option in node[name].as_array().into_iter().flatten() {
            collect(root, option, key, found);
        }
    }
    for name in ["items", "additionalProperties"] {
        if node[name].is_object() {
            collect(root, &node[name], key, found);
        }
    }
}

/// The files of the hub; for each, its settings that name a file, and the file that each names.
const NAMING_SETTINGS: [(&str, &[(&str, &str)]); 10] = [
    (
        "connectors/named.toml",
        &[("logo", "connectors/named.svg"), ("kind persona persons", "named-persons.toml")],
    ),
    (
        "connectors/oidc.toml",
        &[
            ("kind oidc ca", "ca.pem"),
            ("kind oidc client_secret file", "secrets/connectors/oidc/own.secret"),
            ("kind oidc client_certificate file", "secrets/connectors/oidc/tls.pem"),
            ("kind oidc client_key file", "secrets/connectors/oidc/tls.key"),
        ],
    ),
    (
        "connectors/oauth2.toml",
        &[
            ("kind oauth2 ca", "ca.pem"),
            ("kind oauth2 client_secret file", "secrets/connectors/oauth2/own.secret"),
        ],
    ),
    (
        "connectors/ldap.toml",
        &[
            ("kind ldap ca", "ca.pem"),
            ("kind ldap bind_password file", "secrets/connectors/ldap/own.secret"),
        ],
    ),
    (
        "connectors/wallet.toml",
        &[
            ("kind openid4vp certificate", "wallet/access.pem"),
            ("kind openid4vp private_key file", "secrets/connectors/wallet/access.key"),
            ("kind openid4vp trust_anchors", "wallet/issuers.pem"),
            ("kind openid4vp trust_lists signers", "wallet/signers.pem"),
            ("kind openid4vp status_trust_anchors", "wallet/status-issuers.pem"),
            ("kind openid4vp credentials trust_anchors", "wallet/pid-issuers.pem"),
            ("kind openid4vp verifier_info", "wallet/registration.json"),
        ],
    ),
    (
        "connectors/saml.toml",
        &[
            ("kind saml metadata_file", "saml/idp.xml"),
            ("kind saml private_keys file", "secrets/connectors/saml/own.pem"),
        ],
    ),
    (
        "connectors/saml-federation.toml",
        &[("kind saml metadata_signers", "saml/signers.pem"), ("kind saml ca", "ca.pem")],
    ),
    (
        "service-providers/kiosk.toml",
        &[
            ("logo", "service-providers/kiosk.svg"),
            ("secrets file", "secrets/service-providers/kiosk/own.secret"),
        ],
    ),
    ("service-providers/notary.toml", &[("jwks file", "notary.jwks")]),
    (
        "data-providers/archive.toml",
        &[
            ("secrets file", "secrets/data-providers/archive/own.secret"),
            ("jwks file", "archive.jwks"),
        ],
    ),
];

/// The beginning of a connector's file.
const CONNECTOR: &str = r#"
name = { en = "Provider" }
identity = "verified"
levels = { lowest = "eidas1", highest = "eidas1" }
assumed_level = "eidas1"
"#;

const OIDC: &str = r#"
[kind.oidc]
issuer = "https://idp.example.org"
client_id = "hub"
client_secret = { file = "secrets/connectors/oidc/own.secret" }
client_certificate = { file = "secrets/connectors/oidc/tls.pem" }
client_key = { file = "secrets/connectors/oidc/tls.key" }
tls_client_certificate_bound_access_tokens = "on"
ca = "ca.pem"
"#;

const OAUTH2: &str = r#"
[kind.oauth2]
issuer = "https://hosting.example.org"
client_id = "hub"
client_secret = { file = "secrets/connectors/oauth2/own.secret" }
subject_claim = "id"
auth_time = "callback"
reauthentication_params = { prompt = "login" }
ca = "ca.pem"
[kind.oauth2.endpoints]
authorization = "https://hosting.example.org/authorize"
token = "https://hosting.example.org/token"
userinfo = "https://api.hosting.example.org/user"
"#;

const LDAP: &str = r#"
[kind.ldap]
url = "ldaps://ldap.example.org"
bind_dn = "cn=hub,dc=example,dc=org"
bind_password = { file = "secrets/connectors/ldap/own.secret" }
base_dn = "dc=example,dc=org"
ca = "ca.pem"
"#;

const SAML: &str = r#"
[kind.saml]
entity_id = "https://idp.example/saml"
metadata_file = "saml/idp.xml"
private_keys = { file = "secrets/connectors/saml/own.pem" }
"#;

const SAML_FEDERATION: &str = r#"
[kind.saml]
entity_id = "https://idp.example.org/saml"
metadata_url = "https://federation.example.org/metadata.xml"
metadata_signers = "saml/signers.pem"
ca = "ca.pem"
"#;

fn service(id: &str, more: &str) -> String {
    format!(
        "client_id = \"{id}\"\nname = {{ en = \"The {id}\" }}\nhome_page = \"https://{id}.example/\"\nredirect_uris = [\"https://{id}.example/callback\"]\nscopes = [\"openid\"]\n{more}\n"
    )
}

/// Returns a hub in which every setting names a file.
async fn hub_that_names_files() -> TestHub {
    let wallet = Wallet::new();
    let more = "trust_lists = [{ url = \"https://lists.example/\", signers = \"wallet/signers.pem\" }]\nverifier_info = \"wallet/registration.json\"\nstatus_trust_anchors = \"wallet/status-issuers.pem\"";
    let authority = TestAuthority::new("Directory authority");
    let client = authority.issue(&certificate_spec());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let certificate = text(X509::from_der(&client.chain[0]).unwrap().to_pem().unwrap());
    let key = text(client.key.private_key_to_pem_pkcs8().unwrap());
    let secret = |kind: &str, id: &str| (format!("secrets/{kind}/{id}/own.secret"), SECRET.into());
    let jwks = json!({ "keys": [{
        "kty": "EC", "crv": "P-256", "use": "sig", "kid": "1",
        "x": "DxiH5Q4Yx3UrukE2lWCErq8N8bqC9CHLLrAwLz5BmE0",
        "y": "XtLM4-3h5o3HUH0MHVJV0kyq0iBlrBwlh8qEDMZ4-Pc",
    }] });
    let encryption = jwks.to_string().replace("\"sig\"", "\"enc\"");
    let archive = "client_id = \"archive\"\nname = { en = \"Archive\" }\nscopes = [\"openid\", \"family_name\"]\nsecrets = [{ file = \"secrets/data-providers/archive/own.secret\" }]\nintrospection_signed_response_alg = \"ES256\"\nintrospection_encrypted_response_alg = \"ECDH-ES\"\njwks = { file = \"archive.jwks\" }";
    let mut files: Vec<(String, String)> = vec![
        ("connectors/named.toml".into(), "name = { en = \"Named\" }\nlogo = \"named.svg\"\nlevels = { lowest = \"eidas1\", highest = \"eidas1\" }\n[kind.persona]\npersons = \"named-persons.toml\"".into()),
        ("connectors/named.svg".into(), "<svg xmlns=\"http://www.w3.org/2000/svg\"/>".into()),
        ("named-persons.toml".into(), include_str!("../../../crates/connector/src/persona/persons.toml").into()),
        ("connectors/oidc.toml".into(), format!("{CONNECTOR}{OIDC}")),
        ("secrets/connectors/oidc/tls.pem".into(), certificate),
        ("secrets/connectors/oidc/tls.key".into(), key),
        secret("connectors", "oidc"),
        ("connectors/oauth2.toml".into(), format!("{CONNECTOR}{OAUTH2}")),
        secret("connectors", "oauth2"),
        ("connectors/ldap.toml".into(), format!("{CONNECTOR}{LDAP}")),
        secret("connectors", "ldap"),
        ("connectors/saml.toml".into(), format!("{CONNECTOR}{SAML}")),
        ("saml/idp.xml".into(), FakeIdentityProvider::new().metadata("")),
        ("secrets/connectors/saml/own.pem".into(), hub_key_pem().0),
        ("connectors/saml-federation.toml".into(), format!("{CONNECTOR}{SAML_FEDERATION}")),
        ("saml/signers.pem".into(), text(hub_key_pem().1.to_pem().unwrap())),
        ("ca.pem".into(), text(authority.pem())),
        ("wallet/signers.pem".into(), text(authority.pem())),
        ("wallet/status-issuers.pem".into(), text(authority.pem())),
        ("wallet/pid-issuers.pem".into(), text(authority.pem())),
        ("wallet/registration.json".into(), "[{ \"format\": \"jwt\", \"data\": \"eyJhbGciOiJFUzI1NiJ9.e30.c2ln\" }]".into()),
        ("service-providers/kiosk.toml".into(), service("kiosk", "logo = \"kiosk.svg\"\nsecrets = [{ file = \"secrets/service-providers/kiosk/own.secret\" }]")),
        ("service-providers/kiosk.svg".into(), "<svg xmlns=\"http://www.w3.org/2000/svg\"/>".into()),
        secret("service-providers", "kiosk"),
        ("service-providers/notary.toml".into(), service("notary", "token_endpoint_auth_method = \"private_key_jwt\"\njwks = { file = \"notary.jwks\" }")),
        ("notary.jwks".into(), jwks.to_string()),
        ("data-providers/archive.toml".into(), archive.into()),
        ("archive.jwks".into(), encryption),
        secret("data-providers", "archive"),
    ];
    let own = "id = \"pid\"\ntrust_anchors = \"wallet/pid-issuers.pem\"";
    let wallet_files = wallet
        .files(more, "")
        .map(|(name, text)| (name.to_owned(), text.replace("id = \"pid\"", own)));
    files.extend(wallet_files);
    let files: Vec<(&str, String)> =
        files.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    TestHub::with_files("", &files).await
}

/// Returns the fingerprints of what the hub uses from this file.
fn fingerprints(hub: &TestHub, file: &str) -> String {
    let digest = hub.reload().digest();
    let (folder, id) = file.strip_suffix(".toml").unwrap().split_once('/').unwrap();
    let fields = match folder {
        "connectors" => &digest.connectors[&ConnectorId::from(id)].fields,
        "service-providers" => &digest.service_providers[&ClientId::from(id)].fields,
        _ => &digest.data_providers[&ClientId::from(id)].fields,
    };
    serde_json::to_string(fields).unwrap()
}

/// A setting that the table lacks fails here, so that no file can be forgotten.
#[actix_web::test]
async fn each_named_file_takes_effect_while_the_hub_runs() {
    let settings = NAMING_SETTINGS.iter().flat_map(|(file, settings)| {
        let folder = file.split('/').next().unwrap();
        settings.iter().map(move |(setting, _)| format!("{folder} {setting}"))
    });
    assert_eq!(settings.collect::<BTreeSet<_>>(), settings_that_name_files(&RELOADED_SCHEMAS));
    let hub = hub_that_names_files().await;
    assert_eq!(hub.reload().findings(), [], "a file of this test is invalid");
    let named_files = NAMING_SETTINGS.iter().flat_map(|(file, settings)| {
        settings.iter().map(move |(setting, named)| (*file, *setting, *named))
    });
    for (file, setting, named) in named_files {
        let before = fingerprints(&hub, file);
        hub.reload_files().await;
        assert_eq!(fingerprints(&hub, file), before, "{file} {setting}: nothing was changed");
        // Keeps the meaning of PEM, JSON, TOML and SVG; a secret becomes another one.
        let suffix = if named.ends_with("secret") { "2" } else { "\n" };
        hub.write_file(named, &format!("{}{suffix}", hub.read_file(named)));
        hub.reload_files().await;
        assert_ne!(fingerprints(&hub, file), before, "{file} {setting}");
        assert_eq!(hub.reload().findings(), [], "{file} {setting}");
    }
}

/// A setting that neither list has fails here, so that no file can be forgotten.
#[actix_web::test]
async fn each_file_that_passerelle_toml_names_is_read_as_the_page_on_reload_says() {
    let schema = [("passerelle", include_str!("../../../config/schemas/passerelle.schema.json"))];
    let listed = SETTINGS_READ_AGAIN.iter().chain(&SETTINGS_READ_AT_START);
    let listed: BTreeSet<String> = listed.map(|setting| (*setting).to_owned()).collect();
    assert_eq!(listed, settings_that_name_files(&schema));
    let theme = |name: &str| {
        let built_in = include_str!("../../../config/theme.toml");
        built_in.replace("en = \"Passerelle\"", &format!("en = \"{name}\""))
    };
    let hub = TestHub::edited(|folder| {
        let settings = folder.join("passerelle.toml");
        let text = std::fs::read_to_string(&settings).unwrap();
        let named = "place_name_files = [\"places.csv\"]\ntheme = \"theme.toml\"\n";
        std::fs::write(&settings, format!("{named}{text}")).unwrap();
        std::fs::write(folder.join("places.csv"), "code,name\n75107,Paris\n").unwrap();
        std::fs::write(folder.join("theme.toml"), theme("First name")).unwrap();
    })
    .await;
    let places = || hub.reload().digest().places;
    let before = places();
    hub.write_file("places.csv", "code,name\n75107,Paris 7\n");
    hub.write_file("theme.toml", &theme("Second name"));
    hub.reload_files().await;
    assert_ne!(places(), before, "the table of places is read again");
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await;
    assert!(page.answer.body.contains("First name"), "{}", page.answer.body);
    assert!(!page.answer.body.contains("Second name"), "the theme needs a restart");
}

/// Tries to sign in with a PID, and returns the page after the wallet.
async fn sign_in(hub: &TestHub, wallet: &Wallet) -> Result<(), String> {
    let browser = hub.browser();
    let request = WalletRequest::fetch(hub, &wallet_page(&browser).await).await;
    let redirect = wallet.respond(hub, &request, &wallet.present(&request, hub)).await;
    let page = browser.open(&redirect).await;
    if page.is_consent() { Ok(()) } else { Err(page.answer.body.clone()) }
}

#[actix_web::test]
async fn a_removed_trust_anchor_is_not_trusted_and_an_added_one_is() {
    let (first, second) = (Wallet::new(), Wallet::new());
    let hub = first.hub("").await;
    assert_eq!(sign_in(&hub, &first).await, Ok(()));
    let pem = |wallet: &Wallet| String::from_utf8(wallet.authority.pem()).unwrap();
    for (anchors, trusted, refused) in [
        (pem(&second), &second, &first),
        (pem(&first), &first, &second),
        (format!("{}{}", pem(&second), pem(&second)), &second, &first),
    ] {
        hub.write_file("wallet/issuers.pem", &anchors);
        hub.reload_files().await;
        assert_eq!(sign_in(&hub, trusted).await, Ok(()));
        let page = sign_in(&hub, refused).await.unwrap_err();
        assert!(page.contains("Y020511"), "{page}");
    }
}

/// Removing the last authority must not bring the last valid version back.
#[actix_web::test]
async fn an_emptied_or_deleted_file_of_authorities_trusts_no_one() {
    let wallet = Wallet::new();
    let hub = wallet.hub("").await;
    let anchors = hub.read_file("wallet/issuers.pem");
    let commented = anchors.lines().map(|line| format!("# {line}\n")).collect::<String>();
    let changes: [&dyn Fn(); 4] = [
        &|| hub.write_file("wallet/issuers.pem", &commented),
        &|| hub.write_file("wallet/issuers.pem", ""),
        &|| hub.write_file("wallet/issuers.pem", "# No authority.\n"),
        &|| hub.remove_file("wallet/issuers.pem"),
    ];
    for change in changes {
        change();
        hub.reload_files().await;
        assert!(!hub.offered("bakery").await.contains(&"wallet".to_owned()));
        assert!(!hub.reload().findings().is_empty(), "the operator learns of it");
        hub.write_file("wallet/issuers.pem", &anchors);
        hub.reload_files().await;
        assert_eq!(sign_in(&hub, &wallet).await, Ok(()));
    }
}

/// The connector's file may have been invalid for a while when an authority must go.
#[actix_web::test]
async fn a_trust_anchor_is_removed_although_the_connectors_file_is_invalid() {
    let (wallet, other) = (Wallet::new(), Wallet::new());
    let hub = wallet.hub("").await;
    let valid = hub.read_file("connectors/wallet.toml");
    hub.write_file("connectors/wallet.toml", &format!("{valid}\nunknown_key = 1"));
    hub.reload_files().await;
    assert_eq!(sign_in(&hub, &wallet).await, Ok(()), "the last valid version is used");
    hub.write_file("wallet/issuers.pem", &String::from_utf8(other.authority.pem()).unwrap());
    hub.reload_files().await;
    assert!(sign_in(&hub, &wallet).await.unwrap_err().contains("Y020511"));
    assert_eq!(sign_in(&hub, &other).await, Ok(()));
    hub.remove_file("wallet/issuers.pem");
    hub.reload_files().await;
    assert!(!hub.offered("bakery").await.contains(&"wallet".to_owned()));
}

/// The folder may be out of reach for a while when an authority must go.
#[actix_web::test]
async fn a_trust_anchor_is_removed_although_the_connectors_folder_is_unreadable() {
    let (wallet, other) = (Wallet::new(), Wallet::new());
    let hub = wallet.hub("").await;
    let anchors = |of: &Wallet| String::from_utf8(of.authority.pem()).unwrap();
    let hide = || {
        std::fs::rename(hub.folder().join("connectors"), hub.folder().join("hidden")).unwrap();
        hub.write_file("connectors", "no folder");
    };
    let restore = || {
        hub.remove_file("connectors");
        std::fs::rename(hub.folder().join("hidden"), hub.folder().join("connectors")).unwrap();
    };
    hide();
    hub.reload_files().await;
    assert_eq!(sign_in(&hub, &wallet).await, Ok(()), "the last content stays active");
    hub.write_file("wallet/issuers.pem", &anchors(&other));
    hub.reload_files().await;
    assert!(sign_in(&hub, &wallet).await.unwrap_err().contains("Y020511"));
    assert_eq!(sign_in(&hub, &other).await, Ok(()));
    hub.write_file("wallet/issuers.pem", &anchors(&wallet));
    hub.reload_files().await;
    assert_eq!(sign_in(&hub, &wallet).await, Ok(()));

    // Files that are out of reach with the folder change nothing.
    std::fs::rename(hub.folder().join("wallet"), hub.folder().join("out-of-reach")).unwrap();
    hub.reload_files().await;
    assert_eq!(sign_in(&hub, &wallet).await, Ok(()));
    std::fs::rename(hub.folder().join("out-of-reach"), hub.folder().join("wallet")).unwrap();
    hub.remove_file("wallet/issuers.pem");
    hub.reload_files().await;
    assert!(!hub.offered("bakery").await.contains(&"wallet".to_owned()), "it trusts no one");
    restore();
    hub.write_file("wallet/issuers.pem", &anchors(&other));
    hub.reload_files().await;
    assert!(sign_in(&hub, &wallet).await.unwrap_err().contains("Y020511"));
    assert_eq!(sign_in(&hub, &other).await, Ok(()));
    assert_eq!(hub.reload().findings(), []);
}

#[actix_web::test]
async fn a_renewed_access_certificate_is_what_wallets_get() {
    let wallet = Wallet::new();
    let hub = wallet.hub("").await;
    let client_id = async || {
        let browser = hub.browser();
        WalletRequest::fetch(&hub, &wallet_page(&browser).await).await.parameter("client_id")
    };
    let before = client_id().await;
    for (name, text) in wallet.files("", "") {
        hub.write_file(name, &text);
    }
    hub.reload_files().await;
    assert_ne!(client_id().await, before);
}

#[actix_web::test]
async fn a_certificate_that_expires_soon_is_a_problem_until_its_file_is_replaced() {
    let wallet = Wallet::new();
    let hub = wallet.hub("").await;
    let authority = TestAuthority::new("Access authority");
    let ending = authority.issue(&CertificateSpec { not_after: 100, ..certificate_spec() });
    let leaf = X509::from_der(&ending.chain[0]).unwrap();
    let days_before = |days: u64| expiry(&leaf).unwrap() - Duration::from_secs(days * 86_400);
    let findings = |at| hub.reload().certificate_findings(at);
    assert_eq!(findings(days_before(5)), []);

    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    hub.write_file("wallet/access.pem", &text([leaf.to_pem().unwrap(), authority.pem()].concat()));
    let key = text(ending.key.private_key_to_pem_pkcs8().unwrap());
    hub.write_file("secrets/connectors/wallet/access.key", &key);
    hub.reload_files().await;
    assert_eq!(findings(days_before(15)), []);
    let found = findings(days_before(5));
    assert!(found.len() == 1 && found[0].message.contains("connectors/wallet.toml"), "{found:?}");

    for (name, text) in wallet.files("", "") {
        hub.write_file(name, &text);
    }
    hub.reload_files().await;
    assert_eq!(findings(days_before(5)), []);
}
