//! Messages between two requests of a browser: a request until a page posts it, a response until the
//! login continues with its cookie. Any hub may serve the next request, so they are in the store,
//! which encrypts what leaves the process.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::records::{SAML_REQUEST, SAML_RESPONSE, SAML_RESPONSE_USAGE};
use passerelle_connector::error::ConnectorError;
use passerelle_connector::login_page_codes::LoginPageCodes;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::{ConnectorId, Secret};
use passerelle_store::{LateStore, NewRecord, RecordKey, StoreError};

/// The browser opens the page at once, and again when its user goes back.
const REQUEST_LIFETIME: Duration = Duration::from_secs(10 * 60);

/// The messages of one connector.
pub struct StoredMessages {
    connector: ConnectorId,
    store: LateStore,
    codes: LoginPageCodes<StoredResponse>,
    env: Env,
}

/// A request by POST.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PostedRequest {
    /// Address of the identity provider.
    pub action: String,
    /// The field `SAMLRequest`.
    pub saml_request: String,
}

/// A response that is not checked yet: XML.
#[derive(Serialize, Deserialize)]
struct StoredResponse(#[serde(with = "passerelle_protocol::ids::stored_secret")] Secret<String>);

impl StoredMessages {
    /// Returns the messages of `connector`, kept in `store`.
    pub fn new(connector: &ConnectorId, store: LateStore, env: Env) -> Self {
        let codes = LoginPageCodes::with_record_kind(SAML_RESPONSE, connector, store.clone());
        Self { connector: connector.clone(), store, codes, env }
    }

    /// Stores the request of the attempt with this `state`.
    ///
    /// # Errors
    /// `IdpBusy` or `StoreUnavailable`.
    pub async fn store_request(
        &self,
        state: &str,
        request: &PostedRequest,
    ) -> Result<(), ConnectorError> {
        let now = self.env.now();
        let bytes = serde_json::to_vec(request)
            .map_err(|error| StoreError::Unavailable(error.to_string()))?;
        let draft = NewRecord::new(bytes, now + REQUEST_LIFETIME);
        self.store.get()?.insert(self.request_key(state), draft, now).await?;
        Ok(())
    }

    /// Returns the request of the attempt with this `state`. May be loaded several times.
    ///
    /// # Errors
    /// `StateUnknown` if there is none, `StoreUnavailable`.
    pub async fn load_request(&self, state: &str) -> Result<PostedRequest, ConnectorError> {
        let loaded = self.store.get()?.load(&self.request_key(state), self.env.now()).await?;
        let request = loaded.and_then(|record| serde_json::from_slice(&record.value).ok());
        request.ok_or_else(|| {
            ConnectorError::new(ErrorCode::StateUnknown, "there is no request, or it has expired")
        })
    }

    /// Returns whether responses take more than half of their capacity.
    pub fn is_crowded(&self) -> bool {
        let Ok(store) = self.store.get() else { return false };
        let (used, capacity) = (store.usage(SAML_RESPONSE), SAML_RESPONSE_USAGE);
        used.records > capacity.records / 2 || used.bytes > capacity.bytes / 2
    }

    /// Stores a response for the attempt with this `state`, and returns its one-time code.
    ///
    /// # Errors
    /// `IdpBusy` or `StoreUnavailable`.
    pub async fn store_response(
        &self,
        state: &str,
        response: String,
    ) -> Result<Secret<String>, ConnectorError> {
        let response = StoredResponse(Secret::new(response));
        Ok(Secret::new(self.codes.issue(state, &response, &self.env).await?))
    }

    /// Removes and returns the response of a code, if it was stored for this `state`.
    ///
    /// # Errors
    /// `IdpCodeRefused` if it was not, `StoreUnavailable`.
    pub async fn take_response(
        &self,
        code: &str,
        state: &str,
        now: Timestamp,
    ) -> Result<Vec<u8>, ConnectorError> {
        let StoredResponse(response) = self.codes.redeem(code, state, now).await?;
        Ok(response.into_inner().into_bytes())
    }

    fn request_key(&self, state: &str) -> RecordKey {
        let name = format!("saml post\n{}\n{state}", self.connector);
        RecordKey { kind: SAML_REQUEST, name: digest::sha256_base64url(&name).into() }
    }
}
