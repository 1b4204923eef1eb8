use serde_json::json;

use super::*;

fn declaration(value_type: ClaimType, max_bytes: usize) -> ClaimDeclaration {
    ClaimDeclaration {
        value_type,
        label: [("en".to_owned(), "Label".to_owned())].into(),
        max_bytes,
        personal: true,
        required: false,
    }
}

fn declared() -> DeclaredClaims {
    let claims = [
        ("siret", ClaimType::String, 16),
        ("groups", ClaimType::StringArray, 8 * 1024),
        ("staff", ClaimType::Boolean, 8),
        ("grade", ClaimType::Number, 8),
        ("postal_address", ClaimType::Object, 256),
    ];
    let claim =
        |(name, value_type, bytes): (&str, _, _)| (name.to_owned(), declaration(value_type, bytes));
    DeclaredClaims::new(&claims.map(claim).into())
}

fn read(claims: &Value) -> (Value, Vec<(String, &'static str)>) {
    let (values, rejected) = declared().read_values(claims.as_object().unwrap());
    let rejected = rejected.into_iter().map(|(name, error)| (name.to_string(), error.label()));
    (serde_json::to_value(values).unwrap(), rejected.collect())
}

#[test]
fn valid_values_of_each_type_are_read_and_undeclared_claims_are_not() {
    let groups: Vec<String> = (0..200).map(|number| format!("group-{number}")).collect();
    let claims = json!({
        "siret": "12345678901234", "groups": groups, "staff": false, "grade": 3.5,
        "postal_address": { "formatted": "1 rue X\n75000 Paris", "country": "FR" },
    });
    let mut sent = claims.clone();
    sent["shoe_size"] = json!(42);
    assert_eq!(read(&sent), (claims, Vec::new()));
    assert_eq!(read(&json!({ "siret": "", "staff": null })), (json!({}), Vec::new()));
}

#[test]
fn one_value_of_a_list_claim_is_a_list_of_one() {
    let claims = read(&json!({ "groups": "admins" }));
    assert_eq!(claims, (json!({ "groups": ["admins"] }), Vec::new()));
}

#[test]
fn a_value_that_does_not_fit_its_declaration_is_left_out() {
    let deep = (0..20).fold(json!(1), |inner, _| json!({ "a": inner }));
    for (claim, value, reason) in [
        ("siret", json!(12_345_678_901_234_u64), "type"),
        ("siret", json!("123456789012345"), "size"),
        ("siret", json!(["1"]), "type"),
        ("siret", json!("a\u{202e}b"), "characters"),
        ("groups", json!(1), "type"),
        ("groups", json!("a\u{202e}b"), "characters"),
        ("groups", json!(["admins", 1]), "type"),
        ("groups", json!(["a\u{0}"]), "characters"),
        ("groups", json!(vec!["a"; 8 * 1024]), "size"),
        ("staff", json!("true"), "type"),
        ("staff", json!(1), "type"),
        ("grade", json!("3"), "type"),
        ("postal_address", json!("1 rue X"), "type"),
        ("postal_address", json!({ "a\u{202e}": 1 }), "characters"),
        ("postal_address", deep, "size"),
    ] {
        assert_eq!(
            read(&json!({ claim: value, "siren": 1 })),
            (json!({}), vec![(claim.to_owned(), reason)]),
            "{claim} {value}"
        );
    }
}

#[test]
fn only_a_required_claim_can_be_missing() {
    let required = ClaimDeclaration { required: true, ..declaration(ClaimType::String, 16) };
    let claims = DeclaredClaims::new(
        &[("siret".to_owned(), required), ("unit".into(), declaration(ClaimType::String, 16))]
            .into(),
    );
    let siret = ClaimName::from_name("siret");
    assert_eq!(claims.missing_required(&DeclaredValues::new()), Some(siret));
    assert_eq!(claims.missing_required(&[(Arc::from("siret"), json!("1"))].into()), None);
    assert_eq!(declared().missing_required(&DeclaredValues::new()), None);
}
