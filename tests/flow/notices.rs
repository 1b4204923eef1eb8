//! Notices to users that an operator publishes on the running hub, beside those of `notices.toml`.

use std::fs;
use std::time::Duration;

use actix_web::test::TestRequest;
use passerelle_federation::validity::format_rfc3339;
use serde_json::{Value, json};

use super::hub::{Answer, TestHub};
use super::service::Authorize;

async fn publish(hub: &TestHub, notice: &Value) -> Answer {
    let mut new = json!({ "reason": "snow, case 4711" });
    new.as_object_mut().unwrap().extend(notice.as_object().unwrap().clone());
    let request = TestRequest::post().uri("/admin/notices").set_payload(new.to_string());
    hub.send_as_admin(request).await
}

async fn remove(hub: &TestHub, id: &str) -> Answer {
    hub.send_as_admin(TestRequest::delete().uri(&format!("/admin/notices/{id}"))).await
}

/// Returns the choice page.
async fn choice_page(hub: &TestHub) -> String {
    hub.browser().authorize(&Authorize::by("bakery")).await.answer.body.clone()
}

#[actix_web::test]
async fn a_published_notice_is_shown_above_those_of_the_file_until_it_ends_or_is_removed() {
    let hub = TestHub::edited(|folder| {
        fs::write(folder.join("notices.toml"), "[[notice]]\ntext = { en = \"Snow today\" }\n")
            .unwrap();
        let settings = folder.join("passerelle.toml");
        let text = fs::read_to_string(&settings).unwrap();
        fs::write(&settings, text + "\n[public_pages]\nstatus = true\n").unwrap();
    })
    .await;
    let at = |seconds: u64| format_rfc3339(hub.now() + Duration::from_secs(seconds));
    let works = json!({ "text": { "en": "Works tonight", "fr": "Travaux" }, "severity": "warning",
        "link": "https://status.example.org/", "from": at(3600), "until": at(7200) });
    let answer = publish(&hub, &works).await;
    assert_eq!((answer.status, &answer.json()["persisted"]), (201, &json!(true)));
    let shown = publish(&hub, &json!({ "text": { "en": "Sorry, delays" } })).await.json();
    let list = hub.admin_json("/admin/notices").await;
    let list = list["notices"].as_array().unwrap();
    assert_eq!(
        list.iter().map(|row| &row["by"]).collect::<Vec<_>>(),
        ["command", "command", "file"]
    );
    assert_eq!([&list[0]["in_force"], &list[1]["in_force"]], [false, true]);
    assert_eq!(list[0]["from"], works["from"]);

    let page = choice_page(&hub).await;
    assert!(page.find("Sorry, delays") < page.find("Snow today"), "{page}");
    assert!(page.contains("Snow today") && !page.contains("Works tonight"), "{page}");
    hub.advance(Duration::from_secs(3601));
    for path in ["/status", "/status.json", "/status.atom"] {
        let body = hub
            .send(TestRequest::get().uri(path).insert_header(("accept-language", "en")))
            .await
            .body;
        for text in ["Works tonight", "Sorry, delays", "Snow today"] {
            assert!(body.contains(text), "{path} {text}: {body}");
        }
    }
    let page = choice_page(&hub).await;
    assert!(page.contains("href=\"https://status.example.org/\""), "{page}");
    let french = Authorize::by("bakery").with("ui_locales", "fr");
    assert!(hub.browser().authorize(&french).await.answer.body.contains("Travaux"));

    let id = shown["notice"]["id"].as_str().unwrap();
    assert_eq!(remove(&hub, id).await.status, 200);
    let again = remove(&hub, id).await;
    assert_eq!((again.status, again.json()["code"].as_str()), (404, Some("Y500112")));
    hub.advance(Duration::from_secs(3600));
    let page = choice_page(&hub).await;
    assert!(!page.contains("Sorry, delays") && !page.contains("Works tonight"), "{page}");
    assert!(page.contains("Snow today"), "{page}");
    assert_eq!(hub.admin_json("/admin/notices").await["notices"].as_array().unwrap().len(), 1);
}

#[actix_web::test]
async fn markup_in_a_published_notice_is_text() {
    let hub = TestHub::start().await;
    let evil = "</p><script>alert(1)</script>\" onload='x'";
    assert_eq!(publish(&hub, &json!({ "text": { "en": evil } })).await.status, 201);
    let page = choice_page(&hub).await;
    assert!(page.contains("&#60;script&#62;alert(1)"), "{page}");
    assert!(!page.contains("<script>alert") && !page.contains("' onload="), "{page}");
}

#[actix_web::test]
async fn an_invalid_notice_is_not_published_and_each_reason_is_named() {
    let hub = TestHub::start().await;
    let text = |text: &str| json!({ "en": text });
    for (what, notice, status, code, message) in [
        ("an unknown member", json!({ "text": text("x"), "html": "x" }), 400, "Y500092", "`html`"),
        (
            "no reason",
            json!({ "text": text("x"), "reason": " " }),
            400,
            "Y500105",
            "needs a reason of 5 to 200 printable characters",
        ),
        ("no text", json!({ "text": {} }), 422, "Y500111", "text: has no text in any language"),
        (
            "too long",
            json!({ "text": text(&"x".repeat(301)) }),
            422,
            "Y500111",
            "text.en: is empty",
        ),
        ("two lines", json!({ "text": text("two\nlines") }), 422, "Y500111", "text.en: is empty"),
        (
            "a language that no one speaks",
            json!({ "text": { "en": "x", "english": "x" } }),
            422,
            "Y500111",
            "text.english: is not a language;",
        ),
        (
            "a language that the pages lack",
            json!({ "text": { "en": "x", "xx": "x" } }),
            422,
            "Y500111",
            "text.xx: is not a language of the pages",
        ),
        (
            "a script as link",
            json!({ "text": text("x"), "link": "javascript:alert(1)" }),
            422,
            "Y500111",
            "link: is not an https URL",
        ),
        (
            "over",
            json!({ "text": text("x"), "until": "2001-01-01T00:00:00Z" }),
            422,
            "Y500111",
            "until: is in the past",
        ),
    ] {
        let answer = publish(&hub, &notice).await;
        assert_eq!((answer.status, answer.json()["code"].as_str()), (status, Some(code)), "{what}");
        assert!(answer.body.contains(message), "{what}: {}", answer.body);
    }
    assert_eq!(hub.admin_json("/admin/notices").await, json!({ "notices": [] }));
    for _ in 0..5 {
        assert_eq!(publish(&hub, &json!({ "text": text("x") })).await.status, 201);
    }
    let sixth = publish(&hub, &json!({ "text": text("x") })).await;
    assert_eq!((sixth.status, sixth.json()["code"].as_str()), (409, Some("Y500097")));
}

#[actix_web::test]
async fn a_restart_keeps_a_published_notice() {
    let hub = TestHub::start().await;
    publish(&hub, &json!({ "text": { "en": "Sorry, delays" } })).await;
    let listed = hub.admin_json("/admin/notices").await;
    let hub = hub.restart().await;
    assert_eq!(hub.admin_json("/admin/notices").await, listed);
    assert!(choice_page(&hub).await.contains("Sorry, delays"));
}
