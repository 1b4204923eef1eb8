//! Notices that an operator publishes and removes in the console.

use actix_web::test::TestRequest;

use super::operators::{
    ALICE, NOTICE, PEER, VERA, confirmed, form_token, recorded, send_as, sign_in_cookie, staffed,
    submit,
};
use super::*;

async fn count_notices(hub: &TestHub) -> usize {
    let list: Value = hub.get_json("/admin/notices").await;
    list["notices"].as_array().unwrap().len()
}

#[actix_web::test]
async fn an_operator_publishes_and_removes_a_notice_after_a_confirmation_with_a_reason() {
    let hub = staffed().await;
    let cookie = sign_in_cookie(&hub, ALICE).await;
    let token = form_token(&hub, &cookie).await;
    let mine = (cookie.as_str(), "same-origin");
    let fields = [
        ("text.en", "Works <b>tonight</b>"),
        ("text.fr", "Travaux ce soir"),
        ("text.de", ""),
        ("severity", "warning"),
        ("until", "2999-01-01T00:00"),
        ("reason", "change 4711"),
    ];
    let asked = [&fields[..], &[("form_token", &token)]].concat();
    let asked = submit(&hub, "publish-notice", mine, &asked).await;
    for named in ["Publish this notice?", "Travaux ce soir", "2999-01-01T00:00:00Z", "warning"] {
        assert!(asked.body.contains(named), "{named}: {}", asked.body);
    }
    assert!(!asked.body.contains("<b>tonight"), "{}", asked.body);
    assert_eq!(count_notices(&hub).await, 0, "nothing happens before the confirmation");
    let done = submit(&hub, "publish-notice", mine, &confirmed(&token, &fields)).await;
    assert_eq!(done.status, 200, "{}", done.body);
    let list: Value = hub.get_json("/admin/notices").await;
    let notice = &list["notices"][0];
    let texts = serde_json::json!({ "en": "Works <b>tonight</b>", "fr": "Travaux ce soir" });
    assert_eq!((&notice["text"], &notice["severity"]), (&texts, &"warning".into()));
    let page = hub.console_page("/admin/notices", &cookie).await.body;
    assert!(page.contains("Works &#60;b&#62;tonight"), "{page}");

    let id = notice["id"].as_str().unwrap();
    let bare = confirmed(&token, &[("id", id), ("reason", "  ")]);
    assert_eq!(submit(&hub, "remove-notice", mine, &bare).await.status, 400);
    let fields = [("id", id), ("reason", "works are over")];
    let asked = [&fields[..], &[("form_token", &token)]].concat();
    let asked = submit(&hub, "remove-notice", mine, &asked).await.body;
    assert!(asked.contains("Remove this notice?") && asked.contains("Travaux ce soir"), "{asked}");
    assert_eq!(count_notices(&hub).await, 1);
    assert_eq!(submit(&hub, "remove-notice", mine, &confirmed(&token, &fields)).await.status, 200);
    assert_eq!(count_notices(&hub).await, 0);
    for (event, reason) in
        [("notice_published", "change 4711"), ("notice_removed", "works are over")]
    {
        let line = &recorded(&hub, event)[0];
        let found = ["notice", "operator", "reason"].map(|field| line[field].as_str().unwrap());
        assert_eq!(found, [id, "alice", reason]);
        assert_eq!(
            (&line["content"]["text"], &line["content"]["until"]),
            (&texts, &notice["until"])
        );
    }
}

#[actix_web::test]
async fn a_form_with_a_forged_language_or_a_text_too_long_is_refused_before_the_confirmation() {
    let hub = staffed().await;
    let cookie = sign_in_cookie(&hub, ALICE).await;
    let token = form_token(&hub, &cookie).await;
    let long = "x".repeat(301);
    for (field, text) in [("text.<script>", "x"), ("text.xx", "x"), ("text.en", long.as_str())] {
        let fields = [("form_token", token.as_str()), (field, text), ("reason", "change 4711")];
        let refused = submit(&hub, "publish-notice", (&cookie, "same-origin"), &fields).await;
        assert_eq!(refused.status, 422, "{field}: {}", refused.body);
        assert!(refused.body.contains("Y500111") && !refused.body.contains("text.<script>"));
    }
}

#[actix_web::test]
async fn neither_another_hub_nor_a_viewer_publishes_a_notice() {
    let hub = staffed().await;
    for (token, status) in [(PEER, 401), (VERA, 403)] {
        let request = TestRequest::post().uri("/admin/notices").set_payload(NOTICE);
        assert_eq!(send_as(&hub, token, request).await.status, status);
    }
    assert_eq!(count_notices(&hub).await, 0);
    let page = hub.console_page("/admin/notices", &sign_in_cookie(&hub, VERA).await).await;
    assert!(page.status == 200 && !page.body.contains("/admin/actions/"), "{}", page.body);
}
