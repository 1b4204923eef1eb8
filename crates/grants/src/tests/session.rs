//! Sessions that a finished login creates, replaces or reuses (ASVS 5 §7.2.4).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Map;

use super::{CODE_LIFE, Hub, MILLISECOND};
use crate::records::code_key;
use passerelle_connector::testing::connectors::any_connector;
use passerelle_federation::identity::rules::{IdentityRules, RequiredClaims};
use passerelle_federation::identity::{ClaimName, Identity, SubjectSource};
use passerelle_federation::login::{CodeGrant, SessionUse};
use passerelle_federation::session::{Session, SessionLimits};
use passerelle_federation::{ConnectorProfile, Federation};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ClientId, ConnectorId, Secret};
use passerelle_store::testing::store_conformance::ample_capacities;

fn cookie(value: &str) -> Secret<String> {
    Secret::new(value.into())
}

async fn session(hub: &Hub, value: &str) -> Option<Session> {
    hub.grants.sessions.find(&cookie(value)).await.unwrap()
}

fn with_new_session(grant: CodeGrant, value: &str, former: &str) -> CodeGrant {
    CodeGrant {
        session: SessionUse::New { cookie: cookie(value), replaced: Some(cookie(former)) },
        ..grant
    }
}

fn with_reused_session(grant: CodeGrant, value: &str) -> CodeGrant {
    CodeGrant { session: SessionUse::Reused { cookie: cookie(value) }, ..grant }
}

fn consent_claims(hub: &Hub, shown: &Map<String, serde_json::Value>) -> BTreeSet<ClaimName> {
    hub.core.federation.load().consent_claims(shown)
}

#[tokio::test]
async fn session_fixation_gets_the_attacker_nothing() {
    let hub = Hub::new();
    // A value that an attacker planted, whether it names a session (theirs) or nothing.
    hub.issue("attacker", &[]).await;
    for (code, planted) in [("one", "attacker's session"), ("two", "made up")] {
        hub.grants
            .codes
            .issue(&with_new_session(hub.grant(code, &[]), code, planted))
            .await
            .unwrap();
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
            .codes
            .issue(&CodeGrant { consented: true, ..hub.grant("first", &[("client_id", "other")]) })
            .await
            .unwrap();
        let claims = consent_claims(&hub, &hub.grant("x", &[]).user.claims);
        let mut second = with_new_session(hub.grant("second", &[]), "second", "first's session");
        if !same {
            second.user.authentication.upstream_subject = cookie("another account");
            second.user.identity.family_name = Some("ELSE".into());
        }
        hub.grants.codes.issue(&second).await.unwrap();
        let session = session(&hub, "second").await.unwrap();
        assert!(session.has_participant(&sp) && !session.has_consented(&sp, &[], &claims));
        assert_eq!(
            (session.has_participant(&other), session.has_consented(&other, &[], &claims)),
            (kept, kept)
        );
    }
}

/// `subject = "provider"`: only the `sub` of both is known, and it differs.
#[tokio::test]
async fn the_consent_of_one_pseudonym_is_not_that_of_another() {
    let no_identity = || {
        Identity::from_claims(
            &Map::new(),
            &IdentityRules { home_country: "99100".into(), required: RequiredClaims::SubjectOnly },
        )
    };
    let other = ClientId::from("other");
    for (account, kept) in [("upstream-angela", true), ("another account", false)] {
        let hub = Hub::new();
        let mut first =
            CodeGrant { consented: true, ..hub.grant("first", &[("client_id", "other")]) };
        first.user.identity = no_identity().unwrap();
        hub.grants.codes.issue(&first).await.unwrap();
        let mut second = with_new_session(hub.grant("second", &[]), "second", "first's session");
        second.user.authentication.upstream_subject = cookie(account);
        second.user.identity = no_identity().unwrap();
        hub.grants.codes.issue(&second).await.unwrap();
        assert_eq!(
            session(&hub, "second").await.unwrap().has_participant(&other),
            kept,
            "{account}"
        );
    }
}

#[tokio::test]
async fn a_page_is_remembered_for_what_it_showed_and_a_yes_as_consent() {
    let sp = ClientId::from("sp");
    for (consented, informed) in [(true, true), (false, true), (false, false)] {
        let hub = Hub::new();
        let mut grant = CodeGrant { consented, ..hub.grant("code", &[]) };
        grant.user.informed = informed;
        hub.grants.codes.issue(&grant).await.unwrap();
        let session = session(&hub, "code's session").await.unwrap();
        let shown = hub.grant("x", &[]);
        let claims = consent_claims(&hub, &shown.user.claims);
        assert_eq!(session.has_consented(&sp, &shown.scopes, &claims), consented);
        let only_informed = informed && !consented;
        assert_eq!(session.has_been_informed(&sp, &shown.scopes, &claims), only_informed);
        assert!(!session.has_consented(&sp, &["other".into()], &claims));
        let more = serde_json::json!({ "email": "e", "birthplace": "75107" });
        let more = consent_claims(&hub, more.as_object().unwrap());
        assert!(!session.has_consented(&sp, &shown.scopes, &more));
    }
}

#[tokio::test]
async fn reuse_lengthens_the_idle_time_and_joins_the_service_provider() {
    let hub = Hub::new();
    hub.issue("first", &[("client_id", "other")]).await;
    let idle = SessionLimits::for_platform(hub.core.platform).idle;
    hub.clock.advance(idle - MILLISECOND);
    hub.grants
        .codes
        .issue(&with_reused_session(hub.grant("second", &[]), "first's session"))
        .await
        .unwrap();
    hub.clock.advance(idle - MILLISECOND);
    let used = session(&hub, "first's session").await.unwrap();
    assert!(used.has_participant(&"sp".into()) && used.has_participant(&"other".into()));
    hub.clock.advance(MILLISECOND);
    assert!(session(&hub, "first's session").await.is_none());
}

#[tokio::test]
async fn a_session_that_ended_meanwhile_gives_no_code() {
    let hub = Hub::new();
    hub.issue("first", &[]).await;
    hub.clock.advance(Duration::from_secs(24 * 3600));
    for gone in ["first's session", "never there"] {
        let outcome =
            hub.grants.codes.issue(&with_reused_session(hub.grant("second", &[]), gone)).await;
        assert_eq!(outcome, Err(ErrorCode::LoginRequired), "{gone}");
        assert_eq!(hub.redeem("second").await, Err(ErrorCode::CodeUnknown), "{gone}");
    }
}

/// After the back button or a lost response, the login that re-authenticated the user is answered
/// again.
#[tokio::test]
async fn a_session_that_was_signed_out_does_not_come_back_with_the_answer_of_its_login() {
    let hub = Hub::new();
    hub.issue("first", &[]).await;
    let second = with_new_session(hub.grant("second", &[]), "second", "first's session");
    hub.grants.codes.issue(&second.clone()).await.unwrap();
    assert!(hub.grants.sessions.end(&cookie("second")).await.unwrap().is_some());
    for _ in 0..2 {
        assert_eq!(hub.grants.codes.issue(&second.clone()).await, Err(ErrorCode::LoginRequired));
        assert!(session(&hub, "second").await.is_none(), "alive after its logout");
        assert_eq!(hub.redeem("second").await, Err(ErrorCode::CodeUnknown));
        hub.clock.advance(CODE_LIFE - MILLISECOND);
    }
}

/// The first attempt created the session, but its code was never stored; the session that it
/// continued has ended meanwhile.
#[tokio::test]
async fn tokens_of_a_retry_end_with_the_session_of_the_first_try() {
    let hub = Hub::new();
    hub.issue("first", &[]).await;
    let second = with_new_session(hub.grant("second", &[]), "second", "first's session");
    hub.grants.codes.issue(&second.clone()).await.unwrap();
    hub.store.remove(&code_key("second")).await.unwrap();
    hub.grants.codes.issue(&second).await.unwrap();
    assert!(hub.grants.sessions.end(&cookie("second")).await.unwrap().is_some());
    assert_eq!(
        hub.redeem("second").await,
        Err(ErrorCode::CodeUnknown),
        "a code alive after logout"
    );
}

/// An account at another identity provider, or the same with another e-mail address.
fn by_another_account(mut grant: CodeGrant, change: impl FnOnce(&mut Identity)) -> CodeGrant {
    grant.user.authentication.connector = "another".into();
    grant.user.authentication.upstream_subject = Secret::new("another account".into());
    change(&mut grant.user.identity);
    grant
}

/// The connectors "idp" and "another", each with whether its claims prove who a person is.
fn hub_where_identity_is_proven_by(idp: bool, another: bool) -> Hub {
    let hub = Hub::new();
    prove_identity_by(&hub, idp, another);
    hub
}

fn prove_identity_by(hub: &Hub, idp: bool, another: bool) {
    let configured = any_connector("one", "One");
    let entry = |(id, proves_identity): (&str, bool)| {
        let id = ConnectorId::from(id);
        (id, Arc::new(ConnectorProfile { proves_identity, ..configured.metadata() }))
    };
    let connectors = [("idp", idp), ("another", another)].map(entry);
    hub.set_federation(Federation::clone(&hub.core.federation.load()).with_connectors(connectors));
}

/// Its user chooses the claims, and so could claim another user's identity.
#[tokio::test]
async fn an_unverified_connectors_claims_continue_no_session_of_another_account() {
    for (idp, another) in [(true, true), (true, false), (false, true), (false, false)] {
        let hub = hub_where_identity_is_proven_by(idp, another);
        hub.issue("first", &[("client_id", "other")]).await;
        let second = by_another_account(
            with_new_session(hub.grant("second", &[]), "second", "first's session"),
            |_| (),
        );
        hub.grants.codes.issue(&second).await.unwrap();
        let second = session(&hub, "second").await.unwrap();
        assert_eq!(second.has_participant(&"other".into()), idp && another, "{idp} {another}");
        // The same account needs no proof.
        let third = by_another_account(
            with_new_session(hub.grant("third", &[]), "third", "second"),
            |_| (),
        );
        hub.grants.codes.issue(&third).await.unwrap();
        assert_eq!(
            session(&hub, "third").await.unwrap().lineage,
            second.lineage,
            "{idp} {another}"
        );
    }
    let hub = Hub::new();
    hub.issue("first", &[("client_id", "other")]).await;
    let second = by_another_account(
        with_new_session(hub.grant("second", &[]), "second", "first's session"),
        |_| (),
    );
    hub.grants.codes.issue(&second).await.unwrap();
    assert!(
        !session(&hub, "second").await.unwrap().has_participant(&"other".into()),
        "connectors whose files are gone"
    );
}

#[tokio::test]
async fn a_second_account_with_another_email_address_does_not_split_the_session() {
    let hub = hub_where_identity_is_proven_by(true, true);
    hub.issue("first", &[("client_id", "other")]).await;
    let lineage = session(&hub, "first's session").await.unwrap().lineage;
    let second = with_new_session(hub.grant("second", &[]), "second", "first's session");
    let second =
        by_another_account(second, |identity| identity.email = Some("angela@work.example".into()));
    hub.grants.codes.issue(&second).await.unwrap();
    let continued = session(&hub, "second").await.unwrap();
    assert_eq!(continued.lineage, lineage);
    assert!(
        continued.has_participant(&"other".into()),
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
        hub.grants.codes.issue(&first).await.unwrap();
        let mut second = with_new_session(hub.grant("second", &[]), "second", "first's session");
        second.user.identity.given_names = vec![name.to_owned()];
        hub.grants.codes.issue(&second).await.unwrap();
        assert!(!session(&hub, "second").await.unwrap().has_participant(&"other".into()), "{name}");
    }
}

#[tokio::test]
async fn where_the_subject_is_the_account_an_equal_identity_continues_nothing() {
    let hub = Hub::build(ample_capacities(), |dependencies| {
        dependencies.subjects.source = SubjectSource::Provider;
    });
    prove_identity_by(&hub, true, true);
    hub.issue("first", &[("client_id", "other")]).await;
    let second = by_another_account(
        with_new_session(hub.grant("second", &[]), "second", "first's session"),
        |_| (),
    );
    hub.grants.codes.issue(&second).await.unwrap();
    assert!(!session(&hub, "second").await.unwrap().has_participant(&"other".into()));
    let third = with_new_session(hub.grant("third", &[]), "third", "second");
    let third = by_another_account(third, |identity| identity.email = None);
    hub.grants.codes.issue(&third).await.unwrap();
    assert!(
        session(&hub, "third").await.unwrap().has_participant(&"sp".into()),
        "the same account"
    );
}
