//! A service provider's endpoint for logout tokens, on loopback.

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::fake_server::{FakeResponse, FakeServer};
use passerelle_testkit::wait::{wait_for, wait_until};

pub(crate) struct Receiver {
    server: FakeServer,
    status: Arc<AtomicU16>,
    /// Path and logout token of each request.
    received: Arc<Mutex<Vec<(String, String)>>>,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        let (status, received) = (Arc::new(AtomicU16::new(200)), Arc::new(Mutex::new(Vec::new())));
        let (answered, log) = (Arc::clone(&status), Arc::clone(&received));
        let server = FakeServer::start(move |request| {
            let pairs: Vec<_> = url::form_urlencoded::parse(request.body.as_bytes()).collect();
            let [(name, token)] = &pairs[..] else { panic!("{} parameters", pairs.len()) };
            assert_eq!((request.method.as_str(), &**name), ("POST", "logout_token"));
            let head = request.headers.to_ascii_lowercase();
            assert!(head.contains("content-type: application/x-www-form-urlencoded"), "{head}");
            log.lock().unwrap().push((request.target, token.to_string()));
            let mut response = FakeResponse::status(answered.load(Ordering::SeqCst));
            response.headers.push(("location", "/elsewhere".to_owned()));
            // Some frameworks answer with a page, which the hub must not need to read.
            response.body = vec![b' '; 2 << 20];
            response
        })
        .await;
        Self { server, status, received }
    }

    pub(crate) fn uri(&self, service: &str) -> String {
        format!("{}/{service}", self.server.base())
    }

    pub(crate) fn answer_with(&self, status: u16) {
        self.status.store(status, Ordering::SeqCst);
    }

    pub(crate) fn count(&self) -> usize {
        self.received.lock().unwrap().len()
    }

    /// The header and the text of each token that was sent to a path.
    pub(crate) fn sent_to(&self, service: &str) -> Vec<(Value, String)> {
        let received = self.received.lock().unwrap();
        let path = format!("/{service}");
        let sent = received.iter().filter(|(target, _)| *target == path);
        sent.map(|(_, token)| {
            let header = URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap();
            (serde_json::from_slice(&header).unwrap(), token.clone())
        })
        .collect()
    }

    pub(crate) async fn wait_for(&self, count: usize) {
        wait_until("the logout tokens arrive", || self.count() >= count).await;
    }

    /// Waits while the hubs look at their queue.
    pub(crate) async fn wait_for_polling(&self, count: usize, look: impl AsyncFn()) {
        wait_for("the logout tokens arrive", async || {
            look().await;
            (self.count() >= count).then_some(())
        })
        .await;
    }
}

/// A listener that accepts connections and answers nothing, and its address.
pub(crate) async fn silent_receiver() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/out", listener.local_addr().unwrap());
    (listener, address)
}

/// Adds the endpoint to a service provider's file.
pub(crate) fn register(folder: &Path, service: &str, uri: &str) {
    let path = folder.join(format!("service-providers/{service}.toml"));
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    writeln!(file, "{}", lines(uri)).unwrap();
}

/// The lines of a service provider's file.
pub(crate) fn lines(uri: &str) -> String {
    format!("backchannel_logout_uri = \"{uri}\"\ninternal_hosts = [\"127.0.0.1\"]")
}
