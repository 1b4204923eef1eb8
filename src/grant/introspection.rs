//! What a data provider hears of a token (spec 4.10; R012, R180 to R185; decisions 11), and a service provider's wish that
//! one be forgotten (RFC 7009).
//!
//! Owns: who may ask, what of a token is anyone's to know, and the form of the answer. Must not know: HTTP; whether a token
//! lives, which [`Grants::judge`] says to everyone.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::client::{ClientFault, standing};
use super::records::{TokenRecord, token_key};
use super::refusal::Refusal;
use super::seal::Envelope;
use super::token::{self, Judged};
use super::{Grants, store_code};
use crate::assurance;
use crate::audit::{Event, Name};
use crate::config::Service;
use crate::config::federation::{DataProvider, IntrospectionForm};
use crate::digest;
use crate::identity::Claim;
use crate::ids::Scope;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::introspection::{
    Facts, Introspection, IntrospectionRequest, JWT_TYPE, SignedAnswer,
};
use crate::protocol::revocation::RevocationRequest;
use crate::telemetry::trace;

/// An answer in the form that the data provider has registered.
#[derive(Debug)]
pub enum Introspected {
    /// JSON text.
    Json(Vec<u8>),
    /// A compact JWS, or the JWE around it.
    Jwt(String),
}

impl Grants {
    /// Tells a data provider of a token.
    ///
    /// # Errors
    /// A 401 that reads the same whatever was wrong, before anything else is looked at (R183); the token parameter's own;
    /// `DataProviderKeysMissing`; `TooManyMistakes`; the hub's own failures.
    pub async fn introspect(
        &self,
        request: &IntrospectionRequest,
    ) -> Result<Introspected, Refusal> {
        let provider = self.authenticate_data_provider(request)?;
        let answer = self.answer(&provider, request).await;
        answer.map_err(|refusal| Refusal { client_id: Some(provider.client_id.clone()), ..refusal })
    }

    async fn answer(
        &self,
        provider: &DataProvider,
        request: &IntrospectionRequest,
    ) -> Result<Introspected, Refusal> {
        let token = request.token.as_ref().map_err(|code| *code)?;
        let envelope = self.introspection_envelope(provider)?;
        let judged = match self.judge(token.reveal()).await {
            Ok(judged) => Some(judged),
            Err(ErrorCode::AccessTokenInvalid) => None,
            Err(hubs_own) => return Err(hubs_own.into()),
        };
        let answer = judged
            .as_ref()
            .and_then(|judged| self.told_to(provider, judged))
            .unwrap_or(Introspection::Inactive);
        self.metrics.introspected(
            &provider.client_id,
            if answer.is_active() { "active" } else { "inactive" },
        );
        if !answer.is_active() {
            self.mistakes.found_nothing(&provider.client_id)?;
        }
        let written = self.written(provider, &answer, &envelope).await?;
        self.audit.tell(|| match (&answer, &judged) {
            (Introspection::Active(_), Some(Judged { token, .. })) => {
                let told = Event::of(Name::IntrospectionActive)
                    .dp(&provider.client_id)
                    .sp(&token.client_id);
                let told = told.level(token.level).support_id(&token.support_id);
                token
                    .subjects_by_sector
                    .get(&provider.sector)
                    .into_iter()
                    .fold(told, Event::subject)
            }
            _ => Event::of(Name::IntrospectionInactive).dp(&provider.client_id),
        });
        Ok(written)
    }

    /// Forgets an access token of the service provider that asks; anybody else's stays, and nobody hears the difference.
    ///
    /// # Errors
    /// Those of [`Grants::authenticate`]; the hub's own failures.
    pub async fn revoke_token(&self, request: &RevocationRequest) -> Result<(), Refusal> {
        let client = self.authenticate(&request.credentials).await?;
        self.forget(&client, request.token.reveal())
            .await
            .map_err(|code| Refusal::of(&client.registration.client_id, code))
    }

    async fn forget(&self, client: &Service, text: &str) -> Result<(), ErrorCode> {
        // RFC 7009, 2.1: that the token was issued to this client is checked before anything is done.
        let its_own = match self.find_token(text).await {
            Ok(judged) => {
                Some(judged.token).filter(|token| token.client_id == client.registration.client_id)
            }
            Err(ErrorCode::AccessTokenInvalid) => None,
            Err(hubs_own) => return Err(hubs_own),
        };
        if its_own.is_some() {
            // No refresh token and no other access token was issued with it: it is all there is to revoke.
            self.store.remove(&token_key(text)).await.map_err(|fault| store_code(&fault))?;
        }
        self.metrics.revoked(if its_own.is_some() { "revoked" } else { "nothing" });
        self.audit.tell(|| match &its_own {
            Some(token) => token::of(Name::TokenRevoked, token),
            None => Event::of(Name::RevocationEmpty).sp(&client.registration.client_id),
        });
        Ok(())
    }

    fn authenticate_data_provider(
        &self,
        request: &IntrospectionRequest,
    ) -> Result<Arc<DataProvider>, Refusal> {
        let claimed = request.claimed.as_ref();
        self.judge_data_provider(request).map_err(|code| {
            let (code, over) = self.mistakes.authentication_failed(claimed, code);
            // Only a registered id is repeated: anything may stand where an unknown one should.
            let federation = self.federation.load();
            let client_id = claimed.filter(|id| {
                federation.data_provider(id).is_some() || federation.service(id).is_some()
            });
            Refusal { code, client_id: client_id.cloned(), reason: None, over }
        })
    }

    fn judge_data_provider(
        &self,
        request: &IntrospectionRequest,
    ) -> Result<Arc<DataProvider>, ErrorCode> {
        let secret = request.secret.as_ref().map_err(|code| *code)?;
        let offered = digest::sha256(secret.reveal().as_bytes());
        let federation = self.federation.load();
        let found = request
            .claimed
            .as_ref()
            .and_then(|id| federation.data_provider(id))
            .filter(|provider| provider.active);
        // An unknown data provider costs the same comparison as a known one (R206).
        let standing =
            standing(found.map(|provider| provider.secrets.as_slice()), &offered, self.env.now());
        let is_service_provider =
            request.claimed.as_ref().is_some_and(|id| federation.service(id).is_some());
        let provider = found.ok_or(if is_service_provider {
            ErrorCode::DataProviderIsServiceProvider
        } else {
            ErrorCode::DataProviderUnknown
        })?;
        standing.map_err(|fault| match fault {
            ClientFault::SecretNotYet => ErrorCode::DataProviderSecretNotYet,
            ClientFault::SecretExpired => ErrorCode::DataProviderSecretExpired,
            _ => ErrorCode::DataProviderSecret,
        })?;
        Ok(Arc::clone(provider))
    }

    /// Chosen before the token is looked at: an answer that could not be written is not begun.
    fn introspection_envelope(&self, provider: &DataProvider) -> Result<Envelope, ErrorCode> {
        let IntrospectionForm::Jwt { sealed: Some(alg), .. } = provider.form else {
            return Ok(Envelope::Open);
        };
        let keys = self
            .client_keys
            .keys(&provider.client_id, &provider.keys)
            .ok_or(ErrorCode::DataProviderKeysMissing)?;
        keys.encryption
            .choose(alg)
            .cloned()
            .map(Envelope::Sealed)
            .ok_or(ErrorCode::DataProviderKeysMissing)
    }

    /// `None` where the token is none of this data provider's business.
    fn told_to<'a>(
        &'a self,
        provider: &'a DataProvider,
        judged: &'a Judged,
    ) -> Option<Introspection<'a>> {
        let token = &judged.token;
        let shared = shared_scopes(&token.scopes, provider)?;
        // Derived when the code was issued; a data provider that was registered since then waits for the next login.
        let sub = token.subjects_by_sector.get(&provider.sector)?;
        Some(Introspection::Active(Box::new(Facts {
            iss: &self.issuer,
            sub: sub.as_str(),
            aud: provider.client_id.as_str(),
            client_id: token.client_id.as_str(),
            scope: shared.iter().map(Scope::as_str).collect::<Vec<_>>().join(" "),
            acr: assurance::acr::in_id_token(token.level, self.platform),
            iat: token.issued_at.seconds(),
            exp: judged.expires_at.seconds(),
            claims: self.released(token, &shared),
        })))
    }

    /// The snapshot's claims that these scopes release, without the e-mail address.
    fn released(&self, token: &TokenRecord, scopes: &[Scope]) -> Map<String, Value> {
        let names = self.federation.load().scopes.claim_names(scopes).into_iter();
        let told =
            names.filter(|claim| !matches!(claim, Claim::Email | Claim::Sub)).map(Claim::as_str);
        told.filter_map(|name| Some((name.to_owned(), token.claims.get(name)?.clone()))).collect()
    }

    async fn written(
        &self,
        provider: &DataProvider,
        answer: &Introspection<'_>,
        envelope: &Envelope,
    ) -> Result<Introspected, ErrorCode> {
        let alg = match provider.form {
            IntrospectionForm::Json => {
                return serde_json::to_vec(answer)
                    .map(Introspected::Json)
                    .map_err(|_| ErrorCode::Internal);
            }
            IntrospectionForm::Jwt { alg, .. } => alg,
        };
        let now = self.env.now();
        let aud = provider.client_id.as_str();
        let payload = SignedAnswer {
            iss: &self.issuer,
            aud,
            iat: now.seconds(),
            token_introspection: answer,
        };
        let payload = serde_json::to_vec(&payload).map_err(|_| ErrorCode::Internal)?;
        let signed = trace::span("sign")
            .run(self.signer.sign(alg, JWT_TYPE, &payload, now))
            .await
            .map_err(|fault| {
                tracing::error!(%fault, "an introspection answer could not be signed");
                ErrorCode::SigningFailed
            })?;
        envelope.close(signed).map(Introspected::Jwt)
    }
}

/// The token's scopes that the data provider may learn of; `None` if there is none besides `openid`.
pub(super) fn shared_scopes(of_token: &[Scope], provider: &DataProvider) -> Option<Vec<Scope>> {
    let shared: Vec<Scope> =
        of_token.iter().filter(|scope| provider.scopes.contains(scope)).cloned().collect();
    shared.iter().any(|scope| scope.as_str() != "openid").then_some(shared)
}
