//! Blocks, by file and by command: their effect on running logins, and who may set them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use actix_web::test::TestRequest;
use passerelle_protocol::env::Timestamp;
use serde_json::{Value, json};

use super::federation::{self, ADMIN_TOKEN};
use super::hub::TestHub;
use super::service::Authorize;

fn amandier() -> Value {
    json!({ "connector": "amandier", "reason": "keys leaked", "message": { "en": "Back on Monday.", "fr": "De retour lundi." } })
}

fn blocked_file(folder: &Path, tables: &str) {
    let path = folder.join("connectors/amandier.toml");
    let file = fs::read_to_string(&path).unwrap();
    fs::write(path, file.replace("[kind.persona]", &format!("{tables}\n[kind.persona]"))).unwrap();
}

#[actix_web::test]
async fn a_blocked_provider_is_disabled_with_the_operators_message_and_a_forged_choice_is_refused()
{
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let open = browser.authorize(&Authorize::by("bakery")).await;
    hub.block(amandier()).await;
    let page = browser.open(&open.url).await;
    assert_eq!(page.offered(), ["belvedere"]);
    assert!(page.answer.body.contains(
        "<span><bdi>Amandier account</bdi></span><span class=\"small quiet\">Back on Monday.</span>"
    ));
    let banner = open.choose("amandier").await;
    assert!(banner.is_choice() && banner.answer.body.contains("<p>Back on Monday.</p>"));
    banner.assert_error(200, "Y020150");
    // A hint to it is ignored.
    assert!(
        browser.authorize(&Authorize::by("bakery").with("idp_hint", "amandier")).await.is_choice()
    );
}

#[actix_web::test]
async fn a_login_in_progress_stops_at_the_callback_and_continues_at_another_provider() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let sandbox = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
    hub.block(amandier()).await;
    let page = sandbox.sign_in_as("angela").await.assert_error(403, "Y020150");
    assert_eq!(page.heading(), "Signing in with this account is suspended at the moment.");
    assert!(
        page.answer.body.contains("<p>Back on Monday.</p>")
            && page.answer.body.contains("Amandier account")
    );
    let again = browser.open(&page.url).await;
    assert!(again.is_choice(), "a reload leads to the choice");
    let choice = browser.open(&page.links()[0]).await;
    assert!(choice.is_choice());
    let received =
        choice.choose("belvedere").await.sign_in_as("angela").await.consent().await.received();
    received.belongs_to("bakery");
}

#[actix_web::test]
async fn a_login_in_progress_stops_at_the_consent_page_and_at_its_submission() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let at_consent = async || {
        browser
            .authorize(&Authorize::by("bakery"))
            .await
            .choose("amandier")
            .await
            .sign_in_as("angela")
            .await
    };
    let (reviewed, answered) = (at_consent().await, at_consent().await);
    let id = hub.block(amandier()).await;
    let page = browser.open(&reviewed.url).await.assert_error(403, "Y020150");
    assert_eq!(page.cancel().await.received().error_at("bakery"), "access_denied");
    let stopped = answered.consent().await.assert_error(403, "Y020150");
    assert!(browser.session().is_none(), "a session of an authentication that does not count");
    hub.unblock(&id).await;
    browser.open(&stopped.links()[0]).await.finish_as("angela").await.code();
}

#[actix_web::test]
async fn a_code_of_a_blocked_provider_is_used_up_and_its_session_not_reused() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let (first, second) = (
        browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await,
        browser.authorize(&Authorize::by("library")).await.finish_as("angela").await,
    );
    let tokens = hub.tokens("bakery", &first).await;
    let id = hub.block(amandier()).await;
    let refused = hub.redeem("library", second.code()).await;
    assert_eq!((refused.status, refused.json()["error"].as_str()), (400, Some("invalid_grant")));
    assert!(
        browser.authorize(&Authorize::by("bakery").with("prompt", "consent")).await.is_choice()
    );
    let silent = Authorize::by("bakery").with("prompt", "none");
    assert_eq!(browser.authorize(&silent).await.received().error_at("bakery"), "login_required");
    // Tokens that were issued before the block stay valid until they expire.
    assert_eq!(hub.userinfo(&tokens.access_token).await["family_name"], "DUBOIS");
    hub.unblock(&id).await;
    assert_eq!(
        hub.redeem("library", second.code()).await.status,
        400,
        "the end of the block must not make the code valid again"
    );
    assert!(
        browser.authorize(&Authorize::by("bakery").with("prompt", "consent")).await.is_consent()
    );
}

#[actix_web::test]
async fn a_block_for_one_service_provider_does_not_affect_the_others() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let mine = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
    let other = browser.authorize(&Authorize::by("library")).await.choose("amandier").await;
    hub.block(
        json!({ "connector": "amandier", "service_provider": "bakery", "reason": "contract" }),
    )
    .await;
    mine.sign_in_as("angela").await.assert_error(403, "Y020151");
    other.sign_in_as("angela").await.consent().await.received().belongs_to("library");
    let page = browser.authorize(&Authorize::by("bakery")).await;
    assert!(
        page.answer.body.contains("Suspended at the moment") && page.offered() == ["belvedere"]
    );
}

#[actix_web::test]
async fn a_block_in_a_file_begins_and_ends_at_its_times() {
    let rfc3339 = |at: Timestamp| passerelle_federation::validity::format_rfc3339(at);
    let now = passerelle_protocol::env::Env::system().now() + Duration::from_secs(24 * 3600);
    let (from, until) =
        (rfc3339(now + Duration::from_secs(3600)), rfc3339(now + Duration::from_secs(7200)));
    let table = format!(
        "[[block]]\nreason = \"works\"\nmessage.fr = \"Travaux\"\nfrom = \"{from}\"\nuntil = {until}\n"
    );
    let hub = TestHub::edited(|folder| blocked_file(folder, &table)).await;
    let browser = hub.browser();
    let offered = async || browser.authorize(&Authorize::by("bakery")).await.offered();
    assert_eq!(offered().await, ["amandier", "belvedere"]);
    hub.advance(Duration::from_secs(3601));
    let page = browser.authorize(&Authorize::by("bakery")).await;
    assert!(
        page.offered() == ["belvedere"]
            && page.answer.body.contains("<bdi lang=\"fr\">Travaux</bdi>"),
        "the message is shown although it is in French only"
    );
    assert!(hub.metrics.render().contains("passerelle_connector_blocks{connector=\"amandier\"} 1"));
    let list = hub.admin_json("/admin/connectors").await;
    assert_eq!(
        (&list["connectors"][0]["state"], &list["connectors"][0]["blocks"][0]["by"]),
        (&json!("blocked"), &json!("file"))
    );
    hub.advance(Duration::from_secs(3600));
    assert_eq!(offered().await, ["amandier", "belvedere"]);
    assert!(hub.metrics.render().contains("passerelle_connector_blocks{connector=\"amandier\"} 0"));
    assert_eq!(hub.admin_json("/admin/blocks").await, json!({ "blocks": [] }));
}

#[actix_web::test]
async fn a_script_in_the_operators_message_is_never_run() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let sandbox = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
    let evil = "</p><script>alert(1)</script>\" onload='x'";
    let reason = "<script>alert(1)</script> keys leaked";
    hub.block(json!({ "connector": "amandier", "reason": reason, "message": { "en": evil } }))
        .await;
    let stopped = sandbox.sign_in_as("angela").await;
    let choice = browser.open(&stopped.links()[0]).await;
    for page in [&stopped, &choice] {
        assert!(page.answer.body.contains("&#60;script&#62;alert(1)"), "{}", page.answer.body);
        assert!(
            !page.answer.body.contains("<script>alert") && !page.answer.body.contains("' onload=")
        );
        assert!(
            !page.answer.body.contains("keys leaked"),
            "the page shows the reason, which is for operators only"
        );
    }
}

#[actix_web::test]
async fn guessing_the_administrators_token_is_slowed_down_and_locks_no_one_out() {
    let hub = TestHub::start().await;
    let guess = async |header: Option<&str>| {
        let request = TestRequest::post().uri("/admin/blocks").set_payload(amandier().to_string());
        hub.send_private(match header {
            Some(header) => request.insert_header(("authorization", header)),
            None => request,
        })
        .await
    };
    let almost = format!("Bearer {}x", &ADMIN_TOKEN[..ADMIN_TOKEN.len() - 1]);
    let basic = format!("Basic {ADMIN_TOKEN}");
    let guesses = [
        None,
        Some("Bearer"),
        Some("Bearer "),
        Some(almost.as_str()),
        Some(basic.as_str()),
        Some(ADMIN_TOKEN),
    ];
    for n in 0..10 {
        let answer = guess(guesses[n % guesses.len()]).await;
        assert_eq!((answer.status, answer.json()["code"].as_str()), (401, Some("Y500091")), "{n}");
        // RFC 6750 §3.1
        let has_token = guesses[n % guesses.len()] == Some(&almost);
        let challenge = if has_token { "Bearer error=\"invalid_token\"" } else { "Bearer" };
        assert_eq!(answer.header("www-authenticate"), challenge, "{n}");
        assert!(!answer.body.contains(ADMIN_TOKEN));
    }
    let slowed = guess(Some(&almost)).await;
    assert_eq!((slowed.status, slowed.header("retry-after")), (429, "6"));
    assert_eq!(
        hub.admin_json("/admin/blocks").await,
        json!({ "blocks": [] }),
        "a guess had an effect"
    );
    hub.advance(Duration::from_secs(6));
    assert_eq!(guess(Some(&almost)).await.status, 401);
}

#[actix_web::test]
async fn without_a_token_there_is_no_administration() {
    let hub = TestHub::edited(|folder| {
        let path = folder.join("passerelle.toml");
        let settings = fs::read_to_string(&path).unwrap();
        fs::write(&path, settings.replace(", admin_token = { env = \"ADMIN_TOKEN\" }", ""))
            .unwrap();
    })
    .await;
    for uri in ["/admin", "/admin/blocks", "/admin/nothing"] {
        for header in ["Bearer ", "Bearer x", &format!("Bearer {ADMIN_TOKEN}")] {
            let answer = hub
                .send_private(TestRequest::get().uri(uri).insert_header(("authorization", header)))
                .await;
            assert_eq!(
                (answer.status, answer.json()["code"].as_str()),
                (404, Some("Y500090")),
                "{uri} {header}"
            );
            assert!(
                answer.json()["error_description"]
                    .as_str()
                    .unwrap()
                    .contains("private.admin_token")
            );
        }
    }
}

#[actix_web::test]
async fn an_invalid_block_changes_nothing_and_each_reason_has_its_error() {
    let hub = TestHub::start().await;
    let with = |key: &str, value: Value| {
        let mut block = amandier();
        block[key] = value;
        block.to_string()
    };
    let long = "x".repeat(256 * 1024);
    for (what, body, status, code, message) in [
        ("no JSON", "{".to_owned(), 400, "Y500092", "one JSON object"),
        ("a list", "[]".to_owned(), 400, "Y500092", "one JSON object"),
        (
            "a member twice",
            r#"{"connector":"a","connector":"b","reason":"r"}"#.to_owned(),
            400,
            "Y500092",
            "named twice",
        ),
        (
            "an unknown member",
            with("service_providers", json!(["bakery"])),
            400,
            "Y500092",
            "unknown field `service_providers`",
        ),
        (
            "no reason",
            r#"{"connector":"amandier"}"#.to_owned(),
            400,
            "Y500092",
            "missing field `reason`",
        ),
        ("too large", with("reason", json!(long)), 413, "Y000413", "262144"),
        (
            "unknown connector",
            with("connector", json!("unknown")),
            422,
            "Y500093",
            "known: amandier, belvedere, closed",
        ),
        (
            "unknown service provider",
            with("service_provider", json!("unknown")),
            422,
            "Y500094",
            "client_id",
        ),
        ("empty reason", with("reason", json!(" ")), 422, "Y500095", "reason: is empty"),
        (
            "no language",
            with("message", json!({ "english": "x" })),
            422,
            "Y500095",
            "message.english: is not a language",
        ),
        (
            "no zone",
            with("from", json!("2027-01-01T00:00:00")),
            422,
            "Y500095",
            "from: is not a date and time with a time zone",
        ),
        (
            "over",
            with("until", json!("2001-01-01T00:00:00Z")),
            422,
            "Y500095",
            "until: is in the past",
        ),
    ] {
        let answer =
            hub.send_as_admin(TestRequest::post().uri("/admin/blocks").set_payload(body)).await;
        assert_eq!(
            (answer.status, answer.json()["code"].as_str()),
            (status, Some(code)),
            "{what}: {}",
            answer.body
        );
        assert!(answer.body.contains(message), "{what}: {}", answer.body);
        assert_eq!(answer.header("cache-control"), "no-store");
    }
    let gone = hub.send_as_admin(TestRequest::delete().uri("/admin/blocks/UNKNOWN")).await;
    assert_eq!((gone.status, gone.json()["code"].as_str()), (404, Some("Y500096")));
    let wrong = hub.send_as_admin(TestRequest::put().uri("/admin/blocks")).await;
    assert_eq!((wrong.status, wrong.header("allow")), (405, "GET, POST"));
    assert_eq!(hub.admin_json("/admin/blocks").await, json!({ "blocks": [] }));
    assert!(!hub.state_folder().exists(), "something was written");
}

#[actix_web::test]
async fn a_restart_lifts_no_block() {
    let hub = TestHub::start().await;
    hub.block(amandier()).await;
    let lifted = hub.block(json!({ "connector": "belvedere", "reason": "tried" })).await;
    hub.unblock(&lifted).await;
    let listed = hub.admin_json("/admin/connectors").await;
    let hub = hub.restart().await;
    assert_eq!(hub.admin_json("/admin/connectors").await, listed);
    assert_eq!(hub.browser().authorize(&Authorize::by("bakery")).await.offered(), ["belvedere"]);
    // A block stays while the file of its connector is missing.
    fs::remove_file(hub.state_folder().parent().unwrap().join("connectors/amandier.toml")).unwrap();
    let hub = hub.restart().await;
    let without = hub.admin_json("/admin/connectors").await;
    assert_eq!(without["orphaned_blocks"], listed["connectors"][0]["blocks"]);
    assert_eq!(hub.admin_json("/admin/blocks").await["blocks"], without["orphaned_blocks"]);
}

#[actix_web::test]
async fn where_nothing_can_be_written_the_block_is_in_force_and_says_that_it_will_be_forgotten() {
    let hub = TestHub::start().await;
    // A file has the name of the folder, so the folder can't be created.
    federation::put(hub.state_folder().parent().unwrap(), "state", b"in the way");
    let answer = hub.post_block(&amandier()).await;
    assert_eq!((answer.status, answer.json()["persisted"].as_bool()), (201, Some(false)));
    let warning = answer.json()["warning"].as_str().unwrap().to_owned();
    assert!(warning.contains("a restart will undo it") && warning.contains("fix: "), "{warning}");
    assert_eq!(hub.browser().authorize(&Authorize::by("bakery")).await.offered(), ["belvedere"]);
}
