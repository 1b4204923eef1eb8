//! What the pages of wallets show and receive.
//!
//! Does not depend on HTML, HTTP, or how a presentation is verified.

use passerelle_protocol::ids::{ClientId, Secret};

/// Content of the wallet page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct WalletOffer {
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
pub(crate) struct WalletLink {
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
pub(crate) enum WalletResponse {
    /// The encrypted response (`response`).
    Encrypted(Secret<String>),
    /// The OAuth error code of a response without encryption (`error`).
    Error(String),
}

/// What the device with the wallet shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ConfirmationCode {
    pub code: String,
    /// The service provider of the login.
    pub service: ClientId,
}

/// Outcome of a typed code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum WalletConfirmation {
    /// Query for the connector's callback, without `?`.
    Accepted(Secret<String>),
    /// The wallet has not answered yet.
    Waiting,
    Wrong,
    /// The wallet's answer was dropped, after too many wrong codes.
    Exhausted,
}
