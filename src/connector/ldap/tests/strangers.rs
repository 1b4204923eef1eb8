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
    assert_eq!(failed, 3, "1024 tries from 256 networks, and the fifth failure would lock the account");
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
