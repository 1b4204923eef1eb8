//! A Vault server with a Transit engine, as its documented interface says, that fails on demand.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use openssl::base64::{decode_block, encode_block};
use openssl::ec::{EcGroup, EcKey};
use openssl::ecdsa::EcdsaSig;
use openssl::encrypt::Decrypter;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::rsa::{Padding, Rsa};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use passerelle_egress::testing::fake_server::{FakeResponse, FakeServer, ReceivedRequest};
use passerelle_protocol::digest;

/// Token that the server accepts at first.
pub const TOKEN: &str = "hvs.73-correct-horse";

/// How the server answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VaultFault {
    None,
    /// It is not reachable.
    Away,
    Sealed,
    /// It signs another message.
    ForgedSignature,
    /// It answers with a redirect to itself.
    Redirect,
    /// It answers with more than any answer has.
    HugeAnswer,
    /// It answers with a page.
    NoJson,
    /// It signs with a version of the key that was not named.
    OtherVersion,
    /// It limits the rate of calls.
    RateLimited,
    /// It returns the public half of another key.
    OtherPublicKey,
    /// It answers so to a call that decrypts: the policy or the path lacks that right alone.
    DecryptionRefused(u16),
}

struct State {
    fault: VaultFault,
    token: String,
    keys: HashMap<String, PKey<Private>>,
    requests: Vec<ReceivedRequest>,
}

/// The server, which runs on a thread of its own until it is dropped.
pub struct FakeVault {
    address: String,
    state: Arc<Mutex<State>>,
    /// Ends the thread when it is dropped.
    _running: oneshot::Sender<()>,
}

impl FakeVault {
    pub fn start() -> Self {
        let state = State {
            fault: VaultFault::None,
            token: TOKEN.to_owned(),
            keys: HashMap::new(),
            requests: Vec::new(),
        };
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        let respond = move |request| respond(&mut shared.lock().unwrap(), request);
        let (started, address) = mpsc::channel();
        let (running, ended) = oneshot::channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let server = FakeServer::start(respond).await;
                started.send(server.base()).unwrap();
                // An error: the test has dropped the server.
                let _dropped = ended.await;
            });
        });
        Self { address: address.recv().unwrap(), state, _running: running }
    }

    /// Returns its address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Makes it answer like this from now on.
    pub fn set_fault(&self, fault: VaultFault) {
        self.state.lock().unwrap().fault = fault;
    }

    /// Makes it accept this token only.
    pub fn set_token(&self, token: &str) {
        token.clone_into(&mut self.state.lock().unwrap().token);
    }

    /// Removes all keys.
    pub fn remove_keys(&self) {
        self.state.lock().unwrap().keys.clear();
    }

    /// Replaces the keys whose names begin so: as a restored backup of another server.
    pub fn replace_keys(&self, prefix: &str) {
        let mut state = self.state.lock().unwrap();
        for (_, key) in state.keys.iter_mut().filter(|(name, _)| name.starts_with(prefix)) {
            *key = new_key(key_type(key));
        }
    }

    /// Removes and returns the requests that it received.
    pub fn take_requests(&self) -> Vec<ReceivedRequest> {
        std::mem::take(&mut self.state.lock().unwrap().requests)
    }

    /// Returns the table `[vault_transit]`; the token is in the file `vault.token` beside
    /// `passerelle.toml`.
    pub fn settings(&self) -> String {
        format!(
            "[vault_transit]\naddress = \"{}\"\ntoken = {{ file = \"vault.token\" }}\ntimeout_seconds = 5\n",
            self.address
        )
    }
}

fn respond(state: &mut State, request: ReceivedRequest) -> FakeResponse {
    let token = format!("x-vault-token: {}", state.token);
    let is_authenticated = request.headers.lines().any(|line| line == token);
    let path: Vec<String> = request.target.split('/').skip(1).map(str::to_owned).collect();
    let (method, body) = (request.method.clone(), request.body.clone());
    state.requests.push(request);
    match state.fault {
        VaultFault::Away => return FakeResponse::connection_closed(),
        VaultFault::Sealed => return errors(503, "Vault is sealed"),
        VaultFault::Redirect => {
            let location = format!("/{}", path.join("/"));
            return FakeResponse {
                headers: vec![("location", location)],
                ..FakeResponse::status(307)
            };
        }
        VaultFault::HugeAnswer => {
            return FakeResponse { body: vec![b' '; 1 << 20], ..FakeResponse::status(200) };
        }
        VaultFault::NoJson => {
            return FakeResponse { body: b"<html>".to_vec(), ..FakeResponse::status(200) };
        }
        VaultFault::RateLimited => return errors(429, "request path: rate limit quota exceeded"),
        VaultFault::None
        | VaultFault::ForgedSignature
        | VaultFault::OtherVersion
        | VaultFault::OtherPublicKey
        | VaultFault::DecryptionRefused(_) => {}
    }
    if !is_authenticated {
        return errors(403, "permission denied");
    }
    let [version, mount, operation, name] = &path[..] else { return errors(404, "") };
    if (version.as_str(), mount.as_str()) != ("v1", "transit") {
        return errors(404, "no handler for route");
    }
    let body: Value = serde_json::from_str(&body).unwrap_or_default();
    if (method.as_str(), operation.as_str()) == ("POST", "keys") {
        state.keys.insert(name.clone(), new_key(body["type"].as_str().unwrap()));
        return FakeResponse::status(204);
    }
    let Some(key) = state.keys.get(name) else {
        return match operation.as_str() {
            "keys" => errors(404, ""),
            "sign" => errors(400, "signing key not found"),
            _ => errors(400, "encryption key not found"),
        };
    };
    match (method.as_str(), operation.as_str()) {
        ("GET", "keys") if state.fault == VaultFault::OtherPublicKey => {
            read_key(&new_key(key_type(key)))
        }
        ("GET", "keys") => read_key(key),
        ("POST", "sign") => sign(key, &body, state.fault),
        ("POST", "decrypt") => match state.fault {
            VaultFault::DecryptionRefused(status) => errors(status, "permission denied"),
            _ => decrypt(key, &body),
        },
        _ => errors(405, "unsupported operation"),
    }
}

fn errors(status: u16, text: &str) -> FakeResponse {
    FakeResponse { status, ..FakeResponse::json(&json!({ "errors": [text] })) }
}

fn data(data: &Value) -> FakeResponse {
    FakeResponse::json(&json!({ "request_id": "1", "data": data }))
}

fn new_key(key_type: &str) -> PKey<Private> {
    match key_type {
        "ecdsa-p256" => {
            let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
            PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
        }
        // Keys of 2048 bits take a fraction of the time.
        "rsa-3072" => PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap(),
        other => panic!("the hub asks for {other}"),
    }
}

fn key_type(key: &PKey<Private>) -> &'static str {
    if key.rsa().is_ok() { "rsa-3072" } else { "ecdsa-p256" }
}

fn read_key(key: &PKey<Private>) -> FakeResponse {
    let pem = String::from_utf8(key.public_key_to_pem().unwrap()).unwrap();
    data(&json!({
        "type": key_type(key),
        "exportable": false,
        "latest_version": 1,
        "keys": { "1": { "public_key": pem, "name": "P-256" } },
    }))
}

fn sign(key: &PKey<Private>, body: &Value, fault: VaultFault) -> FakeResponse {
    assert_eq!((&body["prehashed"], &body["hash_algorithm"]), (&json!(true), &json!("sha2-256")));
    assert_eq!(body["key_version"], 1);
    let mut hash = decode_block(body["input"].as_str().unwrap()).unwrap();
    if fault == VaultFault::ForgedSignature {
        hash = digest::sha256(&hash).to_vec();
    }
    let encoded = if let Ok(ec) = key.ec_key() {
        assert_eq!(body["marshaling_algorithm"], "jws");
        let signature = EcdsaSig::sign(&hash, &ec).unwrap();
        let [r, s] = [signature.r(), signature.s()].map(|part| part.to_vec_padded(32).unwrap());
        digest::base64url(&[r, s].concat())
    } else {
        assert_eq!(body["signature_algorithm"], "pkcs1v15");
        encode_block(&sign_rsa(key, &hash))
    };
    let version = if fault == VaultFault::OtherVersion { 2 } else { 1 };
    data(&json!({ "signature": format!("vault:v{version}:{encoded}"), "key_version": version }))
}

/// Signs a SHA-256 hash (RFC 8017 §8.2.1).
fn sign_rsa(key: &PKey<Private>, hash: &[u8]) -> Vec<u8> {
    const DIGEST_INFO: [u8; 19] = [
        0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01,
        0x05, 0x00, 0x04, 0x20,
    ];
    let encoded = [DIGEST_INFO.as_slice(), hash].concat();
    let key = key.rsa().unwrap();
    let mut signature = vec![0; key.size() as usize];
    key.private_encrypt(&encoded, &mut signature, Padding::PKCS1).unwrap();
    signature
}

fn decrypt(key: &PKey<Private>, body: &Value) -> FakeResponse {
    let ciphertext = body["ciphertext"].as_str().unwrap().strip_prefix("vault:v1:").unwrap();
    let ciphertext = decode_block(ciphertext).unwrap();
    let mut decrypter = Decrypter::new(key).unwrap();
    decrypter.set_rsa_padding(Padding::PKCS1_OAEP).unwrap();
    decrypter.set_rsa_oaep_md(MessageDigest::sha256()).unwrap();
    decrypter.set_rsa_mgf1_md(MessageDigest::sha256()).unwrap();
    let mut plaintext = vec![0; decrypter.decrypt_len(&ciphertext).unwrap()];
    match decrypter.decrypt(&ciphertext, &mut plaintext) {
        Ok(length) => {
            plaintext.truncate(length);
            data(&json!({ "plaintext": encode_block(&plaintext) }))
        }
        // As Vault does.
        Err(_) => errors(500, "failed to RSA decrypt the ciphertext: crypto/rsa: decryption error"),
    }
}
