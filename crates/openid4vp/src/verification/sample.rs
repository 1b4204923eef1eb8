//! Verifies a sample of a presentation, for `passerelle check connector --sample`.
//!
//! A sample has no request, so its binding to a request is verified only as far as the sample
//! states the values. Logins do not use this code.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::{CredentialVerifier, VerificationError, name_claims, require_pinned_issuer};
use crate::credential::{
    CredentialFormat, ExpectedCredential, PresentationExpectations, RequestChannel,
    VerificationPolicy, VerifiedCredential,
};
use crate::credential_query::{CredentialQuery, FINGERPRINT_PREFIX};
use crate::presentation::{verify_issued_mdoc, verify_presentation};
use crate::presentation_error::PresentationError;
use crate::sd_jwt;
use crate::trust::TrustAnchors;
use crate::trust_list::CurrentTrust;
use passerelle_connector::diagnostic::{CheckDiagnostic, SampleVerification};
use passerelle_federation::validity::format_rfc3339;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::json::parse_object;

/// Longer than the age of any key binding: a sample may be old.
const MAX_SAMPLE_AGE: Duration = Duration::from_secs(100 * 365 * 86_400);
/// Describes the format of a sample.
const SAMPLE_FIX: &str = "write the presentation alone, or {\"presentation\": \"…\", \"nonce\": \"…\", \
                          \"client_id\": \"…\", \"response_uri\": \"…\", \"key_thumbprint\": \"…\"}";

/// A sample of a presentation, with what is known of its request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PresentationSample {
    /// An SD-JWT VC with key binding, or a `DeviceResponse` as base64url.
    presentation: String,
    #[serde(default)]
    nonce: Option<String>,
    /// With its prefix; `origin:` and the origin for one of the Digital Credentials API.
    #[serde(default)]
    client_id: Option<String>,
    #[serde(default)]
    response_uri: Option<String>,
    /// Thumbprint of the key that the response was encrypted to, as base64url.
    #[serde(default)]
    key_thumbprint: Option<String>,
}

impl PresentationSample {
    /// Parses a presentation, or a JSON object with one. `None` for an object of claims.
    ///
    /// # Errors
    /// The finding, if the object has other members.
    pub fn parse(sample: &[u8]) -> Option<Result<Self, CheckDiagnostic>> {
        let text = std::str::from_utf8(sample).ok()?.trim_ascii();
        if !text.starts_with('{') {
            return Some(Ok(Self {
                presentation: text.to_owned(),
                nonce: None,
                client_id: None,
                response_uri: None,
                key_thumbprint: None,
            }));
        }
        let object = parse_object(text.as_bytes()).ok()?;
        let parsed = object
            .contains_key("presentation")
            .then(|| serde_json::from_value(Value::Object(object)))?;
        Some(parsed.map_err(|error| {
            CheckDiagnostic::error(
                "sample",
                format!("the sample is malformed: {error}"),
                SAMPLE_FIX,
            )
        }))
    }

    fn format(&self) -> CredentialFormat {
        if self.presentation.contains('~') {
            CredentialFormat::DcSdJwt
        } else {
            CredentialFormat::MsoMdoc
        }
    }

    /// Whether the sample has all that the device's signature of an mdoc covers.
    fn names_request(&self) -> bool {
        let is_api = self.client_id.as_ref().is_some_and(|id| id.starts_with("origin:"));
        self.nonce.is_some() && self.client_id.is_some() && (is_api || self.response_uri.is_some())
    }

    /// Verifies the presentation for one query, as far as the sample names the request.
    ///
    /// # Errors
    /// Returns the check that it fails.
    pub fn verify(
        &self,
        credential: &ExpectedCredential,
        policy: &VerificationPolicy,
        anchors: &TrustAnchors,
        now: Timestamp,
    ) -> Result<VerifiedCredential, PresentationError> {
        // Values that the sample does not state are those that the holder signed.
        let signed = sd_jwt::read_claimed_binding(&self.presentation).unwrap_or_default();
        let client_id = self.client_id.as_deref().unwrap_or(&signed.audience);
        let response_uri = self.response_uri.as_deref().unwrap_or_default();
        let thumbprint = self.key_thumbprint.as_deref().and_then(digest::from_base64url);
        let expected = PresentationExpectations {
            channel: match client_id.strip_prefix("origin:") {
                Some(origin) => RequestChannel::DigitalCredentialsApi { origin },
                None => RequestChannel::DirectPost { client_id, response_uri },
            },
            nonce: self.nonce.as_deref().unwrap_or(&signed.nonce),
            encryption_key_thumbprint: thumbprint.and_then(|bytes| bytes.try_into().ok()),
            credential,
            policy,
            anchors,
            now,
            received_at: now,
        };
        if self.format() == CredentialFormat::MsoMdoc && !self.names_request() {
            return verify_issued_mdoc(&self.presentation, &expected);
        }
        verify_presentation(&self.presentation, &expected)
    }

    /// Reports which parts of the holder's signature were verified.
    fn report_holder(&self) -> CheckDiagnostic {
        if self.format() == CredentialFormat::MsoMdoc {
            return if self.names_request() {
                CheckDiagnostic::ok("holder", "the device's signature is right for this request")
            } else {
                let message = "not checked: the device's signature, which covers the nonce, the \
                               client_id and the response_uri of its request";
                CheckDiagnostic::warning("holder", message, SAMPLE_FIX)
            };
        }
        let not_given = [("nonce", &self.nonce), ("audience", &self.client_id)];
        let not_given = not_given.iter().filter(|(_, value)| value.is_none());
        let skipped: Vec<_> =
            std::iter::once("age").chain(not_given.map(|(name, _)| *name)).collect();
        let message =
            "the holder's signature and the digest of the disclosures are right; not checked";
        CheckDiagnostic::ok("holder", format!("{message}: {}", skipped.join(", ")))
    }
}

impl CredentialVerifier {
    /// Verifies a sample, and returns the findings and its claims, as the mapping gets them.
    /// Fetches trust lists and the status only if `is_online`.
    pub async fn verify_sample(
        &self,
        sample: &PresentationSample,
        is_online: bool,
        now: Timestamp,
    ) -> SampleVerification {
        let (query, credential, trust) =
            match self.verify_with_queries(sample, is_online, now).await {
                Ok(verified) => verified,
                Err(error) => return SampleVerification::rejected(rejection(&error, is_online)),
            };
        let mut diagnostics = vec![report_credential(&credential), sample.report_holder()];
        diagnostics.push(self.check_sample_status(&credential, &trust, is_online).await);
        let claims = match self.identify_user(query, credential, now) {
            Ok(user) => {
                let message = "every claim of subject_claims is there";
                diagnostics.push(CheckDiagnostic::ok("subject", message));
                Some(user.claims)
            }
            Err(error) => {
                let fix = "name claims in subject_claims that every user has (docs/wallet.md)";
                diagnostics.push(CheckDiagnostic::error("subject", error.to_string(), fix));
                None
            }
        };
        SampleVerification { diagnostics, claims }
    }

    /// Returns the first query that the sample answers, or why it answers none.
    async fn verify_with_queries(
        &self,
        sample: &PresentationSample,
        is_online: bool,
        now: Timestamp,
    ) -> Result<(&CredentialQuery, VerifiedCredential, CurrentTrust), VerificationError> {
        let policy =
            VerificationPolicy { key_binding_max_age: MAX_SAMPLE_AGE, ..self.policy.clone() };
        let mut rejection = VerificationError::UnrequestedCredential;
        let format = sample.format();
        for query in self.queries.iter().filter(|query| query.expected.format == format) {
            let trust = if is_online {
                self.trust.current_trust(&query.id).await
            } else {
                self.trust.offline_trust(&query.id)
            };
            match sample.verify(&query.expected, &policy, &trust.anchors, now) {
                Ok(credential) => {
                    require_pinned_issuer(query, &credential)?;
                    return Ok((query, credential, trust));
                }
                // Another query may be of another type.
                Err(PresentationError::WrongType)
                    if !matches!(rejection, VerificationError::UnrequestedCredential) => {}
                Err(error) => {
                    rejection = name_claims(error, &sample.presentation, query).with_trust(&trust);
                }
            }
        }
        Err(rejection)
    }

    async fn check_sample_status(
        &self,
        credential: &VerifiedCredential,
        trust: &CurrentTrust,
        is_online: bool,
    ) -> CheckDiagnostic {
        let Some(reference) = &credential.status else {
            let message = "the credential names no status list: it is good until it expires";
            return CheckDiagnostic::ok("status", message);
        };
        let entry = format!("entry {} of {}", reference.index, reference.uri);
        if !is_online {
            return CheckDiagnostic::ok("status", format!("not checked without --online: {entry}"));
        }
        match self.check_status(reference, trust).await {
            Ok(()) => CheckDiagnostic::ok("status", format!("{entry} says that it is valid")),
            Err(error) => CheckDiagnostic::error(
                "status",
                format!("a login would be rejected: {error} ({entry})"),
                "present another credential; if the list can't be used, ask its issuer",
            ),
        }
    }
}

fn report_credential(credential: &VerifiedCredential) -> CheckDiagnostic {
    let issuer = &credential.issuer;
    let validity = credential.validity.expires_at.map_or_else(
        || "without an expiry".to_owned(),
        |end| format!("valid until {}", format_rfc3339(end)),
    );
    let message = format!(
        "the issuer's signature and certificate, the digests, the type and the times are right: {} \
         of {} ({FINGERPRINT_PREFIX}{}), under {}, {validity}",
        credential.credential_type, issuer.subject, issuer.fingerprint, issuer.anchor_subject
    );
    CheckDiagnostic::ok("presentation", message)
}

fn rejection(error: &VerificationError, is_online: bool) -> CheckDiagnostic {
    use PresentationError as P;
    let fix = match error {
        VerificationError::UnrequestedCredential => {
            "add [[kind.openid4vp.credentials]] with the format of the sample"
        }
        VerificationError::TrustUnavailable if !is_online => {
            "add --online, which fetches the trust lists"
        }
        VerificationError::TrustUnavailable => "see the finding trust-list",
        VerificationError::Presentation(error) => match error {
            P::IssuerUntrusted => "add the issuer's authority to trust_anchors, if you trust it",
            P::WrongType => "add its vct or document type to types of the credential",
            P::CertificateUsage => {
                "use the certificate of an issuer; if the issuer's has another extended key usage, add that to extended_key_usages"
            }
            P::IssuerAlgorithm | P::HolderAlgorithm => {
                "add the algorithm to algs, if you accept it"
            }
            P::CredentialExpired | P::CertificateExpired => "present a credential that is valid",
            P::Malformed => SAMPLE_FIX,
            P::KeyBindingNonce | P::KeyBindingAudience | P::HolderSignature => {
                "compare what the sample says of its request with the request that it answers"
            }
            _ => {
                "report it to the maker of the wallet, or to the issuer: the standard demands it of them"
            }
        },
        VerificationError::MissingClaims(_) => "move the claim to optional_claims, or present it",
        VerificationError::UnrequestedClaims(_) => "request the claim, or present without it",
        VerificationError::IssuerNotPinned(_) => "add the issuer to issuers, if you trust it",
        VerificationError::Status(_) | VerificationError::SubjectMissing(_) => "see docs/wallet.md",
    };
    CheckDiagnostic::error("presentation", format!("a login would be rejected: {error}"), fix)
}
