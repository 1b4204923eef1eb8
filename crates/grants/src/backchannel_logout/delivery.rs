//! Signs one logout token and sends it (OpenID Connect Back-Channel Logout 1.0 §2.4, §2.5).

use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use url::form_urlencoded::Serializer;

use super::notice::LogoutNotice;
use crate::HubCore;
use crate::response_signer::{JwtKind, ResponseSigner};
use passerelle_egress::http_client_pool::HttpClientPool;
use passerelle_federation::{LogoutEndpoint, ServiceProvider};
use passerelle_jose::logout_token::{LogoutEvents, LogoutTokenClaims};
use passerelle_protocol::catalogue::ErrorCode;

/// Lifetime of a logout token, which is signed again for each delivery (§2.4: at most two
/// minutes).
const TOKEN_LIFETIME: Duration = Duration::from_secs(120);

/// Outcome of one delivery of a logout token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum DeliveryOutcome {
    Delivered,
    /// The service provider answered with this status, and would do so again.
    Rejected(u16),
    /// It is no longer registered, or receives no logout tokens any more.
    Withdrawn,
    /// It may succeed later; with the reason.
    Retry(String),
}

/// Signs logout tokens, and sends them.
pub(super) struct DeliveryClient {
    core: Arc<HubCore>,
    signer: Arc<ResponseSigner>,
    /// HTTP clients to service providers, by their egress rules.
    http: HttpClientPool,
}

impl DeliveryClient {
    pub(super) fn new(core: Arc<HubCore>, signer: Arc<ResponseSigner>) -> Self {
        Self { core, signer, http: HttpClientPool::default() }
    }

    /// Sends the logout token of a notice to the service provider as registered now.
    pub(super) async fn send_logout_token(&self, notice: &LogoutNotice) -> DeliveryOutcome {
        let client =
            self.core.federation.load().active_service_provider(&notice.client_id).cloned();
        let Some((client, endpoint)) =
            client.as_ref().and_then(|client| Some((client, client.logout_endpoint.as_ref()?)))
        else {
            return DeliveryOutcome::Withdrawn;
        };
        match self.sign(client, notice).await {
            Ok(token) => self.post(endpoint, &token).await,
            Err(code) => DeliveryOutcome::Retry(code.entry().description.to_owned()),
        }
    }

    async fn post(&self, endpoint: &LogoutEndpoint, token: &str) -> DeliveryOutcome {
        let body = Serializer::new(String::new()).append_pair("logout_token", token).finish();
        let request = http::Request::post(endpoint.uri.as_str())
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(body.into_bytes());
        let Ok(request) = request else {
            return DeliveryOutcome::Retry("the address can't be called".to_owned());
        };
        let client = self.http.client(endpoint.schemes, &endpoint.internal_hosts, None);
        let status = match client {
            Ok(client) => client.send_for_status(request).await,
            Err(error) => Err(error),
        };
        match status.map(|status| status.as_u16()) {
            // §2.8: 200; some frameworks answer with 204.
            Ok(200..=299) => DeliveryOutcome::Delivered,
            // Timeout, too early, too many requests: later.
            Ok(status @ (408 | 425 | 429 | 500..)) => {
                DeliveryOutcome::Retry(format!("the response has status {status}"))
            }
            Ok(status) => DeliveryOutcome::Rejected(status),
            Err(error) => DeliveryOutcome::Retry(error.to_string()),
        }
    }

    /// Signs a logout token, with the keys and algorithms of the service provider's ID tokens.
    ///
    /// # Errors
    /// `ClientKeysMissing`, or the hub's own failures.
    async fn sign(
        &self,
        client: &ServiceProvider,
        notice: &LogoutNotice,
    ) -> Result<String, ErrorCode> {
        let encryption = self.signer.id_token_encryption(client)?;
        let (now, jti) = (self.core.env.now(), self.core.env.entropy().token());
        let claims = LogoutTokenClaims {
            iss: &self.core.issuer,
            sub: notice.subject.as_str(),
            aud: notice.client_id.as_str(),
            iat: now,
            exp: now + TOKEN_LIFETIME,
            jti: &jti,
            sid: &notice.sid,
            events: LogoutEvents::default(),
        };
        let alg = client.id_token_signed_response_alg;
        let signed = self.signer.sign(JwtKind::LogoutToken, alg, &claims).await?;
        encryption.encrypt_for_issuer(signed, &self.core.issuer)
    }
}
