//! Tests of binds that a directory refuses whatever the password is: results 50 and 53 (RFC 4511,
//! appendix A).

use super::*;

/// `accountLocked` of the password policy control, which 389 Directory Server sends with result 53
/// for an inactivated account.
const ACCOUNT_LOCKED: (&str, &[u8]) = ("1.3.6.1.4.1.42.2.27.8.5.1", b"\x30\x03\x81\x01\x01");

/// Returns the error behind a page that shows a wrong password.
fn hidden_refusal(outcome: &Result<PasswordOutcome, ErrorCode>) -> Option<ErrorCode> {
    match outcome {
        Ok(PasswordOutcome::Rejected { refusal, .. }) => refusal.as_ref().map(|error| error.code),
        _ => None,
    }
}

async fn sign_in_from(
    fixture: &Fixture,
    address: [u8; 4],
    username: &str,
    password: &str,
) -> Result<PasswordOutcome, ErrorCode> {
    let state = fixture.connector.env.entropy().token();
    fixture.sign_in_from(address, &state, username, password).await
}

fn refuse_binds(fixture: &Fixture, result: u8, controls: Vec<(&'static str, &'static [u8])>) {
    let mut script = fixture.directory.script.lock().unwrap();
    (script.bind_result, script.bind_controls) = (Some(result), controls);
}

fn accept_binds(fixture: &Fixture) {
    let mut script = fixture.directory.script.lock().unwrap();
    (script.bind_result, script.bind_controls) = (None, vec![]);
}

#[tokio::test]
async fn a_refused_account_has_a_page_where_its_user_has_signed_in_before() {
    for (result, controls) in [(50, vec![]), (53, vec![]), (53, vec![ACCOUNT_LOCKED])] {
        let fixture = Fixture::new().await;
        accepted(fixture.sign_in("ada", "right").await);
        refuse_binds(&fixture, result, controls);
        for password in ["right", "wrong"] {
            assert_eq!(
                fixture.sign_in("ada", password).await,
                Err(ErrorCode::LdapAccountRefused),
                "{result} {password}"
            );
        }
    }
}

/// The attack: user enumeration, and guesses at a password. The operator sees the reason.
#[tokio::test]
async fn a_refused_account_looks_like_a_wrong_password_to_strangers() {
    for (result, controls) in [(50, vec![]), (53, vec![]), (53, vec![ACCOUNT_LOCKED])] {
        let fixture = Fixture::new().await;
        accepted(fixture.sign_in("ada", "right").await);
        refuse_binds(&fixture, result, controls);
        for password in ["right", "wrong"] {
            let outcome = sign_in_from(&fixture, [198, 51, 100, 1], "ada", password).await;
            assert!(is_rejected(&outcome), "{result} {password}: {outcome:?}");
            assert_eq!(hidden_refusal(&outcome), Some(ErrorCode::LdapAccountRefused));
        }
    }
}

/// The attack: a directory that answered 53 instead of 49 would let a stranger try passwords without
/// an end, if the attempts counted nowhere.
#[tokio::test]
async fn refused_binds_allow_a_network_no_more_guesses_than_wrong_passwords() {
    let fixture = Fixture::new().await;
    accepted(fixture.sign_in("ada", "right").await);
    refuse_binds(&fixture, 53, vec![]);
    let mut verified = [0, 0];
    for _ in 0..40 {
        let stranger = sign_in_from(&fixture, [198, 51, 100, 1], "ada", "guess").await;
        verified[0] += u32::from(is_rejected(&stranger));
        let same_network = fixture.sign_in("ada", "guess").await;
        verified[1] += u32::from(same_network == Err(ErrorCode::LdapAccountRefused));
    }
    assert_eq!(verified, [2, 20]);
    fixture.directory.script.lock().unwrap().entries.clear();
    let mut verified = 0;
    for name in 0..40 {
        let name = format!("invented {name}");
        let outcome = sign_in_from(&fixture, [203, 0, 113, 1], &name, "guess").await;
        verified += u32::from(is_rejected(&outcome));
    }
    assert_eq!(verified, 20);
}

/// The directory does not count them, and the hub counts at most as much: refused attempts
/// from other networks do not keep the user out once the operator has unlocked the account.
#[tokio::test]
async fn refused_binds_do_not_count_as_wrong_passwords_of_the_account() {
    let fixture = Fixture::new().await;
    refuse_binds(&fixture, 53, vec![]);
    for third in 0..10 {
        let outcome = sign_in_from(&fixture, [198, 51, third, 1], "ada", "right").await;
        assert!(is_rejected(&outcome), "{outcome:?}");
    }
    accept_binds(&fixture);
    accepted(fixture.sign_in("ada", "right").await);
}

#[tokio::test]
async fn a_directory_that_demands_tls_says_so_to_the_operator() {
    for (result, fix) in [(8, "starttls = true"), (13, "starttls = true"), (7, "over TLS")] {
        let fixture = Fixture::new().await;
        fixture.directory.script.lock().unwrap().account_bind_result = Some(result);
        let error = fixture.connector.preload().await.unwrap_err();
        assert_eq!(error.code, ErrorCode::LdapAnswer);
        assert!(error.detail.contains(fix), "{result}: {}", error.detail);
    }
}
