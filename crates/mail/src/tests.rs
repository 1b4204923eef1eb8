//! The hub against an SMTP server with faults. `tests/peers/mail.test.mjs` has a real one.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lettre::message::Message;
use passerelle_federation::identity::scopes::ScopeTable;
use passerelle_federation::{Federation, UnavailableDisplay};
use passerelle_grants::HubCore;
use passerelle_hub::mail_codes::{
    MAX_WRONG_CODES_PER_DAY, MailCode, MailCodeError, MailCodes as _, MailUser,
};
use passerelle_localization::Languages;
use passerelle_protocol::env::{Clock as _, Env, Timestamp};
use passerelle_protocol::ids::{Secret, SupportId};
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
use passerelle_store::memory::MemoryStore;
use passerelle_store::{Capacities, Store, Usage};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::mailer::Mailer;
use super::message::{MailContent, MailSender};
use super::person::{MAIL_LOGIN, MAIL_PERSON};
use super::queue::MAIL_QUEUE;
use super::settings::{
    ConnectionSecurity, MailConfig, MailSettings, SubmissionServer, parse_address,
};
use super::smtp_client::{SmtpClient, SmtpError};

const START: Timestamp = Timestamp::from_seconds(1_800_000_000);
const CODE_LIFETIME: Duration = Duration::from_secs(600);
const MINUTE: Duration = Duration::from_secs(60);

/// An SMTP server. It answers RCPT with the next of `replies`, and 250 when there is none.
struct FaultyServer {
    port: u16,
    mails: Arc<Mutex<Vec<String>>>,
    replies: Arc<Mutex<VecDeque<&'static str>>>,
    connections: Arc<Mutex<usize>>,
}

impl FaultyServer {
    async fn start(ehlo: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Self {
            port,
            mails: Arc::default(),
            replies: Arc::default(),
            connections: Arc::default(),
        };
        let (mails, replies) = (Arc::clone(&server.mails), Arc::clone(&server.replies));
        let connections = Arc::clone(&server.connections);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                *connections.lock().unwrap() += 1;
                tokio::spawn(serve(stream, ehlo, Arc::clone(&mails), Arc::clone(&replies)));
            }
        });
        server
    }

    fn answer(&self, replies: &[&'static str]) {
        self.replies.lock().unwrap().extend(replies);
    }

    fn mails(&self) -> Vec<String> {
        self.mails.lock().unwrap().clone()
    }
}

async fn serve(
    stream: TcpStream,
    ehlo: &'static str,
    mails: Arc<Mutex<Vec<String>>>,
    replies: Arc<Mutex<VecDeque<&'static str>>>,
) -> Option<()> {
    let mut stream = BufReader::new(stream);
    stream.write_all(b"220 faulty\r\n").await.ok()?;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let reply = match line.get(..4)?.to_ascii_uppercase().as_str() {
            "EHLO" => ehlo.to_owned(),
            "RCPT" => replies.lock().unwrap().pop_front().unwrap_or("250 ok").to_owned(),
            "STAR" => "220 go\r\n250 injected before TLS".to_owned(),
            "DATA" => {
                stream.write_all(b"354 go\r\n").await.ok()?;
                let mut mail = String::new();
                while !mail.ends_with("\r\n.\r\n") {
                    stream.read_line(&mut mail).await.ok()?;
                }
                mails.lock().unwrap().push(mail);
                "250 accepted".to_owned()
            }
            _ => "250 ok".to_owned(),
        };
        stream.write_all(format!("{reply}\r\n").as_bytes()).await.ok()?;
    }
}

fn config() -> MailConfig {
    serde_json::from_value(serde_json::json!({
        "url": "smtp://localhost", "from": "hub@example.org",
        "mails_per_address": 3, "mails_per_person": 4, "internal_hosts": ["127.0.0.1"],
    }))
    .unwrap()
}

fn client(port: u16, security: ConnectionSecurity) -> SmtpClient {
    let host = url::Host::parse("127.0.0.1").unwrap();
    let from = parse_address("hub@example.org").unwrap();
    let server = SubmissionServer { host, port, security };
    SmtpClient::new(&server, &config(), None, None, &from).unwrap()
}

fn sender() -> MailSender {
    MailSender {
        from: parse_address("hub@example.org").unwrap(),
        reply_to: None,
        name: BTreeMap::from([("en".to_owned(), "Hub of <Riverside>".to_owned())]),
        colour: "#123456".to_owned(),
    }
}

/// Hubs that share a store.
struct World {
    clock: Arc<ManualClock>,
    store: Arc<dyn Store>,
    env: Env,
}

impl World {
    fn new() -> Self {
        super::EXTENSION.install();
        let clock = Arc::new(ManualClock::at(START));
        let env = Env::new(Arc::clone(&clock) as Arc<_>, Arc::new(SeededEntropy::new(7)));
        let room = Usage { records: 1000, bytes: 1 << 24 };
        let capacities =
            Capacities::default().with_usage(MAIL_PERSON, room).with_usage(MAIL_QUEUE, room);
        let capacities = capacities.with_usage(MAIL_LOGIN, room);
        Self { clock, store: Arc::new(MemoryStore::new(capacities)), env }
    }

    fn hub(&self, server: &FaultyServer) -> Arc<Mailer> {
        let federation = Federation::new([], ScopeTable::default(), UnavailableDisplay::Disabled);
        let core = Arc::new(HubCore::for_tests(self.env.clone(), federation.into()));
        let settings = MailSettings {
            config: config(),
            from: parse_address("hub@example.org").unwrap(),
            reply_to: None,
            test_recipient: None,
            client: Arc::new(client(server.port, ConnectionSecurity::Loopback)),
        };
        Arc::new(Mailer::new(core, Arc::clone(&self.store), &settings, sender()))
    }

    fn code(&self, person: &str, address: &str, code: &str, support_id: &str) -> MailCode {
        MailCode {
            user: MailUser { connector: "library".into(), person: person.into() },
            address: Secret::new(address.to_owned()),
            code: Secret::new(code.to_owned()),
            language: "en".to_owned(),
            service: "Bakery".to_owned(),
            expires_at: self.clock.now() + CODE_LIFETIME,
            support_id: SupportId::from(support_id),
        }
    }
}

/// Starts what is due, and waits until every delivery has ended.
async fn deliver(hub: &Arc<Mailer>) {
    hub.start_due().await;
    hub.finish_deliveries().await;
}

#[tokio::test]
async fn a_code_arrives_as_text_and_html_in_the_language_of_the_person() {
    let (world, server) = (World::new(), FaultyServer::start("250 ok").await);
    let hub = world.hub(&server);
    let code = MailCode {
        language: "de".to_owned(),
        ..world.code("p", "nadia@example.org", "042917", "A")
    };
    hub.send_code(code).await.unwrap();
    deliver(&hub).await;
    let [mail] = server.mails().try_into().unwrap();
    assert_eq!(mail.matches("042917").count(), 2, "{mail}");
    assert!(mail.contains("Subject: Ihr Anmeldecode\r\n"), "{mail}");
    assert!(mail.contains("Auto-Submitted: auto-generated\r\n"), "{mail}");
    assert!(!mail.contains("http"), "a link: {mail}");
    deliver(&hub).await;
    assert_eq!(server.mails().len(), 1, "a delivered mail is sent again");
}

#[tokio::test]
async fn a_greylisted_mail_arrives_later_and_a_rejected_one_never() {
    let (world, server) = (World::new(), FaultyServer::start("250 ok").await);
    let hub = world.hub(&server);
    server.answer(&["451 4.7.1 greylisted", "450 busy"]);
    hub.send_code(world.code("p", "nadia@example.org", "111111", "A")).await.unwrap();
    for sent in [0, 0, 1] {
        deliver(&hub).await;
        assert_eq!(server.mails().len(), sent);
        world.clock.advance(MINUTE);
    }
    server.answer(&["550 no such mailbox"]);
    hub.send_code(world.code("p", "nadia@example.org", "222222", "B")).await.unwrap();
    for _ in 0..3 {
        deliver(&hub).await;
        world.clock.advance(MINUTE);
    }
    assert_eq!(server.mails().len(), 1);
}

#[tokio::test]
async fn a_server_that_is_away_is_reported_and_gets_the_mail_when_it_is_back() {
    let (world, server) = (World::new(), FaultyServer::start("250 ok").await);
    let gone = FaultyServer { port: free_port(), ..FaultyServer::start("250 ok").await };
    let hub = world.hub(&gone);
    hub.send_code(world.code("p", "nadia@example.org", "111111", "A")).await.unwrap();
    deliver(&hub).await;
    world.clock.advance(2 * MINUTE);
    deliver(&hub).await;
    let finding = hub.backlog().unwrap();
    assert!(
        finding.message.contains("1 mails") && !finding.message.contains("nadia"),
        "{finding:?}"
    );
    world.clock.advance(MINUTE);
    deliver(&world.hub(&server)).await;
    assert_eq!(server.mails().len(), 1);
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[tokio::test]
async fn stale_queue_after_restore() {
    let (world, server) = (World::new(), FaultyServer::start("250 ok").await);
    let hub = world.hub(&server);
    hub.send_code(world.code("p", "nadia@example.org", "111111", "A")).await.unwrap();
    // The store comes back with what it had, and the login is over.
    world.clock.advance(CODE_LIFETIME - Duration::from_secs(10));
    deliver(&hub).await;
    assert_eq!(server.mails(), Vec::<String>::new());
    // A newer code of a login replaces the one that waits.
    hub.send_code(world.code("q", "rosa@example.org", "222222", "B")).await.unwrap();
    hub.send_code(world.code("q", "rosa@example.org", "333333", "B")).await.unwrap();
    deliver(&hub).await;
    let [mail] = server.mails().try_into().unwrap();
    assert!(mail.contains("333333"), "{mail}");
}

#[tokio::test]
async fn replay_over_hubs() {
    let (world, server) = (World::new(), FaultyServer::start("250 ok").await);
    let hubs = [world.hub(&server), world.hub(&server), world.hub(&server)];
    for number in 0..8 {
        let address = format!("person-{number}@example.org");
        let (person, id) = (format!("p{number}"), format!("S{number}"));
        hubs[0].send_code(world.code(&person, &address, "111111", &id)).await.unwrap();
    }
    for _ in 0..8 {
        futures_util::future::join_all(hubs.iter().map(deliver)).await;
    }
    assert_eq!(server.mails().len(), 8, "a mail is lost, or two hubs sent it");
    assert!(*server.connections.lock().unwrap() < 8, "connections are not reused");
}

#[tokio::test]
async fn mail_bombs() {
    let (world, server) = (World::new(), FaultyServer::start("250 ok").await);
    let (one, other) = (world.hub(&server), world.hub(&server));
    let mut outcomes = Vec::new();
    // Several accounts state the address of one victim.
    for (number, hub) in [&one, &other, &one, &other].into_iter().enumerate() {
        let code = world.code(
            &format!("p{number}"),
            "Victim@example.org",
            "111111",
            &format!("S{number}"),
        );
        outcomes.push(hub.send_code(code).await);
    }
    assert_eq!(outcomes, [Ok(()), Ok(()), Ok(()), Err(MailCodeError::Limited)]);
    // One account states many addresses.
    let mut outcomes = Vec::new();
    for number in 0..5 {
        let code = world.code(
            "q",
            &format!("victim-{number}@example.org"),
            "111111",
            &format!("T{number}"),
        );
        outcomes.push(one.send_code(code).await);
    }
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 4);
    let limited = one.find_login(&SupportId::from("T4")).await.unwrap();
    assert!(limited.is_some(), "an operator can not reset the address by this login");
    world.clock.advance(61 * MINUTE);
    let later = world.code("q", "victim@example.org", "111111", "U");
    assert_eq!(other.send_code(later).await, Ok(()));
}

#[tokio::test]
async fn too_many_wrong_codes_of_a_person_stop_codes_and_guesses_for_a_day() {
    let (world, server) = (World::new(), FaultyServer::start("250 ok").await);
    let hub = world.hub(&server);
    let code = || world.code("p", "nadia@example.org", "111111", "A");
    for _ in 0..MAX_WRONG_CODES_PER_DAY - 1 {
        hub.record_wrong_code(&code().user).await.unwrap();
    }
    assert_eq!(hub.send_code(code()).await, Ok(()));
    let address = Secret::new("nadia@example.org".to_owned());
    assert_eq!(hub.confirm_address(&code().user, &address).await, Ok(()));
    hub.record_wrong_code(&code().user).await.unwrap();
    let other = world.hub(&server);
    assert_eq!(other.send_code(code()).await, Err(MailCodeError::Limited));
    // Logins with a code that was sent before give no more guesses.
    assert_eq!(other.record_wrong_code(&code().user).await, Err(MailCodeError::Limited));
    assert_eq!(other.confirm_address(&code().user, &address).await, Err(MailCodeError::Limited));
    world.clock.advance(24 * 60 * MINUTE);
    assert_eq!(hub.confirm_address(&code().user, &address).await, Ok(()));
    assert_eq!(hub.send_code(code()).await, Ok(()));
}

#[tokio::test]
async fn a_stored_address_is_replaced_by_an_operator_only() {
    let (world, server) = (World::new(), FaultyServer::start("250 ok").await);
    let hub = world.hub(&server);
    let code = world.code("p", "nadia@example.org", "111111", "A");
    let user = code.user.clone();
    let stored = async || hub.stored_address(&user).await.unwrap().map(Secret::into_inner);
    assert_eq!(stored().await, None);
    hub.store_address(&user, &Secret::new("nadia@example.org".into())).await.unwrap();
    hub.store_address(&user, &Secret::new("thief@example.org".into())).await.unwrap();
    assert_eq!(stored().await.as_deref(), Some("nadia@example.org"));
    let support_id = code.support_id.clone();
    assert_eq!(hub.find_login(&support_id).await, Ok(None));
    hub.send_code(code).await.unwrap();
    let (connector, record) = hub.find_login(&support_id).await.unwrap().unwrap();
    assert_eq!(connector.as_str(), "library");
    assert_eq!(hub.reset_address(record.clone()).await, Ok(true));
    assert_eq!(hub.reset_address(record).await, Ok(false));
    assert_eq!(stored().await, None);
    hub.store_address(&user, &Secret::new("new@example.org".into())).await.unwrap();
    let days = |days: u64| Duration::from_secs(days * 24 * 3600);
    world.clock.advance(days(300));
    hub.store_address(&user, &Secret::new("new@example.org".into())).await.unwrap();
    world.clock.advance(days(399));
    assert_eq!(stored().await.as_deref(), Some("new@example.org"), "a login postpones the expiry");
    world.clock.advance(days(2));
    assert_eq!(stored().await, None, "it is kept for longer than address_days");
}

#[tokio::test]
async fn tls_missing() {
    let server = FaultyServer::start("250-faulty\r\n250 8BITMIME").await;
    let error = client(server.port, ConnectionSecurity::Starttls).check_account().await;
    let Err(SmtpError::Temporary(message)) = error else { panic!("{error:?}") };
    assert!(message.contains("no STARTTLS"), "{message}");
    // What follows the agreement in clear text must not count as sent under TLS.
    let server = FaultyServer::start("250-faulty\r\n250 STARTTLS").await;
    let error = client(server.port, ConnectionSecurity::Starttls).check_account().await;
    assert_eq!(error, Err(SmtpError::Temporary("a response of the server is malformed".into())));
}

#[tokio::test]
async fn an_address_that_no_mail_can_have_is_refused_at_once() {
    let (world, server) = (World::new(), FaultyServer::start("250 ok").await);
    let code = world.code("p", "a@example.org\r\nBcc: b@example.org", "111111", "A");
    assert_eq!(world.hub(&server).send_code(code).await, Err(MailCodeError::AddressUnusable));
}

#[test]
fn header_injection() {
    for bad in [
        "a@example.org\r\nBcc: b@example.org",
        "a@example.org\n",
        "a@b@example.org",
        "a@example.org>",
        "\"a b\"@example.org",
        "a@example.org,b@example.org",
        "a(x)@example.org",
        "é@example.org",
        "a @example.org",
        "a@",
        "@example.org",
        "a",
        "",
        "a@example.org\0",
        "a@exam\u{202e}ple.org",
    ] {
        assert_eq!(parse_address(bad), None, "{bad:?}");
    }
    let long = format!("a@{}example.org", "a.".repeat(130));
    assert_eq!(parse_address(&long), None);
    for good in ["o.k+tag_x@mail.example.org", "sinead.o'brien@example.org"] {
        assert!(parse_address(good).is_some(), "{good}");
    }
    let mail = write("Bakery\r\nBcc: thief@example.org\r\n\r\nX");
    let text = String::from_utf8(mail.formatted()).unwrap();
    assert!(!text.contains("\nBcc:"), "{text}");
}

fn write(service: &str) -> Message {
    super::EXTENSION.install();
    let env = Env::new(Arc::new(ManualClock::at(START)), Arc::new(SeededEntropy::new(1)));
    let content = MailContent::Code { code: "042917", service, remaining: MINUTE };
    let languages = Languages::built_in();
    let english = languages.find("en").unwrap();
    sender().write_mail(parse_address("a@example.org").unwrap(), &content, english, &env).unwrap()
}

#[test]
fn a_code_that_is_valid_for_one_minute_is_not_said_to_be_valid_for_minutes() {
    let text = String::from_utf8(write("Bakery").formatted()).unwrap();
    assert!(text.contains("valid for one minute, on that page only"), "{text}");
}

#[test]
fn template_injection_by_a_name() {
    let name = "<img src=x>{ $code } { mail-test } http://evil.example/a evil.example {{ code }}";
    let text = String::from_utf8(write(name).formatted()).unwrap();
    let html = text.split("text/html").nth(1).unwrap().replace("=\r\n", "");
    assert!(!html.contains("<img"), "{html}");
    assert_eq!(text.matches("042917").count(), 2, "the name is evaluated: {text}");
    assert!(!text.contains("http://evil") && !text.contains("evil.example"), "a link: {text}");
    assert!(html.contains("Hub of &#60;Riverside&#62;"), "{html}");
}
