//! Strangers who know names and no passwords.

use super::*;

/// A directory that locks an account after five wrong passwords, such as slapd with pwdMaxFailure, and counts each bind.
#[tokio::test]
async fn strangers_neither_lock_a_directory_account_nor_keep_its_person_out() {
    let world = World::new().await;
    let from = async |address: [u8; 4], password: &str| {
        let state = world.connector.env.entropy().token();
        world.sign_in_from(address, &state, "ada", password).await
    };
    accepted(from([203, 0, 113, 5], "right").await);
    world.directory.said();
    for third in 0..=255 {
        for _ in 0..4 {
            from([198, 51, third, 1], "wrong").await.unwrap();
        }
    }
    let as_ada = |said: &Said| matches!(said, Said::Bind { dn, .. } if dn == ADA);
    let failed = world.directory.said().iter().filter(|said| as_ada(said)).count();
    assert_eq!(
        failed, 3,
        "1024 tries from 256 networks, and the fifth failure would lock the account"
    );
    accepted(from([203, 0, 113, 200], "right").await);
    // One network alone leaves room for her in a network that is new.
    for _ in 0..40 {
        from([198, 51, 7, 1], "wrong").await.unwrap();
    }
    accepted(from([192, 0, 2, 99], "right").await);
}

#[tokio::test]
async fn one_person_can_not_have_the_hub_banned_at_a_directory() {
    let world = World::new().await;
    world.directory.script.lock().unwrap().found = vec![];
    for name in 0..200 {
        world.sign_in(&format!("made up {name}"), "wrong").await.unwrap();
    }
    let failed = |said: &Said| matches!(said, Said::Bind { dn, .. } if dn != "cn=hub");
    assert_eq!(world.directory.said().iter().filter(|said| failed(said)).count(), 20);
}

/// Strangers behind the same proxy or on the same campus use up the network's count; only persons who are new there wait.
#[tokio::test]
async fn wrong_passwords_of_strangers_do_not_close_a_network_to_persons_who_signed_in_there() {
    let world = World::new().await;
    let ada = world.directory.script.lock().unwrap().found.clone();
    accepted(world.sign_in("ada", "right").await);
    world.directory.script.lock().unwrap().found = vec![];
    for name in 0..40 {
        world.sign_in(&format!("made up {name}"), "wrong").await.unwrap();
    }
    world.directory.script.lock().unwrap().found = ada;
    assert!(matches!(world.sign_in("new here", "right").await, Ok(SignedIn::Wait(_))));
    accepted(world.sign_in("ada", "right").await);
}

/// Sign-ins clear the account's count, and the network's does not apply: a third one bounds what is left.
#[tokio::test]
async fn a_person_who_signs_in_between_wrong_passwords_can_not_have_the_hub_banned() {
    let world = World::new().await;
    for spelling in 0..40 {
        let name = format!("ada by spelling {spelling}");
        for password in ["right", "wrong", "wrong"] {
            world.sign_in(&name, password).await.unwrap();
        }
    }
    let failed = |said: &Said| matches!(said, Said::Bind { password, .. } if password == "wrong");
    assert_eq!(world.directory.said().iter().filter(|said| failed(said)).count(), 20);
}

/// Behind a proxy that `trusted_proxies` does not name, everyone has its private address.
#[tokio::test]
async fn wrong_passwords_do_not_close_a_private_network() {
    let world = World::new().await;
    world.directory.script.lock().unwrap().found = vec![];
    for address in [[127, 0, 0, 1], [10, 1, 2, 3]] {
        for name in 0..40 {
            let state = world.connector.env.entropy().token();
            let outcome =
                world.sign_in_from(address, &state, &format!("made up {name}"), "wrong").await;
            assert_eq!(outcome, Ok(SignedIn::No), "{address:?} {name}");
        }
    }
}

#[tokio::test]
async fn own_sign_ins_between_guesses_at_other_accounts_allow_no_more_guesses() {
    let world = World::new().await;
    let ada = world.directory.script.lock().unwrap().found.clone();
    let mut judged = 0;
    for name in 0..60 {
        world.directory.script.lock().unwrap().found.clone_from(&ada);
        accepted(world.sign_in(&format!("ada by spelling {}", name.min(10)), "right").await);
        world.directory.script.lock().unwrap().found = vec![];
        judged +=
            u32::from(world.sign_in(&format!("made up {name}"), "wrong").await == Ok(SignedIn::No));
    }
    assert_eq!(judged, 20);
}
