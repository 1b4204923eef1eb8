//! The trait [`Connector`], and what every kind needs to implement it.

use std::any::Any;
use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use url::Url;

use super::SandboxMode;
use super::clock_skew::MeasuredSkew;
use super::diagnostic::{CheckDiagnostic, DiagnosisContext, SampleVerification};
use super::dropped_claims::DroppedClaimRow;
use super::error::ConnectorError;
use super::hub_page::PasswordPage;
use super::sandbox_form::SandboxForm;
use passerelle_egress::http_client_pool::HttpClientPool;
use passerelle_federation::login::upstream::{
    Authentication, AuthorizationRedirect, CallbackParams, EndSessionRequest, LoginAttempt,
    UpstreamAuthorizationRequest, UpstreamLogout,
};
use passerelle_jose::RelyingPartyKeys;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::Secret;
use passerelle_store::LateStore;
use passerelle_telemetry::Metrics;

/// Adapter to one identity provider. Calls of several logins run concurrently.
#[async_trait]
pub trait Connector: Send + Sync {
    /// Returns the redirect to the identity provider.
    ///
    /// # Errors
    /// Returns an error if the identity provider's metadata can't be fetched or used.
    async fn begin_login(
        &self,
        request: UpstreamAuthorizationRequest,
    ) -> Result<AuthorizationRedirect, ConnectorError>;

    /// Exchanges the code of a callback and verifies the identity provider's responses.
    ///
    /// # Errors
    /// Returns an error with a distinct code for each failed check.
    async fn complete_login(
        &self,
        attempt: LoginAttempt,
        callback: CallbackParams,
    ) -> Result<Authentication, ConnectorError>;

    /// Returns the unverified `state` of an encrypted authorization response, which finds the
    /// login; `None` if it can't be decrypted, and for a kind without such responses.
    async fn unverified_state(&self, _response: &Secret<String>) -> Option<String> {
        None
    }

    /// Returns the URL that ends the session at the identity provider; `None` if it has no logout.
    ///
    /// # Errors
    /// Returns the errors of [`Self::begin_login`].
    async fn end_session(&self, _: EndSessionRequest) -> Result<Option<Url>, ConnectorError> {
        Ok(None)
    }

    /// Verifies a logout token of the identity provider.
    ///
    /// # Errors
    /// Returns an error with a distinct code for each failed check; `NotFound` for a kind without
    /// logout tokens.
    async fn verify_logout_token(&self, _: &str) -> Result<UpstreamLogout, ConnectorError> {
        Err(ConnectorError::new(ErrorCode::NotFound, "this kind has no logout tokens"))
    }

    /// Fetches metadata and keys before the first login. `check --online` calls it, too.
    ///
    /// # Errors
    /// Returns the errors of [`Self::begin_login`].
    async fn preload(&self) -> Result<(), ConnectorError>;

    /// Checks everything that a login needs, for `check connector --online`.
    async fn diagnose(&self, _: &DiagnosisContext) -> Vec<CheckDiagnostic> {
        vec![match self.preload().await {
            Ok(()) => CheckDiagnostic::ok("reachable", "the identity provider responds"),
            Err(error) => CheckDiagnostic::error(
                "reachable",
                error.to_string(),
                "look up the error in docs/errors.md",
            ),
        }]
    }

    /// Verifies a sample of what the identity provider sends, for `check connector --sample`.
    /// `None` for an object of claims, and for a kind that verifies none. Calls others only if
    /// `is_online`.
    async fn verify_sample(&self, _: &[u8], _is_online: bool) -> Option<SampleVerification> {
        None
    }

    /// Checks over a new connection whether the identity provider works. The fetched documents
    /// replace the cached ones.
    ///
    /// # Errors
    /// Returns the errors of [`Self::begin_login`].
    async fn probe(&self) -> Result<(), ConnectorError> {
        self.preload().await
    }

    /// Returns whether the identity provider is a remote service, which is then probed.
    fn is_remote(&self) -> bool {
        true
    }

    /// Returns the last measurement of the identity provider's clock; `None` before the first one,
    /// and for a kind without a clock.
    fn clock_skew(&self) -> Option<MeasuredSkew> {
        None
    }

    /// Returns the malformed claims that logins left out before the identity rules.
    fn dropped_claims(&self) -> Vec<DroppedClaimRow> {
        Vec::new()
    }

    /// Returns when the identity provider's current keys were fetched; `None` before the first
    /// fetch, and for a kind without keys.
    fn keys_fetched_at(&self) -> Option<Timestamp> {
        None
    }

    /// Returns the addresses in the identity provider's metadata that were fetched last.
    fn published_addresses(&self) -> Arc<[String]> {
        Arc::default()
    }

    /// Returns the expiry times of what the operator must renew, each with a constant name:
    /// certificates, and the earliest `NextUpdate` of the trust lists.
    fn certificate_expiries(&self) -> Vec<(&'static str, Timestamp)> {
        Vec::new()
    }

    /// Returns the password check behind the hub's own login page, for a kind that has one.
    fn password_page(&self) -> Option<&dyn PasswordPage> {
        None
    }

    /// Returns the value that the handlers of the kind's own routes work with. They know its type.
    fn own_pages(&self) -> Option<&dyn Any> {
        None
    }

    /// Returns the model of the hub's sandbox page, for a kind that has one.
    fn sandbox_form(&self) -> Option<&dyn SandboxForm> {
        None
    }
}

/// Dependencies of a connector.
#[derive(Clone)]
pub struct ConnectorContext {
    pub env: Env,
    /// The hub's keys for encrypted responses and client assertions; replaced when keys are
    /// rotated.
    pub upstream_keys: Arc<ArcSwap<RelyingPartyKeys>>,
    /// Whether sandboxes may be built.
    pub sandbox: SandboxMode,
    pub http_clients: HttpClientPool,
    /// Counts claims that can't be mapped; `None` outside a running hub.
    pub metrics: Option<Arc<Metrics>>,
    /// Stores what a page of the hub passes on to the callback.
    pub store: LateStore,
}
