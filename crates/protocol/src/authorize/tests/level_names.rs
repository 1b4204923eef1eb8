//! Level names: which requested values count, what meets them, and the default values.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::*;
use super::{CALLBACK, ISSUER, STATE};
use crate::acr::LevelName;
use crate::registration::{ClientType, ConsentRequirement, IdpHintPolicy};

const MFA: &str = "eidas1-mfa";
const GOLD: &str = "urn:example:gold";

struct OneClient(Registration);

impl ClientDirectory for OneClient {
    fn registration(&self, client_id: &str) -> Option<&Registration> {
        Some(&self.0).filter(|registration| registration.client_id.as_str() == client_id)
    }
    fn is_known_scope(&self, _: &str, _: ProtocolRules) -> bool {
        true
    }
}

/// `eidas1-mfa` stands for multi-factor authentication, `urn:example:gold` for a level alone.
fn names(lowest: Level) -> AcrRegistration {
    let name = |name: &str, multi_factor| LevelName {
        name: name.into(),
        level: lowest,
        multi_factor,
        mail: false,
    };
    AcrRegistration {
        level_names: vec![name(MFA, true), name(GOLD, false)],
        default_values: vec![],
    }
}

fn request(
    acr: AcrRegistration,
    platform: Platform,
    acr_values: &str,
    claims: &str,
) -> Result<AuthorizationRequest, AuthorizationError> {
    let registration = Registration {
        client_id: "sp".into(),
        client_type: ClientType::Confidential,
        active: true,
        redirect_uris: vec![CALLBACK.into()],
        post_logout_redirect_uris: vec![],
        granted_scopes: vec!["openid".into()],
        require_pkce: false,
        hints: IdpHintPolicy::default(),
        acr,
        protection: Default::default(),
        home_page: "https://sp.example/".into(),
        consent: ConsentRequirement::Information,
        rules: ProtocolRules::Federation,
        require_auth_time: true,
    };
    let pairs = [
        ("response_type", "code"),
        ("client_id", "sp"),
        ("redirect_uri", CALLBACK),
        ("acr_values", acr_values),
        ("claims", claims),
        ("scope", "openid"),
        ("state", STATE),
        ("nonce", "nonce-nonce-nonce-nonce"),
    ];
    let params = Params::new(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    validate_request(&params, RequestMethod::Get, platform, ISSUER, &OneClient(registration))
}

fn essential(values: &str) -> String {
    format!(r#"{{"id_token":{{"acr":{{"essential":true,"values":[{values}]}}}}}}"#)
}

static NO_NAMES: BTreeSet<Arc<str>> = BTreeSet::new();

fn proof(level: Level, multi_factor: bool) -> AchievedAcr<'static> {
    AchievedAcr { level, multi_factor, mail: false, names: &NO_NAMES }
}

#[test]
fn the_first_requested_value_that_is_met_is_answered() {
    use Level::{Eidas1, Eidas2, Eidas3};
    let (standard, high) = (Platform::Standard, Platform::High);
    for (platform, acr_values, achieved, answer) in [
        (standard, "eidas1-mfa eidas1", (Eidas1, true), Some(MFA)),
        (standard, "eidas1-mfa eidas1", (Eidas1, false), None),
        (standard, "eidas1-mfa", (Eidas1, false), None),
        (standard, "eidas1 eidas1-mfa", (Eidas1, true), None),
        (standard, "urn:example:gold eidas1-mfa", (Eidas1, true), Some(GOLD)),
        (standard, "unlisted eidas1-mfa", (Eidas2, true), Some(MFA)),
        (standard, "eidas1", (Eidas1, true), None),
        (high, "eidas1-mfa eidas2", (Eidas2, true), Some(MFA)),
        (high, "eidas3 eidas1-mfa", (Eidas2, true), Some(MFA)),
        (high, "eidas3 eidas1-mfa", (Eidas3, true), None),
    ] {
        let names = names(platform.levels()[0]);
        let request = request(names, platform, acr_values, "").unwrap();
        let proof = proof(achieved.0, achieved.1);
        let found = request.acr_answer(&proof);
        assert_eq!(found.as_deref(), answer, "{acr_values} {achieved:?}");
        assert!(request.accepts_acr(&proof), "{acr_values}: a voluntary value fails no login");
    }
}

// OpenID Connect Core 1.0 §5.5.1.1
#[test]
fn an_essential_acr_is_answered_with_one_of_its_values_or_not_at_all() {
    use Level::{Eidas1, Eidas2, Eidas3};
    let (standard, high) = (Platform::Standard, Platform::High);
    for (platform, values, achieved, accepted) in [
        (standard, r#""eidas1-mfa""#, (Eidas1, false), false),
        (standard, r#""eidas1-mfa""#, (Eidas1, true), true),
        (standard, r#""eidas1-mfa","eidas1""#, (Eidas1, false), true),
        (standard, r#""eidas1-mfa","eidas1""#, (Eidas2, false), true),
        (high, r#""eidas2""#, (Eidas3, true), false),
        (high, r#""eidas2","eidas1-mfa""#, (Eidas3, true), true),
        (high, r#""eidas2","eidas1-mfa""#, (Eidas3, false), false),
    ] {
        let names = names(platform.levels()[0]);
        let request = request(names, platform, "eidas1 eidas2", &essential(values)).unwrap();
        let proof = proof(achieved.0, achieved.1);
        assert_eq!(request.accepts_acr(&proof), accepted, "{values} {achieved:?}");
        let listed: BTreeSet<&str> =
            values.split(',').map(|value| value.trim_matches('"')).collect();
        if let Some(answer) = request.acr_answer(&proof) {
            assert!(listed.contains(&*answer), "{answer} is outside of {values}");
        }
    }
}

#[test]
fn names_that_can_not_be_answered_are_not_requested_upstream() {
    let (standard, high) = (Platform::Standard, Platform::High);
    for (platform, acr_values, claims, expected) in [
        (standard, "eidas1-mfa eidas1 urn:example:gold", String::new(), &[MFA][..]),
        (standard, "eidas1 eidas1-mfa", String::new(), &[]),
        (high, "eidas3 eidas1-mfa eidas2", String::new(), &[MFA]),
        (high, "eidas3 eidas1-mfa", String::new(), &[MFA]),
        (high, "eidas2", essential(r#""eidas2","eidas1-mfa""#), &[MFA]),
    ] {
        let names = names(platform.levels()[0]);
        let request = request(names, platform, acr_values, &claims).unwrap();
        let requested: Vec<&str> = request.level_names().map(|name| &**name).collect();
        assert_eq!(requested, expected, "{acr_values} {claims}");
    }
}

#[test]
fn a_name_that_the_identity_provider_returned_is_met_without_methods() {
    let request = request(names(Level::Eidas1), Platform::Standard, MFA, "").unwrap();
    let named: BTreeSet<Arc<str>> = [Arc::from(MFA)].into();
    let proof =
        AchievedAcr { level: Level::Eidas1, multi_factor: false, mail: false, names: &named };
    assert_eq!(request.acr_answer(&proof).as_deref(), Some(MFA));
}

// R003, R010
#[test]
fn a_level_name_is_unknown_to_service_providers_that_do_not_list_it() {
    let none = AcrRegistration::default();
    let refused = request(none.clone(), Platform::Standard, MFA, "").unwrap_err();
    assert!(matches!(refused, AuthorizationError::Redirect(_, ErrorCode::AcrValuesStandard)));
    let both = request(none, Platform::Standard, "eidas1-mfa eidas1", "").unwrap();
    assert!(both.acr_values.is_empty());
    assert_eq!(both.acr_answer(&proof(Level::Eidas1, true)), None);
}

#[test]
fn the_default_values_apply_to_requests_without_any() {
    let with_default = |values: &[&str]| AcrRegistration {
        default_values: values.iter().map(|value| (*value).to_owned()).collect(),
        ..names(Level::Eidas2)
    };
    let level = |values: &[&str], acr_values: &str, claims: &str| {
        request(with_default(values), Platform::High, acr_values, claims)
            .map(|request| request.level)
    };
    assert_eq!(level(&["eidas3"], "", "").unwrap(), Level::Eidas3);
    assert_eq!(level(&["eidas3"], "eidas2", "").unwrap(), Level::Eidas2);
    let claim = r#"{"id_token":{"acr":{"value":"eidas2"}}}"#;
    assert_eq!(level(&["eidas3"], "", claim).unwrap(), Level::Eidas2);
    let missing = level(&[], "", "").unwrap_err();
    assert!(matches!(
        missing,
        AuthorizationError::Page(ErrorCode::Missing(RequiredParam::AcrValues))
    ));
}
