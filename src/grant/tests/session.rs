//! The session that a finished login begins, replaces or uses again (ASVS 5, 7.2.4).

use std::sync::Arc;
use std::time::Duration;

use serde_json::Map;

use super::{CODE_LIFE, Hub, MILLISECOND};
use crate::config::model::{ConnectorFile, SubjectSource};
use crate::config::{ConfiguredConnector, ConnectorFacts, Current, Federation};
use crate::grant::records::code_key;
use crate::grant::session::shown;
use crate::identity::Identity;
use crate::identity::rules::{Required, Rules};
use crate::ids::{ClientId, ConnectorId, Secret};
use crate::login::{Grant, SessionUse};
use crate::protocol::catalogue::ErrorCode;
use crate::session::{Limits, Session};

fn cookie(value: &str) -> Secret<String> {
    Secret::new(value.into())
}

async fn session(hub: &Hub, value: &str) -> Option<Session> {
    hub.grants.session(&cookie(value)).await.unwrap()
}

fn fresh(grant: Grant, value: &str, former: &str) -> Grant {
    Grant {
        session: SessionUse::Fresh { cookie: cookie(value), former: Some(cookie(former)) },
        ..grant
    }
}

fn reused(grant: Grant, value: &str) -> Grant {
    Grant { session: SessionUse::Reused { cookie: cookie(value) }, ..grant }
}

#[tokio::test]
async fn session_fixation_gets_the_attacker_nothing() {
    let hub = Hub::new();
    // A value that an attacker planted, whether it names a session (theirs) or nothing.
    hub.issue("attacker", &[]).await;
    for (code, planted) in [("one", "attacker's session"), ("two", "made up")] {
        hub.grants.issue(fresh(hub.grant(code, &[]), code, planted)).await.unwrap();
        assert!(session(&hub, code).await.is_some());
        assert!(session(&hub, planted).await.is_none(), "{planted}");
    }
}

#[tokio::test]
async fn the_same_person_keeps_what_the_session_knew_and_another_does_not() {
    let (sp, other) = (ClientId::from("sp"), ClientId::from("other"));
    for (same, kept) in [(true, true), (false, false)] {
        let hub = Hub::new();
        hub.grants
            .issue(Grant { consented: true, ..hub.grant("first", &[("client_id", "other")]) })
            .await
            .unwrap();
        let claims = shown(&hub.grant("x", &[]).proven.claims);
        let mut second = fresh(hub.grant("second", &[]), "second", "first's session");
        if !same {
            second.proven.authentication.upstream_subject = cookie("somebody else");
            second.proven.identity.family_name = Some("ELSE".into());
        }
        hub.grants.issue(second).await.unwrap();
        let session = session(&hub, "second").await.unwrap();
        assert!(session.took_part(&sp) && !session.consented(&sp, &claims));
        assert_eq!((session.took_part(&other), session.consented(&other, &claims)), (kept, kept));
    }
}

/// `subject = "provider"`: of both only a `sub` is known, and that is not the same.
#[tokio::test]
async fn the_consent_of_one_pseudonym_is_not_anothers() {
    let nobody = || {
        Identity::from_claims(
            &Map::new(),
            &Rules { home_country: "99100".into(), required: Required::SubjectOnly },
        )
    };
    let other = ClientId::from("other");
    for (account, kept) in [("upstream-angela", true), ("somebody else", false)] {
        let hub = Hub::new();
        let mut first = Grant { consented: true, ..hub.grant("first", &[("client_id", "other")]) };
        first.proven.identity = nobody().unwrap();
        hub.grants.issue(first).await.unwrap();
        let mut second = fresh(hub.grant("second", &[]), "second", "first's session");
        second.proven.authentication.upstream_subject = cookie(account);
        second.proven.identity = nobody().unwrap();
        hub.grants.issue(second).await.unwrap();
        assert_eq!(session(&hub, "second").await.unwrap().took_part(&other), kept, "{account}");
    }
}

#[tokio::test]
async fn only_an_explicit_yes_is_remembered_and_only_for_what_was_shown() {
    let sp = ClientId::from("sp");
    for consented in [true, false] {
        let hub = Hub::new();
        hub.grants.issue(Grant { consented, ..hub.grant("code", &[]) }).await.unwrap();
        let session = session(&hub, "code's session").await.unwrap();
        assert_eq!(session.consented(&sp, &shown(&hub.grant("x", &[]).proven.claims)), consented);
        let more = serde_json::json!({ "email": "e", "birthplace": "75107" });
        assert!(!session.consented(&sp, &shown(more.as_object().unwrap())));
    }
}

#[tokio::test]
async fn reuse_lengthens_the_idle_time_and_joins_the_service_provider() {
    let hub = Hub::new();
    hub.issue("first", &[("client_id", "other")]).await;
    let idle = Limits::of(hub.grants.platform).idle;
    hub.clock.advance(idle - MILLISECOND);
    hub.grants.issue(reused(hub.grant("second", &[]), "first's session")).await.unwrap();
    hub.clock.advance(idle - MILLISECOND);
    let used = session(&hub, "first's session").await.unwrap();
    assert!(used.took_part(&"sp".into()) && used.took_part(&"other".into()));
    hub.clock.advance(MILLISECOND);
    assert!(session(&hub, "first's session").await.is_none());
}

#[tokio::test]
async fn a_session_that_ended_meanwhile_gives_no_code() {
    let hub = Hub::new();
    hub.issue("first", &[]).await;
    hub.clock.advance(Duration::from_secs(24 * 3600));
    for gone in ["first's session", "never there"] {
        let outcome = hub.grants.issue(reused(hub.grant("second", &[]), gone)).await;
        assert_eq!(outcome, Err(ErrorCode::LoginRequired), "{gone}");
        assert_eq!(hub.redeem("second").await, Err(ErrorCode::CodeUnknown), "{gone}");
    }
}

/// By the back button, or because an answer got lost: the login that re-authenticated its person is answered again.
#[tokio::test]
async fn a_session_that_was_signed_out_does_not_come_back_with_the_answer_of_its_login() {
    let hub = Hub::new();
    hub.issue("first", &[]).await;
    let second = fresh(hub.grant("second", &[]), "second", "first's session");
    hub.grants.issue(second.clone()).await.unwrap();
    assert!(hub.grants.end_session(&cookie("second")).await.unwrap().is_some());
    for _ in 0..2 {
        assert_eq!(hub.grants.issue(second.clone()).await, Err(ErrorCode::LoginRequired));
        assert!(session(&hub, "second").await.is_none(), "alive after its logout");
        assert_eq!(hub.redeem("second").await, Err(ErrorCode::CodeUnknown));
        hub.clock.advance(CODE_LIFE - MILLISECOND);
    }
}

/// The first try has begun the session, and its code was never stored; what the session continued has ended meanwhile.
#[tokio::test]
async fn what_a_second_try_issues_ends_with_the_session_of_the_first() {
    let hub = Hub::new();
    hub.issue("first", &[]).await;
    let second = fresh(hub.grant("second", &[]), "second", "first's session");
    hub.grants.issue(second.clone()).await.unwrap();
    hub.grants.store.remove(&code_key("second")).await.unwrap();
    hub.grants.issue(second).await.unwrap();
    assert!(hub.grants.end_session(&cookie("second")).await.unwrap().is_some());
    assert_eq!(
        hub.redeem("second").await,
        Err(ErrorCode::CodeUnknown),
        "a code alive after logout"
    );
}

/// An account at another identity provider, or the same with another e-mail address.
fn by_another_account(mut grant: Grant, change: impl FnOnce(&mut Identity)) -> Grant {
    grant.proven.authentication.connector = "another".into();
    grant.proven.authentication.upstream_subject = Secret::new("another account".into());
    change(&mut grant.proven.identity);
    grant
}

/// The connectors "idp" and "another", each with whether its claims prove who a person is.
fn hub_where_identity_is_proven_by(idp: bool, another: bool) -> Hub {
    let mut hub = Hub::new();
    let text = "name = { en = \"One\" }\nlevels = { lowest = \"eidas1\", highest = \"eidas1\" }\n[kind.persona]\n";
    let file: ConnectorFile = toml::from_str(text).unwrap();
    let facts = |(id, proves_identity): (&str, bool)| {
        let id = ConnectorId::from(id);
        let configured = ConfiguredConnector {
            id: id.clone(),
            file: file.clone(),
            client_secret: None,
            logo: None,
            blocks: Vec::new(),
        };
        (id, Arc::new(ConnectorFacts { proves_identity, ..ConnectorFacts::of(&configured) }))
    };
    let connectors = [("idp", idp), ("another", another)].map(facts);
    hub.grants.federation =
        Current::new(Federation::clone(&hub.grants.federation.load()).with_connectors(connectors));
    hub
}

/// Its user chooses the claims, and so could claim to be the person who used the browser before.
#[tokio::test]
async fn an_unverified_connectors_claims_continue_no_session_of_another_account() {
    for (idp, another) in [(true, true), (true, false), (false, true), (false, false)] {
        let hub = hub_where_identity_is_proven_by(idp, another);
        hub.issue("first", &[("client_id", "other")]).await;
        let second = by_another_account(
            fresh(hub.grant("second", &[]), "second", "first's session"),
            |_| (),
        );
        hub.grants.issue(second).await.unwrap();
        let second = session(&hub, "second").await.unwrap();
        assert_eq!(second.took_part(&"other".into()), idp && another, "{idp} {another}");
        // The same account needs no proof.
        let third = by_another_account(fresh(hub.grant("third", &[]), "third", "second"), |_| ());
        hub.grants.issue(third).await.unwrap();
        assert_eq!(
            session(&hub, "third").await.unwrap().lineage,
            second.lineage,
            "{idp} {another}"
        );
    }
    let hub = Hub::new();
    hub.issue("first", &[("client_id", "other")]).await;
    let second =
        by_another_account(fresh(hub.grant("second", &[]), "second", "first's session"), |_| ());
    hub.grants.issue(second).await.unwrap();
    assert!(
        !session(&hub, "second").await.unwrap().took_part(&"other".into()),
        "connectors whose files are gone"
    );
}

#[tokio::test]
async fn a_second_account_with_another_email_address_does_not_split_the_session() {
    let hub = hub_where_identity_is_proven_by(true, true);
    hub.issue("first", &[("client_id", "other")]).await;
    let lineage = session(&hub, "first's session").await.unwrap().lineage;
    let second = fresh(hub.grant("second", &[]), "second", "first's session");
    let second =
        by_another_account(second, |identity| identity.email = Some("angela@work.example".into()));
    hub.grants.issue(second).await.unwrap();
    let continued = session(&hub, "second").await.unwrap();
    assert_eq!(continued.lineage, lineage);
    assert!(
        continued.took_part(&"other".into()),
        "a logout must end what the first account was used for"
    );
}

#[tokio::test]
async fn another_person_in_the_same_browser_continues_no_session() {
    for name in ["Angelo", "Angela किरन"] {
        let hub = hub_where_identity_is_proven_by(true, true);
        let first = by_another_account(hub.grant("first", &[("client_id", "other")]), |identity| {
            identity.given_names = vec!["Angela करन".into()];
        });
        hub.grants.issue(first).await.unwrap();
        let mut second = fresh(hub.grant("second", &[]), "second", "first's session");
        second.proven.identity.given_names = vec![name.to_owned()];
        hub.grants.issue(second).await.unwrap();
        assert!(!session(&hub, "second").await.unwrap().took_part(&"other".into()), "{name}");
    }
}

#[tokio::test]
async fn where_the_subject_is_the_account_an_equal_identity_continues_nothing() {
    let mut hub = hub_where_identity_is_proven_by(true, true);
    hub.grants.subjects.source = SubjectSource::Provider;
    hub.issue("first", &[("client_id", "other")]).await;
    let second =
        by_another_account(fresh(hub.grant("second", &[]), "second", "first's session"), |_| ());
    hub.grants.issue(second).await.unwrap();
    assert!(!session(&hub, "second").await.unwrap().took_part(&"other".into()));
    let third = fresh(hub.grant("third", &[]), "third", "second");
    let third = by_another_account(third, |identity| identity.email = None);
    hub.grants.issue(third).await.unwrap();
    assert!(session(&hub, "third").await.unwrap().took_part(&"sp".into()), "the same account");
}
