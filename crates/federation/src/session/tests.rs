use super::*;
use crate::Levels;
use crate::identity::Claim;
use crate::testing::samples::angela;
use Level::{Eidas1, Eidas2, Eidas3};

const START: Timestamp = Timestamp::from_seconds(1_700_000_000);

fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}

fn session(level: Level) -> Session {
    let finished = FinishedLogin {
        connector: "impots".into(),
        upstream_subject: Secret::new("upstream".into()),
        level,
        evidence: AmrEvidence::default(),
        auth_time: Some(START),
        identity: angela(),
        confirmed_at: None,
        electronic_records: Vec::new(),
        session_ends_at: None,
        session_hint: None,
    };
    Session::start(finished, "lineage", START)
}

fn reuse_request(platform: Platform, level: Level) -> ReuseRequest {
    ReuseRequest {
        platform,
        prompt_login: PromptLogin::NotRequested,
        max_age: None,
        level,
        idp_hints: Vec::new(),
        required_subjects: Vec::new(),
        session_subject: "angela@sp".into(),
    }
}

const WIDE: PermittedConnector = PermittedConnector {
    levels: Levels { lowest: Eidas1, highest: Eidas3 },
    reauthenticates: true,
};

/// Requests reuse of a session of this age that was last used at its start.
fn reuse_after(
    age: Duration,
    session: &Session,
    request: &ReuseRequest,
) -> Result<Level, ReuseError> {
    check_reuse(
        session,
        request,
        &SessionLimits::for_platform(request.platform),
        Ok(WIDE),
        START + age,
    )
}

#[test]
fn a_plain_request_is_answered_from_the_session() {
    assert_eq!(
        reuse_after(minutes(5), &session(Eidas1), &reuse_request(Platform::Standard, Eidas1)),
        Ok(Eidas1)
    );
}

#[test]
fn a_request_that_demands_more_is_refused_by_table() {
    let plain = reuse_request(Platform::Standard, Eidas1);
    for (case, request, answer) in [
        (
            "prompt=login",
            ReuseRequest { prompt_login: PromptLogin::Requested, ..plain.clone() },
            Err(ReuseError::LoginRequested),
        ),
        (
            "max_age exceeded",
            ReuseRequest { max_age: Some(299), ..plain.clone() },
            Err(ReuseError::TooOld),
        ),
        (
            "max_age reached exactly",
            ReuseRequest { max_age: Some(300), ..plain.clone() },
            Ok(Eidas1),
        ),
        ("max_age huge", ReuseRequest { max_age: Some(u64::MAX), ..plain.clone() }, Ok(Eidas1)),
        ("level", ReuseRequest { level: Eidas2, ..plain.clone() }, Err(ReuseError::LevelTooLow)),
        (
            "its own connector",
            ReuseRequest { idp_hints: vec!["other".into(), "impots".into()], ..plain.clone() },
            Ok(Eidas1),
        ),
        (
            "another connector",
            ReuseRequest { idp_hints: vec!["banque".into()], ..plain.clone() },
            Err(ReuseError::OtherConnector),
        ),
        (
            "its own user",
            ReuseRequest { required_subjects: vec!["angela@sp".into()], ..plain.clone() },
            Ok(Eidas1),
        ),
        (
            "another user",
            ReuseRequest { required_subjects: vec!["jean@sp".into()], ..plain.clone() },
            Err(ReuseError::OtherUser),
        ),
        (
            "hint and claim disagree",
            ReuseRequest {
                required_subjects: vec!["angela@sp".into(), "jean@sp".into()],
                ..plain.clone()
            },
            Err(ReuseError::OtherUser),
        ),
        (
            "the first reason is returned",
            ReuseRequest {
                prompt_login: PromptLogin::Requested,
                required_subjects: vec!["jean@sp".into()],
                ..plain.clone()
            },
            Err(ReuseError::LoginRequested),
        ),
    ] {
        assert_eq!(
            reuse_after(Duration::from_secs(300), &session(Eidas1), &request),
            answer,
            "{case}"
        );
    }
}

#[test]
fn max_age_zero_is_prompt_login_even_in_the_same_millisecond() {
    let request = ReuseRequest { max_age: Some(0), ..reuse_request(Platform::Standard, Eidas1) };
    assert_eq!(reuse_after(Duration::ZERO, &session(Eidas1), &request), Err(ReuseError::TooOld));
}

#[test]
fn eidas3_is_never_reused() {
    for (held, platform, level, answer) in [
        (Eidas3, Platform::High, Eidas3, Err(ReuseError::LevelTooLow)),
        (Eidas3, Platform::High, Eidas2, Ok(Eidas2)),
        (Eidas2, Platform::High, Eidas2, Ok(Eidas2)),
        (Eidas2, Platform::High, Eidas3, Err(ReuseError::LevelTooLow)),
        (Eidas3, Platform::Standard, Eidas1, Ok(Eidas1)),
        (Eidas2, Platform::Standard, Eidas2, Err(ReuseError::LevelTooLow)),
    ] {
        assert_eq!(
            reuse_after(minutes(1), &session(held), &reuse_request(platform, level)),
            answer,
            "{held:?} on {platform:?} for {level:?}"
        );
    }
}

#[test]
fn reuse_checks_the_gate_again() {
    let request = reuse_request(Platform::Standard, Eidas1);
    let reason = UnavailableReason::ConnectorBlocked;
    // The connector's highest level was lowered since.
    let levels = Levels { lowest: Eidas1, highest: Eidas1 };
    let lowered = PermittedConnector { levels, ..WIDE };
    for (connector, reason) in
        [(Err(reason), reason), (Ok(lowered), UnavailableReason::LevelTooHigh)]
    {
        let answer = check_reuse(
            &session(Eidas2),
            &request,
            &SessionLimits::for_platform(Platform::Standard),
            connector,
            START + minutes(1),
        );
        assert_eq!(answer, Err(ReuseError::Gate(reason)));
    }
    // A substantial identity provider on standard: the gate checks the level that it proved, not
    // the eidas1 that it counts as.
    let levels = Levels { lowest: Eidas2, highest: Eidas2 };
    let substantial = PermittedConnector { levels, ..WIDE };
    let answer = check_reuse(
        &session(Eidas2),
        &request,
        &SessionLimits::for_platform(Platform::Standard),
        Ok(substantial),
        START + minutes(1),
    );
    assert_eq!(answer, Ok(Eidas1));
}

#[test]
fn limits_by_table() {
    let (standard, high) = ((Platform::Standard, Eidas1), (Platform::High, Eidas2));
    for ((platform, level), last_used, age, alive) in [
        (standard, 0, minutes(29), true),
        (standard, 0, minutes(30), false),
        (standard, 29, minutes(58), true),
        (standard, 479, minutes(480).checked_sub(Duration::from_millis(1)).unwrap(), true),
        (standard, 479, minutes(480), false),
        (high, 0, minutes(9), true),
        (high, 9, minutes(10), false),
    ] {
        let mut session = session(level);
        session.record_use(START + minutes(last_used));
        let answer = reuse_after(age, &session, &reuse_request(platform, level));
        assert_eq!(
            answer,
            if alive { Ok(level) } else { Err(ReuseError::Expired) },
            "{platform:?} at {age:?}"
        );
    }
}

#[test]
fn on_high_the_ten_minutes_start_at_the_authentication() {
    let high = SessionLimits::for_platform(Platform::High);
    let mut earlier = session(Eidas2);
    earlier.login.auth_time = Some(START - minutes(4));
    assert_eq!(earlier.expires_at(&high), START + minutes(6));
    let mut clock_ahead = session(Eidas2);
    clock_ahead.login.auth_time = Some(START + minutes(1));
    clock_ahead.record_use(START + minutes(5));
    assert_eq!(clock_ahead.expires_at(&high), START + minutes(10));
    // On standard an old authentication at the identity provider does not shorten the session;
    // `max_age` bounds it.
    let mut old = session(Eidas1);
    old.login.auth_time = Some(START - minutes(600));
    assert_eq!(
        old.expires_at(&SessionLimits::for_platform(Platform::Standard)),
        START + minutes(30)
    );
    let answer = reuse_after(
        minutes(1),
        &old,
        &ReuseRequest { max_age: Some(3600), ..reuse_request(Platform::Standard, Eidas1) },
    );
    assert_eq!(answer, Err(ReuseError::TooOld));
}

#[test]
fn an_end_of_the_identity_provider_shortens_a_session_and_never_lengthens_it() {
    let limits = SessionLimits::for_platform(Platform::Standard);
    for (ends_at, expected) in [(5, 5), (33, 33), (35, 34), (600, 34)] {
        let mut session = session(Eidas1);
        session.login.session_ends_at = Some(START + minutes(ends_at));
        session.record_use(START + minutes(4));
        assert_eq!(session.expires_at(&limits), START + minutes(expected));
        let request = reuse_request(Platform::Standard, Eidas1);
        let answer = reuse_after(minutes(expected), &session, &request);
        assert_eq!(answer, Err(ReuseError::Expired));
    }
}

#[test]
fn an_unknown_authentication_time_satisfies_no_max_age_and_lengthens_no_session() {
    let mut unknown = session(Eidas1);
    unknown.login.auth_time = None;
    let limits = SessionLimits::for_platform(Platform::High);
    assert_eq!(unknown.expires_at(&limits), START + minutes(10));
    for (max_age, answer) in [(None, Ok(Eidas1)), (Some(u64::MAX), Err(ReuseError::TooOld))] {
        let request = ReuseRequest { max_age, ..reuse_request(Platform::Standard, Eidas1) };
        assert_eq!(reuse_after(minutes(1), &unknown, &request), answer, "{max_age:?}");
    }
}

#[test]
fn a_clock_that_steps_back_does_not_shorten_a_session() {
    let mut session = session(Eidas1);
    session.record_use(START - minutes(5));
    assert_eq!(session.last_used_at, START);
}

#[test]
fn consent_covers_what_was_on_its_page_and_no_more() {
    let (sp, other) = (ClientId::from("sp"), ClientId::from("other"));
    let set =
        |claims: &[Claim]| claims.iter().copied().map(ClaimName::from).collect::<BTreeSet<_>>();
    let mut session = session(Eidas1);
    session.add_participant(&sp);
    assert!(session.has_participant(&sp) && !session.has_participant(&other));
    assert!(!session.has_consented(&sp, &[], &set(&[])), "participation is not consent");

    session.remember_consent(&sp, &[], set(&[Claim::Email]));
    session.remember_consent(&sp, &[], set(&[Claim::Gender]));
    for (claims, covered) in [
        (set(&[Claim::Email]), true),
        (set(&[Claim::Gender]), true),
        (set(&[Claim::Birthdate]), false),
        (set(&[Claim::Email, Claim::Gender]), false),
    ] {
        assert_eq!(session.has_consented(&sp, &[], &claims), covered, "{claims:?}");
    }
    assert!(
        !session.has_consented(&other, &[], &set(&[Claim::Email])),
        "consent for one service provider counted for another"
    );

    session.remember_consent(&sp, &[], set(&[Claim::Email, Claim::Gender]));
    session.remember_consent(&sp, &[], set(&[Claim::Email]));
    assert!(session.has_consented(&sp, &[], &set(&[Claim::Gender])));
    assert_eq!(session.participants[&sp].len(), 1, "larger consent replaces the smaller ones");
}

#[test]
fn consent_to_claims_is_no_consent_to_a_scope_without_them() {
    let sp = ClientId::from("sp");
    let scopes = |names: &[&str]| names.iter().copied().map(Scope::from).collect::<Vec<_>>();
    let mut session = session(Eidas1);
    session.remember_consent(&sp, &scopes(&["openid", "email"]), BTreeSet::new());
    session.remember_consent(&sp, &scopes(&["openid", "gender"]), BTreeSet::new());
    for (asked, covered) in [
        (&["openid", "email"][..], true),
        (&["openid"], true),
        (&["openid", "email", "gender"], true),
        (&["openid", "email", "phone"], false),
    ] {
        assert_eq!(
            session.has_consented(&sp, &scopes(asked), &BTreeSet::new()),
            covered,
            "{asked:?}"
        );
    }
    assert!(!session.has_consented(&"other".into(), &scopes(&["openid"]), &BTreeSet::new()));
}

#[test]
fn information_covers_what_one_page_showed_and_is_no_consent() {
    let (sp, other) = (ClientId::from("sp"), ClientId::from("other"));
    let set =
        |claims: &[Claim]| claims.iter().copied().map(ClaimName::from).collect::<BTreeSet<_>>();
    let scopes = |names: &[&str]| names.iter().copied().map(Scope::from).collect::<Vec<_>>();
    let (email, both) = (set(&[Claim::Email]), set(&[Claim::Email, Claim::Gender]));
    let (few, more) = (scopes(&["openid", "email"]), scopes(&["openid", "email", "gender"]));
    let mut session = session(Eidas1);
    session.add_participant(&sp);
    assert!(!session.has_been_informed(&sp, &[], &set(&[])), "participation shows no page");

    session.remember_information(&sp, &few, email.clone());
    session.remember_information(&sp, &scopes(&["openid", "gender"]), set(&[Claim::Gender]));
    assert!(session.has_been_informed(&sp, &few, &email));
    assert!(session.has_been_informed(&sp, &scopes(&["openid"]), &set(&[])));
    assert!(!session.has_been_informed(&sp, &more, &email), "a scope without a value counts");
    assert!(!session.has_been_informed(&sp, &few, &both), "on no page together");
    assert!(!session.has_been_informed(&other, &few, &email), "another service's page");
    assert!(!session.has_consented(&sp, &few, &email), "the user was not asked");

    session.remember_information(&sp, &more, both.clone());
    session.remember_information(&sp, &few, email);
    assert!(session.has_been_informed(&sp, &more, &both));
    assert_eq!(session.information[&sp].len(), 1, "the larger page replaces the smaller ones");
}

/// The page showed another e-mail address.
#[test]
fn what_was_shown_does_not_count_for_another_identity_of_the_same_person() {
    let (sp, email) = (ClientId::from("sp"), BTreeSet::from([Claim::Email.into()]));
    for (address, counts) in [(None, true), (Some("angela@work.example"), false)] {
        let mut former = session(Eidas1);
        former.add_participant(&sp);
        former.remember_consent(&sp, &[], email.clone());
        former.remember_information(&sp, &[], email.clone());
        let mut next = session(Eidas1);
        if let Some(address) = address {
            next.login.identity.email = Some(address.into());
        }
        next.continue_from(former);
        assert!(next.has_participant(&sp), "a logout must reach it");
        assert_eq!(next.has_been_informed(&sp, &[], &email), counts, "{address:?}");
        assert_eq!(next.has_consented(&sp, &[], &email), counts, "{address:?}");
    }
}

#[test]
fn a_session_that_continues_another_keeps_its_lineage_and_consent() {
    let email = BTreeSet::from([Claim::Email.into()]);
    let mut former = Session { lineage: "the first".into(), ..session(Eidas1) };
    former.remember_consent(&"sp".into(), &["email".into()], email.clone());
    let mut next = session(Eidas1);
    next.continue_from(former);
    assert!(next.has_consented(&"sp".into(), &["email".into()], &email));
    assert_eq!(next.lineage, "the first");
}

#[test]
fn one_account_is_one_connector_and_one_upstream_subject() {
    let account = |connector: &str, user: &str| {
        let mut session = session(Eidas1);
        session.login.connector = connector.into();
        session.login.upstream_subject = Secret::new(user.into());
        session
    };
    assert!(account("a", "x").is_same_account(&account("a", "x")));
    assert!(!account("a", "x").is_same_account(&account("a", "y")));
    assert!(!account("a", "x").is_same_account(&account("b", "x")));
}

#[test]
fn an_unproven_auth_time_does_not_satisfy_max_age() {
    let unproven = PermittedConnector { reauthenticates: false, ..WIDE };
    for (max_age, answer) in [
        (None, Ok(Eidas1)),
        (Some(3600), Err(ReuseError::Gate(UnavailableReason::ReauthenticationUnproven))),
    ] {
        let request = ReuseRequest { max_age, ..reuse_request(Platform::Standard, Eidas1) };
        let limits = SessionLimits::for_platform(Platform::Standard);
        assert_eq!(
            check_reuse(&session(Eidas1), &request, &limits, Ok(unproven), START + minutes(1)),
            answer
        );
    }
}

#[test]
fn a_session_can_be_stored_and_prints_no_personal_data() {
    let mut session = session(Eidas2);
    let email = BTreeSet::from([Claim::Email.into()]);
    session.remember_consent(&"sp".into(), &["email".into()], email.clone());
    let stored = serde_json::to_vec(&session).unwrap();
    let loaded: Session = serde_json::from_slice(&stored).unwrap();
    assert_eq!(loaded.login.identity, session.login.identity);
    assert!(loaded.has_consented(&"sp".into(), &["email".into()], &email));
    let printed = format!("{session:?}");
    assert!(!printed.contains("DUBOIS") && !printed.contains("upstream\""), "{printed}");
}

/// During an upgrade, a hub of the former version and one of this version share sessions.
#[test]
fn a_session_without_records_is_stored_and_read_as_before() {
    use crate::login::upstream::ElectronicRecord;
    let mut session = session(Eidas1);
    let stored = serde_json::to_value(&session).unwrap();
    assert!(stored.get("electronic_records").is_none());
    assert!(serde_json::from_value::<Session>(stored).unwrap().login.electronic_records.is_empty());
    session.login.electronic_records = vec![ElectronicRecord {
        record_type: "urn:eudi:pid:1".into(),
        verified_at: START,
        created_at: None,
        expires_at: Some(START + minutes(1)),
        source_name: None,
        source_country: None,
    }];
    let stored = serde_json::to_value(&session).unwrap();
    let read: Session = serde_json::from_value(stored).unwrap();
    assert_eq!(read.login.electronic_records, session.login.electronic_records);
}
