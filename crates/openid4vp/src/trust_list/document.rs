//! Verifies a list of trusted entities (ETSI TS 119 602 §6, JSON binding; JAdES compact signature).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::DateTime;
use serde::Deserialize;
use serde_json::Value;

use super::TrustListSource;
use crate::presentation_error::PresentationError;
use crate::signature::UnverifiedJws;
use crate::trust::{CertificatePurpose, TrustAnchors};
use passerelle_jose::verify::CLOCK_SKEW_TOLERANCE;
use passerelle_protocol::env::Timestamp;

/// The header of the signing time, which JAdES declares critical (ETSI TS 119 182-1 §5.2.1). It is
/// not used: `ListIssueDateTime` is.
const SIGNING_TIME: &str = "sigT";
/// Version of the format.
const VERSION: u64 = 1;
/// Last parts of the `ServiceStatus` values of a service that may be relied on.
const GOOD_STATUSES: [&str; 2] = ["/notified", "/granted"];

/// Why a list gives no anchors.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum TrustListError {
    #[error("it can't be fetched: {0}")]
    Unreachable(String),
    #[error("it is not a signed list of trusted entities")]
    Malformed,
    #[error("its signature has an algorithm that is not accepted")]
    Algorithm,
    #[error("its header demands an extension")]
    Extension,
    #[error("its signer's certificate is not accepted: {0}")]
    Certificate(PresentationError),
    #[error("its signature is wrong")]
    Signature,
    #[error("its version is not supported")]
    Version,
    #[error("its NextUpdate has passed")]
    Expired,
    #[error("it is from the future")]
    InFuture,
    #[error("it is older than the one that was used before")]
    RolledBack,
    #[error("it has no certificate of an accepted service")]
    Empty,
}

/// A verified list.
pub struct TrustList {
    pub anchors: TrustAnchors,
    /// Number of certificates of accepted services that can't be parsed.
    pub skipped: usize,
    pub sequence_number: u64,
    pub next_update: Timestamp,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ListOfTrustedEntities {
    list_and_scheme_information: SchemeInformation,
    #[serde(default)]
    trusted_entities_list: Vec<TrustedEntity>,
}

#[derive(Deserialize)]
struct SchemeInformation {
    #[serde(rename = "LoTEVersionIdentifier")]
    version: u64,
    #[serde(rename = "LoTESequenceNumber")]
    sequence_number: u64,
    #[serde(rename = "ListIssueDateTime")]
    issued_at: String,
    #[serde(rename = "NextUpdate")]
    next_update: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TrustedEntity {
    trusted_entity_services: Vec<TrustedService>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TrustedService {
    service_information: ServiceInformation,
}

#[derive(Deserialize)]
struct ServiceInformation {
    #[serde(rename = "ServiceTypeIdentifier")]
    type_identifier: Option<String>,
    #[serde(rename = "ServiceStatus")]
    status: Option<String>,
    #[serde(rename = "ServiceDigitalIdentity")]
    identity: DigitalIdentity,
}

#[derive(Deserialize)]
struct DigitalIdentity {
    #[serde(rename = "X509Certificates", default)]
    certificates: Vec<EncodedCertificate>,
}

#[derive(Deserialize)]
struct EncodedCertificate {
    #[serde(default)]
    val: String,
}

impl TrustList {
    /// Verifies a signed list.
    ///
    /// # Errors
    /// Returns the check that it fails.
    pub fn verify(
        body: &[u8],
        source: &TrustListSource,
        now: Timestamp,
    ) -> Result<Self, TrustListError> {
        let text = std::str::from_utf8(body).map_err(|_| TrustListError::Malformed)?;
        let jws = UnverifiedJws::parse(text.trim_ascii()).ok_or(TrustListError::Malformed)?;
        if jws.demands_extension_except(SIGNING_TIME) {
            return Err(TrustListError::Extension);
        }
        let chain = jws.certificate_chain().ok_or(PresentationError::CertificateMissing);
        let purpose = CertificatePurpose::TrustList;
        let signer = chain
            .and_then(|chain| source.signers.verify_chain(&chain, purpose, now))
            .map_err(TrustListError::Certificate)?;
        match jws.verify_trust_list_signature(&signer.key) {
            None => return Err(TrustListError::Algorithm),
            Some(false) => return Err(TrustListError::Signature),
            Some(true) => {}
        }
        let list = jws.claims.get("LoTE").cloned().unwrap_or(Value::Null);
        let list = serde_json::from_value(list).map_err(|_| TrustListError::Malformed)?;
        Self::from_document(&list, &source.service_types, now)
    }

    fn from_document(
        list: &ListOfTrustedEntities,
        service_types: &[String],
        now: Timestamp,
    ) -> Result<Self, TrustListError> {
        let scheme = &list.list_and_scheme_information;
        if scheme.version != VERSION {
            return Err(TrustListError::Version);
        }
        let issued_at = date_time(&scheme.issued_at).ok_or(TrustListError::Malformed)?;
        let next_update = date_time(&scheme.next_update).ok_or(TrustListError::Malformed)?;
        if now + CLOCK_SKEW_TOLERANCE < issued_at {
            return Err(TrustListError::InFuture);
        }
        if next_update <= now {
            return Err(TrustListError::Expired);
        }
        let services = list.trusted_entities_list.iter().flat_map(|e| &e.trusted_entity_services);
        let accepted = services
            .map(|service| &service.service_information)
            .filter(|service| service.is_accepted(service_types));
        let encoded = accepted.flat_map(|service| &service.identity.certificates);
        // One malformed certificate must not make all other issuers of the list untrusted. A value
        // that is not base64 becomes empty, which is not a certificate either.
        let certificates: Vec<_> = encoded
            .map(|certificate| STANDARD.decode(&certificate.val).unwrap_or_default())
            .collect();
        let anchors = TrustAnchors::from_der(&certificates);
        if anchors.is_empty() {
            return Err(TrustListError::Empty);
        }
        let skipped = certificates.len() - anchors.len();
        Ok(Self { anchors, skipped, sequence_number: scheme.sequence_number, next_update })
    }
}

impl ServiceInformation {
    fn is_accepted(&self, service_types: &[String]) -> bool {
        let is_good = |status: &String| GOOD_STATUSES.iter().any(|good| status.ends_with(good));
        let is_wanted = service_types.is_empty()
            || self.type_identifier.as_ref().is_some_and(|t| service_types.contains(t));
        is_wanted && self.status.as_ref().is_none_or(is_good)
    }
}

fn date_time(text: &str) -> Option<Timestamp> {
    let time = DateTime::parse_from_rfc3339(text).ok()?;
    u64::try_from(time.timestamp()).ok().map(Timestamp::from_seconds)
}
