//! The public status page, its JSON and its feed, the accessibility statement and the privacy
//! notice.

use std::fs;
use std::time::Duration;

use actix_web::http::Method;
use actix_web::test::TestRequest;
use passerelle_federation::validity::format_rfc3339;
use serde_json::{Value, json};

use super::hub::{Answer, TestHub};
use super::service::Authorize;

const STATUS: &str = "\n[public_pages]\nstatus = true\n";
const STATEMENTS: &str = r#"
[public_pages.accessibility]
conformity = "partial"
prepared = "2026-11-01"
assessed = "self"
defects = [{ en = "The QR code has <no> text.", fr = "Le code QR n'a pas de texte." }]
contact = "mailto:access@hub.example"
enforcement = { name = { en = "The ombudsman" }, url = "https://ombudsman.example/" }

[public_pages.privacy]
controller = { en = "Ministry of Bread, 1 Mill Lane" }
contact = "https://ministry.example/privacy"
data_protection_officer = "mailto:dpo@ministry.example"
legal_basis = { en = "Bread Act, article 7" }
recipients = [{ en = "the hosting company" }]
authority = { name = { en = "Data Authority" }, url = "https://authority.example/" }
"#;

async fn get(hub: &TestHub, path: &str) -> Answer {
    hub.send(TestRequest::get().uri(path).insert_header(("accept-language", "en"))).await
}

fn provider<'a>(status: &'a Value, id: &str) -> &'a Value {
    let all = status["identity_providers"].as_array().unwrap();
    all.iter().find(|one| one["id"] == id).unwrap_or_else(|| panic!("{id} is not in {status}"))
}

#[actix_web::test]
async fn without_the_table_there_is_no_page_and_no_link_to_one() {
    let hub = TestHub::start().await;
    for path in ["/status", "/status.json", "/status.atom", "/accessibility", "/privacy"] {
        assert_eq!(get(&hub, path).await.status, 404, "{path}");
    }
    assert!(!get(&hub, "/").await.body.contains("href=\"/status\""));
    let hub = TestHub::with(STATUS).await;
    assert_eq!(get(&hub, "/privacy").await.status, 404);
    assert!(get(&hub, "/").await.body.contains("<a href=\"/status\">Service status</a>"));
}

#[actix_web::test]
async fn the_links_to_the_pages_have_the_operators_texts_also_in_an_added_language() {
    let hub = TestHub::with(STATUS).await;
    for (file, text) in
        [("en/site.ftl", "How the service works today"), ("br.ftl", "Stad ar servij")]
    {
        let path = hub.folder().join("locales").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let name = if file == "br.ftl" { "language-name = Brezhoneg\n" } else { "" };
        fs::write(path, format!("{name}public-status-title = {text}\n")).unwrap();
    }
    hub.reload_files().await;
    for (language, text) in [("en", "How the service works today"), ("br", "Stad ar servij")] {
        let home = TestRequest::get().uri("/").insert_header(("accept-language", language));
        let page = hub.send(home).await;
        assert!(page.body.contains(&format!("<a href=\"/status\">{text}</a>")), "{}", page.body);
    }
}

#[actix_web::test]
async fn the_status_shows_blocks_in_force_and_planned_and_notices_as_page_json_and_feed() {
    let hub = TestHub::with(STATUS).await;
    let in_hours = |hours: u64| format_rfc3339(hub.now() + Duration::from_secs(3600 * hours));
    let message = json!({ "en": "Back <soon>.", "fr": "De retour." });
    let until = in_hours(3);
    hub.block(
        json!({ "connector": "amandier", "reason": "secret", "message": message, "until": until }),
    )
    .await;
    let (from, end) = (in_hours(24), in_hours(26));
    hub.block(json!({ "connector": "belvedere", "reason": "secret", "from": from, "until": end }))
        .await;
    let notices = format!(
        "[[notice]]\ntext = {{ en = \"Snow today\" }}\n[[notice]]\ntext = {{ en = \"Works on <Sunday>\" }}\nlink = \"https://example.org/works\"\nfrom = \"{from}\"\nuntil = \"{end}\"\n"
    );
    fs::write(hub.folder().join("notices.toml"), notices).unwrap();
    hub.reload_files().await;
    assert!(!get(&hub, "/").await.body.contains("Sunday"), "it has not begun");

    let page = get(&hub, "/status").await;
    assert_eq!(
        (page.status, page.header("cache-control"), page.header("vary")),
        (200, "public, max-age=30", "accept-language, cookie")
    );
    for text in [
        "<bdi>Amandier account</bdi></strong> – blocked",
        "Back &#60;soon&#62;.",
        "Snow today",
        "Works on &#60;Sunday&#62;",
        "<a href=\"https://example.org/works\"",
    ] {
        assert!(page.body.contains(text), "{text}: {}", page.body);
    }
    assert_eq!(page.body.matches(&from).count(), 2, "the planned block and notice: {}", page.body);
    assert!(!page.body.contains("secret"), "the reason is for operators");

    let answer = get(&hub, "/status.json").await;
    assert_eq!(answer.header("access-control-allow-origin"), "*");
    let status = answer.json();
    let blocked = provider(&status, "amandier");
    assert_eq!(blocked["status"], "blocked");
    assert_eq!(blocked["block"], json!({ "message": message, "from": null, "until": until }));
    let planned = provider(&status, "belvedere");
    assert_eq!(planned["status"], "available");
    assert_eq!(planned["planned"], json!([{ "message": {}, "from": from, "until": end }]));
    for (list, text, from) in [
        ("notices", "Snow today", Value::Null),
        ("planned_notices", "Works on <Sunday>", json!(from)),
    ] {
        let [notice] = status[list].as_array().unwrap().as_slice() else { panic!("{status}") };
        assert_eq!((&notice["text"]["en"], &notice["from"]), (&json!(text), &from));
    }

    let feed = get(&hub, "/status.atom?lang=fr").await;
    assert_eq!(feed.header("content-type"), "application/atom+xml; charset=utf-8");
    for text in ["xml:lang=\"fr\"", "De retour.", "interruption prévue", "Snow today"] {
        assert!(feed.body.contains(text), "{text}: {}", feed.body);
    }
    assert_eq!(feed.body.matches("<entry>").count(), 4);
    hub.advance(Duration::from_secs(60));
    let later = get(&hub, "/status.atom?lang=fr").await;
    assert_eq!(later.body, feed.body, "a planned entry is not updated by the time that passes");
    hub.advance(Duration::from_secs(4 * 3600));
    assert_eq!(
        provider(&get(&hub, "/status.json").await.json(), "amandier")["status"],
        "available"
    );
}

#[actix_web::test]
async fn every_hub_names_a_block_in_its_feed_by_the_same_id_whenever_it_was_asked_first() {
    let ids = async |after: u64| {
        let hub = TestHub::edited(|folder| {
            for (file, text) in [
                ("passerelle.toml", STATUS),
                ("connectors/amandier.toml", "\n[[block]]\nreason = \"x\"\n"),
            ] {
                let file = folder.join(file);
                fs::write(&file, fs::read_to_string(&file).unwrap() + text).unwrap();
            }
        })
        .await;
        hub.advance(Duration::from_secs(after));
        let feed = get(&hub, "/status.atom").await.body;
        feed.split("<id>").skip(2).map(|id| id[..id.find('<').unwrap()].to_owned()).collect()
    };
    let (one, other): (Vec<String>, Vec<String>) = (ids(0).await, ids(60).await);
    assert_eq!((one.len(), &one), (1, &other));
}

#[actix_web::test]
async fn a_head_request_announces_the_length_of_the_page() {
    let hub = TestHub::with(STATUS).await;
    let length =
        async |method| hub.send(TestRequest::with_uri("/status").method(method)).await.body.len();
    assert_eq!(length(Method::HEAD).await, length(Method::GET).await, "RFC 9110 §8.6");
}

#[actix_web::test]
async fn the_status_page_is_no_oracle_about_people_or_services() {
    let hub = TestHub::edited(|folder| {
        let settings = folder.join("passerelle.toml");
        fs::write(&settings, fs::read_to_string(&settings).unwrap() + STATUS).unwrap();
        let library = folder.join("service-providers/library.toml");
        fs::write(&library, fs::read_to_string(&library).unwrap() + "status_page = true\n")
            .unwrap();
    })
    .await;
    let before = get(&hub, "/status.json").await.body;
    let browser = hub.browser();
    browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await.code();
    assert_eq!(browser.get("/status.json").await.body, before, "the same for who is signed in");

    let bakery = json!({
        "connector": "amandier", "reason": "x", "service_provider": ["library"], "message": { "en": "Not here" },
    });
    hub.block(bakery).await;
    assert_eq!(get(&hub, "/status.json").await.body, before, "a block for one service is its own");
    let own = get(&hub, "/status.json?client_id=library").await.json();
    assert_eq!(provider(&own, "amandier")["status"], "blocked");

    let without_ids = |answer: Answer| {
        let lines: Vec<String> = answer.body.lines().map(str::to_owned).collect();
        (answer.status, lines.len())
    };
    for path in ["/status", "/status.json", "/status.atom"] {
        let repeated = get(&hub, &format!("{path}?client_id=library&client_id=library")).await;
        assert_eq!(repeated.status, 404, "{path}");
        let closed = get(&hub, &format!("{path}?client_id=bakery")).await;
        let unknown = get(&hub, &format!("{path}?client_id=unknown")).await;
        assert_eq!(closed.status, 404, "{path}");
        assert_eq!(without_ids(closed), without_ids(unknown), "{path}");
    }
}

#[actix_web::test]
async fn the_statements_have_the_operators_answers_and_the_periods_of_this_hub() {
    let periods = "choice.remember_last = true\n[audit]\nsink = \"file\"\nkeep_days = 400\n[lifetimes]\nlogin_seconds = 600\n[mail]\nurl = \"smtp://127.0.0.1:9\"\ninsecure_smtp = true\nfrom = \"hub@example.org\"\naddress_days = 90\n";
    let hub = TestHub::with(&format!("{periods}{STATEMENTS}")).await;
    let page = get(&hub, "/accessibility").await;
    assert_eq!(page.status, 200);
    for text in [
        "conform partially",
        "1 November 2026",
        "&#60;no&#62; text",
        "mailto:access@hub.example",
        "The ombudsman",
    ] {
        assert!(page.body.contains(text), "{text}: {}", page.body);
    }
    let page = get(&hub, "/privacy").await;
    for text in [
        "Ministry of Bread",
        "dpo@ministry.example",
        "Bread Act",
        "the hosting company",
        "Data Authority",
        "not finished: 10 minutes at most",
        "8 hours at most",
        "pseudonyms, services and times: 400 days",
        "chose last: 180 days",
        "address, encrypted: 90 days",
        "A register of persons",
    ] {
        assert!(page.body.contains(text), "{text}: {}", page.body);
    }
    let browser = hub.browser();
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    assert!(choice.answer.body.contains("<a href=\"/privacy\">Privacy notice</a>"));
    let french =
        hub.send(TestRequest::get().uri("/privacy").insert_header(("accept-language", "fr"))).await;
    assert!(
        french.body.contains("480 minutes au plus") || french.body.contains("8 heures au plus")
    );
}
