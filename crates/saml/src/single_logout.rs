//! Single Logout of one identity provider (SAML V2.0 Profiles §4.4), by redirects in both directions.
//!
//! A logout of the hub finishes whatever the identity provider answers: the state alone leads the
//! browser on, and the answer is only logged.

use std::sync::Arc;
use std::time::Duration;

use actix_web::{HttpResponse, web};
use url::Url;
use url::form_urlencoded::Serializer;

use crate::connector::SamlConnector;
use crate::endpoints::{hub_base_url, rejection_of_sender, with_connector};
use crate::error_codes::SAML_LOGOUT;
use crate::logout::{
    LogoutMessage, LogoutMessageError, LogoutParties, MAX_AGE, SamlLogoutRequest,
    read_logout_response,
};
use crate::logout_subject::{LogoutSubject, session_name};
use crate::metadata::{IdentityProviderMetadata, SamlEndpoint};
use crate::redirect::{ReceivedMessage, RedirectError, RedirectMessage};
use crate::service_provider_keys::REQUEST_ALGORITHM;
use crate::settings::SamlBinding;
use crate::xml::{ContentDecryption, XmlSignatureError};
use passerelle_connector::error::ConnectorError;
use passerelle_federation::login::upstream::{EndSessionRequest, UpstreamLogout};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::discovery::path;
use passerelle_protocol::ids::{ConnectorId, Secret};
use passerelle_web::rejection::Rejection;
use passerelle_web::request_context::RequestContext;
use passerelle_web::responses::{BASE_PATH, see_other};

/// Sessions that one request may name.
const MAX_SESSION_INDEXES: usize = 32;

/// A request of the identity provider, verified.
#[derive(Debug)]
pub(crate) struct ReceivedLogout {
    /// The sessions to end.
    pub(crate) logouts: Vec<UpstreamLogout>,
    /// `ID` of the request.
    id: String,
    relay_state: Option<String>,
    /// Where the answer goes.
    answer_location: Url,
}

impl SamlConnector {
    /// Returns the address at which the identity provider ends its session; `None` if it has none, or
    /// the login had no NameID.
    pub(crate) async fn logout_url(
        &self,
        request: &EndSessionRequest,
    ) -> Result<Option<Url>, ConnectorError> {
        let suffix = format!("{}/session/end/{}", path::ISSUER, self.id);
        let base_url = request.post_logout_redirect_uri.strip_suffix(&suffix);
        let base_url = base_url.ok_or_else(|| {
            ConnectorError::new(ErrorCode::Internal, "the address is not this connector's")
        })?;
        let subject = LogoutSubject::from_hint(&request.session_hint);
        let metadata = self.metadata.current().await?;
        let (Some(subject), Some(endpoint)) = (subject, self.single_logout(&metadata)) else {
            return Ok(None);
        };
        let id = digest::sha256_base64url(&format!("saml logout\n{}\n{}", self.id, request.state));
        let message = LogoutMessage {
            id: &format!("_{id}"),
            issued_at: self.env.now(),
            destination: &endpoint.location,
            issuer: &self.service_provider(base_url).entity_id,
        };
        let xml = message.to_request(&subject.name_id(), subject.session_index.as_deref());
        let location = parse_location(&endpoint.location)?;
        let signed = self.sign_redirect(&location, "SAMLRequest", &xml, Some(&request.state));
        signed.await.map(Some)
    }

    /// Returns the address for logout messages by redirect, if single logout is on.
    fn single_logout<'a>(
        &self,
        metadata: &'a IdentityProviderMetadata,
    ) -> Option<&'a SamlEndpoint> {
        let endpoint = self.endpoint(&metadata.single_logout, SamlBinding::Redirect);
        endpoint.filter(|_| self.kind.single_logout)
    }

    async fn sign_redirect(
        &self,
        location: &Url,
        name: &str,
        xml: &str,
        relay_state: Option<&str>,
    ) -> Result<Url, ConnectorError> {
        let algorithm = Some(REQUEST_ALGORITHM);
        let message = RedirectMessage::new(location, name, xml, relay_state, algorithm);
        let signature = self.keys.sign(message.signing_input(), self.env.now()).await?;
        Ok(message.with_signature(&signature))
    }

    /// Verifies a message of the identity provider.
    async fn verify_message(
        &self,
        query: &str,
    ) -> Result<(ReceivedMessage, Arc<IdentityProviderMetadata>), ConnectorError> {
        let unknown_key = RedirectError::Signature(XmlSignatureError::Signature);
        let verify = |metadata: &IdentityProviderMetadata| {
            ReceivedMessage::verify(query, &metadata.signing_keys)
        };
        let verified = self.metadata.verify_message(verify, |error| *error == unknown_key);
        let (verified, metadata) = verified.await?;
        Ok((verified.map_err(|error| refused(&error))?, metadata))
    }

    /// Verifies a logout request.
    ///
    /// # Errors
    /// `SAML_LOGOUT`; the errors of the metadata, and of a device that decrypts.
    pub(crate) async fn receive_logout_request(
        &self,
        query: &str,
        base_url: &str,
    ) -> Result<ReceivedLogout, ConnectorError> {
        let (received, metadata) = self.verify_message(query).await?;
        let endpoint = self.single_logout(&metadata);
        let endpoint = endpoint.ok_or_else(|| refused(&"single logout is off"))?;
        let logout_url = self.service_provider(base_url).logout_url;
        let parties = LogoutParties { sender: &self.kind.entity_id, logout_url: &logout_url };
        let now = self.env.now();
        let decryption = self.keys.decryption_keys(received.message.as_str().as_bytes(), now).await;
        let by = ContentDecryption { keys: &decryption.keys, allow_cbc: self.kind.allow_cbc };
        let request = SamlLogoutRequest::read(&received.message, &parties, by, now);
        let request = request.map_err(|error| {
            match error {
                LogoutMessageError::Decryption(cause) => decryption.device_failure(cause),
                _ => None,
            }
            .unwrap_or_else(|| refused(&error))
        })?;
        if request.session_indexes.len() > MAX_SESSION_INDEXES {
            return Err(refused(&"it names more than 32 sessions"));
        }
        let location = endpoint.response_location.as_ref().unwrap_or(&endpoint.location);
        Ok(ReceivedLogout {
            logouts: logouts(&request),
            answer_location: parse_location(location)?,
            id: request.id,
            relay_state: received.relay_state,
        })
    }

    /// Returns the address with the answer to a request.
    pub(crate) async fn logout_answer_url(
        &self,
        received: &ReceivedLogout,
        has_ended: bool,
        base_url: &str,
    ) -> Result<Url, ConnectorError> {
        let message = LogoutMessage {
            id: &format!("_{}", self.env.entropy().token()),
            issued_at: self.env.now(),
            destination: received.answer_location.as_str(),
            issuer: &self.service_provider(base_url).entity_id,
        };
        let xml = message.to_response(&received.id, has_ended);
        let relay_state = received.relay_state.as_deref();
        self.sign_redirect(&received.answer_location, "SAMLResponse", &xml, relay_state).await
    }

    /// Logs what the identity provider answered to a request of the hub.
    async fn log_logout_response(&self, query: &str, base_url: &str) -> Result<(), ConnectorError> {
        let (received, _) = self.verify_message(query).await?;
        let logout_url = self.service_provider(base_url).logout_url;
        let parties = LogoutParties { sender: &self.kind.entity_id, logout_url: &logout_url };
        let is_complete = read_logout_response(&received.message, &parties, self.env.now());
        if !is_complete.map_err(|error| refused(&error))? {
            return Err(refused(&"the identity provider did not end every session"));
        }
        Ok(())
    }
}

/// Returns what to end: each named session, or all of the user.
fn logouts(request: &SamlLogoutRequest) -> Vec<UpstreamLogout> {
    let logout = |index: Option<&str>| UpstreamLogout {
        session_id: Some(Secret::new(session_name(&request.name_id.value, index))),
        subject: None,
        jti: format!("{}\n{}", request.id, index.unwrap_or_default()),
        issued_at: request.issued_at,
        expires_at: request.issued_at + MAX_AGE + Duration::from_secs(60),
    };
    if request.session_indexes.is_empty() {
        return vec![logout(None)];
    }
    request.session_indexes.iter().map(|index| logout(Some(index))).collect()
}

fn parse_location(location: &str) -> Result<Url, ConnectorError> {
    Url::parse(location).map_err(|_| refused(&"the address for logout messages is no URL"))
}

fn refused(why: &dyn std::fmt::Display) -> ConnectorError {
    ConnectorError::new(SAML_LOGOUT, format!("the logout message is not accepted: {why}"))
}

/// Handles `GET /connectors/{connector}/saml/logout`: a request of the identity provider, or its
/// answer to one of the hub.
pub(crate) async fn receive_logout(
    context: RequestContext,
    path: web::Path<String>,
) -> Result<HttpResponse, Rejection> {
    let connector = ConnectorId::new(path.into_inner());
    let query = context.request.query_string();
    let base_url = hub_base_url(&context);
    let params = context.query().unwrap_or_default();
    if params.get("SAMLResponse").is_some() {
        // The failure is logged there.
        let _ = with_connector(&context, &connector, async |saml| {
            saml.log_logout_response(query, base_url).await
        })
        .await;
        let mut next = Serializer::new(String::new());
        if let Some(state) = params.get("RelayState") {
            next.append_pair("state", state);
        }
        let next = next.finish();
        let separator = if next.is_empty() { "" } else { "?" };
        return Ok(see_other(&format!("{BASE_PATH}/session/end/{connector}{separator}{next}")));
    }
    let received = with_connector(&context, &connector, async |saml| {
        saml.receive_logout_request(query, base_url).await
    });
    let received = received.await.map_err(|code| match code {
        SAML_LOGOUT => rejection_of_sender(&context, code),
        code => Rejection::OutsideLogin(code),
    })?;
    let mut has_ended = true;
    for logout in &received.logouts {
        match context.hub.logouts.end_sessions_once(&connector, logout).await {
            // A repeated request ends nothing, and its browser must go on.
            Ok(_) | Err(ErrorCode::LogoutTokenReplayed) => {}
            Err(code) => {
                let code = code.entry().code;
                tracing::warn!(%connector, code, "sessions of a logout request not ended");
                has_ended = false;
            }
        }
    }
    let answer = with_connector(&context, &connector, async |saml| {
        saml.logout_answer_url(&received, has_ended, base_url).await
    });
    Ok(see_other(answer.await.map_err(Rejection::OutsideLogin)?.as_str()))
}
