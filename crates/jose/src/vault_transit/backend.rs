//! The engine as a [`KeyDevice`](crate::key_device::KeyDevice).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::{Method, StatusCode};
use openidconnect::HttpResponse;
use openssl::base64::{decode_block, encode_block};
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{
    MAX_CONCURRENT_CALLS, TransitCall, TransitClient, answer_data, status_error, unexpected,
};
use super::options::TransitOptions;
use crate::device_key_uri::DeviceKeyUri;
use crate::guarded_device::{DeviceBackend, DeviceOperation, GuardedKeyDevice};
use crate::key_device::{KeyDeviceError, KeyLocation, OaepHash};
use crate::transit_key_uri::TransitKeyUri;
use passerelle_egress::safe_http_client::EgressError;
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::digest;
use passerelle_protocol::ids::Secret;
use passerelle_telemetry::{CheckFinding, Metrics};

/// Calls of the engine for keys in it.
pub struct TransitBackend(TransitClient);

/// An engine behind its circuit breaker.
pub type VaultTransitDevice = GuardedKeyDevice<TransitBackend>;

impl VaultTransitDevice {
    /// Creates the device. Makes no call.
    ///
    /// # Errors
    /// Returns an error if the TLS library can't be set up, or the address may not be called.
    pub fn connect_lazily(
        options: &TransitOptions,
        metrics: Option<Arc<Metrics>>,
    ) -> Result<Self, EgressError> {
        let backend = TransitBackend(TransitClient::new(options)?);
        Ok(Self::new(backend, KeyLocation::VaultTransit, options.timeout, metrics))
    }
}

#[async_trait]
impl DeviceBackend for TransitBackend {
    async fn run(&self, operation: DeviceOperation) -> Result<Secret<Vec<u8>>, KeyDeviceError> {
        match operation {
            DeviceOperation::Sign { key, alg, message } => {
                self.sign(transit_key(&key)?, alg, &message).await.map(Secret::new)
            }
            DeviceOperation::Decrypt { key, hash: OaepHash::Sha256, ciphertext } => {
                self.decrypt(transit_key(&key)?, &ciphertext).await
            }
            DeviceOperation::Decrypt { hash: OaepHash::Sha1, .. } => {
                Err(KeyDeviceError::Rejected("Transit has RSA-OAEP with SHA-256 only".to_owned()))
            }
            DeviceOperation::Derive { .. } => {
                Err(KeyDeviceError::Rejected("Transit has no key agreement".to_owned()))
            }
        }
    }

    /// No call has a thread of its own.
    fn close(&self, _: Duration) {}

    fn max_calls(&self) -> usize {
        MAX_CONCURRENT_CALLS
    }

    fn warning(&self) -> Option<CheckFinding> {
        self.0.token_finding()
    }
}

impl TransitBackend {
    /// Signs the hash of a message: what the hub signs does not leave it.
    async fn sign(
        &self,
        key: &TransitKeyUri,
        alg: SigningAlg,
        message: &[u8],
    ) -> Result<Vec<u8>, KeyDeviceError> {
        #[derive(Deserialize)]
        struct SignatureData {
            signature: String,
        }
        let (name, value) = match alg {
            SigningAlg::ES256 => ("marshaling_algorithm", "jws"),
            SigningAlg::RS256 => ("signature_algorithm", "pkcs1v15"),
        };
        let body = json!({
            "input": encode_block(&digest::sha256(message)),
            "prehashed": true,
            "hash_algorithm": "sha2-256",
            "key_version": key.version(),
            name: value,
        });
        let response = self.post("sign", key, body).await?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::BAD_REQUEST if says_missing(&response) => {
                return Err(KeyDeviceError::KeyMissing(key.to_string()));
            }
            status => return Err(status_error(status)),
        }
        let SignatureData { signature } = answer_data(&response)?;
        let encoded = signature.strip_prefix(&format!("vault:v{}:", key.version()));
        let decoded = encoded.and_then(|encoded| match alg {
            SigningAlg::ES256 => digest::from_base64url(encoded),
            SigningAlg::RS256 => decode_block(encoded).ok(),
        });
        decoded.ok_or_else(|| unexpected("its signature is not of the key's version, or no base64"))
    }

    async fn decrypt(
        &self,
        key: &TransitKeyUri,
        ciphertext: &[u8],
    ) -> Result<Secret<Vec<u8>>, KeyDeviceError> {
        #[derive(Deserialize)]
        struct PlaintextData {
            plaintext: String,
        }
        let ciphertext = format!("vault:v{}:{}", key.version(), encode_block(ciphertext));
        let response = self.post("decrypt", key, json!({ "ciphertext": ciphertext })).await?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::BAD_REQUEST if says_missing(&response) => {
                return Err(KeyDeviceError::KeyMissing(key.to_string()));
            }
            // Vault answers 500 to a ciphertext that does not decrypt. Anyone can send one, so it
            // must not open the circuit.
            StatusCode::BAD_REQUEST | StatusCode::INTERNAL_SERVER_ERROR => {
                return Err(KeyDeviceError::Rejected("it does not decrypt".to_owned()));
            }
            // The policy may lack this right alone, and signatures still work.
            StatusCode::FORBIDDEN | StatusCode::NOT_FOUND => {
                return Err(KeyDeviceError::Rejected(status_error(response.status()).to_string()));
            }
            status => return Err(status_error(status)),
        }
        let data: Result<PlaintextData, _> = answer_data(&response);
        // The body has the plaintext too, and is overwritten here.
        drop(Secret::new(response.into_body()));
        let plaintext = Secret::new(data?.plaintext);
        let decoded = decode_block(plaintext.reveal());
        decoded.map(Secret::new).map_err(|_| unexpected("its plaintext is no base64"))
    }

    async fn post(
        &self,
        operation: &'static str,
        key: &TransitKeyUri,
        body: Value,
    ) -> Result<HttpResponse, KeyDeviceError> {
        let call =
            TransitCall { method: Method::POST, operation, key: key.name(), body: Some(body) };
        self.0.send(&call).await
    }
}

fn transit_key(key: &DeviceKeyUri) -> Result<&TransitKeyUri, KeyDeviceError> {
    match key {
        DeviceKeyUri::VaultTransit(key) => Ok(key),
        DeviceKeyUri::Pkcs11(_) => Err(KeyDeviceError::KeyMissing(key.to_string())),
    }
}

/// Returns true if the answer says that there is no such key.
fn says_missing(response: &HttpResponse) -> bool {
    #[derive(Deserialize)]
    struct Refusal {
        errors: Vec<String>,
    }
    let refusal: Result<Refusal, _> = serde_json::from_slice(response.body());
    refusal.is_ok_and(|refusal| refusal.errors.iter().any(|error| error.contains("key not found")))
}
