//! Claims that the operator declares, in whole logins: from the sandbox through mapping, consent,
//! userinfo and introspection; and values that don't fit.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::federation::{SECRET, put};
use super::hub::TestHub;
use super::service::Authorize;

const DECLARED: &str = r#"
[claims.siret]
type = "string"
label = { fr = "SIRET de l'établissement", en = "Establishment number" }
max_bytes = 16
personal = false
[claims.organizational_unit]
type = "string"
label = { en = "Department" }
[claims.groups]
type = "string_array"
label = { en = "Groups" }
max_bytes = 16384
[claims.staff]
type = "boolean"
label = { en = "Staff member" }
[claims."https://example.org/claims/work_address"]
type = "object"
label = { en = "Work address" }
"#;

const WORK_ADDRESS: &str = "https://example.org/claims/work_address";
const AGENT: &str = "openid family_name agent";

fn groups() -> Vec<String> {
    (0..200).map(|number| format!("department-of-number-{number}")).collect()
}

fn work_address() -> Value {
    json!({ "formatted": "1 rue X\n75000 Paris", "country": "FR" })
}

/// Angela has every declared claim, Jean has wrong values, and the others have none.
fn with_declared_claims(more: &str) -> impl FnOnce(&Path) {
    let declared = format!("{DECLARED}{more}");
    move |folder: &Path| {
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        fs::write(folder.join("passerelle.toml"), format!("{}{declared}", read("passerelle.toml")))
            .unwrap();
        let scopes = include_str!("../../config/scopes.toml").replace(
            "[scopes]\n",
            &format!("[scopes]\nagent = [\"siret\", \"organizational_unit\", \"groups\", \"staff\", \"{WORK_ADDRESS}\"]\n"),
        );
        put(folder, "scopes.toml", scopes.as_bytes());
        let mut angela = String::new();
        for (name, value) in [
            ("org", json!("12345678901234")),
            ("organizational_unit", json!("Finance")),
            ("roles", json!(groups())),
            ("staff", json!(true)),
        ] {
            writeln!(angela, "claims.{name} = {value}").unwrap();
        }
        let address = "{ formatted = \"1 rue X\\n75000 Paris\", country = \"FR\" }";
        writeln!(angela, "claims.\"{WORK_ADDRESS}\" = {address}").unwrap();
        let jean = "claims.org = 1234\nclaims.staff = \"yes\"\nclaims.roles = [1]\n";
        let persons = read("persons.toml")
            .replacen("id = \"angela\"\n", &format!("id = \"angela\"\n{angela}"), 1)
            .replacen("id = \"jean\"\n", &format!("id = \"jean\"\n{jean}"), 1);
        fs::write(folder.join("persons.toml"), persons).unwrap();
        let mapping =
            "[mapping]\nsiret = { from = \"org\" }\ngroups = { from = \"roles\" }\n[kind.persona]";
        let connector = read("connectors/amandier.toml").replace("[kind.persona]", mapping);
        fs::write(folder.join("connectors/amandier.toml"), connector).unwrap();
        for service in ["bakery", "clinic"] {
            let file = format!("service-providers/{service}.toml");
            let text = read(&file).replace("scopes = [", "scopes = [\"agent\", ");
            fs::write(folder.join(file), text).unwrap();
        }
        let archive = "client_id = \"archive\"\nname = { en = \"Archive\" }\nscopes = [\"openid\", \"agent\"]\nsecrets = [{ env = \"CLIENT_SECRET\" }]\n";
        put(folder, "data-providers/archive.toml", archive.as_bytes());
    }
}

fn dropped(hub: &TestHub, claim: &str, reason: &str) -> bool {
    let series = format!(
        "passerelle_claims_dropped_total{{claim=\"{claim}\",connector=\"amandier\",reason=\"{reason}\"}} 1"
    );
    hub.metrics.render().contains(&series)
}

#[actix_web::test]
async fn declared_claims_are_shown_and_released_in_userinfo_and_introspection() {
    let hub = TestHub::edited(with_declared_claims("")).await;
    let browser = hub.browser();
    let request = Authorize::by("bakery").with("scope", AGENT);
    let page = browser.authorize(&request).await.choose("amandier").await;
    let page = page.sign_in_as("angela").await;
    let (shown, joined_groups) = (page.listed_claims(), groups().join(", "));
    for (label, value) in [
        ("Establishment number", "12345678901234"),
        ("Department", "Finance"),
        ("Staff member", "Yes"),
        ("Groups", joined_groups.as_str()),
    ] {
        assert_eq!(shown.get(label).map(String::as_str), Some(value), "{shown:?}");
    }
    assert!(shown["Work address"].contains("75000 Paris"));
    let received = page.consent().await.received();
    let tokens = hub.tokens("bakery", &received).await;
    let userinfo = hub.userinfo(&tokens.access_token).await;
    let form = [
        ("client_id", "archive"),
        ("client_secret", SECRET),
        ("token", tokens.access_token.as_str()),
    ];
    let answer = hub.post_form("/api/v2/checktoken", &form).await;
    let introspection: Value = serde_json::from_str(&answer.body).unwrap();
    for (claim, value) in [
        ("siret", json!("12345678901234")),
        ("organizational_unit", json!("Finance")),
        ("groups", json!(groups())),
        ("staff", json!(true)),
        (WORK_ADDRESS, work_address()),
    ] {
        assert_eq!(userinfo[claim], value);
        assert_eq!(introspection[claim], value);
        assert!(!tokens.id_token.contains_key(claim));
    }
    assert!(userinfo.contains_key("family_name") && !introspection["family_name"].is_string());
    let discovery = hub.discovery().await;
    let supported = discovery["claims_supported"].as_array().unwrap();
    assert!(supported.contains(&json!("siret")) && supported.contains(&json!(WORK_ADDRESS)));
}

#[actix_web::test]
async fn a_scope_that_was_not_granted_releases_no_declared_claim() {
    let hub = TestHub::edited(with_declared_claims("")).await;
    let browser = hub.browser();
    let request = Authorize::by("bakery").with("scope", "openid family_name");
    let page = browser.authorize(&request).await.choose("amandier").await;
    let received = page.sign_in_as("angela").await.consent().await.received();
    let tokens = hub.tokens("bakery", &received).await;
    let userinfo = hub.userinfo(&tokens.access_token).await;
    assert!(!userinfo.contains_key("siret") && !userinfo.contains_key("groups"), "{userinfo:?}");
    let refused = browser.authorize(&Authorize::by("library").with("scope", AGENT)).await;
    assert_eq!(refused.received().error_at("library"), "invalid_scope");
}

#[actix_web::test]
async fn a_value_of_another_type_is_left_out_and_counted_and_the_login_goes_on() {
    let hub = TestHub::edited(with_declared_claims("")).await;
    let request = Authorize::by("bakery").with("scope", AGENT);
    let browser = hub.browser();
    let page = browser.authorize(&request).await.choose("amandier").await;
    let received = page.sign_in_as("jean").await.consent().await.received();
    let tokens = hub.tokens("bakery", &received).await;
    let userinfo = hub.userinfo(&tokens.access_token).await;
    assert_eq!(userinfo["family_name"], "LEFÈVRE");
    for claim in ["siret", "staff", "groups"] {
        assert!(!userinfo.contains_key(claim), "{userinfo:?}");
        assert!(dropped(&hub, claim, "type"), "{claim}");
    }
}

#[actix_web::test]
async fn a_required_claim_that_is_missing_or_malformed_ends_the_login_and_is_named() {
    for (sent, code) in [
        ("", "Y010010"),
        ("claims.cost_center = \"\"\n", "Y010010"),
        ("claims.cost_center = [7]\n", "Y010011"),
    ] {
        let edit = with_declared_claims(
            "[claims.cost_center]\ntype = \"string\"\nlabel = { en = \"Cost center\" }\nrequired = true\n",
        );
        let hub = TestHub::edited(|folder| {
            edit(folder);
            let file = folder.join("persons.toml");
            let persons = fs::read_to_string(&file).unwrap();
            let angela = format!("id = \"angela\"\n{sent}");
            fs::write(&file, persons.replacen("id = \"angela\"\n", &angela, 1)).unwrap();
        })
        .await;
        let browser = hub.browser();
        let page = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
        let page = page.sign_in_as("angela").await.assert_error(403, code);
        assert!(page.answer.body.contains("Cost center"), "{}", page.answer.body);
    }
}

#[actix_web::test]
async fn consent_to_personal_claims_covers_no_other_personal_claim() {
    let hub = TestHub::edited(with_declared_claims("")).await;
    let browser = hub.browser();
    let request = Authorize::by("clinic").with("scope", AGENT);
    let page = browser.authorize(&request).await.choose("amandier").await;
    page.sign_in_as("angela").await.consent().await.received();
    let again = |scope: &str| Authorize::by("clinic").with("scope", scope).with("prompt", "none");
    let page = browser.authorize(&again(AGENT)).await;
    assert!(page.received().fields.contains_key("code"));
    let page = browser.authorize(&again(&format!("{AGENT} email"))).await;
    assert_eq!(page.received().error_at("clinic"), "consent_required");
}
