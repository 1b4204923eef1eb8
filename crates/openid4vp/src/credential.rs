//! Defines the requirements for a presentation, and the content of a verified one.
//!
//! Responsible for the types that both credential formats share. Does not depend on how the
//! presentation arrived.

use std::borrow::Cow;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::claims_path::{ClaimsPathPointer, PathComponent};
use super::presentation_error::PresentationError;
use super::signature::CredentialAlg;
use super::trust::{IssuerCertificate, TrustAnchors};
use passerelle_federation::login::upstream::ElectronicRecord;
use passerelle_protocol::env::Timestamp;

/// Credential format identifier (OpenID4VP 1.0, appendix B).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
pub enum CredentialFormat {
    /// IETF SD-JWT VC.
    #[serde(rename = "dc+sd-jwt")]
    DcSdJwt,
    /// ISO/IEC 18013-5 mdoc.
    #[serde(rename = "mso_mdoc")]
    MsoMdoc,
}

/// How the request reached the wallet: what its answer must be bound to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestChannel<'a> {
    /// A redirect or a QR code, answered at the `response_uri`. `client_id` has its prefix.
    DirectPost { client_id: &'a str, response_uri: &'a str },
    /// The Digital Credentials API. `origin` has no `origin:` prefix.
    DigitalCredentialsApi { origin: &'a str },
}

impl RequestChannel<'_> {
    /// Returns the `aud` of the holder's signature (OpenID4VP 1.0 §5.2, appendix A.4). Over the
    /// Digital Credentials API it is the origin, for signed requests too: the browser vouches for
    /// the origin, and another site that forwards a request of the hub has another one.
    pub fn audience(&self) -> Cow<'_, str> {
        match self {
            Self::DirectPost { client_id, .. } => Cow::Borrowed(client_id),
            Self::DigitalCredentialsApi { origin } => Cow::Owned(format!("origin:{origin}")),
        }
    }
}

/// One credential query of the request (OpenID4VP 1.0 §6.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExpectedCredential {
    pub format: CredentialFormat,
    /// Accepted `vct` values, or accepted document types.
    pub types: Vec<String>,
    /// Requested claims. For an mdoc: namespace and data element.
    pub claims: Vec<ClaimsPathPointer>,
    /// Alternatives (`claim_sets`), as indexes into `claims`; empty if all claims are required.
    pub claim_sets: Vec<Vec<usize>>,
}

impl ExpectedCredential {
    /// Returns the disclosed paths that the query does not ask for. OpenID4VP 1.0 §6.4: wallets must
    /// not send selectively disclosable claims unasked.
    pub fn unrequested_paths<'p>(
        &self,
        paths: &'p [Vec<PathComponent>],
    ) -> impl Iterator<Item = &'p Vec<PathComponent>> {
        paths.iter().filter(|path| !self.claims.iter().any(|pointer| pointer.covers(path)))
    }

    /// Checks that the claims of the query, or of one of its alternatives, are present.
    ///
    /// # Errors
    /// `MissingClaim`.
    pub fn check_claims(&self, claims: &Map<String, Value>) -> Result<(), PresentationError> {
        let is_present = |pointer: &ClaimsPathPointer| pointer.is_in(claims);
        let has_all = |set: &Vec<usize>| {
            set.iter().all(|index| self.claims.get(*index).is_some_and(is_present))
        };
        let complete = if self.claim_sets.is_empty() {
            self.claims.iter().all(is_present)
        } else {
            self.claim_sets.iter().any(has_all)
        };
        if complete { Ok(()) } else { Err(PresentationError::MissingClaim) }
    }
}

/// What a wallet disclosed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DisclosedClaims {
    /// All claims, for an mdoc by namespace.
    pub claims: Map<String, Value>,
    /// The paths of the claims that the wallet chose to disclose.
    pub paths: Vec<Vec<PathComponent>>,
}

/// Requirements of an operator for credentials.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerificationPolicy {
    /// Algorithms of the issuer's signature.
    pub issuer_algs: Vec<CredentialAlg>,
    /// Algorithms of the holder's signature.
    pub holder_algs: Vec<CredentialAlg>,
    /// Tolerated difference between the clocks of the hub, the issuer and the wallet.
    pub clock_skew: Duration,
    /// Oldest accepted `iat` of a key binding JWT.
    pub key_binding_max_age: Duration,
}

impl Default for VerificationPolicy {
    fn default() -> Self {
        Self {
            issuer_algs: CredentialAlg::ALL.to_vec(),
            holder_algs: CredentialAlg::ALL.to_vec(),
            clock_skew: Duration::from_secs(60),
            key_binding_max_age: Duration::from_secs(300),
        }
    }
}

/// Everything that a presentation is verified against.
#[derive(Clone, Copy)]
pub struct PresentationExpectations<'a> {
    pub channel: RequestChannel<'a>,
    pub nonce: &'a str,
    /// SHA-256 JWK thumbprint (RFC 7638) of the key that the response is encrypted to; `None` for a
    /// response without encryption.
    pub encryption_key_thumbprint: Option<[u8; 32]>,
    pub credential: &'a ExpectedCredential,
    pub policy: &'a VerificationPolicy,
    pub anchors: &'a TrustAnchors,
    pub now: Timestamp,
    /// When the response arrived, by which the age of a key binding is measured: its user may take
    /// a while to come back.
    pub received_at: Timestamp,
}

/// Time in which a credential is valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CredentialValidity {
    pub issued_at: Option<Timestamp>,
    pub not_before: Option<Timestamp>,
    /// The hub must not rely on the credential from this time on.
    pub expires_at: Option<Timestamp>,
}

impl CredentialValidity {
    /// Checks that the credential is valid now.
    ///
    /// # Errors
    /// `CredentialExpired`, `CredentialNotYetValid`, or `InvalidTimes` if it expires before it
    /// becomes valid.
    pub fn check(&self, now: Timestamp, clock_skew: Duration) -> Result<(), PresentationError> {
        let starts = [self.issued_at, self.not_before].into_iter().flatten().max();
        if let (Some(start), Some(end)) = (starts, self.expires_at)
            && end <= start
        {
            return Err(PresentationError::InvalidTimes);
        }
        if self.expires_at.is_some_and(|end| end + clock_skew <= now) {
            return Err(PresentationError::CredentialExpired);
        }
        if starts.is_some_and(|start| start > now + clock_skew) {
            return Err(PresentationError::CredentialNotYetValid);
        }
        Ok(())
    }
}

/// Entry of a Token Status List that says whether a credential is revoked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatusReference {
    pub uri: String,
    pub index: u64,
}

/// A credential whose issuer, holder and binding to the request are verified. Its status is not
/// checked yet: see [`super::status_list`].
#[derive(Clone, PartialEq, Debug)]
pub struct VerifiedCredential {
    /// `vct`, or the document type.
    pub credential_type: String,
    /// The requested claims, and no others. For an mdoc: one object for each namespace.
    pub claims: Map<String, Value>,
    pub issuer: IssuerCertificate,
    pub validity: CredentialValidity,
    pub status: Option<StatusReference>,
}

impl VerifiedCredential {
    /// Returns what evidence of its claims says of the credential, which was verified at this time.
    pub(crate) fn to_record(&self, verified_at: Timestamp) -> ElectronicRecord {
        ElectronicRecord {
            record_type: self.credential_type.clone(),
            verified_at,
            created_at: self.validity.issued_at,
            expires_at: self.validity.expires_at,
            source_name: self.issuer.organization.clone(),
            source_country: self.issuer.country.clone(),
        }
    }
}
