//! Attackers who know names but no passwords.

use super::*;

/// The directory locks an account after five wrong passwords, like slapd with pwdMaxFailure.
#[tokio::test]
async fn attackers_neither_lock_an_account_nor_lock_out_its_user() {
    let fixture = Fixture::new().await;
    let from = async |address: [u8; 4], password: &str| {
        let state = fixture.connector.env.entropy().token();
        fixture.sign_in_from(address, &state, "ada", password).await
    };
    accepted(from([203, 0, 113, 5], "right").await);
    fixture.directory.take_requests();
    for third in 0..=255 {
        for _ in 0..4 {
            from([198, 51, third, 1], "wrong").await.unwrap();
        }
    }
    let as_ada =
        |request: &LdapRequest| matches!(request, LdapRequest::Bind { dn, .. } if dn == ADA);
    let failed = fixture.directory.take_requests().iter().filter(|request| as_ada(request)).count();
    assert_eq!(
        failed, 3,
        "1024 attempts from 256 networks; the fifth failure would lock the account"
    );
    accepted(from([203, 0, 113, 200], "right").await);
    // A single network leaves her an attempt from a new network.
    for _ in 0..40 {
        from([198, 51, 7, 1], "wrong").await.unwrap();
    }
    accepted(from([192, 0, 2, 99], "right").await);
}

#[tokio::test]
async fn one_attacker_can_not_get_the_hub_banned_at_a_directory() {
    let fixture = Fixture::new().await;
    fixture.directory.script.lock().unwrap().entries = vec![];
    for name in 0..200 {
        fixture.sign_in(&format!("invented {name}"), "wrong").await.unwrap();
    }
    let failed =
        |request: &LdapRequest| matches!(request, LdapRequest::Bind { dn, .. } if dn != "cn=hub");
    assert_eq!(
        fixture.directory.take_requests().iter().filter(|request| failed(request)).count(),
        20
    );
}

/// Strangers behind the same proxy use up the limit of the network. Only users who are new there
/// wait.
#[tokio::test]
async fn wrong_passwords_of_attackers_do_not_lock_out_users_who_signed_in_from_their_network() {
    let fixture = Fixture::new().await;
    let ada = fixture.directory.script.lock().unwrap().entries.clone();
    accepted(fixture.sign_in("ada", "right").await);
    fixture.directory.script.lock().unwrap().entries = vec![];
    for name in 0..40 {
        fixture.sign_in(&format!("invented {name}"), "wrong").await.unwrap();
    }
    fixture.directory.script.lock().unwrap().entries = ada;
    assert!(matches!(
        fixture.sign_in("new here", "right").await,
        Ok(PasswordOutcome::RateLimited(_))
    ));
    accepted(fixture.sign_in("ada", "right").await);
}

/// Sign-ins clear the counter of the account, and the counter of the network does not apply: the
/// one of the known pair limits the rest.
#[tokio::test]
async fn a_user_who_signs_in_between_wrong_passwords_can_not_get_the_hub_banned() {
    let fixture = Fixture::new().await;
    for spelling in 0..40 {
        let name = format!("ada by spelling {spelling}");
        for password in ["right", "wrong", "wrong"] {
            fixture.sign_in(&name, password).await.unwrap();
        }
    }
    let failed = |request: &LdapRequest| matches!(request, LdapRequest::Bind { password, .. } if password == "wrong");
    assert_eq!(
        fixture.directory.take_requests().iter().filter(|request| failed(request)).count(),
        20
    );
}

/// Behind a proxy that `trusted_proxies` does not list, all users have its private address.
#[tokio::test]
async fn wrong_passwords_do_not_lock_out_a_private_network() {
    let fixture = Fixture::new().await;
    fixture.directory.script.lock().unwrap().entries = vec![];
    for address in [[127, 0, 0, 1], [10, 1, 2, 3]] {
        for name in 0..40 {
            let state = fixture.connector.env.entropy().token();
            let outcome =
                fixture.sign_in_from(address, &state, &format!("invented {name}"), "wrong").await;
            assert!(is_rejected(&outcome), "{address:?} {name}");
        }
    }
}

#[tokio::test]
async fn own_sign_ins_between_guesses_at_other_accounts_allow_no_more_guesses() {
    let fixture = Fixture::new().await;
    let ada = fixture.directory.script.lock().unwrap().entries.clone();
    let mut verified = 0;
    for name in 0..60 {
        fixture.directory.script.lock().unwrap().entries.clone_from(&ada);
        accepted(fixture.sign_in(&format!("ada by spelling {}", name.min(10)), "right").await);
        fixture.directory.script.lock().unwrap().entries = vec![];
        verified +=
            u32::from(is_rejected(&fixture.sign_in(&format!("invented {name}"), "wrong").await));
    }
    assert_eq!(verified, 20);
}
