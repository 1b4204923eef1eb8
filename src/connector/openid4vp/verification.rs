//! Verifies what a wallet presented for a request, and derives the user from it.

mod sample;

use std::sync::Arc;

use serde_json::{Map, Value};

use super::credential::{PresentationExpectations, VerificationPolicy, VerifiedCredential};
use super::credential_query::CredentialQuery;
use super::document_fetcher::DocumentFetcher;
use super::presentation::verify_presentation;
use super::presentation_error::PresentationError;
use super::presentation_request::PresentedCredential;
use super::read_file;
use super::settings::Openid4vpKind;
use super::status_list::{StatusError, StatusListError, StatusLists};
use super::trust::TrustAnchors;
use super::trust_list::{CurrentTrust, TrustListSource, TrustSources};
use crate::connector::error::{ConnectorConfigError, ConnectorError};
use crate::connector::wallet_page::RequestedClaim;
use crate::digest;
use crate::env::{Env, Timestamp};
use crate::identity::mapping::ClaimPath;
use crate::ids::Secret;
use crate::protocol::catalogue::ErrorCode;
pub use sample::PresentationSample;

/// Why a presentation does not sign its user in.
#[derive(thiserror::Error, Debug)]
pub enum VerificationError {
    #[error("the credential was not requested")]
    UnrequestedCredential,
    #[error("{0}")]
    Presentation(#[from] PresentationError),
    #[error("{0}")]
    Status(#[from] StatusError),
    #[error(
        "no trust anchor issued a certificate, and a trust list can't be used: see the warning"
    )]
    TrustUnavailable,
    #[error("a claim of subject_claims is missing, empty, or neither a text nor a number")]
    SubjectMissing,
}

impl VerificationError {
    /// Returns the label value for metrics.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::UnrequestedCredential => "unrequested_credential",
            Self::Presentation(error) => error.label(),
            Self::Status(error) => error.label(),
            Self::TrustUnavailable => "trust_unavailable",
            Self::SubjectMissing => "subject_missing",
        }
    }

    const fn code(&self) -> ErrorCode {
        use PresentationError as P;
        match self {
            Self::Presentation(P::CredentialExpired | P::CertificateExpired) => {
                ErrorCode::WalletCredentialExpired
            }
            Self::Presentation(P::MissingClaim) | Self::SubjectMissing => {
                ErrorCode::WalletClaimMissing
            }
            Self::Presentation(P::IssuerUntrusted) => ErrorCode::WalletIssuerUntrusted,
            Self::Status(StatusError::Revoked | StatusError::Suspended) => {
                ErrorCode::WalletCredentialRevoked
            }
            Self::Status(StatusError::Unreachable(_) | StatusError::Unusable(_)) => {
                ErrorCode::WalletStatusUnavailable
            }
            Self::TrustUnavailable => ErrorCode::WalletTrustUnavailable,
            Self::UnrequestedCredential | Self::Presentation(_) | Self::Status(_) => {
                ErrorCode::WalletPresentationInvalid
            }
        }
    }

    /// Returns the error to report with these anchors. An unusable list may name the issuer, so
    /// that the credential is not to blame.
    fn with_trust(self, trust: &CurrentTrust) -> Self {
        use PresentationError::IssuerUntrusted;
        let lacks_trust = matches!(
            self,
            Self::Presentation(IssuerUntrusted)
                | Self::Status(StatusError::Unusable(StatusListError::Certificate(
                    IssuerUntrusted
                )))
        );
        if lacks_trust && trust.is_incomplete { Self::TrustUnavailable } else { self }
    }
}

impl From<VerificationError> for ConnectorError {
    fn from(error: VerificationError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

/// A user whose presentation is verified.
pub struct VerifiedUser {
    pub subject: Secret<String>,
    pub claims: Map<String, Value>,
}

/// Verifies presentations against the file of one connector.
pub struct CredentialVerifier {
    queries: Vec<CredentialQuery>,
    subject_claims: Vec<ClaimPath>,
    policy: VerificationPolicy,
    pinned: TrustAnchors,
    trust: TrustSources,
    statuses: StatusLists,
    has_trust_lists: bool,
}

impl CredentialVerifier {
    /// Returns a verifier. Fetches nothing.
    ///
    /// # Errors
    /// Returns the key whose value can't be used.
    pub fn new(
        kind: &Openid4vpKind,
        fetcher: Arc<dyn DocumentFetcher>,
        env: &Env,
    ) -> Result<Self, ConnectorConfigError> {
        let anchors = |key: &'static str, path| {
            TrustAnchors::from_pem(&read_file(key, path)?)
                .map_err(|error| ConnectorConfigError::new(key, error.to_string()))
        };
        let pinned = kind.trust_anchors.as_deref();
        let pinned =
            pinned.map(|path| anchors("kind.openid4vp.trust_anchors", path)).transpose()?;
        let sources = kind.trust_lists.iter().map(|list| {
            Ok(TrustListSource {
                url: list.url.clone(),
                signers: anchors("kind.openid4vp.trust_lists.signers", &list.signers)?,
                service_types: list.service_types.clone(),
            })
        });
        let sources: Vec<_> = sources.collect::<Result<_, ConnectorConfigError>>()?;
        let paths = kind.subject_claims.iter().map(|written| ClaimPath::parse(written));
        let pinned = pinned.unwrap_or_default();
        Ok(Self {
            queries: kind.credentials.iter().map(CredentialQuery::from).collect(),
            subject_claims: paths.collect::<Result<_, _>>().map_err(|error| {
                ConnectorConfigError::new("kind.openid4vp.subject_claims", error.to_string())
            })?,
            policy: VerificationPolicy {
                issuer_algs: kind.algs.clone(),
                holder_algs: kind.algs.clone(),
                ..VerificationPolicy::default()
            },
            has_trust_lists: !sources.is_empty(),
            trust: TrustSources::new(pinned.clone(), sources, Arc::clone(&fetcher), env.clone()),
            statuses: StatusLists::new(fetcher, env.clone(), kind.unreachable_status),
            pinned,
        })
    }

    /// Returns every claim that a wallet may be asked for, required ones first. A claim is optional
    /// if one credential does without it.
    #[must_use]
    pub fn requested_claims(&self) -> Vec<RequestedClaim> {
        let mut claims: Vec<RequestedClaim> = Vec::new();
        for claim in self.queries.iter().flat_map(CredentialQuery::claims) {
            match claims.iter_mut().find(|one| one.name == claim.name) {
                Some(known) => known.is_optional |= claim.is_optional,
                None => claims.push(claim.clone()),
            }
        }
        claims.sort_by_key(|claim| claim.is_optional);
        claims
    }

    /// Returns the key identifiers of the pinned anchors.
    #[must_use]
    pub fn key_identifiers(&self) -> Vec<String> {
        self.pinned.key_identifiers()
    }

    /// Returns the sources of trust.
    #[must_use]
    pub const fn trust(&self) -> &TrustSources {
        &self.trust
    }

    /// Returns when the first pinned anchor expires.
    #[must_use]
    pub fn anchors_expire_at(&self) -> Option<Timestamp> {
        self.pinned.earliest_expiry()
    }

    /// Fetches the trust lists.
    ///
    /// # Errors
    /// `WalletTrustUnavailable` if one can't be used.
    pub async fn preload(&self) -> Result<(), ConnectorError> {
        if !self.has_trust_lists {
            return Ok(());
        }
        let states = self.trust.refresh().await;
        match states.into_iter().find_map(Result::err) {
            None => Ok(()),
            Some((url, error)) => Err(ConnectorError::new(
                ErrorCode::WalletTrustUnavailable,
                format!("the trust list {url} can't be used: {error}"),
            )),
        }
    }

    /// Verifies a presentation and its status.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub async fn verify(
        &self,
        presented: &PresentedCredential,
        client_id: &str,
        now: Timestamp,
    ) -> Result<VerifiedUser, VerificationError> {
        let query = self.queries.iter().find(|query| query.id == presented.credential);
        let query = query.ok_or(VerificationError::UnrequestedCredential)?;
        let trust = self.trust.current_trust().await;
        let expected = PresentationExpectations {
            channel: presented.channel.request_channel(client_id),
            nonce: &presented.nonce,
            encryption_key_thumbprint: Some(presented.key_thumbprint),
            credential: &query.expected,
            policy: &self.policy,
            anchors: &trust.anchors,
            now,
            received_at: presented.received_at,
        };
        let verified = self.verify_with_status(presented.presentation.reveal(), &expected).await;
        let credential = verified.map_err(|error| error.with_trust(&trust))?;
        self.identify_user(query, credential)
    }

    async fn verify_with_status(
        &self,
        presentation: &str,
        expected: &PresentationExpectations<'_>,
    ) -> Result<VerifiedCredential, VerificationError> {
        let credential = verify_presentation(presentation, expected)?;
        if let Some(reference) = &credential.status {
            self.statuses.check_status(reference, expected.anchors).await?;
        }
        Ok(credential)
    }

    fn identify_user(
        &self,
        query: &CredentialQuery,
        credential: VerifiedCredential,
    ) -> Result<VerifiedUser, VerificationError> {
        let claims = query.normalize_claims(credential);
        let scalar = |path: &ClaimPath| {
            path.find(&claims).filter(|value| value.is_string() || value.is_number()).cloned()
        };
        let values: Option<Vec<_>> = self.subject_claims.iter().map(scalar).collect();
        let values = values.filter(|values| !values.is_empty());
        let values = values.ok_or(VerificationError::SubjectMissing)?;
        // JSON separates the values, so that no two lists of values are equal.
        let subject =
            serde_json::to_string(&values).map_err(|_| VerificationError::SubjectMissing)?;
        Ok(VerifiedUser { subject: Secret::new(digest::sha256_base64url(&subject)), claims })
    }
}
