use std::collections::BTreeMap;

use super::Level::{Eidas1, Eidas2, Eidas3};
use super::*;
use passerelle_federation::Levels;
use passerelle_protocol::acr::{AcrRegistration, LevelName};
use passerelle_protocol::registration::ProtocolRules;

const WIDE: PermittedConnector = PermittedConnector {
    levels: Levels { lowest: Eidas1, highest: Eidas3 },
    reauthenticates: true,
};
const ON: Result<PermittedConnector, UnavailableReason> = Ok(WIDE);

fn acr_policy(
    lowest: Level,
    highest: Level,
    table: &[(Level, &[&str])],
    assumed: Option<Level>,
) -> AcrPolicy {
    let values = table
        .iter()
        .map(|(level, values)| (*level, values.iter().map(ToString::to_string).collect()))
        .collect();
    AcrPolicy {
        lowest,
        highest,
        values,
        names: BTreeMap::new(),
        assumed,
        sends_acr_values: true,
        ignores_acr: false,
    }
}

fn wide() -> AcrPolicy {
    acr_policy(
        Eidas1,
        Eidas3,
        &[(Eidas1, &["low"]), (Eidas2, &["loa2", "substantial"]), (Eidas3, &["high"])],
        None,
    )
}

fn explain_levels(
    platform: Platform,
    acr_values: &str,
    permitted: Result<PermittedConnector, UnavailableReason>,
    policy: &AcrPolicy,
) -> String {
    let decision = evaluate_levels(
        platform,
        authorize::evaluate_requested_acr(
            acr_values,
            None,
            ProtocolRules::Federation,
            &AcrRegistration::default(),
            platform,
        ),
        permitted,
        policy,
    );
    explanation(platform, acr_values, decision)
}

fn explanation(platform: Platform, acr_values: &str, decision: LevelDecision) -> String {
    let explanation = Explanation {
        platform,
        service_provider: "bakery".into(),
        connector: "amandier".into(),
        acr_values: acr_values.into(),
        decision,
    };
    explanation.to_string()
}

// R010: the standard platform returns eidas1 whatever was achieved.
#[test]
fn on_standard_in_words() {
    assert_eq!(
        explain_levels(Platform::Standard, "eidas1", ON, &wide()),
        "bakery requests acr_values \"eidas1\" on the standard platform through amandier:
- requested: eidas1, the lowest level that the request accepts
- sent to the identity provider: acr_values=low
- acr \"low\" in the response is accepted: the service provider sees acr eidas1
- acr \"loa2\" in the response is accepted: the service provider sees acr eidas1
- acr \"substantial\" in the response is accepted: the service provider sees acr eidas1
- acr \"high\" in the response is accepted: the service provider sees acr eidas1
- a response without acr is rejected (Y100003): the connector's file has no assumed_level
- any other acr is rejected (Y100001): the connector's file does not list it within its levels
- after a rejection the user returns to the choice page, which shows the reason; levels are never rounded
- a session with eidas1 from this connector is reused unless prompt has login: the service provider sees acr eidas1
- a session with eidas2 from this connector is reused unless prompt has login: the service provider sees acr eidas1
- a session with eidas3 from this connector is reused unless prompt has login: the service provider sees acr eidas1
"
    );
}

// R038: the high platform returns the level achieved. A session with eidas3 is never reused.
#[test]
fn on_high_in_words() {
    assert_eq!(
        explain_levels(Platform::High, "eidas3", ON, &wide()),
        "bakery requests acr_values \"eidas3\" on the high platform through amandier:
- requested: eidas3, the lowest level that the request accepts
- sent to the identity provider: acr_values=high
- acr \"low\" in the response is rejected (Y100002): it means eidas1, but eidas3 is required
- acr \"loa2\" in the response is rejected (Y100002): it means eidas2, but eidas3 is required
- acr \"substantial\" in the response is rejected (Y100002): it means eidas2, but eidas3 is required
- acr \"high\" in the response is accepted: the service provider sees acr eidas3
- a response without acr is rejected (Y100003): the connector's file has no assumed_level
- any other acr is rejected (Y100001): the connector's file does not list it within its levels
- after a rejection the user returns to the choice page, which shows the reason; levels are never rounded
- a session with eidas1 from this connector is not reused: the user authenticates again
- a session with eidas2 from this connector is not reused: the user authenticates again
- a session with eidas3 from this connector is not reused: the user authenticates again
"
    );
}

/// Platform, `acr_values`, policy: the level required, what is sent, the `acr` seen for each listed
/// value, for none, and for a session of each level within the range.
#[test]
fn levels_of_each_step_by_table() {
    let strong = acr_policy(Eidas2, Eidas3, &[(Eidas2, &["s"]), (Eidas3, &["h"])], None);
    let silent = acr_policy(Eidas1, Eidas1, &[], Some(Eidas1));
    type Row<'a> = (
        Platform,
        &'a str,
        AcrPolicy,
        Level,
        SentLevel,
        Vec<Option<Level>>,
        Option<Level>,
        Vec<Option<Level>>,
    );
    let sent = |value: &str| SentLevel::AcrValues(value.to_owned());
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
            SentLevel::Nothing,
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
    for (platform, acr_values, policy, needed, sent, seen, absent, again) in rows {
        let levels = Levels { lowest: policy.lowest, highest: policy.highest };
        let permitted = Ok(PermittedConnector { levels, ..WIDE });
        let asked = authorize::evaluate_requested_acr(
            acr_values,
            None,
            ProtocolRules::Federation,
            &AcrRegistration::default(),
            platform,
        );
        let LevelDecision::Allowed(flow) = evaluate_levels(platform, asked, permitted, &policy)
        else {
            panic!("{acr_values} on {platform:?}")
        };
        assert_eq!((flow.required, flow.sent), (needed, sent), "{acr_values} on {platform:?}");
        let outcomes = |is_counted: fn(&ReturnedAcr) -> bool| -> Vec<Option<Level>> {
            flow.answers
                .iter()
                .filter(|(returned, _)| is_counted(returned))
                .map(|(_, outcome)| outcome.ok())
                .collect()
        };
        assert_eq!(
            outcomes(|returned| matches!(returned, ReturnedAcr::Listed(_))),
            seen,
            "{acr_values} on {platform:?}"
        );
        assert_eq!(
            outcomes(|returned| *returned == ReturnedAcr::Absent),
            [absent],
            "{acr_values} on {platform:?}"
        );
        assert_eq!(
            outcomes(|returned| *returned == ReturnedAcr::Other),
            [None],
            "an unlisted value is rejected, not rounded"
        );
        assert_eq!(
            flow.sessions.iter().map(|(_, seen)| *seen).collect::<Vec<_>>(),
            again,
            "{acr_values} on {platform:?}"
        );
    }
}

#[test]
fn a_file_without_acr_values_and_with_ignored_acr_is_explained() {
    let silent = AcrPolicy { sends_acr_values: false, ..wide() };
    let said = explain_levels(Platform::Standard, "eidas1", ON, &silent);
    assert!(said.contains("no acr_values, because its file has send = false"), "{said}");
    let ignoring = AcrPolicy { ignores_acr: true, ..acr_policy(Eidas1, Eidas1, &[], Some(Eidas1)) };
    let said = explain_levels(Platform::Standard, "eidas1", ON, &ignoring);
    assert!(
        said.contains("- any other acr is accepted: the service provider sees acr eidas1"),
        "{said}"
    );
}

#[test]
fn reasons_for_rejection_by_table() {
    let inactive = Err(UnavailableReason::ServiceProviderInactive);
    let disabled = Err(UnavailableReason::ConnectorDisabled);
    let excluded = Err(UnavailableReason::ExcludedByServiceProvider);
    let levels = Levels { lowest: Eidas1, highest: Eidas1 };
    let low = Ok(PermittedConnector { levels, ..WIDE });
    for (platform, acr_values, permitted, said) in [
        (
            Platform::Standard,
            "eidas2",
            ON,
            "the request is rejected with invalid_request (Y030503)",
        ),
        (Platform::High, "eidas1", ON, "the request is rejected with invalid_request (Y030504)"),
        (Platform::High, "", ON, "(Y030501)"),
        (Platform::High, "eidas1", inactive, "the service provider is not active"),
        (Platform::High, "eidas2", disabled, "the connector is disabled"),
        (Platform::High, "eidas2", excluded, "the service provider's file excludes the connector"),
        (Platform::High, "eidas2", low, "the level is higher than the connector's highest"),
    ] {
        let words = explain_levels(platform, acr_values, permitted, &wide());
        assert!(
            words.contains(said) && !words.contains("sees acr"),
            "{acr_values} on {platform:?}: {words}"
        );
    }
}

#[test]
fn an_essential_acr_claim_overrides_acr_values() {
    let claims = Some(r#"{"id_token":{"acr":{"essential":true,"value":"eidas3"}}}"#);
    let decision = evaluate_levels(
        Platform::High,
        authorize::evaluate_requested_acr(
            "eidas2",
            claims,
            ProtocolRules::Federation,
            &AcrRegistration::default(),
            Platform::High,
        ),
        ON,
        &wide(),
    );
    let LevelDecision::Allowed(flow) = decision else { panic!("{decision:?}") };
    assert_eq!((flow.requested, flow.sent), (Eidas3, SentLevel::AcrValues("high".into())));
    let broken = authorize::evaluate_requested_acr(
        "eidas2",
        Some("{"),
        ProtocolRules::Federation,
        &AcrRegistration::default(),
        Platform::High,
    );
    assert_eq!(
        evaluate_levels(Platform::High, broken, ON, &wide()),
        LevelDecision::Rejected(ErrorCode::ClaimsMalformed)
    );
}

#[test]
fn a_level_above_the_essential_values_is_explained_as_rejected() {
    let claims = Some(r#"{"id_token":{"acr":{"essential":true,"values":["eidas2"]}}}"#);
    let asked = authorize::evaluate_requested_acr(
        "eidas2",
        claims,
        ProtocolRules::Federation,
        &AcrRegistration::default(),
        Platform::High,
    );
    let LevelDecision::Allowed(flow) = evaluate_levels(Platform::High, asked, ON, &wide()) else {
        panic!()
    };
    let outcome_for = |value: &str| {
        flow.answers
            .iter()
            .find(|(returned, _)| *returned == ReturnedAcr::Listed(value.into()))
            .unwrap()
            .1
    };
    assert_eq!(
        (outcome_for("loa2"), outcome_for("high")),
        (Ok(Eidas2), Err(LevelError::NotRequired { achieved: Eidas3 }))
    );
}

#[test]
fn a_connector_without_auth_time_is_explained_as_disabled_for_reauthentication() {
    let unproven = Ok(PermittedConnector { reauthenticates: false, ..WIDE });
    let line = "with prompt=login or max_age it is disabled";
    assert!(explain_levels(Platform::Standard, "eidas1", unproven, &wide()).contains(line));
    assert!(!explain_levels(Platform::Standard, "eidas1", ON, &wide()).contains(line));
}

#[test]
fn level_names_are_explained_with_what_meets_them() {
    let name = |name: &str, multi_factor| LevelName {
        name: name.into(),
        level: Eidas1,
        multi_factor,
        mail: false,
    };
    let registration = AcrRegistration {
        level_names: vec![name("mfa", true), name("urn:gold", false)],
        ..AcrRegistration::default()
    };
    let names = BTreeMap::from([("mfa".to_owned(), vec!["loa2".to_owned()])]);
    let policy = AcrPolicy { names, ..wide() };
    let said = |acr_values: &str, claims| {
        let platform = Platform::Standard;
        let rules = ProtocolRules::Federation;
        let asked =
            authorize::evaluate_requested_acr(acr_values, claims, rules, &registration, platform);
        explanation(platform, acr_values, evaluate_levels(platform, asked, ON, &policy))
    };
    let voluntary = said("mfa urn:gold eidas1", None);
    for line in [
        "- sent to the identity provider: acr_values=loa2 low\n",
        "- mfa is met by eidas1 or higher with methods of two categories, or with acr \"loa2\" in the response: acr mfa is answered\n",
        "- urn:gold is met by eidas1 or higher: acr urn:gold is answered\n",
        "- eidas1 is met by that level or a higher one: the level is answered\n",
        "- if none of them is met, the level is answered\n",
        "- acr \"low\" in the response is accepted: the level is eidas1\n",
        "is reused unless prompt has login, if it meets a requested value: the level is eidas1\n",
    ] {
        assert!(voluntary.contains(line), "{line} in {voluntary}");
    }
    let essential =
        said("eidas1", Some(r#"{"id_token":{"acr":{"essential":true,"values":["mfa"]}}}"#));
    assert!(essential.contains("returns to the choice page: the acr claim is essential"));
    assert!(!essential.contains("- eidas1 is met"), "{essential}");
}
