use actix_web::http::header::ALLOW;
use actix_web::test::TestRequest;
use passerelle_audit::EventKind;
use passerelle_config::kinds::Kinds;
use passerelle_extension::testing::check_extension;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_server::KINDS;
use serde_json::json;

use super::{BOOK_FULL, BOOK_SIGNED, VISITORS_BOOK};
use crate::harness::hub::TestHub;

const WITH_BOOK: Kinds = Kinds { extensions: &[VISITORS_BOOK], ..KINDS };

fn visit() -> TestRequest {
    TestRequest::post().uri("/api/v2/visits")
}

#[actix_web::test]
async fn an_extension_adds_its_route_record_error_metric_task_and_readiness_to_a_hub() {
    let settings = "[audit]\nsink = \"file\"\n[visitors_book]\npages = 4";
    let hub = TestHub::with_kinds(WITH_BOOK, settings).await.unwrap();
    actix_web::rt::task::yield_now().await;
    for _ in 0..4 {
        assert_eq!(hub.send(visit()).await.json(), json!({ "is_open": true }));
    }
    let full = hub.send(visit()).await;
    assert_eq!(full.status, 503);
    assert_eq!(full.json()["error_description"], "The visitors' book is full.");
    let refused = hub.send(TestRequest::get().uri("/api/v2/visits")).await;
    assert_eq!((refused.status, refused.header(ALLOW.as_str())), (405, "POST"));
    let text = hub.metrics.render();
    for line in [
        r#"passerelle_visits_total{outcome="signed"} 4"#,
        r#"passerelle_visits_total{outcome="full"} 1"#,
        r#"passerelle_store_pool_records{pool="visits"} 4"#,
        r#"passerelle_store_errors_total{error="full",kind="visit",operation="insert"} 1"#,
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
    assert_eq!(hub.audit_event_names().iter().filter(|name| *name == "book_signed").count(), 4);
    let visits = "/admin/visits";
    assert_eq!(hub.get_admin(visits, &[]).await.status, 401);
    assert_eq!(hub.admin_json(visits).await, json!({ "visits": 4 }));
    let refused = hub.send_as_admin(TestRequest::put().uri(visits)).await;
    assert_eq!((refused.status, refused.header(ALLOW.as_str())), (405, "GET, DELETE"));
    assert_eq!(hub.send_as_admin(TestRequest::delete().uri(visits)).await.status, 200);
    let command = VISITORS_BOOK.command.unwrap();
    let arguments = (command.arguments)().get_matches_from(["visits"]);
    let request = (command.request)(&arguments).unwrap();
    let response = hub.admin_json(&format!("/{}", request.path)).await;
    assert_eq!((command.describe)(&arguments, response).unwrap(), "{\"visits\":4}\n");
    let shown = hub.admin_json("/admin/status").await;
    assert_eq!(shown["extensions"][0]["rows"], json!([["4", "4"]]));
    let page = hub.console_page("/admin/", &hub.operator_cookie().await).await;
    assert!(page.body.contains("Close it by DELETE /admin/visits."), "{}", page.body);
    assert!(hub.audit_event_names().contains(&"book_closed".to_owned()));
    let degradations = serde_json::to_string(&hub.degradations(0)).unwrap();
    assert!(degradations.contains("buy another one"), "{degradations}");
}

#[actix_web::test]
async fn a_hub_without_the_extension_has_none_of_it() {
    let hub = TestHub::with_kinds(KINDS, "").await.unwrap();
    assert_eq!(hub.send(visit()).await.status, 404);
    let listed = hub.send_as_admin(TestRequest::get().uri("/admin/visits")).await;
    assert_eq!(listed.status, 404);
    let declared = hub.metrics.declared();
    assert!(!declared.iter().any(|metric| metric.name == "passerelle_visits_total"));
    assert!(!hub.metrics.render().contains("visit"));
    let refused = TestHub::with_kinds(KINDS, "[visitors_book]\npages = 4").await.err().unwrap();
    assert_eq!(refused[0].message, "is not a known key of this file");
}

#[test]
fn an_extension_whose_parts_are_complete_passes_its_check() {
    check_extension(&VISITORS_BOOK);
    let stored = serde_json::to_string(&BOOK_FULL).unwrap();
    assert_eq!(serde_json::from_str::<ErrorCode>(&stored).unwrap(), BOOK_FULL);
    let written = serde_json::to_string(&BOOK_SIGNED).unwrap();
    assert_eq!(serde_json::from_str::<EventKind>(&written).unwrap(), BOOK_SIGNED);
    assert!(passerelle_audit::rendered_schema().contains("\"book_signed\""));
}

#[actix_web::test]
async fn the_table_of_an_extension_is_checked_shown_and_described_as_every_other() {
    for (text, key, message) in [
        ("[visitors_book]\npages = 3", "visitors_book.pages", "is odd"),
        ("[visitors_book]\npages = 200", "visitors_book.pages", "is out of range"),
        ("[visitors_book]\npages = \"many\"", "visitors_book.pages", "must be a whole number"),
        ("[visitors_book]\npagse = 4", "visitors_book.pagse", "is not a known key"),
        ("[visitors_book]\nscopes = [\"cake\"]", "visitors_book.scopes[0]", "is not in the scopes"),
        ("visitors_book = 3", "visitors_book", "must be a table"),
        ("[visitor_book]", "visitor_book", "is not a known key"),
    ] {
        let found = TestHub::with_kinds(WITH_BOOK, text).await.err().unwrap();
        let [problem] = &found[..] else { panic!("{text}: {found:?}") };
        assert_eq!(problem.key, key, "{text}");
        assert!(problem.message.contains(message) && problem.line.is_some(), "{problem:?}");
        let is_misspelled = text == "[visitor_book]";
        assert_eq!(problem.fix.contains("did you mean `visitors_book`"), is_misspelled);
    }
    let settings = "[visitors_book]\npages = 6";
    let hub = TestHub::with_kinds(WITH_BOOK, settings).await.unwrap();
    let shown = hub.admin_json("/admin/config").await;
    assert_eq!(shown["settings"]["visitors_book"], json!({ "pages": 6, "scopes": [] }));
    let page = passerelle_config::reference_markdown(WITH_BOOK);
    assert!(page.contains("| `visitors_book.pages` | 1 to 100 | `2` | Visitors"), "{page}");
}
