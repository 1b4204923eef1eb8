//! Several hubs on one Redis without sticky sessions: each request reaches another hub.

use actix_web::test::TestRequest;
use futures_util::future::join_all;
use serde_json::{Value, json};
use url::form_urlencoded::Serializer;

use super::attacks::callback_url_for;
use super::federation::{ADMIN_TOKEN, SECRET};
use passerelle_testkit::wait::{wait_for, wait_until};

use super::hub::{Answer, TestHub};
use super::redis_server::Server;
use super::service::Authorize;

/// Returns the settings of a hub that stores its records on `server`.
pub(super) fn redis_settings(server: &Server) -> String {
    format!(
        r#"
[store.redis]
nodes = ["unix:{}"]
password = {{ env = "REDIS_PASSWORD" }}
encryption_keys = [{{ env = "STORE_KEY" }}]
call_milliseconds = 5000
"#,
        server.socket().display()
    )
}

async fn userinfo_status(hub: &TestHub, token: &str) -> u16 {
    let request = TestRequest::get()
        .uri("/api/v2/userinfo")
        .insert_header(("authorization", format!("Bearer {token}")));
    hub.send(request).await.status
}

async fn sign_out(id_token: &str, browser: &super::browser::Browser<'_>) {
    let pairs = [
        ("id_token_hint", id_token),
        ("post_logout_redirect_uri", &super::federation::post_logout_redirect_uri("bakery")),
        ("state", super::service::STATE),
    ];
    let query = Serializer::new(String::new()).extend_pairs(pairs).finish();
    let answer = browser.get(&format!("/api/v2/session/end?{query}")).await;
    assert_eq!(answer.status, 303, "{}", answer.body);
    assert!(browser.session().is_none());
}

#[actix_web::test]
async fn any_hub_serves_any_request_of_a_login() {
    let server = Server::start(&[]);
    let (hub, _) = TestHub::several(3, &redis_settings(&server)).await;
    for _ in 0..3 {
        let browser = hub.browser();
        let received = browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
        let first = hub.tokens("bakery", &received).await;
        assert_eq!(hub.userinfo(&first.access_token).await["family_name"], "DUBOIS");
        let page = browser.authorize(&Authorize::by("library").with("prompt", "consent")).await;
        assert!(page.is_consent(), "every hub reuses the session: at {}", page.url);
        let second = page.consent().await.received();
        let second = hub.tokens("library", &second).await;
        sign_out(&first.raw_id_token, &browser).await;
        for token in
            [&first.access_token, &second.access_token, &first.access_token, &second.access_token]
        {
            assert_eq!(userinfo_status(&hub, token).await, 401, "a token alive after logout");
        }
    }
}

#[actix_web::test]
async fn a_code_that_is_redeemed_at_every_hub_is_redeemed_once() {
    let server = Server::start(&[]);
    let (hub, _) = TestHub::several(3, &redis_settings(&server)).await;
    let browser = hub.browser();
    let received = browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let tokens = hub.tokens("bakery", &received).await;
    for _ in 0..3 {
        assert_eq!(hub.redeem("bakery", received.code()).await.status, 400, "a second redemption");
        assert_eq!(
            userinfo_status(&hub, &tokens.access_token).await,
            401,
            "a token of a stolen code is valid"
        );
    }
}

/// The primary refuses writes, as one does that is cut off from its replicas or is being replaced.
#[actix_web::test]
async fn while_the_store_is_unavailable_users_get_an_error_and_continue_afterwards() {
    let server = Server::start(&[]);
    let (hub, _) = TestHub::several(2, &redis_settings(&server)).await;
    let (browser, newcomer) = (hub.browser(), hub.browser());
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    assert!(choice.is_choice());
    let before = server.keys();
    server.cli(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    for _ in 0..12 {
        let page = newcomer.authorize(&Authorize::by("bakery")).await;
        assert_eq!(page.answer.status, 503, "{}", page.answer.body);
        assert!(
            !page.answer.header("retry-after").is_empty() && page.answer.body.contains("Y500001"),
            "{}",
            page.answer.body
        );
    }
    assert!(newcomer.logins().is_empty(), "a cookie for no login");
    assert_eq!(server.keys(), before, "a rejected login left a record");
    server.cli(&["CONFIG", "SET", "min-replicas-to-write", "0"]);
    let page = wait_for("logins are admitted again", async || {
        let page = newcomer.authorize(&Authorize::by("bakery")).await;
        (page.answer.status == 200).then_some(page)
    })
    .await;
    page.finish_as("angela").await;
    let received = choice.finish_as("angela").await;
    assert!(
        hub.tokens("bakery", &received).await.id_token.contains_key("sub"),
        "the login that was in progress completes"
    );
}

/// A service provider takes `login_required` for the end of the session.
#[actix_web::test]
async fn a_session_that_can_not_be_read_is_not_reported_as_ended() {
    let server = Server::start(&[]);
    let (hub, _) = TestHub::several(2, &redis_settings(&server)).await;
    let browser = hub.browser();
    browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let silent = Authorize::by("bakery").with("prompt", "none");
    browser.authorize(&silent).await.received().code();
    let sessions: Vec<String> =
        server.keys().into_iter().filter(|key| key.contains(":s:")).collect();
    for key in &sessions {
        let mut record = server.get(key);
        record[0] = 9; // a format of the future
        server.set(key, &record);
    }
    assert!(!sessions.is_empty());
    let received = browser.authorize(&silent).await.received();
    assert_eq!(received.error_at("bakery"), "temporarily_unavailable");
}

/// CVE-2020-15223: a revocation was confirmed although the store had failed.
#[actix_web::test]
async fn a_revocation_that_the_store_did_not_apply_is_never_confirmed() {
    let server = Server::start(&[]);
    let (hub, _) = TestHub::several(2, &redis_settings(&server)).await;
    let browser = hub.browser();
    let received = browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let token = hub.tokens("bakery", &received).await.access_token;
    let form = [("client_id", "bakery"), ("client_secret", SECRET), ("token", &token)];
    server.cli(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    let failed = hub.post_form("/api/v2/token/revocation", &form).await;
    assert_eq!(failed.status, 503, "{}", failed.body);
    server.cli(&["CONFIG", "SET", "min-replicas-to-write", "0"]);
    wait_for("the token is alive, as the answer said", async || {
        (userinfo_status(&hub, &token).await == 200).then_some(())
    })
    .await;
    assert_eq!(hub.post_form("/api/v2/token/revocation", &form).await.status, 200);
    assert_eq!(userinfo_status(&hub, &token).await, 401);
}

#[actix_web::test]
async fn a_login_takes_at_most_one_kibibyte_of_the_store_at_each_step() {
    let server = Server::start(&[]);
    let (hub, _) = TestHub::several(2, &redis_settings(&server)).await;
    let largest_login = || {
        let logins = server.keys().into_iter().filter(|key| key.starts_with("passerelle:l:"));
        logins
            .map(|key| server.cli_text(&["MEMORY", "USAGE", &key]).parse::<u64>().unwrap())
            .max()
            .unwrap()
    };
    let browser = hub.browser();
    let mut steps = Vec::new();
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    steps.push(("authorize and choice page", largest_login()));
    let page = choice.choose("amandier").await;
    steps.push(("choose", largest_login()));
    let page = page.sign_in_as("angela").await;
    // The record has the identity now.
    steps.push(("callback and consent page", largest_login()));
    let received = page.consent().await.received();
    steps.push(("consent", largest_login()));
    let tokens = hub.tokens("bakery", &received).await;
    steps.push(("token", largest_login()));
    hub.userinfo(&tokens.access_token).await;
    steps.push(("userinfo", largest_login()));
    assert!(steps.iter().all(|(_, bytes)| *bytes <= 1024), "{steps:?}");
}

async fn send_as_admin_to(hub: &TestHub, number: usize, request: TestRequest) -> Answer {
    hub.send_private_to(
        number,
        request.insert_header(("authorization", format!("Bearer {ADMIN_TOKEN}"))),
    )
    .await
}

async fn block(hub: &TestHub, number: usize, connector: &str) -> Answer {
    let block = json!({ "connector": connector, "reason": "keys leaked" });
    send_as_admin_to(
        hub,
        number,
        TestRequest::post().uri("/admin/blocks").set_payload(block.to_string()),
    )
    .await
}

async fn list_blocks(hub: &TestHub, number: usize) -> Value {
    let answer = send_as_admin_to(hub, number, TestRequest::get().uri("/admin/blocks")).await;
    serde_json::from_str(&answer.body).unwrap()
}

/// Waits until every hub lists the same blocks as this one.
async fn wait_for_same_blocks(hub: &TestHub, number: usize) {
    let expected = list_blocks(hub, number).await;
    for other in 0..3 {
        wait_for("every hub lists the same blocks", async || {
            (list_blocks(hub, other).await == expected).then_some(())
        })
        .await;
    }
}

#[actix_web::test]
async fn a_block_set_at_one_hub_holds_at_all_of_them_and_outlives_them() {
    let server = Server::start(&[]);
    let (hub, _) = TestHub::several(3, &redis_settings(&server)).await;
    let browser = hub.browser();
    let sandbox = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
    let set: Value = serde_json::from_str(&block(&hub, 0, "amandier").await.body).unwrap();
    assert_eq!(set["persisted"], true, "{set}");
    assert_eq!(
        list_blocks(&hub, 0).await["blocks"][0],
        set["block"],
        "the hub that set the block lists it at once"
    );
    wait_for_same_blocks(&hub, 0).await;
    // Each of these requests goes to another hub.
    sandbox.sign_in_as("angela").await.assert_error(403, "Y020150");
    for _ in 0..3 {
        assert_eq!(browser.authorize(&Authorize::by("library")).await.offered(), ["belvedere"]);
    }
    let settings = redis_settings(&server);
    drop(hub);
    // Other hubs with other folders and the same store.
    let (hub, _) = TestHub::several(3, &settings).await;
    for number in 0..3 {
        assert_eq!(
            list_blocks(&hub, number).await["blocks"][0],
            set["block"],
            "the hub reads the blocks before its first request"
        );
    }
    let id = set["block"]["id"].as_str().unwrap();
    let lifted =
        send_as_admin_to(&hub, 2, TestRequest::delete().uri(&format!("/admin/blocks/{id}"))).await;
    assert_eq!(lifted.status, 200, "{}", lifted.body);
    wait_for_same_blocks(&hub, 2).await;
    let browser = hub.browser();
    for _ in 0..3 {
        assert_eq!(
            browser.authorize(&Authorize::by("library")).await.offered(),
            ["amandier", "belvedere"]
        );
    }
}

#[actix_web::test]
async fn a_notice_published_at_one_hub_is_shown_by_all_of_them_and_outlives_them() {
    let server = Server::start(&[]);
    let settings = redis_settings(&server);
    let (hub, _) = TestHub::several(3, &settings).await;
    let notice =
        json!({ "text": { "en": "Sorry, delays" }, "reason": "snow, case 4711" }).to_string();
    let request = TestRequest::post().uri("/admin/notices").set_payload(notice);
    let published = send_as_admin_to(&hub, 0, request).await.json();
    assert_eq!(published["persisted"], true, "{published}");
    // Each of these requests goes to another hub.
    let browser = hub.browser();
    let is_shown = async || {
        let page = browser.authorize(&Authorize::by("bakery")).await;
        page.answer.body.contains("Sorry, delays")
    };
    wait_for("every hub shows the notice", async || {
        (is_shown().await && is_shown().await && is_shown().await).then_some(())
    })
    .await;
    drop(hub);
    let (hub, _) = TestHub::several(3, &settings).await;
    let list = send_as_admin_to(&hub, 2, TestRequest::get().uri("/admin/notices")).await.json();
    assert_eq!(list["notices"][0], published["notice"]);
}

#[actix_web::test]
async fn while_the_store_is_unavailable_blocks_stay_in_force_and_none_is_set_partly() {
    let mut server = Server::start(&[]);
    let (hub, _) = TestHub::several(3, &redis_settings(&server)).await;
    assert_eq!(block(&hub, 0, "amandier").await.status, 201);
    wait_for_same_blocks(&hub, 0).await;
    let before = list_blocks(&hub, 1).await;
    server.kill();
    for number in 0..3 {
        let refused = block(&hub, number, "belvedere").await;
        assert_eq!(refused.status, 503, "{}", refused.body);
        assert!(
            refused.body.contains("Y500001") && refused.body.contains("may have taken effect"),
            "{}",
            refused.body
        );
        assert_eq!(list_blocks(&hub, number).await, before);
        wait_until("the blocks are degraded", || hub.degradations(number).contains_key("blocks"))
            .await;
        assert!(
            !hub.not_ready_reasons(number).contains_key("blocks"),
            "the hub still has the blocks that it read last"
        );
    }
    // The server has lost all records; the hubs still have the blocks.
    server.restart();
    wait_for_same_blocks(&hub, 1).await;
    let is_degraded = |number| hub.degradations(number).contains_key("blocks");
    wait_until("no block is degraded", || !(0..3).any(is_degraded)).await;
    assert_eq!(list_blocks(&hub, 2).await, before);
    assert!(
        server.keys().iter().any(|key| key.starts_with("passerelle:b:")),
        "the hubs write the block again"
    );
}

/// A browser sends its callback to other hubs while one hub processes it.
#[actix_web::test]
async fn a_callback_sent_to_every_hub_at_once_is_one_login_and_no_hub_reports_an_error() {
    let server = Server::start(&[]);
    let (hub, _) = TestHub::several(3, &redis_settings(&server)).await;
    for _ in 0..10 {
        let browser = hub.browser();
        let callback = callback_url_for(&browser, "amandier", "angela").await;
        let answers = join_all((0..3).map(|_| browser.get(&callback))).await;
        let redirects: Vec<(u16, &str)> =
            answers.iter().map(|answer| (answer.status, answer.header("location"))).collect();
        assert!(
            redirects.iter().all(|(status, to)| *status == 303 && to.ends_with("/consent#")),
            "{redirects:?}"
        );
        let page = browser.open(redirects[0].1.trim_end_matches('#')).await;
        assert!(page.is_consent(), "at {}: {}", page.url, page.heading());
        let received = page.consent().await.received();
        assert_eq!(hub.redeem("bakery", received.code()).await.status, 200);
    }
}

/// A hub stops after it has stored the code, and before it removes the session that the new one
/// replaces.
#[actix_web::test]
async fn a_login_interrupted_at_its_last_write_leaves_no_former_session() {
    let server = Server::start(&[]);
    let (hub, _) = TestHub::several(2, &redis_settings(&server)).await;
    let browser = hub.browser();
    browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let former = server.keys().into_iter().find(|key| key.starts_with("passerelle:s:")).unwrap();
    let bytes = server.get(&former);
    let page = browser
        .authorize(&Authorize::by("bakery"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("angela")
        .await;
    let yes = page.consent_form("yes");
    let first = browser.submit(&yes).await.received();
    assert!(!server.keys().contains(&former), "a new authentication ends the session before");
    server.set(&former, &bytes);
    assert_eq!(browser.submit(&yes).await.received().code(), first.code());
    assert!(!server.keys().contains(&former), "any holder of its cookie could use it for hours");
}
