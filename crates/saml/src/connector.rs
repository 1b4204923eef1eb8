//! The connector to one identity provider: the course of a login.
//!
//! A response arrives by a cross-site POST without the login's cookie, so it is stored, and the
//! browser continues at the hub's callback (`endpoints`). It is checked there, after the
//! cookie.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use url::Url;

use crate::authentication::{AuthenticationRules, out_of_scope_rows};
use crate::authn_request::AuthnRequest;
use crate::error_codes::{SAML_METADATA, SAML_REPLAYED};
use crate::metadata::{IdentityProviderMetadata, SamlEndpoint};
use crate::metadata_source::MetadataSource;
use crate::published_metadata::PublishedMetadata;
use crate::records::SAML_ASSERTION;
use crate::redirect::RedirectMessage;
use crate::response::{Assertion, ExpectedResponse, ResponseError, check_response};
use crate::saml_service_provider::SamlServiceProvider;
use crate::service_provider_keys::{REQUEST_ALGORITHM, ServiceProviderKeys};
use crate::settings::{SamlBinding, SamlKind};
use crate::signed_document::UnsignedDocument;
use crate::stored_messages::{PostedRequest, StoredMessages};
use crate::xml::XmlSignatureError;
use passerelle_connector::diagnostic::{CheckDiagnostic, DiagnosisContext, SampleVerification};
use passerelle_connector::dropped_claims::{DroppedClaimRow, DroppedClaims};
use passerelle_connector::error::ConnectorError;
use passerelle_connector::kind_settings::acr_policy_from_file;
use passerelle_connector::port::{Connector, ConnectorContext};
use passerelle_connector::{ConfiguredConnector, code_flow, hub_page};
use passerelle_federation::login::upstream::{
    Authentication, AuthorizationRedirect, CallbackParams, EndSessionRequest, LoginAttempt,
    UpstreamAuthorizationRequest,
};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::{ClientId, ConnectorId};
use passerelle_settings::FieldDiagnostic;
use passerelle_store::{LateStore, NewRecord, RecordKey, StoreError};
use passerelle_telemetry::Metrics;

/// How long the ID of an accepted assertion is kept at most. A response answers the request of one
/// login, which lives shorter.
const MAX_REPLAY_WINDOW: Duration = Duration::from_secs(24 * 3600);

/// Connector to a SAML identity provider.
pub struct SamlConnector {
    pub(crate) id: ConnectorId,
    pub(crate) kind: SamlKind,
    pub(crate) metadata: MetadataSource,
    pub(crate) keys: ServiceProviderKeys,
    pub(crate) rules: AuthenticationRules,
    pub(crate) env: Env,
    pub(crate) messages: StoredMessages,
    pub(crate) published: PublishedMetadata,
    store: LateStore,
    metrics: Option<Arc<Metrics>>,
    dropped_claims: DroppedClaims,
}

impl SamlConnector {
    /// Returns a connector. Calls nothing.
    ///
    /// # Errors
    /// Returns the key whose value can't be used.
    pub fn new(
        kind: &SamlKind,
        configured: &ConfiguredConnector,
        context: ConnectorContext,
    ) -> Result<Self, FieldDiagnostic> {
        let id = configured.id.clone();
        let secret = configured.client_secret.as_ref();
        Ok(Self {
            metadata: MetadataSource::new(&id, kind, &context)?,
            keys: ServiceProviderKeys::new(secret, Arc::clone(&context.upstream_keys))?,
            rules: AuthenticationRules::new(&id, kind, acr_policy_from_file(&configured.file)),
            messages: StoredMessages::new(&id, context.store.clone(), context.env.clone()),
            published: PublishedMetadata::default(),
            kind: kind.clone(),
            env: context.env,
            store: context.store,
            metrics: context.metrics,
            dropped_claims: DroppedClaims::default(),
            id,
        })
    }

    /// Returns the hub's names and addresses at this identity provider. `base_url` has no slash at
    /// its end.
    pub fn service_provider(&self, base_url: &str) -> SamlServiceProvider {
        SamlServiceProvider::new(&self.kind, &self.id, base_url)
    }

    fn service_provider_for(
        &self,
        request: &UpstreamAuthorizationRequest,
    ) -> Result<SamlServiceProvider, ConnectorError> {
        let base_url = hub_page::base_url_from_redirect_uri(&request.redirect_uri, &self.id);
        base_url.map(|base_url| self.service_provider(base_url)).ok_or_else(|| {
            let detail = "the redirect_uri is not this connector's callback";
            ConnectorError::new(ErrorCode::Internal, detail)
        })
    }

    /// Returns the address for requests, with its binding.
    pub(crate) fn single_sign_on<'a>(
        &self,
        metadata: &'a IdentityProviderMetadata,
    ) -> Result<(SamlBinding, &'a SamlEndpoint), ConnectorError> {
        let find = |binding: SamlBinding| {
            Some((binding, self.endpoint(&metadata.single_sign_on, binding)?))
        };
        let found = match self.kind.request_binding {
            Some(binding) => find(binding),
            None => find(SamlBinding::Redirect).or_else(|| find(SamlBinding::Post)),
        };
        found.ok_or_else(|| {
            let detail =
                "the metadata has no https address for requests, or none for request_binding";
            ConnectorError::new(SAML_METADATA, detail)
        })
    }

    /// Returns the first address of a binding; one without TLS only if the file allows it.
    pub(crate) fn endpoint<'a>(
        &self,
        endpoints: &'a [SamlEndpoint],
        binding: SamlBinding,
    ) -> Option<&'a SamlEndpoint> {
        endpoints.iter().find(|endpoint| {
            let is_allowed = self.kind.insecure_http || endpoint.location.starts_with("https:");
            is_allowed && endpoint.binding == binding.uri()
        })
    }

    /// Returns whether requests are signed.
    pub(crate) const fn signs_requests(&self, metadata: &IdentityProviderMetadata) -> bool {
        self.kind.sign_requests || metadata.wants_signed_requests
    }

    /// Returns the address to which the browser goes with the request: the identity provider's, or
    /// that of the page that posts it.
    async fn request_url(
        &self,
        request: &UpstreamAuthorizationRequest,
        authn_request: &AuthnRequest<'_>,
        binding: SamlBinding,
        is_signed: bool,
    ) -> Result<Url, ConnectorError> {
        let now = authn_request.issued_at;
        let internal = |error: String| ConnectorError::new(ErrorCode::Internal, error);
        match binding {
            SamlBinding::Redirect => {
                let location = Url::parse(authn_request.destination)
                    .map_err(|error| internal(error.to_string()))?;
                let algorithm = is_signed.then_some(REQUEST_ALGORITHM);
                let xml = authn_request.to_xml();
                let message = RedirectMessage::new(
                    &location,
                    "SAMLRequest",
                    &xml,
                    Some(&request.state),
                    algorithm,
                );
                if !is_signed {
                    return Ok(message.into_url());
                }
                let signature = self.keys.sign(message.signing_input(), now).await?;
                Ok(message.with_signature(&signature))
            }
            SamlBinding::Post => {
                let xml = if is_signed {
                    let unsigned =
                        UnsignedDocument::new(&authn_request.to_xml(), REQUEST_ALGORITHM);
                    let unsigned = unsigned.map_err(|error| internal(error.to_string()))?;
                    let signature = self.keys.sign(unsigned.signing_input(), now).await?;
                    unsigned.with_signature(&signature)
                } else {
                    authn_request.to_xml()
                };
                let action = authn_request.destination.to_owned();
                let posted = PostedRequest { action, saml_request: STANDARD.encode(&xml) };
                self.messages.store_request(&request.state, &posted).await?;
                let path = format!("/connectors/{}/saml/request", self.id);
                let mut url = hub_page::hub_page_url(request, &self.id, &path)?;
                url.query_pairs_mut().append_pair("state", &request.state);
                Ok(url)
            }
        }
    }

    /// Checks a response by the keys of the metadata.
    async fn check_response(
        &self,
        response: &[u8],
        expected: &ExpectedResponse<'_>,
        now: Timestamp,
    ) -> Result<Assertion, ConnectorError> {
        let decryption = self.keys.decryption_keys(response, now).await;
        let check = |metadata: &IdentityProviderMetadata| {
            let (verification_keys, scopes) = (&metadata.signing_keys, &metadata.scopes);
            let decryption_keys = &decryption.keys;
            let expected =
                ExpectedResponse { verification_keys, decryption_keys, scopes, ..*expected };
            check_response(response, &expected, now)
        };
        let unknown_key = ResponseError::Signature(XmlSignatureError::Signature);
        let checked = self.metadata.verify_message(check, |error| *error == unknown_key);
        checked.await?.0.map_err(|error| decryption.response_error(&error))
    }

    /// Records that an assertion was accepted.
    ///
    /// # Errors
    /// `SAML_REPLAYED` if it was accepted before, at any hub.
    async fn accept_once(
        &self,
        assertion: &Assertion,
        now: Timestamp,
    ) -> Result<(), ConnectorError> {
        let name = format!("{}\n{}", self.kind.entity_id, assertion.id);
        let key = RecordKey { kind: SAML_ASSERTION, name: digest::sha256_base64url(&name).into() };
        let until = assertion.valid_until.min(now + MAX_REPLAY_WINDOW);
        match self.store.get()?.insert(key, NewRecord::new(Vec::new(), until), now).await {
            Ok(_) => Ok(()),
            Err(StoreError::Exists | StoreError::Revoked) => {
                let detail = "the ID of the assertion was accepted before";
                Err(ConnectorError::new(SAML_REPLAYED, detail))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the `ID` of the request of an attempt: derived from `state`, so that it needs no
    /// record, and reveals nothing of it.
    fn request_id(&self, state: &str) -> String {
        let hash = digest::sha256_base64url(&format!("saml request\n{}\n{state}", self.id));
        format!("_{hash}")
    }
}

/// Returns whether the request must have `ForceAuthn`. SAML has no `max_age`.
const fn forces_authn(request: &UpstreamAuthorizationRequest) -> bool {
    request.reauthenticate || request.max_age.is_some()
}

#[async_trait]
impl Connector for SamlConnector {
    async fn begin_login(
        &self,
        request: UpstreamAuthorizationRequest,
    ) -> Result<AuthorizationRedirect, ConnectorError> {
        let metadata = self.metadata.current().await?;
        let hub = self.service_provider_for(&request)?;
        let (binding, endpoint) = self.single_sign_on(&metadata)?;
        let authn_contexts = self.rules.requested_contexts(&request);
        let requester = request.requester.as_ref().filter(|_| self.kind.send_requester_id);
        let authn_request = AuthnRequest {
            id: &self.request_id(&request.state),
            issued_at: self.env.now(),
            destination: &endpoint.location,
            issuer: &hub.entity_id,
            qualify_issuer: self.kind.qualify_issuer,
            consumer_url: &hub.consumer_url,
            force_authn: forces_authn(&request),
            name_id_format: self.kind.name_id_format.as_deref(),
            authn_contexts: &authn_contexts,
            comparison: self.kind.authn_context_comparison,
            attribute_consuming_service: self.kind.attribute_consuming_service,
            proxy_count: self.kind.proxy_count,
            requester_id: requester.map(ClientId::as_str),
        };
        let is_signed = self.signs_requests(&metadata);
        let url = self.request_url(&request, &authn_request, binding, is_signed).await?;
        Ok(AuthorizationRedirect {
            url: url.into(),
            issuer: self.kind.entity_id.clone(),
            client_id: hub.entity_id.clone(),
            token_endpoint: endpoint.location.clone(),
            iss_expected: true,
            dpop_key: None,
        })
    }

    async fn complete_login(
        &self,
        attempt: LoginAttempt,
        callback: CallbackParams,
    ) -> Result<Authentication, ConnectorError> {
        let hub = self.service_provider_for(&attempt.request)?;
        let entity_id = &self.kind.entity_id;
        let code = code_flow::validate_callback(entity_id, &hub.entity_id, &attempt, callback)?;
        let now = self.env.now();
        let state = &attempt.request.state;
        let response = self.messages.take_response(code.reveal(), state, now).await?;
        let request_id = self.request_id(state);
        let expected = ExpectedResponse {
            identity_provider: entity_id,
            service_provider: &hub.entity_id,
            consumer_url: &hub.consumer_url,
            request_id: &request_id,
            requested_at: attempt.redirected_at,
            force_authn: forces_authn(&attempt.request),
            verification_keys: &[],
            decryption_keys: &[],
            allow_cbc: self.kind.allow_cbc,
            scopes: &[],
        };
        let assertion = self.check_response(&response, &expected, now).await?;
        self.accept_once(&assertion, now).await?;
        for row in out_of_scope_rows(&assertion) {
            self.dropped_claims.report(&self.id, self.metrics.as_deref(), "scope", row);
        }
        self.rules.authentication(assertion, &hub, attempt.request.level, now)
    }

    async fn end_session(&self, request: EndSessionRequest) -> Result<Option<Url>, ConnectorError> {
        self.logout_url(&request).await
    }

    async fn preload(&self) -> Result<(), ConnectorError> {
        let metadata = self.metadata.current().await?;
        self.single_sign_on(&metadata).map(|_| ())
    }

    async fn probe(&self) -> Result<(), ConnectorError> {
        let metadata = self.metadata.fetch().await?;
        self.single_sign_on(&metadata).map(|_| ())
    }

    fn is_remote(&self) -> bool {
        self.metadata.is_remote()
    }

    async fn diagnose(&self, context: &DiagnosisContext) -> Vec<CheckDiagnostic> {
        self.diagnose_metadata(context).await
    }

    async fn verify_sample(&self, sample: &[u8], _is_online: bool) -> Option<SampleVerification> {
        match self.metadata.current().await {
            Ok(metadata) => self.verify_response_sample(sample, &metadata).await,
            Err(error) => {
                let fix = "correct the source of the metadata in the file";
                let finding = CheckDiagnostic::error("metadata", error.to_string(), fix);
                Some(SampleVerification::rejected(finding))
            }
        }
    }

    fn dropped_claims(&self) -> Vec<DroppedClaimRow> {
        self.dropped_claims.rows()
    }

    fn keys_fetched_at(&self) -> Option<Timestamp> {
        self.metadata.fetched_at()
    }

    fn published_addresses(&self) -> Arc<[String]> {
        let Some(metadata) = self.metadata.latest() else { return Arc::default() };
        let endpoints = metadata.single_sign_on.iter().chain(&metadata.single_logout);
        endpoints.map(|endpoint| endpoint.location.clone()).collect()
    }

    fn certificate_expiries(&self) -> Vec<(&'static str, Timestamp)> {
        let file = self.metadata.file_valid_until();
        let expiries = [("metadata", file), ("saml_certificate", self.keys.expires_at())];
        expiries.into_iter().filter_map(|(name, at)| Some((name, at?))).collect()
    }

    fn own_pages(&self) -> Option<&dyn Any> {
        Some(self)
    }
}
