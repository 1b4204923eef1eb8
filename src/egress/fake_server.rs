//! For tests: an HTTP server of a few lines on a free loopback port, whose answers a test makes up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Debug)]
pub struct Asked {
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Header lines, as received.
    pub head: String,
    pub body: String,
}

#[derive(Clone)]
pub struct Told {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Told {
    pub fn json(body: &serde_json::Value) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type", "application/json".into())],
            body: body.to_string().into_bytes(),
        }
    }

    /// No answer: the connection ends.
    pub fn cut() -> Self {
        Self::status(0)
    }

    pub fn status(status: u16) -> Self {
        Self { status, headers: vec![], body: vec![] }
    }
}

/// Answers until it is dropped. The body ends with the connection, so that no length is announced.
pub struct FakeServer {
    pub port: u16,
    asked: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl FakeServer {
    pub async fn start(answer: impl Fn(Asked) -> Told + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(AtomicUsize::new(0));
        let (answer, counter) = (Arc::new(answer), Arc::clone(&asked));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, Arc::clone(&answer)));
            }
        });
        Self { port, asked, task }
    }

    pub fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// How many calls came in.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, answer: Arc<impl Fn(Asked) -> Told>) {
    let Some(asked) = read(&mut stream).await else { return };
    let told = answer(asked);
    if told.status == 0 {
        return;
    }
    let mut head = format!("HTTP/1.1 {} X\r\nconnection: close\r\n", told.status);
    for (name, value) in told.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    // The peer may hang up early; that is what some tests are about.
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(&told.body).await;
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .to_ascii_lowercase()
                .lines()
                .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
            if body.len() >= length.unwrap_or(0) {
                let mut words = head.split(' ');
                let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
                return Some(Asked {
                    method,
                    target,
                    head: head.to_owned(),
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
