use proptest::prelude::*;
use serde_json::json;

use super::*;

fn path(text: &str) -> ClaimPath {
    ClaimPath::parse(text).unwrap()
}

fn from(text: &str, form: Transform) -> MappingRule {
    MappingRule { source: MappingSource::From(path(text)), transform: form }
}

fn join(parts: &[&str], with: &str) -> MappingRule {
    MappingRule {
        source: MappingSource::Join {
            parts: parts.iter().map(|part| path(part)).collect(),
            with: with.to_owned(),
        },
        transform: Transform::Unchanged,
    }
}

fn table(rows: &[(&str, Value)], otherwise: Option<Value>) -> Transform {
    Transform::Table {
        rows: rows.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect(),
        otherwise,
    }
}

fn separated(separator: &str, part: Option<usize>) -> Transform {
    Transform::Split { separator: separator.to_owned(), part }
}

fn mapped(claim: Claim, rule: MappingRule, claims: &Value) -> Result<Option<Value>, MappingError> {
    let mapping = Mapping { rules: [(claim.into(), rule)].into(), unmapped: UnmappedClaims::Drop };
    let (mut mapped, lost) = mapping.apply(claims.as_object().unwrap().clone());
    let value = mapped.remove(claim.as_str());
    assert!(mapped.is_empty());
    match lost.as_slice() {
        [] => Ok(value),
        [lost] => {
            assert_eq!((&lost.claim, value), (&claim.into(), None));
            Err(lost.error)
        }
        many => panic!("{many:?}"),
    }
}

/// A service would get two names for one person.
#[test]
fn a_name_of_the_identity_provider_that_contradicts_the_mapped_names_is_removed() {
    let legal = || from("legal_name", Transform::Unchanged);
    let rules = |claims: &[Claim]| Mapping {
        rules: claims.iter().map(|claim| ((*claim).into(), legal())).collect(),
        unmapped: UnmappedClaims::Pass,
    };
    for (mapping, legal_name, name, is_kept) in [
        (rules(&[Claim::GivenName]), json!("Augusta Ada"), "Countess Ada", false),
        (rules(&[Claim::GivenName]), json!("Augusta Ada"), "ADA AUGUSTA KING", true),
        (rules(&[Claim::GivenNameArray]), json!(["Augusta", "Ada"]), "Ada King", false),
        (rules(&[Claim::GivenNameArray]), json!(["Augusta", "Ada"]), "King, Augusta Ada", true),
        (rules(&[Claim::FamilyName]), json!("King-Noël"), "Ada Lovelace", false),
        (rules(&[Claim::FamilyName]), json!("King-Noël"), "Ada King Noel", true),
        (rules(&[Claim::FamilyName]), json!("山田"), "山田太郎", true),
        (rules(&[Claim::FamilyName, Claim::Name]), json!("King"), "Ada Lovelace", false),
        // The names are the identity provider's own, or a rule built none.
        (rules(&[Claim::Nickname]), json!("King"), "Ada Lovelace", true),
        (rules(&[Claim::FamilyName]), json!(7), "Ada Lovelace", true),
        (rules(&[Claim::FamilyName]), Value::Null, "Ada Lovelace", true),
    ] {
        let sent = json!({ "legal_name": legal_name, "name": name });
        let (claims, _) = mapping.apply(sent.as_object().unwrap().clone());
        assert_eq!(claims.get("name") == Some(&json!(name)), is_kept, "{sent}: {claims:?}");
    }
}

/// The number of values that a person's directory entry has decides nothing but their number.
#[test]
fn one_value_of_a_list_is_mapped_like_several() {
    let groups = |written: &Value, form: Transform| {
        mapped(Claim::GivenNameArray, from("groups", form), &json!({ "groups": written }))
    };
    let roles = || table(&[("cn=admins", json!("admin")), ("cn=root", json!("admin"))], None);
    for (one, several, form, of_one, of_several) in [
        ("A", json!(["A", "B"]), Transform::Unchanged, json!(["A"]), json!(["A", "B"])),
        ("a", json!(["a", "b", "a"]), Transform::Upper, json!(["A"]), json!(["A", "B", "A"])),
        ("A", json!(["A", "B"]), Transform::Lower, json!(["a"]), json!(["a", "b"])),
        (
            "cn=admins",
            json!(["cn=staff", "cn=admins", "cn=root"]),
            roles(),
            json!(["admin"]),
            json!(["admin"]),
        ),
    ] {
        assert_eq!(groups(&json!(one), form.clone()), Ok(Some(of_one.clone())), "{one}");
        assert_eq!(groups(&json!([one]), form.clone()), Ok(Some(of_one)), "[{one}]");
        assert_eq!(groups(&several, form), Ok(Some(of_several)), "{several}");
    }
    assert_eq!(groups(&json!("cn=staff"), roles()), Err(MappingError::Row));
    assert_eq!(groups(&json!(["cn=staff", "cn=all"]), roles()), Ok(None));
    let other = table(&[("cn=admins", json!("admin"))], Some(json!("user")));
    assert_eq!(groups(&json!(["x", "y", "cn=admins"]), other), Ok(Some(json!(["user", "admin"]))));
    assert_eq!(groups(&json!(["x", { "y": 1 }]), Transform::Upper), Err(MappingError::Type));
    assert_eq!(groups(&json!(vec!["a"; MAX_ITEMS + 1]), Transform::Upper), Err(MappingError::Size));
    let first = |written: Value| {
        mapped(
            Claim::GivenName,
            from("/groups/0", Transform::Unchanged),
            &json!({ "groups": written }),
        )
    };
    assert_eq!(first(json!("A")), first(json!(["A", "B"])));
}

#[test]
fn rules_by_table() {
    use Claim::*;
    let claims = json!({
        "first": "Angela", "middle": "Claire", "last": "Dubois", "none": null, "empty": "", "all": "Angela, Claire,, Louise ",
        "list": ["Angela", "Claire"], "mixed": ["Angela", 1], "deep": { "a": [{ "b": "x" }] }, "y": 1962, "m": 8, "d": "24",
        "dob": "24/08/1962", "compact": 19_620_824, "sex": 2, "ok": "true", "flag": true, "half": 1.5, "full": "DUBOIS, Angela",
        "long": "x".repeat(MAX_VALUE_BYTES + 1), "names": "a ".repeat(MAX_ITEMS + 1), "many": vec!["a"; MAX_ITEMS + 1],
        "wide": vec!["a"; 10_000], "address": { "country": "FR" },
    });
    let date = |pattern| Transform::Date(DatePattern::parse(pattern).unwrap());
    let sexes = || table(&[("1", json!("male")), ("2", json!("female"))], None);
    for (claim, rule, made) in [
        (GivenName, from("first", Transform::Unchanged), Ok(Some(json!("Angela")))),
        (GivenName, from("/deep/a/0/b", Transform::Unchanged), Ok(Some(json!("x")))),
        (GivenName, from("deep.a", Transform::Unchanged), Ok(None)),
        (GivenName, from("empty", Transform::Unchanged), Ok(None)),
        (GivenName, from("list", Transform::Unchanged), Err(MappingError::Type)),
        (GivenName, from("y", Transform::Unchanged), Err(MappingError::Type)),
        (GivenName, from("long", Transform::Unchanged), Err(MappingError::Size)),
        (GivenName, from("long", Transform::Upper), Err(MappingError::Size)),
        (GivenName, from("long", separated(" ", None)), Err(MappingError::Size)),
        (FamilyName, from("last", Transform::Upper), Ok(Some(json!("DUBOIS")))),
        (Email, from("last", Transform::Lower), Ok(Some(json!("dubois")))),
        (Email, from("y", Transform::Lower), Err(MappingError::Type)),
        (GivenNameArray, from("list", Transform::Unchanged), Ok(Some(json!(["Angela", "Claire"])))),
        (GivenNameArray, from("mixed", Transform::Unchanged), Err(MappingError::Type)),
        (GivenNameArray, from("first", Transform::Unchanged), Ok(Some(json!(["Angela"])))),
        (GivenNameArray, from("y", Transform::Unchanged), Err(MappingError::Type)),
        (GivenNameArray, from("many", Transform::Unchanged), Err(MappingError::Size)),
        (GivenNameArray, from("wide", Transform::Unchanged), Err(MappingError::Size)),
        (Address, from("address", Transform::Unchanged), Ok(Some(json!({ "country": "FR" })))),
        (UpdatedAt, from("y", Transform::Unchanged), Ok(Some(json!(1962)))),
        (EmailVerified, from("flag", Transform::Unchanged), Ok(Some(json!(true)))),
        (EmailVerified, from("ok", Transform::Unchanged), Err(MappingError::Type)),
        (
            EmailVerified,
            from("ok", table(&[("true", json!(true))], Some(json!(false)))),
            Ok(Some(json!(true))),
        ),
        (
            EmailVerified,
            from("last", table(&[("true", json!(true))], Some(json!(false)))),
            Ok(Some(json!(false))),
        ),
        (
            EmailVerified,
            from("none", table(&[("true", json!(true))], Some(json!(false)))),
            Ok(None),
        ),
        (
            GivenName,
            join(&["first", "none", "empty", "absent", "middle"], " "),
            Ok(Some(json!("Angela Claire"))),
        ),
        (GivenName, join(&["list", "last"], "-"), Ok(Some(json!("Angela-Claire-Dubois")))),
        (GivenName, join(&["none"], " "), Ok(None)),
        (GivenName, join(&["first", "flag"], " "), Err(MappingError::Type)),
        (GivenName, join(&["first", "half"], " "), Err(MappingError::Type)),
        (GivenName, join(&["first", "deep"], " "), Err(MappingError::Type)),
        (GivenName, join(&["wide"], " "), Err(MappingError::Size)),
        (
            GivenNameArray,
            from("all", separated(",", None)),
            Ok(Some(json!(["Angela", "Claire", "Louise"]))),
        ),
        (GivenNameArray, from("names", separated(" ", None)), Err(MappingError::Size)),
        (FamilyName, from("full", separated(",", Some(0))), Ok(Some(json!("DUBOIS")))),
        (FamilyName, from("full", separated(",", Some(2))), Ok(None)),
        (FamilyName, from("list", separated(",", Some(0))), Err(MappingError::Type)),
        (Birthdate, from("dob", date("DD/MM/YYYY")), Ok(Some(json!("1962-08-24")))),
        (Birthdate, from("dob", date("MM/DD/YYYY")), Err(MappingError::Date)),
        (Birthdate, from("compact", date("YYYYMMDD")), Ok(Some(json!("1962-08-24")))),
        (
            Birthdate,
            MappingRule { transform: date("D/M/YYYY"), ..join(&["d", "m", "y"], "/") },
            Ok(Some(json!("1962-08-24"))),
        ),
        (Birthdate, from("list", date("YYYY")), Err(MappingError::Type)),
        (Gender, from("sex", sexes()), Ok(Some(json!("female")))),
        (Gender, from("y", sexes()), Err(MappingError::Row)),
        (Gender, from("absent", sexes()), Ok(None)),
        (Gender, from("half", sexes()), Err(MappingError::Type)),
    ] {
        assert_eq!(mapped(claim, rule.clone(), &claims), made, "{claim} {rule:?}");
    }
}

#[test]
fn an_unmapped_claim_of_the_provider_never_replaces_a_mapped_one() {
    let claims = json!({ "birthdate": "1900-01-01", "family_name": "X", "shoe_size": 42 });
    let rules = [(Claim::Birthdate.into(), from("dob", Transform::Unchanged))];
    let pass = Mapping { rules: rules.clone().into(), unmapped: UnmappedClaims::Pass };
    let (mapped, lost) = pass.apply(claims.as_object().unwrap().clone());
    assert_eq!(
        (Value::Object(mapped), lost.len()),
        (json!({ "family_name": "X", "shoe_size": 42 }), 0)
    );
    let drop = Mapping { rules: rules.into(), unmapped: UnmappedClaims::Drop };
    assert!(drop.apply(claims.as_object().unwrap().clone()).0.is_empty());
}

#[test]
fn a_mapped_address_is_not_verified_by_email_verified_of_another() {
    let claims = json!({ "mail": "a@evil.example", "email": "b@example.org", "email_verified": true, "phone_number_verified": true });
    let mapping = Mapping {
        rules: [(Claim::Email.into(), from("mail", Transform::Unchanged))].into(),
        unmapped: UnmappedClaims::Pass,
    };
    let (mapped, _) = mapping.apply(claims.as_object().unwrap().clone());
    assert_eq!(
        Value::Object(mapped),
        json!({ "mail": "a@evil.example", "email": "a@evil.example", "phone_number_verified": true })
    );
}

#[test]
fn given_names_are_mapped_once_whichever_claim_names_them() {
    let claims = json!({ "first": "Ada", "given_name_array": ["Someone", "Else"], "given_name": "Someone Else" });
    for (claim, rule) in [
        (Claim::GivenName, from("first", Transform::Unchanged)),
        (Claim::GivenNameArray, from("first", separated(" ", None))),
    ] {
        let mapping =
            Mapping { rules: [(claim.into(), rule)].into(), unmapped: UnmappedClaims::Pass };
        let rules =
            IdentityRules { home_country: "99100".into(), required: RequiredClaims::SubjectOnly };
        let identity =
            Identity::from_claims(&mapping.apply(claims.as_object().unwrap().clone()).0, &rules)
                .unwrap();
        assert_eq!(identity.given_names, ["Ada"], "{claim}");
    }
}

#[test]
fn no_rule_sees_what_another_made() {
    let rules = [
        (Claim::Name.into(), from("nickname", Transform::Unchanged)),
        (Claim::Nickname.into(), from("name", Transform::Unchanged)),
    ];
    let (mapped, _) = Mapping { rules: rules.into(), unmapped: UnmappedClaims::Pass }
        .apply(json!({ "name": "a", "nickname": "b" }).as_object().unwrap().clone());
    assert_eq!(Value::Object(mapped), json!({ "name": "b", "nickname": "a" }));
}

#[test]
fn constants_of_an_operator_are_checked_by_the_identity_rules() {
    for (claim, value, right) in [
        (Claim::Birthcountry, json!("99100"), true),
        (Claim::Birthcountry, json!("FR"), false),
        (Claim::Birthplace, json!(""), false),
        (Claim::Gender, json!("unspecified"), true),
        (Claim::Gender, json!("m"), false),
        (Claim::Gender, json!(true), false),
        (Claim::EmailVerified, json!(true), true),
        (Claim::EmailVerified, json!("true"), false),
        (Claim::PhoneNumberVerified, json!(false), true),
        (Claim::Locale, json!("fr"), true),
        (Claim::Website, json!("javascript:alert(1)"), false),
    ] {
        assert_eq!(check_value(claim, &value).is_ok(), right, "{claim} {value}");
    }
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        (0_usize..70_000).prop_map(|length| Value::from("é".repeat(length))),
        (0_usize..2_000).prop_map(|length| json!(vec!["a b"; length])),
        (0_usize..100).prop_map(|depth| (0..depth).fold(json!("x"), |inner, _| json!([inner]))),
    ];
    leaf.prop_recursive(4, 32, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((name(), inner), 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "a",
            "b",
            "given_name",
            "given_name_array",
            "__proto__",
            "constructor",
            "a.b",
            "",
            "0"
        ])
        .prop_map(String::from),
        ".{0,6}"
    ]
}

fn any_path() -> impl Strategy<Value = ClaimPath> {
    let written = prop_oneof![
        name(),
        (name(), name()).prop_map(|(a, b)| format!("/{a}/{b}")),
        Just("/a/0".to_owned())
    ];
    written.prop_filter_map("a path", |written| ClaimPath::parse(&written).ok())
}

fn any_rule() -> impl Strategy<Value = MappingRule> {
    let source = prop_oneof![
        any_path().prop_map(MappingSource::From),
        (prop::collection::vec(any_path(), 1..16), ".{0,3}")
            .prop_map(|(parts, with)| MappingSource::Join { parts, with }),
    ];
    let form = prop_oneof![
        Just(Transform::Unchanged),
        Just(Transform::Upper),
        Just(Transform::Lower),
        (".{1,3}", prop::option::of(0_usize..200))
            .prop_map(|(separator, part)| Transform::Split { separator, part }),
        Just(Transform::Date(DatePattern::parse("D/M/YYYY").unwrap())),
        Just(table(&[("a", json!("x"))], Some(json!("y")))),
    ];
    (source, form).prop_map(|(source, form)| MappingRule { source, transform: form })
}

proptest! {
    /// For any claims and mapping: no panic, and every result has its claim's type and is bounded.
    #[test]
    fn a_mapping_is_total_typed_and_bounded(
        rules in prop::collection::btree_map(prop::sample::select(Claim::all().map(ClaimName::from).collect::<Vec<_>>()), any_rule(), 0..8),
        claims in prop::collection::vec((name(), anything()), 0..8),
        drop in any::<bool>(),
    ) {
        let unmapped = if drop { UnmappedClaims::Drop } else { UnmappedClaims::Pass };
        let mapping = Mapping { rules, unmapped };
        let (mapped, lost) = mapping.apply(claims.into_iter().collect());
        for claim in mapping.rules.keys() {
            let value = mapped.get(claim.as_str());
            prop_assert!(value.is_none() || lost.iter().all(|lost| lost.claim != *claim));
            if let Some(value) = value {
                let ClaimName::Specified(claim) = claim else { unreachable!() };
                prop_assert!(ClaimType::for_claim(*claim).read_value(value).is_some());
                // Capitals can be three times as long as what they are made of.
                prop_assert!(is_within(value, &mut (3 * MAX_VALUE_BYTES + 1), MAX_DEPTH), "{claim}");
            }
        }
        if drop {
            prop_assert!(mapped.keys().all(|name| mapping.rules.keys().any(|claim| claim.as_str() == name)));
        }
        // The identity rules accept the result without a panic.
        let _ = Identity::from_claims(&mapped, &IdentityRules { home_country: "99100".into(), required: RequiredClaims::Pivot });
    }
}

#[test]
fn a_declared_claim_may_have_200_entries_and_its_type_is_checked_with_its_declaration() {
    let groups: Vec<String> = (0..200).map(|number| format!("department-{number:030}")).collect();
    let claims = json!({ "roles": groups, "list": groups.join(",")[..8_000] });
    let rule = |rule| {
        let rules = [(ClaimName::from_name("groups"), rule)].into();
        let mapping = Mapping { rules, unmapped: UnmappedClaims::Drop };
        mapping.apply(claims.as_object().unwrap().clone())
    };
    let (mapped, lost) = rule(from("roles", Transform::Unchanged));
    assert_eq!((&mapped["groups"], lost.len()), (&json!(groups), 0));
    let (mapped, _) = rule(from("list", separated(",", None)));
    assert!(mapped["groups"].as_array().unwrap().len() > MAX_ITEMS);
    let (mapped, lost) = rule(from("list", Transform::Unchanged));
    assert!(mapped["groups"].is_string() && lost.is_empty());
}
