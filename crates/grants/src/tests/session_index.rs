//! The sessions that an identity provider's logout tokens end.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::Hub;
use passerelle_connector::testing::connectors::any_connector;
use passerelle_federation::login::CodeGrant;
use passerelle_federation::login::upstream::UpstreamLogout;
use passerelle_federation::{ConnectorProfile, Federation};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::ids::{ConnectorId, Secret};
use passerelle_store::testing::store_conformance::ample_capacities;
use passerelle_store::{Capacities, RecordKind};

/// The connector `idp`, with logout tokens or without.
fn hub(capacities: Capacities, backchannel_logout: bool) -> Hub {
    let hub = Hub::with(capacities);
    let metadata =
        ConnectorProfile { backchannel_logout, ..any_connector("idp", "Idp").metadata() };
    let federation = Federation::clone(&hub.core.federation.load())
        .with_connectors([("idp".into(), Arc::new(metadata))]);
    hub.set_federation(federation);
    hub
}

/// Returns a grant by an ID token with this `sid`, issued now.
fn grant_by(hub: &Hub, code: &str, sid: &str) -> CodeGrant {
    let mut grant = hub.grant(code, &[]);
    let payload = json!({ "sid": sid, "iat": hub.now().seconds() }).to_string();
    let id_token = format!("e30.{}.c2ln", digest::base64url(payload.as_bytes()));
    grant.user.authentication.session_hint = Some(Secret::new(id_token));
    grant
}

/// A hint that is no ID token names the session by `sid`, too: in SAML, by its index and by the
/// NameID alone.
#[tokio::test]
async fn a_logout_finds_a_session_by_each_name_that_the_hint_of_its_kind_has() {
    let hub = hub(ample_capacities(), true);
    let mut grant = hub.grant("one", &[]);
    let hint = json!({ "sid": ["index", "user", "a third"], "iat": 7 }).to_string();
    grant.user.authentication.session_hint = Some(Secret::new(hint));
    hub.grants.codes.issue(&grant).await.unwrap();
    for (sid, sessions) in [("index", 1), ("user", 1), ("a third", 0), ("another", 0)] {
        assert_eq!(found(&hub, "idp", &logout(&hub, Some(sid), None)).await, sessions, "{sid}");
    }
}

/// Begins a session by an ID token with this `sid`, issued now.
async fn begin_session(hub: &Hub, code: &str, sid: &str) -> Result<(), ErrorCode> {
    hub.grants.codes.issue(&grant_by(hub, code, sid)).await
}

fn logout(hub: &Hub, sid: Option<&str>, subject: Option<&str>) -> UpstreamLogout {
    let secret = |text: &str| Secret::new(text.to_owned());
    UpstreamLogout {
        session_id: sid.map(secret),
        subject: subject.map(secret),
        jti: "jti".to_owned(),
        issued_at: hub.now(),
        expires_at: hub.now() + Duration::from_secs(120),
    }
}

async fn found(hub: &Hub, connector: &str, logout: &UpstreamLogout) -> usize {
    let connector = ConnectorId::from(connector);
    let names = hub.grants.sessions.record_upstream_logout(&connector, logout).await.unwrap();
    hub.grants.sessions.load_upstream_sessions(&connector, logout, names).await.unwrap().len()
}

#[tokio::test]
async fn a_logout_finds_the_sessions_of_its_sid_or_sub_at_its_own_connector() {
    let hub = hub(ample_capacities(), true);
    let subject = hub.grant("x", &[]).user.authentication.upstream_subject.reveal().clone();
    begin_session(&hub, "one", "sid-1").await.unwrap();
    begin_session(&hub, "two", "sid-2").await.unwrap();
    assert_eq!(found(&hub, "idp", &logout(&hub, Some("sid-1"), None)).await, 1);
    assert_eq!(found(&hub, "idp", &logout(&hub, Some("sid-1"), Some(&subject))).await, 1);
    assert_eq!(found(&hub, "idp", &logout(&hub, Some("sid-1"), Some("another"))).await, 0);
    assert_eq!(found(&hub, "idp", &logout(&hub, None, Some(&subject))).await, 2);
    assert_eq!(found(&hub, "other", &logout(&hub, None, Some(&subject))).await, 0);
}

#[tokio::test]
async fn a_user_with_many_sessions_takes_bounded_room() {
    let hub = hub(ample_capacities(), true);
    for number in 0..40 {
        begin_session(&hub, &number.to_string(), "sid-1").await.unwrap();
    }
    assert_eq!(found(&hub, "idp", &logout(&hub, Some("sid-1"), None)).await, 32);
    assert_eq!(hub.store.count(RecordKind::UPSTREAM_SESSION), 2);
}

#[tokio::test]
async fn without_room_for_the_index_a_login_succeeds() {
    let hub = hub(ample_capacities().with_records(RecordKind::UPSTREAM_SESSION, 0), true);
    begin_session(&hub, "one", "sid-1").await.unwrap();
    // The logout itself passes, too; it finds nothing.
    let logout = logout(&hub, Some("sid-1"), None);
    hub.grants.sessions.use_logout_token(&"idp".into(), &logout).await.unwrap();
}

#[tokio::test]
async fn a_connector_without_logout_tokens_has_no_index() {
    let hub = hub(ample_capacities(), false);
    begin_session(&hub, "one", "sid-1").await.unwrap();
    assert_eq!(hub.store.count(RecordKind::UPSTREAM_SESSION), 0);
}

#[tokio::test]
async fn an_id_token_from_before_the_logout_begins_no_session() {
    let hub = hub(ample_capacities(), true);
    begin_session(&hub, "one", "sid-1").await.unwrap();
    hub.clock.advance(Duration::from_secs(5));
    let later = logout(&hub, Some("sid-1"), None);
    found(&hub, "idp", &later).await;
    hub.clock.advance(Duration::from_secs(5));
    begin_session(&hub, "two", "sid-1").await.unwrap();
    let before = {
        let mut logout = logout(&hub, Some("sid-1"), None);
        logout.issued_at = hub.now() + Duration::from_secs(1);
        logout
    };
    found(&hub, "idp", &before).await;
    assert_eq!(begin_session(&hub, "three", "sid-1").await, Err(ErrorCode::LoginRequired));
}

#[tokio::test]
async fn a_logout_token_with_sid_and_sub_refuses_no_id_token_of_another_user() {
    let hub = hub(ample_capacities(), true);
    let own = hub.grant("x", &[]).user.authentication.upstream_subject.reveal().clone();
    let issued = hub.now() + Duration::from_secs(1);
    let record = async |sid: &str, subject: Option<&str>| {
        let logout = UpstreamLogout { issued_at: issued, ..logout(&hub, Some(sid), subject) };
        found(&hub, "idp", &logout).await;
    };
    record("sid-1", Some("another")).await;
    assert_eq!(begin_session(&hub, "one", "sid-1").await, Ok(()));
    record("sid-2", Some(&own)).await;
    assert_eq!(begin_session(&hub, "two", "sid-2").await, Err(ErrorCode::LoginRequired));
    // Two users of one sid, in either order, or a token for all.
    for (sid, subjects) in [
        ("sid-3", [Some("another"), Some(own.as_str())]),
        ("sid-4", [Some(own.as_str()), Some("another")]),
        ("sid-5", [Some("another"), None]),
        ("sid-6", [None, Some("another")]),
    ] {
        for subject in subjects {
            record(sid, subject).await;
        }
        let begun = begin_session(&hub, sid, sid).await;
        assert_eq!(begun, Err(ErrorCode::LoginRequired), "{sid}");
    }
}

#[tokio::test]
async fn a_session_that_is_stored_after_the_logout_token_came_is_found_later() {
    let hub = hub(ample_capacities(), true);
    let grant = grant_by(&hub, "code", "sid-1");
    let session = hub.grants.sessions.begin(&grant, hub.now()).await.unwrap();
    let (connector, logout) = (ConnectorId::from("idp"), logout(&hub, Some("sid-1"), None));
    let names = hub.grants.sessions.record_upstream_logout(&connector, &logout).await.unwrap();
    let load = || hub.grants.sessions.load_upstream_sessions(&connector, &logout, names.clone());
    assert_eq!(load().await.unwrap().len(), 0);
    let (key, record) = session.new_record.unwrap();
    hub.store.insert(key.clone(), record, hub.now()).await.unwrap();
    let found: Vec<_> = load().await.unwrap().into_iter().map(|(key, _)| key).collect();
    assert_eq!(found, [key]);
}
