//! Fake HTTP server for tests, on a free loopback port.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Request that the server received.
#[derive(Debug)]
pub struct ReceivedRequest {
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Header lines, as received.
    pub headers: String,
    pub body: String,
}

/// Response that the server sends.
#[derive(Clone)]
pub struct FakeResponse {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl FakeResponse {
    /// Returns a 200 response with a JSON body.
    pub fn json(body: &serde_json::Value) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type", "application/json".into())],
            body: body.to_string().into_bytes(),
        }
    }

    /// Sends nothing and closes the connection.
    pub fn connection_closed() -> Self {
        Self::status(0)
    }

    /// Returns a response with an empty body.
    pub fn status(status: u16) -> Self {
        Self { status, headers: vec![], body: vec![] }
    }
}

/// HTTP server that runs until it is dropped. It ends a body by closing the connection, so no
/// length is announced.
pub struct FakeServer {
    pub port: u16,
    request_count: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl FakeServer {
    /// Starts a server that answers each request by `respond`.
    pub async fn start(
        respond: impl Fn(ReceivedRequest) -> FakeResponse + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let request_count = Arc::new(AtomicUsize::new(0));
        let (respond, counter) = (Arc::new(respond), Arc::clone(&request_count));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, Arc::clone(&respond)));
            }
        });
        Self { port, request_count, task }
    }

    /// Returns the base URL.
    pub fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the number of accepted connections.
    pub fn request_count(&self) -> usize {
        self.request_count.load(Ordering::SeqCst)
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, respond: Arc<impl Fn(ReceivedRequest) -> FakeResponse>) {
    let Some(request) = read(&mut stream).await else { return };
    let response = respond(request);
    if response.status == 0 {
        return;
    }
    let mut head = format!("HTTP/1.1 {} X\r\nconnection: close\r\n", response.status);
    for (name, value) in response.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    // The peer may disconnect early; some tests check that.
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(&response.body).await;
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut TcpStream) -> Option<ReceivedRequest> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .to_ascii_lowercase()
                .lines()
                .find_map(|line| line.strip_prefix("content-length:")?.trim_ascii().parse().ok());
            if body.len() >= length.unwrap_or(0) {
                let mut words = head.split(' ');
                let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
                return Some(ReceivedRequest {
                    method,
                    target,
                    headers: head.to_owned(),
                    body: body.to_owned(),
                });
            }
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk).await {
            Ok(n) if n > 0 => bytes.extend_from_slice(&chunk[..n]),
            _ => return None,
        }
    }
}
