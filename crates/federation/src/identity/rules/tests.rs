use super::*;
use crate::identity::pivot;
use crate::testing::samples::angela;
use passerelle_protocol::catalogue::ErrorCode;
use proptest::prelude::*;
use serde_json::json;

fn rules() -> IdentityRules {
    IdentityRules { home_country: "99100".into(), required: RequiredClaims::Pivot }
}

/// Angela's claims, with some replaced; `null` removes one.
fn claims(changes: &Value) -> Map<String, Value> {
    let mut claims = json!({
        "sub": "upstream", "given_name": "Angela Claire Louise", "given_name_array": ["Angela", "Claire", "Louise"],
        "family_name": "DUBOIS", "birthdate": "1962-08-24", "gender": "female", "birthplace": "75107",
        "birthcountry": "99100", "email": "angela@example.org",
    });
    let members = claims.as_object_mut().unwrap();
    members.extend(changes.as_object().unwrap().clone());
    members.clone()
}

fn check(changes: &Value) -> Result<Identity, IdentityError> {
    Identity::from_claims(&claims(changes), &rules())
}

#[test]
fn a_whole_identity_passes_unchanged() {
    assert_eq!(check(&json!({})), Ok(angela()));
}

#[test]
fn what_an_identity_may_be_by_table() {
    for good in [
        json!({"given_name": null, "given_name_array": null}),
        json!({"family_name": null}),
        json!({"birthdate": "1944-00-00"}),
        json!({"birthdate": "1944-06-00"}),
        json!({"birthdate": "2000-02-29"}),
        json!({"gender": "unspecified"}),
        json!({"birthplace": "2A004"}),
        json!({"birthplace": null, "birthcountry": "99134"}),
        json!({"birthplace": "", "birthcountry": "99134"}),
        json!({"family_name": "x".repeat(256)}),
        json!({"given_name_array": null, "given_name": "A ".repeat(128)}),
        json!({"family_name": "'t Hooft"}),
        json!({"family_name": "نجاد\u{200c}پور"}),
        json!({"email": null, "preferred_username": null}),
        json!({"email": ""}),
        json!({"preferred_username": "angie_62"}),
        json!({"shoe_size": 38, "address": {}}),
    ] {
        check(&good).unwrap_or_else(|error| panic!("{good}: {error}"));
    }
}

#[test]
fn what_an_identity_may_not_be_by_table() {
    for (bad, claim, rule) in [
        (
            json!({"given_name": null, "given_name_array": [], "family_name": ""}),
            Claim::FamilyName,
            IdentityRule::NameRequired,
        ),
        (json!({"birthdate": null}), Claim::Birthdate, IdentityRule::Required),
        (json!({"birthdate": ""}), Claim::Birthdate, IdentityRule::Required),
        (json!({"gender": null}), Claim::Gender, IdentityRule::Required),
        (json!({"birthcountry": null}), Claim::Birthcountry, IdentityRule::Required),
        (json!({"birthplace": null}), Claim::Birthplace, IdentityRule::RequiredAtHome),
        (json!({"birthplace": ""}), Claim::Birthplace, IdentityRule::RequiredAtHome),
        (json!({"given_name_array": null, "given_name": 1}), Claim::GivenName, IdentityRule::Text),
        (
            json!({"given_name": null, "given_name_array": 1}),
            Claim::GivenNameArray,
            IdentityRule::TextArray,
        ),
        (
            json!({"given_name": null, "given_name_array": ["Angela", 2]}),
            Claim::GivenNameArray,
            IdentityRule::TextArray,
        ),
        (
            json!({"given_name": 1, "given_name_array": ["Angela", ""]}),
            Claim::GivenNameArray,
            IdentityRule::Length,
        ),
        (
            json!({"given_name": null, "given_name_array": vec!["Angela"; 37]}),
            Claim::GivenNameArray,
            IdentityRule::Length,
        ),
        (
            json!({"given_name": null, "given_name_array": ([vec!["A"; 129], vec!["-"]].concat())}),
            Claim::GivenNameArray,
            IdentityRule::Length,
        ),
        (
            json!({"given_name_array": null, "given_name": "A ".repeat(129)}),
            Claim::GivenName,
            IdentityRule::Length,
        ),
        (
            json!({"given_name_array": null, "given_name": "   "}),
            Claim::GivenName,
            IdentityRule::Letter,
        ),
        (json!({"family_name": ["DUBOIS"]}), Claim::FamilyName, IdentityRule::Text),
        (json!({"family_name": "x".repeat(257)}), Claim::FamilyName, IdentityRule::Length),
        (
            json!({"family_name": "e\u{301}".repeat(100_000)}),
            Claim::FamilyName,
            IdentityRule::Length,
        ),
        (json!({"family_name": "-"}), Claim::FamilyName, IdentityRule::Letter),
        (json!({"family_name": "DU\nBOIS"}), Claim::FamilyName, IdentityRule::ControlCharacter),
        (json!({"family_name": "DUBOIS\u{0}"}), Claim::FamilyName, IdentityRule::ControlCharacter),
        (
            json!({"family_name": "\u{202e}SIOBUD"}),
            Claim::FamilyName,
            IdentityRule::ControlCharacter,
        ),
        (
            json!({"family_name": "DUBOIS\u{61c}"}),
            Claim::FamilyName,
            IdentityRule::ControlCharacter,
        ),
        (json!({"birthdate": 1962}), Claim::Birthdate, IdentityRule::Text),
        (json!({"birthdate": "1962-8-24"}), Claim::Birthdate, IdentityRule::Calendar),
        (json!({"birthdate": "24/08/1962"}), Claim::Birthdate, IdentityRule::Calendar),
        (json!({"birthdate": "1962-08-24 "}), Claim::Birthdate, IdentityRule::Calendar),
        (json!({"birthdate": "1962-08-24-01"}), Claim::Birthdate, IdentityRule::Calendar),
        (json!({"birthdate": "1962-02-29"}), Claim::Birthdate, IdentityRule::Calendar),
        (json!({"birthdate": "1900-02-29"}), Claim::Birthdate, IdentityRule::Calendar),
        (json!({"birthdate": "1962-13-00"}), Claim::Birthdate, IdentityRule::Calendar),
        (json!({"birthdate": "1962-00-24"}), Claim::Birthdate, IdentityRule::Calendar),
        (json!({"birthdate": "0000-00-00"}), Claim::Birthdate, IdentityRule::Calendar),
        (json!({"birthdate": "+962-08-24"}), Claim::Birthdate, IdentityRule::Calendar),
        (json!({"birthdate": "1962"}), Claim::Birthdate, IdentityRule::Calendar),
        (json!({"gender": "Female"}), Claim::Gender, IdentityRule::Gender),
        (json!({"birthplace": "2c004"}), Claim::Birthplace, IdentityRule::Geographic),
        (json!({"birthplace": "2C004"}), Claim::Birthplace, IdentityRule::Geographic),
        (json!({"birthplace": "7510"}), Claim::Birthplace, IdentityRule::Geographic),
        (json!({"birthplace": "é107"}), Claim::Birthplace, IdentityRule::Geographic),
        (json!({"birthcountry": "FR"}), Claim::Birthcountry, IdentityRule::Geographic),
        (json!({"birthcountry": 99100}), Claim::Birthcountry, IdentityRule::Text),
    ] {
        assert_eq!(check(&bad), Err(IdentityError { claim, rule }), "{bad}");
    }
}

/// The malformed claims that an identity of Angela leaves out, with their rules and types.
fn dropped(changes: &Value) -> (Identity, Vec<(Claim, IdentityRule, &'static str)>) {
    let (identity, dropped) = Identity::with_dropped_claims(&claims(changes), &rules()).unwrap();
    (identity, dropped.into_iter().map(|one| (one.claim, one.rule, one.found)).collect())
}

#[test]
fn a_malformed_claim_that_the_subject_does_not_need_is_left_out_and_named() {
    for (changes, claim, rule, found) in [
        (json!({"email": "none"}), Claim::Email, IdentityRule::Email, "a string"),
        (json!({"email": "angela@example.org "}), Claim::Email, IdentityRule::Email, "a string"),
        (json!({"email": "a@b@c"}), Claim::Email, IdentityRule::Email, "a string"),
        (json!({"email": "a b@c"}), Claim::Email, IdentityRule::Email, "a string"),
        (
            json!({"email": format!("{}@c", "a".repeat(253))}),
            Claim::Email,
            IdentityRule::Email,
            "a string",
        ),
        (json!({"email": "a\u{ffff}@example.org"}), Claim::Email, IdentityRule::Email, "a string"),
        (
            json!({"preferred_username": "a\u{ffff}"}),
            Claim::PreferredUsername,
            IdentityRule::ControlCharacter,
            "a string",
        ),
        (json!({"email": true}), Claim::Email, IdentityRule::Text, "a boolean"),
        (json!({"email": ["a@b", "c@d"]}), Claim::Email, IdentityRule::Text, "an array"),
        (
            json!({"preferred_username": {}}),
            Claim::PreferredUsername,
            IdentityRule::Text,
            "an object",
        ),
        (
            json!({"preferred_username": "x".repeat(257)}),
            Claim::PreferredUsername,
            IdentityRule::Length,
            "a string",
        ),
        (
            json!({"email_verified": "true"}),
            Claim::EmailVerified,
            IdentityRule::Boolean,
            "a string",
        ),
        (json!({"locale": {"lang": "fr"}}), Claim::Locale, IdentityRule::Text, "an object"),
        (json!({"address": "1 rue X"}), Claim::Address, IdentityRule::Address, "a string"),
        (json!({"updated_at": "169"}), Claim::UpdatedAt, IdentityRule::Seconds, "a string"),
        (json!({"phone_number": 33}), Claim::PhoneNumber, IdentityRule::Text, "a number"),
        (json!({"picture": "ada.png"}), Claim::Picture, IdentityRule::WebAddress, "a string"),
        (json!({"given_name": 1}), Claim::GivenName, IdentityRule::Text, "a number"),
        (
            json!({"given_name_array": ["Angela", 2]}),
            Claim::GivenNameArray,
            IdentityRule::TextArray,
            "an array",
        ),
        (
            json!({"birthcountry": "99134", "birthplace": "Madrid"}),
            Claim::Birthplace,
            IdentityRule::Geographic,
            "a string",
        ),
    ] {
        let (identity, dropped) = dropped(&changes);
        assert_eq!(dropped, [(claim, rule, found)], "{changes}");
        assert_eq!(identity.given_names, ["Angela", "Claire", "Louise"], "{changes}");
    }
    assert_eq!(dropped(&json!({"email": "", "locale": null, "name": ""})).1, []);
}

#[test]
fn a_flag_of_a_malformed_address_or_number_is_left_out_with_it() {
    for changes in [
        json!({"email": "none", "email_verified": true}),
        json!({"phone_number": 33, "phone_number_verified": true}),
    ] {
        assert!(dropped(&changes).0.standard.is_empty(), "{changes}");
    }
}

#[test]
fn a_finding_about_a_dropped_claim_names_the_type_and_the_repair_and_no_value() {
    let found = |changes: Value| {
        let (_, dropped) = Identity::with_dropped_claims(&claims(&changes), &rules()).unwrap();
        format!("{} {} {}", dropped[0].claim, dropped[0], dropped[0].fix())
    };
    let flag = found(json!({"email_verified": "true"}));
    assert!(flag.contains("a string") && flag.contains("map = { \"true\" = true"), "{flag}");
    let email = found(json!({"email": "secret value"}));
    assert!(email.contains("one @") && !email.contains("secret"), "{email}");
}

#[test]
fn names_are_composed_and_trimmed_on_entry() {
    let identity =
        check(&json!({"family_name": " LEFE\u{300}VRE ", "given_name_array": ["E\u{301}lise "]}))
            .unwrap();
    assert_eq!(identity.family_name.unwrap(), "LEFÈVRE");
    assert_eq!(identity.given_names, ["Élise"]);
    // 256 characters, counted as composed.
    assert!(check(&json!({"family_name": "e\u{301}".repeat(256)})).is_ok());
}

#[test]
fn the_case_of_a_place_code_makes_no_other_person() {
    let place = |code: &str| check(&json!({ "birthplace": code })).unwrap().birthplace;
    assert_eq!(place("2a004"), place("2A004"));
}

#[test]
fn the_array_of_given_names_wins_and_a_string_is_split() {
    let names = |changes| check(&changes).unwrap().given_names;
    assert_eq!(
        names(json!({"given_name": "Other", "given_name_array": ["Marie Claire", "Anne"]})),
        ["Marie Claire", "Anne"]
    );
    assert_eq!(
        names(json!({"given_name": " Marie  Claire ", "given_name_array": null})),
        ["Marie", "Claire"]
    );
    assert_eq!(
        names(json!({"given_name": "Marie-Claire", "given_name_array": []})),
        ["Marie-Claire"]
    );
    assert_eq!(names(json!({"given_name_array": "Marie Claire"})), ["Marie Claire"]);
    assert_eq!(names(json!({"given_name": "Marie", "given_name_array": ""})), ["Marie"]);
}

#[test]
fn with_provider_subjects_nothing_is_required_and_every_malformed_claim_is_left_out() {
    let rules = IdentityRules { required: RequiredClaims::SubjectOnly, ..rules() };
    let empty = Identity::from_claims(&Map::new(), &rules).unwrap();
    assert!(empty.given_names.is_empty() && empty.birthdate.is_none());
    for (claim, value) in [
        ("birthdate", json!("03/22/1990")),
        ("gender", json!(2)),
        ("family_name", json!(7)),
        ("given_name_array", json!({})),
        ("birthcountry", json!("FR")),
        ("birthplace", json!("Paris")),
        ("email", json!("none")),
    ] {
        let sent = Map::from_iter([(claim.to_owned(), value)]);
        let (identity, dropped) = Identity::with_dropped_claims(&sent, &rules).unwrap();
        assert_eq!(identity, empty, "{claim}");
        assert_eq!(dropped.iter().map(|one| one.claim.as_str()).collect::<Vec<_>>(), [claim]);
    }
}

#[test]
fn what_openid_connect_allows_is_accepted_from_an_ordinary_provider() {
    let ordinary = IdentityRules { required: RequiredClaims::SubjectOnly, ..rules() };
    let read = |claim: &str, value: &str, rules: &IdentityRules| {
        let sent = Map::from_iter([(claim.to_owned(), Value::from(value))]);
        let (identity, dropped) =
            Identity::with_dropped_claims(&sent, rules).map_err(|error| error.rule)?;
        let value = identity.birthdate.or(identity.gender);
        dropped.first().map_or(Ok(value), |dropped| Err(dropped.rule))
    };
    for (claim, value, expected) in [
        ("birthdate", "1980", Ok(Some("1980-00-00"))),
        ("birthdate", "1980-02-03", Ok(Some("1980-02-03"))),
        ("birthdate", "0000-02-29", Ok(None)),
        ("birthdate", "0000-02-30", Err(IdentityRule::Calendar)),
        ("birthdate", "198é", Err(IdentityRule::Calendar)),
        ("birthdate", "0000", Err(IdentityRule::Calendar)),
        ("gender", "female", Ok(Some("female"))),
        ("gender", "other", Ok(None)),
    ] {
        assert_eq!(
            read(claim, value, &ordinary),
            expected.map(|value| value.map(str::to_owned)),
            "{claim} {value}"
        );
    }
    assert_eq!(read("birthdate", "1980", &rules()), Err(IdentityRule::Calendar));
    assert_eq!(read("gender", "other", &rules()), Err(IdentityRule::Gender));
}

#[test]
fn an_error_has_its_code() {
    assert_eq!(check(&json!({"gender": null})).unwrap_err().code(), ErrorCode::IdentityIncomplete);
    assert_eq!(check(&json!({"gender": "F"})).unwrap_err().code(), ErrorCode::IdentityMalformed);
}

proptest! {
    #[test]
    fn an_error_never_contains_the_value(value in "[a-z]{20,40}") {
        for claim in ["birthdate", "gender", "birthplace", "birthcountry"] {
            let error = check(&json!({claim: value})).unwrap_err();
            prop_assert!(error.to_string().starts_with(claim));
            let printed = format!("{} {:?}", error, error);
            prop_assert!(!printed.contains(&value));
        }
    }

    #[test]
    fn any_claims_give_an_identity_or_an_error_and_every_identity_has_a_pivot(
        family in "\\PC{0,40}", given in proptest::collection::vec("\\PC{0,12}", 0..4),
        date in "[0-9]{4}-[01][0-9]-[0-3][0-9]", place in "[0-9AB]{5}",
    ) {
        if let Ok(identity) = check(&json!({"family_name": family, "given_name_array": given, "birthdate": date, "birthplace": place})) {
            prop_assert!(pivot::Pivot::from_identity(&identity, "99100").is_some());
            let again = json!({"family_name": identity.family_name, "given_name_array": identity.given_names});
            prop_assert_eq!(check(&again).unwrap().given_names, identity.given_names);
        }
    }
}
