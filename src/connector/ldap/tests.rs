//! Tests against a fake directory. [`strangers`] has the tests of attackers without a password. The
//! peer tests use a real directory.

mod strangers;

use serde_json::json;

use super::fake_directory::{FakeDirectory, LdapRequest};
use super::*;
use crate::assurance::Level;
use crate::client_network::ClientNetwork;
use crate::connector::testing;
use crate::env::{ManualClock, SeededEntropy};

const NOW: u64 = 1_700_000_000;
/// The default of `lockout_minutes`.
const WINDOW: Duration = Duration::from_secs(15 * 60);
const ADA: &str = "uid=ada,ou=people,dc=example";

struct Fixture {
    clock: Arc<ManualClock>,
    connector: LdapConnector,
    directory: FakeDirectory,
}

impl Fixture {
    async fn new() -> Self {
        Self::with("").await
    }

    async fn with(more: &str) -> Self {
        let directory = FakeDirectory::start().await;
        directory.script.lock().unwrap().entries = vec![(
            ADA,
            "right",
            vec![
                ("entryuuid", vec![b"u-1"]),
                ("GivenName", vec![b"Ada", b"Augusta"]),
                ("mail", vec![b"ada@example.org"]),
                ("userPassword", vec![b"hash"]),
            ],
        )];
        let clock = Arc::new(ManualClock::at(Timestamp::from_seconds(NOW)));
        let internal = "internal_hosts = [\"127.0.0.1\"]";
        let url = format!("ldap://127.0.0.1:{}", directory.port);
        let connector = connector(&url, &format!("{internal}\n{more}"), &clock).unwrap();
        Self { clock, connector, directory }
    }

    async fn sign_in_to(
        &self,
        state: &str,
        username: &str,
        password: &str,
    ) -> Result<PasswordOutcome, ErrorCode> {
        self.sign_in_from([192, 0, 2, 1], state, username, password).await
    }

    async fn sign_in_from(
        &self,
        address: [u8; 4],
        state: &str,
        username: &str,
        password: &str,
    ) -> Result<PasswordOutcome, ErrorCode> {
        let secret = |text: &str| Secret::new(text.to_owned());
        let login = crate::ids::InteractionHash::new(state.get(..43).unwrap_or_default());
        let network = ClientNetwork::containing(address.into());
        let credentials = PasswordCredentials {
            login,
            state: state.into(),
            username: secret(username),
            password: secret(password),
            network,
        };
        self.connector.sign_in(credentials).await.map_err(|error| {
            for secret in ["ada", "right", "wrong", "u-1", "hub's own"] {
                assert!(!error.detail.contains(secret), "{secret} leaks: {}", error.detail);
            }
            error.code
        })
    }

    /// Signs in within a new login.
    async fn sign_in(&self, username: &str, password: &str) -> Result<PasswordOutcome, ErrorCode> {
        self.sign_in_to(&self.connector.env.entropy().token(), username, password).await
    }

    async fn attempt(&self, state: &str) -> LoginAttempt {
        let request = UpstreamAuthorizationRequest {
            state: state.into(),
            nonce: "n".into(),
            verifier: Secret::new("v".repeat(43)),
            redirect_uri: "https://hub.example/api/v2/callback/town".into(),
            level: Level::Eidas1,
            reauthenticate: true,
            max_age: Some(0),
            login_hint: None,
            ui_locales: None,
        };
        let left = self.connector.begin_login(request.clone()).await.unwrap();
        LoginAttempt {
            connector: "town".into(),
            request,
            redirected_at: Timestamp::from_seconds(NOW - 30),
            redirect: left,
        }
    }
}

fn connector(
    url: &str,
    more: &str,
    clock: &Arc<ManualClock>,
) -> Result<LdapConnector, ConnectorConfigError> {
    let text = format!(
        r#"
        name = {{ en = "Town hall" }}
        levels = {{ lowest = "eidas1", highest = "eidas1" }}
        assumed_level = "eidas1"
        amr = ["pwd"]
        [kind.ldap]
        url = "{url}"
        insecure_ldap = true
        bind_dn = "cn=hub"
        bind_password = {{ env = "X" }}
        base_dn = "ou=people,dc=example"
        attributes = ["givenName", "mail", "telephoneNumber"]
        {more}
        "#
    );
    let configured = testing::configured("town", &text, Some("hub's own"));
    let env = Env::new(Arc::clone(clock) as _, Arc::new(SeededEntropy::new(3)));
    let kind = configured.kind.downcast_ref().unwrap();
    LdapConnector::new(kind, &configured, testing::context(env))
}

fn callback(query: &str) -> CallbackParams {
    let pairs: std::collections::BTreeMap<_, _> =
        url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    CallbackParams {
        code: pairs.get("code").cloned().map(Secret::new),
        iss: pairs.get("iss").cloned(),
        ..CallbackParams::default()
    }
}

fn accepted(outcome: Result<PasswordOutcome, ErrorCode>) -> String {
    match outcome {
        Ok(PasswordOutcome::Accepted(query)) => query.into_inner(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_right_password_arrives_with_the_entrys_attributes() {
    let fixture = Fixture::new().await;
    let attempt = fixture.attempt("s1").await;
    assert_eq!(attempt.redirect.url, "https://hub.example/connectors/town/login?state=s1");
    let query = accepted(fixture.sign_in_to("s1", "ada", "right").await);
    let authentication =
        fixture.connector.complete_login(attempt.clone(), callback(&query)).await.unwrap();
    assert_eq!(authentication.upstream_subject.reveal(), "u-1");
    assert_eq!(
        (authentication.level, authentication.auth_time.seconds(), authentication.amr),
        (Level::Eidas1, NOW, UpstreamAmr::Absent)
    );
    assert_eq!(
        Value::Object(authentication.claims),
        json!({ "givenName": ["Ada", "Augusta"], "mail": "ada@example.org" })
    );
    let again = fixture.connector.complete_login(attempt, callback(&query)).await.unwrap_err();
    assert_eq!(again.code, ErrorCode::IdpCodeRefused, "a code works once");
    let bind =
        |dn: &str, password: &str| LdapRequest::Bind { dn: dn.into(), password: password.into() };
    let attributes =
        ["givenName", "mail", "telephoneNumber", "entryUUID"].map(String::from).to_vec();
    let search = LdapRequest::Search { filter: 3, value: "ada".into(), attributes };
    assert_eq!(
        fixture.directory.take_requests(),
        [bind("cn=hub", "hub's own"), search, bind(ADA, "right")]
    );
}

#[tokio::test]
async fn an_empty_password_is_refused_before_any_bind() {
    let fixture = Fixture::new().await;
    for (username, password) in [("ada", ""), ("", "right"), ("", "")] {
        assert_eq!(fixture.sign_in(username, password).await, Ok(PasswordOutcome::Rejected));
    }
    assert_eq!(
        fixture.directory.take_requests(),
        [],
        "an unauthenticated bind would have succeeded"
    );
    // The client rejects them by itself, too.
    assert_eq!(
        fixture.connector.directory.verify_password(ADA, &Secret::new(String::new())).await,
        Ok(false)
    );
    assert_eq!(
        fixture.connector.directory.verify_password("", &Secret::new("right".into())).await,
        Ok(false)
    );
    assert_eq!(fixture.directory.take_requests(), []);
}

#[tokio::test]
async fn an_entry_with_an_empty_dn_is_not_used_for_a_bind() {
    let fixture = Fixture::new().await;
    fixture.directory.script.lock().unwrap().entries[0].0 = "";
    assert_eq!(fixture.sign_in("ada", "anything").await, Ok(PasswordOutcome::Rejected));
}

#[tokio::test]
async fn ldap_injection_by_the_username_is_impossible() {
    let fixture = Fixture::new().await;
    for attack in ["*", "ada)(uid=*", "*)(|(objectClass=*", "ada\\2a", "\\", "ada\0", "(&)", "é*"]
    {
        fixture.sign_in(attack, "wrong").await.unwrap();
        let searches: Vec<LdapRequest> = fixture
            .directory
            .take_requests()
            .into_iter()
            .filter(|request| matches!(request, LdapRequest::Search { .. }))
            .collect();
        let [LdapRequest::Search { filter: 3, value, .. }] = searches.as_slice() else {
            panic!("{attack}: {searches:?}")
        };
        assert_eq!(value, attack, "compared literally");
    }
}

#[tokio::test]
async fn a_wrong_name_and_a_wrong_password_are_indistinguishable() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.sign_in("ada", "wrong").await, Ok(PasswordOutcome::Rejected));
    let wrong_password = fixture.directory.take_requests();
    let entry = fixture.directory.script.lock().unwrap().entries.pop().unwrap();
    assert_eq!(fixture.sign_in("eve", "wrong").await, Ok(PasswordOutcome::Rejected));
    let wrong_name = fixture.directory.take_requests();
    assert_eq!(wrong_name.len(), wrong_password.len(), "the same requests");
    assert!(
        matches!(&wrong_name[2], LdapRequest::Bind { dn, password } if dn.starts_with("cn=") && dn != "cn=hub" && password == "wrong")
    );
    // Two entries are rejected, even with the password of one.
    fixture.directory.script.lock().unwrap().entries =
        vec![entry.clone(), ("uid=other", "right", entry.2.clone())];
    assert_eq!(fixture.sign_in("a", "right").await, Ok(PasswordOutcome::Rejected));
    fixture.directory.script.lock().unwrap().entries = vec![entry];
    fixture.directory.script.lock().unwrap().search_result = Some(4);
    assert_eq!(
        fixture.sign_in("b", "right").await,
        Ok(PasswordOutcome::Rejected),
        "more than one entry"
    );
}

#[tokio::test]
async fn password_guessing_is_limited_across_spellings_and_logins() {
    let fixture = Fixture::new().await;
    for spelling in ["ADA", "uid by mail"] {
        assert_eq!(
            fixture.sign_in(spelling, "wrong").await,
            Ok(PasswordOutcome::Rejected),
            "{spelling}"
        );
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
        assert_eq!(
            fixture.sign_in_to(&"h".repeat(86), &format!("n{name}"), "wrong").await,
            Ok(PasswordOutcome::Rejected)
        );
    }
    // The same login with the state of another attempt.
    let state = format!("{}{}", "h".repeat(43), "i".repeat(43));
    assert!(matches!(
        fixture.sign_in_to(&state, "other", "wrong").await,
        Ok(PasswordOutcome::RateLimited(_))
    ));
    assert_eq!(fixture.sign_in("other", "wrong").await, Ok(PasswordOutcome::Rejected));
}

#[tokio::test]
async fn guesses_at_the_same_moment_are_counted_too() {
    let fixture = Fixture::new().await;
    let guesses =
        futures_util::future::join_all((0..40).map(|_| fixture.sign_in("ada", "wrong"))).await;
    assert_eq!(
        guesses.iter().filter(|outcome| **outcome == Ok(PasswordOutcome::Rejected)).count(),
        2
    );
}

#[tokio::test]
async fn neither_success_nor_a_broken_directory_uses_up_attempts() {
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
async fn each_failure_of_a_directory_has_its_own_code() {
    let fixture = Fixture::new().await;
    let set = |change: &dyn Fn(&mut super::fake_directory::DirectoryScript)| {
        change(&mut fixture.directory.script.lock().unwrap())
    };
    for locked in [19, 53] {
        set(&|script| script.bind_result = Some(locked));
        assert_eq!(
            fixture.sign_in("ada", "right").await,
            Ok(PasswordOutcome::Rejected),
            "a locked account looks like a wrong password"
        );
    }
    fixture.clock.advance(WINDOW);
    set(&|script| (script.bind_result, script.search_result) = (None, Some(32)));
    assert_eq!(
        fixture.sign_in("ada", "right").await,
        Err(ErrorCode::LdapAnswer),
        "base_dn does not exist"
    );
    set(&|script| {
        (script.search_result, script.raw_response) = (None, Some(b"\x30\x03\x02\x01\x01".to_vec()))
    });
    assert_eq!(fixture.sign_in("ada", "right").await, Err(ErrorCode::LdapAnswer));
    set(&|script| script.raw_response = None);
    for subject in [vec![], vec![b"u-1".as_slice(), b"u-2"], vec![b" ".as_slice()]] {
        set(&|script| script.entries[0].2[0].1.clone_from(&subject));
        assert_eq!(
            fixture.sign_in("ada", "right").await,
            Err(ErrorCode::LdapSubject),
            "{subject:?}"
        );
    }
    set(&|script| script.entries[0].2[0].1 = vec![&[0xff, 0x00, 0x10]]);
    accepted(fixture.sign_in("ada", "right").await);
    let value = Box::leak("x".repeat(65 << 10).into_boxed_str()).as_bytes();
    set(&|script| script.entries[0].2[1].1 = vec![value]);
    assert_eq!(fixture.sign_in("ada", "right").await, Err(ErrorCode::IdpTooLarge));
}

#[tokio::test]
async fn preload_fails_if_the_directory_is_down_or_rejects_the_hub() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.connector.preload().await, Ok(()));
    let stranger = connector(
        &format!("ldap://127.0.0.1:{}", fixture.directory.port),
        "internal_hosts = [\"127.0.0.1\"]\n",
        &fixture.clock,
    );
    let stranger = LdapConnector {
        directory: Arc::new(with_password(&fixture, "not the hub's")),
        ..stranger.unwrap()
    };
    assert_eq!(stranger.preload().await.unwrap_err().code, ErrorCode::LdapAccount);
    fixture.directory.script.lock().unwrap().account_bind_result = Some(53);
    let banned = stranger.preload().await.unwrap_err();
    assert!(
        banned.detail.contains("temporarily rejects binds from this address"),
        "{}",
        banned.detail
    );
    let port = fixture.directory.port;
    drop(fixture.directory);
    let gone = connector(
        &format!("ldap://127.0.0.1:{port}"),
        "internal_hosts = [\"127.0.0.1\"]\n",
        &fixture.clock,
    )
    .unwrap();
    tokio::task::yield_now().await;
    assert_eq!(gone.preload().await.unwrap_err().code, ErrorCode::IdpUnreachable);
}

fn with_password(fixture: &Fixture, password: &str) -> LdapDirectory {
    let text = format!(
        "url = \"ldap://127.0.0.1:{}\"\nbind_dn = \"cn=hub\"\nbind_password = {{ env = \"X\" }}\nbase_dn = \"dc=example\"\n\
         internal_hosts = [\"127.0.0.1\"]\n",
        fixture.directory.port
    );
    LdapDirectory::new(&toml::from_str::<LdapKind>(&text).unwrap(), Secret::new(password.into()))
        .unwrap()
}

#[tokio::test]
async fn a_code_of_another_login_or_another_issuer_is_refused() {
    let fixture = Fixture::new().await;
    let query = accepted(fixture.sign_in_to("s1", "ada", "right").await);
    let stolen = fixture
        .connector
        .complete_login(fixture.attempt("s2").await, callback(&query))
        .await
        .unwrap_err();
    assert_eq!(stolen.code, ErrorCode::IdpCodeRefused);
    let query = accepted(fixture.sign_in_to("s1", "ada", "right").await);
    let own = fixture.attempt("s1").await;
    let forged =
        CallbackParams { iss: Some("urn:passerelle:ldap:other".into()), ..callback(&query) };
    assert_eq!(
        fixture.connector.complete_login(own.clone(), forged).await.unwrap_err().code,
        ErrorCode::IdpIssWrong
    );
    let bare = CallbackParams { iss: None, ..callback(&query) };
    assert_eq!(
        fixture.connector.complete_login(own.clone(), bare).await.unwrap_err().code,
        ErrorCode::IdpIssMissing
    );
    let mut high = own;
    high.request.level = Level::Eidas2;
    assert_eq!(
        fixture.connector.complete_login(high, callback(&query)).await.unwrap_err().code,
        ErrorCode::AcrTooLow
    );
}

#[test]
fn an_invalid_file_is_rejected_with_its_key() {
    let clock = Arc::new(ManualClock::default());
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, "no certificate").unwrap();
    let ca = format!("ca = {:?}", ca.display().to_string());
    for (url, more, key) in [
        ("ldap://127.0.0.1", "", "kind.ldap.url"),
        ("ldaps://dir.example", "filter = \"(uid={username}\"", "kind.ldap.filter"),
        ("ldaps://dir.example", "filter = \"((uid={username})\"", "kind.ldap.filter"),
        ("ldaps://dir.example", "ca = \"/nowhere.pem\"", "kind.ldap.ca"),
        ("ldaps://dir.example", ca.as_str(), "kind.ldap.ca"),
    ] {
        assert_eq!(connector(url, more, &clock).err().unwrap().key, key, "{url} {more}");
    }
}

#[tokio::test]
async fn diagnostics_of_a_directory_contain_no_values_of_entries() {
    use crate::connector::diagnostic::DiagnosticStatus;
    use crate::identity::Claim;
    let context = DiagnosisContext {
        redirect_uri: String::new(),
        required_claims: vec![(Claim::FamilyName, vec!["sn".into()]), (Claim::Gender, vec![])],
    };
    let fixture = Fixture::new().await;
    let diagnostics = fixture.connector.diagnose(&context).await;
    let statuses: Vec<_> =
        diagnostics.iter().map(|diagnostic| (diagnostic.name, diagnostic.status)).collect();
    assert_eq!(
        statuses,
        [
            ("reachable", DiagnosticStatus::Ok),
            ("certificate", DiagnosticStatus::Warning), // there is no TLS in this test
            ("account", DiagnosticStatus::Ok),
            ("base-dn", DiagnosticStatus::Ok),
            ("filter", DiagnosticStatus::Ok),
            ("subject", DiagnosticStatus::Ok),
            ("attributes", DiagnosticStatus::Warning), // no entry has a telephoneNumber
            ("claims", DiagnosticStatus::Warning),     // sn is not read
        ]
    );
    let page = include_str!("../../../docs/checking-a-connector.md");
    for ConnectorDiagnostic { name, message, .. } in &diagnostics {
        assert!(page.contains(&format!("| `{name}` |")), "{name} is not explained");
        assert!(
            !["ada", "u-1", "Augusta"].iter().any(|value| message.contains(value)),
            "{message}"
        );
    }
    let requests = fixture.directory.take_requests();
    let presence =
        |request: &&LdapRequest| matches!(request, LdapRequest::Search { filter: 7, .. });
    assert_eq!(
        requests.iter().filter(presence).count(),
        2,
        "the base entry and all users: {requests:?}"
    );
    fixture.directory.script.lock().unwrap().search_result = Some(32);
    let diagnostics = fixture.connector.diagnose(&context).await;
    assert_eq!(
        diagnostics
            .iter()
            .find(|diagnostic| diagnostic.status == DiagnosticStatus::Error)
            .map(|diagnostic| diagnostic.name),
        Some("base-dn")
    );
    fixture.directory.script.lock().unwrap().raw_response =
        Some(vec![0x30, 0x03, 0x02, 0x01, 0x01]);
    let diagnostics = fixture.connector.diagnose(&context).await;
    assert!(
        diagnostics.iter().any(|diagnostic| diagnostic.name == "account"
            && diagnostic.status == DiagnosticStatus::Error),
        "{diagnostics:?}"
    );
}
