use super::super::trust::IssuerCertificate;
use super::*;
use crate::credential::CredentialValidity;
use passerelle_protocol::env::Timestamp;

fn settings(format: CredentialFormat, claims: &[&str], optional: &[&str]) -> CredentialSettings {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    CredentialSettings {
        id: "pid".into(),
        format,
        types: vec![match format {
            CredentialFormat::DcSdJwt => "urn:eudi:pid:1".into(),
            CredentialFormat::MsoMdoc => PID_NAMESPACE.to_owned(),
        }],
        namespace: None,
        trust_anchors: None,
        issuers: Vec::new(),
        claims: owned(claims),
        optional_claims: owned(optional),
        retained_claims: Vec::new(),
    }
}

#[test]
fn optional_claims_become_claim_sets() {
    let file =
        settings(CredentialFormat::DcSdJwt, &["given_name", "/place_of_birth/country"], &["email"]);
    let query = CredentialQuery::from(&file);
    assert_eq!(
        dcql_query(std::slice::from_ref(&query), |_| vec!["aki".into()]),
        json!({ "credentials": [{
            "id": "pid", "format": "dc+sd-jwt", "meta": { "vct_values": ["urn:eudi:pid:1"] },
            "claims": [
                { "id": "c0", "path": ["given_name"] },
                { "id": "c1", "path": ["place_of_birth", "country"] },
                { "id": "c2", "path": ["email"] },
            ],
            "claim_sets": [["c0", "c1", "c2"], ["c0", "c1"]],
            "trusted_authorities": [{ "type": "aki", "values": ["aki"] }],
        }] })
    );
    assert!(file.requires("given_name") && !file.requires("email"));
}

#[test]
fn one_of_several_credentials_is_presented() {
    let queries = [
        CredentialQuery::from(&settings(CredentialFormat::DcSdJwt, &["given_name"], &[])),
        CredentialQuery::from(&CredentialSettings {
            id: "pid-mdoc".into(),
            ..settings(CredentialFormat::MsoMdoc, &["given_name"], &[])
        }),
    ];
    let dcql = dcql_query(&queries, |_| Vec::new());
    assert_eq!(dcql["credential_sets"], json!([{ "options": [["pid"], ["pid-mdoc"]] }]));
    assert_eq!(
        dcql["credentials"][1],
        json!({
            "id": "pid-mdoc", "format": "mso_mdoc", "meta": { "doctype_value": PID_NAMESPACE },
            "claims": [
                { "id": "c0", "path": [PID_NAMESPACE, "given_name"], "intent_to_retain": false },
            ],
        })
    );
}

#[test]
fn retained_claims_are_announced() {
    let file = CredentialSettings {
        retained_claims: vec!["/sex".into()],
        ..settings(CredentialFormat::MsoMdoc, &["sex"], &["nationality"])
    };
    let query = CredentialQuery::from(&file);
    let dcql = dcql_query(std::slice::from_ref(&query), |_| Vec::new());
    let claims = dcql["credentials"][0]["claims"].as_array().unwrap();
    let retained: Vec<_> = claims.iter().map(|claim| claim["intent_to_retain"].clone()).collect();
    assert_eq!(retained, [true, false]);
}

#[test]
fn a_claim_is_required_however_its_path_is_spelled() {
    let file = settings(CredentialFormat::MsoMdoc, &["/birth_date", "resident_city"], &["sex"]);
    assert!(file.requires("birthdate") && file.requires("/birthdate"));
    assert!(file.requires("/address/locality") && !file.requires("address"));
    assert!(file.requests("/sex") && !file.requires("sex") && !file.requests("birthdate"));
}

#[test]
fn the_elements_of_an_mdoc_get_the_names_of_an_sd_jwt() {
    let file = settings(CredentialFormat::MsoMdoc, &["birth_date", "family_name_birth"], &[]);
    assert!(file.requires("birthdate") && !file.requires("birth_date"));
    let elements = json!({
        "birth_date": "1962-08-24", "family_name_birth": "Dubois", "sex": 2,
        "nationality": ["FR"], "resident_city": "Paris", "resident_country": "FR",
        "place_of_birth": { "country": "FR" },
    });
    assert_eq!(
        claims_of_mdoc(&file, &elements),
        json!({
            "birthdate": "1962-08-24", "birth_family_name": "Dubois", "sex": 2,
            "nationalities": ["FR"], "address": { "locality": "Paris", "country": "FR" },
            "place_of_birth": { "country": "FR" },
        })
    );
}

#[test]
fn the_address_of_an_mdoc_is_of_one_source() {
    let file = settings(CredentialFormat::MsoMdoc, &["address", "resident_city"], &[]);
    for other in [
        json!("1 rue de la Paix"),
        json!({ "locality": "Lyon", "country": "FR", "street_address": "1 rue de la Paix" }),
    ] {
        let both = json!({
            "address": other, "resident_city": "Paris", "resident_postal_code": "75002",
            "birth_date": "1962-08-24", "birthdate": "1999-01-01",
        });
        assert_eq!(
            claims_of_mdoc(&file, &both),
            json!({
                "address": { "locality": "Paris", "postal_code": "75002" },
                "birthdate": "1962-08-24",
            })
        );
        assert_eq!(
            claims_of_mdoc(&file, &json!({ "address": other })),
            json!({ "address": other })
        );
    }
}

fn claims_of_mdoc(file: &CredentialSettings, elements: &Value) -> Value {
    let namespaces = json!({ PID_NAMESPACE: elements, "another.namespace": { "sex": 1 } });
    let credential = VerifiedCredential {
        credential_type: PID_NAMESPACE.into(),
        claims: namespaces.as_object().unwrap().clone(),
        issuer: IssuerCertificate {
            organization: None,
            country: None,
            subject: String::new(),
            fingerprint: String::new(),
            anchor_subject: String::new(),
            not_before: Timestamp::default(),
            not_after: Timestamp::default(),
        },
        validity: CredentialValidity::default(),
        status: None,
    };
    Value::Object(CredentialQuery::from(file).normalize_claims(credential))
}
