//! Verified claims (OpenID Connect for Identity Assurance 1.0), in whole logins.

use super::*;
use passerelle_federation::validity::format_rfc3339;
use passerelle_protocol::env::Timestamp;

const RULES: &str = "[verified_claims]\ntrust_framework = \"eidas\"\nassurance_level = \"low\"\n";

/// Returns a request of the kiosk with these verified claims in one response.
fn asking(response: &str, verification: &Value, claims: &Value) -> Authorize {
    let verified = json!({ "verification": verification, "claims": claims });
    let claims = json!({ response: { "verified_claims": verified } });
    Authorize::minimal("kiosk", "openid").with("claims", &claims.to_string())
}

/// Redeems the code. Returns the claims of the ID token and of userinfo.
async fn responses(hub: &TestHub, received: &Received) -> (Map<String, Value>, Value) {
    let tokens = redeemed(hub, "kiosk", received).await;
    let userinfo = successful_json(&hub.get_userinfo(&tokens.access_token).await);
    (tokens.claims, userinfo)
}

#[actix_web::test]
async fn verified_claims_are_released_only_where_they_were_requested() {
    let hub = hub_with(&format!("[audit]\nsink = \"file\"\n{RULES}")).await;
    let verification = json!({ "trust_framework": null, "time": null, "evidence": null });
    for response in ["userinfo", "id_token"] {
        let request = asking(response, &verification, &json!({ "family_name": null }));
        let before = hub.now();
        let received = sign_in(&hub.browser(), &request, "angela").await;
        let (id_token, userinfo) = responses(&hub, &received).await;
        let id_token = Value::Object(id_token);
        let (with, without) =
            if response == "userinfo" { (&userinfo, &id_token) } else { (&id_token, &userinfo) };
        let expected = json!({
            "verification": {
                "trust_framework": "eidas",
                "time": format_rfc3339(Timestamp::from_seconds(before.seconds())),
                "evidence": [{ "type": "electronic_record", "record": { "type": "population_register" } }],
            },
            "claims": { "family_name": "DUBOIS" },
        });
        assert_eq!(with["verified_claims"], expected, "{response}");
        assert!(without.get("verified_claims").is_none(), "{response}");
        for (event, of) in [("token_issued", "id_token"), ("userinfo_released", "userinfo")] {
            let line = hub.audit_lines().into_iter().rfind(|line| line["event"] == event).unwrap();
            let names = (of == response).then(|| json!(["family_name"]));
            assert_eq!(line.get("verified_claims"), names.as_ref(), "{event}: {response}");
        }
        // No scope and no plain request asked for it.
        assert!(userinfo.get("family_name").is_none() && id_token.get("family_name").is_none());
    }
}

/// Attack: a session that is reused makes an old verification look new.
#[actix_web::test]
async fn a_reused_session_does_not_make_the_verification_newer() {
    let hub = hub_with(RULES).await;
    let browser = hub.browser();
    let claims = json!({ "family_name": null });
    let request = asking("userinfo", &json!({ "time": null }), &claims);
    let first = responses(&hub, &sign_in(&browser, &request, "angela").await).await.1;
    hub.advance(Duration::from_secs(600));
    let again = responses(&hub, &browser.authorize(&request).await.received()).await.1;
    assert_eq!(again["verified_claims"], first["verified_claims"]);
    for (max_age, is_met) in [(601, true), (599, false)] {
        let request = asking("userinfo", &json!({ "time": { "max_age": max_age } }), &claims);
        let answer = responses(&hub, &browser.authorize(&request).await.received()).await.1;
        assert_eq!(answer.get("verified_claims").is_some(), is_met, "{max_age}");
    }
}

/// Attack: a service provider asks for verified claims that none of its scopes contains.
#[actix_web::test]
async fn a_claim_beyond_the_scopes_of_the_service_provider_is_not_asserted() {
    let file = service("kiosk", "consent = \"none\"");
    let narrow = file.1.replace("\"openid\", \"profile\", ", "\"openid\", ");
    let hub = TestHub::with_files(RULES, &[(file.0.as_str(), narrow)]).await;
    let request = asking("userinfo", &json!({}), &json!({ "family_name": null, "email": null }));
    let received = sign_in(&hub.browser(), &request, "angela").await;
    let userinfo = responses(&hub, &received).await.1;
    assert_eq!(userinfo.as_object().unwrap().keys().collect::<Vec<_>>(), ["sub"]);
}

/// Attack: an identity provider that verified nothing gives claims the trust framework's name.
#[actix_web::test]
async fn claims_of_a_provider_are_verified_only_as_the_operator_lists() {
    for (connector, is_listed) in [("amandier", true), ("belvedere", false)] {
        let rules =
            format!("{ORDINARY}\n{RULES}connectors = {{ {connector} = [\"family_name\"] }}\n");
        let hub = hub_with(&rules).await;
        let claims = json!({ "family_name": null, "given_name": null });
        let received =
            sign_in(&hub.browser(), &asking("userinfo", &json!({}), &claims), "angela").await;
        let userinfo = responses(&hub, &received).await.1;
        let expected = json!({ "family_name": "DUBOIS" });
        let found = userinfo.get("verified_claims").map(|verified| &verified["claims"]);
        assert_eq!(found, is_listed.then_some(&expected), "{connector}");
    }
}

#[actix_web::test]
async fn the_consent_page_shows_a_claim_that_is_requested_as_verified_only() {
    let hub = hub_with(RULES).await;
    let claims = json!({ "userinfo": { "verified_claims": { "verification": {}, "claims": { "birthdate": null } } } });
    let request = Authorize::minimal("notary", "openid").with("claims", &claims.to_string());
    let browser = hub.browser();
    let page =
        browser.authorize(&request).await.choose("amandier").await.sign_in_as("angela").await;
    assert!(page.is_consent() && page.answer.body.contains("1962"), "{}", page.answer.body);
}

#[actix_web::test]
async fn discovery_announces_verified_claims_where_they_are_on() {
    let announced = hub_with(RULES).await.discovery().await;
    let members = [
        ("verified_claims_supported", json!(true)),
        ("trust_frameworks_supported", json!(["eidas"])),
        (
            "claims_in_verified_claims_supported",
            json!(["given_name", "family_name", "birthdate", "gender"]),
        ),
        ("evidence_supported", json!(["electronic_record"])),
        ("electronic_records_supported", json!(["population_register"])),
    ];
    let silent = hub().await.discovery().await;
    for (member, expected) in members {
        assert_eq!(announced[member], expected);
        assert!(silent.get(member).is_none(), "{member}");
    }
}

#[actix_web::test]
async fn a_malformed_request_is_refused_and_a_hub_without_verified_claims_ignores_a_good_one() {
    let verified = |value: Value| {
        let claims = json!({ "userinfo": { "verified_claims": value } }).to_string();
        Authorize::minimal("kiosk", "openid").with("claims", &claims)
    };
    let hub = hub().await;
    for malformed in [
        json!("all"),
        json!({ "claims": {} }),
        json!([null]),
        json!({ "verification": {}, "claims": [] }),
    ] {
        assert_eq!(
            refused(&hub, &verified(malformed.clone())).await.0,
            "invalid_request",
            "{malformed}"
        );
    }
    let good = verified(json!([{ "verification": {}, "claims": { "family_name": null } }]));
    let received = sign_in(&hub.browser(), &good, "angela").await;
    let userinfo = responses(&hub, &received).await.1;
    assert_eq!(userinfo.as_object().unwrap().keys().collect::<Vec<_>>(), ["sub"]);
}
