//! Wallet pages for the web layer: which connector has one, its requests, and the responses of
//! wallets.

use super::registry::Connectors;
use passerelle_connector::ConnectorError;
use passerelle_connector::wallet_page::WalletPage;
pub use passerelle_connector::wallet_page::{
    ConfirmationCode, RequestedClaim, WalletConfirmation, WalletLink, WalletOffer, WalletResponse,
};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ClientId, ConnectorId, Secret};

impl Connectors {
    /// Returns whether the hub shows a wallet page for this connector.
    #[must_use]
    pub fn has_wallet_page(&self, id: &ConnectorId) -> bool {
        self.connector(id).is_some_and(|connector| connector.wallet_page().is_some())
    }

    /// Returns what the wallet page of an attempt offers.
    ///
    /// # Errors
    /// Why it offers nothing.
    pub async fn wallet_offer(
        &self,
        id: &ConnectorId,
        state: &str,
    ) -> Result<WalletOffer, ErrorCode> {
        self.with_wallet_page(id, async |page| page.offer(state).await).await
    }

    /// Returns the link for a wallet on another device.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn wallet_link_for_other_device(
        &self,
        id: &ConnectorId,
        state: &str,
        service: &ClientId,
    ) -> Result<String, ErrorCode> {
        self.with_wallet_page(id, async |page| page.other_device_link(state, service).await).await
    }

    /// Returns the signed request that a wallet fetches.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn wallet_request(
        &self,
        id: &ConnectorId,
        request: &str,
        wallet_nonce: Option<&str>,
    ) -> Result<String, ErrorCode> {
        self.with_wallet_page(id, async |page| page.request_object(request, wallet_nonce).await)
            .await
    }

    /// Accepts the response of a wallet, and returns where it sends its user next.
    ///
    /// # Errors
    /// Why the response is rejected.
    pub async fn receive_wallet_response(
        &self,
        id: &ConnectorId,
        request: &str,
        response: WalletResponse,
    ) -> Result<Option<String>, ErrorCode> {
        self.with_wallet_page(id, async |page| page.receive_response(request, response).await).await
    }

    /// Accepts the response that the wallet page got from the Digital Credentials API, and returns
    /// the query for the connector's callback.
    ///
    /// # Errors
    /// Why the response is rejected.
    pub async fn receive_digital_credential(
        &self,
        id: &ConnectorId,
        state: &str,
        response: WalletResponse,
    ) -> Result<Secret<String>, ErrorCode> {
        self.with_wallet_page(id, async |page| page.receive_api_response(state, response).await)
            .await
    }

    /// Returns the code that the device with the wallet shows.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn wallet_confirmation_code(
        &self,
        id: &ConnectorId,
        request: &str,
        page_secret: &str,
    ) -> Result<ConfirmationCode, ErrorCode> {
        self.with_wallet_page(id, async |page| page.confirmation_code(request, page_secret).await)
            .await
    }

    /// Checks the code that the user typed.
    ///
    /// # Errors
    /// Why it could not be checked.
    pub async fn confirm_wallet(
        &self,
        id: &ConnectorId,
        state: &str,
        typed: &str,
    ) -> Result<WalletConfirmation, ErrorCode> {
        self.with_wallet_page(id, async |page| page.confirm(state, typed).await).await
    }

    async fn with_wallet_page<T>(
        &self,
        id: &ConnectorId,
        call: impl AsyncFnOnce(&dyn WalletPage) -> Result<T, ConnectorError>,
    ) -> Result<T, ErrorCode> {
        let connector = self.connector(id).ok_or(ErrorCode::NotFound)?;
        let page = connector.wallet_page().ok_or(ErrorCode::NotFound)?;
        call(page).await.map_err(|error| {
            tracing::info!(connector = %id, code = error.code.entry().code, detail = error.detail, "request of a wallet failed");
            error.code
        })
    }
}
