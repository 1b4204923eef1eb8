//! Which claims of a user are asserted as verified, and how a request restricts them.

use std::sync::Arc;

use super::*;
use crate::UnavailableDisplay;
use crate::identity::scopes::ScopeTable;
use crate::testing::samples::{connector_profile, identified_user};
use crate::{ConnectorProfile, Levels};
use passerelle_protocol::acr::Level;

const CONFIRMED: Timestamp = Timestamp::from_seconds(1_800_000_000);
const DAY: u64 = 86_400;

fn rules() -> VerifiedClaimsRules {
    VerifiedClaimsRules {
        trust_framework: "eidas".into(),
        assurance_level: Some("low".into()),
        electronic_record: "population_register".into(),
        connectors: [("idp".into(), [Claim::FamilyName].into())].into(),
    }
}

/// A user with these claims, confirmed by the register or not.
fn user(confirmed_at: Option<Timestamp>) -> IdentifiedUser {
    let claims =
        json!({ "family_name": "DUBOIS", "gender": "female", "email": "angela@example.org" });
    let Value::Object(claims) = claims else { unreachable!() };
    IdentifiedUser { confirmed_at, claims, ..identified_user("idp", Level::Eidas1) }
}

/// A user of the listed connector, whose wallet presented this credential.
fn wallet_user(record: ElectronicRecord) -> IdentifiedUser {
    let mut user = user(None);
    user.authentication.electronic_records = vec![record];
    user
}

/// A PID that is 30 days and 12 hours old.
fn pid() -> ElectronicRecord {
    ElectronicRecord {
        record_type: "urn:eudi:pid:1".into(),
        verified_at: CONFIRMED,
        created_at: Some(CONFIRMED - Duration::from_secs(30 * DAY + DAY / 2)),
        expires_at: Some(CONFIRMED + Duration::from_secs(365 * DAY)),
        source_name: Some("Ministry of the Interior".into()),
        source_country: Some("FR".into()),
    }
}

/// Returns the verified claims of a user, ten seconds after the confirmation; `null` for none.
fn asserted(requests: Value, user: &IdentifiedUser) -> Value {
    let mut federation = Federation::new([], ScopeTable::default(), UnavailableDisplay::Disabled);
    federation.verified_claims = Some(Arc::new(rules()));
    let requests: Vec<VerifiedClaimsRequest> = serde_json::from_value(requests).unwrap();
    let permitted = ["family_name", "gender", "email"].map(ClaimName::from_name).into();
    let now = CONFIRMED + Duration::from_secs(10);
    federation.verified_claims(&requests, user, &permitted, now).into()
}

fn request(verification: Value, claims: Value) -> Value {
    json!([{ "verification": verification, "claims": claims }])
}

#[test]
fn only_what_was_requested_of_the_verification_is_asserted() {
    let evidence =
        json!([{ "type": "electronic_record", "record": { "type": "population_register" } }]);
    let time = "2027-01-15T08:00:00Z";
    for (verification, expected) in [
        (json!({}), json!({ "trust_framework": "eidas" })),
        (
            json!({ "trust_framework": null, "unknown": { "essential": true }, "<b>": null }),
            json!({ "trust_framework": "eidas" }),
        ),
        (
            json!({ "trust_framework": {}, "assurance_level": { "essential": true }, "time": null, "evidence": null }),
            json!({ "trust_framework": "eidas", "assurance_level": "low", "time": time, "evidence": evidence }),
        ),
        (
            json!({ "evidence": [{ "type": { "value": "document" } }, { "type": { "value": "electronic_record" } }] }),
            json!({ "trust_framework": "eidas", "evidence": [{ "type": "electronic_record" }] }),
        ),
    ] {
        let found =
            asserted(request(verification, json!({ "gender": null })), &user(Some(CONFIRMED)));
        assert_eq!(found, json!({ "verification": expected, "claims": { "gender": "female" } }));
    }
}

/// Attack: a service provider gets claims whose verification is weaker than it demands.
#[test]
fn an_unmet_constraint_omits_the_whole_element() {
    for (unmet, met) in [
        (
            json!({ "trust_framework": { "value": "de_aml" } }),
            json!({ "trust_framework": { "value": "eidas" } }),
        ),
        (
            json!({ "trust_framework": { "values": ["a"] } }),
            json!({ "trust_framework": { "values": ["a", "eidas"] } }),
        ),
        (
            json!({ "assurance_level": { "value": "high" } }),
            json!({ "assurance_level": { "value": "low" } }),
        ),
        (json!({ "time": { "max_age": 9 } }), json!({ "time": { "max_age": 10 } })),
        (json!({ "time": { "max_age": "10" } }), json!({ "time": { "essential": true } })),
        (
            json!({ "evidence": [{ "type": { "value": "document" } }] }),
            json!({ "evidence": [{ "type": { "value": "electronic_record" } }] }),
        ),
        (
            json!({ "evidence": [{ "type": null, "record": { "type": { "value": "bank_account" } } }] }),
            json!({ "evidence": [{ "record": { "type": null } }] }),
        ),
        (
            json!({ "evidence": [{ "record": { "value": { "type": "bank_account" } } }] }),
            json!({ "evidence": [{ "record": null }] }),
        ),
        (
            json!({ "evidence": [{ "type": null, "check_details": [{ "check_method": { "value": "kbv" } }] }] }),
            json!({ "evidence": [{ "type": null, "check_details": null }] }),
        ),
        (
            json!({ "verification_process": { "value": "1" } }),
            json!({ "verification_process": null }),
        ),
        (json!({ "trust_framework": "eidas" }), json!({ "trust_framework": null })),
    ] {
        let claims = json!({ "gender": null });
        let user = user(Some(CONFIRMED));
        assert_eq!(asserted(request(unmet.clone(), claims.clone()), &user), Value::Null, "{unmet}");
        assert!(asserted(request(met.clone(), claims), &user).is_object(), "{met}");
    }
}

/// Attack: a claim that only the user or an identity provider asserts counts as verified.
#[test]
fn a_self_asserted_claim_is_never_verified() {
    let claims = json!({ "family_name": null, "gender": null, "email": null });
    let asserted = |user: &IdentifiedUser| {
        asserted(request(json!({ "trust_framework": null }), claims.clone()), user)["claims"]
            .clone()
    };
    let by_register = json!({ "family_name": "DUBOIS", "gender": "female" });
    assert_eq!(asserted(&user(Some(CONFIRMED))), by_register);
    assert_eq!(asserted(&user(None)), json!({ "family_name": "DUBOIS" }), "as the operator lists");
    let unlisted =
        IdentifiedUser { claims: user(None).claims, ..identified_user("other", Level::Eidas1) };
    assert_eq!(asserted(&unlisted), Value::Null);
}

/// Attack: a login without the register asserts its evidence or its time.
#[test]
fn without_the_register_neither_evidence_nor_time_is_asserted() {
    let claims = json!({ "family_name": null });
    let all = json!({ "time": null, "evidence": null, "assurance_level": null });
    let found = asserted(request(all, claims.clone()), &user(None));
    let expected = json!({ "trust_framework": "eidas", "assurance_level": "low" });
    assert_eq!(found["verification"], expected);
    for demanded in [
        json!({ "time": { "max_age": 1_000_000 } }),
        json!({ "evidence": [{ "type": { "value": "electronic_record" } }] }),
    ] {
        assert_eq!(asserted(request(demanded, claims.clone()), &user(None)), Value::Null);
    }
}

#[test]
fn a_claim_that_is_unknown_or_has_another_value_is_left_out() {
    for (claims, expected) in [
        (
            json!({ "gender": { "value": "female" }, "unknown": { "essential": true }, "<b>": null }),
            json!({ "gender": "female" }),
        ),
        (
            json!({ "gender": { "value": "male" }, "family_name": {} }),
            json!({ "family_name": "DUBOIS" }),
        ),
        (json!({ "gender": { "essential": false } }), json!({ "gender": "female" })),
        // Core §5.5.1: members that are not understood are ignored, those that are understood not.
        (json!({ "gender": { "reason": "statistics" } }), json!({ "gender": "female" })),
        (json!({ "gender": { "reason": "statistics", "value": "male" } }), Value::Null),
        (json!({ "gender": { "values": ["male"] } }), Value::Null),
        (json!({ "birthdate": null }), Value::Null),
        (json!({}), Value::Null),
    ] {
        let found = asserted(
            request(json!({ "trust_framework": null }), claims.clone()),
            &user(Some(CONFIRMED)),
        );
        assert_eq!(found["claims"], expected, "{claims}");
    }
}

#[test]
fn each_of_several_requests_is_fulfilled_by_itself() {
    let one = |framework: &str, claim: &str| json!({ "verification": { "trust_framework": { "value": framework } }, "claims": { claim: null } });
    let user = user(Some(CONFIRMED));
    let both = asserted(json!([one("eidas", "gender"), one("eidas", "family_name")]), &user);
    assert_eq!(both.as_array().map(Vec::len), Some(2));
    let first = asserted(json!([one("eidas", "gender"), one("de_aml", "family_name")]), &user);
    assert_eq!(first["claims"], json!({ "gender": "female" }));
}

#[test]
fn a_credential_that_the_hub_verified_is_evidence() {
    let request = |verification: Value| request(verification, json!({ "family_name": null }));
    let check = json!({ "check_method": "vcrypt", "time": "2027-01-15T08:00:00Z" });
    let found = asserted(request(json!({ "time": null, "evidence": null })), &wallet_user(pid()));
    let expected = json!({
        "trust_framework": "eidas",
        "time": "2027-01-15T08:00:00Z",
        "evidence": [{
            "type": "electronic_record",
            "check_details": [check],
            "record": {
                "type": "urn:eudi:pid:1",
                "created_at": "2026-12-15T00:00:00Z",
                "date_of_expiry": "2028-01-15",
                "source": { "name": "Ministry of the Interior", "country_code": "FR" },
            },
        }],
    });
    assert_eq!(found["verification"], expected);
    assert_eq!(found["claims"], json!({ "family_name": "DUBOIS" }), "as the operator lists");
    // What the issuer does not say is left out.
    let least = ElectronicRecord {
        created_at: None,
        expires_at: None,
        source_name: None,
        source_country: None,
        ..pid()
    };
    let found = asserted(request(json!({ "evidence": null })), &wallet_user(least));
    let record = &found["verification"]["evidence"][0]["record"];
    assert_eq!(record, &json!({ "type": "urn:eudi:pid:1" }));
    // The schema requires the method of each check.
    let details = json!({ "evidence": [{ "check_details": [{ "time": null }] }] });
    let found = asserted(request(details), &wallet_user(pid()));
    assert_eq!(found["verification"]["evidence"][0]["check_details"], json!([check]));
}

/// Attack: a service provider gets claims of a credential that is weaker, other or older than it
/// demands: an old credential that was presented now, among others.
#[test]
fn a_credential_that_does_not_meet_a_constraint_omits_the_whole_element() {
    let evidence = |member: &str, wanted: Value| json!({ "evidence": [{ "type": { "value": "electronic_record" }, member: wanted }] });
    let check =
        |method: &str| evidence("check_details", json!([{ "check_method": { "value": method } }]));
    let record = |member: &str, wanted: Value| evidence("record", json!({ member: wanted }));
    for (unmet, met) in [
        (check("vri"), check("vcrypt")),
        (
            record("type", json!({ "value": "urn:eudi:mdl:1" })),
            record("type", json!({ "values": ["urn:eudi:mdl:1", "urn:eudi:pid:1"] })),
        ),
        (
            record("created_at", json!({ "max_age": 30 * DAY })),
            record("created_at", json!({ "max_age": 32 * DAY })),
        ),
        (
            record("source", json!({ "country_code": { "value": "DE" } })),
            record("source", json!({ "country_code": { "value": "FR" } })),
        ),
        (json!({ "time": { "max_age": 9 } }), json!({ "time": { "max_age": 10 } })),
        (
            evidence("check_details", json!([{ "time": { "max_age": 9 } }])),
            evidence("check_details", json!([{ "time": { "max_age": 10 } }])),
        ),
        // A text that is no time has no age.
        (record("type", json!({ "max_age": 1_000_000_000 })), record("type", Value::Null)),
    ] {
        let (claims, user) = (json!({ "family_name": null }), wallet_user(pid()));
        assert_eq!(asserted(request(unmet.clone(), claims.clone()), &user), Value::Null, "{unmet}");
        assert!(asserted(request(met.clone(), claims), &user).is_object(), "{met}");
    }
}

/// Attack: a wallet at a connector that the operator does not list makes its claims verified, or
/// other claims than the listed ones.
#[test]
fn a_wallet_that_the_operator_does_not_list_asserts_nothing() {
    let claims = json!({ "family_name": null, "gender": null, "email": null });
    let asserted = |user: &IdentifiedUser| {
        asserted(request(json!({ "evidence": null }), claims.clone()), user)["claims"].clone()
    };
    let mut user = wallet_user(pid());
    assert_eq!(asserted(&user), json!({ "family_name": "DUBOIS" }));
    user.authentication.connector = "other".into();
    assert_eq!(asserted(&user), Value::Null);
}

/// Attack: claims of the register get the evidence and the time of a wallet, which proved others.
#[test]
fn claims_of_the_register_do_not_get_the_evidence_of_a_wallet() {
    let user = IdentifiedUser {
        confirmed_at: Some(CONFIRMED - Duration::from_secs(60)),
        ..wallet_user(pid())
    };
    let all = json!({ "time": null, "evidence": null });
    let found = asserted(request(all, json!({ "gender": null })), &user);
    let evidence =
        json!([{ "type": "electronic_record", "record": { "type": "population_register" } }]);
    let expected =
        json!({ "trust_framework": "eidas", "time": "2027-01-15T07:59:00Z", "evidence": evidence });
    assert_eq!(found["verification"], expected);
}

/// Attack: two service providers find out that users with different `sub`s are one person, by the
/// second in which the issuer created the credential.
#[test]
fn credentials_of_one_day_have_the_same_evidence() {
    let created = |seconds| ElectronicRecord {
        created_at: Some(Timestamp::from_seconds(seconds)),
        expires_at: Some(Timestamp::from_seconds(seconds + 365 * DAY)),
        ..pid()
    };
    let first = 1_790_000_000 / DAY * DAY;
    assert_eq!(created(first).to_evidence(), created(first + DAY - 1).to_evidence());
    assert_ne!(created(first).to_evidence(), created(first + DAY).to_evidence());
}

#[test]
fn discovery_announces_the_records_of_listed_connectors() {
    let records = |connectors: [(&str, &[Claim]); 2], source: IdentitySource| {
        let (lowest, highest) = (Level::Eidas1, Level::Eidas3);
        let profiles =
            [("wallet", "urn:eudi:pid:1"), ("other", "urn:other:1")].map(|(id, record)| {
                let electronic_record_types = vec![record.to_owned()];
                let profile = connector_profile(Levels { lowest, highest });
                (id.into(), Arc::new(ConnectorProfile { electronic_record_types, ..profile }))
            });
        let mut federation =
            Federation::new([], ScopeTable::default(), UnavailableDisplay::Disabled)
                .with_connectors(profiles);
        federation.openid_scopes = ScopeTable::openid();
        let connectors =
            connectors.map(|(id, claims)| (id.into(), claims.iter().copied().collect()));
        federation.verified_claims =
            Some(Arc::new(VerifiedClaimsRules { connectors: connectors.into(), ..rules() }));
        federation.verified_claims_support(source).unwrap().electronic_record_types
    };
    let listed: &[Claim] = &[Claim::FamilyName];
    let wallet = records([("wallet", listed), ("other", &[])], IdentitySource::Provider);
    assert_eq!(wallet, ["urn:eudi:pid:1".to_owned()].into());
    let none = records([("bank", listed), ("other", &[])], IdentitySource::Provider);
    assert!(none.is_empty(), "{none:?}");
    let register = records([("wallet", &[]), ("other", &[])], IdentitySource::Register);
    assert_eq!(register, ["population_register".to_owned()].into());
}

#[test]
fn the_names_of_verified_claims_are_read_from_one_element_and_from_several() {
    let names = |value: Value| {
        let claims = [(VERIFIED_CLAIMS.to_owned(), value)].into_iter().collect();
        verified_claim_names(&claims).into_iter().collect::<Vec<_>>()
    };
    let element = |name: &str| json!({ "verification": { "trust_framework": "eidas" }, "claims": { name: "x" } });
    assert_eq!(names(element("gender")), ["gender"]);
    assert_eq!(names(json!([element("gender"), element("birthdate")])), ["birthdate", "gender"]);
    assert!(verified_claim_names(&Map::new()).is_empty());
}
