//! The key folder: one JSON file for each key, and the library behind `passerelle keys new|list|rotate`.
//!
//! | in | keys | file |
//! |---|---|---|
//! | the folder itself | that sign the hub's tokens | `{"created": 1790000000, "signs_from": 1790001200, "jwk": {private JWK}}` |
//! | `assertion/` | that prove to identity providers who the hub is | the same |
//! | `encryption/` | to which identity providers seal their answers | without `signs_from` |
//!
//! Times in Unix seconds; files 0600, folders 0700. Owns: the folder's form, what a rotation adds and removes. Must not
//! know: when the folder is read again, the command line.

mod file;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use self::file::{Filed, Fresh, Rest, Temporary, create_folder, read_all};
use super::decryption_key::{DecryptionKey, KeyKind};
use super::keyring::{HINT_LIFE, KeyState, Keyring, KeyringFault};
use super::signing_key::{self, KeyFault, PrivateJwk, SigningKey};
use super::upstream_keys::{KEPT, SPREAD, UpstreamKeys};
use crate::env::{Env, Timestamp};
use crate::identity::pivot::Derivation;
use crate::protocol::alg::SigningAlg;

/// What is wrong with a key folder, where, and how to mend it. Carries nothing of a key.
#[derive(thiserror::Error, Debug)]
pub enum KeyFileFault {
    #[error(
        "{path}: the key folder can't be read ({cause}); create what is missing with `passerelle keys new`"
    )]
    Folder { path: PathBuf, cause: io::Error },
    #[error("{path}: can't be read ({cause}); give it to the user that runs the hub")]
    Unreadable { path: PathBuf, cause: io::Error },
    #[error(
        "{path}: can be read by others (mode {mode:04o}); run `chmod 600 {path}`, and if others may have read it, `passerelle keys rotate`"
    )]
    Exposed { path: PathBuf, mode: u32 },
    #[error(
        "{path}: {what}; restore the file from a backup, or remove it and run `passerelle keys new`"
    )]
    Malformed { path: PathBuf, what: &'static str },
    #[error(
        "{path}: {fault}; restore the file from a backup, or remove it and run `passerelle keys new`"
    )]
    Key { path: PathBuf, fault: KeyFault },
    #[error("{path}: holds the key of {expected}; rename it, or remove it if it is a copy")]
    Misnamed { path: PathBuf, expected: String },
    #[error("{path}: no {} key in this folder signs now; run `passerelle keys new`", alg.as_str())]
    NoCurrent { path: PathBuf, alg: SigningAlg },
    #[error("{path}: no key in this folder is for {}; run `passerelle keys new`", kind.as_str())]
    NoDecryption { path: PathBuf, kind: KeyKind },
    #[error("{path}: no key is missing; to change keys run `passerelle keys rotate`")]
    Exists { path: PathBuf },
    #[error(
        "{path}: the key {kid} is waiting for its turn; rotate again when it has come, in {seconds} s"
    )]
    Waiting { path: PathBuf, kid: String, seconds: u64 },
    #[error(
        "{path}: can't be written ({cause}); check that the user that runs this command owns the folder"
    )]
    Unwritable { path: PathBuf, cause: io::Error },
    #[error(
        "{path}: another run is writing this file, or one was cut short; if none is running, remove {temporary}"
    )]
    Busy { path: PathBuf, temporary: PathBuf },
    #[error("a new key could not be made: {0}")]
    Generation(KeyFault),
}

/// What a key of the folder is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Purpose {
    /// The hub's own tokens: `/api/v2/jwks`.
    Tokens,
    /// The hub's proof of who it is: `/api/v2/client/jwks`, `use: sig`.
    Assertion,
    /// What identity providers seal to the hub: `/api/v2/client/jwks`, `use: enc`.
    Encryption,
}

impl Purpose {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Assertion => "assertion",
            Self::Encryption => "encryption",
        }
    }

    fn folder(self, dir: &Path) -> PathBuf {
        match self {
            Self::Tokens => dir.to_owned(),
            Self::Assertion | Self::Encryption => dir.join(self.as_str()),
        }
    }
}

/// One line of `passerelle keys list`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyRow {
    pub purpose: Purpose,
    pub kid: String,
    /// JOSE names.
    pub alg: &'static str,
    pub state: KeyState,
    /// When it entered this state: for `Next`, when it was created.
    pub since: Timestamp,
    /// When it leaves it: `Next` takes over, `Current` hands over (if a successor waits), `Retired` is removed.
    pub until: Option<Timestamp>,
}

/// A key that was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Made {
    pub purpose: Purpose,
    pub kid: String,
    /// When it begins to sign, or is published for others to seal to.
    pub from: Timestamp,
}

/// What a rotation did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rotation {
    pub added: Vec<Made>,
    /// Keys retired for over 30 days, whose files are gone now.
    pub removed: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubjectKey {
    Created,
    /// There was one; it was left as it is, for a subject key must never change.
    Kept,
}

/// Reads the keys that sign tokens. Blocks: not for a web worker.
///
/// # Errors
/// Any fault of a file, and `NoCurrent` unless an EC and an RSA key can sign at `now`.
pub fn load(dir: &Path, now: Timestamp) -> Result<Keyring, KeyFileFault> {
    Keyring::new(read_all(dir)?, now).map_err(|fault| match fault {
        KeyringFault::NoCurrent(alg) => KeyFileFault::NoCurrent { path: dir.into(), alg },
        KeyringFault::Key(fault) => KeyFileFault::Key { path: dir.into(), fault },
    })
}

/// Reads the hub's keys as a client of identity providers. Blocks: not for a web worker.
///
/// # Errors
/// As [`load`], and `NoDecryption` unless there is an EC and an RSA key to seal to.
pub fn load_upstream(dir: &Path, now: Timestamp) -> Result<UpstreamKeys, KeyFileFault> {
    let assertion = load(&Purpose::Assertion.folder(dir), now)?;
    let path = Purpose::Encryption.folder(dir);
    UpstreamKeys::new(read_all(&path)?, assertion)
        .map_err(|kind| KeyFileFault::NoDecryption { path, kind })
}

/// Makes the first keys, which are in use at once; in a folder that lacks some (lost, or made by an earlier version),
/// the missing ones.
///
/// # Errors
/// `Exists` when nothing is missing; faults of the files that are there; `Unwritable`, `Busy`, `Generation`.
pub fn create(dir: &Path, env: &Env) -> Result<Vec<Made>, KeyFileFault> {
    let now = env.now();
    for purpose in [Purpose::Tokens, Purpose::Assertion, Purpose::Encryption] {
        create_folder(&purpose.folder(dir))?;
    }
    let mut missing = Vec::new();
    for purpose in SIGNING {
        let ring = Keyring::unchecked(read_all(&purpose.folder(dir))?);
        let lacks = BOTH.into_iter().filter(|alg| ring.current(*alg, now).is_none());
        missing.extend(lacks.map(|alg| Wanted::Signing { purpose, alg, from: now }));
    }
    let sealed: Vec<DecryptionKey> = read_all(&Purpose::Encryption.folder(dir))?;
    let lacks = KeyKind::ALL.into_iter().filter(|kind| !sealed.iter().any(|key| key.kind == *kind));
    missing.extend(lacks.map(|kind| Wanted::Decryption { kind, from: now }));
    if missing.is_empty() {
        return Err(KeyFileFault::Exists { path: dir.into() });
    }
    add(dir, &missing, now)
}

/// Adds the next key of each sort, and removes what has been retired for over 30 days. The next signing keys are
/// published at once and sign after `lead` ([`super::keyring::LEAD`] unless a key was stolen); the next encryption keys
/// are published, and their predecessors withdrawn, after [`SPREAD`].
///
/// # Errors
/// `Waiting` while a next key has not had its turn; `NoCurrent`; faults of the files; `Unwritable`, `Generation`.
pub fn rotate(dir: &Path, env: &Env, lead: Duration) -> Result<Rotation, KeyFileFault> {
    let now = env.now();
    let (tokens, upstream) = (load(dir, now)?, load_upstream(dir, now)?);
    let rows = rows(&tokens, &upstream, now);
    if let Some(KeyRow { purpose, kid, until, .. }) =
        rows.iter().find(|row| row.state == KeyState::Next)
    {
        let seconds = until.unwrap_or(now).since(now).as_millis().div_ceil(1000);
        let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
        return Err(KeyFileFault::Waiting { path: purpose.folder(dir), kid: kid.clone(), seconds });
    }
    // Up to the next whole second: a key never signs before its time.
    let from = Timestamp::from_seconds((now + lead + Duration::from_millis(999)).seconds());
    let signing = SIGNING
        .into_iter()
        .flat_map(|purpose| BOTH.map(|alg| Wanted::Signing { purpose, alg, from }));
    let decryption = KeyKind::ALL.map(|kind| Wanted::Decryption { kind, from: now + SPREAD });
    let added = add(dir, &signing.chain(decryption).collect::<Vec<_>>(), now)?;
    let mut removed = Vec::new();
    for row in rows {
        if let (KeyState::Retired { .. }, Some(until)) = (row.state, row.until)
            && until < now
        {
            let name = match row.purpose {
                Purpose::Tokens | Purpose::Assertion => signing_file(row.alg, &row.kid),
                Purpose::Encryption => decryption_file(&row.kid),
            };
            let path = row.purpose.folder(dir).join(name);
            fs::remove_file(&path).map_err(|cause| KeyFileFault::Unwritable { path, cause })?;
            removed.push(row.kid);
        }
    }
    Ok(Rotation { added, removed })
}

/// The folder's keys in the order of the key sets, whatever is missing.
///
/// # Errors
/// Faults of the folder and its files.
pub fn list(dir: &Path, now: Timestamp) -> Result<Vec<KeyRow>, KeyFileFault> {
    let tokens = Keyring::unchecked(read_all(dir)?);
    let assertion = Keyring::unchecked(read_if_there(&Purpose::Assertion.folder(dir))?);
    let decryption = read_if_there(&Purpose::Encryption.folder(dir))?;
    Ok(rows(&tokens, &UpstreamKeys::unchecked(decryption, assertion), now))
}

/// Writes the key of the pairwise subjects unless the file is there: the latest derivation's prefix, then 256 random bits as
/// 43 base64url characters.
///
/// # Errors
/// `Unwritable`, and `Busy` if a temporary file is in the way.
pub fn create_subject_key(path: &Path, env: &Env) -> Result<SubjectKey, KeyFileFault> {
    // A link that leads nowhere counts as a key: what it should lead to may only be missing for the moment.
    let exists = || path.symlink_metadata().is_ok();
    if exists() {
        return Ok(SubjectKey::Kept);
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        create_folder(folder)?;
    }
    let temporary = Temporary::create(path)?;
    // Another run may have finished since the first look; while the temporary file is ours, none can.
    if exists() {
        return Ok(SubjectKey::Kept);
    }
    temporary.finish(format!("{}{}", Derivation::KEY_PREFIX, env.entropy().token()).as_bytes())?;
    Ok(SubjectKey::Created)
}

const BOTH: [SigningAlg; 2] = [SigningAlg::ES256, SigningAlg::RS256];
const SIGNING: [Purpose; 2] = [Purpose::Tokens, Purpose::Assertion];

/// A folder of an earlier version has no such folder.
fn read_if_there<K: Filed>(dir: &Path) -> Result<Vec<K>, KeyFileFault> {
    match read_all(dir) {
        Err(KeyFileFault::Folder { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {
            Ok(Vec::new())
        }
        outcome => outcome,
    }
}

/// Every key with its state.
#[must_use]
pub fn rows(tokens: &Keyring, upstream: &UpstreamKeys, now: Timestamp) -> Vec<KeyRow> {
    let signing = |purpose: Purpose, ring: &Keyring| -> Vec<KeyRow> {
        let row = |(key, state): (&SigningKey, KeyState)| {
            let (since, until) = match state {
                KeyState::Current => {
                    (key.signs_from, ring.successor(key).map(|next| next.signs_from))
                }
                KeyState::Next => (key.created, Some(key.signs_from)),
                KeyState::Retired { since } => (since, Some(since + HINT_LIFE)),
            };
            KeyRow { purpose, kid: key.kid.clone(), alg: key.alg.as_str(), state, since, until }
        };
        ring.states(now).into_iter().map(row).collect()
    };
    let decryption = upstream.states(now).into_iter().map(|(key, state)| {
        let (since, until) = match state {
            KeyState::Current => (key.created, upstream.succession(key)),
            KeyState::Next => (key.created, Some(key.created + SPREAD)),
            KeyState::Retired { since } => (since, Some(since + KEPT)),
        };
        KeyRow {
            purpose: Purpose::Encryption,
            kid: key.kid.clone(),
            alg: key.kind.as_str(),
            state,
            since,
            until,
        }
    });
    let mut rows = signing(Purpose::Tokens, tokens);
    rows.extend(signing(Purpose::Assertion, upstream.assertion()));
    rows.extend(decryption);
    rows
}

/// A key to be made.
enum Wanted {
    Signing { purpose: Purpose, alg: SigningAlg, from: Timestamp },
    Decryption { kind: KeyKind, from: Timestamp },
}

impl Wanted {
    fn make(&self, created: Timestamp) -> Result<(Made, Fresh), KeyFault> {
        let (purpose, from) = match self {
            Self::Signing { purpose, from, .. } => (*purpose, *from),
            Self::Decryption { from, .. } => (Purpose::Encryption, *from),
        };
        let jwk = signing_key::generate(match self {
            Self::Signing { alg, .. } => *alg,
            Self::Decryption { kind: KeyKind::Ec, .. } => SigningAlg::ES256,
            Self::Decryption { kind: KeyKind::Rsa, .. } => SigningAlg::RS256,
        })?;
        let (kid, file_name, signs_from) = match self {
            Self::Signing { .. } => {
                let key = SigningKey::parse(&jwk, created, from)?;
                (key.kid.clone(), key.file_name(), Some(from))
            }
            Self::Decryption { .. } => {
                let key = DecryptionKey::parse(&jwk, created)?;
                (key.kid.clone(), key.file_name(), None)
            }
        };
        Ok((Made { purpose, kid, from }, Fresh { file_name, signs_from, created, jwk }))
    }
}

fn add(dir: &Path, wanted: &[Wanted], created: Timestamp) -> Result<Vec<Made>, KeyFileFault> {
    // All keys are made before the first is written, so that a failure leaves the folder as it was.
    let keys = wanted
        .iter()
        .map(|one| one.make(created))
        .collect::<Result<Vec<_>, _>>()
        .map_err(KeyFileFault::Generation)?;
    let mut all = Vec::new();
    for (made, fresh) in keys {
        fresh.write(&made.purpose.folder(dir))?;
        all.push(made);
    }
    Ok(all)
}

impl Filed for SigningKey {
    fn read(
        created: Timestamp,
        jwk: &PrivateJwk,
        rest: &mut Rest<'_>,
    ) -> Result<Self, KeyFileFault> {
        let signs_from =
            rest.seconds("signs_from", "`signs_from` must be a time in Unix seconds")?;
        Self::parse(jwk, created, signs_from).map_err(|fault| rest.fault(fault))
    }

    fn file_name(&self) -> String {
        signing_file(self.alg.as_str(), &self.kid)
    }
}

impl Filed for DecryptionKey {
    fn read(
        created: Timestamp,
        jwk: &PrivateJwk,
        rest: &mut Rest<'_>,
    ) -> Result<Self, KeyFileFault> {
        Self::parse(jwk, created).map_err(|fault| rest.fault(fault))
    }

    fn file_name(&self) -> String {
        decryption_file(&self.kid)
    }
}

fn signing_file(alg: &str, kid: &str) -> String {
    format!("{}-{kid}.json", alg.to_ascii_lowercase())
}

fn decryption_file(kid: &str) -> String {
    format!("enc-{kid}.json")
}

#[cfg(test)]
mod tests;
