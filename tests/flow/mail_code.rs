//! Codes by mail, in whole logins: who is asked, what the tokens say, and the attacks.
//!
//! Hubs that share a name in `[fake_mail]` share their mailboxes. Angela has the address
//! angela@example.org at every sandbox; Jean has none.

use std::fs;
use std::path::Path;
use std::time::Duration;

use passerelle_config::kinds::Kinds;
use passerelle_hub::mail_codes::MAX_WRONG_CODES_PER_DAY;
use passerelle_protocol::ids::Secret;
use passerelle_server::KINDS;
use passerelle_server::explain::explain_levels;
use passerelle_testkit::fake_mail::{FAKE_MAIL, FakeMailCodes};
use serde_json::{Value, json};

use super::browser::{Browser, Page};
use super::hub::TestHub;
use super::service::{Authorize, Received};

const WITH_MAIL: Kinds = Kinds { extensions: &[FAKE_MAIL], ..KINDS };
const RULE: &str = "mail_code = true\nclient_id";
const NAME: &str = "level_names = [\"eidas1-mail\"]\nclient_id";

/// The bakery always asks for a code, the clinic if a request has the level name, the library never.
fn edit(folder: &Path) {
    for (service, line) in [("bakery", RULE), ("clinic", NAME)] {
        let path = folder.join(format!("service-providers/{service}.toml"));
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, text.replace("client_id", line)).unwrap();
    }
    let persons = folder.join("persons.toml");
    let text = fs::read_to_string(&persons).unwrap();
    fs::write(persons, text.replace("email = \"jean@example.org\"\n", "")).unwrap();
}

fn settings(mailbox: &str) -> String {
    format!(
        "[audit]\nsink = \"file\"\nnode = \"hub-1\"\n[fake_mail]\nname = \"{mailbox}\"\n[level_names.\"eidas1-mail\"]\nlevel = \"eidas1\"\nmail = true\n"
    )
}

async fn hub(mailbox: &str) -> TestHub {
    TestHub::with_kinds_edited(WITH_MAIL, &settings(mailbox), edit).await.unwrap()
}

/// As [`hub`], with an identity provider that has verified its addresses.
async fn verifying_hub(mailbox: &str) -> TestHub {
    let edit = |folder: &Path| {
        edit(folder);
        let path = folder.join("connectors/amandier.toml");
        let text = fs::read_to_string(&path).unwrap();
        let mapping = "[mapping]\nemail_verified = { value = true }\n[kind.persona]";
        fs::write(path, text.replace("[kind.persona]", mapping)).unwrap();
    };
    TestHub::with_kinds_edited(WITH_MAIL, &settings(mailbox), edit).await.unwrap()
}

fn asking_amr(service: &str) -> Authorize {
    Authorize::by(service).with("claims", r#"{"id_token":{"amr":{"essential":true}}}"#)
}

/// Signs in at the identity provider with these methods.
async fn sign_in<'b>(
    browser: &'b Browser<'b>,
    request: &Authorize,
    person: &str,
    methods: &[&str],
) -> Page<'b> {
    let page = browser.authorize(request).await.choose("amandier").await;
    let form = page.sandbox_form(person).without("method");
    let form = methods.iter().fold(form, |form, method| form.and("method", method));
    browser.submit(&form).await
}

async fn at_mail_page<'b>(browser: &'b Browser<'b>) -> Page<'b> {
    let page = sign_in(browser, &asking_amr("bakery"), "angela", &["pwd"]).await;
    assert!(page.url.ends_with("/mail"), "{}: {}", page.url, page.answer.body);
    page
}

async fn enter<'b>(page: &Page<'b>, code: &str) -> Page<'b> {
    let form = page.form("/mail").with("answer", "code").with("code", code);
    page.browser.submit(&form).await
}

/// Returns the code of the last mail.
fn last_code(mailbox: &str) -> String {
    FakeMailCodes::named(mailbox).sent().pop().unwrap().code.reveal().clone()
}

fn wrong(code: &str) -> String {
    format!("{:06}", (code.parse::<u32>().unwrap() + 1) % 1_000_000)
}

async fn id_token(hub: &TestHub, service: &str, received: &Received) -> Value {
    Value::Object(hub.tokens(service, received).await.id_token)
}

#[actix_web::test]
async fn after_a_password_the_code_adds_mail_and_neither_mfa_nor_a_level() {
    let hub = hub("adds-mail").await;
    let browser = hub.browser();
    let page = at_mail_page(&browser).await;
    for text in ["a***@e***", "autocomplete=\"one-time-code\"", "inputmode=\"numeric\""] {
        assert!(page.answer.body.contains(text), "{text} in {}", page.answer.body);
    }
    let sent = FakeMailCodes::named("adds-mail").sent();
    let [mail] = sent.as_slice() else { panic!("{sent:?}") };
    assert_eq!(mail.address.reveal(), "angela@example.org");
    assert_eq!(mail.language, "en");
    assert!(mail.service.to_ascii_lowercase().contains("bakery"), "{}", mail.service);
    let received = enter(&page, mail.code.reveal()).await.consent().await.received();
    let token = id_token(&hub, "bakery", &received).await;
    assert_eq!((&token["acr"], &token["amr"]), (&json!("eidas1"), &json!(["pwd", "mail", "hub"])));
    let events = hub.audit_event_names();
    for event in ["mail_code_created", "mail_confirmed"] {
        assert_eq!(events.iter().filter(|name| *name == event).count(), 1, "{events:?}");
    }
    assert_eq!(FakeMailCodes::named("adds-mail").addresses(), ["angela@example.org"]);
}

#[actix_web::test]
async fn no_user_is_asked_without_a_rule_or_after_a_second_category_or_mail() {
    let hub = hub("not-asked").await;
    for (service, methods) in [
        ("library", &["pwd"][..]),
        ("clinic", &["pwd"]),
        ("bakery", &["pwd", "otp"]),
        ("bakery", &["pwd", "mail"]),
    ] {
        let browser = hub.browser();
        let page = sign_in(&browser, &asking_amr(service), "angela", methods).await;
        assert!(page.is_consent(), "{service} {methods:?}: {}", page.url);
    }
    assert!(FakeMailCodes::named("not-asked").sent().is_empty());
}

#[actix_web::test]
async fn a_level_name_asks_for_the_code_and_is_the_answer() {
    let hub = hub("level-name").await;
    let request = Authorize::by("clinic").with("acr_values", "eidas1-mail eidas1");
    let browser = hub.browser();
    let page = sign_in(&browser, &request, "angela", &["pwd"]).await;
    let received = enter(&page, &last_code("level-name")).await.consent().await.received();
    assert_eq!(id_token(&hub, "clinic", &received).await["acr"], "eidas1-mail");
    // Two categories are more than a mailbox, and Jean has no address.
    for (person, methods, acr) in
        [("angela", &["pwd", "otp"][..], "eidas1-mail"), ("jean", &["pwd"], "eidas1")]
    {
        let browser = hub.browser();
        let page = sign_in(&browser, &request, person, methods).await;
        let received = page.consent().await.received();
        assert_eq!(id_token(&hub, "clinic", &received).await["acr"], acr, "{person}");
    }
    assert_eq!(FakeMailCodes::named("level-name").sent().len(), 1);
}

#[actix_web::test]
async fn the_explanation_of_levels_shows_what_asks_for_the_code() {
    let hub = hub("explained").await;
    for (service, acr, line) in [
        ("bakery", "eidas1", Some("a code by mail unless two categories or mail are proven")),
        ("clinic", "eidas1-mail", Some("or after a code by mail: acr eidas1-mail is answered")),
        ("library", "eidas1", None),
    ] {
        let explained = explain_levels(&hub.loaded, service, "amandier", acr, None).unwrap();
        let text = explained.to_string();
        assert_eq!(text.contains("code by mail"), line.is_some(), "{service}: {text}");
        assert!(line.is_none_or(|line| text.contains(line)), "{service}: {text}");
    }
}

#[actix_web::test]
async fn a_session_remembers_the_code_and_asks_for_it_once() {
    let hub = hub("session").await;
    let browser = hub.browser();
    let first = browser.authorize(&asking_amr("library")).await.finish_as("angela").await;
    assert_eq!(id_token(&hub, "library", &first).await["amr"], json!(["pwd", "hub"]));
    let silent = browser.authorize(&asking_amr("bakery").with("prompt", "none")).await.received();
    assert_eq!(silent.error_at("bakery"), "login_required");
    // The session is reused, and only the code is missing.
    let page = browser.authorize(&asking_amr("bakery").with("prompt", "consent")).await;
    assert!(page.url.ends_with("/mail"), "{}", page.url);
    let received = enter(&page, &last_code("session")).await.consent().await.received();
    let amr = json!(["pwd", "mail", "hub"]);
    assert_eq!(id_token(&hub, "bakery", &received).await["amr"], amr);
    let again = asking_amr("library").with("prompt", "consent");
    let again = browser.authorize(&again).await.consent().await.received();
    assert_eq!(id_token(&hub, "library", &again).await["amr"], amr);
    let silent = browser.authorize(&asking_amr("bakery").with("prompt", "none")).await.received();
    assert_eq!(id_token(&hub, "bakery", &silent).await["amr"], amr);
    assert_eq!(FakeMailCodes::named("session").sent().len(), 1);
}

#[actix_web::test]
async fn a_user_without_an_address_or_mailbox_has_a_way_on() {
    let hub = hub("way-on").await;
    let browser = hub.browser();
    let page = sign_in(&browser, &asking_amr("bakery"), "jean", &["pwd"]).await;
    let page = page.assert_error(403, "Y420401");
    assert!(page.forms().iter().any(|form| form.action.ends_with("/not-me")));
    assert_eq!(page.cancel().await.received().error_at("bakery"), "access_denied");
    let browser = hub.browser();
    let page = at_mail_page(&browser).await;
    let unreadable = page.form("/mail").with("answer", "unreadable");
    let page = browser.submit(&unreadable).await.assert_error(403, "Y420402");
    assert!(browser.submit(&page.form("/not-me")).await.is_choice());
    FakeMailCodes::named("way-on").stop();
    let browser = hub.browser();
    let page = sign_in(&browser, &asking_amr("bakery"), "angela", &["pwd"]).await;
    page.assert_error(503, "Y420405");
}

#[actix_web::test]
async fn an_address_that_mail_servers_refuse_is_not_stored_and_has_a_way_on() {
    let edit = |folder: &Path| {
        edit(folder);
        let persons = folder.join("persons.toml");
        let text = fs::read_to_string(&persons).unwrap();
        fs::write(persons, text.replace("angela@example.org", "angèle@example.org")).unwrap();
    };
    let hub = TestHub::with_kinds_edited(WITH_MAIL, &settings("unusable"), edit).await.unwrap();
    let browser = hub.browser();
    let page = sign_in(&browser, &asking_amr("bakery"), "angela", &["pwd"]).await;
    let page = page.assert_error(403, "Y420406");
    assert!(page.forms().iter().any(|form| form.action.ends_with("/not-me")));
    assert_eq!(page.cancel().await.received().error_at("bakery"), "access_denied");
    // A level name asks only where a code can be sent.
    let browser = hub.browser();
    let request = Authorize::by("clinic").with("acr_values", "eidas1-mail eidas1");
    let page = sign_in(&browser, &request, "angela", &["pwd"]).await;
    assert!(page.is_consent(), "{}", page.url);
    assert!(FakeMailCodes::named("unusable").addresses().is_empty());
}

#[actix_web::test]
async fn a_rule_without_mail_is_refused_by_the_check() {
    let name = "[level_names.\"eidas1-mail\"]\nlevel = \"eidas1\"\nmail = true\n";
    let refused = TestHub::with_kinds_edited(WITH_MAIL, name, |folder| {
        edit(folder);
        let path = folder.join("connectors/amandier.toml");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, format!("mail_code = true\n{text}")).unwrap();
    })
    .await
    .err()
    .unwrap();
    let mut found: Vec<_> = refused.iter().map(|problem| problem.key.as_str()).collect();
    found.sort_unstable();
    assert_eq!(found, ["level_names.eidas1-mail.mail", "mail_code", "mail_code"], "{refused:?}");
    assert!(refused.iter().all(|problem| problem.fix.contains("add [mail]")), "{refused:?}");
}

#[actix_web::test]
async fn attack_code_guessing_over_many_logins_of_a_person() {
    let hub = hub("guessing").await;
    let mut guesses = 0;
    let limited = loop {
        let browser = hub.browser();
        let page = sign_in(&browser, &asking_amr("bakery"), "angela", &["pwd"]).await;
        if page.answer.status != 200 {
            break page.code();
        }
        let guess = wrong(&last_code("guessing"));
        let mut page = page;
        while page.answer.status == 200 {
            page = enter(&page, &guess).await;
            guesses += 1;
        }
        assert_eq!(page.code(), "Y420403");
    };
    assert_eq!((limited.as_str(), guesses), ("Y420404", 50));
}

#[actix_web::test]
async fn attack_code_guessing_over_parallel_logins_of_a_person() {
    let hub = hub("parallel").await;
    let browsers: Vec<_> = (0..12).map(|_| hub.browser()).collect();
    let mut pages = Vec::new();
    for browser in &browsers {
        pages.push((at_mail_page(browser).await, last_code("parallel")));
    }
    let (last, right) = pages.pop().unwrap();
    let mut guesses = 0;
    for (mut page, code) in pages {
        while page.answer.status == 200 {
            page = enter(&page, &wrong(&code)).await;
            guesses += u32::from(page.answer.status != 429);
        }
    }
    assert_eq!(guesses, MAX_WRONG_CODES_PER_DAY);
    enter(&last, &right).await.assert_error(429, "Y420404");
    let events = hub.audit_event_names();
    assert!(!events.iter().any(|name| name == "mail_confirmed"), "{events:?}");
}

#[actix_web::test]
async fn attack_enumeration_by_page() {
    let hub = hub("enumeration").await;
    let page_of = async |browser: &Browser<'_>| {
        let page = at_mail_page(browser).await;
        let tokens = page.forms().into_iter().flat_map(|form| {
            [form.action, form.fields.into_iter().map(|(_, value)| value).collect()]
        });
        let mut body = page.answer.body.clone();
        for token in tokens.filter(|token| !token.is_empty()) {
            body = body.replace(&token, "");
        }
        let nonce = body.split("nonce=\"").nth(1).and_then(|rest| rest.split('"').next());
        let nonce = nonce.unwrap_or_default().to_owned();
        (page.answer.status, if nonce.is_empty() { body } else { body.replace(&nonce, "") })
    };
    let unknown = page_of(&hub.browser()).await;
    let browser = hub.browser();
    let page = at_mail_page(&browser).await;
    enter(&page, &last_code("enumeration")).await;
    FakeMailCodes::named("enumeration").set_addresses("anna.somewhere@else.example");
    assert_eq!(unknown, page_of(&hub.browser()).await);
}

/// What takes time is counted, because a clock would tell the machine's load.
#[actix_web::test]
async fn attack_enumeration_by_timing() {
    for (name, is_verified, calls) in [
        ("timing", false, &["stored_address", "send_code"][..]),
        ("timing-verified", true, &["store_address", "stored_address", "send_code"]),
    ] {
        let hub = if is_verified { verifying_hub(name).await } else { hub(name).await };
        let mailboxes = FakeMailCodes::named(name);
        let browser = hub.browser();
        let page = at_mail_page(&browser).await;
        assert_eq!(mailboxes.take_calls(), calls, "a new address");
        enter(&page, &last_code(name)).await;
        mailboxes.take_calls();
        let browser = hub.browser();
        at_mail_page(&browser).await;
        assert_eq!(mailboxes.take_calls(), calls, "a stored address");
    }
}

#[actix_web::test]
async fn attack_code_relayed_to_another_browser() {
    let hub = hub("relayed").await;
    let (victim, attacker) = (hub.browser(), hub.browser());
    let page = at_mail_page(&victim).await;
    let code = last_code("relayed");
    let form = page.form("/mail").with("answer", "code").with("code", &code);
    let stolen = attacker.submit(&form).await;
    stolen.assert_error(403, "Y420002");
    let own = at_mail_page(&attacker).await;
    let own = enter(&own, &code).await;
    assert!(own.url.ends_with("/mail"), "the code of the victim's login");
    enter(&page, &code).await.consent().await.received().code();
}

#[actix_web::test]
async fn attack_code_of_the_login_before() {
    let hub = hub("before").await;
    let browser = hub.browser();
    let page = at_mail_page(&browser).await;
    let code = last_code("before");
    enter(&page, &code).await.consent().await.received().code();
    let request = asking_amr("bakery").with("prompt", "login");
    let page = sign_in(&browser, &request, "angela", &["pwd"]).await;
    let refused = enter(&page, &code).await;
    assert!(refused.url.ends_with("/mail"), "{}", refused.url);
    assert!(refused.answer.body.contains("aria-invalid"), "{}", refused.answer.body);
}

#[actix_web::test]
async fn attack_expired_code() {
    let hub = hub("expired").await;
    let browser = hub.browser();
    let page = at_mail_page(&browser).await;
    hub.advance(Duration::from_secs(600));
    let late = enter(&page, &last_code("expired")).await;
    assert!(late.answer.body.contains("no longer valid"), "{}", late.answer.body);
    let fresh = browser.submit(&late.form("/mail").with("answer", "resend")).await;
    assert_eq!(FakeMailCodes::named("expired").sent().len(), 2);
    enter(&fresh, &last_code("expired")).await.consent().await.received().code();
}

#[actix_web::test]
async fn attack_address_swap_before_the_login() {
    let hub = hub("swap").await;
    let browser = hub.browser();
    let page = at_mail_page(&browser).await;
    enter(&page, &last_code("swap")).await.consent().await.received().code();
    let mailboxes = FakeMailCodes::named("swap");
    // From now on the identity provider asserts another address than the confirmed one.
    mailboxes.set_addresses("first@example.net");
    let browser = hub.browser();
    let page = at_mail_page(&browser).await;
    let sent: Secret<String> = mailboxes.sent().pop().unwrap().address;
    assert_eq!(sent.reveal(), "first@example.net");
    enter(&page, &last_code("swap")).await.consent().await.received().code();
    assert_eq!(mailboxes.addresses(), ["first@example.net"], "the login replaced the address");
}

#[actix_web::test]
async fn attack_address_swap_before_the_first_code() {
    for (name, methods) in [("first-pwd", &["pwd"][..]), ("first-otp", &["pwd", "otp"])] {
        let (hub, mailboxes) = (verifying_hub(name).await, FakeMailCodes::named(name));
        // The library never asks for a code.
        let browser = hub.browser();
        let page = sign_in(&browser, &asking_amr("library"), "angela", methods).await;
        page.consent().await.received().code();
        assert_eq!(mailboxes.addresses(), ["angela@example.org"]);
        // From now on the identity provider asserts another address than then.
        mailboxes.set_addresses("first@example.net");
        let browser = hub.browser();
        let page = at_mail_page(&browser).await;
        assert_eq!(mailboxes.sent().pop().unwrap().address.reveal(), "first@example.net");
        enter(&page, &last_code(name)).await.consent().await.received().code();
        assert_eq!(mailboxes.addresses(), ["first@example.net"], "the login replaced the address");
    }
}

#[actix_web::test]
async fn only_a_verified_address_is_stored_without_a_code_and_no_failure_ends_the_login() {
    for (name, is_verified, is_down) in
        [("unverified", false, false), ("no-room", true, true), ("verified", true, false)]
    {
        let hub = if is_verified { verifying_hub(name).await } else { hub(name).await };
        let mailboxes = FakeMailCodes::named(name);
        if is_down {
            mailboxes.stop();
        }
        let browser = hub.browser();
        let page = sign_in(&browser, &asking_amr("library"), "angela", &["pwd"]).await;
        page.consent().await.received().code();
        assert_eq!(mailboxes.addresses().len(), usize::from(is_verified && !is_down), "{name}");
    }
}

#[cfg(feature = "redis")]
#[actix_web::test]
async fn attack_replay_over_two_hubs_that_share_a_store() {
    use super::redis_server::Server;
    use super::shared_store::redis_settings;
    let server = Server::start(&[]);
    // Two hubs can't write one audit log.
    let settings = settings("replay").replace("[audit]\nsink = \"file\"\nnode = \"hub-1\"\n", "");
    let settings = format!("{settings}{}", redis_settings(&server));
    let hub = TestHub::with_kinds_edited(WITH_MAIL, &settings, edit).await.unwrap();
    let (hub, _) = hub.distributed(2).await;
    let browser = hub.browser();
    let page = at_mail_page(&browser).await;
    assert_eq!(FakeMailCodes::named("replay").sent().len(), 1, "one mail for both hubs");
    let code = last_code("replay");
    let form = page.form("/mail").with("answer", "code");
    let right = form.clone().with("code", &code);
    let entered =
        futures_util::future::join(browser.post(&right, None), browser.post(&right, None)).await;
    let locations = [entered.0.header("location"), entered.1.header("location")];
    assert!(locations.iter().all(|to| to.ends_with("/consent")), "{locations:?}");
    // A wrong code at both hubs at once counts twice.
    let browser = hub.browser();
    let page = at_mail_page(&browser).await;
    let guess =
        page.form("/mail").with("answer", "code").with("code", &wrong(&last_code("replay")));
    futures_util::future::join(browser.post(&guess, None), browser.post(&guess, None)).await;
    let shown = browser.open(&page.url).await;
    assert!(shown.answer.body.contains("Tries left: 3"), "{}", shown.answer.body);
}
