//! Disclosures of an SD-JWT that the issuer has not signed, or that were not requested.

use passerelle_protocol::digest;
use passerelle_testkit::wallet_credentials::sd_jwt::{SdJwtPresentation, disclosure};
use serde_json::{Value, json};

use super::{MaliciousWallet, SdJwtForgery, remove};

/// Adds a disclosure from its text, under a digest that the issuer has signed.
fn disclose_text(pid: &mut SdJwtPresentation, text: &str) {
    let encoded = digest::base64url(text.as_bytes());
    pid.payload["_sd"].as_array_mut().unwrap().push(json!(digest::sha256_base64url(&encoded)));
    pid.disclosures.push(encoded);
}

/// Replaces the value of a claim that the issuer has signed.
fn redisclose(pid: &mut SdJwtPresentation, index: usize, name: &str, value: &Value) {
    pid.disclosures.remove(index);
    pid.payload["_sd"].as_array_mut().unwrap().remove(index);
    pid.disclose(name, value);
}

const FORGERIES: &[SdJwtForgery] = &[
    ("altered disclosure", "unreferenced_disclosure", |pid, _| {
        pid.disclosures[0] = disclosure("s9", Some("given_name"), &json!("Mallory"));
    }),
    ("added disclosure", "unreferenced_disclosure", |pid, _| {
        pid.disclosures.push(disclosure("s9", Some("nationalities"), &json!(["FR"])));
    }),
    ("disclosure with another salt", "unreferenced_disclosure", |pid, _| {
        pid.disclosures[0] =
            disclosure("other", Some("given_name"), &json!("Angela Claire Louise"));
    }),
    ("disclosure of an array element without a digest", "unreferenced_disclosure", |pid, _| {
        pid.disclosures.push(disclosure("s9", None, &json!("FR")));
    }),
    ("repeated disclosure", "repeated_disclosure", |pid, _| {
        pid.disclosures.push(pid.disclosures[0].clone());
    }),
    ("digest that occurs twice", "repeated_digest", |pid, _| {
        let digest = pid.payload["_sd"][0].clone();
        pid.payload["_sd"].as_array_mut().unwrap().push(digest);
    }),
    ("decoy digest that occurs twice", "repeated_digest", |pid, _| {
        let decoy = json!(digest::sha256_base64url("decoy"));
        pid.payload["_sd"].as_array_mut().unwrap().extend([decoy.clone(), decoy]);
    }),
    ("disclosure in two places", "repeated_digest", |pid, _| {
        pid.payload["other"] = json!({ "_sd": [pid.payload["_sd"][0]] });
    }),
    ("disclosure that overwrites the issuer's claim", "repeated_claim", |pid, _| {
        pid.disclose("vct", &json!("urn:eudi:pid:1"));
    }),
    ("one claim disclosed twice", "repeated_claim", |pid, _| {
        pid.disclose("given_name", &json!("Mallory"));
    }),
    ("disclosure named _sd", "reserved_claim_name", |pid, _| pid.disclose("_sd", &json!(["x"]))),
    ("disclosure named ...", "reserved_claim_name", |pid, _| pid.disclose("...", &json!("x"))),
    ("expiry behind a disclosure", "protected_claim_disclosed", |pid, _| {
        let end = pid.payload["exp"].clone();
        remove(&mut pid.payload, "exp");
        pid.disclose("exp", &end);
    }),
    ("status behind a disclosure", "protected_claim_disclosed", |pid, _| {
        pid.disclose("status", &json!({}));
    }),
    ("holder's key behind a disclosure", "protected_claim_disclosed", |pid, _| {
        let cnf = pid.payload["cnf"].clone();
        remove(&mut pid.payload, "cnf");
        pid.disclose("cnf", &cnf);
    }),
    ("disclosure that is no base64url", "malformed_disclosure", |pid, _| {
        pid.disclosures[0].push('=');
    }),
    ("empty disclosure", "malformed_disclosure", |pid, _| pid.disclosures.push(String::new())),
    ("disclosure of four parts", "malformed_disclosure", |pid, _| {
        disclose_text(pid, r#"["s","nationalities",["FR"],"x"]"#);
    }),
    ("disclosure that is an object", "malformed_disclosure", |pid, _| {
        disclose_text(pid, r#"{"0":"s","1":"nationalities","2":["FR"]}"#);
    }),
    ("disclosure with a number as name", "malformed_disclosure", |pid, _| {
        disclose_text(pid, r#"["s",1,"x"]"#);
    }),
    ("disclosure with a repeated member", "malformed_disclosure", |pid, _| {
        disclose_text(pid, r#"["s","nationalities",{"a":1,"a":2}]"#);
    }),
    ("deeply nested disclosure", "malformed_disclosure", |pid, _| {
        disclose_text(pid, &format!(r#"["s","x",{}{}]"#, "[".repeat(2000), "]".repeat(2000)));
    }),
    ("chain of disclosures", "nested_too_deep", |pid, _| {
        let mut value = json!("end");
        for _ in 0..150 {
            let inner = disclosure("s", Some("a"), &value);
            value = json!({ "_sd": [digest::sha256_base64url(&inner)] });
            pid.disclosures.push(inner);
        }
        pid.payload["nationalities"] = value;
    }),
    ("flood of disclosures", "too_many_disclosures", |pid, _| {
        (0..200).for_each(|n| pid.disclosures.push(disclosure(&n.to_string(), None, &json!(n))));
    }),
    ("claim in the place of an array element", "malformed_digest", |pid, _| {
        let digest = pid.payload["_sd"].as_array_mut().unwrap().pop().unwrap();
        pid.payload["nationalities"] = json!([{ "...": digest }]);
    }),
    ("array element in the place of a claim", "malformed_digest", |pid, _| {
        disclose_text(pid, r#"["s","FR"]"#);
    }),
    ("digests that are no list", "malformed_digest", |pid, _| {
        pid.payload["_sd"] = json!({ "0": "x" });
    }),
    ("digest that is a number", "malformed_digest", |pid, _| {
        pid.payload["_sd"].as_array_mut().unwrap().push(json!(1));
    }),
    ("weak digest algorithm", "digest_algorithm", |pid, _| {
        pid.payload["_sd_alg"] = json!("sha-1");
    }),
    ("withheld claim", "missing_claim", |pid, _| drop(pid.disclosures.pop())),
    ("person's number that is null", "subject_missing", |pid, _| {
        redisclose(pid, 5, "personal_administrative_number", &json!(null));
    }),
    ("unrequested claim", "unrequested_claim", |pid, _| {
        pid.disclose("email_address", &json!("mallory@people.example"));
    }),
    ("unrequested part of a claim", "unrequested_claim", |pid, _| {
        let street = disclosure("s9", Some("street_address"), &json!("Rue Mallory"));
        pid.payload["address"] = json!({ "_sd": [digest::sha256_base64url(&street)] });
        pid.disclosures.push(street);
    }),
    ("person's number that is empty", "subject_missing", |pid, _| {
        redisclose(pid, 5, "personal_administrative_number", &json!(""));
    }),
    ("person's number that is an object", "subject_missing", |pid, _| {
        redisclose(pid, 5, "personal_administrative_number", &json!({ "number": 1 }));
    }),
    ("person's number that is a list", "subject_missing", |pid, _| {
        redisclose(pid, 5, "personal_administrative_number", &json!(["2620875107001"]));
    }),
    ("person's number that is true", "subject_missing", |pid, _| {
        redisclose(pid, 5, "personal_administrative_number", &json!(true));
    }),
];

#[actix_web::test]
async fn disclosures_that_the_issuer_did_not_sign_are_refused() {
    MaliciousWallet::start("").await.assert_all_refused(FORGERIES).await;
}
