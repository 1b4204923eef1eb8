//! The wallet page's side of the connector: offers requests, receives responses.
//!
//! A response of the same device continues only in the browser that began, which the callback's
//! cookie proves: a link sent to another person does not sign the sender in as that person (session
//! fixation). A response of a wallet on another device continues only after the user has typed the
//! code that the other device shows.

use std::time::Duration;

use serde_json::{Map, Value};
use url::form_urlencoded::Serializer;

use super::WalletConnector;
use super::error_codes;
use super::presentation_request::{
    AnswerOutcome, LoadedRequest, PresentationChannel, PresentationRequest, PresentedCredential,
    RequestAnswer, RequestSlot, UnconfirmedAnswer, WalletDevice, single_presentation,
    unknown_request_error,
};
use super::wallet_page::{
    ConfirmationCode, WalletConfirmation, WalletLink, WalletOffer, WalletResponse,
};
use passerelle_connector::error::ConnectorError;
use passerelle_jose::decrypt::JweDecryptError;
use passerelle_jose::response_key::ResponseKey;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, Secret};

/// Longer than the minute of other one-time codes: the wallet may show a page before it opens the
/// browser.
const CALLBACK_CODE_LIFETIME: Duration = Duration::from_secs(5 * 60);
/// The browser follows one redirect after its user has typed the code.
const CONFIRMED_CODE_LIFETIME: Duration = Duration::from_secs(60);
/// A guesser succeeds with a probability of 5 in a million.
const MAX_WRONG_CODES: u32 = 5;
const MAX_WALLET_NONCE_CHARS: usize = 512;

impl WalletConnector {
    /// Returns what the page of an attempt offers. `state` is that of the attempt.
    ///
    /// # Errors
    /// `WALLET_REQUEST_UNKNOWN` if the request has expired or was answered.
    pub(super) async fn offer(&self, state: &str) -> Result<WalletOffer, ConnectorError> {
        let id = self.requests.request_id(WalletDevice::Same, state);
        let loaded = self.requests.load_open(&id).await?;
        let request_uri = self.request_uri(&loaded.request.base_url, &id);
        let link = |wallet: &super::settings::WalletSettings| WalletLink {
            name: wallet.name.clone(),
            url: self.signer.wallet_link(&wallet.url, &request_uri),
        };
        let api_request = || self.signer.sign_for_api(&loaded, self.env.now());
        Ok(WalletOffer {
            digital_credentials_request: self
                .digital_credentials_api
                .then(api_request)
                .transpose()?,
            links: self.wallets.iter().map(link).collect(),
            claims: self.verifier.requested_claims(),
            allows_other_device: self.cross_device,
        })
    }

    /// Returns the link for a wallet on another device, which the page shows as a QR code.
    /// `service` is named on that device.
    ///
    /// # Errors
    /// `NotFound` if the connector does not allow other devices; as [`Self::offer`].
    pub(super) async fn other_device_link(
        &self,
        state: &str,
        service: &ClientId,
    ) -> Result<String, ConnectorError> {
        if !self.cross_device {
            return Err(ConnectorError::new(ErrorCode::NotFound, "cross_device is off"));
        }
        let first = self.requests.request_id(WalletDevice::Same, state);
        let first = self.requests.load_open(&first).await?;
        let base_url = first.request.base_url;
        let draft = PresentationRequest {
            state: state.to_owned(),
            base_url: base_url.clone(),
            nonce: self.env.entropy().token(),
            key: ResponseKey::generate()
                .map_err(|error| ConnectorError::new(ErrorCode::Internal, error.to_string()))?,
            service: Some(service.clone()),
        };
        let id = self.requests.open(WalletDevice::Other, draft).await?;
        Ok(self.signer.wallet_link(&self.cross_device_url, &self.request_uri(&base_url, &id)))
    }

    /// Returns the signed request that a wallet fetches, with the wallet's nonce. May be fetched
    /// several times.
    ///
    /// # Errors
    /// `WALLET_REQUEST_UNKNOWN` if it is unknown, has expired or was answered.
    pub(super) async fn request_object(
        &self,
        id: &str,
        wallet_nonce: Option<&str>,
    ) -> Result<String, ConnectorError> {
        if wallet_nonce.is_some_and(|nonce| nonce.chars().count() > MAX_WALLET_NONCE_CHARS) {
            let message = "wallet_nonce is longer than 512 characters";
            return Err(ConnectorError::new(error_codes::WALLET_RESPONSE_MALFORMED, message));
        }
        let loaded = self.requests.load_open(id).await?;
        self.signer.sign(&self.requests, &loaded, wallet_nonce, self.env.now())
    }

    /// Accepts the response of a wallet, once. Returns where the wallet sends its user next; `None`
    /// if the user continues at another device.
    ///
    /// # Errors
    /// `WALLET_REQUEST_UNKNOWN` as [`Self::request_object`], another code if the response can't be
    /// read.
    pub(super) async fn receive_response(
        &self,
        id: &str,
        response: WalletResponse,
    ) -> Result<Option<String>, ConnectorError> {
        let loaded = self.requests.load_open(id).await?;
        let response_uri = self.requests.response_uri(&loaded);
        let channel = PresentationChannel::DirectPost { response_uri };
        let response = self.read_response(&loaded, response, channel)?;
        let LoadedRequest { request, slot } = loaded;
        let PresentationRequest { state, base_url, service, .. } = request;
        if let Some(service) = service {
            let unconfirmed = UnconfirmedResponse { state, base_url, service, response };
            return self.store_unconfirmed(slot, unconfirmed).await;
        }
        self.requests.store_answer(slot, RequestAnswer::PassedOn).await?;
        let outcome = self.store_presentation(&state, response, CALLBACK_CODE_LIFETIME).await?;
        let query = self.callback_query(&state, &outcome);
        let query = query.reveal();
        Ok(Some(format!("{base_url}/api/v2/callback/{}?{query}", self.id)))
    }

    /// Accepts the response that the page got from the Digital Credentials API, once. Returns the
    /// query for the connector's callback, without `?`.
    ///
    /// # Errors
    /// As [`Self::receive_response`]; `NotFound` if the connector does not offer the API.
    pub(super) async fn receive_api_response(
        &self,
        state: &str,
        response: WalletResponse,
    ) -> Result<Secret<String>, ConnectorError> {
        if !self.digital_credentials_api {
            let message = "digital_credentials_api is off";
            return Err(ConnectorError::new(ErrorCode::NotFound, message));
        }
        let id = self.requests.request_id(WalletDevice::Same, state);
        let loaded = self.requests.load_open(&id).await?;
        let origin = loaded.request.origin()?;
        let channel = PresentationChannel::DigitalCredentialsApi { origin };
        let response = self.read_response(&loaded, response, channel)?;
        self.requests.store_answer(loaded.slot, RequestAnswer::PassedOn).await?;
        let outcome = self.store_presentation(state, response, CONFIRMED_CODE_LIFETIME).await?;
        Ok(self.callback_query(state, &outcome))
    }

    /// Returns the code that the device with the wallet shows. `page_secret` proves that it is that
    /// device.
    ///
    /// # Errors
    /// `WALLET_REQUEST_UNKNOWN` if there is none.
    pub(super) async fn confirmation_code(
        &self,
        id: &str,
        page_secret: &str,
    ) -> Result<ConfirmationCode, ConnectorError> {
        let answer = self.requests.load_answer(id).await?;
        let Some((RequestAnswer::Unconfirmed(answer), _)) = answer else {
            return Err(unknown_request_error());
        };
        let sent = digest::sha256_base64url(page_secret);
        // Who photographs the QR code knows the id, but not this secret.
        if digest::constant_time_eq(sent.as_bytes(), answer.page_secret.as_bytes()) {
            Ok(ConfirmationCode { code: answer.code.into_inner(), service: answer.service })
        } else {
            Err(unknown_request_error())
        }
    }

    /// Checks the code that the user typed into the browser that began.
    ///
    /// # Errors
    /// `WALLET_REQUEST_UNKNOWN` if there is no request.
    pub(super) async fn confirm(
        &self,
        state: &str,
        typed: &str,
    ) -> Result<WalletConfirmation, ConnectorError> {
        let id = self.requests.request_id(WalletDevice::Other, state);
        let Some((answer, slot)) = self.requests.load_answer(&id).await? else {
            return Ok(WalletConfirmation::Waiting);
        };
        let mut answer = match answer {
            RequestAnswer::PassedOn => return Err(unknown_request_error()),
            RequestAnswer::Dropped => return Ok(WalletConfirmation::Exhausted),
            RequestAnswer::Unconfirmed(answer) => answer,
        };
        let typed: String = typed.chars().filter(char::is_ascii_digit).collect();
        let is_declined = matches!(answer.outcome, AnswerOutcome::Error(_));
        if is_declined
            || digest::constant_time_eq(typed.as_bytes(), answer.code.reveal().as_bytes())
        {
            self.requests.store_answer(slot, RequestAnswer::PassedOn).await?;
            let query = self.callback_query(state, &answer.outcome);
            return Ok(WalletConfirmation::Accepted(query));
        }
        answer.wrong_codes += 1;
        // Storing fails if another form was faster, so that no try is free.
        if answer.wrong_codes < MAX_WRONG_CODES {
            self.requests.store_answer(slot, RequestAnswer::Unconfirmed(answer)).await?;
            return Ok(WalletConfirmation::Wrong);
        }
        self.requests.store_answer(slot, RequestAnswer::Dropped).await?;
        self.remove_presentation(state, &answer.outcome).await;
        Ok(WalletConfirmation::Exhausted)
    }

    fn request_uri(&self, base_url: &str, id: &str) -> String {
        format!("{base_url}{}", self.requests.request_path(id))
    }

    /// Reads a response, without verifying what is presented.
    fn read_response(
        &self,
        loaded: &LoadedRequest,
        response: WalletResponse,
        channel: PresentationChannel,
    ) -> Result<DecryptedResponse, ConnectorError> {
        decrypt_response(&loaded.request, response, channel, self.env.now()).inspect_err(|error| {
            tracing::info!(connector = %self.id, %error, "response of a wallet rejected");
            self.record_outcome("rejected", "response");
        })
    }

    /// Stores the answer of another device until its code is typed, and returns the page with the
    /// code.
    async fn store_unconfirmed(
        &self,
        slot: RequestSlot,
        UnconfirmedResponse { state, base_url, service, response }: UnconfirmedResponse,
    ) -> Result<Option<String>, ConnectorError> {
        let lifetime = slot.expires_at().since(self.env.now()) + CONFIRMED_CODE_LIFETIME;
        let outcome = self.store_presentation(&state, response, lifetime).await?;
        let page_secret = self.env.entropy().token();
        let is_declined = matches!(outcome, AnswerOutcome::Error(_));
        let query = Serializer::new(String::new())
            .append_pair("request", slot.id())
            .append_pair("secret", &page_secret)
            .finish();
        let page = format!("{base_url}/connectors/{}/wallet/code?{query}", self.id);
        let answer = UnconfirmedAnswer {
            service,
            code: Secret::new(six_digits(self.env.entropy().bits256())),
            page_secret: digest::sha256_base64url(&page_secret),
            wrong_codes: 0,
            outcome: outcome.clone(),
        };
        let answer = RequestAnswer::Unconfirmed(Box::new(answer));
        if let Err(error) = self.requests.store_answer(slot, answer).await {
            self.remove_presentation(&state, &outcome).await;
            return Err(error);
        }
        Ok((!is_declined).then_some(page))
    }

    /// Stores a presentation under a one-time code for the attempt with this `state`.
    async fn store_presentation(
        &self,
        state: &str,
        response: DecryptedResponse,
        lifetime: Duration,
    ) -> Result<AnswerOutcome, ConnectorError> {
        Ok(match response {
            DecryptedResponse::Error(error) => AnswerOutcome::Error(error),
            DecryptedResponse::Presentation(presented) => {
                let code = self.codes.issue_for(lifetime, state, &presented, &self.env).await?;
                AnswerOutcome::Presented(Secret::new(code))
            }
        })
    }

    /// Removes a presentation that is not used. It expires by itself if that fails.
    async fn remove_presentation(&self, state: &str, outcome: &AnswerOutcome) {
        if let AnswerOutcome::Presented(code) = outcome {
            let _removed = self.codes.redeem(code.reveal(), state, self.env.now()).await;
        }
    }

    /// Removes the records of an ended attempt: its requests, and the presentation of a device
    /// whose code was not typed.
    pub(super) async fn remove_requests(&self, state: &str) {
        self.requests.remove(&self.requests.request_id(WalletDevice::Same, state)).await;
        if !self.cross_device {
            return;
        }
        let id = self.requests.request_id(WalletDevice::Other, state);
        let answer = self.requests.load_answer(&id).await;
        if let Ok(Some((RequestAnswer::Unconfirmed(answer), _))) = answer {
            self.remove_presentation(state, &answer.outcome).await;
        }
        self.requests.remove(&id).await;
    }

    /// Returns the query of the browser's request to the callback.
    fn callback_query(&self, state: &str, outcome: &AnswerOutcome) -> Secret<String> {
        let (name, value) = match outcome {
            AnswerOutcome::Error(error) => ("error", error),
            AnswerOutcome::Presented(code) => ("code", code.reveal()),
        };
        let mut query = Serializer::new(String::new());
        query.append_pair(name, value).append_pair("state", state).append_pair("iss", &self.issuer);
        Secret::new(query.finish())
    }
}

fn decrypt_response(
    request: &PresentationRequest,
    response: WalletResponse,
    channel: PresentationChannel,
    now: Timestamp,
) -> Result<DecryptedResponse, ConnectorError> {
    let answer = match response {
        WalletResponse::Error(error) => return Ok(DecryptedResponse::from_error(&error)),
        WalletResponse::Encrypted(jwe) => {
            request.key.decrypt(jwe.reveal()).map_err(decryption_error)?.into_inner()
        }
    };
    if let Some(Value::String(error)) = answer.get("error") {
        return Ok(DecryptedResponse::from_error(error));
    }
    let presented = presented_credential(request, &answer, channel, now);
    presented.map(DecryptedResponse::Presentation).ok_or_else(|| {
        let message = "vp_token is not an object with one presentation of one credential";
        ConnectorError::new(error_codes::WALLET_RESPONSE_MALFORMED, message)
    })
}

fn presented_credential(
    request: &PresentationRequest,
    answer: &Map<String, Value>,
    channel: PresentationChannel,
    received_at: Timestamp,
) -> Option<PresentedCredential> {
    let (credential, presentation) = single_presentation(answer.get("vp_token")?)?;
    Some(PresentedCredential {
        credential: credential.to_owned(),
        presentation: Secret::new(presentation.to_owned()),
        nonce: request.nonce.clone(),
        channel,
        key_thumbprint: request.key.thumbprint().ok()?,
        received_at,
    })
}

/// A response of another device, with what its request says.
struct UnconfirmedResponse {
    state: String,
    base_url: String,
    service: ClientId,
    response: DecryptedResponse,
}

/// A wallet's response after decryption.
enum DecryptedResponse {
    Presentation(PresentedCredential),
    /// OAuth error code.
    Error(String),
}

impl DecryptedResponse {
    /// Returns the response with `access_denied`, the code of a user who declines, or with
    /// `server_error` for any other code.
    fn from_error(code: &str) -> Self {
        Self::Error(if code == "access_denied" { code } else { "server_error" }.to_owned())
    }
}

fn decryption_error(error: JweDecryptError) -> ConnectorError {
    let code = match error {
        JweDecryptError::UnknownKey | JweDecryptError::DecryptionFailed => {
            error_codes::WALLET_RESPONSE_KEY
        }
        _ => error_codes::WALLET_RESPONSE_MALFORMED,
    };
    ConnectorError::new(code, format!("the response can't be used: {error}"))
}

fn six_digits(random: [u8; 32]) -> String {
    let number = random.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    format!("{:06}", number % 1_000_000)
}
