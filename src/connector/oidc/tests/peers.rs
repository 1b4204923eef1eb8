//! What real identity providers stumble over, and what the operator then reads.

use serde_json::json;

use super::super::fake_idp::*;
use super::super::*;

/// A file for an identity provider whose levels are not agreed.
const ASSUMED: &str =
    "levels = { lowest = \"eidas1\", highest = \"eidas1\" }\nassumed_level = \"eidas1\"";

async fn fault(world: &World, attempt: Attempt) -> ConnectorFault {
    world.connector.complete(attempt, world.arrival()).await.unwrap_err()
}

fn sends_acr_values(left: &AuthorizationRedirect) -> bool {
    Url::parse(&left.url).unwrap().query_pairs().any(|(name, _)| name == "acr_values")
}

#[tokio::test]
async fn keycloaks_acr_1_is_named_to_the_operator_and_can_be_ignored() {
    let world = World::with_levels(ASSUMED, "").await;
    world.script().claims["acr"] = json!("1");
    let refused = fault(&world, world.attempt().await).await;
    assert_eq!(refused.code, ErrorCode::AcrUnlisted);
    assert!(
        refused.detail.contains("acr \"1\"") && refused.detail.contains("ignore_acr = true"),
        "{refused}"
    );

    let ignoring = World::with_levels(&format!("{ASSUMED}\nignore_acr = true"), "").await;
    for acr in [json!("1"), json!("loa-of-another-world"), json!(null)] {
        ignoring.script().claims["acr"] = acr.clone();
        assert_eq!(
            ignoring.complete().await.map(|proven| proven.level),
            Ok(Level::Eidas1),
            "{acr}"
        );
    }
    // The assumed level is all that such an answer proves.
    let higher = Attempt { level: Level::Eidas2, ..ignoring.attempt().await };
    assert_eq!(ignoring.complete_as(higher).await.err(), Some(ErrorCode::AcrTooLow));
}

#[tokio::test]
async fn a_hostile_acr_is_bounded_and_printable_in_the_operators_line() {
    let world = World::new().await;
    world.script().claims["acr"] = json!(format!("\u{1b}[2J\u{202e}\n\"{}", "x".repeat(5_000)));
    let refused = fault(&world, world.attempt().await).await;
    assert!(
        refused.detail.len() < 300
            && refused.detail.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()),
        "{refused}"
    );
    assert!(
        !refused.detail.contains("ignore_acr"),
        "there is no assumed_level to count instead: {refused}"
    );
}

#[tokio::test]
async fn an_idp_that_asks_for_the_password_at_every_acr_values_is_sent_none() {
    let levels = "levels = { lowest = \"eidas1\", highest = \"eidas2\" }\n\
                  acr = { send = false, eidas1 = [\"low\"], eidas2 = [\"substantial\"] }";
    let world = World::with_levels(levels, "").await;
    assert!(sends_acr_values(&World::new().await.attempt().await.left));
    assert!(!sends_acr_values(&world.attempt().await.left));
    world.script().claims["acr"] = json!("substantial");
    assert_eq!(
        world.complete().await.unwrap().level,
        Level::Eidas2,
        "the returned acr counts all the same"
    );
    world.script().claims["acr"] = json!("1");
    assert_eq!(world.complete().await.err(), Some(ErrorCode::AcrUnlisted));
}

#[tokio::test]
async fn an_idp_that_ignores_prompt_login_is_diagnosed_by_name() {
    let ignores = async |more: &str, attempt: fn(Attempt) -> Attempt| {
        let world = World::with(more).await;
        world.script().claims["auth_time"] = json!(NOW - 3_630);
        fault(&world, attempt(world.attempt().await)).await
    };
    let again = |attempt| Attempt { reauthenticate: true, ..attempt };
    let aged = |attempt| Attempt { max_age: Some(60), ..attempt };
    for refused in
        [ignores("", again).await, ignores("max_age = true", again).await, ignores("", aged).await]
    {
        assert_eq!(refused.code, ErrorCode::PromptLoginIgnored);
        assert!(
            refused.detail.contains("ignored prompt=login")
                && refused.detail.contains("3600 s before"),
            "{refused}"
        );
    }
    // Here max_age was sent, and no prompt.
    assert_eq!(ignores("max_age = true", aged).await.code, ErrorCode::ReauthenticationNotProven);
}

#[tokio::test]
async fn a_missing_or_mistyped_claim_of_the_id_token_is_named_and_no_value_is() {
    type Change = fn(&mut Value);
    fn remove(claims: &mut Value, name: &str) {
        claims.as_object_mut().unwrap().remove(name);
    }
    let table: [(Change, &str); 11] = [
        (|claims| remove(claims, "iss"), "required claim iss is missing"),
        (|claims| remove(claims, "sub"), "required claim sub is missing"),
        (|claims| remove(claims, "aud"), "required claim aud is missing"),
        (|claims| remove(claims, "exp"), "required claim exp is missing"),
        (|claims| remove(claims, "iat"), "required claim iat is missing"),
        (|claims| claims["sub"] = json!(4711), "required claim sub is of the wrong type"),
        (|claims| claims["aud"] = json!(["hub", 4711]), "required claim aud is of the wrong type"),
        (|claims| claims["exp"] = json!("4711"), "required claim exp is of the wrong type"),
        (|claims| claims["iat"] = json!(null), "required claim iat is of the wrong type"),
        (|claims| claims["azp"] = json!(["4711"]), "the claim azp is of the wrong type"),
        (
            |claims| claims["email_verified"] = json!("4711"),
            "the claim email_verified is of the wrong type",
        ),
    ];
    let world = World::new().await;
    let sound = world.script().claims.clone();
    for (change, said) in table {
        let mut claims = sound.clone();
        change(&mut claims);
        world.script().claims = claims;
        let refused = fault(&world, world.attempt().await).await;
        assert_eq!(refused.code, ErrorCode::IdTokenMalformed, "{said}");
        assert!(
            refused.detail.contains(said) && !refused.detail.contains("4711"),
            "{said}: {refused}"
        );
    }
}
