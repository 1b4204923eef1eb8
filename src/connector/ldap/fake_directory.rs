//! For tests: a directory of a few lines on a free loopback port, which knows bind and search and keeps what was said.

use std::sync::{Arc, Mutex};

use actix_web::web::BytesMut;
use ldap3::asn1::{PL, StructureTag, TagClass, parse_tag, write};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Said {
    Bind {
        dn: String,
        password: String,
    },
    /// Kind of the filter (3: equality) and the value compared with.
    Search {
        filter: u64,
        value: String,
        attributes: Vec<String>,
    },
}

/// An entry: DN, password, attributes.
pub type Person = (&'static str, &'static str, Vec<(&'static str, Vec<&'static [u8]>)>);

#[derive(Default)]
pub struct Script {
    /// Found by whatever is searched for.
    pub found: Vec<Person>,
    /// Result codes over the normal ones.
    pub bind: Option<u8>,
    /// The same for the hub's own account.
    pub account_bind: Option<u8>,
    pub search: Option<u8>,
    /// Says this to everything, in place of an answer.
    pub noise: Option<Vec<u8>>,
    pub log: Vec<Said>,
}

pub struct FakeDirectory {
    pub port: u16,
    pub script: Arc<Mutex<Script>>,
    task: tokio::task::JoinHandle<()>,
}

impl FakeDirectory {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let script = Arc::new(Mutex::new(Script::default()));
        let shared = Arc::clone(&script);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        Self { port, script, task }
    }

    pub fn said(&self) -> Vec<Said> {
        std::mem::take(&mut self.script.lock().unwrap().log)
    }
}

impl Drop for FakeDirectory {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, script: Arc<Mutex<Script>>) {
    let mut bytes = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk).await {
            Ok(n) if n > 0 => bytes.extend_from_slice(&chunk[..n]),
            _ => return,
        }
        while let Ok((rest, message)) = parse_tag(&bytes) {
            let (rest, answers) = (rest.to_vec(), answers(message, &mut script.lock().unwrap()));
            bytes = rest;
            if stream.write_all(&answers).await.is_err() {
                return;
            }
        }
    }
}

fn answers(message: StructureTag, script: &mut Script) -> Vec<u8> {
    let mut parts = message.expect_constructed().unwrap().into_iter();
    let (id, operation) = (parts.next().unwrap(), parts.next().unwrap());
    let answers = match operation.id {
        0 => vec![bound(operation, script)],
        3 => searched(operation, script),
        _ => vec![],
    };
    if let Some(noise) = &script.noise {
        return noise.clone();
    }
    let mut buffer = BytesMut::new();
    for answer in answers {
        write::encode_into(
            &mut buffer,
            constructed(TagClass::Universal, 16, vec![id.clone(), answer]),
        )
        .unwrap();
    }
    buffer.to_vec()
}

fn bound(request: StructureTag, script: &mut Script) -> StructureTag {
    let parts = request.expect_constructed().unwrap();
    let (dn, password) = (text(&parts[1]), text(&parts[2]));
    let known = dn == "cn=hub" && password == "hub's own"
        || script.found.iter().any(|one| one.0 == dn && one.1 == password);
    // As many real ones do: nothing to prove, nothing refused (RFC 4513, 5.1.2).
    let good = known || dn.is_empty() || password.is_empty();
    let normal = if good { 0 } else { 49 };
    let forced = if dn == "cn=hub" { script.account_bind } else { script.bind };
    let code = forced.unwrap_or(normal);
    script.log.push(Said::Bind { dn, password });
    result(1, code)
}

fn searched(request: StructureTag, script: &mut Script) -> Vec<StructureTag> {
    let parts = request.expect_constructed().unwrap();
    let filter = parts[6].clone();
    let kind = filter.id;
    let value = filter
        .expect_constructed()
        .map(|parts| parts.last().map(text).unwrap_or_default())
        .unwrap_or_default();
    let attributes = parts[7].clone().expect_constructed().unwrap().iter().map(text).collect();
    script.log.push(Said::Search { filter: kind, value, attributes });
    let entry = |(dn, _, attributes): &Person| {
        let attribute = |(name, values): &(&str, Vec<&[u8]>)| {
            let values = values.iter().map(|value| octets(value)).collect();
            constructed(
                TagClass::Universal,
                16,
                vec![octets(name.as_bytes()), constructed(TagClass::Universal, 17, values)],
            )
        };
        let attributes =
            constructed(TagClass::Universal, 16, attributes.iter().map(attribute).collect());
        constructed(TagClass::Application, 4, vec![octets(dn.as_bytes()), attributes])
    };
    let mut answers: Vec<StructureTag> = script.found.iter().map(entry).collect();
    answers.push(result(5, script.search.unwrap_or(0)));
    answers
}

fn result(id: u64, code: u8) -> StructureTag {
    let code = StructureTag { class: TagClass::Universal, id: 10, payload: PL::P(vec![code]) };
    constructed(TagClass::Application, id, vec![code, octets(b""), octets(b"cn=ada is secret")])
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
