//! Tests against a fake directory. [`strangers`] has the tests of attackers without a password. The
//! peer tests use a real directory.

mod account_state;
mod failures;
mod guessing;
mod many_values;
mod refused_accounts;
mod strangers;

use serde_json::json;

use super::*;
use crate::testing::fake_directory::{FakeDirectory, LdapRequest};
use passerelle_connector::testing::connectors;
use passerelle_federation::assurance::Level;
use passerelle_federation::assurance::amr::UpstreamAmr;
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};

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
        let connector =
            connector(&url, &format!("{internal}\nlockout_after = 5\n{more}"), &clock).unwrap();
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
        let login =
            passerelle_protocol::ids::InteractionHash::new(state.get(..43).unwrap_or_default());
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
            auth_time_required: true,
            level_names: Vec::new(),
            login_hint: None,
            forwarded: std::collections::BTreeMap::new(),
            requester: None,
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
) -> Result<LdapConnector, FieldDiagnostic> {
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
    let configured = connectors::configured_of(&[crate::KIND], "town", &text, Some("hub's own"));
    let env = Env::new(Arc::clone(clock) as _, Arc::new(SeededEntropy::new(3)));
    let kind = configured.kind.downcast_ref().unwrap();
    LdapConnector::new(kind, &configured, connectors::context(env))
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
        Ok(PasswordOutcome::Accepted { callback_query, notice: None }) => {
            callback_query.into_inner()
        }
        other => panic!("{other:?}"),
    }
}

fn is_rejected(outcome: &Result<PasswordOutcome, ErrorCode>) -> bool {
    matches!(outcome, Ok(PasswordOutcome::Rejected { .. }))
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
        (authentication.level, authentication.auth_time.unwrap().seconds(), authentication.amr),
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
        assert!(is_rejected(&fixture.sign_in(username, password).await));
    }
    assert_eq!(
        fixture.directory.take_requests(),
        [],
        "an unauthenticated bind would have succeeded"
    );
    // The client rejects them by itself, too.
    let directory = &fixture.connector.directory;
    for (dn, password) in [(ADA, ""), ("", "right")] {
        let connection = directory.connect().await.unwrap();
        assert_eq!(
            directory.verify_password(connection, dn, &Secret::new(password.into())).await,
            Ok(BindOutcome::Rejected)
        );
    }
    assert_eq!(fixture.directory.take_requests(), []);
}

#[tokio::test]
async fn an_entry_with_an_empty_dn_is_not_used_for_a_bind() {
    let fixture = Fixture::new().await;
    fixture.directory.script.lock().unwrap().entries[0].0 = "";
    assert!(is_rejected(&fixture.sign_in("ada", "anything").await));
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
    assert!(is_rejected(&fixture.sign_in("ada", "wrong").await));
    let wrong_password = fixture.directory.take_requests();
    let entry = fixture.directory.script.lock().unwrap().entries.pop().unwrap();
    assert!(is_rejected(&fixture.sign_in("eve", "wrong").await));
    let wrong_name = fixture.directory.take_requests();
    assert_eq!(wrong_name.len(), wrong_password.len(), "the same requests");
    assert!(
        matches!(&wrong_name[2], LdapRequest::Bind { dn, password } if dn.starts_with("cn=") && dn != "cn=hub" && password == "wrong")
    );
    // Two entries are rejected, even with the password of one.
    fixture.directory.script.lock().unwrap().entries =
        vec![entry.clone(), ("uid=other", "right", entry.2.clone())];
    assert!(is_rejected(&fixture.sign_in("a", "right").await));
    fixture.directory.script.lock().unwrap().entries = vec![entry];
    fixture.directory.script.lock().unwrap().search_result = Some(4);
    assert!(is_rejected(&fixture.sign_in("b", "right").await), "more than one entry");
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
