//! Verifies what a wallet presented for a request, and derives the user from it.

mod sample;

use std::path::Path;
use std::sync::Arc;

use openssl::x509::X509;
use serde_json::{Map, Value};

use super::credential::{
    PresentationExpectations, StatusReference, VerificationPolicy, VerifiedCredential,
};
use super::credential_query::{CredentialQuery, FINGERPRINT_PREFIX};
use super::document_fetcher::DocumentFetcher;
use super::error_codes;
use super::presentation::{read_disclosed_claims, verify_presentation};
use super::presentation_error::PresentationError;
use super::presentation_request::PresentedCredential;
use super::read_file;
use super::settings::Openid4vpKind;
use super::status_list::{StatusError, StatusListError, StatusLists};
use super::trust::{IssuerRules, TrustAnchors};
use super::trust_list::{CurrentTrust, PinnedAnchors, TrustListSource, TrustSources};
use super::wallet_page::RequestedClaim;
use passerelle_connector::error::ConnectorError;
use passerelle_federation::identity::mapping::ClaimPath;
use passerelle_federation::login::upstream::ElectronicRecord;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::Secret;
use passerelle_settings::FieldDiagnostic;
pub use sample::PresentationSample;

/// Why a presentation does not sign its user in.
#[derive(thiserror::Error, Debug)]
pub enum VerificationError {
    #[error("the credential was not requested")]
    UnrequestedCredential,
    #[error("{0}")]
    Presentation(#[from] PresentationError),
    #[error("the wallet did not disclose {}, which claims demands", .0.join(", "))]
    MissingClaims(Vec<String>),
    #[error("the wallet disclosed {}, which was not requested", .0.join(", "))]
    UnrequestedClaims(Vec<String>),
    #[error("the issuer {0} is not one of issuers of the credential")]
    IssuerNotPinned(String),
    #[error("{0}")]
    Status(#[from] StatusError),
    #[error(
        "no trust anchor issued a certificate, and a trust list can't be used: see the warning"
    )]
    TrustUnavailable,
    #[error("{0} of subject_claims is missing, or neither a text nor a number")]
    SubjectMissing(String),
}

impl VerificationError {
    /// Returns the label value for metrics.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::UnrequestedCredential => "unrequested_credential",
            Self::Presentation(error) => error.label(),
            Self::MissingClaims(_) => PresentationError::MissingClaim.label(),
            Self::UnrequestedClaims(_) => PresentationError::UnrequestedClaim.label(),
            Self::IssuerNotPinned(_) => PresentationError::IssuerUntrusted.label(),
            Self::Status(error) => error.label(),
            Self::TrustUnavailable => "trust_unavailable",
            Self::SubjectMissing(_) => "subject_missing",
        }
    }

    const fn code(&self) -> ErrorCode {
        use PresentationError as P;
        match self {
            Self::Presentation(P::CredentialExpired | P::CertificateExpired) => {
                error_codes::WALLET_CREDENTIAL_EXPIRED
            }
            Self::Presentation(P::MissingClaim)
            | Self::MissingClaims(_)
            | Self::SubjectMissing(_) => error_codes::WALLET_CLAIM_MISSING,
            Self::Presentation(P::IssuerUntrusted) | Self::IssuerNotPinned(_) => {
                error_codes::WALLET_ISSUER_UNTRUSTED
            }
            Self::Status(StatusError::Revoked | StatusError::Suspended) => {
                error_codes::WALLET_CREDENTIAL_REVOKED
            }
            Self::Status(StatusError::Unreachable(_) | StatusError::Unusable(_)) => {
                error_codes::WALLET_STATUS_UNAVAILABLE
            }
            Self::TrustUnavailable => error_codes::WALLET_TRUST_UNAVAILABLE,
            Self::UnrequestedCredential
            | Self::UnrequestedClaims(_)
            | Self::Presentation(_)
            | Self::Status(_) => error_codes::WALLET_PRESENTATION_INVALID,
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

/// Names the claims of a presentation that discloses too much or too little.
fn name_claims(
    error: PresentationError,
    presentation: &str,
    query: &CredentialQuery,
) -> VerificationError {
    let disclosed = || read_disclosed_claims(presentation, query.expected.format);
    match error {
        PresentationError::MissingClaim => {
            VerificationError::MissingClaims(query.missing_claims(&disclosed()))
        }
        PresentationError::UnrequestedClaim => {
            VerificationError::UnrequestedClaims(query.unrequested_claims(&disclosed()))
        }
        other => other.into(),
    }
}

fn require_pinned_issuer(
    query: &CredentialQuery,
    credential: &VerifiedCredential,
) -> Result<(), VerificationError> {
    let issuer = &credential.issuer;
    if query.accepts_issuer(issuer) {
        return Ok(());
    }
    let shown = format!("{} ({FINGERPRINT_PREFIX}{})", issuer.subject, issuer.fingerprint);
    Err(VerificationError::IssuerNotPinned(shown))
}

fn read_anchors(key: &'static str, path: &Path) -> Result<TrustAnchors, FieldDiagnostic> {
    TrustAnchors::from_pem(&read_file(key, path)?).map_err(|_| {
        let message = "names a file that is not PEM text of certificates of at most 1 MiB";
        FieldDiagnostic::new(key, message, "put the CA certificates of the issuers there")
    })
}

fn issuer_rules(kind: &Openid4vpKind) -> IssuerRules {
    // The signer of requests reports a certificate that can't be read.
    let chain = std::fs::read(&kind.certificate).ok();
    let access_key = chain.and_then(|pem| {
        let certificate = X509::from_pem(&pem).ok()?;
        certificate.public_key().ok()?.public_key_to_der().ok()
    });
    IssuerRules { extended_key_usages: kind.extended_key_usages.clone(), access_key }
}

/// A user whose presentation is verified.
pub struct VerifiedUser {
    pub subject: Secret<String>,
    pub claims: Map<String, Value>,
    /// The credential, as evidence of the claims.
    pub record: ElectronicRecord,
}

/// Verifies presentations against the file of one connector.
pub struct CredentialVerifier {
    queries: Vec<CredentialQuery>,
    subject_claims: Vec<ClaimPath>,
    policy: VerificationPolicy,
    trust: TrustSources,
    /// Who may sign status lists; `None` for the anchors of the credential.
    status_anchors: Option<TrustAnchors>,
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
    ) -> Result<Self, FieldDiagnostic> {
        let rules = Arc::new(issuer_rules(kind));
        let anchors = |key: &'static str, path: Option<&Path>| {
            path.map(|path| Ok(read_anchors(key, path)?.with_rules(&rules))).transpose()
        };
        let sources = kind.trust_lists.iter().map(|list| {
            Ok(TrustListSource {
                url: list.url.clone(),
                signers: read_anchors("kind.openid4vp.trust_lists.signers", &list.signers)?,
                service_types: list.service_types.clone(),
                credentials: list.credentials.clone(),
            })
        });
        let sources: Vec<_> = sources.collect::<Result<_, FieldDiagnostic>>()?;
        let shared = anchors("kind.openid4vp.trust_anchors", kind.trust_anchors.as_deref())?;
        let mut pinned = PinnedAnchors::from(shared.unwrap_or_default().with_rules(&rules));
        for credential in &kind.credentials {
            let own = anchors(
                "kind.openid4vp.credentials.trust_anchors",
                credential.trust_anchors.as_deref(),
            )?;
            pinned.by_credential.extend(own.map(|own| (credential.id.clone(), own)));
        }
        let status_anchors =
            anchors("kind.openid4vp.status_trust_anchors", kind.status_trust_anchors.as_deref())?;
        let paths = kind.subject_claims.iter().map(|written| ClaimPath::parse(written));
        Ok(Self {
            queries: kind.credentials.iter().map(CredentialQuery::from).collect(),
            subject_claims: paths.collect::<Result<_, _>>().map_err(|error| {
                let message = format!("has a path that {error}");
                let fix = "write names of claims, or paths such as /address/locality";
                FieldDiagnostic::new("kind.openid4vp.subject_claims", message, fix)
            })?,
            policy: VerificationPolicy {
                issuer_algs: kind.algs.clone(),
                holder_algs: kind.algs.clone(),
                ..VerificationPolicy::default()
            },
            has_trust_lists: !sources.is_empty(),
            trust: TrustSources::new(pinned, sources, Arc::clone(&fetcher), env.clone()),
            status_anchors,
            statuses: StatusLists::new(fetcher, env.clone(), kind.unreachable_status),
        })
    }

    /// Returns every claim that a wallet may be asked for, required ones first. A claim is optional
    /// if one credential does without it.
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

    /// Returns the sources of trust.
    pub const fn trust(&self) -> &TrustSources {
        &self.trust
    }

    /// Returns when the first pinned anchor expires.
    pub fn anchors_expire_at(&self) -> Option<Timestamp> {
        let status = self.status_anchors.as_ref().and_then(TrustAnchors::earliest_expiry);
        self.trust.pinned().earliest_expiry().into_iter().chain(status).min()
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
                error_codes::WALLET_TRUST_UNAVAILABLE,
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
        let trust = self.trust.current_trust(&query.id).await;
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
        let presentation = presented.presentation.reveal();
        let verified = verify_presentation(presentation, &expected)
            .map_err(|error| name_claims(error, presentation, query).with_trust(&trust));
        let credential = verified?;
        require_pinned_issuer(query, &credential)?;
        if let Some(reference) = &credential.status {
            self.check_status(reference, &trust).await?;
        }
        self.identify_user(query, credential, now)
    }

    async fn check_status(
        &self,
        reference: &StatusReference,
        trust: &CurrentTrust,
    ) -> Result<(), VerificationError> {
        let anchors = self.status_anchors.as_ref().unwrap_or(&trust.anchors);
        let checked = self.statuses.check_status(reference, anchors).await;
        checked.map_err(|error| match (VerificationError::from(error), &self.status_anchors) {
            (error, Some(_)) => error,
            (error, None) => error.with_trust(trust),
        })
    }

    fn identify_user(
        &self,
        query: &CredentialQuery,
        credential: VerifiedCredential,
        now: Timestamp,
    ) -> Result<VerifiedUser, VerificationError> {
        let record = credential.to_record(now);
        let claims = query.normalize_claims(credential);
        let missing = |claim: &str| VerificationError::SubjectMissing(claim.to_owned());
        let scalar = |path: &ClaimPath| {
            let value = path.find(&claims).filter(|value| value.is_string() || value.is_number());
            value.cloned().ok_or_else(|| missing(&format!("/{}", path.steps().join("/"))))
        };
        let values = self.subject_claims.iter().map(scalar).collect::<Result<Vec<_>, _>>()?;
        if values.is_empty() {
            return Err(missing("every claim"));
        }
        // JSON separates the values, so that no two lists of values are equal.
        let subject = serde_json::to_string(&values).map_err(|_| missing("a claim"))?;
        Ok(VerifiedUser {
            subject: Secret::new(digest::sha256_base64url(&subject)),
            claims,
            record,
        })
    }
}
