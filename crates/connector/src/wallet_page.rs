//! Interface between the hub's wallet pages and their connector, for kinds whose users present a
//! credential from a wallet.
//!
//! Does not depend on HTML, HTTP, or how a presentation is verified.

use async_trait::async_trait;

use super::error::ConnectorError;
use passerelle_protocol::ids::{ClientId, Secret};

/// Presentation requests behind the wallet page at `{base_url}/connectors/{connector}/wallet`.
#[async_trait]
pub trait WalletPage: Send + Sync {
    /// Returns what the page of an attempt offers. `state` is that of the attempt.
    ///
    /// # Errors
    /// `WalletRequestUnknown` if the request has expired or was answered.
    async fn offer(&self, state: &str) -> Result<WalletOffer, ConnectorError>;

    /// Returns the link for a wallet on another device, which the page shows as a QR code.
    /// `service` is named on that device.
    ///
    /// # Errors
    /// `NotFound` if the connector does not allow other devices; as [`Self::offer`].
    async fn other_device_link(
        &self,
        state: &str,
        service: &ClientId,
    ) -> Result<String, ConnectorError>;

    /// Returns the signed request that a wallet fetches, with the wallet's nonce. May be fetched
    /// several times.
    ///
    /// # Errors
    /// `WalletRequestUnknown` if it is unknown, has expired or was answered.
    async fn request_object(
        &self,
        id: &str,
        wallet_nonce: Option<&str>,
    ) -> Result<String, ConnectorError>;

    /// Accepts the response of a wallet, once. Returns where the wallet sends its user next; `None`
    /// if the user continues at another device.
    ///
    /// # Errors
    /// `WalletRequestUnknown` as [`Self::request_object`], another code if the response can't be
    /// read.
    async fn receive_response(
        &self,
        id: &str,
        response: WalletResponse,
    ) -> Result<Option<String>, ConnectorError>;

    /// Accepts the response that the page got from the Digital Credentials API, once. Returns the
    /// query for the connector's callback, without `?`.
    ///
    /// # Errors
    /// As [`Self::receive_response`]; `NotFound` if the connector does not offer the API.
    async fn receive_api_response(
        &self,
        state: &str,
        response: WalletResponse,
    ) -> Result<Secret<String>, ConnectorError>;

    /// Returns the code that the device with the wallet shows. `page_secret` proves that it is that
    /// device.
    ///
    /// # Errors
    /// `WalletRequestUnknown` if there is none.
    async fn confirmation_code(
        &self,
        id: &str,
        page_secret: &str,
    ) -> Result<ConfirmationCode, ConnectorError>;

    /// Checks the code that the user typed into the browser that began.
    ///
    /// # Errors
    /// `WalletRequestUnknown` if there is no request.
    async fn confirm(&self, state: &str, typed: &str)
    -> Result<WalletConfirmation, ConnectorError>;
}

/// Content of the wallet page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WalletOffer {
    /// Signed request for the Digital Credentials API, if the connector offers it.
    pub digital_credentials_request: Option<String>,
    /// Links that open a wallet on this device, in the order to show them.
    pub links: Vec<WalletLink>,
    /// What the wallet will be asked for.
    pub claims: Vec<RequestedClaim>,
    /// Whether the wallet may be on another device.
    pub allows_other_device: bool,
}

/// A link that opens a wallet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WalletLink {
    /// Name of the wallet; `None` for any wallet.
    pub name: Option<String>,
    pub url: String,
}

/// A claim that the wallet is asked for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RequestedClaim {
    /// Name of the claim, as in an SD-JWT VC of a PID.
    pub name: String,
    pub is_optional: bool,
}

/// Parameters of a wallet's response, not trusted yet.
pub enum WalletResponse {
    /// The encrypted response (`response`).
    Encrypted(Secret<String>),
    /// The OAuth error code of a response without encryption (`error`).
    Error(String),
}

/// What the device with the wallet shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfirmationCode {
    pub code: String,
    /// The service provider of the login.
    pub service: ClientId,
}

/// Outcome of a typed code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WalletConfirmation {
    /// Query for the connector's callback, without `?`.
    Accepted(Secret<String>),
    /// The wallet has not answered yet.
    Waiting,
    Wrong,
    /// The wallet's answer was dropped, after too many wrong codes.
    Exhausted,
}
