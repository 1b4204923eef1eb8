//! Answers introspection requests of data providers (R012, R180 to R185;
//! `docs/data-providers.md`).
//!
//! Responsible for limiting a response to what a data provider may learn, and for its format.
//! [`AccessTokens::validate`] decides whether a token is live.

use serde_json::{Map, Value};

use super::{AccessTokens, ValidToken};
use crate::error::GrantError;
use crate::records::{TokenRecord, released_claims};
use crate::response_signer::{JwtKind, ResponseEncryption};
use passerelle_audit::{Event, EventKind};
use passerelle_federation::assurance;
use passerelle_federation::identity::Claim;
use passerelle_federation::{DataProvider, IntrospectionResponseFormat};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::Scope;
use passerelle_protocol::introspection::{
    ActiveToken, Introspection, IntrospectionRequest, SignedIntrospection,
};
use passerelle_protocol::sender_constraint::Confirmation;

/// An introspection response in the data provider's registered format.
#[derive(Debug)]
pub enum IntrospectionResponse {
    /// JSON text.
    Json(Vec<u8>),
    /// A compact JWS, or the JWE around it.
    Jwt(String),
}

impl AccessTokens {
    /// Answers an introspection request.
    ///
    /// # Errors
    /// A 401 that reads the same for every authentication failure, before anything else is checked
    /// (R183); a missing or repeated token parameter; `DataProviderKeysMissing`; `TooManyFailures`;
    /// the hub's own failures.
    pub async fn introspect(
        &self,
        request: &IntrospectionRequest,
    ) -> Result<IntrospectionResponse, GrantError> {
        let provider = self.authenticator.authenticate_data_provider(request)?;
        let answer = self.introspect_token(&provider, request).await;
        answer.map_err(|error| GrantError { client_id: Some(provider.client_id.clone()), ..error })
    }

    async fn introspect_token(
        &self,
        provider: &DataProvider,
        request: &IntrospectionRequest,
    ) -> Result<IntrospectionResponse, GrantError> {
        let token = request.token.as_ref().map_err(|code| *code)?;
        let encryption = self.signer.introspection_encryption(provider)?;
        let valid = match self.validate(token.reveal()).await {
            Ok(valid) => Some(valid),
            Err(ErrorCode::AccessTokenInvalid) => None,
            Err(internal) => return Err(internal.into()),
        };
        let answer = valid
            .as_ref()
            .and_then(|valid| self.active_response(provider, valid))
            .unwrap_or(Introspection::Inactive);
        self.core.metrics.record_introspection(
            &provider.client_id,
            if answer.is_active() { "active" } else { "inactive" },
        );
        if !answer.is_active() {
            self.authenticator.count_inactive(&provider.client_id)?;
        }
        let written = self.encode_response(provider, &answer, &encryption).await?;
        self.core.audit.record(|| match (&answer, &valid) {
            (Introspection::Active(_), Some(ValidToken { token, .. })) => {
                let event = Event::new(EventKind::IntrospectionActive)
                    .dp(&provider.client_id)
                    .sp(&token.client_id);
                let event = event.level(token.level).support_id(&token.support_id);
                token
                    .subjects_by_sector
                    .get(&provider.sector)
                    .into_iter()
                    .fold(event, Event::subject)
            }
            _ => Event::new(EventKind::IntrospectionInactive).dp(&provider.client_id),
        });
        Ok(written)
    }

    /// Returns the response for a valid token; `None` if this data provider may not learn of the
    /// token.
    fn active_response<'a>(
        &'a self,
        provider: &'a DataProvider,
        valid: &'a ValidToken,
    ) -> Option<Introspection<'a>> {
        let token = &valid.token;
        let shared = shared_scopes(&token.scopes, provider)?;
        // Derived when the code was issued. A data provider registered later sees tokens of later
        // logins only.
        let sub = token.subjects_by_sector.get(&provider.sector)?;
        Some(Introspection::Active(Box::new(ActiveToken {
            iss: &self.core.issuer,
            sub: sub.as_str(),
            aud: provider.client_id.as_str(),
            client_id: token.client_id.as_str(),
            scope: shared.iter().map(Scope::as_str).collect::<Vec<_>>().join(" "),
            acr: assurance::acr::id_token_level(token.level, self.core.platform),
            iat: token.issued_at.seconds(),
            exp: valid.expires_at.seconds(),
            token_type: token.cnf.as_ref().map(Confirmation::token_type),
            cnf: token.cnf.as_ref(),
            claims: self.released_claims(token, &shared),
        })))
    }

    /// Returns the token's claims that these scopes release, without the e-mail address.
    fn released_claims(&self, token: &TokenRecord, scopes: &[Scope]) -> Map<String, Value> {
        let mut names = self.core.federation.load().scopes.claim_names(scopes);
        names.retain(|claim| *claim != Claim::Email && *claim != Claim::Sub);
        released_claims(&token.claims, &names)
    }

    async fn encode_response(
        &self,
        provider: &DataProvider,
        answer: &Introspection<'_>,
        encryption: &ResponseEncryption,
    ) -> Result<IntrospectionResponse, ErrorCode> {
        let alg = match provider.response_format {
            IntrospectionResponseFormat::Json => {
                return serde_json::to_vec(answer)
                    .map(IntrospectionResponse::Json)
                    .map_err(|_| ErrorCode::Internal);
            }
            IntrospectionResponseFormat::Jwt { alg, .. } => alg,
        };
        let aud = provider.client_id.as_str();
        let payload = SignedIntrospection {
            iss: &self.core.issuer,
            aud,
            iat: self.core.env.now().seconds(),
            token_introspection: answer,
        };
        let signed = self.signer.sign(JwtKind::Introspection, alg, &payload).await?;
        encryption.encrypt(signed).map(IntrospectionResponse::Jwt)
    }
}

/// Returns the token's scopes that the data provider may learn of; `None` if there is none besides
/// `openid`.
pub(crate) fn shared_scopes(token_scopes: &[Scope], provider: &DataProvider) -> Option<Vec<Scope>> {
    let shared: Vec<Scope> =
        token_scopes.iter().filter(|scope| provider.scopes.contains(scope)).cloned().collect();
    shared.iter().any(|scope| scope.as_str() != "openid").then_some(shared)
}
