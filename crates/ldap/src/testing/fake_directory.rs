//! Fake LDAP directory for tests, on a free loopback port. Supports bind and search, and logs
//! requests.

use std::sync::{Arc, Mutex};

use actix_web::web::BytesMut;
use ldap3::asn1::{PL, StructureTag, TagClass, parse_tag, write};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Request that the directory received.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LdapRequest {
    Bind {
        dn: String,
        password: String,
    },
    /// Tag of the filter (3: equality) and the compared value; of several filters (1: or), theirs
    /// with `|` between.
    Search {
        filter: u64,
        value: String,
        attributes: Vec<String>,
    },
}

/// Entry: DN, password, attributes.
pub type FakeEntry = (&'static str, &'static str, Vec<(&'static str, Vec<&'static [u8]>)>);

/// Behavior of the fake directory, which a test changes.
#[derive(Default)]
pub struct DirectoryScript {
    /// Entries returned by every search.
    pub entries: Vec<FakeEntry>,
    /// Result code that replaces the normal one of every bind.
    pub bind_result: Option<u8>,
    /// Result code that replaces the normal one of binds with the hub's account.
    pub account_bind_result: Option<u8>,
    /// Diagnostic message of users' binds, which Active Directory's data codes are in.
    pub bind_message: Option<&'static str>,
    /// Controls of the responses to users' binds: object identifier and value.
    pub bind_controls: Vec<(&'static str, &'static [u8])>,
    pub search_result: Option<u8>,
    /// Number of values of an attribute that it sends at once, like Active Directory.
    pub max_values_in_range: Option<usize>,
    /// The entries have no list of attributes, which RFC 4511 §4.5.2 requires.
    pub entries_are_malformed: bool,
    /// Closes the connection instead of rejecting a user's bind.
    pub closes_at_rejected_binds: bool,
    /// Bytes sent in place of every response.
    pub raw_response: Option<Vec<u8>>,
    pub log: Vec<LdapRequest>,
}

/// Fake directory that runs until it is dropped.
pub struct FakeDirectory {
    pub port: u16,
    pub script: Arc<Mutex<DirectoryScript>>,
    task: tokio::task::JoinHandle<()>,
}

impl FakeDirectory {
    /// Starts a directory without entries.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let script = Arc::new(Mutex::new(DirectoryScript::default()));
        let shared = Arc::clone(&script);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        Self { port, script, task }
    }

    /// Takes the requests logged so far.
    pub fn take_requests(&self) -> Vec<LdapRequest> {
        std::mem::take(&mut self.script.lock().unwrap().log)
    }
}

impl Drop for FakeDirectory {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, script: Arc<Mutex<DirectoryScript>>) {
    let mut bytes = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk).await {
            Ok(n) if n > 0 => bytes.extend_from_slice(&chunk[..n]),
            _ => return,
        }
        while let Ok((rest, message)) = parse_tag(&bytes) {
            let (rest, responses) = (rest.to_vec(), respond(message, &mut script.lock().unwrap()));
            bytes = rest;
            let Some(responses) = responses else { return };
            if stream.write_all(&responses).await.is_err() {
                return;
            }
        }
    }
}

/// Returns the responses; `None` to close the connection.
fn respond(message: StructureTag, script: &mut DirectoryScript) -> Option<Vec<u8>> {
    let mut parts = message.expect_constructed().unwrap().into_iter();
    let (id, operation) = (parts.next().unwrap(), parts.next().unwrap());
    let (responses, controls) = match operation.id {
        0 => respond_to_bind(operation, script)?,
        3 => (respond_to_search(operation, script), None),
        _ => (vec![], None),
    };
    if let Some(bytes) = &script.raw_response {
        return Some(bytes.clone());
    }
    let mut buffer = BytesMut::new();
    for response in responses {
        write::encode_into(
            &mut buffer,
            constructed(
                TagClass::Universal,
                16,
                [id.clone(), response].into_iter().chain(controls.clone()).collect(),
            ),
        )
        .unwrap();
    }
    Some(buffer.to_vec())
}

/// Returns the response and its controls; `None` to close the connection.
fn respond_to_bind(
    request: StructureTag,
    script: &mut DirectoryScript,
) -> Option<(Vec<StructureTag>, Option<StructureTag>)> {
    let parts = request.expect_constructed().unwrap();
    let (dn, password) = (text(&parts[1]), text(&parts[2]));
    let known = dn == "cn=hub" && password == "hub's own"
        || script.entries.iter().any(|one| one.0 == dn && one.1 == password);
    // An empty name or password succeeds, as in many real directories (RFC 4513 §5.1.2).
    let accepted = known || dn.is_empty() || password.is_empty();
    let normal = if accepted { 0 } else { 49 };
    let forced = if dn == "cn=hub" { script.account_bind_result } else { script.bind_result };
    let code = forced.unwrap_or(normal);
    let is_user = dn != "cn=hub";
    let closes = code != 0 && is_user && script.closes_at_rejected_binds;
    script.log.push(LdapRequest::Bind { dn, password });
    let message = script.bind_message.filter(|_| is_user && code != 0);
    let controls = script.bind_controls.iter().map(|(oid, value)| {
        let parts = vec![octets(oid.as_bytes()), octets(value)];
        constructed(TagClass::Universal, 16, parts)
    });
    let controls = (is_user && !script.bind_controls.is_empty())
        .then(|| constructed(TagClass::Context, 0, controls.collect()));
    (!closes).then(|| (vec![result_with_message(1, code, message)], controls))
}

fn respond_to_search(request: StructureTag, script: &mut DirectoryScript) -> Vec<StructureTag> {
    let parts = request.expect_constructed().unwrap();
    let filter = parts[6].clone();
    let kind = filter.id;
    let value = compared_value(filter);
    let requested: Vec<String> =
        parts[7].clone().expect_constructed().unwrap().iter().map(text).collect();
    script.log.push(LdapRequest::Search { filter: kind, value, attributes: requested.clone() });
    let entry = |(dn, _, attributes): &FakeEntry| {
        let attribute = |(name, values): &(&str, Vec<&[u8]>)| {
            let (name, values) =
                range_of_values(name, values, &requested, script.max_values_in_range);
            let values = values.iter().map(|value| octets(value)).collect();
            constructed(
                TagClass::Universal,
                16,
                vec![octets(name.as_bytes()), constructed(TagClass::Universal, 17, values)],
            )
        };
        let attributes =
            constructed(TagClass::Universal, 16, attributes.iter().map(attribute).collect());
        let parts = [octets(dn.as_bytes()), attributes];
        let sent = if script.entries_are_malformed { 1 } else { 2 };
        constructed(TagClass::Application, 4, parts[..sent].to_vec())
    };
    let mut responses: Vec<StructureTag> = script.entries.iter().map(entry).collect();
    responses.push(result(5, script.search_result.unwrap_or(0)));
    responses
}

/// Returns the part of an attribute's values that one response has, and the name that says which.
fn range_of_values<'v>(
    name: &str,
    values: &'v [&'v [u8]],
    requested: &[String],
    max: Option<usize>,
) -> (String, &'v [&'v [u8]]) {
    let prefix = format!("{name};range=").to_ascii_lowercase();
    let start = requested.iter().find_map(|one| {
        one.to_ascii_lowercase().strip_prefix(&prefix)?.split('-').next()?.parse().ok()
    });
    let max = max.unwrap_or(usize::MAX);
    if start.is_none() && values.len() <= max {
        return (name.to_owned(), values);
    }
    let start = start.unwrap_or(0);
    let rest = &values[start..];
    if rest.len() <= max {
        (format!("{name};range={start}-*"), rest)
    } else {
        (format!("{name};range={start}-{}", start + max - 1), &rest[..max])
    }
}

fn compared_value(filter: StructureTag) -> String {
    let is_or = filter.id == 1;
    let parts = filter.expect_constructed().unwrap_or_default();
    if is_or {
        return parts.into_iter().map(compared_value).collect::<Vec<_>>().join("|");
    }
    parts.last().map(text).unwrap_or_default()
}

fn result(id: u64, code: u8) -> StructureTag {
    result_with_message(id, code, None)
}

fn result_with_message(id: u64, code: u8, message: Option<&str>) -> StructureTag {
    let code = StructureTag { class: TagClass::Universal, id: 10, payload: PL::P(vec![code]) };
    let message = octets(message.unwrap_or("cn=ada is secret").as_bytes());
    constructed(TagClass::Application, id, vec![code, octets(b""), message])
}

fn constructed(class: TagClass, id: u64, parts: Vec<StructureTag>) -> StructureTag {
    StructureTag { class, id, payload: PL::C(parts) }
}

fn octets(bytes: &[u8]) -> StructureTag {
    StructureTag { class: TagClass::Universal, id: 4, payload: PL::P(bytes.to_vec()) }
}

fn text(tag: &StructureTag) -> String {
    String::from_utf8(tag.clone().expect_primitive().unwrap_or_default()).unwrap()
}
