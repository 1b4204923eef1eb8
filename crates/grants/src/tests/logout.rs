//! Ending a session in the store: exactly once, with everything issued in it, under any race.

use std::time::Duration;

use super::{Hub, MILLISECOND};
use crate::logout_redirects::{LogoutDestination, LogoutRequestKey};
use crate::pending_post::PostedMessage;
use passerelle_federation::login::{CodeGrant, SessionUse};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ConnectorId, Secret};
use passerelle_store::RecordKind;
use passerelle_store::testing::store_conformance::ample_capacities;

fn cookie(value: &str) -> Secret<String> {
    Secret::new(value.into())
}

static NOWHERE: LogoutDestination = LogoutDestination {
    service_provider: None,
    return_to: None,
    login: None,
    participants: Vec::new(),
};

#[tokio::test]
async fn codes_and_tokens_end_with_their_session_and_with_those_that_continue_it() {
    let hub = Hub::new();
    let (first, _) = hub.tokens("first", &[]).await;
    let former = SessionUse::New {
        cookie: cookie("second's session"),
        replaced: Some(cookie("first's session")),
    };
    hub.grants
        .codes
        .issue(&CodeGrant { session: former, ..hub.grant("second", &[]) })
        .await
        .unwrap();
    let (unharmed, _) = hub.tokens("another browser's", &[]).await;

    let ended = hub.grants.sessions.end(&cookie("second's session")).await.unwrap().unwrap();
    assert_eq!(ended.login.session_hint.unwrap().reveal(), "upstream.id.token");
    assert!(hub.grants.sessions.find(&cookie("second's session")).await.unwrap().is_none());
    assert_eq!(hub.validate(&first).await, Err(ErrorCode::AccessTokenInvalid));
    assert_eq!(hub.redeem("second").await, Err(ErrorCode::CodeUnknown));
    assert_eq!(hub.validate(&unharmed).await, Ok(()));
    assert!(
        hub.grants.sessions.end(&cookie("second's session")).await.unwrap().is_none(),
        "it can't end twice"
    );
}

#[tokio::test]
async fn a_reused_code_still_revokes_what_it_issued_and_no_more() {
    let hub = Hub::new();
    let (stolen, _) = hub.tokens("stolen", &[]).await;
    let reused = SessionUse::Reused { cookie: cookie("stolen's session") };
    hub.grants
        .codes
        .issue(&CodeGrant { session: reused, ..hub.grant("honest", &[]) })
        .await
        .unwrap();
    let honest = hub.redeem("honest").await.unwrap();
    assert_eq!(hub.redeem("stolen").await, Err(ErrorCode::CodeReused));
    assert_eq!(hub.validate(&stolen).await, Err(ErrorCode::AccessTokenInvalid));
    assert_eq!(hub.validate(honest["access_token"].as_str().unwrap()).await, Ok(()));
}

#[tokio::test]
async fn a_login_that_finishes_while_its_person_signs_out_gives_nothing() {
    let hub = Hub::new();
    hub.issue("first", &[]).await;
    // It has read the session before the logout, and continues it after.
    let session = hub.grants.sessions.find(&cookie("first's session")).await.unwrap().unwrap();
    let family = crate::session::session_family(&session);
    hub.store.revoke(&family, hub.now() + Duration::from_secs(90), hub.now()).await.unwrap();
    let former = SessionUse::New {
        cookie: cookie("late session"),
        replaced: Some(cookie("first's session")),
    };
    let late =
        hub.grants.codes.issue(&CodeGrant { session: former, ..hub.grant("late", &[]) }).await;
    assert_eq!(late, Err(ErrorCode::LoginRequired));
    assert!(hub.grants.sessions.find(&cookie("late session")).await.unwrap().is_none());
    assert_eq!(hub.redeem("late").await, Err(ErrorCode::CodeUnknown));
}

#[tokio::test]
async fn a_logout_record_is_taken_once_within_ten_minutes_and_by_its_own_connector() {
    let hub = Hub::new();
    let bits = "b".repeat(43);
    let connector = ConnectorId::from("idp");
    let keep = || hub.grants.logout_redirects.save_destination(&connector, &bits, &NOWHERE);
    let take = |connector: &'static str| {
        let (redirects, bits) = (&hub.grants.logout_redirects, &bits);
        async move { redirects.take_destination(&connector.into(), bits).await.unwrap() }
    };
    keep().await.unwrap();
    assert_eq!(take("other").await, None);
    assert_eq!(take("idp").await, Some(NOWHERE.clone()));
    assert_eq!(take("idp").await, None, "replayed");
    keep().await.unwrap();
    hub.clock.advance(Duration::from_secs(600) - MILLISECOND);
    assert_eq!(take("idp").await, Some(NOWHERE.clone()));
    keep().await.unwrap();
    hub.clock.advance(Duration::from_secs(600));
    assert_eq!(take("idp").await, None);
}

#[tokio::test]
async fn a_flood_of_pending_logout_requests_is_bounded_and_displaces_no_logout_record() {
    let hub = Hub::with(ample_capacities().with_records(RecordKind::PENDING_LOGOUT, 1));
    let pairs = [("state".to_owned(), "s".to_owned())];
    let ticket = hub.grants.pending_posts.save(PostedMessage::Logout, &pairs).await.unwrap();
    assert_eq!(
        hub.grants.pending_posts.save(PostedMessage::Logout, &pairs).await.unwrap_err(),
        ErrorCode::StoreFull
    );
    assert_eq!(
        hub.grants.logout_redirects.take_destination(&"idp".into(), ticket.reveal()).await,
        Ok(None)
    );
    assert_eq!(
        hub.grants.logout_redirects.save_destination(&"idp".into(), "bits", &NOWHERE).await,
        Ok(())
    );
    assert_eq!(
        hub.grants.pending_posts.take(PostedMessage::Logout, ticket.reveal()).await,
        Ok(Some(pairs.to_vec()))
    );
    assert_eq!(
        hub.grants.pending_posts.take(PostedMessage::Logout, ticket.reveal()).await,
        Ok(None)
    );
}

#[tokio::test]
async fn a_repeated_logout_request_gets_the_same_redirect_for_a_minute() {
    let hub = Hub::new();
    let elsewhere = LogoutDestination { service_provider: Some("sp".into()), ..NOWHERE.clone() };
    hub.grants
        .logout_redirects
        .remember(
            &cookie("c"),
            LogoutRequestKey::Destination(&NOWHERE),
            "https://idp.example/end?state=s",
        )
        .await
        .unwrap();
    let led = |value: &'static str| {
        let redirects = &hub.grants.logout_redirects;
        async move {
            redirects.find(&cookie(value), LogoutRequestKey::Destination(&NOWHERE)).await.unwrap()
        }
    };
    let url = Some("https://idp.example/end?state=s".to_owned());
    assert_eq!((led("c").await, led("c").await), (url.clone(), url));
    assert_eq!(led("another").await, None);
    assert_eq!(
        hub.grants
            .logout_redirects
            .find(&cookie("c"), LogoutRequestKey::Destination(&elsewhere))
            .await,
        Ok(None),
        "another request"
    );
    hub.clock.advance(Duration::from_secs(60));
    assert_eq!(led("c").await, None);
}
