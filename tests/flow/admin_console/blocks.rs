//! Blocks that an operator sets and lifts in the console.

use actix_web::test::TestRequest;

use super::operators::{
    ALICE, blocks, confirmed, form_token, recorded, send_as, sign_in_cookie, staffed, submit,
};
use super::*;

#[actix_web::test]
async fn an_operator_blocks_and_unblocks_from_a_page_with_a_reason_and_an_end_after_a_confirmation()
{
    let hub = staffed().await;
    let cookie = sign_in_cookie(&hub, ALICE).await;
    let token = form_token(&hub, &cookie).await;
    let mine = (cookie.as_str(), "same-origin");
    let fields = [
        ("form_token", token.as_str()),
        ("connector", "amandier"),
        ("reason", "keys leaked, case 4711"),
        ("from", "2001-01-01T00:00"),
        ("until", "2999-01-01T00:00"),
        ("service_providers", "bakery\r\n\r\nlibrary "),
        ("message.en", "Back on <b>Monday</b>."),
        ("message.fr", ""),
    ];
    let asked = submit(&hub, "block", mine, &fields).await;
    assert_eq!(asked.status, 200, "{}", asked.body);
    for named in ["Block this identity provider?", "bakery, library", "2999-01-01T00:00:00Z"] {
        assert!(asked.body.contains(named), "{named}: {}", asked.body);
    }
    assert!(!asked.body.contains("<b>Monday"), "{}", asked.body);
    assert_eq!(blocks(&hub).await, 0, "nothing happens before the confirmation");
    let fields: Vec<_> = fields.into_iter().chain([("confirmed", "yes")]).collect();
    let answer = submit(&hub, "block", mine, &fields).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(answer.body.contains("/admin/identity-providers/amandier"), "{}", answer.body);
    let list: Value = hub.get_json("/admin/blocks").await;
    let block = &list["blocks"][0];
    assert_eq!(
        (block["until"].as_str(), block["in_force"].as_bool()),
        (Some("2999-01-01T00:00:00Z"), Some(true))
    );
    assert_eq!(block["service_providers"], serde_json::json!(["bakery", "library"]));
    assert_eq!(block["message"], serde_json::json!({ "en": "Back on <b>Monday</b>." }));
    assert_eq!(block["from"], "2001-01-01T00:00:00Z");
    let services: Vec<Value> =
        recorded(&hub, "block_set").iter().map(|line| line["sp"].clone()).collect();
    assert_eq!(services, ["bakery", "library"]);
    let page = hub.console_page("/admin/", &cookie).await;
    assert!(page.body.contains("keys leaked, case 4711") && page.body.contains("alice (operator)"));
    // Neither change goes without a reason.
    let id = block["id"].as_str().unwrap();
    let bare = confirmed(&token, &[("id", id), ("reason", "  ")]);
    assert_eq!(submit(&hub, "unblock", mine, &bare).await.status, 400);
    assert_eq!(blocks(&hub).await, 1);
    let fields = confirmed(&token, &[("id", id), ("reason", "keys replaced")]);
    assert_eq!(submit(&hub, "unblock", mine, &fields).await.status, 200);
    assert_eq!(blocks(&hub).await, 0);
    let operator_and_reason = |event: &str| {
        let lines = recorded(&hub, event);
        let line = lines.first().unwrap();
        ["operator", "reason"].map(|field| line[field].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(operator_and_reason("block_set"), ["alice", "keys leaked, case 4711"]);
    assert_eq!(operator_and_reason("block_lifted"), ["alice", "keys replaced"]);
    assert_eq!(recorded(&hub, "operator_signed_in")[0]["operator"], "alice");
}

#[actix_web::test]
async fn the_block_of_a_connector_without_a_file_is_lifted_in_the_console() {
    let hub = staffed().await;
    let block = r#"{"connector":"belvedere","reason":"keys leaked, case 4711"}"#;
    let set = TestRequest::post().uri("/admin/blocks").set_payload(block);
    let set = send_as(&hub, ALICE, set).await.json();
    std::fs::remove_file(hub.folder().join("connectors/belvedere.toml")).unwrap();
    hub.reload_files().await;
    let cookie = sign_in_cookie(&hub, ALICE).await;
    let token = form_token(&hub, &cookie).await;
    let id = set["block"]["id"].as_str().unwrap();
    let fields = confirmed(&token, &[("id", id), ("reason", "keys replaced")]);
    let done = submit(&hub, "unblock", (&cookie, "same-origin"), &fields).await;
    assert!(done.body.contains("The block is lifted: belvedere."), "{}", done.body);
    assert!(!done.body.contains("/admin/identity-providers/belvedere"), "{}", done.body);
    assert_eq!(blocks(&hub).await, 0);
}

#[actix_web::test]
async fn a_block_for_thousands_of_services_is_asked_about_and_a_larger_form_refused_with_the_limit()
{
    let hub = staffed().await;
    let cookie = sign_in_cookie(&hub, ALICE).await;
    let token = form_token(&hub, &cookie).await;
    for (services, status, said) in [
        (5_000, 200, "service-provider-004999"),
        (20_000, 413, "the body is larger than 262144 bytes"),
    ] {
        let ids: Vec<_> = (0..services).map(|n| format!("service-provider-{n:06}")).collect();
        let ids = ids.join("\r\n");
        let fields = [
            ("form_token", token.as_str()),
            ("connector", "amandier"),
            ("reason", "keys leaked, case 4711"),
            ("service_providers", &ids),
        ];
        let asked = submit(&hub, "block", (&cookie, "same-origin"), &fields).await;
        assert_eq!(asked.status, status);
        assert!(asked.body.contains(said), "{status}");
    }
}
