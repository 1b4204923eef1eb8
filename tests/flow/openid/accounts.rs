//! Ordinary identity providers: a user is an account, and no claim but its `sub` says which.

use super::{ORDINARY, hub_with, redeemed, successful_json};
use crate::service::Authorize;

#[actix_web::test]
async fn ordinary_identity_providers_have_accounts_and_no_pivot_identity() {
    let hub = hub_with(ORDINARY).await;
    let kiosk = Authorize::minimal("kiosk", "openid profile");
    let mut subjects = Vec::new();
    for (connector, person) in
        [("amandier", "angela"), ("amandier", "jean"), ("belvedere", "angela")]
    {
        let browser = hub.browser();
        let received = browser
            .authorize(&kiosk)
            .await
            .choose(connector)
            .await
            .sign_in_as(person)
            .await
            .received();
        let tokens = redeemed(&hub, "kiosk", &received).await;
        subjects.push(tokens.claims["sub"].as_str().unwrap().to_owned());
        // Again, and by the session: the same account is the same user.
        let again = browser.authorize(&kiosk).await.received();
        assert_eq!(redeemed(&hub, "kiosk", &again).await.claims["sub"], tokens.claims["sub"]);
    }
    subjects.sort();
    subjects.dedup();
    assert_eq!(subjects.len(), 3, "an account at one identity provider is unknown at another");
}

/// nOAuth, CVE-2022-31107, CVE-2023-3128: an attacker gives an account at another identity provider
/// the victim's e-mail address and name.
#[actix_web::test]
async fn an_account_with_the_victims_email_and_name_gets_another_sub() {
    let hub = hub_with(ORDINARY).await;
    let kiosk = Authorize::minimal("kiosk", "openid profile email");
    let mut users = Vec::new();
    for connector in ["amandier", "belvedere"] {
        let browser = hub.browser();
        let choice = browser.authorize(&kiosk).await;
        let received = choice.choose(connector).await.sign_in_as("angela").await.received();
        let tokens = redeemed(&hub, "kiosk", &received).await;
        users.push(successful_json(&hub.get_userinfo(&tokens.access_token).await));
    }
    let [victim, attacker] = &users[..] else { panic!("{users:?}") };
    for claim in ["email", "name"] {
        assert!(victim[claim].is_string(), "{victim}");
        assert_eq!(victim[claim], attacker[claim]);
    }
    assert_ne!(victim["sub"], attacker["sub"]);
}
