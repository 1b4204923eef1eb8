//! Why logins fail: the reasons of the last hour and the failed logins, on all hubs, and the pages
//! of one identity provider and one service provider.

use passerelle_admin::console::FailureOverview;
use serde_json::json;

use super::*;
use crate::fake_server::{FakeResponse, FakeServer};

const PAGES: &[&str] = &[
    "/admin/failures",
    "/admin/identity-providers",
    "/admin/identity-providers/amandier",
    "/admin/service-providers",
    "/admin/service-providers?client_id=bakery",
];

/// A hub with another one in `private.peers`, and a viewer.
async fn hub_with_peer(peer: &str) -> TestHub {
    let access = format!(
        "admin_token = {{ env = \"ADMIN_TOKEN\" }}, peer_token = {{ file = \"peer.token\" }}, \
         peers = {{ other = \"{peer}\" }}, \
         operators = [{{ name = \"vera\", role = \"viewer\", token = {{ file = \"vera.token\" }} }}]"
    );
    TestHub::edited(|folder| {
        std::fs::write(folder.join("peer.token"), "p".repeat(48)).unwrap();
        std::fs::write(folder.join("vera.token"), "v".repeat(48)).unwrap();
        let path = folder.join("passerelle.toml");
        let settings = std::fs::read_to_string(&path).unwrap();
        let settings = settings.replace("admin_token = { env = \"ADMIN_TOKEN\" }", &access);
        std::fs::write(&path, settings).unwrap();
    })
    .await
}

async fn fail_login(hub: &TestHub) -> (String, String) {
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
    let page = page.sign_in_failing("error").await;
    (page.references()[0].clone(), page.support_id())
}

#[actix_web::test]
async fn the_console_says_why_logins_fail_who_must_act_and_leads_to_each_login() {
    let hub = TestHub::start().await;
    let (code, support_id) = fail_login(&hub).await;
    hub.advance(Duration::from_secs(11 * 60));
    let overview: FailureOverview = hub.get_json("/admin/failures").await;
    let [cause] = overview.causes.as_slice() else { panic!("{overview:?}") };
    assert_eq!((&cause.code, cause.count), (&code, 1));
    assert!(!cause.responsible.is_empty() && cause.advice.len() > 30, "{cause:?}");
    assert_eq!(cause.identity_providers[0].id, "amandier");
    assert_eq!(cause.service_providers[0].id, "bakery");
    let [login] = overview.failed_logins.as_slice() else { panic!("{overview:?}") };
    assert_eq!((login.support_id.as_str(), &login.code), (support_id.as_str(), &code));
    let cookie = hub.operator_cookie().await;
    for path in PAGES.iter().filter(|path| !path.ends_with("providers")) {
        let page = hub.console_page(path, &cookie).await;
        assert_eq!(page.status, 200, "{path}");
        assert!(page.body.contains(&format!("href=\"/admin/logins/{support_id}\"")), "{path}");
        assert!(page.body.contains(">11 minutes ago</time>"), "{path}: {}", page.body);
        for canary in CANARIES {
            assert!(!page.body.contains(canary), "{path} contains {canary}");
        }
    }
    hub.advance(Duration::from_secs(3600));
    let later: FailureOverview = hub.get_json("/admin/failures").await;
    assert_eq!((later.causes.len(), later.failed_logins.len()), (0, 1));
}

#[actix_web::test]
async fn failed_logins_of_other_hubs_are_listed_and_a_hub_without_answer_is_named() {
    let time = "2026-11-21T10:15:00Z";
    let answer = json!({
        "instance": "other", "granted": 5,
        "counts": [{ "code": "Y020003", "identity_provider": "amandier", "count": 7 }],
        "failed_logins": [{ "time": time, "support_id": "7K2M9QX4T0BC", "code": "Y020003" }],
        "refused_requests": [],
    });
    let peer = FakeServer::start(move |request| {
        let is_mine = request.target == "/admin/peer/failures?"
            && request.headers.to_ascii_lowercase().contains(&"p".repeat(48));
        if is_mine { FakeResponse::json(&answer) } else { FakeResponse::status(401) }
    })
    .await;
    let hub = hub_with_peer(&peer.base()).await;
    fail_login(&hub).await;
    let overview: FailureOverview = hub.get_json("/admin/failures").await;
    assert_eq!((overview.failed, overview.granted, overview.failed_logins.len()), (8, 5, 2));
    let other = &overview.failed_logins[1];
    assert_eq!((other.node.as_deref(), other.support_id.as_str()), (Some("other"), "7K2M9QX4T0BC"));
    drop(peer);
    let overview: FailureOverview = hub.get_json("/admin/failures").await;
    assert!(overview.nodes[1].node == "other" && overview.nodes[1].error.is_some());
    let page = hub.console_page("/admin/failures", &hub.operator_cookie().await).await;
    assert!(page.body.contains("<strong>other</strong> is not counted"), "{}", page.body);
}

/// Attack: a hub that was taken over answers with markup, unknown codes and endless numbers.
#[actix_web::test]
async fn a_peer_that_lies_about_failed_logins_puts_nothing_into_the_page() {
    let evil = "<script>alert(1)</script>";
    let failure = |time: &str, id: &str, code: &str, idp: &str| json!({ "time": time, "support_id": id, "code": code, "identity_provider": idp });
    let (time, id) = ("2026-11-21T10:15:00Z", "7K2M9QX4T0BC");
    let failures = [
        failure(evil, id, "Y020003", "amandier"),
        failure(time, evil, "Y020003", "amandier"),
        failure(time, id, evil, "amandier"),
        failure(time, id, "Y020003", evil),
    ];
    let answer = json!({
        "instance": "other", "granted": u64::MAX,
        "counts": [
            { "code": "Y020003", "identity_provider": evil, "count": u64::MAX },
            { "code": "Y020003", "service_provider": "a b", "count": u64::MAX },
            { "code": evil, "count": 1 },
        ],
        "failed_logins": failures, "refused_requests": failures,
    });
    let peer = FakeServer::start(move |_| FakeResponse::json(&answer)).await;
    let hub = hub_with_peer(&peer.base()).await;
    let overview: FailureOverview = hub.get_json("/admin/failures").await;
    assert!(overview.failed_logins.is_empty() && overview.refused_requests.is_empty());
    let [cause] = overview.causes.as_slice() else { panic!("{overview:?}") };
    assert!(cause.identity_providers.is_empty() && cause.service_providers.is_empty(), "{cause:?}");
    let page = hub.console_page("/admin/failures", &hub.operator_cookie().await).await;
    assert!(!page.body.contains("alert(1)"), "{}", page.body);
}

/// Attacks: reading without a token, with another hub's, from another site, and changing as a
/// viewer.
#[actix_web::test]
async fn the_pages_of_failures_and_providers_need_a_token_and_a_viewer_only_reads() {
    let hub = hub_with_peer("http://127.0.0.1:9").await;
    let answer = hub.sign_in(&"v".repeat(48), "/admin/", "same-origin").await;
    let cookie = answer.header("set-cookie").split(';').next().unwrap().to_owned();
    let peer = format!("Bearer {}", "p".repeat(48));
    for path in PAGES {
        // After ten wrong tokens in a minute the response is another one.
        hub.advance(Duration::from_secs(60));
        assert_eq!(hub.get_admin(path, &[]).await.status, 401, "{path}");
        let by_peer = hub.get_admin(path, &[("authorization", &peer)]).await;
        assert_eq!(by_peer.status, 401, "{path}");
        let page = hub.console_page(path, &cookie).await;
        assert_eq!(page.status, 200, "{path}");
        assert!(!page.body.contains("/admin/actions/block"), "{path}");
        let headers = [
            ("accept", "text/html"),
            ("cookie", cookie.as_str()),
            ("sec-fetch-site", "cross-site"),
        ];
        assert_eq!(hub.get_admin(path, &headers).await.status, 401, "{path}");
        let post = headers
            .iter()
            .fold(TestRequest::post().uri(path), |request, header| request.insert_header(*header));
        assert!(hub.send_private(post).await.status >= 400, "{path}");
    }
    hub.advance(Duration::from_secs(60));
    let wrong = hub.get_admin("/admin/peer/failures", &[]).await;
    assert_eq!(wrong.status, 401);
    let report = hub.get_admin("/admin/peer/failures", &[("authorization", &peer)]).await;
    assert_eq!(report.status, 200, "{}", report.body);
}

#[actix_web::test]
async fn the_page_of_a_provider_has_its_state_settings_and_blocks() {
    let hub = TestHub::start().await;
    hub.block(
        json!({ "connector": "amandier", "reason": "keys leaked", "service_provider": "bakery" }),
    )
    .await;
    let cookie = hub.operator_cookie().await;
    let amandier = hub.console_page("/admin/identity-providers/amandier", &cookie).await.body;
    for text in [">available</span>", "keys leaked", "probed by the hub", "Why logins fail"] {
        assert!(amandier.contains(text), "{text}: {amandier}");
    }
    let bakery = hub.console_page("/admin/service-providers?client_id=bakery", &cookie).await.body;
    for text in ["keys leaked", "blocked the connector for this service provider", "client_secret"]
    {
        assert!(bakery.contains(text), "{text}: {bakery}");
    }
    assert!(!bakery.contains(SECRET));
    for unknown in ["/admin/identity-providers/x", "/admin/service-providers?client_id=x"] {
        assert_eq!(hub.console_page(unknown, &cookie).await.status, 404, "{unknown}");
    }
    let found = hub.console_page("/admin/identity-providers?q=amand", &cookie).await.body;
    assert!(found.contains("amandier") && !found.contains("belvedere"), "{found}");
}
