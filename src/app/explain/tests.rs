use super::Level::{Eidas1, Eidas2, Eidas3};
use super::*;
use crate::protocol::registration::Rules;

const ON: gate::Facts = gate::Facts {
    service_provider: gate::ServiceProvider::Active,
    connector: gate::Connector::On { lowest: Eidas1, highest: Eidas3, reauthenticates: true },
    pairing: gate::Pairing::Allowed,
};

fn agreement(
    lowest: Level,
    highest: Level,
    table: &[(Level, &[&str])],
    assumed: Option<Level>,
) -> Agreement {
    let values = table
        .iter()
        .map(|(level, values)| (*level, values.iter().map(ToString::to_string).collect()))
        .collect();
    Agreement { lowest, highest, values, assumed, sends_acr_values: true, ignores_acr: false }
}

fn wide() -> Agreement {
    agreement(
        Eidas1,
        Eidas3,
        &[(Eidas1, &["low"]), (Eidas2, &["loa2", "substantial"]), (Eidas3, &["high"])],
        None,
    )
}

fn words(
    platform: Platform,
    acr_values: &str,
    facts: &gate::Facts,
    agreement: &Agreement,
) -> String {
    let verdict = judge(
        platform,
        authorize::level_asked(acr_values, None, Rules::Federation, platform),
        facts,
        agreement,
    );
    let explanation = Explanation {
        platform,
        service_provider: "bakery".into(),
        connector: "amandier".into(),
        acr_values: acr_values.into(),
        verdict,
    };
    explanation.to_string()
}

// R010: whatever was obtained, standard says eidas1.
#[test]
fn on_standard_in_words() {
    assert_eq!(
        words(Platform::Standard, "eidas1", &ON, &wide()),
        "bakery asks for acr_values \"eidas1\", on the standard platform, by amandier:
- asked: eidas1, the lowest level that the request accepts
- sent to the identity provider: acr_values=low
- acr \"low\" in the answer is accepted: the service provider sees acr eidas1
- acr \"loa2\" in the answer is accepted: the service provider sees acr eidas1
- acr \"substantial\" in the answer is accepted: the service provider sees acr eidas1
- acr \"high\" in the answer is accepted: the service provider sees acr eidas1
- an answer without acr is refused (Y100003): the connector's file has no assumed_level
- any other acr is refused (Y100001): the connector's file does not list it within its levels
- a refusal leads back to the choice page, which says so; no level is ever rounded
- a session with eidas1 from there answers, where prompt has no login: the service provider sees acr eidas1
- a session with eidas2 from there answers, where prompt has no login: the service provider sees acr eidas1
- a session with eidas3 from there answers, where prompt has no login: the service provider sees acr eidas1
"
    );
}

// R038: the level obtained; decisions 8: eidas3 is never reused.
#[test]
fn on_high_in_words() {
    assert_eq!(
        words(Platform::High, "eidas3", &ON, &wide()),
        "bakery asks for acr_values \"eidas3\", on the high platform, by amandier:
- asked: eidas3, the lowest level that the request accepts
- sent to the identity provider: acr_values=high
- acr \"low\" in the answer is refused (Y100002): it stands for eidas1, and eidas3 is needed
- acr \"loa2\" in the answer is refused (Y100002): it stands for eidas2, and eidas3 is needed
- acr \"substantial\" in the answer is refused (Y100002): it stands for eidas2, and eidas3 is needed
- acr \"high\" in the answer is accepted: the service provider sees acr eidas3
- an answer without acr is refused (Y100003): the connector's file has no assumed_level
- any other acr is refused (Y100001): the connector's file does not list it within its levels
- a refusal leads back to the choice page, which says so; no level is ever rounded
- a session with eidas1 from there does not answer: the person authenticates again
- a session with eidas2 from there does not answer: the person authenticates again
- a session with eidas3 from there does not answer: the person authenticates again
"
    );
}

/// Platform, `acr_values`, agreement: the level needed, what is sent, the `acr` seen for each listed value, for none, and
/// for a session of each level within the range.
#[test]
fn what_becomes_of_each_level_by_table() {
    let strong = agreement(Eidas2, Eidas3, &[(Eidas2, &["s"]), (Eidas3, &["h"])], None);
    let silent = agreement(Eidas1, Eidas1, &[], Some(Eidas1));
    type Row<'a> = (
        Platform,
        &'a str,
        Agreement,
        Level,
        Sent,
        Vec<Option<Level>>,
        Option<Level>,
        Vec<Option<Level>>,
    );
    let sent = |value: &str| Sent::AcrValues(value.to_owned());
    let rows: [Row<'_>; 5] = [
        (
            Platform::Standard,
            "eidas1",
            strong.clone(),
            Eidas2,
            sent("s"),
            vec![Some(Eidas1), Some(Eidas1)],
            None,
            vec![Some(Eidas1), Some(Eidas1)],
        ),
        (
            Platform::Standard,
            "eidas1",
            silent,
            Eidas1,
            Sent::Nothing,
            vec![],
            Some(Eidas1),
            vec![Some(Eidas1)],
        ),
        (
            Platform::High,
            "eidas2",
            wide(),
            Eidas2,
            sent("loa2"),
            vec![None, Some(Eidas2), Some(Eidas2), Some(Eidas3)],
            None,
            vec![None, Some(Eidas2), Some(Eidas2)],
        ),
        (
            Platform::High,
            "eidas3 eidas2",
            strong.clone(),
            Eidas2,
            sent("s"),
            vec![Some(Eidas2), Some(Eidas3)],
            None,
            vec![Some(Eidas2), Some(Eidas2)],
        ),
        (
            Platform::High,
            "eidas3",
            strong,
            Eidas3,
            sent("h"),
            vec![None, Some(Eidas3)],
            None,
            vec![None, None],
        ),
    ];
    for (platform, acr_values, agreement, needed, sent, seen, absent, again) in rows {
        let facts = gate::Facts {
            connector: gate::Connector::On {
                lowest: agreement.lowest,
                highest: agreement.highest,
                reauthenticates: true,
            },
            ..ON
        };
        let asked = authorize::level_asked(acr_values, None, Rules::Federation, platform);
        let Verdict::Open(way) = judge(platform, asked, &facts, &agreement) else {
            panic!("{acr_values} on {platform:?}")
        };
        assert_eq!((way.needed, way.sent), (needed, sent), "{acr_values} on {platform:?}");
        let of = |wanted: fn(&Returned) -> bool| -> Vec<Option<Level>> {
            way.answers
                .iter()
                .filter(|(returned, _)| wanted(returned))
                .map(|(_, outcome)| outcome.ok())
                .collect()
        };
        assert_eq!(
            of(|returned| matches!(returned, Returned::Listed(_))),
            seen,
            "{acr_values} on {platform:?}"
        );
        assert_eq!(
            of(|returned| *returned == Returned::Absent),
            [absent],
            "{acr_values} on {platform:?}"
        );
        assert_eq!(
            of(|returned| *returned == Returned::Other),
            [None],
            "an unlisted value is refused, not rounded"
        );
        assert_eq!(
            way.sessions.iter().map(|(_, seen)| *seen).collect::<Vec<_>>(),
            again,
            "{acr_values} on {platform:?}"
        );
    }
}

#[test]
fn a_file_that_sends_no_acr_values_and_ignores_the_returned_acr_is_explained_so() {
    let silent = Agreement { sends_acr_values: false, ..wide() };
    let said = words(Platform::Standard, "eidas1", &ON, &silent);
    assert!(said.contains("no acr_values, for its file says send = false"), "{said}");
    let ignoring = Agreement { ignores_acr: true, ..agreement(Eidas1, Eidas1, &[], Some(Eidas1)) };
    let said = words(Platform::Standard, "eidas1", &ON, &ignoring);
    assert!(
        said.contains("- any other acr is accepted: the service provider sees acr eidas1"),
        "{said}"
    );
}

#[test]
fn what_makes_it_fail_by_table() {
    let inactive = gate::Facts { service_provider: gate::ServiceProvider::Inactive, ..ON };
    let off = gate::Facts { connector: gate::Connector::Off, ..ON };
    let blocked = gate::Facts { pairing: gate::Pairing::Blocked, ..ON };
    let low = gate::Facts {
        connector: gate::Connector::On { lowest: Eidas1, highest: Eidas1, reauthenticates: true },
        ..ON
    };
    for (platform, acr_values, facts, said) in [
        (Platform::Standard, "eidas2", ON, "the request is refused with invalid_request (Y030503)"),
        (Platform::High, "eidas1", ON, "the request is refused with invalid_request (Y030504)"),
        (Platform::High, "", ON, "(Y030501)"),
        (Platform::High, "eidas1", inactive, "the service provider is not active"),
        (Platform::High, "eidas2", off, "the connector is switched off"),
        (Platform::High, "eidas2", blocked, "the connector is blocked for this service provider"),
        (Platform::High, "eidas2", low, "the level is higher than the connector's highest"),
    ] {
        let words = words(platform, acr_values, &facts, &wide());
        assert!(
            words.contains(said) && !words.contains("sees acr"),
            "{acr_values} on {platform:?}: {words}"
        );
    }
}

#[test]
fn an_essential_acr_of_claims_goes_before_acr_values() {
    let claims = Some(r#"{"id_token":{"acr":{"essential":true,"value":"eidas3"}}}"#);
    let verdict = judge(
        Platform::High,
        authorize::level_asked("eidas2", claims, Rules::Federation, Platform::High),
        &ON,
        &wide(),
    );
    let Verdict::Open(way) = verdict else { panic!("{verdict:?}") };
    assert_eq!((way.asked, way.sent), (Eidas3, Sent::AcrValues("high".into())));
    let broken = authorize::level_asked("eidas2", Some("{"), Rules::Federation, Platform::High);
    assert_eq!(
        judge(Platform::High, broken, &ON, &wide()),
        Verdict::Refused(ErrorCode::ClaimsMalformed)
    );
}

#[test]
fn an_answer_above_the_essential_values_is_explained_as_refused() {
    let claims = Some(r#"{"id_token":{"acr":{"essential":true,"values":["eidas2"]}}}"#);
    let asked = authorize::level_asked("eidas2", claims, Rules::Federation, Platform::High);
    let Verdict::Open(way) = judge(Platform::High, asked, &ON, &wide()) else { panic!() };
    let of = |value: &str| {
        way.answers
            .iter()
            .find(|(returned, _)| *returned == Returned::Listed(value.into()))
            .unwrap()
            .1
    };
    assert_eq!(
        (of("loa2"), of("high")),
        (Ok(Eidas2), Err(LevelFault::NotRequired { obtained: Eidas3 }))
    );
}

#[test]
fn a_connector_without_a_proof_of_time_is_explained_as_not_offered_where_one_is_demanded() {
    let unproven = gate::Connector::On { lowest: Eidas1, highest: Eidas3, reauthenticates: false };
    let line = "with prompt=login or max_age it is greyed";
    assert!(
        words(Platform::Standard, "eidas1", &gate::Facts { connector: unproven, ..ON }, &wide())
            .contains(line)
    );
    assert!(!words(Platform::Standard, "eidas1", &ON, &wide()).contains(line));
}
