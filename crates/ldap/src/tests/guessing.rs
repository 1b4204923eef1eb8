//! Tests that guesses of names and passwords are limited.

use super::*;

#[tokio::test]
async fn password_guessing_is_limited_across_spellings_and_logins() {
    let fixture = Fixture::new().await;
    for spelling in ["ADA", "uid by mail"] {
        assert!(is_rejected(&fixture.sign_in(spelling, "wrong").await), "{spelling}");
    }
    fixture.directory.take_requests();
    for (username, password) in [
        ("ada", "wrong"),
        (" ada", "right"),
        ("ａｄａ", "right"),
        ("yet another spelling", "right"),
    ] {
        assert!(
            matches!(
                fixture.sign_in(username, password).await,
                Ok(PasswordOutcome::RateLimited(_))
            ),
            "{username}"
        );
    }
    let bound =
        |request: &LdapRequest| matches!(request, LdapRequest::Bind { dn, .. } if dn != "cn=hub");
    assert!(!fixture.directory.take_requests().iter().any(bound), "no password was verified");
    fixture.clock.advance(WINDOW);
    accepted(fixture.sign_in("ada", "right").await);
}

#[tokio::test]
async fn guessing_names_is_limited_within_a_login() {
    let fixture = Fixture::new().await;
    fixture.directory.script.lock().unwrap().entries = vec![];
    for name in 0..MAX_WRONG_PASSWORDS_PER_LOGIN {
        assert!(is_rejected(
            &fixture.sign_in_to(&"h".repeat(86), &format!("n{name}"), "wrong").await
        ));
    }
    // The same login with the state of another attempt.
    let state = format!("{}{}", "h".repeat(43), "i".repeat(43));
    assert!(matches!(
        fixture.sign_in_to(&state, "other", "wrong").await,
        Ok(PasswordOutcome::RateLimited(_))
    ));
    assert!(is_rejected(&fixture.sign_in("other", "wrong").await));
}

#[tokio::test]
async fn guesses_at_the_same_moment_are_counted_too() {
    let fixture = Fixture::new().await;
    let guesses =
        futures_util::future::join_all((0..40).map(|_| fixture.sign_in("ada", "wrong"))).await;
    assert_eq!(guesses.iter().filter(|outcome| is_rejected(outcome)).count(), 2);
}

#[tokio::test]
async fn neither_success_nor_a_directory_that_cannot_verify_uses_up_attempts() {
    let fixture = Fixture::new().await;
    for _ in 0..20 {
        accepted(fixture.sign_in("ada", "right").await);
    }
    fixture.directory.script.lock().unwrap().bind_result = Some(51);
    for _ in 0..20 {
        assert_eq!(fixture.sign_in("ada", "right").await, Err(ErrorCode::LdapAnswer));
    }
    fixture.directory.script.lock().unwrap().bind_result = None;
    accepted(fixture.sign_in("ada", "right").await);
}

#[tokio::test]
async fn a_directory_that_does_not_answer_wrong_passwords_allows_no_more_guesses() {
    let fixture = Fixture::new().await;
    fixture.directory.script.lock().unwrap().closes_at_rejected_binds = true;
    for _ in 0..2 {
        let outcome = fixture.sign_in("ada", "wrong").await;
        assert!(matches!(outcome, Err(ErrorCode::LdapAnswer | ErrorCode::IdpUnreachable)));
    }
    fixture.directory.take_requests();
    let outcome = fixture.sign_in("ada", "right").await;
    assert!(matches!(outcome, Ok(PasswordOutcome::RateLimited(_))), "{outcome:?}");
    assert_eq!(fixture.directory.take_requests(), []);
}
