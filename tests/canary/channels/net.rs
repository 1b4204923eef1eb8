//! The net: everything that comes out, and the forms in which a canary may be hidden.

use super::*;

/// Everything that came out, by where.
#[derive(Clone, Default)]
pub(super) struct Net(pub(super) Arc<Mutex<Vec<(String, String)>>>);

impl Net {
    pub(super) fn catch(&self, place: &str, text: impl Into<String>) {
        self.0.lock().unwrap().push((place.to_owned(), text.into()));
    }

    /// Where which canary was seen, in whatever dress.
    pub(super) fn found(&self, canaries: &[(String, String)]) -> Vec<String> {
        let caught = self.0.lock().unwrap();
        let mut found = Vec::new();
        for (name, value) in canaries {
            assert!(value.len() >= 6, "{name} is too short to stand out from other text");
            for dress in dresses(value) {
                let seen = caught
                    .iter()
                    .filter(|(_, text)| text.to_lowercase().contains(&dress.to_lowercase()));
                found.extend(
                    seen.map(|(place, text)| {
                        format!("{name} in {place}: {}", around(text, &dress))
                    }),
                );
            }
        }
        found
    }
}

/// The value itself, and as it stands in addresses, in JSON, and in base64 wherever it begins.
pub(super) fn dresses(value: &str) -> Vec<String> {
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
            // Its ends depend on the neighbours.
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

pub(super) fn around(text: &str, dress: &str) -> String {
    let at = text.to_lowercase().find(&dress.to_lowercase()).unwrap();
    text.chars().skip(at.saturating_sub(160)).take(dress.len() + 200).collect()
}

/// A writer for log lines.
#[derive(Clone)]
pub(super) struct Log(pub(super) Net);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.catch("a log line", String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A collector on loopback: whatever it is sent is caught.
pub(super) fn collector(net: &Net) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, net) = (listener.local_addr().unwrap().port(), net.clone());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            take(stream.unwrap(), &net);
        }
    });
    port
}

pub(super) fn take(mut stream: TcpStream, net: &Net) {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 65_536]);
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let (head, body) = (String::from_utf8_lossy(&bytes[..end]), &bytes[end + 4..]);
            let lengths = head.to_ascii_lowercase();
            let length = lengths.lines().find_map(|line| {
                line.strip_prefix("content-length:")?.trim().parse::<usize>().ok()
            });
            if body.len() >= length.unwrap() {
                // The head carries the collector's own key, and nothing of logins.
                net.catch("a span", String::from_utf8_lossy(body));
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

/// What was given away on the way: it must be found nowhere but where it was given.
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
