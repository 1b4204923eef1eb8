use super::*;
use crate::identity::samples::angela;
use crate::session::gate::{Closed, Connector, Facts, Pairing, ServiceProvider};
use Level::{Eidas1, Eidas2, Eidas3};

const START: Timestamp = Timestamp::from_seconds(1_700_000_000);

fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}

fn session(level: Level) -> Session {
    let finished = Finished {
        connector: "impots".into(),
        upstream_subject: Secret::new("upstream".into()),
        level,
        evidence: Evidence::default(),
        auth_time: START,
        identity: angela(),
        id_token: None,
    };
    Session::start(finished, "lineage", START)
}

fn asked(platform: Platform, level: Level) -> Asked {
    Asked {
        platform,
        prompt_login: PromptLogin::NotAsked,
        max_age: None,
        level,
        idp_hint: None,
        wanted: Vec::new(),
        holder: "angela@sp".into(),
    }
}

fn open() -> Facts {
    Facts {
        service_provider: ServiceProvider::Active,
        connector: Connector::On { lowest: Eidas1, highest: Eidas3, reauthenticates: true },
        pairing: Pairing::Allowed,
    }
}

/// Asks a session of this age, used last at its start.
fn after(age: Duration, session: &Session, asked: &Asked) -> Result<Level, NotReused> {
    reuse(session, asked, &Limits::of(asked.platform), &open(), START + age)
}

#[test]
fn a_plain_request_is_answered_from_the_session() {
    assert_eq!(after(minutes(5), &session(Eidas1), &asked(Platform::Standard, Eidas1)), Ok(Eidas1));
}

#[test]
fn a_request_that_asks_for_more_is_refused_by_table() {
    let plain = asked(Platform::Standard, Eidas1);
    for (case, asked, answer) in [
        (
            "prompt=login",
            Asked { prompt_login: PromptLogin::Asked, ..plain.clone() },
            Err(NotReused::LoginAsked),
        ),
        ("max_age exceeded", Asked { max_age: Some(299), ..plain.clone() }, Err(NotReused::TooOld)),
        ("max_age just kept", Asked { max_age: Some(300), ..plain.clone() }, Ok(Eidas1)),
        ("max_age huge", Asked { max_age: Some(u64::MAX), ..plain.clone() }, Ok(Eidas1)),
        ("level", Asked { level: Eidas2, ..plain.clone() }, Err(NotReused::LevelTooLow)),
        (
            "its own connector",
            Asked { idp_hint: Some("impots".into()), ..plain.clone() },
            Ok(Eidas1),
        ),
        (
            "another connector",
            Asked { idp_hint: Some("banque".into()), ..plain.clone() },
            Err(NotReused::OtherConnector),
        ),
        ("its own user", Asked { wanted: vec!["angela@sp".into()], ..plain.clone() }, Ok(Eidas1)),
        (
            "another user",
            Asked { wanted: vec!["jean@sp".into()], ..plain.clone() },
            Err(NotReused::OtherUser),
        ),
        (
            "hint and claim disagree",
            Asked { wanted: vec!["angela@sp".into(), "jean@sp".into()], ..plain.clone() },
            Err(NotReused::OtherUser),
        ),
        (
            "the first reason counts",
            Asked {
                prompt_login: PromptLogin::Asked,
                wanted: vec!["jean@sp".into()],
                ..plain.clone()
            },
            Err(NotReused::LoginAsked),
        ),
    ] {
        assert_eq!(after(Duration::from_secs(300), &session(Eidas1), &asked), answer, "{case}");
    }
}

#[test]
fn max_age_zero_is_prompt_login_even_in_the_same_millisecond() {
    let asked = Asked { max_age: Some(0), ..asked(Platform::Standard, Eidas1) };
    assert_eq!(after(Duration::ZERO, &session(Eidas1), &asked), Err(NotReused::TooOld));
}

#[test]
fn eidas3_is_never_reused() {
    for (held, platform, level, answer) in [
        (Eidas3, Platform::High, Eidas3, Err(NotReused::LevelTooLow)),
        (Eidas3, Platform::High, Eidas2, Ok(Eidas2)),
        (Eidas2, Platform::High, Eidas2, Ok(Eidas2)),
        (Eidas2, Platform::High, Eidas3, Err(NotReused::LevelTooLow)),
        (Eidas3, Platform::Standard, Eidas1, Ok(Eidas1)),
        (Eidas2, Platform::Standard, Eidas2, Err(NotReused::LevelTooLow)),
    ] {
        assert_eq!(
            after(minutes(1), &session(held), &asked(platform, level)),
            answer,
            "{held:?} on {platform:?} for {level:?}"
        );
    }
}

#[test]
fn the_gate_is_asked_again_at_reuse() {
    let asked = asked(Platform::Standard, Eidas1);
    for (facts, reason) in [
        (
            Facts { service_provider: ServiceProvider::Inactive, ..open() },
            Closed::ServiceProviderInactive,
        ),
        (Facts { connector: Connector::Off, ..open() }, Closed::ConnectorOff),
        (Facts { connector: Connector::Unknown, ..open() }, Closed::ConnectorUnknown),
        (Facts { pairing: Pairing::Blocked, ..open() }, Closed::Blocked),
        (Facts { connector: Connector::Blocked, ..open() }, Closed::ConnectorBlocked),
        (Facts { pairing: Pairing::Suspended, ..open() }, Closed::Suspended),
        // The connector's file was lowered since: what it said then is no longer believed.
        (
            Facts {
                connector: Connector::On { lowest: Eidas1, highest: Eidas1, reauthenticates: true },
                ..open()
            },
            Closed::LevelTooHigh,
        ),
    ] {
        let answer = reuse(
            &session(Eidas2),
            &asked,
            &Limits::of(Platform::Standard),
            &facts,
            START + minutes(1),
        );
        assert_eq!(answer, Err(NotReused::Gate(reason)));
    }
    // A substantial identity provider on standard: what it proved is judged, not the eidas1 that it counts as.
    let substantial = Facts {
        connector: Connector::On { lowest: Eidas2, highest: Eidas2, reauthenticates: true },
        ..open()
    };
    let answer = reuse(
        &session(Eidas2),
        &asked,
        &Limits::of(Platform::Standard),
        &substantial,
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
        session.touch(START + minutes(last_used));
        let answer = after(age, &session, &asked(platform, level));
        assert_eq!(
            answer,
            if alive { Ok(level) } else { Err(NotReused::Expired) },
            "{platform:?} at {age:?}"
        );
    }
}

#[test]
fn on_high_the_ten_minutes_begin_with_the_authentication() {
    let high = Limits::of(Platform::High);
    let earlier = Session { auth_time: START - minutes(4), ..session(Eidas2) };
    assert_eq!(earlier.expires_at(&high), START + minutes(6));
    let mut clock_ahead = Session { auth_time: START + minutes(1), ..session(Eidas2) };
    clock_ahead.touch(START + minutes(5));
    assert_eq!(clock_ahead.expires_at(&high), START + minutes(10));
    // On standard an old authentication at the identity provider doesn't shorten the session; max_age looks at it.
    let old = Session { auth_time: START - minutes(600), ..session(Eidas1) };
    assert_eq!(old.expires_at(&Limits::of(Platform::Standard)), START + minutes(30));
    let answer = after(
        minutes(1),
        &old,
        &Asked { max_age: Some(3600), ..asked(Platform::Standard, Eidas1) },
    );
    assert_eq!(answer, Err(NotReused::TooOld));
}

#[test]
fn a_clock_that_steps_back_does_not_shorten_a_session() {
    let mut session = session(Eidas1);
    session.touch(START - minutes(5));
    assert_eq!(session.last_used_at, START);
}

#[test]
fn a_yes_covers_what_was_on_its_page_and_no_more() {
    let (sp, other) = (ClientId::from("sp"), ClientId::from("other"));
    let set = |claims: &[Claim]| claims.iter().copied().collect::<BTreeSet<_>>();
    let mut session = session(Eidas1);
    session.take_part(&sp);
    assert!(session.took_part(&sp) && !session.took_part(&other));
    assert!(!session.consented(&sp, &set(&[])), "taking part is no yes");

    session.remember_consent(&sp, set(&[Claim::Email]));
    session.remember_consent(&sp, set(&[Claim::Gender]));
    for (claims, covered) in [
        (set(&[Claim::Email]), true),
        (set(&[Claim::Gender]), true),
        (set(&[Claim::Birthdate]), false),
        (set(&[Claim::Email, Claim::Gender]), false),
    ] {
        assert_eq!(session.consented(&sp, &claims), covered, "{claims:?}");
    }
    assert!(
        !session.consented(&other, &set(&[Claim::Email])),
        "a yes to one service provider is none to another"
    );

    session.remember_consent(&sp, set(&[Claim::Email, Claim::Gender]));
    session.remember_consent(&sp, set(&[Claim::Email]));
    assert!(session.consented(&sp, &set(&[Claim::Gender])));
    assert_eq!(session.participants[&sp].len(), 1, "a larger yes replaces the smaller ones");
}

#[test]
fn a_session_that_continues_another_keeps_its_name_and_what_was_agreed_to() {
    let email = BTreeSet::from([Claim::Email]);
    let mut former = Session { lineage: "the first".into(), ..session(Eidas1) };
    former.remember_consent(&"sp".into(), email.clone());
    let mut next = session(Eidas1);
    next.continue_from(former);
    assert!(next.consented(&"sp".into(), &email));
    assert_eq!(next.lineage, "the first");
}

#[test]
fn one_account_is_one_connector_and_one_upstream_subject() {
    let of = |connector: &str, account: &str| Session {
        connector: connector.into(),
        upstream_subject: Secret::new(account.into()),
        ..session(Eidas1)
    };
    assert!(of("a", "x").is_same_account(&of("a", "x")));
    assert!(!of("a", "x").is_same_account(&of("a", "y")));
    assert!(!of("a", "x").is_same_account(&of("b", "x")));
}

#[test]
fn a_time_that_nothing_proves_answers_no_max_age() {
    let unproven = Facts {
        connector: Connector::On { lowest: Eidas1, highest: Eidas1, reauthenticates: false },
        ..open()
    };
    for (max_age, answer) in
        [(None, Ok(Eidas1)), (Some(3600), Err(NotReused::Gate(Closed::ReauthenticationUnproven)))]
    {
        let asked = Asked { max_age, ..asked(Platform::Standard, Eidas1) };
        let limits = Limits::of(Platform::Standard);
        assert_eq!(reuse(&session(Eidas1), &asked, &limits, &unproven, START + minutes(1)), answer);
    }
}

#[test]
fn a_session_can_be_stored_and_never_prints_the_person() {
    let mut session = session(Eidas2);
    session.remember_consent(&"sp".into(), BTreeSet::from([Claim::Email]));
    let stored = serde_json::to_vec(&session).unwrap();
    let loaded: Session = serde_json::from_slice(&stored).unwrap();
    assert_eq!(loaded.identity, session.identity);
    assert!(loaded.consented(&"sp".into(), &BTreeSet::from([Claim::Email])));
    let printed = format!("{session:?}");
    assert!(!printed.contains("DUBOIS") && !printed.contains("upstream\""), "{printed}");
}
