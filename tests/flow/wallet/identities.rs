//! The three ways from a PID to an identity (docs/wallet.md#from-a-pid-to-an-identity).

use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};

use super::scripted_wallet::{Wallet, WalletRequest, wallet_page};
use crate::fake_server::{FakeResponse, FakeServer};
use crate::federation;
use crate::high::{EC, acr_at, inline_jwks_lines};
use crate::hub::TestHub;
use crate::service::Authorize;

/// The connector's rule for `gender`.
const GENDER: &str = "gender = { from = \"sex\", map = { \"1\" = \"male\", \"2\" = \"female\" } }";

/// What a PID always has: no `sex`, no names at birth.
fn least_pid() -> [(&'static str, Value); 6] {
    [
        ("given_name", json!("Angela Claire Louise")),
        ("family_name", json!("Moreau")),
        ("birthdate", json!("1962-08-24")),
        ("place_of_birth", json!({ "locality": "Paris 7e", "country": "FR" })),
        ("personal_administrative_number", json!("2620875107001")),
        ("issuing_country", json!("FR")),
    ]
}

/// Writes the files of the connector, each text of the pairs replaced with the other.
fn put_connector(folder: &Path, wallet: &Wallet, changes: &[(&str, &str)]) {
    for (name, mut text) in wallet.files("", "") {
        if name == "connectors/wallet.toml" {
            for (old, new) in changes {
                assert!(text.contains(old), "{old}");
                text = text.replace(old, new);
            }
        }
        federation::put(folder, name, text.as_bytes());
    }
}

fn edit_settings(folder: &Path, edit: impl FnOnce(String) -> String) {
    let file = folder.join("passerelle.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, edit(text)).unwrap();
}

type Claims = Map<String, Value>;

/// Signs a user in with these claims. Returns the ID token and userinfo.
async fn sign_in(hub: &TestHub, wallet: &Wallet, claims: &[(&str, Value)]) -> (Claims, Claims) {
    let browser = hub.browser();
    let request = WalletRequest::fetch(hub, &wallet_page(&browser).await).await;
    let presentation = wallet.pid_with(&request, hub, claims).present();
    let page = browser.open(&wallet.respond(hub, &request, &presentation).await).await;
    assert!(page.is_consent(), "{:?}", page.references());
    let received = page.consent().await.received();
    let tokens = hub.tokens("bakery", &received).await;
    let user = hub.userinfo(&tokens.access_token).await;
    (tokens.id_token, user)
}

/// A register that finds Angela by what a PID always has, and knows the rest.
async fn register(queries: &Arc<Mutex<Vec<Value>>>) -> FakeServer {
    let queries = Arc::clone(queries);
    FakeServer::start(move |request| {
        let query: Value = serde_json::from_str(&request.body).unwrap_or_default();
        queries.lock().unwrap().push(query.clone());
        let is_angela = query["family_name"] == "Moreau" && query["birthdate"] == "1962-08-24";
        if !is_angela {
            return FakeResponse::json(&json!({ "outcome": "not_found" }));
        }
        FakeResponse::json(&json!({ "outcome": "corrected", "identity": {
            "given_names": ["Angela", "Claire", "Louise"], "family_name": "DUBOIS",
            "birthdate": "1962-08-24", "gender": "female", "birthplace": "75107",
            "birthcountry": "99100",
        } }))
    })
    .await
}

#[actix_web::test]
async fn the_register_completes_a_pid_without_sex_and_names_at_birth() {
    let (wallet, queries) = (Wallet::new(), Arc::new(Mutex::new(Vec::new())));
    let register = register(&queries).await;
    let table = format!(
        "register.http.url = \"{}\"\nregister.http.insecure_http = true\nregister.http.internal_hosts = [\"127.0.0.1\"]",
        register.base()
    );
    let hub = TestHub::edited(|folder| {
        edit_settings(folder, |text| text.replace("register.file.path = \"register.csv\"", &table));
        put_connector(
            folder,
            &wallet,
            &[
                (
                    "family_name = { from = \"birth_family_name\" }",
                    "family_name = { from = \"family_name\" }",
                ),
                (GENDER, "gender = { value = \"unspecified\" }"),
                ("\"birth_family_name\", ", "\"family_name\", "),
                ("\"sex\", ", ""),
            ],
        );
    })
    .await;
    let (_, user) = sign_in(&hub, &wallet, &least_pid()).await;
    assert_eq!(user["family_name"], "DUBOIS", "the register's name at birth");
    assert_eq!(user["gender"], "female");
    let queries = queries.lock().unwrap();
    assert_eq!(queries.len(), 1);
    assert_eq!(
        queries[0],
        json!({
            "given_names": ["Angela", "Claire", "Louise"], "family_name": "Moreau",
            "birthdate": "1962-08-24", "gender": "unspecified", "birthplace": "75107",
            "birthcountry": "99100",
        })
    );
}

/// The wallet is asked for everything: a PID without one of the attributes is refused politely.
#[actix_web::test]
async fn a_pid_that_lacks_a_required_attribute_is_refused_with_a_page_that_says_so() {
    let wallet = Wallet::new();
    let hub = wallet.hub("").await;
    for missing in ["sex", "birth_family_name", "place_of_birth"] {
        let browser = hub.browser();
        let page = wallet_page(&browser).await;
        let request = WalletRequest::fetch(&hub, &page).await;
        let asked = request.claims["dcql_query"]["credentials"][0]["claims"].as_array().unwrap();
        assert!(asked.iter().any(|claim| claim["path"][0] == missing), "{missing}: {asked:?}");
        let whole = [("birth_family_name", json!("Dubois")), ("sex", json!(2))];
        let least = least_pid().into_iter().filter(|(name, _)| *name != "family_name");
        let claims: Vec<_> = least.chain(whole).filter(|(name, _)| *name != missing).collect();
        let presentation = wallet.pid_with(&request, &hub, &claims).present();
        let page = browser.open(&wallet.respond(&hub, &request, &presentation).await).await;
        assert!(page.is_choice(), "{missing}: {}", page.answer.body);
        assert!(page.answer.body.contains("Y020514"), "{missing}: {}", page.answer.body);
        assert!(browser.session().is_none(), "{missing}");
    }
}

/// `subject = "provider"`: no pivot identity, and one `sub` for the same number of the same
/// country.
#[actix_web::test]
async fn a_stable_attribute_is_enough_without_a_pivot_identity() {
    let wallet = Wallet::new();
    let hub = TestHub::edited(|folder| {
        let provider = "identity_source = \"provider\"\nsubject = \"provider\"\n";
        edit_settings(folder, |text| text + provider);
        let civil = "\"given_name\", \"birth_family_name\", \"birthdate\", \"/place_of_birth/locality\", \"/place_of_birth/country\", \"sex\", ";
        put_connector(
            folder,
            &wallet,
            &[(civil, ""), ("optional_claims = [\"nationalities\"]", "")],
        );
    })
    .await;
    let pid = |number: &str, country: &str| {
        [("personal_administrative_number", json!(number)), ("issuing_country", json!(country))]
    };
    let mut subjects = Vec::new();
    for (number, country) in [
        ("2620875107001", "FR"),
        ("2620875107001", "FR"),
        ("1780201002003", "FR"),
        ("2620875107001", "DE"),
    ] {
        let (id_token, user) = sign_in(&hub, &wallet, &pid(number, country)).await;
        assert!(user.get("family_name").is_none() && user.get("birthdate").is_none(), "{user:?}");
        assert!(!id_token["sub"].to_string().contains(number));
        subjects.push(id_token["sub"].clone());
    }
    assert_eq!(subjects[0], subjects[1]);
    let others = &subjects[1..];
    assert!(others.iter().all(|one| others.iter().filter(|other| *other == one).count() == 1));
}

/// How the wallet authenticated its user is not known, so that `mfa` is never claimed.
#[actix_web::test]
async fn the_method_is_possession_of_a_key_and_nothing_else() {
    let wallet = Wallet::new();
    let hub = wallet.hub("").await;
    let browser = hub.browser();
    let amr = r#"{"id_token":{"amr":{"essential":true}}}"#;
    let request = Authorize::by("bakery").with("claims", amr);
    let page = browser.authorize(&request).await.choose("wallet").await;
    let request = WalletRequest::fetch(&hub, &page).await;
    let redirect = wallet.respond(&hub, &request, &wallet.present(&request, &hub)).await;
    let received = browser.open(&redirect).await.consent().await.received();
    let tokens = hub.tokens("bakery", &received).await;
    assert_eq!(tokens.id_token["amr"], json!(["pop", "hub"]));
    assert_eq!(tokens.id_token["auth_time"], hub.now().seconds());
}

/// The level is that of the file; a service that asks for more gets no such login.
#[actix_web::test]
async fn a_presentation_proves_the_level_of_the_file() {
    for (level, asked, achieved) in [
        ("eidas3", "eidas3", Some("eidas3")),
        ("eidas2", "eidas2", Some("eidas2")),
        ("eidas2", "eidas3", None),
    ] {
        let wallet = Wallet::new();
        let services = [("vault", inline_jwks_lines("ECDH-ES", &EC))];
        let levels = format!("levels = {{ lowest = \"eidas2\", highest = \"{level}\" }}");
        let more = format!("level = \"{level}\"\nsubject_claims");
        let hub = TestHub::high_with(&services, |folder| {
            let old = "levels = { lowest = \"eidas1\", highest = \"eidas3\" }";
            put_connector(
                folder,
                &wallet,
                &[(old, levels.as_str()), ("subject_claims", more.as_str())],
            );
        })
        .await;
        let browser = hub.browser();
        let page = browser.authorize(&Authorize::by("vault").with("acr_values", asked)).await;
        let Some(achieved) = achieved else {
            assert!(!page.offered().contains(&"wallet".to_owned()), "{:?}", page.offered());
            continue;
        };
        let request = WalletRequest::fetch(&hub, &page.choose("wallet").await).await;
        let redirect = wallet.respond(&hub, &request, &wallet.present(&request, &hub)).await;
        let received = browser.open(&redirect).await.consent().await.received();
        assert_eq!(acr_at(&hub, "vault", &received).await, achieved);
    }
}
