//! The recorded outputs, and the encodings in which one may contain a canary.

use super::*;

/// Recorded texts, with the name of the output.
#[derive(Clone, Default)]
pub(super) struct Outputs(pub(super) Arc<Mutex<Vec<(String, String)>>>);

impl Outputs {
    pub(super) fn record(&self, name: &str, text: impl Into<String>) {
        self.0.lock().unwrap().push((name.to_owned(), text.into()));
    }

    /// Returns each canary that an output contains, in any encoding.
    #[expect(clippy::disallowed_methods, reason = "values are searched in any case")]
    pub(super) fn find_leaks(&self, canaries: &[(String, String)]) -> Vec<String> {
        let outputs = self.0.lock().unwrap();
        let mut leaks = Vec::new();
        for (name, value) in canaries {
            assert!(value.len() >= 6, "{name} is too short to stand out from other text");
            for encoding in encodings(value) {
                let matching = outputs
                    .iter()
                    .filter(|(_, text)| text.to_lowercase().contains(&encoding.to_lowercase()));
                leaks.extend(matching.map(|(output, text)| {
                    format!("{name} in {output}: {}", excerpt(text, &encoding))
                }));
            }
        }
        leaks
    }
}

/// Returns the value itself, and its encodings in URLs, in JSON, and in base64 at every offset.
pub(super) fn encodings(value: &str) -> Vec<String> {
    let json = serde_json::to_string(value).unwrap();
    let mut all = vec![
        value.to_owned(),
        byte_serialize(value.as_bytes()).collect(),
        byte_serialize(value.as_bytes()).collect::<String>().replace('+', "%20"),
        json.trim_matches('"').to_owned(),
    ];
    for before in ["", "x", "xx"] {
        let whole = format!("{before}{value}");
        for encoded in [STANDARD.encode(&whole), URL_SAFE_NO_PAD.encode(&whole)] {
            // The first and last characters depend on the text around it.
            let (from, to) = (if before.is_empty() { 0 } else { 4 }, value.len() / 3 * 4 - 4);
            all.extend(
                encoded.get(from..to).filter(|middle| middle.len() >= 12).map(str::to_owned),
            );
        }
    }
    all.sort();
    all.dedup();
    all
}

/// Returns the text around an encoded canary.
#[expect(clippy::disallowed_methods, reason = "values are searched in any case")]
pub(super) fn excerpt(text: &str, encoding: &str) -> String {
    let at = text.to_lowercase().find(&encoding.to_lowercase()).unwrap();
    text.chars().skip(at.saturating_sub(160)).take(encoding.len() + 200).collect()
}

/// A writer that records log lines.
#[derive(Clone)]
pub(super) struct Log(pub(super) Outputs);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.record("a log line", String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Starts a trace collector on loopback that records each export. Returns its port.
pub(super) fn start_collector(outputs: &Outputs) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, outputs) = (listener.local_addr().unwrap().port(), outputs.clone());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            read_export(stream.unwrap(), &outputs);
        }
    });
    port
}

/// Reads one export and records its body.
pub(super) fn read_export(mut stream: TcpStream, outputs: &Outputs) {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 65_536]);
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let (head, body) = (String::from_utf8_lossy(&bytes[..end]), &bytes[end + 4..]);
            let lengths = head.to_ascii_lowercase();
            let length = lengths.lines().find_map(|line| {
                line.strip_prefix("content-length:")?.trim_ascii().parse::<usize>().ok()
            });
            if body.len() >= length.unwrap() {
                // The head contains the collector's key, which is a canary.
                outputs.record("a span", String::from_utf8_lossy(body));
                break;
            }
        }
        match stream.read(&mut chunk).unwrap() {
            0 => return,
            count => bytes.extend_from_slice(&chunk[..count]),
        }
    }
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n")
        .unwrap();
}

/// Secrets and identities, with their names, that no output may contain.
#[derive(Default)]
pub(super) struct Canaries(pub(super) Vec<(String, String)>);

impl Canaries {
    pub(super) fn add(&mut self, name: &str, value: &str) {
        self.0.push((name.to_owned(), value.to_owned()));
    }

    pub(super) fn tokens(&mut self, tokens: &Tokens) {
        self.add("an access token", &tokens.access_token);
        self.add("an ID token", &tokens.raw_id_token);
    }
}
