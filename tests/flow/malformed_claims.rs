//! Malformed claims of an identity provider, in whole logins at Angela's: those that nothing needs are
//! left out and reported; one that the subject needs ends the login.

use std::fs;
use std::path::Path;

use super::hub::TestHub;
use super::service::Authorize;

/// Replaces lines of Angela's entry in the persons file.
fn with_angela(changes: &'static [(&'static str, &'static str)]) -> impl FnOnce(&Path) {
    move |folder: &Path| {
        let file = folder.join("persons.toml");
        let text = fs::read_to_string(&file).unwrap();
        let (before, rest) = text.split_once("id = \"angela\"\n").unwrap();
        let (entry, after) = rest.split_once("[[person]]").unwrap();
        let mut entry: Vec<&str> = entry
            .lines()
            .filter(|line| !changes.iter().any(|(key, _)| line.starts_with(&format!("{key} = "))))
            .collect();
        let lines: Vec<String> =
            changes.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        entry.extend(lines.iter().map(String::as_str));
        let entry = entry.join("\n");
        fs::write(&file, format!("{before}id = \"angela\"\n{entry}\n[[person]]{after}")).unwrap();
    }
}

#[actix_web::test]
async fn malformed_claims_that_nothing_needs_do_not_end_a_login_and_are_counted_and_reported() {
    let hub = TestHub::edited(with_angela(&[
        ("email", "\"none\""),
        ("preferred_username", "\"two\\nlines\""),
        ("claims.email_verified", "\"true\""),
        ("claims.locale", "{ language = \"fr\" }"),
        ("claims.updated_at", "\"1690000000\""),
    ]))
    .await;
    for scope in ["openid", "openid family_name email preferred_username"] {
        let request = Authorize::by("bakery").with("scope", scope);
        let browser = hub.browser();
        let page = browser.authorize(&request).await.choose("amandier").await;
        let received = page.sign_in_as("angela").await.consent().await.received();
        let tokens = hub.tokens("bakery", &received).await;
        let userinfo = hub.userinfo(&tokens.access_token).await;
        assert!(!userinfo.contains_key("email"), "{userinfo:?}");
        assert!(!userinfo.contains_key("preferred_username"), "{userinfo:?}");
    }
    let metrics = hub.metrics.render();
    for (claim, reason) in [
        ("email", "form"),
        ("preferred_username", "characters"),
        ("email_verified", "type"),
        ("locale", "type"),
        ("updated_at", "type"),
    ] {
        let series = format!(
            "passerelle_claims_dropped_total{{claim=\"{claim}\",connector=\"amandier\",reason=\"{reason}\"}} 2"
        );
        assert!(metrics.contains(&series), "{series}");
    }
    let list = hub.admin_json("/admin/connectors").await;
    let rows = list["connectors"].as_array().unwrap();
    let row = rows.iter().find(|row| row["id"] == "amandier").unwrap();
    let found = row["dropped_claims"].as_array().unwrap();
    assert_eq!(found.len(), 5, "{found:?}");
    let flag = found.iter().find(|row| row["claim"] == "email_verified").unwrap();
    assert_eq!(flag["problem"], "must be true or false, without quotation marks, and is a string");
    assert!(flag["fix"].as_str().unwrap().contains("[mapping] email_verified"), "{flag}");
}

#[actix_web::test]
async fn a_malformed_claim_that_the_subject_needs_ends_the_login_and_the_page_names_it() {
    for (change, label) in [
        (&[("birthdate", "\"24/08/1962\""), ("email", "\"none\"")], "Date of birth"),
        (&[("gender", "\"F\""), ("email", "\"none\"")], "Gender"),
    ] {
        let hub = TestHub::edited(with_angela(change)).await;
        let request = Authorize::by("bakery").with("scope", "openid");
        let browser = hub.browser();
        let page = browser.authorize(&request).await.choose("amandier").await;
        let page = page.sign_in_as("angela").await.assert_error(403, "Y010011");
        assert!(page.answer.body.contains(label), "{}", page.answer.body);
    }
}

#[actix_web::test]
async fn a_needed_claim_that_its_mapping_cannot_build_is_malformed_and_not_missing() {
    for (rule, code, label) in [
        ("birthdate = { from = \"birthdate\", date = \"DD/MM/YYYY\" }", "Y010011", "Date of birth"),
        ("birthdate = { from = \"born\", date = \"DD/MM/YYYY\" }", "Y010010", "Date of birth"),
        (
            "given_name = { from = \"given_name\", map = { x = \"y\" } }\nfamily_name = { from = \"none\" }",
            "Y010011",
            "Given names",
        ),
        (
            "given_name = { from = \"none\" }\nfamily_name = { from = \"none\" }",
            "Y010010",
            "Family name",
        ),
    ] {
        let hub = TestHub::edited(|folder| {
            let file = folder.join("connectors/amandier.toml");
            let text = fs::read_to_string(&file).unwrap();
            let mapping = format!("[mapping]\n{rule}\n[kind.persona]");
            fs::write(&file, text.replacen("[kind.persona]", &mapping, 1)).unwrap();
        })
        .await;
        let request = Authorize::by("bakery").with("scope", "openid");
        let browser = hub.browser();
        let page = browser.authorize(&request).await.choose("amandier").await;
        let page = page.sign_in_as("angela").await.assert_error(403, code);
        assert!(page.answer.body.contains(label), "{rule}: {}", page.answer.body);
    }
}
