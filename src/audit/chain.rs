//! The chain: each line carries its number and the hash of the line before, so that none can be changed, taken out, put in
//! or moved without the next one saying so; and the checkpoint, which signs where the chain stands. Pure.
//!
//! A hash is SHA-256 over a line's bytes with its line end, in hexadecimal: `sed -n 5p audit.jsonl | sha256sum` is what
//! line 6 has as `prev`.

use chrono::{DateTime, SecondsFormat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::VERSION;
use super::event::{Change, Event, Name, Pseudonym, Purpose, Rare};
use super::last_seal::SealCheck;
use crate::assurance::Level;
use crate::digest;
use crate::env::Timestamp;
use crate::ids::{ClientId, ConnectorId, Subject, SupportId};

/// `typ` of a checkpoint's header: nothing else that the hub signs can be taken for one, or the other way around.
pub const CHECKPOINT_TYPE: &str = "passerelle-checkpoint+jws";

/// What the first line of all has as `prev`.
pub const NOTHING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Where a chain stands: after line `seq`, whose hash is `hash`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chain {
    pub seq: u64,
    pub hash: String,
}

/// One line. Absent fields are left out.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "A line of Passerelle's audit log", rename = "AuditLine")]
pub(super) struct Line<'a> {
    /// Of this shape: 1.
    v: u32,
    /// Number of the line: 1 for the first of a chain, then counting up, across files.
    seq: u64,
    /// SHA-256 of the line before with its line end, in hexadecimal; 64 zeros in the first of a chain.
    prev: &'a str,
    /// When it happened: RFC 3339, UTC, milliseconds. Lines stand in the order of `seq`; times of neighbours may cross.
    time: &'a str,
    event: Name,
    /// The process that wrote it (`audit.node`).
    node: &'a str,
    /// Service provider, by its client_id.
    #[serde(skip_serializing_if = "Option::is_none")]
    sp: Option<&'a ClientId>,
    /// Identity provider, by its connector's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    idp: Option<&'a ConnectorId>,
    /// Data provider, by its client_id.
    #[serde(skip_serializing_if = "Option::is_none")]
    dp: Option<&'a ClientId>,
    /// The person, by the pairwise subject of the service provider or the data provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    sub: Option<&'a Subject>,
    /// Level of assurance: asked in a request, obtained from the callback on, told in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<Level>,
    /// Why not: a code of docs/errors.md.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    /// The login, by a name that opens nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    login: Option<Pseudonym>,
    /// The session, by a name that opens nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<Pseudonym>,
    /// What the person reads on the page; the same through a whole login and all that was issued for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    support_id: Option<&'a SupportId>,
    /// A block's id, as `passerelle idp list` shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<&'a str>,
    /// A key, by its RFC 7638 thumbprint.
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    purpose: Option<Purpose>,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<Change>,
    /// A configuration file's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    /// Names all that connectors, service providers, data providers and scopes say: the same name, the same files.
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<&'a str>,
    /// Of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    /// How many events.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<u64>,
    /// Whether the log holds the last checkpoint that the state folder or the shared store keeps of it: `matched`, `unknown`
    /// (none was kept), `missing` (the log ends before it), `changed` (another line stands there), `unreadable` (nothing could be compared).
    #[serde(skip_serializing_if = "Option::is_none")]
    last_seal: Option<SealCheck>,
    /// Number of that checkpoint's line.
    #[serde(skip_serializing_if = "Option::is_none")]
    sealed: Option<u64>,
    /// A compact JWS of `iss`, `iat`, `node`, and `seq` and `hash` of the line before.
    #[serde(skip_serializing_if = "Option::is_none")]
    jws: Option<&'a str>,
}

/// What a checkpoint signs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Seal {
    pub iss: String,
    /// Seconds.
    pub iat: u64,
    pub node: String,
    pub seq: u64,
    pub hash: String,
}

impl Default for Chain {
    /// Before the first line.
    fn default() -> Self {
        Self { seq: 0, hash: NOTHING.to_owned() }
    }
}

impl Chain {
    /// Writes the next line, with its line end, to the end of `bytes`.
    pub(super) fn append(&mut self, bytes: &mut Vec<u8>, event: &Event, at: Timestamp, node: &str) {
        let none = Rare::default();
        let rare = event.rare.as_deref().unwrap_or(&none);
        let line = Line {
            v: VERSION,
            seq: self.seq + 1,
            prev: &self.hash,
            time: &in_rfc3339(at),
            event: event.name,
            node,
            sp: event.sp.as_ref(),
            idp: event.idp.as_ref(),
            dp: event.dp.as_ref(),
            sub: event.sub.as_ref(),
            level: event.level,
            code: event.code.map(|code| code.entry().code),
            login: event.login_name(),
            session: event.session_name(),
            support_id: event.support_id.as_ref(),
            block: rare.block.as_deref(),
            kid: rare.kid.as_deref(),
            purpose: rare.purpose,
            change: rare.change,
            file: rare.file.as_deref(),
            config: rare.config.as_deref(),
            version: rare.version,
            lost: rare.lost,
            last_seal: rare.last_seal,
            sealed: rare.sealed,
            jws: rare.jws.as_deref(),
        };
        let from = bytes.len();
        // Strings, numbers and names: writing them to memory can't fail.
        let _ok = serde_json::to_writer(&mut *bytes, &line);
        bytes.push(b'\n');
        self.hash = hash(bytes.get(from..).unwrap_or_default());
        self.seq += 1;
    }
}

/// Of a line with its line end.
#[must_use]
pub fn hash(line: &[u8]) -> String {
    let digit =
        |nibble: u8| char::from(if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 });
    let mut text = String::with_capacity(64);
    for byte in digest::sha256(line) {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}

/// Always with milliseconds, so that times compare as text.
#[must_use]
pub fn in_rfc3339(at: Timestamp) -> String {
    let millis = i64::try_from(at.millis()).unwrap_or(i64::MAX);
    DateTime::from_timestamp_millis(millis)
        .map_or_else(|| millis.to_string(), |at| at.to_rfc3339_opts(SecondsFormat::Millis, true))
}
