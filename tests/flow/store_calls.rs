//! Number of calls of a login to Redis, counted by the server.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use super::hub::TestHub;
use super::redis_server::{PASSWORD, Server};
use super::service::Authorize;
use super::shared_store::redis_settings;

/// Parts of calls that hubs make without a login: the health check, and the records and counters
/// that they exchange.
const BACKGROUND_CALLS: [&str; 4] = [":-\"", ":b:", ":h:", ":q:"];

/// Reads the server's commands (MONITOR). INFO commandstats would also count those that run inside
/// of scripts.
struct Monitor(BufReader<TcpStream>);

impl Monitor {
    fn start(server: &Server) -> Self {
        let connection = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        let mut monitor = Self(BufReader::new(connection));
        for call in [&["AUTH", PASSWORD][..], &["MONITOR"]] {
            let words = call.iter().map(|word| format!("${}\r\n{word}\r\n", word.len()));
            let bytes = format!("*{}\r\n{}", call.len(), words.collect::<String>());
            monitor.0.get_mut().write_all(bytes.as_bytes()).unwrap();
            assert_eq!(monitor.line(), "+OK\r\n");
        }
        monitor
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.0.read_line(&mut line).unwrap() > 0, "the server hung up");
        line
    }

    /// Returns the calls of logins up to now.
    fn stop(mut self, server: &Server) -> Vec<String> {
        server.cli(&["ECHO", "the end of the login"]);
        let lines = std::iter::from_fn(|| Some(self.line()));
        lines
            .take_while(|line| !line.contains("the end of the login"))
            .filter(|line| line.contains("passerelle:") && !line.contains(" lua] "))
            .filter(|line| !BACKGROUND_CALLS.iter().any(|other| line.contains(other)))
            .map(|line| line.chars().take(150).collect())
            .collect()
    }
}

async fn calls_of_a_login(hubs: u64) -> Vec<String> {
    let server = Server::start(&[]);
    let (hub, _) = TestHub::several(hubs, &redis_settings(&server)).await;
    let login = async |person: &str| {
        let browser = hub.browser();
        let received = browser.authorize(&Authorize::by("bakery")).await.finish_as(person).await;
        let tokens = hub.tokens("bakery", &received).await;
        hub.userinfo(&tokens.access_token).await;
    };
    // Loads the scripts into the server, and connects each hub.
    login("jean").await;
    let monitor = Monitor::start(&server);
    login("angela").await;
    let calls = monitor.stop(&server);
    assert!(calls.iter().all(|call| !call.contains("\"EVAL\"")), "a script sent again: {calls:#?}");
    calls
}

/// Three of them are for the code of the sandbox's page, which stands in for an identity provider:
/// it is stored, taken and removed.
#[actix_web::test]
async fn a_login_at_one_hub_takes_thirteen_calls() {
    let calls = calls_of_a_login(1).await;
    assert_eq!(calls.len(), 13, "{calls:#?}");
}

/// Each request reaches another hub, which reads what the previous one wrote. Only the callback
/// reaches the hub that stored the attempt, because two requests for the sandbox's page precede it.
#[actix_web::test]
async fn a_login_at_changing_hubs_takes_sixteen_calls() {
    let calls = calls_of_a_login(3).await;
    assert_eq!(calls.len(), 16, "{calls:#?}");
}
