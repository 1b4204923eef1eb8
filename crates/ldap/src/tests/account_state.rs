//! Tests of what a directory says of a right password and of an account: the data codes of Active
//! Directory, the controls of password policies, and the attributes of an entry.

use super::*;

/// `data` of the message that Active Directory sends with result 49.
fn message_of_active_directory(data: &str) -> &'static str {
    let message = format!(
        "80090308: LdapErr: DSID-0C090439, comment: AcceptSecurityContext error, data {data}, v4563"
    );
    Box::leak(message.into_boxed_str())
}

/// Returns the outcomes of this many sign-ins, each in a new login.
async fn sign_in_times(fixture: &Fixture, times: usize) -> Vec<Result<PasswordOutcome, ErrorCode>> {
    let mut outcomes = Vec::new();
    for _ in 0..times {
        outcomes.push(fixture.sign_in("ada", "right").await);
    }
    outcomes
}

#[tokio::test]
async fn each_data_code_of_active_directory_has_its_outcome_and_only_wrong_passwords_count() {
    use ErrorCode::{
        LdapAccountDisabled, LdapAnswer, LdapOutsideHours, LdapSignInNotPermitted,
        PasswordChangeRequired,
    };
    for (data, error) in [
        ("52f", LdapSignInNotPermitted),
        ("530", LdapOutsideHours),
        ("531", LdapSignInNotPermitted),
        ("532", PasswordChangeRequired),
        ("533", LdapAccountDisabled),
        ("534", LdapSignInNotPermitted),
        ("568", LdapSignInNotPermitted),
        ("569", LdapSignInNotPermitted),
        ("701", LdapAccountDisabled),
        ("773", PasswordChangeRequired),
        ("78f", LdapSignInNotPermitted),
        ("51f", LdapAnswer),
    ] {
        let fixture = Fixture::new().await;
        {
            let mut script = fixture.directory.script.lock().unwrap();
            script.bind_result = Some(49);
            script.bind_message = Some(message_of_active_directory(data));
        }
        for outcome in sign_in_times(&fixture, 6).await {
            assert_eq!(outcome, Err(error), "{data}");
        }
        fixture.directory.script.lock().unwrap().bind_result = None;
        accepted(fixture.sign_in("ada", "right").await);
    }
    for data in ["525", "52e", "52E", "999", ""] {
        let fixture = Fixture::new().await;
        {
            let mut script = fixture.directory.script.lock().unwrap();
            script.bind_result = Some(49);
            script.bind_message = Some(message_of_active_directory(data));
        }
        let outcomes = sign_in_times(&fixture, 3).await;
        assert!(is_rejected(&outcomes[0]) && is_rejected(&outcomes[1]), "{data}: {outcomes:?}");
        assert!(matches!(outcomes[2], Ok(PasswordOutcome::RateLimited(_))), "{data}");
    }
}

/// A lock says nothing of the password, and the hub must not prolong it.
#[tokio::test]
async fn a_locked_account_looks_like_a_wrong_password_and_is_not_counted() {
    type Change = fn(&mut crate::testing::fake_directory::DirectoryScript);
    let locks: [Change; 3] = [
        |script| {
            script.bind_result = Some(49);
            script.bind_message = Some(message_of_active_directory("775"));
        },
        |script| script.bind_result = Some(19),
        |script| {
            script.bind_result = Some(49);
            script.bind_controls = vec![("1.3.6.1.4.1.42.2.27.8.5.1", b"\x30\x03\x81\x01\x01")];
        },
    ];
    for lock in locks {
        let fixture = Fixture::new().await;
        lock(&mut fixture.directory.script.lock().unwrap());
        for outcome in sign_in_times(&fixture, 25).await {
            assert!(is_rejected(&outcome), "{outcome:?}");
        }
        {
            let mut script = fixture.directory.script.lock().unwrap();
            (script.bind_result, script.bind_controls) = (None, vec![]);
        }
        accepted(fixture.sign_in("ada", "right").await);
    }
}

#[tokio::test]
async fn a_user_learns_of_the_last_attempt_before_it() {
    let fixture = Fixture::with("").await;
    let rejected = |is_last_attempt_next| {
        Ok(PasswordOutcome::Rejected { is_last_attempt_next, refusal: None })
    };
    assert_eq!(fixture.sign_in("ada", "wrong").await, rejected(true));
    assert_eq!(fixture.sign_in("ada", "wrong").await, rejected(false));
    let outcome = fixture.sign_in("ada", "wrong").await;
    assert!(matches!(outcome, Ok(PasswordOutcome::RateLimited(_))));
    // User enumeration: an unknown name has as many attempts.
    fixture.directory.script.lock().unwrap().entries.clear();
    assert_eq!(fixture.sign_in("eve", "wrong").await, rejected(true));
    assert_eq!(fixture.sign_in("eve", "wrong").await, rejected(false));
}

#[tokio::test]
async fn with_the_defaults_a_person_has_five_attempts() {
    let fixture = Fixture::with("").await;
    let text = format!(
        "url = \"ldap://127.0.0.1:{}\"\nbind_dn = \"cn=hub\"\nbind_password = {{ env = \"X\" }}\nbase_dn = \"dc=example\"\n",
        fixture.directory.port
    );
    let defaults: LdapKind = toml::from_str(&text).unwrap();
    assert_eq!(defaults.lockout_after, 10, "strangers could lock accounts in more directories");
    let limiter = FailedBindLimiter::new(
        defaults.lockout_after,
        defaults.lockout_window(),
        &fixture.connector.env,
    );
    let connector = LdapConnector { failed_binds: limiter, ..fixture.connector };
    let fixture = Fixture { connector, ..fixture };
    let mut outcomes = Vec::new();
    for _ in 0..6 {
        outcomes.push(fixture.sign_in("ada", "wrong").await);
    }
    assert!(outcomes[..5].iter().all(is_rejected), "{outcomes:?}");
    assert_eq!(
        outcomes[3],
        Ok(PasswordOutcome::Rejected { is_last_attempt_next: true, refusal: None })
    );
    assert!(matches!(outcomes[5], Ok(PasswordOutcome::RateLimited(_))));
}

const POLICY: &str = "1.3.6.1.4.1.42.2.27.8.5.1";
const EXPIRED: &str = "2.16.840.1.113730.3.4.4";
const EXPIRING: &str = "2.16.840.1.113730.3.4.5";

#[tokio::test]
async fn a_password_that_must_be_changed_does_not_sign_in_unless_the_operator_says_so() {
    for (oid, value) in [(POLICY, &b"\x30\x03\x81\x01\x02"[..]), (EXPIRED, b"0")] {
        let fixture = Fixture::new().await;
        fixture.directory.script.lock().unwrap().bind_controls = vec![(oid, value)];
        for outcome in sign_in_times(&fixture, 6).await {
            assert_eq!(outcome, Err(ErrorCode::PasswordChangeRequired), "{oid}");
        }
        let fixture = Fixture::with("must_change_password = \"warn\"").await;
        fixture.directory.script.lock().unwrap().bind_controls = vec![(oid, value)];
        let Ok(PasswordOutcome::Accepted { callback_query, notice }) =
            fixture.sign_in_to("s1", "ada", "right").await
        else {
            panic!("{oid}")
        };
        assert_eq!(notice, Some(PasswordNotice::MustChange));
        // The user reads the page.
        fixture.clock.advance(Duration::from_secs(5 * 60));
        let attempt = fixture.attempt("s1").await;
        let callback = callback(&callback_query.into_inner());
        fixture.connector.complete_login(attempt, callback).await.unwrap();
    }
}

#[tokio::test]
async fn an_expired_password_is_distinguished_from_a_wrong_one() {
    for (oid, value) in [(POLICY, &b"\x30\x03\x81\x01\x00"[..]), (EXPIRED, b"0")] {
        let fixture = Fixture::with("must_change_password = \"warn\"").await;
        {
            let mut script = fixture.directory.script.lock().unwrap();
            (script.bind_result, script.bind_controls) = (Some(49), vec![(oid, value)]);
        }
        for outcome in sign_in_times(&fixture, 6).await {
            assert_eq!(outcome, Err(ErrorCode::PasswordChangeRequired), "{oid}");
        }
    }
}

#[tokio::test]
async fn a_user_is_warned_of_the_end_of_a_password() {
    const WEEK: Duration = Duration::from_secs(604_800);
    for (oid, value, expected) in [
        (POLICY, &b"\x30\x05\xa0\x03\x81\x01\x02"[..], PasswordNotice::SignInsLeft(2)),
        (POLICY, b"\x30\x07\xa0\x05\x80\x03\x09\x3a\x80", PasswordNotice::ExpiresIn(WEEK)),
        (EXPIRING, b"604800", PasswordNotice::ExpiresIn(WEEK)),
    ] {
        let fixture = Fixture::new().await;
        fixture.directory.script.lock().unwrap().bind_controls = vec![(oid, value)];
        let outcome = fixture.sign_in("ada", "right").await;
        let Ok(PasswordOutcome::Accepted { notice, .. }) = outcome else { panic!("{outcome:?}") };
        assert_eq!(notice, Some(expected), "{oid}");
    }
}

#[tokio::test]
async fn an_attribute_is_text_or_binary_by_its_name_and_never_by_its_value() {
    let fixture = Fixture::with("binary_attributes = [\"telephoneNumber\"]").await;
    let more = "subject_attribute = \"objectGUID\"\nbinary_attributes = [\"telephoneNumber\"]";
    let guid = Fixture::with(more).await;
    for fixture in [&fixture, &guid] {
        fixture.directory.script.lock().unwrap().entries[0].2 = vec![
            ("entryuuid", vec![b"u-1"]),
            // Valid UTF-8 by chance.
            ("objectGUID", vec![b"0123456789abcdef"]),
            ("givenName", vec![b"Ada", b"Ren\xe9e"]),
            ("mail", vec![b"ren\xe9e@example.org"]),
            ("telephoneNumber", vec![b"text"]),
        ];
    }
    for (fixture, subject) in [(&fixture, "u-1"), (&guid, "30313233343536373839616263646566")] {
        let attempt = fixture.attempt("s1").await;
        let query = accepted(fixture.sign_in_to("s1", "ada", "right").await);
        let authentication =
            fixture.connector.complete_login(attempt, callback(&query)).await.unwrap();
        assert_eq!(authentication.upstream_subject.reveal(), subject);
        assert_eq!(
            Value::Object(authentication.claims),
            json!({ "givenName": "Ada", "telephoneNumber": "74657874" }),
            "a name in Latin-1 is left out, and no hexadecimal"
        );
    }
    let context = DiagnosisContext { redirect_uri: String::new(), required_claims: vec![] };
    let found = fixture.connector.diagnose(&context).await;
    let named = found.iter().any(|one| one.message.contains("givenName, mail is not UTF-8"));
    assert!(named, "{found:?}");
}

#[tokio::test]
async fn the_check_names_the_attribute_that_identifies_entries_of_this_directory() {
    let fixture = Fixture::new().await;
    fixture.directory.script.lock().unwrap().entries[0].2 =
        vec![("nsUniqueId", vec![b"6e1c3d81-1dd211b2-8001e5a0-5bd20000"])];
    let context = DiagnosisContext { redirect_uri: String::new(), required_claims: vec![] };
    let found = fixture.connector.diagnose(&context).await;
    let subject = found.iter().find(|one| one.name == "subject").unwrap();
    let fix = subject.fix.as_deref().unwrap_or_default();
    assert!(fix.contains("subject_attribute = \"nsUniqueId\""), "{fix}");
}

#[tokio::test]
async fn users_of_active_directory_may_write_their_domain() {
    let fixture = Fixture::with("domain = \"TOWN\"").await;
    let searched = |fixture: &Fixture| {
        let requests = fixture.directory.take_requests();
        requests.into_iter().find_map(|request| match request {
            LdapRequest::Search { value, .. } => Some(value),
            LdapRequest::Bind { .. } => None,
        })
    };
    for (username, found) in [
        ("TOWN\\ada", "ada"),
        ("town\\ada", "ada"),
        ("ada", "ada"),
        ("ada@town.example", "ada@town.example"),
        ("OTHER\\ada", "OTHER\\ada"),
    ] {
        accepted(fixture.sign_in(username, "right").await);
        assert_eq!(searched(&fixture).as_deref(), Some(found), "{username}");
    }
    // No account needs a userPrincipalName: the realm is that of base_dn.
    for (username, found) in [
        ("ada@EXAMPLE", "ada@EXAMPLE|ada"),
        ("TOWN\\ada@example", "ada@example|ada"),
        ("ada@town@example", "ada@town@example|ada@town"),
        ("ada@other.example", "ada@other.example"),
        ("@example", "@example"),
        ("ada)(uid=*@example", "ada)(uid=*@example|ada)(uid=*"),
    ] {
        accepted(fixture.sign_in(username, "right").await);
        assert_eq!(searched(&fixture).as_deref(), Some(found), "{username}");
    }
    assert!(is_rejected(&fixture.sign_in("TOWN\\", "right").await));
    assert_eq!(searched(&fixture), None, "no name is left");
}
