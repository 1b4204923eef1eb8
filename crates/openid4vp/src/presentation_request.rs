//! A request for a presentation, from the page that offers it to the wallet's answer.
//!
//! Responsible for the stored form, the ids, and that a request is answered once.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::credential::RequestChannel;
use super::error_codes;
use passerelle_connector::error::ConnectorError;
use passerelle_jose::response_key::ResponseKey;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::{ClientId, ConnectorId, Secret};
use passerelle_store::{LateStore, NewRecord, Record, RecordKey, RecordKind, StoreError};

/// A presentation request that was sent to a wallet, until its login continues. A wallet may fetch
/// it from one node and answer it at another, so it is in the hub's store. It contains a private key,
/// and later an identity; its id reveals nothing.
pub const WALLET_REQUEST: &RecordKind =
    &RecordKind::new("wallet_request", b'v', "wallet_requests", 2048);

/// Where the wallet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WalletDevice {
    /// In the device of the browser: the wallet sends the browser back to the hub.
    Same,
    /// In another one: the user types a code into the browser.
    Other,
}

impl WalletDevice {
    const fn label(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Other => "other",
        }
    }
}

/// State of a request in the store. The key and the nonce are removed once it is answered.
#[derive(Serialize, Deserialize)]
enum StoredRequest {
    Open(PresentationRequest),
    Answered(RequestAnswer),
}

/// A request that can be answered.
#[derive(Serialize, Deserialize)]
pub struct PresentationRequest {
    /// `state` of the login attempt. Never sent to the wallet before it has answered.
    pub state: String,
    /// Base URL of the hub.
    pub base_url: String,
    pub nonce: String,
    pub key: ResponseKey,
    /// Service provider to name on another device; `None` for a wallet in the same device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<ClientId>,
}

impl PresentationRequest {
    /// Returns the origin of the hub, as browsers write it.
    ///
    /// # Errors
    /// `Internal` if the base URL has none.
    pub fn origin(&self) -> Result<String, ConnectorError> {
        let url = Url::parse(&self.base_url);
        url.map(|url| url.origin().ascii_serialization())
            .map_err(|error| ConnectorError::new(ErrorCode::Internal, error.to_string()))
    }
}

/// Outcome of an answered request.
#[derive(Serialize, Deserialize)]
pub enum RequestAnswer {
    /// The answer is stored under a one-time code.
    PassedOn,
    /// The response of a wallet on another device; it waits until the user has typed the code that
    /// the other device shows.
    Unconfirmed(Box<UnconfirmedAnswer>),
    /// Too many wrong codes were typed.
    Dropped,
}

/// The answer of another device.
#[derive(Serialize, Deserialize)]
pub struct UnconfirmedAnswer {
    /// Service provider that the other device names.
    pub service: ClientId,
    /// Six digits.
    #[serde(with = "passerelle_protocol::ids::stored_secret")]
    pub code: Secret<String>,
    /// Fingerprint of the secret in the address of the page that shows the code.
    pub page_secret: String,
    pub wrong_codes: u32,
    pub outcome: AnswerOutcome,
}

/// Answer of a wallet.
#[derive(Clone, Serialize, Deserialize)]
pub enum AnswerOutcome {
    /// One-time code of the presentation. The presentation is not in the request, because the store
    /// limits the bytes of what is inserted, and a request would grow after that.
    Presented(#[serde(with = "passerelle_protocol::ids::stored_secret")] Secret<String>),
    /// OAuth error code.
    Error(String),
}

/// A presentation that is not verified yet, with what it must be bound to.
#[derive(Serialize, Deserialize)]
pub struct PresentedCredential {
    /// Id of the credential query.
    pub credential: String,
    #[serde(with = "passerelle_protocol::ids::stored_secret")]
    pub presentation: Secret<String>,
    pub nonce: String,
    pub channel: PresentationChannel,
    /// Thumbprint of the key that the response was encrypted to.
    pub key_thumbprint: [u8; 32],
    pub received_at: Timestamp,
}

/// How a presentation arrived.
#[derive(Serialize, Deserialize)]
pub enum PresentationChannel {
    DirectPost {
        response_uri: String,
    },
    /// `origin` is the hub's own.
    DigitalCredentialsApi {
        origin: String,
    },
}

impl PresentationChannel {
    /// Returns what the presentation must be bound to.
    pub fn request_channel<'a>(&'a self, client_id: &'a str) -> RequestChannel<'a> {
        match self {
            Self::DirectPost { response_uri } => {
                RequestChannel::DirectPost { client_id, response_uri }
            }
            Self::DigitalCredentialsApi { origin } => {
                RequestChannel::DigitalCredentialsApi { origin }
            }
        }
    }
}

/// A request that was loaded and can be answered.
pub struct LoadedRequest {
    pub request: PresentationRequest,
    pub slot: RequestSlot,
}

/// Place of a request in the store, with what was there when it was loaded.
pub struct RequestSlot {
    id: String,
    record: Record,
}

impl RequestSlot {
    /// Returns the id of the request.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns when the request expires.
    pub const fn expires_at(&self) -> Timestamp {
        self.record.expires_at
    }
}

/// The requests of one connector.
pub struct PresentationRequests {
    connector: ConnectorId,
    store: LateStore,
    lifetime: Duration,
    env: Env,
}

impl PresentationRequests {
    /// Returns the requests of `connector`, kept in `store`.
    pub fn new(connector: &ConnectorId, store: LateStore, lifetime: Duration, env: Env) -> Self {
        Self { connector: connector.clone(), store, lifetime, env }
    }

    /// Returns the id of a request. It is derived from the attempt's `state`, so that the page
    /// finds it; a wallet that knows the id can't compute the `state`.
    pub fn request_id(&self, device: WalletDevice, state: &str) -> String {
        let parts = [self.connector.as_str(), device.label(), state];
        digest::sha256_base64url(&format!("wallet request\n{}", parts.join("\n")))
    }

    /// Returns the path of a request. The response goes to `…/response` below it.
    pub fn request_path(&self, id: &str) -> String {
        format!("/api/v2/wallet/{}/{id}", self.connector)
    }

    /// Returns the URL that the wallet responds to.
    pub fn response_uri(&self, loaded: &LoadedRequest) -> String {
        format!("{}{}/response", loaded.request.base_url, self.request_path(loaded.slot.id()))
    }

    /// Stores a new request and returns its id. Has no effect if it is stored already.
    ///
    /// # Errors
    /// `StoreUnavailable`, `IdpBusy`, or `Internal` if OpenSSL can't generate a key.
    pub async fn open(
        &self,
        device: WalletDevice,
        draft: PresentationRequest,
    ) -> Result<String, ConnectorError> {
        let (id, now) = (self.request_id(device, &draft.state), self.env.now());
        let bytes = to_bytes(&StoredRequest::Open(draft))?;
        let draft = NewRecord::new(bytes, now + self.lifetime);
        match self.store.get()?.insert(record_key(&id), draft, now).await {
            Ok(_) | Err(StoreError::Exists) => Ok(id),
            Err(error) => Err(error.into()),
        }
    }

    /// Loads a request that can still be answered.
    ///
    /// # Errors
    /// `WalletRequestUnknown`, `StoreUnavailable`.
    pub async fn load_open(&self, id: &str) -> Result<LoadedRequest, ConnectorError> {
        match self.load(id).await? {
            (StoredRequest::Open(request), slot) => Ok(LoadedRequest { request, slot }),
            // A request works once: a second answer is a replay.
            (StoredRequest::Answered(_), _) => Err(unknown_request_error()),
        }
    }

    /// Loads the answer of a request; `None` if it has none yet.
    ///
    /// # Errors
    /// `WalletRequestUnknown`, `StoreUnavailable`.
    pub async fn load_answer(
        &self,
        id: &str,
    ) -> Result<Option<(RequestAnswer, RequestSlot)>, ConnectorError> {
        Ok(match self.load(id).await? {
            (StoredRequest::Answered(answer), slot) => Some((answer, slot)),
            (StoredRequest::Open(_), _) => None,
        })
    }

    async fn load(&self, id: &str) -> Result<(StoredRequest, RequestSlot), ConnectorError> {
        let loaded = self.store.get()?.load(&record_key(id), self.env.now()).await?;
        let record = loaded.ok_or_else(unknown_request_error)?;
        let request = serde_json::from_slice(&record.value).map_err(|_| unknown_request_error())?;
        Ok((request, RequestSlot { id: id.to_owned(), record }))
    }

    /// Replaces a request with its answer, or an answer with the next one. Of concurrent callers at
    /// most one succeeds.
    ///
    /// # Errors
    /// `WalletRequestUnknown` if another one was faster, `StoreUnavailable`.
    pub async fn store_answer(
        &self,
        slot: RequestSlot,
        answer: RequestAnswer,
    ) -> Result<(), ConnectorError> {
        let RequestSlot { id, record } = slot;
        let bytes = to_bytes(&StoredRequest::Answered(answer))?;
        let (store, key, now) = (self.store.get()?, record_key(&id), self.env.now());
        let version = Some(record.version);
        if store.compare_and_set(&key, version, bytes, record.expires_at, now).await? {
            Ok(())
        } else {
            Err(unknown_request_error())
        }
    }

    /// Removes a request. It expires by itself if that fails.
    pub async fn remove(&self, id: &str) {
        if let Ok(store) = self.store.get() {
            let _removed = store.remove(&record_key(id)).await;
        }
    }
}

fn record_key(id: &str) -> RecordKey {
    RecordKey { kind: WALLET_REQUEST, name: id.into() }
}

fn to_bytes(request: &StoredRequest) -> Result<Vec<u8>, ConnectorError> {
    serde_json::to_vec(request)
        .map_err(|error| ConnectorError::new(ErrorCode::Internal, error.to_string()))
}

/// Returns the error for a request that can't be answered.
pub fn unknown_request_error() -> ConnectorError {
    ConnectorError::new(
        error_codes::WALLET_REQUEST_UNKNOWN,
        "the request is unknown, expired or already answered",
    )
}

/// Returns the one presentation of a `vp_token` (OpenID4VP 1.0 §8.1), with the id of its query.
pub fn single_presentation(vp_token: &Value) -> Option<(&str, &str)> {
    let mut credentials = vp_token.as_object()?.iter();
    let (Some((id, Value::Array(presentations))), None) = (credentials.next(), credentials.next())
    else {
        return None;
    };
    match presentations.as_slice() {
        [Value::String(presentation)] => Some((id, presentation)),
        _ => None,
    }
}
