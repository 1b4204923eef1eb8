//! OpenID4VP kind: users present a credential from a wallet, such as the PID of a European Digital
//! Identity Wallet (OpenID for Verifiable Presentations 1.0, HAIP 1.0).
//!
//! Responsible for the request, the wallet's response, the verification of what it presents, and
//! the identity that follows (docs/wallet.md), with the pages and routes of wallets. Does not know
//! actors or service providers. Begin with [`EXTENSION`] and [`KIND`].

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

pub mod cbor;
pub mod claims_path;
pub mod credential;
mod credential_query;
mod diagnose;
pub mod document_fetcher;
mod endpoints;
mod error_codes;
mod extension;
pub mod mdoc;
mod pages;
pub mod presentation;
pub mod presentation_error;
pub mod presentation_request;
mod request_object;
pub mod sd_jwt;
mod settings;
mod settings_checks;
pub mod signature;
pub mod status_list;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod trust;
pub mod trust_list;
pub mod verification;
mod wallet;
mod wallet_page;

use std::any::Any;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

pub use extension::EXTENSION;
use extension::PRESENTATIONS;
use passerelle_connector::diagnostic::{CheckDiagnostic, DiagnosisContext, SampleVerification};
use passerelle_connector::error::ConnectorError;
use passerelle_connector::http_clients::HttpClientOptions;
use passerelle_connector::kind_settings::{ConnectorKind, ConnectorKindFormat, connector_kind};
use passerelle_connector::login_page_codes::LoginPageCodes;
use passerelle_connector::port::{Connector, ConnectorContext};
use passerelle_connector::unusable_settings::missing_secret;
use passerelle_connector::{ConfiguredConnector, ConnectorFile, code_flow, hub_page};
use passerelle_federation::assurance::Level;
use passerelle_federation::assurance::acr::AcrPolicy;
use passerelle_federation::assurance::amr::UpstreamAmr;
use passerelle_federation::login::upstream::{
    Authentication, AuthorizationRedirect, CallbackParams, LoginAttempt,
    UpstreamAuthorizationRequest,
};
use passerelle_jose::certificate_signer::{CertificateSigner, CertificateSignerError};
use passerelle_jose::response_key::ResponseKey;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::ConnectorId;
use passerelle_settings::FieldDiagnostic;
use passerelle_settings::diagnostic::CREATE_FILE;
use passerelle_telemetry::Metrics;
use presentation_request::{
    PresentationRequest, PresentationRequests, PresentedCredential, WalletDevice,
};
use request_object::RequestSigner;
pub use settings::Openid4vpKind;
use verification::{CredentialVerifier, PresentationSample};

/// The kind of `[kind.openid4vp]`.
pub const KIND: ConnectorKindFormat =
    connector_kind::<Openid4vpKind>("openid4vp", "Wallets that present a credential.");

impl ConnectorKind for Openid4vpKind {
    fn build(
        &self,
        configured: &ConfiguredConnector,
        context: ConnectorContext,
    ) -> Result<Arc<dyn Connector>, FieldDiagnostic> {
        Ok(Arc::new(WalletConnector::new(self, configured, context)?))
    }

    /// The level is that of the file, for which the operator vouches by the issuers it trusts.
    fn acr_policy(&self, file: &ConnectorFile) -> AcrPolicy {
        AcrPolicy {
            lowest: file.levels.lowest,
            highest: file.levels.highest,
            values: BTreeMap::from([(self.level, vec![self.level.as_str().to_owned()])]),
            names: BTreeMap::new(),
            assumed: None,
            sends_acr_values: false,
            ignores_acr: false,
        }
    }
}

/// Connector to wallets.
pub struct WalletConnector {
    id: ConnectorId,
    /// A URN, because this issuer has no address.
    issuer: String,
    level: Level,
    acr_policy: AcrPolicy,
    requests: PresentationRequests,
    signer: RequestSigner,
    verifier: CredentialVerifier,
    codes: LoginPageCodes<PresentedCredential>,
    wallets: Vec<settings::WalletSettings>,
    digital_credentials_api: bool,
    cross_device: bool,
    cross_device_url: String,
    env: Env,
    metrics: Option<Arc<Metrics>>,
}

impl WalletConnector {
    /// Returns a connector. Calls nothing.
    ///
    /// # Errors
    /// Returns the key whose value can't be used.
    pub fn new(
        kind: &Openid4vpKind,
        configured: &ConfiguredConnector,
        context: ConnectorContext,
    ) -> Result<Self, FieldDiagnostic> {
        let id = configured.id.clone();
        let http = HttpClientOptions {
            insecure_http: kind.insecure_http,
            internal_hosts: &kind.internal_hosts,
            ca_bundle: None,
            client_identity: None,
        };
        let (client, _) = http.clients("kind.openid4vp", &context.http_clients)?;
        let verifier = CredentialVerifier::new(kind, Arc::new(client), &context.env)?;
        Ok(Self {
            issuer: format!("urn:passerelle:wallet:{id}"),
            level: kind.level,
            acr_policy: kind.acr_policy(&configured.file),
            requests: PresentationRequests::new(
                &id,
                context.store.clone(),
                Duration::from_secs(kind.request_minutes * 60),
                context.env.clone(),
            ),
            signer: RequestSigner::new(kind, certificate_signer(kind, configured)?, &verifier)?,
            verifier,
            codes: LoginPageCodes::new(&id, context.store),
            wallets: kind.wallets.clone(),
            digital_credentials_api: kind.digital_credentials_api,
            cross_device: kind.cross_device,
            cross_device_url: kind.cross_device_url.clone(),
            env: context.env,
            metrics: context.metrics,
            id,
        })
    }

    fn record_outcome(&self, outcome: &'static str, reason: &'static str) {
        if let Some(metrics) = &self.metrics {
            metrics.increment(&PRESENTATIONS, &[self.id.as_str(), outcome, reason]);
        }
    }

    async fn verify_callback(
        &self,
        attempt: LoginAttempt,
        callback: CallbackParams,
    ) -> Result<Authentication, ConnectorError> {
        let client_id = self.signer.client_id();
        let code = code_flow::validate_callback(&self.issuer, client_id, &attempt, callback)
            .inspect_err(|error| {
                if error.code == ErrorCode::IdpDenied {
                    self.record_outcome("declined", "by_user");
                }
            })?;
        let now = self.env.now();
        let presented = self.codes.redeem(code.reveal(), &attempt.request.state, now).await?;
        let verified = self.verifier.verify(&presented, client_id, now).await;
        let user = verified.map_err(|error| {
            self.record_outcome("rejected", error.label());
            ConnectorError::from(error)
        })?;
        self.record_outcome("accepted", "verified");
        let level = self.acr_policy.evaluate(
            Some(self.level.as_str()),
            self.acr_policy.level_to_request(attempt.request.level),
        );
        let level = level.map_err(|error| ConnectorError::new(error.code(), error.to_string()))?;
        Ok(Authentication {
            // The holder proved possession of a key. How the wallet authenticated its user is not
            // known, so nothing else is claimed.
            amr: UpstreamAmr::from_methods(&["pop"]),
            auth_time: Some(now),
            claims: user.claims,
            electronic_records: vec![user.record],
            ..Authentication::new(self.id.clone(), user.subject, level)
        })
    }
}

fn certificate_signer(
    kind: &Openid4vpKind,
    configured: &ConfiguredConnector,
) -> Result<CertificateSigner, FieldDiagnostic> {
    let Some(key) = &configured.client_secret else {
        return Err(missing_secret("kind.openid4vp.private_key"));
    };
    let setting = "kind.openid4vp.certificate";
    let chain = read_file(setting, &kind.certificate)?;
    CertificateSigner::from_pem(&chain, key).map_err(|error| unusable_certificate(setting, &error))
}

fn unusable_certificate(key: &str, error: &CertificateSignerError) -> FieldDiagnostic {
    let fix = "write the certificate that an authority issued for the hub into the file, in PEM and with a key on P-256, then each authority after the certificate that it issued";
    FieldDiagnostic::new(key, format!("names a file that can't be used: {error}"), fix)
}

/// Reads a file that a key names.
fn read_file(key: &'static str, path: &Path) -> Result<Vec<u8>, FieldDiagnostic> {
    std::fs::read(path).map_err(|error| {
        let message = format!("names {}, which can't be read: {error}", path.display());
        FieldDiagnostic::new(key, message, CREATE_FILE)
    })
}

#[async_trait]
impl Connector for WalletConnector {
    async fn begin_login(
        &self,
        request: UpstreamAuthorizationRequest,
    ) -> Result<AuthorizationRedirect, ConnectorError> {
        let base_url = hub_page::hub_page_url(&request, &self.id, "")?;
        let key = ResponseKey::generate()
            .map_err(|error| ConnectorError::new(ErrorCode::Internal, error.to_string()))?;
        let draft = PresentationRequest {
            state: request.state.clone(),
            base_url: base_url.as_str().trim_end_matches('/').to_owned(),
            nonce: request.nonce.clone(),
            key,
            service: None,
        };
        self.requests.open(WalletDevice::Same, draft).await?;
        let path = format!("/connectors/{}/wallet", self.id);
        let mut url = hub_page::hub_page_url(&request, &self.id, &path)?;
        url.query_pairs_mut().append_pair("state", &request.state);
        Ok(AuthorizationRedirect {
            token_endpoint: self.issuer.clone(),
            issuer: self.issuer.clone(),
            client_id: self.signer.client_id().to_owned(),
            url: url.into(),
            iss_expected: true,
            dpop_key: None,
        })
    }

    async fn complete_login(
        &self,
        attempt: LoginAttempt,
        callback: CallbackParams,
    ) -> Result<Authentication, ConnectorError> {
        let state = attempt.request.state.clone();
        let authentication = self.verify_callback(attempt, callback).await;
        // The attempt has ended, with any outcome.
        self.remove_requests(&state).await;
        authentication
    }

    async fn preload(&self) -> Result<(), ConnectorError> {
        self.verifier.preload().await
    }

    async fn diagnose(&self, context: &DiagnosisContext) -> Vec<CheckDiagnostic> {
        self.diagnose_wallets(context).await
    }

    async fn verify_sample(&self, sample: &[u8], is_online: bool) -> Option<SampleVerification> {
        Some(match PresentationSample::parse(sample)? {
            Ok(sample) => self.verifier.verify_sample(&sample, is_online, self.env.now()).await,
            Err(finding) => SampleVerification::rejected(finding),
        })
    }

    /// Wallets are not called. Trust lists are fetched when they are needed.
    fn is_remote(&self) -> bool {
        false
    }

    fn certificate_expiries(&self) -> Vec<(&'static str, Timestamp)> {
        let lists = self.verifier.trust().states();
        let expiries = [
            ("access_certificate", self.signer.expires_at()),
            ("trust_anchors", self.verifier.anchors_expire_at()),
            ("trust_list", lists.iter().map(|list| list.next_update).min()),
        ];
        expiries.into_iter().filter_map(|(name, at)| Some((name, at?))).collect()
    }

    fn own_pages(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

#[cfg(test)]
mod tests;
