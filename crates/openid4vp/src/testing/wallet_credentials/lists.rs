//! Status lists and trust lists, and a fetcher that serves them.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Mutex;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Value, json};

use super::{PRESENTED_AT, TestSigner, sign_jws};
use crate::document_fetcher::{DocumentFetcher, FetchError};
use passerelle_protocol::digest;

/// Address of the sample status list.
pub const STATUS_LIST_URI: &str = "https://status.example/1";
/// Service type of issuers of PIDs (ETSI TS 119 602 annex D).
pub const PID_ISSUANCE: &str = "http://uri.etsi.org/19602/SvcType/PID/Issuance";

/// A status list token or a trust list before it is signed.
#[derive(Clone)]
pub struct UnsignedList {
    pub header: Value,
    pub payload: Value,
}

impl UnsignedList {
    /// Returns a status list with two bits for each of these statuses.
    pub fn with_statuses(signer: &TestSigner, statuses: &[u8]) -> Self {
        let bytes = statuses
            .chunks(4)
            .map(|four| four.iter().enumerate().map(|(at, status)| status << (2 * at)).sum::<u8>());
        let now = PRESENTED_AT.seconds();
        Self {
            header: json!({ "alg": "ES256", "typ": "statuslist+jwt", "x5c": signer.x5c() }),
            payload: json!({
                "sub": STATUS_LIST_URI,
                "iat": now - 100,
                "exp": now + 7200,
                "ttl": 600,
                "status_list": { "bits": 2, "lst": compressed(&bytes.collect::<Vec<_>>()) },
            }),
        }
    }

    /// Returns a list of trusted entities with one service, whose certificates are these (DER).
    pub fn with_trusted(signer: &TestSigner, certificates: &[Vec<u8>]) -> Self {
        let certificates: Vec<_> =
            certificates.iter().map(|der| json!({ "val": STANDARD.encode(der) })).collect();
        Self {
            header: json!({ "alg": "ES256", "x5c": signer.x5c(), "sigT": "2027-01-14T00:00:00Z",
                "crit": ["sigT"] }),
            payload: json!({ "LoTE": {
                "ListAndSchemeInformation": {
                    "LoTEVersionIdentifier": 1,
                    "LoTESequenceNumber": 5,
                    "LoTEType": "http://uri.etsi.org/19602/LoTEType/EUPIDProvidersList",
                    "SchemeOperatorName": [{ "lang": "en", "value": "Operator" }],
                    "ListIssueDateTime": "2027-01-14T00:00:00Z",
                    "NextUpdate": "2027-01-20T00:00:00Z",
                },
                "TrustedEntitiesList": [{
                    "TrustedEntityInformation": { "TEName": [{ "lang": "en", "value": "Issuer" }] },
                    "TrustedEntityServices": [{ "ServiceInformation": {
                        "ServiceName": [{ "lang": "en", "value": "PID" }],
                        "ServiceTypeIdentifier": PID_ISSUANCE,
                        "ServiceDigitalIdentity": { "X509Certificates": certificates },
                    } }],
                }],
            } }),
        }
    }

    /// Signs and returns the list.
    pub fn sign(&self, signer: &TestSigner) -> String {
        sign_jws(&self.header, &self.payload, &signer.key)
    }
}

/// Compresses a list as its token holds it.
pub fn compressed(list: &[u8]) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(list).unwrap();
    digest::base64url(&encoder.finish().unwrap())
}

/// Serves documents by URL, and counts the calls.
#[derive(Default)]
pub struct DocumentServer {
    documents: Mutex<HashMap<String, String>>,
    calls: Mutex<usize>,
}

impl DocumentServer {
    /// Serves a document from now on.
    pub fn serve(&self, url: &str, document: impl Into<String>) {
        self.documents.lock().unwrap().insert(url.to_owned(), document.into());
    }

    /// Serves nothing from now on.
    pub fn stop(&self) {
        self.documents.lock().unwrap().clear();
    }

    /// Returns the number of calls so far.
    pub fn calls(&self) -> usize {
        *self.calls.lock().unwrap()
    }
}

#[async_trait]
impl DocumentFetcher for DocumentServer {
    async fn fetch_document(&self, url: &str, _accept: &str) -> Result<Vec<u8>, FetchError> {
        *self.calls.lock().unwrap() += 1;
        let document = self.documents.lock().unwrap().get(url).cloned();
        document.map(String::into_bytes).ok_or_else(|| FetchError("nothing is there".into()))
    }
}
