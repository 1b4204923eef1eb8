//! What a directory must not let happen; in [`strangers`], what they must not bring about. A real one is among the peers.

mod strangers;

use arc_swap::ArcSwap;
use serde_json::json;

use super::fake_directory::{FakeDirectory, Said};
use super::*;
use crate::assurance::Level;
use crate::client_network::ClientNetwork;
use crate::config::model::ConnectorKind;
use crate::connector::Sandbox;
use crate::egress::shared::Guards;
use crate::env::{HandClock, SeededEntropy};
use crate::token::UpstreamKeys;

const NOW: u64 = 1_700_000_000;
/// The default of `lockout_minutes`.
const WINDOW: Duration = Duration::from_secs(15 * 60);
const ADA: &str = "uid=ada,ou=people,dc=example";

struct World {
    clock: Arc<HandClock>,
    connector: LdapConnector,
    directory: FakeDirectory,
}

impl World {
    async fn new() -> Self {
        Self::with("").await
    }

    async fn with(more: &str) -> Self {
        let directory = FakeDirectory::start().await;
        directory.script.lock().unwrap().found = vec![(
            ADA,
            "right",
            vec![
                ("entryuuid", vec![b"u-1"]),
                ("GivenName", vec![b"Ada", b"Augusta"]),
                ("mail", vec![b"ada@example.org"]),
                ("userPassword", vec![b"hash"]),
            ],
        )];
        let clock = Arc::new(HandClock::at(Timestamp::from_seconds(NOW)));
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
    ) -> Result<SignedIn, ErrorCode> {
        self.sign_in_from([192, 0, 2, 1], state, username, password).await
    }

    async fn sign_in_from(
        &self,
        address: [u8; 4],
        state: &str,
        username: &str,
        password: &str,
    ) -> Result<SignedIn, ErrorCode> {
        let secret = |text: &str| Secret::new(text.to_owned());
        let login = crate::ids::InteractionHash::new(state.get(..43).unwrap_or_default());
        let network = ClientNetwork::containing(address.into());
        let typed = Typed {
            login,
            state: state.into(),
            username: secret(username),
            password: secret(password),
            network,
        };
        self.connector.sign_in(typed).await.map_err(|fault| {
            for secret in ["ada", "right", "wrong", "u-1", "hub's own"] {
                assert!(!fault.detail.contains(secret), "{secret} leaks: {}", fault.detail);
            }
            fault.code
        })
    }

    /// Each in a login of its own.
    async fn sign_in(&self, username: &str, password: &str) -> Result<SignedIn, ErrorCode> {
        self.sign_in_to(&self.connector.env.entropy().token(), username, password).await
    }

    async fn attempt(&self, state: &str) -> Attempt {
        let departure = Departure {
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
        let left = self.connector.begin(departure.clone()).await.unwrap();
        Attempt {
            connector: "town".into(),
            state: departure.state,
            nonce: departure.nonce,
            verifier: departure.verifier,
            redirect_uri: departure.redirect_uri,
            level: departure.level,
            reauthenticate: true,
            max_age: Some(0),
            left_at: Timestamp::from_seconds(NOW - 30),
            left,
        }
    }
}

fn connector(
    url: &str,
    more: &str,
    clock: &Arc<HandClock>,
) -> Result<LdapConnector, ConnectorRefused> {
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
    let file: ConnectorFile = toml::from_str(&text).unwrap();
    let ConnectorKind::Ldap(kind) = &file.kind else { panic!("not ldap") };
    let env = Env::new(Arc::clone(clock) as _, Arc::new(SeededEntropy::new(3)));
    let means = ConnectorContext {
        env,
        keys: Arc::new(ArcSwap::from_pointee(UpstreamKeys::none())),
        sandbox: Sandbox::Off,
        guards: Guards::default(),
        codes: crate::connector::one_time::in_memory::codes(),
    };
    LdapConnector::new("town".into(), &file, kind, Some(Secret::new("hub's own".into())), means)
}

fn arrival(query: &str) -> Arrival {
    let pairs: std::collections::BTreeMap<_, _> =
        url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    Arrival {
        code: pairs.get("code").cloned().map(Secret::new),
        iss: pairs.get("iss").cloned(),
        ..Arrival::default()
    }
}

fn accepted(outcome: Result<SignedIn, ErrorCode>) -> String {
    match outcome {
        Ok(SignedIn::Yes(query)) => query.into_inner(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_right_password_arrives_with_the_entrys_attributes() {
    let world = World::new().await;
    let attempt = world.attempt("s1").await;
    assert_eq!(attempt.left.url, "https://hub.example/connectors/town/login?state=s1");
    let query = accepted(world.sign_in_to("s1", "ada", "right").await);
    let proven = world.connector.complete(attempt.clone(), arrival(&query)).await.unwrap();
    assert_eq!(proven.upstream_subject.reveal(), "u-1");
    assert_eq!(
        (proven.level, proven.auth_time.seconds(), proven.amr),
        (Level::Eidas1, NOW, Told::Nothing)
    );
    assert_eq!(
        Value::Object(proven.claims),
        json!({ "givenName": ["Ada", "Augusta"], "mail": "ada@example.org" })
    );
    let again = world.connector.complete(attempt, arrival(&query)).await.unwrap_err();
    assert_eq!(again.code, ErrorCode::IdpCodeRefused, "once");
    let bind = |dn: &str, password: &str| Said::Bind { dn: dn.into(), password: password.into() };
    let attributes =
        ["givenName", "mail", "telephoneNumber", "entryUUID"].map(String::from).to_vec();
    let search = Said::Search { filter: 3, value: "ada".into(), attributes };
    assert_eq!(world.directory.said(), [bind("cn=hub", "hub's own"), search, bind(ADA, "right")]);
}

#[tokio::test]
async fn an_empty_password_is_refused_before_any_bind() {
    let world = World::new().await;
    for (username, password) in [("ada", ""), ("", "right"), ("", "")] {
        assert_eq!(world.sign_in(username, password).await, Ok(SignedIn::No));
    }
    assert_eq!(world.directory.said(), [], "an unauthenticated bind would have succeeded");
    // And not even where nothing stands before it.
    assert_eq!(world.connector.directory.proves(ADA, &Secret::new(String::new())).await, Ok(false));
    assert_eq!(world.connector.directory.proves("", &Secret::new("right".into())).await, Ok(false));
    assert_eq!(world.directory.said(), []);
}

#[tokio::test]
async fn an_entry_without_a_name_is_not_bound_as() {
    let world = World::new().await;
    world.directory.script.lock().unwrap().found[0].0 = "";
    assert_eq!(world.sign_in("ada", "anything").await, Ok(SignedIn::No));
}

#[tokio::test]
async fn what_is_typed_never_becomes_a_filter() {
    let world = World::new().await;
    for attack in ["*", "ada)(uid=*", "*)(|(objectClass=*", "ada\\2a", "\\", "ada\0", "(&)", "é*"]
    {
        world.sign_in(attack, "wrong").await.unwrap();
        let searches: Vec<Said> = world
            .directory
            .said()
            .into_iter()
            .filter(|said| matches!(said, Said::Search { .. }))
            .collect();
        let [Said::Search { filter: 3, value, .. }] = searches.as_slice() else {
            panic!("{attack}: {searches:?}")
        };
        assert_eq!(value, attack, "compared as it was typed");
    }
}

#[tokio::test]
async fn whether_the_name_or_the_password_was_wrong_shows_nowhere() {
    let world = World::new().await;
    assert_eq!(world.sign_in("ada", "wrong").await, Ok(SignedIn::No));
    let wrong_password = world.directory.said();
    let person = world.directory.script.lock().unwrap().found.pop().unwrap();
    assert_eq!(world.sign_in("eve", "wrong").await, Ok(SignedIn::No));
    let wrong_name = world.directory.said();
    assert_eq!(wrong_name.len(), wrong_password.len(), "the same conversation");
    assert!(
        matches!(&wrong_name[2], Said::Bind { dn, password } if dn.starts_with("cn=") && dn != "cn=hub" && password == "wrong")
    );
    // Two entries are nobody, even with the password of one.
    world.directory.script.lock().unwrap().found =
        vec![person.clone(), ("uid=other", "right", person.2.clone())];
    assert_eq!(world.sign_in("a", "right").await, Ok(SignedIn::No));
    world.directory.script.lock().unwrap().found = vec![person];
    world.directory.script.lock().unwrap().search = Some(4);
    assert_eq!(world.sign_in("b", "right").await, Ok(SignedIn::No), "one of many");
}

#[tokio::test]
async fn guessing_a_password_is_limited_whatever_the_spelling_and_the_login() {
    let world = World::new().await;
    for spelling in ["ADA", "uid by mail"] {
        assert_eq!(world.sign_in(spelling, "wrong").await, Ok(SignedIn::No), "{spelling}");
    }
    world.directory.said();
    for (username, password) in [
        ("ada", "wrong"),
        (" ada", "right"),
        ("ａｄａ", "right"),
        ("yet another spelling", "right"),
    ] {
        assert!(
            matches!(world.sign_in(username, password).await, Ok(SignedIn::Wait(_))),
            "{username}"
        );
    }
    let bound = |said: &Said| matches!(said, Said::Bind { dn, .. } if dn != "cn=hub");
    assert!(!world.directory.said().iter().any(bound), "no password was judged");
    world.clock.advance(WINDOW);
    accepted(world.sign_in("ada", "right").await);
}

#[tokio::test]
async fn guessing_names_is_limited_within_a_login() {
    let world = World::new().await;
    world.directory.script.lock().unwrap().found = vec![];
    for name in 0..WRONG_IN_A_LOGIN {
        assert_eq!(
            world.sign_in_to(&"h".repeat(86), &format!("n{name}"), "wrong").await,
            Ok(SignedIn::No)
        );
    }
    // The same login by another attempt's state.
    let state = format!("{}{}", "h".repeat(43), "i".repeat(43));
    assert!(matches!(world.sign_in_to(&state, "other", "wrong").await, Ok(SignedIn::Wait(_))));
    assert_eq!(world.sign_in("other", "wrong").await, Ok(SignedIn::No));
}

#[tokio::test]
async fn guesses_at_the_same_moment_are_counted_too() {
    let world = World::new().await;
    let guesses =
        futures_util::future::join_all((0..40).map(|_| world.sign_in("ada", "wrong"))).await;
    assert_eq!(guesses.iter().filter(|outcome| **outcome == Ok(SignedIn::No)).count(), 2);
}

#[tokio::test]
async fn neither_success_nor_a_broken_directory_uses_up_tries() {
    let world = World::new().await;
    for _ in 0..20 {
        accepted(world.sign_in("ada", "right").await);
    }
    world.directory.script.lock().unwrap().bind = Some(51);
    for _ in 0..20 {
        assert_eq!(world.sign_in("ada", "right").await, Err(ErrorCode::LdapAnswer));
    }
    world.directory.script.lock().unwrap().bind = None;
    accepted(world.sign_in("ada", "right").await);
}

#[tokio::test]
async fn a_broken_directory_has_a_code_for_each_way() {
    let world = World::new().await;
    let set = |change: &dyn Fn(&mut super::fake_directory::Script)| {
        change(&mut world.directory.script.lock().unwrap())
    };
    for locked in [19, 53] {
        set(&|script| script.bind = Some(locked));
        assert_eq!(
            world.sign_in("ada", "right").await,
            Ok(SignedIn::No),
            "a locked account is told like a wrong password"
        );
    }
    world.clock.advance(WINDOW);
    set(&|script| (script.bind, script.search) = (None, Some(32)));
    assert_eq!(
        world.sign_in("ada", "right").await,
        Err(ErrorCode::LdapAnswer),
        "base_dn leads nowhere"
    );
    set(&|script| (script.search, script.noise) = (None, Some(b"\x30\x03\x02\x01\x01".to_vec())));
    assert_eq!(world.sign_in("ada", "right").await, Err(ErrorCode::LdapAnswer));
    set(&|script| script.noise = None);
    for subject in [vec![], vec![b"u-1".as_slice(), b"u-2"], vec![b" ".as_slice()]] {
        set(&|script| script.found[0].2[0].1.clone_from(&subject));
        assert_eq!(world.sign_in("ada", "right").await, Err(ErrorCode::LdapSubject), "{subject:?}");
    }
    set(&|script| script.found[0].2[0].1 = vec![&[0xff, 0x00, 0x10]]);
    accepted(world.sign_in("ada", "right").await);
    let kept = Box::leak("x".repeat(65 << 10).into_boxed_str()).as_bytes();
    set(&|script| script.found[0].2[1].1 = vec![kept]);
    assert_eq!(world.sign_in("ada", "right").await, Err(ErrorCode::IdpTooLarge));
}

#[tokio::test]
async fn a_directory_that_is_away_or_refuses_the_hub_is_told_when_it_is_warmed() {
    let world = World::new().await;
    assert_eq!(world.connector.warm().await, Ok(()));
    let stranger = connector(
        &format!("ldap://127.0.0.1:{}", world.directory.port),
        "internal_hosts = [\"127.0.0.1\"]\n",
        &world.clock,
    );
    let stranger = LdapConnector {
        directory: Arc::new(with_password(&world, "not the hub's")),
        ..stranger.unwrap()
    };
    assert_eq!(stranger.warm().await.unwrap_err().code, ErrorCode::LdapAccount);
    world.directory.script.lock().unwrap().account_bind = Some(53);
    let banned = stranger.warm().await.unwrap_err();
    assert!(
        banned.detail.contains("refuses binds from this address for a while"),
        "{}",
        banned.detail
    );
    let port = world.directory.port;
    drop(world.directory);
    let gone = connector(
        &format!("ldap://127.0.0.1:{port}"),
        "internal_hosts = [\"127.0.0.1\"]\n",
        &world.clock,
    )
    .unwrap();
    tokio::task::yield_now().await;
    assert_eq!(gone.warm().await.unwrap_err().code, ErrorCode::IdpUnreachable);
}

fn with_password(world: &World, password: &str) -> Directory {
    let text = format!(
        "url = \"ldap://127.0.0.1:{}\"\nbind_dn = \"cn=hub\"\nbind_password = {{ env = \"X\" }}\nbase_dn = \"dc=example\"\n\
         internal_hosts = [\"127.0.0.1\"]\n",
        world.directory.port
    );
    Directory::new(&toml::from_str::<LdapKind>(&text).unwrap(), Secret::new(password.into()))
        .unwrap()
}

#[tokio::test]
async fn a_code_of_another_login_or_another_issuer_is_refused() {
    let world = World::new().await;
    let query = accepted(world.sign_in_to("s1", "ada", "right").await);
    let stolen =
        world.connector.complete(world.attempt("s2").await, arrival(&query)).await.unwrap_err();
    assert_eq!(stolen.code, ErrorCode::IdpCodeRefused);
    let query = accepted(world.sign_in_to("s1", "ada", "right").await);
    let own = world.attempt("s1").await;
    let forged = Arrival { iss: Some("urn:passerelle:ldap:other".into()), ..arrival(&query) };
    assert_eq!(
        world.connector.complete(own.clone(), forged).await.unwrap_err().code,
        ErrorCode::IdpIssWrong
    );
    let bare = Arrival { iss: None, ..arrival(&query) };
    assert_eq!(
        world.connector.complete(own.clone(), bare).await.unwrap_err().code,
        ErrorCode::IdpIssMissing
    );
    let high = Attempt { level: Level::Eidas2, ..own };
    assert_eq!(
        world.connector.complete(high, arrival(&query)).await.unwrap_err().code,
        ErrorCode::AcrTooLow
    );
}

#[test]
fn a_file_that_can_not_work_is_refused_with_its_key() {
    let clock = Arc::new(HandClock::default());
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
async fn an_examined_directory_is_told_in_words_and_without_anybodys_values() {
    use crate::connector::finding::Verdict;
    use crate::identity::Claim;
    let examination = Examination {
        redirect_uri: String::new(),
        needed: vec![(Claim::FamilyName, vec!["sn".into()]), (Claim::Gender, vec![])],
    };
    let world = World::new().await;
    let found = world.connector.examine(&examination).await;
    let verdicts: Vec<_> = found.iter().map(|finding| (finding.name, finding.verdict)).collect();
    let warned = Verdict::Warning;
    assert_eq!(
        verdicts,
        [
            ("reachable", Verdict::Ok),
            ("certificate", warned), // there is no TLS in this test
            ("account", Verdict::Ok),
            ("base-dn", Verdict::Ok),
            ("filter", Verdict::Ok),
            ("subject", Verdict::Ok),
            ("attributes", warned), // nobody has a telephoneNumber
            ("claims", warned),     // nor is sn read
        ]
    );
    let page = include_str!("../../../docs/checking-a-connector.md");
    for Finding { name, what, .. } in &found {
        assert!(page.contains(&format!("| `{name}` |")), "{name} is not explained");
        assert!(!["ada", "u-1", "Augusta"].iter().any(|value| what.contains(value)), "{what}");
    }
    let said = world.directory.said();
    let presence = |said: &&Said| matches!(said, Said::Search { filter: 7, .. });
    assert_eq!(said.iter().filter(presence).count(), 2, "the base entry and anybody: {said:?}");
    world.directory.script.lock().unwrap().search = Some(32);
    let found = world.connector.examine(&examination).await;
    assert_eq!(
        found.iter().find(|finding| finding.verdict == Verdict::Fault).map(|finding| finding.name),
        Some("base-dn")
    );
    world.directory.script.lock().unwrap().noise = Some(vec![0x30, 0x03, 0x02, 0x01, 0x01]);
    let found = world.connector.examine(&examination).await;
    assert!(
        found.iter().any(|finding| finding.name == "account" && finding.verdict == Verdict::Fault),
        "{found:?}"
    );
}
